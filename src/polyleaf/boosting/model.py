"""A boosted model: a constant plus a sum of trees, raw predictions f(x) = f_0 + sum_m h_m(x).

What a tree adds is one of three (tagged in the model): a vector per leaf ("dense", Alg. 2 and 4 of
Joly et al. 2019); a number per leaf times one vector per tree ("linear", Alg. 3: f = f_0 +
sum_m rho_m g_m(x), eq. 15); or a number per leaf for one channel ("single", one output at a time).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below
from polyleaf.trees.additive import AdditiveTrees, ChannelChoice
from polyleaf.trees.compact import pack_structure, unpack_structure
from polyleaf.trees.structure import TreeStructure, add_leaf_values, apply_trees, join_structures

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Encoded: TypeAlias = NDArray[Any] | CSR

#: Leaves of rows in trees that are held at a time.
_BLOCK_ENTRIES = 2**22


_ARRAYS = StoredArrays(
    "Boosted trees",
    {
        "baseline": StoredArray(np.float64, "n_channels", "Raw prediction before the first tree."),
        "leaf_values": StoredArray(
            np.float32, "n_leaves, n_columns", "What a leaf adds: to every channel, or one number."
        ),
        "feature_gains": StoredArray(np.float64, "n_features", "Gains of each feature's splits."),
        "leaf_samples": StoredArray(
            np.int32, "n_leaves", "Training rows of each leaf; absent in older files."
        ),
        "tree_factors": StoredArray(
            np.float32, "n_trees, n_channels", "Factor of each channel (linear leaf fits)."
        ),
        "tree_channels": StoredArray(
            np.int32, "n_trees", "The one channel that a tree serves (one output at a time)."
        ),
        "tree_seen_bits": StoredArray(
            np.uint8,
            "n_trees n_channels / 8",
            "A bit per tree and channel: 1 if it saw that; absent if all saw all.",
        ),
    },
)


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees whose values are added up.

    Attributes
    ----------
    baseline : ndarray of shape (n_channels,), float64
        NaN for a channel that was never observed.
    structure : TreeStructure
        Without statistics of nodes.
    kind : {"dense", "linear", "single"}
    leaf_values : ndarray of shape (n_leaves, n_channels) or (n_leaves, 1), float32
        Shrunk by the learning rate if dense or single.
    tree_factors : ndarray of shape (n_trees, n_channels), float32, or None
        rho of every tree, shrunk by the learning rate; only if linear.
    tree_channels : ndarray of shape (n_trees,), int32, or None
        The channel of every tree; only if single.
    feature_gains : ndarray of shape (n_features,), float64
        Sum over trees of the gains of each feature's splits.
    leaf_samples : ndarray of shape (n_leaves,), int32, or None
        Training rows that each leaf was grown on; None if an older file does not tell.
    seen : ndarray of shape (n_trees, n_channels), bool, or None
        Channels that had a part in the choice of a tree's splits; None if a file does not tell:
        all of them, or the one that it serves.
    """

    baseline: NDArray[np.float64]
    structure: TreeStructure
    kind: str
    leaf_values: NDArray[np.float32]
    tree_factors: NDArray[np.float32] | None
    tree_channels: NDArray[np.int32] | None
    feature_gains: NDArray[np.float64]
    leaf_samples: NDArray[np.int32] | None = None
    seen: NDArray[np.bool_] | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.structure.n_trees

    @property
    def n_channels(self) -> int:
        """Number of channels of raw predictions."""
        return self.baseline.size

    @cached_property
    def tree_leaves(self) -> NDArray[np.int64]:
        """First leaf of every tree, and the number of all leaves; of shape (n_trees + 1,)."""
        before = np.concatenate([[0], np.cumsum(self.structure.is_leaf)])
        starts: NDArray[np.int64] = before[self.structure.tree_offsets]
        return starts

    def seen_channels(self) -> NDArray[np.bool_]:
        """Tell which channels had a part in each tree's splits, of shape (n_trees, n_channels)."""
        if self.seen is not None:
            return self.seen
        if self.tree_channels is not None:
            return np.asarray(self.tree_channels[:, None] == np.arange(self.n_channels))
        return np.ones((self.n_trees, self.n_channels), np.bool_)

    def leaves_of(self, X: Encoded, n_threads: int = 1) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree, counted over all trees: (n_rows, n_trees)."""
        return apply_trees(self.structure, X, n_threads, over_all=True)

    def predict(self, X: Encoded, n_threads: int = 1) -> NDArray[np.float32]:
        """Predict raw values of all rows, of shape (n_rows, n_channels)."""
        raw = self._start(X.shape[0])
        self.add_to(X, raw, n_threads)
        return raw

    def add_to(self, X: Encoded, raw: NDArray[np.float32], n_threads: int = 1) -> None:
        """Add what the trees predict, without the baseline, to raw predictions in place."""
        if self.kind != "linear":
            values, channels = self.leaf_values, self.tree_channels
            add_leaf_values(self.structure, X, values, channels, raw, n_threads)
            return
        step = max(1, _BLOCK_ENTRIES // self.n_trees)
        for start in range(0, raw.shape[0], step):
            leaves = self.leaves_of(X[start : start + step], n_threads)
            self._add(leaves, raw[start : start + step], range(self.n_trees), n_threads)

    def staged_predict(
        self, X: Encoded, trees_per_stage: int, n_threads: int = 1
    ) -> Iterator[NDArray[np.float32]]:
        """Predict raw values by the first trees, more and more of them.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_rows, n_features)
        trees_per_stage : int
        n_threads : int

        Yields
        ------
        ndarray of shape (n_rows, n_channels), float32
            A new array each time.
        """
        leaves = self.leaves_of(X, n_threads)
        raw = self._start(X.shape[0])
        for start in range(0, self.n_trees, trees_per_stage):
            trees = range(start, min(start + trees_per_stage, self.n_trees))
            part = np.ascontiguousarray(leaves[:, trees.start : trees.stop])
            self._add(part, raw, trees, n_threads)
            yield raw.copy()

    def _start(self, n_rows: int) -> NDArray[np.float32]:
        return np.tile(self.baseline.astype(np.float32), (n_rows, 1))

    def _add(
        self,
        leaves: NDArray[np.int32],
        raw: NDArray[np.float32],
        trees: range,
        n_threads: int,
    ) -> None:
        """Add what the given trees predict, from leaves of shape (n_rows, len(trees))."""
        if self.kind == "dense":
            _core.add_leaves(leaves, self.leaf_values, raw, n_threads)
            return
        numbers = self.leaf_values[:, 0][leaves]
        if self.tree_factors is not None:
            raw += numbers @ self.tree_factors[trees.start : trees.stop]
        elif self.tree_channels is not None:
            for place, channel in enumerate(self.tree_channels[trees.start : trees.stop]):
                raw[:, channel] += numbers[:, place]

    @classmethod
    def concatenate(cls, parts: Sequence[BoostedTrees]) -> BoostedTrees:
        """Join models with one baseline and one kind of leaves, in their order."""
        first = parts[0]

        def joined(name: str) -> Any:
            if any(getattr(part, name) is None for part in parts):
                return None
            return np.concatenate([getattr(part, name) for part in parts])

        is_seen = any(part.seen is not None for part in parts)
        return cls(
            baseline=first.baseline,
            structure=join_structures([part.structure for part in parts]),
            kind=first.kind,
            leaf_values=joined("leaf_values"),
            tree_factors=joined("tree_factors"),
            tree_channels=joined("tree_channels"),
            feature_gains=np.sum([part.feature_gains for part in parts], axis=0),
            leaf_samples=joined("leaf_samples"),
            seen=np.vstack([part.seen_channels() for part in parts]) if is_seen else None,
        )

    def channel_vectors(self) -> NDArray[np.float64]:
        """Describe every channel by what the trees add to it, of shape (n_channels, n).

        Rows point the same way for channels that share structure: rho of every tree, or the
        values of every leaf.
        """
        if self.tree_factors is not None:
            sizes = np.diff(self.tree_leaves)
            squares = np.add.reduceat(self.leaf_values[:, 0] ** 2, self.tree_leaves[:-1])
            return (self.tree_factors * np.sqrt(squares / sizes)[:, None]).T.astype(np.float64)
        if self.tree_channels is not None:
            vectors = np.zeros((self.n_channels, self.n_trees))
            squares = np.add.reduceat(self.leaf_values[:, 0] ** 2, self.tree_leaves[:-1])
            vectors[self.tree_channels, np.arange(self.n_trees)] = np.sqrt(squares)
            return vectors
        return self.leaf_values.T.astype(np.float64)

    # Model files -------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        arrays: dict[str, NDArray[Any]] = {
            **pack_structure(self.structure),
            "baseline": self.baseline,
            "leaf_values": self.leaf_values,
            "feature_gains": self.feature_gains,
        }
        if self.tree_factors is not None:
            arrays["tree_factors"] = self.tree_factors
        if self.tree_channels is not None:
            arrays["tree_channels"] = self.tree_channels
        if self.leaf_samples is not None:
            arrays["leaf_samples"] = self.leaf_samples
        if self.seen is not None:
            arrays["tree_seen_bits"] = np.packbits(self.seen)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> BoostedTrees:
        """Rebuild and check a model from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        structure = unpack_structure(arrays)
        baseline = _ARRAYS.read(arrays, "baseline")
        values = _ARRAYS.read(arrays, "leaf_values")
        gains = _ARRAYS.read(arrays, "feature_gains")
        if not baseline.size or np.isinf(baseline).any():
            raise ValueError("Expected a finite baseline of at least one channel, or NaN.")
        if gains.size != structure.n_features or not np.all(np.isfinite(gains)):
            raise ValueError("Expected one finite gain per feature.")
        factors = channels = None
        kind, width = "dense", baseline.size
        if "tree_factors" in arrays:
            kind, width = "linear", 1
            factors = _ARRAYS.read(arrays, "tree_factors")
            if factors.shape != (structure.n_trees, baseline.size) or not np.all(
                np.isfinite(factors)
            ):
                raise ValueError("Expected finite factors for every tree and channel.")
        elif "tree_channels" in arrays:
            kind, width = "single", 1
            channels = _ARRAYS.read(arrays, "tree_channels")
            if channels.size != structure.n_trees:
                raise ValueError("Expected one channel per tree.")
            expect_below(channels, baseline.size, "tree_channels")
        if values.shape != (structure.n_leaves, width) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"Expected finite leaf values of shape {(structure.n_leaves, width)}; got "
                f"{values.shape}."
            )
        samples = None
        if "leaf_samples" in arrays:
            samples = _ARRAYS.read(arrays, "leaf_samples")
            if samples.size != structure.n_leaves or samples.min() < 1:
                raise ValueError("Expected every leaf to have a training row.")
        seen = _stored_seen(arrays, (structure.n_trees, baseline.size))
        return cls(baseline, structure, kind, values, factors, channels, gains, samples, seen)

    # As a sum of trees -------------------------------------------------------------------------

    def additive(self, scale: NDArray[np.float64], shift: NDArray[np.float64]) -> AdditiveTrees:
        """Give the model as a sum of trees whose unit is `scale`, of shape (n_channels,)."""

        def tree_values(first: int, last: int, choice: ChannelChoice) -> NDArray[np.float64]:
            numbers = self.leaf_values[self.tree_leaves[first] : self.tree_leaves[last]]
            if self.kind == "dense":
                return choice(numbers * scale)
            tree = np.repeat(np.arange(first, last), np.diff(self.tree_leaves[first : last + 1]))
            if self.tree_factors is not None:
                return numbers * choice(self.tree_factors[first:last] * scale)[tree - first]
            assert self.tree_channels is not None
            channel = self.tree_channels[tree]
            own = choice.matrix.tocsr()[channel].toarray()
            values: NDArray[np.float64] = numbers * scale[channel, None] * own
            return values

        samples = self.leaf_samples
        return AdditiveTrees(
            self.structure,
            self.baseline * scale + shift,
            None if samples is None else samples.astype(np.float64),
            tree_values,
            self.tree_channels,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _stored_seen(
    arrays: Mapping[str, NDArray[Any]], shape: tuple[int, int]
) -> NDArray[np.bool_] | None:
    if "tree_seen_bits" not in arrays:
        return None
    bits = _ARRAYS.read(arrays, "tree_seen_bits")
    n_bits = shape[0] * shape[1]
    if bits.size != -(-n_bits // 8):
        raise ValueError(f"Expected a bit per tree and channel, {n_bits} in all.")
    return np.unpackbits(bits, count=n_bits).reshape(shape).astype(np.bool_)
