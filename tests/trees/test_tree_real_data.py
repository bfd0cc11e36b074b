"""Every public data set is fitted as it is, and the tree knows more than the mean does."""

import warnings

import numpy as np
import pytest
from benchmarks.real_data import REAL_DATA, data_folder
from scipy import sparse

from polyleaf import TreeClassifier, TreeRegressor

FOLDER = data_folder()
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        FOLDER is None, reason="no public data sets: set POLYLEAF_DATA or add ../shared/data"
    ),
]


def squared_error(predicted, Y):
    """Mean over observed entries; sparse matrices stay sparse."""
    if sparse.issparse(Y):
        return (predicted - Y).power(2).sum() / np.prod(Y.shape)
    return np.nanmean((predicted - Y) ** 2)


def mean_error(Y):
    if sparse.issparse(Y):
        mean = Y.mean(axis=0)
        return (Y.power(2).sum() - Y.shape[0] * (mean**2).sum()) / np.prod(Y.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # outputs that are never observed
        return np.nanmean((Y - np.nanmean(Y, axis=0)) ** 2)


@pytest.mark.filterwarnings("ignore:Outputs without a single observed value")
@pytest.mark.parametrize("entry", REAL_DATA.values(), ids=list(REAL_DATA))
def test_data_set_is_fitted_and_predicted(entry):
    data = entry.load(FOLDER)
    X, Y = data.X, data.Y
    cls = TreeRegressor if entry.task == "regression" else TreeClassifier
    tree = cls(max_depth=6, n_jobs=2, random_state=0).fit(X, Y)
    predicted = tree.predict(X)
    assert predicted.shape == Y.shape
    assert sparse.issparse(predicted) == sparse.issparse(Y)
    assert 1 < tree.get_n_leaves() <= 64
    assert tree.feature_importances_.sum() == pytest.approx(1.0)
    if entry.task == "multiclass":
        mode = [np.unique(column, return_counts=True)[1].max() for column in np.asarray(Y).T]
        assert (predicted == np.asarray(Y)).mean() > np.mean(mode) / len(Y)
    elif entry.task == "regression":
        assert squared_error(predicted, Y) < mean_error(Y)
    else:
        assert squared_error(tree.predict_proba(X), Y) < mean_error(Y)


def test_categories_and_missing_values_of_thyroid_are_used():
    data = REAL_DATA["thyroid-L7"].load(FOLDER)
    tree = TreeClassifier(max_depth=6, random_state=0).fit(data.X, data.Y)
    assert tree._features.is_categorical.sum() == REAL_DATA["thyroid-L7"].n_nominal
    assert len(tree.classes_) == 7
    assert (tree.predict(data.X) == np.asarray(data.Y)).mean() > 0.95


def test_unknown_labels_of_tcast_are_learnt_around():
    data = REAL_DATA["tcast"].load(FOLDER)
    tree = TreeClassifier(max_depth=6, random_state=0).fit(data.X, data.Y)
    assert tree._trees.leaves.leaf_weights.shape == (tree.get_n_leaves(), 424)
    assert not np.isnan(tree.predict_proba(data.X)).any()


def test_delicious_stays_sparse():
    data = REAL_DATA["delicious"].load(FOLDER)
    assert sparse.issparse(data.Y)
    tree = TreeClassifier(max_depth=6, random_state=0).fit(data.X, data.Y)
    assert tree._trees.leaves.kind == "rows"
    assert tree.predict(data.X).nnz > 0
