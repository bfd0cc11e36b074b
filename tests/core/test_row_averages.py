"""Means and quantiles of training rows: naive references, threads, and arguments refused."""

import numpy as np
import pytest

from polyleaf import _core

pytestmark = pytest.mark.kernel

N_ROWS, N_TREES, N_TRAIN, N_CHANNELS = 150, 4, 30, 3  # rows fill more than two blocks
N_LEAVES = 12


def random_leaves(seed):
    """Leaves of any size, also none, and rows that fell into them."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, N_LEAVES))])
    return {
        "leaves": rng.integers(0, N_LEAVES, (N_ROWS, N_TREES)).astype(np.int32),
        "leaf_offsets": offsets.astype(np.int64),
        "leaf_rows": rng.integers(0, N_TRAIN, offsets[-1]).astype(np.int32),
        "shares": rng.random(offsets[-1]),
        "values": rng.normal(size=(N_TRAIN, N_CHANNELS)),
        "tree_weights": rng.random((N_TREES, N_CHANNELS)),
        "averages": np.zeros((N_ROWS, N_CHANNELS)),
        "n_threads": 1,
    }


def naive_averages(given):
    averages = np.zeros((N_ROWS, N_CHANNELS))
    for row in range(N_ROWS):
        for tree in range(N_TREES):
            leaf = given["leaves"][row, tree]
            weights = given["tree_weights"]
            weights = 1 / N_TREES if weights is None else weights[tree]
            for entry in range(*given["leaf_offsets"][leaf : leaf + 2]):
                values = given["values"][given["leaf_rows"][entry]]
                averages[row] += weights * given["shares"][entry] * values
    return averages


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_averages_equal_a_loop_over_trees_and_rows(seed, weighted):
    given = random_leaves(seed)
    if not weighted:
        given["tree_weights"] = None
    _core.average_rows(**given)
    np.testing.assert_allclose(given["averages"], naive_averages(given), atol=1e-12)


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_averages_are_the_same_for_any_number_of_threads(n_threads):
    alone, together = random_leaves(5), random_leaves(5) | {"n_threads": n_threads}
    _core.average_rows(**alone)
    _core.average_rows(**together)
    assert np.array_equal(alone["averages"], together["averages"])


def random_weights(seed):
    """Weights of some training rows for each row, none at all for the last."""
    rng = np.random.default_rng(seed)
    sizes = np.append(rng.integers(1, 12, N_ROWS - 1), 0)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return {
        "indptr": indptr,
        "indices": rng.integers(0, N_TRAIN, indptr[-1]).astype(np.int32),
        "weights": rng.integers(1, 5, indptr[-1]).astype(float),  # sums of them are exact
        "values": rng.integers(-3, 4, (N_TRAIN, N_CHANNELS)).astype(float),
        "quantiles": np.array([0.0, 0.1, 0.25, 0.5, 0.5, 0.9, 1.0]),
        "found": np.zeros((N_ROWS, N_CHANNELS, 7)),
        "n_threads": 1,
    }


@pytest.mark.parametrize("seed", range(3))
def test_quantiles_equal_numpy_on_repeated_values(seed):
    given = random_weights(seed)
    _core.row_quantiles(**given)
    for row in range(N_ROWS - 1):
        entries = slice(*given["indptr"][row : row + 2])
        repeats = given["weights"][entries].astype(int)
        values = np.repeat(given["values"][given["indices"][entries]], repeats, axis=0)
        expected = np.quantile(values, given["quantiles"], axis=0, method="inverted_cdf").T
        assert np.array_equal(given["found"][row], expected)
    assert np.isnan(given["found"][-1]).all()


def test_quantiles_are_the_same_for_any_number_of_threads():
    alone, together = random_weights(5), random_weights(5) | {"n_threads": 3}
    _core.row_quantiles(**alone)
    _core.row_quantiles(**together)
    assert np.array_equal(alone["found"], together["found"], equal_nan=True)


def test_a_weight_that_reaches_the_quantile_but_for_rounding_reaches_it():
    found = np.zeros((1, 1, 1))
    _core.row_quantiles(
        indptr=np.array([0, 10], np.int64),
        indices=np.arange(10, dtype=np.int32),
        weights=np.full(10, 0.1),  # ten of them add up to a little less than 1
        values=np.arange(10.0)[:, None],
        quantiles=np.array([0.3]),
        found=found,
        n_threads=1,
    )
    assert found.item() == 2.0


def changed(array, index, value):
    result = array.copy()
    result[index] = value
    return result


def read_only(array):
    array.flags.writeable = False
    return array


BAD_AVERAGES = {
    "leaf out of range": ("leaves", lambda a: changed(a, (3, 1), N_LEAVES)),
    "negative leaf": ("leaves", lambda a: changed(a, (3, 1), -1)),
    "int64 leaves": ("leaves", lambda a: a.astype(np.int64)),
    "flat leaves": ("leaves", lambda a: a[:, 0].copy()),
    "no trees": ("leaves", lambda a: a[:, :0].copy()),
    "a tree too many": ("leaves", lambda a: np.hstack([a, a[:, :1]])),
    "column-major leaves": ("leaves", np.asfortranarray),
    "offsets not from 0": ("leaf_offsets", lambda a: changed(a, 0, 1)),
    "falling offsets": ("leaf_offsets", lambda a: changed(a, 4, 10**6)),
    "offsets past the end": ("leaf_offsets", lambda a: changed(a, -1, a[-1] + 1)),
    "no offsets": ("leaf_offsets", lambda a: a[:0]),
    "int32 offsets": ("leaf_offsets", lambda a: a.astype(np.int32)),
    "row out of range": ("leaf_rows", lambda a: changed(a, 0, N_TRAIN)),
    "negative row": ("leaf_rows", lambda a: changed(a, 0, -1)),
    "a row too few": ("leaf_rows", lambda a: a[:-1]),
    "a share too few": ("shares", lambda a: a[:-1]),
    "float32 shares": ("shares", lambda a: a.astype(np.float32)),
    "flat values": ("values", lambda a: a[:, 0].copy()),
    "values of another width": ("values", lambda a: a[:, :2].copy()),
    "a row of values too few": ("values", lambda a: a[:5].copy()),
    "weights of fewer trees": ("tree_weights", lambda a: a[:-1]),
    "weights of fewer channels": ("tree_weights", lambda a: a[:, :-1].copy()),
    "float32 weights": ("tree_weights", lambda a: a.astype(np.float32)),
    "averages of fewer rows": ("averages", lambda a: a[:-1]),
    "averages of fewer channels": ("averages", lambda a: a[:, :-1].copy()),
    "averages of floats32": ("averages", lambda a: a.astype(np.float32)),
    "averages that cannot be written": ("averages", read_only),
    "no threads": ("n_threads", lambda a: 0),
    "too many threads": ("n_threads", lambda a: 2000),
}


@pytest.mark.parametrize("fault", BAD_AVERAGES)
def test_average_rows_refuses(fault):
    given = random_leaves(0)
    name, change = BAD_AVERAGES[fault]
    with pytest.raises((TypeError, ValueError)):
        _core.average_rows(**given | {name: change(given[name])})


BAD_QUANTILES = {
    "indptr not from 0": ("indptr", lambda a: changed(a, 0, 1)),
    "falling indptr": ("indptr", lambda a: changed(a, 5, 10**6)),
    "indptr past the end": ("indptr", lambda a: changed(a, -1, a[-1] + 1)),
    "no indptr": ("indptr", lambda a: a[:0]),
    "a row too few": ("indptr", lambda a: np.delete(a, 3)),
    "index out of range": ("indices", lambda a: changed(a, 0, N_TRAIN)),
    "negative index": ("indices", lambda a: changed(a, 0, -1)),
    "int64 indices": ("indices", lambda a: a.astype(np.int64)),
    "a weight too few": ("weights", lambda a: a[:-1]),
    "flat values": ("values", lambda a: a[:, 0].copy()),
    "values of another width": ("values", lambda a: a[:, :2].copy()),
    "falling quantiles": ("quantiles", lambda a: a[::-1].copy()),
    "negative quantile": ("quantiles", lambda a: changed(a, 0, -0.1)),
    "quantile above 1": ("quantiles", lambda a: changed(a, -1, 1.1)),
    "NaN quantile": ("quantiles", lambda a: changed(a, 2, np.nan)),
    "a quantile too few": ("quantiles", lambda a: a[:-1]),
    "found of fewer rows": ("found", lambda a: a[:-1]),
    "found without channels": ("found", lambda a: a[:, 0].copy()),
    "no threads": ("n_threads", lambda a: 0),
}


@pytest.mark.parametrize("fault", BAD_QUANTILES)
def test_row_quantiles_refuses(fault):
    given = random_weights(0)
    name, change = BAD_QUANTILES[fault]
    with pytest.raises((TypeError, ValueError)):
        _core.row_quantiles(**given | {name: change(given[name])})
