"""Rows on codes fall into the leaves of a plain descent, for every shape of trees."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf import _core

pytestmark = pytest.mark.kernel

N_FEATURES = 6
#: Features 0 to 3 are numbers; the others are categories, a few and more than a byte can tell.
FEW_CATEGORIES = np.array([0, 0, 0, 0, 5, 200], np.int32)
MANY_CATEGORIES = np.array([0, 0, 0, 0, 5, 300], np.int32)


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instruction_set(request):
    """Every instruction set that this machine has."""
    before = _core.instruction_set()
    if not _core.use_instruction_set(request.param):
        pytest.skip(f"no {request.param} here")
    yield request.param
    _core.use_instruction_set(before)


class RandomTrees:
    """Trees of given depths with splits at random, and their descent in plain Python."""

    def __init__(self, depths, n_categories, n_thresholds, seed=0):
        self.rng = np.random.default_rng(seed)
        self.n_categories = n_categories
        self.thresholds = np.sort(self.rng.normal(size=n_thresholds))
        self.nodes = []  # feature, threshold, right, missing_left, category_offset
        self.words = []
        self.offsets = [0]
        for depth in depths:
            self.start = len(self.nodes)
            self._grow(depth)
            self.offsets.append(len(self.nodes))
        columns = [np.array(column) for column in zip(*self.nodes)]
        self.feature = columns[0].astype(np.int32)
        self.threshold = columns[1].astype(np.float64)
        self.right = columns[2].astype(np.int32)
        self.missing_left = columns[3].astype(np.uint8)
        self.category_offset = columns[4].astype(np.int64)
        self.leaf_index = np.cumsum(self.feature < 0) - 1
        self.core = _core.Predictor(
            n_categories=n_categories,
            tree_offsets=np.array(self.offsets, np.int64),
            feature=self.feature,
            threshold=self.threshold,
            right=self.right,
            missing_left=self.missing_left,
            category_offset=self.category_offset,
            category_words=np.array(self.words, np.uint32),
        )

    @property
    def n_trees(self):
        return len(self.offsets) - 1

    def _grow(self, depth, is_spine=True):
        """Grow one long branch, and leaves beside it as often as not."""
        at = len(self.nodes)
        if depth == 0 or (not is_spine and self.rng.random() < 0.3):
            self.nodes.append((-1, 0.0, -1, 0, -1))
            return
        feature = int(self.rng.integers(0, N_FEATURES))
        offset = -1
        if n := int(self.n_categories[feature]):
            offset = len(self.words)
            self.words += self.rng.integers(0, 2**32, -(-n // 32)).tolist()
        self.nodes.append(None)
        spine_left = bool(self.rng.random() < 0.5)
        rest = max(depth - 1, 0) if depth <= 9 else int(self.rng.integers(0, 3))
        self._grow(depth - 1 if spine_left else rest, is_spine and spine_left)
        right = len(self.nodes) - self.start
        self._grow(rest if spine_left else depth - 1, is_spine and not spine_left)
        threshold = float(self.rng.choice(self.thresholds))
        self.nodes[at] = (feature, threshold, right, int(self.rng.integers(0, 2)), offset)

    def goes_left(self, at, value):
        n = int(self.n_categories[self.feature[at]])
        if n and 0 <= value < n:
            word = self.words[self.category_offset[at] + int(value) // 32]
            return bool(word >> int(value) % 32 & 1)
        if n or np.isnan(value):
            return bool(self.missing_left[at])
        return bool(value <= self.threshold[at])

    def naive_nodes(self, X):
        nodes = np.empty((len(X), self.n_trees), np.int32)
        for row, values in enumerate(X.astype(np.float64)):
            for tree, root in enumerate(self.offsets[:-1]):
                at = root
                while self.feature[at] >= 0:
                    left = self.goes_left(at, float(values[self.feature[at]]))
                    at = at + 1 if left else root + int(self.right[at])
                nodes[row, tree] = at - root
        return nodes

    def rows(self, n_rows):
        """Draw values on thresholds and between them, missing ones and strangers."""
        rng = np.random.default_rng(n_rows)
        X = rng.normal(size=(n_rows, N_FEATURES))
        on_threshold = rng.random(X.shape) < 0.3
        X[on_threshold] = rng.choice(self.thresholds, on_threshold.sum())
        for feature in np.flatnonzero(self.n_categories):
            X[:, feature] = rng.integers(0, self.n_categories[feature], n_rows)
        strange = [np.nan, np.inf, -np.inf, -1.0, 1e9, -0.0, 0.0, 2.7, 255.0, 65535.0]
        is_strange = rng.random(X.shape) < 0.2
        X[is_strange] = rng.choice(strange, is_strange.sum())
        return X


def csr(X):
    found = sparse.csr_array(X)
    return found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data


SHAPES = {
    "levels": ([0, 1, 2, 3, 4, 5, 6, 7, 8], FEW_CATEGORIES, 40),
    "many thresholds": ([6] * 40 + [8] * 8, FEW_CATEGORIES, 3000),
    "deep": ([12, 20, 3, 40, 9], FEW_CATEGORIES, 300),
    "many categories": ([4, 12, 6], MANY_CATEGORIES, 40),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_instruction_set_finds_the_leaves_of_a_plain_descent(instruction_set, shape):
    trees = RandomTrees(*SHAPES[shape])
    for dtype in (np.float64, np.float32):
        X = trees.rows(140).astype(dtype)
        expected = trees.naive_nodes(X)
        for n_rows in (140, 64, 5):
            nodes = np.full((n_rows, trees.n_trees), -7, np.int32)
            trees.core.apply_dense(X[:n_rows], nodes, 1)
            assert np.array_equal(nodes, expected[:n_rows])
            nodes[:] = -7
            trees.core.apply_csr(*csr(X[:n_rows]), nodes, 1)
            assert np.array_equal(nodes, expected[:n_rows])
            trees.core.apply_dense(X[:n_rows], nodes, 1, over_all=True)
            leaves = trees.leaf_index[expected[:n_rows] + np.array(trees.offsets[:-1])]
            assert np.array_equal(nodes, leaves)


@pytest.mark.parametrize("n_channels", [1, 3, 16, 23])
@pytest.mark.parametrize("shape", ["levels", "deep"])
def test_values_of_leaves_are_added_tree_after_tree(instruction_set, shape, n_channels):
    trees = RandomTrees(*SHAPES[shape])
    X = trees.rows(140)
    n_leaves = int(trees.leaf_index[-1]) + 1
    rng = np.random.default_rng(1)
    values = rng.normal(size=(n_leaves, n_channels)).astype(np.float32)
    channels = rng.integers(0, n_channels, trees.n_trees).astype(np.int32)
    leaves = trees.leaf_index[trees.naive_nodes(X) + np.array(trees.offsets[:-1])]
    start = rng.normal(size=(140, n_channels)).astype(np.float32)
    all_channels, one_channel = start.copy(), start.copy()
    for tree in range(trees.n_trees):  # in float32, in this order
        all_channels += values[leaves[:, tree]]
        one_channel[:, channels[tree]] += values[leaves[:, tree], 0]
    numbers = np.ascontiguousarray(values[:, :1])
    for n_rows in (140, 3):
        for n_threads in (1, 2):
            raw = start[:n_rows].copy()
            trees.core.add_dense(X[:n_rows], values, None, raw, n_threads)
            assert np.array_equal(raw, all_channels[:n_rows])
        raw = start[:n_rows].copy()
        trees.core.add_csr(*csr(X[:n_rows]), values, None, raw, 1)
        assert np.array_equal(raw, all_channels[:n_rows])
        raw = start[:n_rows].copy()
        trees.core.add_dense(X[:n_rows], numbers, channels, raw, 1)
        assert np.array_equal(raw, one_channel[:n_rows])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_channels", [1, 3, 16, 51])
@pytest.mark.parametrize("shape", SHAPES)
def test_averages_of_leaf_rows_equal_those_of_found_leaves(
    instruction_set, shape, n_channels, weighted
):
    trees = RandomTrees(*SHAPES[shape])
    rng = np.random.default_rng(2)
    sizes = rng.integers(0, 4, int(trees.leaf_index[-1]) + 2)  # one leaf more than there are
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    shares = np.where(rng.random(offsets[-1]) < 0.5, 1.0, rng.random(offsets[-1]))
    rows = rng.integers(0, 30, offsets[-1]).astype(np.int32)
    held = {"leaf_offsets": offsets, "leaf_rows": rows, "shares": shares}
    held["values"] = rng.normal(size=(30, n_channels))
    weights = rng.random((trees.n_trees, n_channels)) if weighted else None
    X = trees.rows(140)
    found = np.empty((140, trees.n_trees), np.int32)
    trees.core.apply_dense(X, found, 1, over_all=True)
    expected = np.zeros((140, n_channels))
    _core.average_rows(leaves=found, **held, tree_weights=weights, averages=expected, n_threads=1)
    leaves = _core.LeafAverages(**held)
    for n_rows in (140, 5):
        for n_threads in (1, 2):
            averages = np.zeros((n_rows, n_channels))
            trees.core.average_dense(X[:n_rows], leaves, weights, averages, n_threads)
            assert np.array_equal(averages, expected[:n_rows])
        averages = np.zeros((n_rows, n_channels))
        trees.core.average_csr(*csr(X[:n_rows]), leaves, weights, averages, 1)
        assert np.array_equal(averages, expected[:n_rows])


def test_one_thread_finds_the_leaves_of_many():
    trees = RandomTrees([6] * 20 + [15] * 5, FEW_CATEGORIES, 300)
    X = trees.rows(5000)
    found = []
    for n_threads in (1, 2, 3):
        nodes = np.empty((5000, trees.n_trees), np.int32)
        trees.core.apply_dense(X, nodes, n_threads)
        found.append(nodes)
    assert np.array_equal(found[0][:60], trees.naive_nodes(X[:60]))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("n", [40000, 70000])
def test_chains_beyond_15_bits_and_beyond_all_codes_descend_as_values_do(n):
    # One feature, a chain of nodes: 15 bits do not number 40,000 leaves, nor 16 70,000 thresholds.
    feature = np.tile(np.array([0, -1], np.int32), n)
    right = np.tile(np.array([0, -1], np.int32), n)
    right[::2] = np.arange(2, 2 * n + 1, 2)
    feature, right = np.append(feature, np.int32(-1)), np.append(right, np.int32(-1))
    threshold = np.repeat(np.arange(n, dtype=np.float64), 2)
    chain = _core.Predictor(
        n_categories=np.zeros(1, np.int32),
        tree_offsets=np.array([0, 2 * n + 1]),
        feature=feature,
        threshold=np.append(threshold, 0.0),
        right=right,
        missing_left=np.zeros(2 * n + 1, np.uint8),
        category_offset=np.full(2 * n + 1, -1),
        category_words=np.zeros(0, np.uint32),
    )
    X = np.full((10000, 1), 0.5)  # enough of them to try codes
    X[:5, 0] = [0.0, 0.5, n - 1.0, n + 1.0, np.nan]
    nodes = np.empty((len(X), 1), np.int32)
    chain.apply_dense(X, nodes, 1)
    assert nodes[:6, 0].tolist() == [1, 3, 2 * n - 1, 2 * n, 2 * n, 3]


def test_values_of_another_shape_are_refused():
    trees = RandomTrees([2, 2], FEW_CATEGORIES, 10)
    X, raw = np.zeros((3, N_FEATURES)), np.zeros((3, 2), np.float32)
    n_leaves = int(trees.leaf_index[-1]) + 1
    with pytest.raises(ValueError, match="a row for each leaf"):
        trees.core.add_dense(X, np.zeros((n_leaves + 1, 2), np.float32), None, raw, 1)
    with pytest.raises(ValueError, match="the columns of raw"):
        trees.core.add_dense(X, np.zeros((n_leaves, 1), np.float32), None, raw, 1)
    with pytest.raises(ValueError, match="a row for each of X"):
        trees.core.add_dense(X[:2], np.zeros((n_leaves, 2), np.float32), None, raw, 1)
    wrong = np.array([0, 2], np.int32)
    with pytest.raises(ValueError, match="channels"):
        trees.core.add_dense(X, np.zeros((n_leaves, 1), np.float32), wrong, raw, 1)


def test_leaf_rows_of_another_shape_are_refused():
    trees = RandomTrees([2, 2], FEW_CATEGORIES, 10)
    n_leaves = int(trees.leaf_index[-1]) + 1
    rows = np.arange(n_leaves, dtype=np.int32)
    held = {"leaf_offsets": np.arange(n_leaves + 1), "leaf_rows": rows}
    held |= {"shares": np.ones(n_leaves), "values": np.zeros((n_leaves, 2))}
    faults = {
        "leaf_offsets": np.arange(n_leaves),
        "leaf_rows": rows + 1,
        "shares": np.ones(n_leaves + 1),
        "values": np.zeros((n_leaves - 1, 2)),
    }
    for name, fault in faults.items():
        with pytest.raises(ValueError):
            _core.LeafAverages(**held | {name: fault})
    leaves, X, averages = _core.LeafAverages(**held), np.zeros((3, N_FEATURES)), np.zeros((3, 2))
    few = {"leaf_offsets": np.arange(2), "leaf_rows": rows[:1], "shares": np.ones(1)}
    few_leaves = _core.LeafAverages(**held | few)
    with pytest.raises(ValueError, match="rows for every leaf"):
        trees.core.average_dense(X, few_leaves, None, averages, 1)
    with pytest.raises(ValueError, match="averages must have shape"):
        trees.core.average_dense(X[:2], leaves, None, averages, 1)
    with pytest.raises(ValueError, match="tree_weights must have shape"):
        trees.core.average_dense(X, leaves, np.ones((3, 2)), averages, 1)
