"""Lighter models of a blend, and exact explanations of blends of trees and rules."""

import numpy as np
import pytest

from polyleaf import AutoClassifier, AutoRegressor, BoostingRegressor
from polyleaf.auto import candidates
from polyleaf.auto.candidates import Candidate, _of
from polyleaf.auto.work import forest_work, rules_work
from polyleaf.boosting import BoostingRegressor as Boosting
from polyleaf.forests import ExtraTreesRegressor
from polyleaf.inspection import shap_values
from polyleaf.rules import RuleRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = np.column_stack([X[:, 0] + X[:, 1], np.sin(2 * X[:, 2])]) + 0.1 * RNG.normal(size=(80, 2))
LABELS = (Y > 0).astype(int)


def test_a_pruned_blend_has_fewer_members_and_knows_what_that_costs(quick):
    model = AutoClassifier(random_state=0).fit(X, LABELS)
    assert len(model.members_) == 2
    lighter = model.prune(X, max_ms_per_row=1e-9)
    assert len(lighter.members_) == 1
    np.testing.assert_allclose(lighter.weights_, 1.0)
    assert lighter.loss_ >= lighter.full_loss_ * 0.999
    assert len(model.prune(X, max_ms_per_row=1e9).members_) == 2
    with pytest.raises(AttributeError, match="prune"):
        _ = model.loss_
    with pytest.raises(ValueError, match="max_ms_per_row"):
        model.prune(X, max_ms_per_row=0)


def test_one_model_imitates_a_blend(quick):
    model = AutoRegressor(random_state=0).fit(X, Y)
    tree = model.distil("Tree", X)
    assert tree.loss_ < 1.0
    assert tree.score(X, model.predict(X)) > 0.95
    small = model.distil(BoostingRegressor(n_estimators=5, random_state=0), X)
    assert small.n_estimators_ <= 5
    labels = AutoClassifier(random_state=0).fit(X, LABELS).distil("RandomForest", X)
    assert labels.predict_proba(X).shape == (80, 2)
    with pytest.raises(ValueError, match="family must be one of"):
        model.distil("Forrest", X)


@pytest.fixture
def trees_and_rules(monkeypatch):
    few = [
        Candidate("extra_trees", _of(ExtraTreesRegressor, n_estimators=5), forest_work(0.1)),
        Candidate("boosting", _of(Boosting, n_estimators=5, projection=None), forest_work(0.1)),
        Candidate("rules", _of(RuleRegressor, n_rules=20), rules_work),
    ]
    monkeypatch.setattr(candidates, "_REGRESSORS", few)
    model = AutoRegressor(random_state=0).fit(X, Y)
    assert len(model.members_) > 1
    return model


def test_explanations_of_a_blend_of_trees_and_rules_add_up(trees_and_rules):
    model = trees_and_rules
    found = shap_values(model, X[:10])
    np.testing.assert_allclose(
        found.base_values + found.values.sum(axis=1), model.predict(X[:10]), atol=1e-4
    )
    parts = [shap_values(member, X[:10]).values for _, member in model.members_]
    expected = sum(w * part for w, part in zip(model.weights_.T, parts))
    np.testing.assert_allclose(found.values, expected, atol=1e-4)
    grouped = shap_values(model, X[:10], outputs=[["y0", "y1"]])
    np.testing.assert_allclose(grouped.values[..., 0], found.values.sum(axis=2), atol=1e-4)


def test_explain_lists_the_shapley_values_of_a_blend(trees_and_rules):
    table = trees_and_rules.explain(X[:3], outputs=["y1"], top_features=2)
    assert list(table) == ["row", "output", "feature", "value", "contribution"]
    assert set(table["output"]) == {"y1"}
    expected = shap_values(trees_and_rules, X[:3]).values[..., 1]
    for row, lines in table.groupby("row"):
        largest = np.sort(np.abs(expected[row]))[::-1][:2]
        np.testing.assert_allclose(lines["contribution"].abs(), largest, atol=1e-5)
    all_features = trees_and_rules.explain(X[:3], top_outputs=2, top_features=4)
    moved = all_features.groupby(["row", "output"])["contribution"].sum().unstack()
    base = shap_values(trees_and_rules, X[:3]).base_values
    np.testing.assert_allclose(
        moved[["y0", "y1"]] + base, trees_and_rules.predict(X[:3]), atol=1e-4
    )


def test_explain_names_members_that_are_no_trees(quick):
    model = AutoRegressor(random_state=0).fit(X, Y)
    others = [name for name, member in model.members_ if not hasattr(member, "_additive")]
    assert others
    with pytest.raises(TypeError, match=others[0]):
        model.explain(X[:1])


def test_blends_that_are_no_sum_of_trees_say_so(quick):
    model = AutoClassifier(random_state=0).fit(X, LABELS)
    with pytest.raises(TypeError, match="trees or rules"):
        shap_values(model, X)
