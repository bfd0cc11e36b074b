"""Trees on codes that stay with their workers, for rows that do not fit one of them.

The top of a tree is grown by sums in fixed point, which pass between workers. Nodes of few rows
are left open: the codes of their rows go to one worker, which finishes them in floats. One
machine does the same with ``sums="fixed"``, so that the tree is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from polyleaf import _core
from polyleaf.checks.memory import check_memory
from polyleaf.data.binned import TILE, BinnedFeatures
from polyleaf.data.training import core_features
from polyleaf.distributed.collectives import Collective
from polyleaf.estimator.running import in_threads
from polyleaf.trees.channels import Channels
from polyleaf.trees.structure import NO_STATISTICS, SPLIT_ARRAYS, STRUCTURE_DTYPES

_NODE_ARRAYS = (*SPLIT_ARRAYS, *NO_STATISTICS)
Arrays = dict[str, NDArray[Any]]


class DividedGrower:
    """Grows trees with other workers, each of which has the codes of some rows.

    All workers make the same calls in the same order.

    Parameters
    ----------
    collective : Collective
    features : BinnedFeatures
        Of the rows of this worker.
    numbers : ndarray of shape (n_own,), int64
        These rows, among those of all; ascending.
    """

    def __init__(
        self, collective: Collective, features: BinnedFeatures, numbers: NDArray[np.int64]
    ) -> None:
        self._collective, self._features, self._numbers = collective, features, numbers
        self._binned = core_features(features)

    def __call__(
        self, channels: Channels, rows: NDArray[np.int32], params: _core.GrowParams
    ) -> DividedTree:
        """Grow a tree.

        Parameters
        ----------
        channels : Channels
            Of the rows of all workers.
        rows : ndarray, int32
            Those to train on, among all; ascending.
        params : GrowParams
            With sums in fixed point.
        """
        top = self._grow_top(channels, rows, params)
        placed = self._place(top)
        numbers, features = self._deal(placed)
        finished = self._finish(channels, params, top, placed, numbers, features)
        return _joined(top, placed, self._share(finished))

    def _grow_top(
        self, channels: Channels, rows: NDArray[np.int32], params: _core.GrowParams
    ) -> _Top:
        """Grow down to nodes that one worker may finish."""
        heard: list[NDArray[Any]] = []

        def reduce(numbers: NDArray[Any], by: str) -> None:
            self._collective.allreduce(numbers, by)
            if len(heard) < 3:  # number of rows, largest sizes, sums of sizes
                heard.append(numbers.ravel().copy())

        is_used = np.zeros(channels.n_rows, np.bool_)
        is_used[rows] = True
        own = np.flatnonzero(is_used[self._numbers]).astype(np.int32)
        told = _changed(params, float_rows=0)
        n_finished = params.float_rows if params.max_leaf_nodes < 0 else 0
        told.min_samples_split = max(params.min_samples_split, n_finished + 1)
        shown = channels.at(self._numbers)
        grown = _core.grow_tree(self._binned, shown.core, own, told, None, reduce)
        nodes = _nodes_of(grown)
        offsets = np.empty((grown.n_nodes + 1) // 2 + 1, np.int64)
        scratch: Arrays = {name: np.empty_like(nodes[name]) for name in SPLIT_ARRAYS}
        gains = np.empty(self._features.n_features)
        grown.write_splits(**scratch, leaf_offsets=offsets, feature_gains=gains)
        depths, seeds = _below(nodes, params.seed)
        rounding = _rounding(int(heard[0][0]), heard[1], heard[2], channels.n_channels)
        is_open = _are_open(nodes, depths, rounding, params, n_finished)
        return _Top(
            nodes, _words_of(grown), _rows_of(grown), offsets, depths, seeds, is_open, grown.work
        )

    def _place(self, top: _Top) -> _Placed:
        """Tell everybody the rows of all leaves, and who finishes which of them."""
        gather = self._collective.allgather
        sizes = [part[0] for part in gather(np.diff(top.leaf_offsets)[None])]
        rows = gather(self._numbers[top.rows].astype(np.int32))
        leaves = [np.repeat(np.arange(size.size), size) for size in sizes]
        order = np.lexsort((np.concatenate(rows), np.concatenate(leaves)))
        is_open = top.is_open[top.nodes["feature"] < 0]
        totals = np.where(is_open, np.sum(sizes, axis=0), 0)
        before = np.cumsum(totals) - totals
        owners = before * self._collective.world // max(1, int(totals.sum()))
        return _Placed(
            rows,
            leaves,
            np.concatenate(rows)[order],
            np.concatenate([[0], np.cumsum(np.sum(sizes, axis=0))]),
            np.where(is_open, owners, -1),
        )

    # Codes -------------------------------------------------------------------------------------

    def _deal(self, placed: _Placed) -> tuple[NDArray[np.int64], BinnedFeatures]:
        """Send codes to whoever finishes their nodes; give those that this worker needs."""
        collective, features = self._collective, self._features
        own_rows = placed.rows[collective.rank]
        own_owners = placed.owners[placed.leaves[collective.rank]]
        given = []
        for owner in range(collective.world):
            chosen = np.sort(own_rows[own_owners == owner])
            given.append(features.at(np.searchsorted(self._numbers, chosen)))
        needed = [
            np.sort(rows[placed.owners[leaves] == collective.rank])
            for rows, leaves in zip(placed.rows, placed.leaves)
        ]
        numbers = np.concatenate(needed).astype(np.int64)
        n_tiles = features.dense_codes.shape[0]
        check_memory(
            3 * TILE * n_tiles * numbers.size,
            f"Codes of {numbers.size} rows, whose small nodes this worker is to finish, take",
            "Use more workers, or workers with more memory.",
        )
        tiles = collective.deal([part.dense_codes.transpose(1, 0, 2).ravel() for part in given])
        dense = np.concatenate(tiles).reshape(-1, n_tiles, TILE).transpose(1, 0, 2)
        arrived = replace(
            features,
            n_rows=numbers.size,
            dense_codes=np.ascontiguousarray(dense),
            **self._deal_listed(given, numbers.size),
        )
        order = np.argsort(numbers)
        return numbers[order], arrived.at(order)

    def _deal_listed(self, given: Sequence[BinnedFeatures], n_rows: int) -> dict[str, Any]:
        if not self._features.sparse_features.size:
            return {"sparse_indptr": np.zeros(n_rows + 1, np.int64)}
        deal = self._collective.deal
        counts = np.concatenate(deal([np.diff(part.sparse_indptr) for part in given]))
        codes: Any = None
        if self._features.sparse_code is not None:
            codes = np.concatenate(deal([np.asarray(part.sparse_code) for part in given]))
        return {
            "sparse_indptr": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            "sparse_slot": np.concatenate(deal([part.sparse_slot for part in given])),
            "sparse_code": codes,
        }

    # Small nodes -------------------------------------------------------------------------------

    def _finish(
        self,
        channels: Channels,
        params: _core.GrowParams,
        top: _Top,
        placed: _Placed,
        numbers: NDArray[np.int64],
        features: BinnedFeatures,
    ) -> list[Arrays]:
        """Finish the nodes that fell to this worker."""
        mine = np.flatnonzero(placed.owners == self._collective.rank)
        if not mine.size:
            return []
        binned, shown = core_features(features), channels.at(numbers)
        nodes = np.flatnonzero(top.nodes["feature"] < 0)[mine]
        weights = top.nodes["weight"]

        def work(i: int, stop: _core.StopFlag) -> Arrays:
            node, leaf = int(nodes[i]), int(mine[i])
            told = _changed(params, fixed_sums=False, n_threads=1, seed=top.seeds[node], stop=stop)
            if params.max_depth >= 0:
                told.max_depth = params.max_depth - int(top.depths[node])
            if weights[node] > 0:  # it is meant per unit of the weight of the whole tree
                told.min_impurity_decrease *= float(weights[0] / weights[node])
            own = np.searchsorted(numbers, placed.rows_of(leaf)).astype(np.int32)
            grown = _core.grow_tree(binned, shown.core, own, told)
            facts = np.array([leaf, grown.work], np.int64)
            arrays = _nodes_of(grown) | {"words": _words_of(grown), "facts": facts}
            return arrays | {"rows": numbers[_rows_of(grown)].astype(np.int32)}

        _ = shown.core  # once, before there are threads
        return list(in_threads(work, range(mine.size), params.n_threads))

    def _share(self, finished: Sequence[Arrays]) -> dict[int, Arrays]:
        """Give everybody what all workers have finished, by leaf."""
        named = {f"{i}.{name}": a for i, one in enumerate(finished) for name, a in one.items()}
        packed = np.frombuffer(save(named), np.uint8) if named else np.zeros(0, np.uint8)
        found: dict[int, Arrays] = {}
        for part in self._collective.allgather(packed):
            arrays = load(part.tobytes()) if part.size else {}
            several: dict[str, Arrays] = {}
            for name, array in arrays.items():
                number, _, short = name.partition(".")
                several.setdefault(number, {})[short] = array
            found |= {int(one["facts"][0]): one for one in several.values()}
        return found


@dataclass(frozen=True, eq=False)
class _Top:
    """The top of a tree, the same on all workers but for the rows.

    Attributes
    ----------
    nodes : dict of ndarray of shape (n_nodes,)
    words : ndarray, uint32
    rows : ndarray, int32
        Of this worker, leaf after leaf, counted among its own.
    leaf_offsets : ndarray of shape (n_leaves + 1,), int64
    depths : ndarray of shape (n_nodes,)
    seeds : list of int
    is_open : ndarray of shape (n_nodes,), bool
        Leaves that are to be finished.
    work : int
    """

    nodes: Arrays
    words: NDArray[np.uint32]
    rows: NDArray[np.int32]
    leaf_offsets: NDArray[np.int64]
    depths: NDArray[np.int64]
    seeds: list[int]
    is_open: NDArray[np.bool_]
    work: int


@dataclass(frozen=True, eq=False)
class _Placed:
    """Where the rows of the leaves are.

    Attributes
    ----------
    rows, leaves : list of ndarray
        The rows of each worker, and the leaf of each of them.
    ordered : ndarray, int32
        The rows of all workers, leaf after leaf, ascending.
    offsets : ndarray of shape (n_leaves + 1,)
    owners : ndarray of shape (n_leaves,)
        The worker that finishes a leaf; -1 if it stays one.
    """

    rows: list[NDArray[np.int32]]
    leaves: list[NDArray[np.int64]]
    ordered: NDArray[np.int32]
    offsets: NDArray[np.int64]
    owners: NDArray[np.int64]

    def rows_of(self, leaf: int) -> NDArray[np.int32]:
        """Give the rows of a leaf."""
        return self.ordered[self.offsets[leaf] : self.offsets[leaf + 1]]


@dataclass(frozen=True, eq=False)
class DividedTree:
    """A tree that several workers have grown, with the methods of the core's.

    Attributes
    ----------
    nodes : dict of ndarray of shape (n_nodes,)
    words : ndarray, uint32
        Sets of categories.
    rows : ndarray, int32
        The rows of all workers, leaf after leaf.
    work : int
        What this worker and those who finished nodes have added up.
    """

    nodes: Arrays
    words: NDArray[np.uint32]
    rows: NDArray[np.int32]
    work: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.nodes["feature"].size)

    @property
    def n_category_words(self) -> int:
        """Number of words of all sets of categories."""
        return int(self.words.size)

    @property
    def n_rows(self) -> int:
        """Number of rows of all leaves."""
        return int(self.rows.size)

    def write_nodes(self, **arrays: NDArray[Any]) -> None:
        """Write splits and statistics of nodes."""
        for name, array in arrays.items():
            array[:] = self.nodes[name]

    def write_splits(
        self, leaf_offsets: NDArray[Any], feature_gains: NDArray[Any], **arrays: NDArray[Any]
    ) -> None:
        """Write splits, where the rows of each leaf begin, and the gains of each feature."""
        self.write_nodes(**arrays)
        feature = self.nodes["feature"]
        leaf_offsets[0] = 0
        np.cumsum(self.nodes["n_samples"][feature < 0], out=leaf_offsets[1:])
        inner = feature >= 0
        gains = np.minimum(self.nodes["gain"], self.nodes["impurity"])[inner]
        feature_gains[:] = np.bincount(feature[inner], gains, minlength=feature_gains.size)

    def write_category_words(self, words: NDArray[Any]) -> None:
        """Write sets of categories."""
        words[:] = self.words

    def write_rows(self, rows: NDArray[Any]) -> None:
        """Write the rows."""
        rows[:] = self.rows


def _joined(top: _Top, placed: _Placed, finished: dict[int, Arrays]) -> DividedTree:
    """Put finished nodes in their places."""
    leaves = np.flatnonzero(top.nodes["feature"] < 0)
    n_below = np.ones(top.nodes["feature"].size, np.int64)
    for leaf, one in finished.items():
        n_below[leaves[leaf]] = one["feature"].size
    ends = np.cumsum(n_below)
    starts = ends - n_below
    nodes: Arrays = {name: np.empty(ends[-1], STRUCTURE_DTYPES[name]) for name in _NODE_ARRAYS}
    for name in _NODE_ARRAYS:
        nodes[name][starts] = top.nodes[name]
    inner = top.nodes["feature"] >= 0
    nodes["right"][starts[inner]] = starts[top.nodes["right"][inner]]
    words, rows = [top.words], []
    n_words = top.words.size
    for leaf, node in enumerate(leaves.tolist()):
        below = finished.get(leaf)
        if below is None:
            rows.append(placed.rows_of(leaf))
            continue
        own = slice(starts[node], ends[node])
        for name in _NODE_ARRAYS:
            nodes[name][own] = below[name]
        nodes["right"][own] += np.where(below["right"] >= 0, starts[node], 0).astype(np.int32)
        nodes["category_offset"][own] += np.where(below["category_offset"] >= 0, n_words, 0)
        words.append(below["words"])
        n_words += below["words"].size
        rows.append(below["rows"])
    work = top.work + sum(int(one["facts"][1]) for one in finished.values())
    return DividedTree(nodes, np.concatenate(words), np.concatenate(rows), work)


# What the core decides, said again ---------------------------------------------------------------


def _below(nodes: Arrays, seed: int) -> tuple[NDArray[np.int64], list[int]]:
    """Give depths and seeds of nodes, as `cpp/base/random.hpp` draws them."""
    feature, right = nodes["feature"].tolist(), nodes["right"].tolist()
    depths, seeds = np.zeros(len(feature), np.int64), [0] * len(feature)
    seeds[0] = _mixed(seed + 1)
    for node, split in enumerate(feature):
        if split < 0:
            continue
        for side, child in enumerate((node + 1, right[node])):
            depths[child] = depths[node] + 1
            seeds[child] = _mixed(seeds[node] + 0x9E3779B97F4A7C15 * (side + 1))
    return depths, seeds


def _mixed(z: int) -> int:
    z &= 2**64 - 1
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & 2**64 - 1
    z = (z ^ z >> 27) * 0x94D049BB133111EB & 2**64 - 1
    return z ^ z >> 31


def _rounding(
    n_rows: int, largest: NDArray[np.float64], sizes: NDArray[np.float64], n_channels: int
) -> float:
    """Give what a row's numbers may be off by, squared: see `FixedRows::rounding_of`."""
    room = 2147483647.0 - 1024.0 - n_rows
    squares = 0.0
    for most, size in zip(largest[:n_channels].tolist(), sizes[:n_channels].tolist()):
        unit = 1.0
        if most > 0:
            scale = min(32767.0 / most, 2.0**120, room / size)
            unit = 1.0 / math.ldexp(1.0, math.frexp(scale)[1] - 1)
        squares += unit * unit
    return squares


