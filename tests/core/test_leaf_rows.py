"""Predictions of leaves that hold training rows, against a naive sum."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core

pytestmark = pytest.mark.kernel


@dataclass(frozen=True, eq=False)
class Forest:
    """Leaves of several trees over the same training rows, and queries."""

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    targets: Any
    leaves: NDArray[np.int32]

    def arrays(self):
        return {
            "leaf_offsets": self.offsets,
            "leaf_rows": self.rows,
            "entry_weights": self.weights,
            "target_indptr": self.targets.indptr.astype(np.int64),
            "target_indices": self.targets.indices.astype(np.int32),
            "target_data": self.targets.data.astype(np.float64),
            "n_outputs": self.targets.shape[1],
        }

    @property
    def core(self):
        return _core.LeafRows(**self.arrays())

    def naive_sums(self):
        """Add row after row, leaf after leaf."""
        targets = self.targets.toarray()
        sums = np.zeros((len(self.leaves), targets.shape[1]))
        for query, leaves in enumerate(self.leaves):
            for leaf in leaves:
                for entry in range(self.offsets[leaf], self.offsets[leaf + 1]):
                    sums[query] += self.weights[entry] * targets[self.rows[entry]]
        return sums

    def dense(self, dtype=np.float64, n_threads=1):
        sums = np.full((len(self.leaves), self.targets.shape[1]), np.nan, dtype)
        _core.predict_rows_dense(self.core, self.leaves, sums, n_threads)
        return sums

    def topk(self, k, n_threads=1):
        outputs = np.full((len(self.leaves), k), 99, np.int32)
        sums = np.full((len(self.leaves), k), np.nan)
        _core.predict_rows_topk(self.core, self.leaves, outputs, sums, n_threads)
        return outputs, sums


def make_forest(n_queries=45, n_trees=6, n_train=50, n_outputs=30, *, exact=False, seed=0):
    """Trees that each send all training rows to some of 12 leaves; one row has no output."""
    rng = np.random.default_rng(seed)
    ends, rows = [], []
    for _ in range(n_trees):
        leaf_of = np.concatenate([np.arange(12), rng.integers(0, 12, n_train - 12)])
        rng.shuffle(leaf_of)
        rows.append(np.argsort(leaf_of, kind="stable"))
        ends.append(np.bincount(leaf_of, minlength=12))
    targets = rng.random((n_train, n_outputs)) < 0.15
    targets[7] = False
    values = targets * (1.0 if exact else rng.normal(size=targets.shape))
    weights = rng.integers(1, 4, n_trees * n_train) / 8 if exact else rng.random(n_trees * n_train)
    return Forest(
        offsets=np.concatenate([[0], np.cumsum(np.concatenate(ends))]).astype(np.int64),
        rows=np.concatenate(rows).astype(np.int32),
        weights=weights,
        targets=sparse.csr_array(values),
        leaves=(rng.integers(0, 12, (n_queries, n_trees)) + 12 * np.arange(n_trees)).astype(
            np.int32
        ),
    )


@pytest.mark.parametrize("n_trees", [1, 6])
def test_dense_sums_are_those_of_the_rows_of_the_leaves(n_trees):
    forest = make_forest(n_trees=n_trees)
    np.testing.assert_allclose(forest.dense(), forest.naive_sums(), rtol=1e-12, atol=1e-14)
    single = forest.dense(np.float32)
    np.testing.assert_allclose(single, forest.naive_sums(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("exact", [False, True], ids=["any numbers", "with ties"])
@pytest.mark.parametrize("k", [1, 5, 30, 40])
def test_topk_lists_the_largest_positive_sums_and_the_lower_output_first(k, exact):
    forest = make_forest(exact=exact, seed=1)
    outputs, values = forest.topk(k)
    for own, value, sums in zip(outputs, values, forest.naive_sums(), strict=True):
        order = np.lexsort((np.arange(sums.size), -np.round(sums, 12)))
        expected = order[sums[order] > 1e-12][:k]
        assert own[: expected.size].tolist() == expected.tolist()
        assert np.all(own[expected.size :] == -1)
        np.testing.assert_allclose(value[: expected.size], sums[expected], rtol=1e-12)
        assert np.all(value[expected.size :] == 0.0)
    if k == 40:
        assert (outputs[:, 30:] == -1).all()


def test_one_thread_equals_many_for_rows_of_leaves():
    forest = make_forest(n_queries=203, seed=2)
    dense, (outputs, sums) = forest.dense(), forest.topk(4)
    for n_threads in (2, 5):
        assert forest.dense(n_threads=n_threads).tobytes() == dense.tobytes()
        other_outputs, other_sums = forest.topk(4, n_threads)
        assert other_outputs.tobytes() == outputs.tobytes()
        assert other_sums.tobytes() == sums.tobytes()


def test_no_queries_and_empty_leaves_give_nothing():
    forest = make_forest(n_queries=0)
    assert forest.dense().shape == (0, 30)
    empty = Forest(
        np.zeros(2, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0),
        forest.targets,
        np.zeros((3, 1), np.int32),
    )
    assert not empty.dense().any()
    assert (empty.topk(2)[0] == -1).all()


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("leaf_offsets", lambda a: a[:-1], "leaf_offsets must start at 0 and end at"),
        ("leaf_offsets", lambda a: a[:0], "at least one leaf"),
        ("leaf_rows", lambda a: np.where(a == 3, 50, a).astype(np.int32), "leaf_rows"),
        ("leaf_rows", lambda a: np.where(a == 3, -1, a).astype(np.int32), "leaf_rows"),
        ("entry_weights", lambda a: a[:-1], "entry_weights must have length"),
        ("target_indptr", lambda a: a[::-1].copy(), "target_indptr must start at 0"),
        ("target_indices", lambda a: (a + 1).astype(np.int32), "target_indices"),
        ("target_data", lambda a: a[:-1], "target_data must have length"),
        ("n_outputs", lambda _: 0, "at least one output"),
    ],
)
def test_damaged_leaf_rows_are_refused(name, damage, message):
    arrays = make_forest().arrays()
    arrays[name] = damage(arrays[name])
    with pytest.raises(ValueError, match=message):
        _core.LeafRows(**arrays)


@pytest.mark.parametrize("leaf", [-1, 72])
def test_a_leaf_that_is_not_there_is_refused(leaf):
    forest = make_forest()
    forest.leaves[4, 2] = leaf
    with pytest.raises(ValueError, match=rf"leaves\[4, 2\] = {leaf} is not in \[0, 72\)"):
        forest.dense()
    with pytest.raises(ValueError, match="is not in"):
        forest.topk(3)


def test_results_of_the_wrong_shape_are_refused():
    forest = make_forest()
    with pytest.raises(ValueError, match=r"shape \(n_rows, n_outputs\)"):
        _core.predict_rows_dense(forest.core, forest.leaves, np.zeros((45, 29)), 1)
    outputs, sums = np.zeros((45, 2), np.int32), np.zeros((45, 3))
    with pytest.raises(ValueError, match=r"shape \(n_rows, k\)"):
        _core.predict_rows_topk(forest.core, forest.leaves, outputs, sums, 1)
