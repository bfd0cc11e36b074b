"""Conformal classifiers: thresholds, hierarchies, gaps, sparse labels, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from polyleaf import ConformalClassifier, ExtraTreesClassifier, RandomForestClassifier
from polyleaf.conformal.risks import (
    GRID,
    NOTHING,
    RISKS,
    Entries,
    controlled_threshold,
    false_negative_rate,
    missed_entries,
    p_values,
    passing_threshold,
)
from polyleaf.datasets import make_multilabel

X, Y = make_multilabel(400, 5, 6, random_state=0)
FOREST = RandomForestClassifier(n_estimators=10, min_samples_leaf=3, random_state=0)
TREE = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]


def new(estimator=FOREST, **parameters):
    return ConformalClassifier(estimator, cv=3, random_state=0, **parameters)


def closed(labels):
    labels = labels.copy()
    for parent, child in reversed(TREE):
        labels[:, parent] |= labels[:, child]
    return labels


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.37])
def test_the_threshold_is_the_largest_whose_corrected_risk_is_promised(alpha):
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = (rng.random((30, 4)) < 0.3).astype(float)
        scores = rng.random((30, 4)).round(1)  # with ties
        found = controlled_threshold(missed_entries(labels, scores, np.ones(4, bool)), alpha)
        candidates = [0.0, *np.unique(scores), NOTHING]
        fine = [
            t
            for t in candidates
            if (false_negative_rate(labels, (scores >= t).astype(int)).sum() + 1) / 31
            <= alpha + 1e-12
        ]
        largest = max(fine, default=0.0)
        np.testing.assert_array_equal(
            (scores >= found) & (labels == 1), (scores >= largest) & (labels == 1)
        )


def test_sparse_labels_give_the_same_entries():
    rng = np.random.default_rng(0)
    labels, scores = (rng.random((30, 4)) < 0.3).astype(float), rng.random((30, 4))
    dense = missed_entries(labels, scores, np.array([True, True, False, True]))
    other = missed_entries(
        sparse.csr_array(labels), sparse.csr_array(scores), np.array([True, True, False, True])
    )
    for one, two in zip(dense, other, strict=True):
        np.testing.assert_array_equal(one, two)


def test_rows_of_which_nobody_knows_whether_they_have_labels_do_not_count():
    labels = np.array([[1.0, np.nan], [0.0, np.nan], [0.0, 0.0]])
    entries = missed_entries(labels, np.full((3, 2), 0.5), np.ones(2, bool))
    assert entries.n_rows == 2
    np.testing.assert_array_equal(entries.share, [1.0])


@pytest.mark.parametrize("method", ["split", "cross", "oob"])
@pytest.mark.parametrize("risk", [*RISKS])
def test_sets_for_every_method_and_risk(method, risk):
    model = new(method=method, risk=risk, alpha=0.6).fit(X, Y)
    sets = model.predict_set(X)
    assert sets.shape == Y.shape
    assert set(np.unique(sets)) <= {0, 1}
    np.testing.assert_array_equal(model.predict(X), sets)
    assert model.evaluate(X, Y).risk < 0.6
    assert risk in str(model.evaluate(X, Y))


def test_a_smaller_false_negative_rate_needs_larger_sets():
    model = new().fit(X, Y)
    loose, tight = model.predict_set(X, 0.5), model.predict_set(X, 0.05)
    assert (loose <= tight).all()
    assert tight.sum() > loose.sum()
    assert model.predict_set(X, 0.001).all()  # too few rows for that promise: all labels


def test_a_smaller_false_discovery_rate_needs_smaller_sets():
    model = new(risk="fdr", delta=0.2).fit(X, Y)
    assert (model.predict_set(X, 0.2) <= model.predict_set(X, 0.7)).all()
    assert not model.predict_set(X, 0.001).any()


def test_what_no_threshold_keeps_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="No threshold keeps the risk 'hamming' at most"):
        new(risk="hamming").fit(X, Y).predict_set(X, 0.01)


def test_losses_of_ones_own():
    model = new(risk=lambda labels, sets: (labels != sets).any(axis=1), alpha=0.95).fit(X, Y)
    assert model.evaluate(X, Y).risk <= 0.95
    with pytest.raises(ValueError, match=r"one loss in \[0, 1\] per row"):
        new(risk=lambda labels, sets: labels.sum()).fit(X, Y)


def test_p_values_are_valid_at_the_edge():
    rng = np.random.default_rng(0)
    means = rng.binomial(50, 0.3, size=4000) / 50
    for level in (0.05, 0.2):
        assert (p_values(means, 50, 0.3) <= level).mean() <= level


def test_false_discoveries_are_tested_from_the_largest_threshold():
    means = np.linspace(0.0, 0.9, GRID.size)
    found = p_values(means, 200, 0.3)
    last = int(np.flatnonzero(found <= 0.1)[-1])
    assert passing_threshold(means, 200, 0.3, 0.1, "fdr") == GRID[last]
    assert passing_threshold(np.full(GRID.size, 0.9), 200, 0.3, 0.1, "fdr") == NOTHING


def test_levels_of_a_hierarchy_keep_a_promise_each():
    labels = closed(Y)
    forest = clone(FOREST).set_params(hierarchy=TREE)
    model = new(forest, by_level=True, alpha=0.2).fit(X[:250], labels[:250])
    thresholds = model.thresholds()
    assert len({thresholds[j] for j in (1, 2)}) == 1
    assert len(np.unique(thresholds)) == 3
    report = model.evaluate(X[250:], labels[250:])
    assert report.risk_by_level.shape == (3,)
    assert (report.risk_by_level < 0.3).all()
    assert "promised at most 0.200 on each level" in str(report)
    assert model.estimators_[0].hierarchy_.is_closed(model.predict_set(X))
    plain = new(forest, alpha=0.2).fit(X[:250], labels[:250])
    assert "on each level" not in str(plain.evaluate(X[250:], labels[250:]))
    assert plain.estimators_[0].hierarchy_.is_closed(plain.predict_set(X))
    with pytest.raises(ValueError, match="needs a classifier with a hierarchy"):
        new(by_level=True).fit(X, Y)


def test_sparse_labels_stay_sparse():
    model = new().fit(X, sparse.csr_array(Y))
    sets = model.predict_set(X)
    assert sparse.issparse(sets)
    np.testing.assert_array_equal(
        sets.toarray(), model.predict_proba(X).toarray() >= model.thresholds()
    )
    assert new(method="cross").fit(X, sparse.csr_array(Y)).predict_set(X).shape == Y.shape


def test_other_libraries_gaps_and_names():
    model = new(KNeighborsClassifier(5)).fit(X, Y)
    assert model.classes_.tolist() == [0, 1]
    frame = pd.DataFrame(Y, columns=list("abcdef"))
    assert new().fit(X, frame).output_names_.tolist() == list("abcdef")
    gaps = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    assert new(method="cross").fit(X, gaps).evaluate(X, gaps).risk < 0.2
    assert 0.0 < model.score(X, Y) < 1.0


def test_cross_takes_the_largest_probability_of_all_models():
    model = new(method="cross").fit(X, Y)
    expected = np.max([m.predict_proba(X) for m in model.estimators_], axis=0)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "out"}, "method must be one of"),
        ({"risk": "frn"}, "Did you mean 'fnr'"),
        ({"alpha": 2}, "alpha must be"),
        ({"delta": 0}, "delta must be"),
        ({"by_level": "yes"}, "by_level must be True or False"),
        ({"by_level": True, "risk": "fdr"}, "by_level=True is for risk='fnr'"),
        ({"cv": "5"}, "cv must be"),
        ({"estimator": LinearSVC()}, "needs a classifier with predict_proba"),
        ({"estimator": KNeighborsClassifier(), "method": "oob"}, "needs a forest of polyleaf"),
        ({"estimator": ExtraTreesClassifier(), "method": "oob"}, "Set bootstrap=True"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        new().set_params(**parameters).fit(X, Y)


def test_other_tasks_are_refused():
    with pytest.raises(ValueError, match="ConformalClassifier is for multi-label problems"):
        new().fit(X, Y[:, 0])


def test_entries_without_labels_keep_every_promise():
    assert controlled_threshold(Entries(np.empty(0), np.empty(0), 50), 0.1) == NOTHING
