"""Probabilities of held-out rows, for every kind of Y."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict

import polyleaf
from polyleaf import RandomForestClassifier, TreeClassifier, cross_val_proba

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4))
LABELS = (X[:, :3] + rng.normal(size=(90, 3)) > 0.3).astype(int)
CLASSES = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.4, 0.4])]
MIXED = np.column_stack([np.digitize(X[:, 0], [-0.4, 0.4]), X[:, 1] > 0]).astype(int)
FOLDS = KFold(3, shuffle=True, random_state=0)
TREE = TreeClassifier(max_depth=3, random_state=0)


@pytest.mark.parametrize("y", [LABELS[:, 0], CLASSES], ids=["binary", "multi-class"])
def test_one_output_gives_what_cross_val_predict_does(y):
    expected = cross_val_predict(TREE, X, y, cv=FOLDS, method="predict_proba")
    np.testing.assert_array_equal(cross_val_proba(TREE, X, y, cv=FOLDS), expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_labels_are_predicted_by_models_of_other_rows(form):
    forest = RandomForestClassifier(n_estimators=5, random_state=0)
    Y = form(LABELS)
    found = cross_val_proba(forest, X, Y, cv=FOLDS)
    assert sparse.issparse(found) == sparse.issparse(Y)
    dense = found.toarray() if sparse.issparse(found) else found
    for train, test in FOLDS.split(X):
        part = forest.fit(X[train], form(LABELS[train])).predict_proba(X[test])
        part = part.toarray() if sparse.issparse(part) else part
        np.testing.assert_array_equal(dense[test], part)


def test_each_class_output_has_an_array_of_its_own():
    found = cross_val_proba(TREE, X, MIXED, cv=FOLDS)
    assert [part.shape for part in found] == [(90, 3), (90, 2)]
    for train, test in FOLDS.split(X):
        expected = TREE.fit(X[train], MIXED[train]).predict_proba(X[test])
        for part, own in zip(found, expected):
            np.testing.assert_array_equal(part[test], own)


def test_a_class_that_training_rows_lack_has_probability_0():
    classes = np.where(np.arange(90) == 7, "rare", CLASSES)
    found = cross_val_proba(TREE, X, classes, cv=FOLDS)
    assert found.shape == (90, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found[7, 2] == 0.0  # low, mid, rare, top
    # The training rows of one fold look like labels: 0 and 1 alone.
    outputs = np.column_stack([LABELS[:, 0], np.where(np.arange(90) == 7, 2, LABELS[:, 1])])
    first, second = cross_val_proba(TREE, X, outputs, cv=FOLDS)
    assert (first.shape, second.shape) == ((90, 2), (90, 3))
    assert second[7, 2] == 0.0
    np.testing.assert_allclose(second.sum(axis=1), 1.0)


def test_groups_stay_together():
    groups = np.arange(90) // 9
    seen = []

    class Spy(TreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(groups[X[:, 0].astype(int)]))
            return super().fit(X, y, sample_weight)

    numbered = np.column_stack([np.arange(90.0), X])
    found = cross_val_proba(Spy(), numbered, LABELS, cv=5, groups=groups)
    assert found.shape == (90, 3)
    assert [len(part) for part in seen] == [8] * 5


def test_models_of_scikit_learn_and_gaps_are_welcome():
    from sklearn.multioutput import MultiOutputClassifier

    for model in (SklearnForest(5), MultiOutputClassifier(LogisticRegression())):
        found = cross_val_proba(model, X, LABELS, cv=3, random_state=0)
        assert found.shape == (90, 3)
    gaps = np.where(rng.random(LABELS.shape) < 0.2, np.nan, LABELS)
    boosted = polyleaf.BoostingClassifier(n_estimators=3, random_state=0)
    assert cross_val_proba(boosted, X, gaps, cv=3, random_state=0).shape == (90, 3)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 0] > 0, "a", "b"))
    weights = np.arange(90) % 3
    found = cross_val_proba(TREE, frame, LABELS, cv=3, random_state=0, sample_weight=weights)
    assert found.shape == (90, 3)


def test_the_same_seed_gives_the_same_folds_and_threads_change_nothing():
    one = cross_val_proba(TREE, X, LABELS, random_state=3)
    two = cross_val_proba(TREE, X, LABELS, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be an integer >= 2"),
        ("five", "cv must be an integer >= 2"),
        (ShuffleSplit(2, random_state=0), "test each of the 90 rows once"),
        ([], "test each of the 90 rows once; got 0 folds"),
    ],
)
def test_folds_that_are_no_partition_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        cross_val_proba(TREE, X, LABELS, cv=cv)


def test_a_regressor_is_refused():
    with pytest.raises(TypeError, match="TreeRegressor has none"):
        cross_val_proba(polyleaf.TreeRegressor(), X, LABELS)
