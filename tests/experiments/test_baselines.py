import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from polyleaf.datasets import make_linear_labels, make_multilabel
from polyleaf.experiments import (
    AllTargets,
    BestChain,
    LabelPowerset,
    OneModelPerLabel,
    OneModelPerTarget,
    RandomLinearCombinations,
)
from polyleaf.experiments._encoding import encoded
from polyleaf.experiments._rivals import AllLabels

X, Y = make_multilabel(200, 5, 4, random_state=0)


def test_powerset_predicts_known_label_sets_and_consistent_probabilities():
    model = LabelPowerset(DecisionTreeClassifier(max_depth=3)).fit(X, Y)
    predicted = model.predict(X)
    known = {tuple(row) for row in Y}
    assert {tuple(row) for row in predicted} <= known
    assert ((model.predict_proba(X) >= 0) & (model.predict_proba(X) <= 1)).all()


def test_powerset_beats_binary_relevance_on_conditionally_dependent_labels():
    X, Y = make_linear_labels(2000, dependence="conditional", noise=0.2, random_state=0)
    base = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    test = slice(1000, 2000)
    wrong = {
        kind: (kind(base).fit(X[:1000], Y[:1000]).predict(X[test]) != Y[test]).any(axis=1).mean()
        for kind in (LabelPowerset, OneModelPerLabel)
    }
    assert wrong[LabelPowerset] < wrong[OneModelPerLabel]


def test_powerset_of_one_label_set_is_constant():
    model = LabelPowerset(LogisticRegression()).fit(X, np.ones((200, 2), dtype=int))
    np.testing.assert_array_equal(model.predict(X[:3]), np.ones((3, 2)))


def test_one_model_per_label_learns_around_gaps_and_constants():
    gaps = Y.astype(float)
    gaps[:50, 0] = np.nan
    gaps[:, 1] = 0
    gaps[:, 2] = np.nan
    model = OneModelPerLabel(LogisticRegression()).fit(X, gaps)
    alone = LogisticRegression().fit(X[50:], Y[50:, 0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], alone.predict_proba(X)[:, 1])
    assert not model.predict(X)[:, 1:3].any()


def test_scores_of_models_without_probabilities_keep_their_order():
    model = OneModelPerLabel(SVC()).fit(X, Y)
    scores = SVC().fit(X, Y[:, 0]).decision_function(X)
    order = np.argsort(scores)
    assert (np.diff(model.predict_proba(X)[order, 0]) >= 0).all()


def test_best_chain_takes_an_order_of_all_labels():
    model = BestChain(LogisticRegression(), n_orders=3, random_state=0).fit(X, Y)
    assert sorted(model.chain_.order_) == [0, 1, 2, 3]
    assert model.predict(X).shape == Y.shape
    assert model.predict_proba(X).shape == Y.shape


def test_one_model_per_target_learns_around_gaps():
    targets = X[:, :2].copy()
    targets[:150, 0] = np.nan
    model = OneModelPerTarget(LinearRegression()).fit(
        X, np.column_stack([targets, np.full(200, np.nan)])
    )
    predicted = model.predict(X)
    np.testing.assert_allclose(predicted[:, :2], X[:, :2])
    assert np.isnan(predicted[:, 2]).all()


def test_linear_models_on_combinations_equal_linear_models_on_targets():
    """Least squares undoes the mixing exactly, whatever the units of the targets."""
    rng = np.random.default_rng(0)
    targets = X @ rng.normal(size=(5, 6)) * [1, 10, 100, 1, 1, 0.01] + rng.normal(size=(200, 6))
    mixed = RandomLinearCombinations(LinearRegression(), random_state=0).fit(X, targets)
    plain = LinearRegression().fit(X, targets)
    np.testing.assert_allclose(mixed.predict(X), plain.predict(X))
    assert (np.count_nonzero(mixed.weights_, axis=0) == 2).all()


def test_combinations_refuse_gaps():
    with pytest.raises(ValueError, match="every output observed"):
        RandomLinearCombinations(LinearRegression()).fit(X, np.full((200, 2), np.nan))


def test_all_labels_at_once_fills_in_the_constant_ones():
    labels = np.column_stack([np.ones(200, dtype=int), Y[:, 0], np.zeros(200, dtype=int), Y[:, 1]])
    model = AllLabels(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, labels)
    alone = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y[:, :2])
    np.testing.assert_array_equal(model.predict(X)[:, [1, 3]], alone.predict(X))
    np.testing.assert_array_equal(model.predict(X)[:, 0], 1)
    np.testing.assert_array_equal(model.predict(X)[:, 2], 0)
    constant = AllLabels(DecisionTreeClassifier()).fit(X, np.ones((200, 2)))
    assert constant.predict_proba(X[:2]).tolist() == [[1, 1], [1, 1]]


def test_one_varying_label_is_a_binary_problem():
    labels = np.column_stack([Y[:, 0], np.zeros(200, dtype=int)])
    model = AllLabels(LogisticRegression()).fit(X, labels)
    alone = LogisticRegression().fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.predict_proba(X)[:, 0], alone.predict_proba(X)[:, 1])


def test_targets_are_standardised_for_models_to_which_units_matter():
    targets = X[:, :2] * [1.0, 1e6]
    for kind in (AllTargets, OneModelPerTarget):
        predicted = kind(KNeighborsRegressor(1)).fit(X, targets).predict(X)
        np.testing.assert_allclose(predicted, targets)
    alike = OneModelPerTarget(SVR()).fit(X, np.column_stack([X[:, 0], 1e6 * X[:, 0]])).predict(X)
    np.testing.assert_allclose(alike[:, 0] * 1e6, alike[:, 1])
    with pytest.raises(ValueError, match="KNeighborsRegressor needs every output observed"):
        AllTargets(KNeighborsRegressor()).fit(X, np.full((200, 2), np.nan))


@pytest.mark.parametrize("baseline", [LabelPowerset, BestChain])
def test_baselines_of_whole_label_sets_refuse_gaps(baseline):
    labels = np.array([[0.0, 1.0], [1.0, np.nan]] * 10)
    with pytest.raises(ValueError, match=f"{baseline.__name__} needs every output observed"):
        baseline(LogisticRegression()).fit(np.arange(20.0)[:, None], labels)


def test_frames_of_any_library_are_encoded_alike():
    frame = pd.DataFrame(
        {"a": [1.0, None, 3.0], "b": [1, 2, 3], "c": ["u", "v", "u"], "d": [True, False, True]}
    )
    expected = encoded(frame, LogisticRegression())[:-1].fit_transform(frame)
    assert expected.shape == (3, 6)
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert np.array_equal(
            encoded(other, LogisticRegression())[:-1].fit_transform(other), expected
        )
