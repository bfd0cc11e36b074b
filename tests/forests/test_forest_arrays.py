"""A forest as arrays: round trips, pickles, blocks of rows, and damaged arrays refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from polyleaf import BaggedTreesRegressor, ExtraTreesRegressor, RandomForestRegressor
from polyleaf.forests import model as forest_module
from polyleaf.forests.model import Forest, JoinedForest
from polyleaf.trees.structure import JoinedArray

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    kind=pd.Categorical(RNG.choice(list("uvwxyz"), 60))
)
Y = np.column_stack([X[:, 0] + X[:, 1], X[:, 1] * X[:, 2], np.sin(X[:, 2])])
SPARSE_Y = sparse.csr_array(np.where(Y > 0, Y, 0.0))
MASKED_Y = np.where(RNG.random(Y.shape) < 0.2, np.nan, Y)


def fit(cls, data, targets, weights=None, **parameters):
    forest = cls(n_estimators=4, random_state=0, **parameters)
    return forest.fit(data, targets, sample_weight=weights), data


FITTED = {
    "dense": fit(RandomForestRegressor, X, Y),
    "total": fit(BaggedTreesRegressor, X, Y, aggregation="total"),
    "all rows": fit(ExtraTreesRegressor, X, Y),
    "large leaves": fit(RandomForestRegressor, X, Y, min_samples_leaf=12),
    "sparse": fit(RandomForestRegressor, X, SPARSE_Y),
    "masked": fit(RandomForestRegressor, X, MASKED_Y),
    "weighted": fit(RandomForestRegressor, X, Y, RNG.random(60)),
    "weighted entries": fit(RandomForestRegressor, X, Y, RNG.random((60, 3))),
    "categorical": fit(RandomForestRegressor, FRAME, Y),
    "out-of-bag weights": fit(RandomForestRegressor, X, Y, aggregation="oob"),
}
each_kind = pytest.mark.parametrize("kind", FITTED)


def dense(values):
    return values.toarray() if sparse.issparse(values) else values


def model_of(kind):
    """A forest, features as it reads them, and its predictions."""
    estimator, data = FITTED[kind]
    encoded = estimator._encode(data)
    return estimator._forest, encoded, dense(estimator._forest.predict(encoded))


@each_kind
def test_arrays_round_trip(kind):
    forest, encoded, expected = model_of(kind)
    arrays = forest.to_arrays()
    again = Forest.from_arrays(arrays)
    assert np.array_equal(dense(again.predict(encoded)), expected)
    assert all(np.array_equal(arrays[name], value) for name, value in again.to_arrays().items())


@each_kind
def test_a_pickle_gives_the_same_predictions(kind):
    forest, encoded, expected = model_of(kind)
    again = pickle.loads(pickle.dumps(forest))
    assert np.array_equal(dense(again.predict(encoded)), expected)


@each_kind
def test_a_pickle_holds_nothing_that_was_computed_for_predictions(kind):
    forest, encoded, _ = model_of(kind)
    fresh = Forest.from_arrays(forest.to_arrays())
    before = len(pickle.dumps(fresh))
    fresh.predict(encoded)
    assert len(pickle.dumps(fresh)) == before


@each_kind
def test_rows_are_predicted_alike_in_one_block_or_many(kind, monkeypatch):
    forest, encoded, expected = model_of(kind)
    top = forest.predict_topk(encoded, 2).toarray()
    monkeypatch.setattr(forest_module, "BLOCK_ENTRIES", 50)
    assert len(list(forest.row_blocks(60))) > 5
    assert np.array_equal(dense(forest.predict(encoded)), expected)
    assert np.array_equal(forest.predict_topk(encoded, 2).toarray(), top)


@each_kind
def test_rows_are_predicted_alike_by_any_number_of_threads(kind):
    forest, encoded, expected = model_of(kind)
    assert np.array_equal(dense(forest.predict(encoded, n_threads=3)), expected)


def test_a_row_of_leaves_beyond_the_last_adds_nothing():
    forest, encoded, expected = model_of("total")
    leaves = forest.leaves_of(encoded)
    nothing = np.full((60, 1), forest.structure.n_leaves, np.int32)
    padded = forest.predict_leaves(np.hstack([leaves, nothing]))
    np.testing.assert_allclose(padded, expected * 4 / 5)


@pytest.mark.parametrize("n_expected", [1, 2, 5])
@pytest.mark.parametrize("kinds", [("dense", "all rows"), ("all rows", "dense")])
def test_joined_forests_with_and_without_drawn_rows_count_rows_once(kinds, n_expected):
    parts = [FITTED[kind][0]._forest for kind in kinds]
    joining = JoinedForest(n_expected)
    for part in parts:
        joining.add(part)
    joined = joining.finish()
    assert np.array_equal(
        list(joined.in_bag_counts()), [counts for part in parts for counts in part.in_bag_counts()]
    )
    encoded = FITTED["dense"][0]._encode(X)
    together = joined.predict(encoded)
    alone = [part.with_tree_weights(None).predict(encoded) for part in parts]
    np.testing.assert_allclose(together, np.mean(alone, axis=0))


def test_room_is_made_for_trees_not_for_forests():
    """A forest that is gone on with is one part of many trees."""
    joined = JoinedArray(np.float64, n_trees=200)
    joined.add(np.ones(1000), 100)
    assert joined._array.size < 3000
    for _ in range(100):
        joined.add(np.zeros(10), 1)
    assert np.array_equal(joined.finish(), np.repeat([1.0, 0.0], 1000))


def put(index, value):
    def change(array):
        array = array.copy()
        array.reshape(-1)[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("dense", "leaf_sizes", put(0, 0), "each with a training row"),
        ("dense", "leaf_sizes", put(0, 10**6), "leaves to hold"),
        ("dense", "leaf_sizes", lambda a: a[:-1], "leaves, each"),
        ("dense", "leaf_sizes", lambda a: a.astype(np.int64), "1-dimensional int32"),
        ("dense", "leaf_rows", put(0, 60), "leaf_rows"),
        ("dense", "leaf_rows", put(0, -1), "leaf_rows"),
        ("dense", "leaf_rows", lambda a: a[:-1], "leaves to hold"),
        ("dense", "leaf_counts", put(0, 0), "drawn at least once"),
        ("dense", "leaf_counts", lambda a: a[:-1], "drawn at least once"),
        ("dense", "leaf_counts", lambda a: a.astype(np.int32), "1-dimensional uint16"),
        ("dense", "feature_gains", put(0, -1.0), "finite gain"),
        ("dense", "feature_gains", put(0, np.nan), "finite gain"),
        ("dense", "feature_gains", lambda a: a[:-1], "every feature"),
        ("out-of-bag weights", "tree_weights", put(0, 1.5), r"weights of trees in \[0, 1\]"),
        ("out-of-bag weights", "tree_weights", put(0, np.nan), r"weights of trees in \[0, 1\]"),
        ("out-of-bag weights", "tree_weights", lambda a: a[:-1], r"of shape \(4, 3\)"),
        ("out-of-bag weights", "tree_weights", lambda a: a[:, :2], r"of shape \(4, 3\)"),
        ("dense", "output_values", lambda a: a[:5], "leaf_rows"),
        ("dense", "tree_offsets", lambda a: a[:-1], "rise from 0"),
        ("weighted", "row_weights", lambda a: np.zeros_like(a), "positive weight"),
        ("weighted", "row_weights", lambda a: a * 1e308, "positive weight|finite"),
        ("sparse", "output_indices", put(0, 99), "output_indices"),
        ("masked", "output_observed", put(0, 7), "0 or 1"),
        ("categorical", "category_words", lambda a: a[:-1], "category set"),
    ],
)
def test_damaged_arrays_are_refused_with_a_reason(kind, name, change, message):
    arrays = FITTED[kind][0]._forest.to_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=message):
        Forest.from_arrays(arrays)


@each_kind
def test_a_missing_array_is_noticed(kind):
    arrays = FITTED[kind][0]._forest.to_arrays()
    optional = {"leaf_counts", "tree_weights", "output_observed", "row_weights", "entry_weights"}
    for name in set(arrays) - optional:
        rest = {key: value for key, value in arrays.items() if key != name}
        with pytest.raises(ValueError, match="Expected an array named"):
            Forest.from_arrays(rest)
