"""Rules whose conditions are chosen by a view of the outputs."""

import numpy as np
import pytest

import polyleaf
from polyleaf import RuleClassifier, RuleRegressor, projections
from polyleaf.losses import Quadratic
from polyleaf.projections import PROJECTIONS, View
from polyleaf.rules.statistics import PackedStatistics, seen_through

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = np.column_stack([X[:, 0], X[:, 0] + X[:, 1], np.sin(2 * X[:, 2]), -X[:, 3]])
LABELS = (Y > 0).astype(int)
GAPS = np.where(RNG.random(Y.shape) < 0.2, np.nan, Y)
FEW = {"n_rules": 40, "random_state": 0}


def test_a_view_of_all_outputs_is_none():
    for view in ("identity", projections.Subsample(1.0)):
        plain = RuleRegressor(**FEW).fit(X, Y)
        viewed = RuleRegressor(projection=view, **FEW).fit(X, Y)
        np.testing.assert_allclose(viewed.predict(X), plain.predict(X), rtol=1e-10)


def test_a_view_of_all_labels_is_none_but_for_rounding():
    plain = RuleClassifier(**FEW).fit(X, LABELS).predict_proba(X)
    viewed = RuleClassifier(projection="identity", **FEW).fit(X, LABELS).predict_proba(X)
    np.testing.assert_allclose(viewed, plain, atol=1e-6)


@pytest.mark.parametrize("view", [name for name in PROJECTIONS if name != "identity"])
@pytest.mark.parametrize("case", ["numbers", "gaps", "labels", "weights"])
def test_rules_learn_by_every_view_and_come_back_from_a_file(view, case, tmp_path):
    given = {"n_rules": 80, "random_state": 0, "projection": view}
    weights = RNG.random(80) if case == "weights" else None
    if case == "labels":
        model = RuleClassifier(**given).fit(X, LABELS)
        assert (model.predict(X) == LABELS).mean() > 0.75
    else:
        model = RuleRegressor(**given, learning_rate=0.3)
        model.fit(X, GAPS if case == "gaps" else Y, weights)
        assert model.score(X, Y) > 0.3
    polyleaf.save(model, tmp_path / "rules.polyleaf")
    loaded = polyleaf.load(tmp_path / "rules.polyleaf")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.projection == view


def test_rules_in_turn_have_heads_of_one_output():
    model = RuleRegressor(projection="round_robin", **FEW).fit(X, Y)
    heads = model._rules.heads()[1:]
    assert ((heads != 0).sum(axis=1) <= 1).all()
    assert (np.flatnonzero(heads[0])[0], np.flatnonzero(heads[1])[0]) == (0, 1)


def test_other_views_have_complete_heads():
    model = RuleRegressor(projection=projections.Subsample(1), **FEW).fit(X, Y)
    assert ((model._rules.heads()[1:] != 0).sum(axis=1) == 4).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_gives_the_same_rules(threads):
    given = FEW | {"projection": "gaussian"}
    first = RuleRegressor(**given).fit(X, Y).predict(X)
    np.testing.assert_array_equal(
        RuleRegressor(n_jobs=threads, **given).fit(X, Y).predict(X), first
    )


def test_derivatives_of_combinations_follow_the_chain_rule():
    gradient, diagonal = RNG.normal(size=(5, 3)), RNG.random((5, 3))
    known = PackedStatistics.of(Quadratic(gradient, diagonal, None))
    matrix = RNG.normal(size=(3, 2))
    mixed = seen_through(known, View.of_mixing(matrix))
    np.testing.assert_allclose(mixed.gradient, gradient @ matrix)
    for row in range(5):
        expected = np.diag(matrix.T @ np.diag(diagonal[row]) @ matrix)
        np.testing.assert_allclose(mixed.diagonal[row], expected)
    some = seen_through(known, View.of_selection([0, 2], 3, scale=2.0))
    np.testing.assert_allclose(some.gradient, 2.0 * gradient[:, [0, 2]])
    np.testing.assert_allclose(some.diagonal, 4.0 * diagonal[:, [0, 2]])


def test_early_stopping_goes_with_a_view():
    model = RuleRegressor(
        n_rules=300, learning_rate=0.3, early_stopping=True, projection="subsample", random_state=0
    )
    model.fit(X, Y + 2.0 * RNG.normal(size=Y.shape))
    assert 1 <= model.n_rules_ < 300


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="loss of single outputs"):
        RuleClassifier(loss="examplewise_logistic", projection="gaussian").fit(X, LABELS)
    with pytest.raises(ValueError, match="needs head='complete'"):
        RuleRegressor(head="single", projection="gaussian").fit(X, Y)
    with pytest.raises(ValueError, match="projection must be one of 'identity'"):
        RuleRegressor(projection="auto").fit(X, Y)
    with pytest.raises(ValueError, match="Did you mean 'gaussian'"):
        RuleRegressor(projection="gausian").fit(X, Y)
