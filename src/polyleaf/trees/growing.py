"""Grow one tree: structure on a view of the outputs, leaf values in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.data.targets import Targets
from polyleaf.data.training import TrainingData
from polyleaf.estimator.parameters import count, feature_count
from polyleaf.trees.channels import (
    Channels,
    Scaling,
    make_channels,
    make_context,
    output_scaling,
)
from polyleaf.trees.filling import fill_leaves
from polyleaf.trees.leaves import Leaves, RowLeaves
from polyleaf.trees.model import Trees
from polyleaf.trees.pruning import prune_by_f_test
from polyleaf.trees.structure import NO_STATISTICS, SPLIT_ARRAYS, STRUCTURE_DTYPES, TreeStructure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyleaf.projections import Projection
    from polyleaf.trees.shards import AllReduce

#: Nodes of at most so many rows are summed in floats, by one worker: finders for small nodes are
#: many times as quick as histograms.
_FLOAT_ROWS = 4096


@dataclass(frozen=True)
class TreeSettings:
    """How a tree grows; see `polyleaf.TreeRegressor` for the meaning of each."""

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_impurity_decrease: float = 0.0
    max_features: int | None = None
    random_cuts: bool = False
    l2_regularization: float = 0.0
    category_penalty: float = 0.0
    exact: bool = False
    projection: Projection | None = None
    normalize_outputs: bool = False
    f_test_level: float | None = None
    sums: str = "float"


def tree_settings(
    estimator: Any, shape: tuple[int, int], random_cuts: bool, projection: Projection | None
) -> TreeSettings:
    """Translate the parameters that all trees have.

    Parameters
    ----------
    estimator : estimator
    shape : tuple of int
        Numbers of rows and features.
    random_cuts : bool
    projection : Projection or None
    """
    n_rows, n_features = shape
    sums = _checked_sums(estimator)
    return TreeSettings(
        max_depth=estimator.max_depth,
        max_leaf_nodes=estimator.max_leaf_nodes,
        min_samples_split=max(2, count(estimator.min_samples_split, n_rows)),
        min_samples_leaf=count(estimator.min_samples_leaf, n_rows),
        min_impurity_decrease=float(estimator.min_impurity_decrease),
        max_features=feature_count(estimator.max_features, n_features),
        random_cuts=random_cuts,
        category_penalty=float(estimator.category_penalty),
        exact=estimator.max_bins is None,
        projection=projection,
        normalize_outputs=bool(getattr(estimator, "normalize_outputs", False)),
        sums=sums,
    )


def _checked_sums(estimator: Any) -> str:
    """Give how sums are kept, if that goes with exact splits."""
    if estimator.sums == "fixed" and estimator.max_bins is None:
        raise ValueError(
            f"sums='fixed' of {type(estimator).__name__} sums bins and needs max_bins; got "
            "max_bins=None. Use sums='float' for exact splits."
        )
    return str(estimator.sums)


def fit_tree(
    data: TrainingData,
    settings: TreeSettings,
    rng: np.random.Generator,
    *,
    n_threads: int = 1,
    rows: NDArray[np.int32] | None = None,
) -> Trees:
    """Grow a tree and fill its leaves.

    Parameters
    ----------
    data : TrainingData
    settings : TreeSettings
    rng : numpy.random.Generator
        Source of the view and of the tree's seed.
    n_threads : int
        The tree does not depend on it.
    rows : ndarray, int32, optional
        Rows to train on, among ``data.weighted_rows``; all of those by default.

    Returns
    -------
    Trees
        With one tree.
    """
    structure, ordered = grow_structure(data, settings, rng, n_threads=n_threads, rows=rows)
    if settings.f_test_level is not None:
        structure = prune_by_f_test(structure, settings.f_test_level)
    return Trees(structure, leaves_of(data, structure, ordered, n_threads))


def grow_structure(
    data: TrainingData,
    settings: TreeSettings,
    rng: np.random.Generator,
    *,
    n_threads: int,
    rows: NDArray[np.int32] | None = None,
) -> tuple[TreeStructure, NDArray[np.int32]]:
    """Grow the splits; also give the training rows, leaf after leaf."""
    scaling = output_scaling(data, settings.normalize_outputs)
    view, values = None, None
    if settings.projection is not None:
        context = make_context(data, scaling, rng)
        view, values = settings.projection.checked_draw(context), context.values
    channels = make_channels(data.targets, scaling, view, values)
    params = grow_params(settings, data, scaling, int(rng.integers(2**63)))
    params.n_threads = n_threads
    grown = grow_on_channels(data, scaling, channels, params, rows)
    return grown.structure, grown.ordered


@dataclass(frozen=True, eq=False)
class Grown:
    """One tree, its training rows leaf after leaf, and the additions that its growth took."""

    structure: TreeStructure
    ordered: NDArray[np.int32]
    work: int


def grow_on_channels(
    data: TrainingData,
    scaling: Scaling,
    channels: Channels,
    params: _core.GrowParams,
    rows: NDArray[np.int32] | None = None,
) -> Grown:
    """Grow the splits on given channels."""
    used = data.weighted_rows if rows is None else rows
    if params.fixed_sums:
        check_fixed_sums(data, channels)
    grown = _grow(data, channels, used, params)
    structure, ordered = _structure_of(grown, data, scaling)
    return Grown(structure, ordered, grown.work)


@dataclass(frozen=True, eq=False)
class GrownSplits:
    """What an ensemble keeps of one tree.

    Attributes
    ----------
    structure : TreeStructure
        Without statistics of nodes.
    leaf_offsets : ndarray of shape (n_leaves + 1,), int64
    ordered : ndarray, int32
        Training rows; leaf l has those from leaf_offsets[l] up to leaf_offsets[l + 1].
    feature_gains : ndarray of shape (n_features,), float64
        Sum of the gains of each feature's splits, in the units of the channels.
    work : int
        Additions that its growth took.
    """

    structure: TreeStructure
    leaf_offsets: NDArray[np.int64]
    ordered: NDArray[np.int32]
    feature_gains: NDArray[np.float64]
    work: int

    @classmethod
    def of(cls, grown: Grown) -> GrownSplits:
        """Leave out the statistics of nodes; gains are then in the units of the outputs."""
        structure = grown.structure
        sizes = structure.n_samples[structure.is_leaf]
        inner = ~structure.is_leaf
        gains = np.bincount(
            structure.feature[inner], structure.gain[inner], minlength=structure.n_features
        )
        return cls(
            structure.without_statistics(),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            grown.ordered,
            gains.astype(np.float64),
            grown.work,
        )

    @property
    def feature_shares(self) -> NDArray[np.float64]:
        """Share of each feature in the gains of all splits; zeros if there are none."""
        total = self.feature_gains.sum()
        return self.feature_gains / total if total > 0 else self.feature_gains


def grow_splits(
    data: TrainingData,
    channels: Channels,
    params: _core.GrowParams,
    rows: NDArray[np.int32],
    orders: _core.RowOrders | None = None,
    reduce: AllReduce | None = None,
) -> GrownSplits:
    """Grow a tree without statistics.

    Parameters
    ----------
    data : TrainingData
    channels : Channels
    params : GrowParams
    rows : ndarray, int32
        Rows of this worker.
    orders : RowOrders, optional
        Orders of the features, which save sorting dense ones.
    reduce : callable, optional
        Makes sums of this worker those of all; see `polyleaf.trees.shards`.
    """
    if params.fixed_sums:
        check_fixed_sums(data, channels)
    grown = _grow(data, channels, rows, params, orders, reduce)
    nodes = _node_arrays(grown, SPLIT_ARRAYS)
    leaf_offsets = np.empty((grown.n_nodes + 1) // 2 + 1, np.int64)
    feature_gains = np.empty(data.features.n_features)
    grown.write_splits(**nodes, leaf_offsets=leaf_offsets, feature_gains=feature_gains)
    structure = _make_structure(grown, data, nodes | NO_STATISTICS)
    return GrownSplits(structure, leaf_offsets, _rows_of(grown), feature_gains, grown.work)


def _grow(
    data: TrainingData,
    channels: Channels,
    rows: NDArray[np.int32],
    params: _core.GrowParams,
    orders: _core.RowOrders | None = None,
    reduce: AllReduce | None = None,
) -> Any:
    """Grow a tree here, or with the workers that have the codes."""
    if data.grow_tree is not None:
        return data.grow_tree(channels, rows, params)
    if not channels.n_rows and reduce is not None:  # all rows are with other workers
        channels = channels.padded()
    return _core.grow_tree(data.binned, channels.core, rows, params, orders, reduce)


def leaves_of(
    data: TrainingData, structure: TreeStructure, ordered: NDArray[np.int32], n_threads: int
) -> Leaves:
    """Give every leaf its values in all outputs.

    Parameters
    ----------
    data : TrainingData
    structure : TreeStructure
        One tree.
    ordered : ndarray, int32
        Training rows, leaf after leaf.
    n_threads : int
    """
    counts = structure.n_samples[structure.is_leaf]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    outputs = data.targets
    if outputs.is_sparse:
        by_entry = np.ones(ordered.size) if data.weights is None else data.weights[ordered]
        return RowLeaves(offsets, ordered, by_entry, Targets(outputs.schema, outputs.values))
    return fill_leaves(structure, offsets, ordered, None, outputs, n_threads)


def grow_params(
    settings: TreeSettings, data: TrainingData, scaling: Scaling, seed: int
) -> _core.GrowParams:
    """Translate the settings into the units of the channels."""
    params = _core.GrowParams()
    params.max_depth = -1 if settings.max_depth is None else settings.max_depth
    params.max_leaf_nodes = -1 if settings.max_leaf_nodes is None else settings.max_leaf_nodes
    params.min_samples_split = settings.min_samples_split
    params.min_samples_leaf = settings.min_samples_leaf
    params.min_impurity_decrease = min(
        settings.min_impurity_decrease / scaling.unit**2, np.finfo(np.float64).max
    )
    params.max_features = settings.max_features or data.features.n_features
    params.random_cuts = settings.random_cuts
    params.l2_regularization = settings.l2_regularization / data.weight_unit
    params.category_penalty = settings.category_penalty
    params.double_precision = settings.exact
    params.seed = seed
    params.fixed_sums = settings.sums == "fixed"
    params.float_rows = _FLOAT_ROWS
    return params


def check_fixed_sums(data: TrainingData, channels: Channels) -> None:
    """Raise a ValueError unless a tree can be grown by sums in fixed point."""
    if isinstance(channels.source, sparse.sparray):
        raise ValueError(
            "sums='fixed' needs a dense Y for trees and forests; got a sparse one. Give Y as an "
            "array, or use sums='float'."
        )
    if not _core.can_sum_fixed(data.binned, channels.core):
        raise ValueError(
            "sums='fixed' needs features of at most 255 bins or categories; got one with more. "
            "Merge rare categories, or use sums='float'."
        )


def _structure_of(
    grown: Any, data: TrainingData, scaling: Scaling
) -> tuple[TreeStructure, NDArray[np.int32]]:
    """Read the grown tree, in the units of the outputs and of the weights; and its rows."""
    nodes = _node_arrays(grown, (*SPLIT_ARRAYS, *NO_STATISTICS))
    grown.write_nodes(**nodes)
    # A split cannot take off more than there is, whatever weights far apart are rounded to.
    np.minimum(nodes["gain"], nodes["impurity"], out=nodes["gain"])
    nodes["weight"] *= data.weight_unit
    for name in ("impurity", "gain"):
        nodes[name] *= data.weight_unit * scaling.unit**2
    return _make_structure(grown, data, nodes), _rows_of(grown)


def _node_arrays(grown: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Make arrays with room for one entry per node."""
    return {name: np.empty(grown.n_nodes, STRUCTURE_DTYPES[name]) for name in names}


def _make_structure(
    grown: Any, data: TrainingData, nodes: dict[str, NDArray[Any]]
) -> TreeStructure:
    words = np.empty(grown.n_category_words, np.uint32)
    grown.write_category_words(words)
    return TreeStructure(
        n_categories=np.ascontiguousarray(data.n_categories, dtype=np.int32),
        tree_offsets=np.array([0, grown.n_nodes], dtype=np.int64),
        category_words=words,
        **nodes,
    )


def _rows_of(grown: Any) -> NDArray[np.int32]:
    """Read the training rows, leaf after leaf."""
    ordered = np.empty(grown.n_rows, np.int32)
    grown.write_rows(ordered)
    return ordered