def _are_open(
    nodes: Arrays,
    depths: NDArray[np.int64],
    rounding: float,
    params: _core.GrowParams,
    n_finished: int,
) -> NDArray[np.bool_]:
    """Tell which leaves one machine would finish in floats: see `FixedGrower`."""
    sizes, weights, impurities = nodes["n_samples"], nodes["weight"], nodes["impurity"]
    is_open = (nodes["feature"] < 0) & (sizes <= n_finished)
    is_open &= (sizes >= params.min_samples_split) & (sizes // 2 >= params.min_samples_leaf)
    if params.max_depth >= 0:
        is_open &= depths < params.max_depth
    scale = impurities[0] / weights[0] if weights[0] > 0 else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where(weights > 0, rounding * sizes * sizes / weights, 0.0)
    is_open &= (impurities > 1e-11 * scale * weights) & (impurities > off)
    is_open[0] = sizes[0] <= n_finished  # the core asks nothing more of the root
    return is_open


# Arrays of the core's trees ----------------------------------------------------------------------


def _changed(params: _core.GrowParams, **changes: Any) -> _core.GrowParams:
    """Copy parameters, with other values of some."""
    copy = _core.GrowParams()
    for name in dir(params):
        if not name.startswith("_"):
            setattr(copy, name, changes.get(name, getattr(params, name)))
    return copy


def _nodes_of(grown: _core.GrownTree) -> Arrays:
    nodes: Arrays = {n: np.empty(grown.n_nodes, STRUCTURE_DTYPES[n]) for n in _NODE_ARRAYS}
    grown.write_nodes(**nodes)
    return nodes


def _words_of(grown: _core.GrownTree) -> NDArray[np.uint32]:
    words = np.empty(grown.n_category_words, np.uint32)
    grown.write_category_words(words)
    return words


def _rows_of(grown: _core.GrownTree) -> NDArray[np.int32]:
    rows = np.empty(grown.n_rows, np.int32)
    grown.write_rows(rows)
    return rows
