"""Trees and forests on a cluster: codes, outputs and weights go to all, whole trees are tasks.

A tree depends on the seed, its number and all rows in order. So each worker gets the codes of all
rows, a byte per cell, and grows some of the trees; the forest is the one that one machine grows.

Where the codes of all rows do not fit a worker they stay where they are, and all workers grow one
tree after the other together (`DividedGrower`). That takes sums in fixed point.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.memory import SMALL_BYTES, available_memory, check_memory
from polyleaf.data import BinnedFeatures, CodedRows, Targets, TrainingData
from polyleaf.data.binned import NUMERIC, SPARSE_PER_DENSE, Bins, CodesByRow, assemble
from polyleaf.distributed.collectives import Collective
from polyleaf.distributed.divided_growth import DividedGrower
from polyleaf.distributed.gathering import Gathering
from polyleaf.distributed.pieces import share_pieces
from polyleaf.distributed.reading import Agreed
from polyleaf.forests.base import ForestEstimator
from polyleaf.forests.growing import ForestGrower, Member, is_auto
from polyleaf.forests.model import Forest
from polyleaf.forests.out_of_bag import RowsElsewhere
from polyleaf.trees.structure import TreeStructure

#: Copies of what is gathered: as it arrives, put together, in order.
_COPIES = 3


def train_trees(estimator: Any, agreed: Agreed, collective: Collective) -> Any:
    """Train a tree or a forest on the rows of all workers.

    Parameters
    ----------
    estimator : ForestEstimator or SingleTree
    agreed : Agreed
        The rows of this worker.
    collective : Collective

    Returns
    -------
    object
        What the estimator keeps; of a single tree, None on all workers but the first.
    """
    with_numbers = _needs_numbers(estimator, agreed)
    n_bytes = _bytes_of_all(agreed, collective)
    _check_targets(n_bytes.targets)
    needed = _COPIES * (n_bytes.codes + (n_bytes.numbers if with_numbers else 0))
    if not fit_everywhere(needed, collective):
        _check_divisible(estimator, agreed, needed)
        return estimator._train(_divided_rows(agreed, collective))
    data = gather_rows(agreed, with_numbers, collective)
    if isinstance(estimator, ForestEstimator):
        return estimator._train(data, grow=partial(_grow_divided, collective))
    return estimator._train(data) if collective.rank == 0 else None


def _needs_numbers(estimator: Any, agreed: Agreed) -> bool:
    """Tell whether rows are predicted that trees were not grown on: codes do not suffice then."""
    given = estimator.get_params(deep=False)
    aggregation = given.get("aggregation")
    # Without views, and with rows that weigh the same for all outputs, there is nothing to mix.
    is_mixed = aggregation == "mixed" and not (
        given["projection"] is None and agreed.data.targets.share_weights
    )
    return bool(given.get("oob_score") or aggregation == "oob" or is_mixed or _is_raced(given))


def _is_raced(given: dict[str, Any]) -> bool:
    """Tell whether trees on some of the rows decide how the others are grown."""
    is_pruned = given.get("pruning") == "f_test" and given.get("pruning_level") == "cv"
    return is_auto(given.get("projection")) or is_pruned


# Memory ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bytes:
    """What the rows of all workers take: as codes, as numbers, and their targets and weights."""

    codes: int
    numbers: int
    targets: int


def _bytes_of_all(agreed: Agreed, collective: Collective) -> _Bytes:
    data, features = agreed.data, agreed.data.features
    listed = (features.sparse_indptr, features.sparse_slot, features.sparse_code)
    codes = features.dense_codes.nbytes + sum(a.nbytes for a in listed if a is not None)
    targets = [data.targets.observed, data.targets.weights, data.sample_weight]
    values: Any = data.targets.values
    n_values = values.nbytes if isinstance(values, np.ndarray) else 12 * values.nnz
    encoded: Any = data.encoded
    n_numbers = encoded.nbytes if isinstance(encoded, np.ndarray) else 12 * encoded.nnz
    own = [codes, n_numbers, n_values + sum(a.nbytes for a in targets if a is not None)]
    total = np.array(own, np.int64)
    collective.allreduce(total)
    return _Bytes(*total.tolist())


def _check_targets(n_bytes: int) -> None:
    check_memory(
        _COPIES * n_bytes,
        "Trees and forests on a cluster need Y and the weights of all rows on every worker, which "
        "take (while they are gathered)",
        "Use workers with more memory, fewer rows or outputs, or boosting, where Y stays on its "
        "worker.",
    )


def fit_everywhere(needed: int, collective: Collective) -> bool:
    """Tell whether every worker has so many bytes.

    Parameters
    ----------
    needed : int
    collective : Collective
    """
    available = None if needed < SMALL_BYTES else available_memory()
    lacks = np.array([available is not None and needed > available], np.int64)
    collective.allreduce(lacks, "max")
    return not lacks[0]


def _check_divisible(estimator: Any, agreed: Agreed, needed: int) -> None:
    """Raise a MemoryError unless trees can be grown without all codes in one place."""
    features, name = agreed.data.features, type(estimator).__name__
    n_sparse = features.sparse_features.size
    n_dense = features.dense_features.size
    if _is_raced(estimator.get_params(deep=False)):
        advice = (
            "Codes can stay where they are if nothing is tried on some of the rows first: without "
            "projection='auto' and pruning_level='cv'."
        )
    elif agreed.data.targets.is_sparse:
        advice = "Codes can stay where they are if Y is dense."
    elif n_sparse and n_sparse >= SPARSE_PER_DENSE * n_dense:
        advice = "Codes can stay where they are if X is not mostly zeros, or another value."
    elif estimator.sums != "fixed":
        advice = (
            "With sums='fixed' codes stay where they are, and workers grow each tree together; "
            f"got sums={estimator.sums!r}."
        )
    else:
        return
    raise MemoryError(
        f"{name} needs X of all rows on every worker, which takes {needed / 2**30:.1f} GiB while "
        "it is gathered (codes take a byte per cell), and some worker has less. "
        f"{advice} Or use workers with more memory, or boosting, whose rows stay on their workers."
    )


# Rows --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _DividedRows(RowsElsewhere):
    """X of all rows, of which every worker has its own.

    Attributes
    ----------
    shape : tuple (n_rows, n_features)
    own : ndarray or csr_array
        Rows of this worker, encoded.
    rows : Gathering
    """

    shape: tuple[int, int]
    own: Any
    rows: Gathering

    def leaves_of(self, forest: Forest, n_threads: int) -> NDArray[np.int32]:
        """Find the leaves of the own rows, and gather those of all."""
        found: NDArray[np.int32] = self.rows.array(forest.leaves_of(self.own, n_threads))
        return found


def _divided_rows(agreed: Agreed, collective: Collective) -> TrainingData:
    """Give every worker Y and weights of all rows, but only its own codes."""
    data, numbers = agreed.data, agreed.shard.numbers
    rows = Gathering(collective, numbers)
    targets, given = _gather_targets(data, rows)
    shape = targets.n_rows, data.features.n_features
    encoded: Any = _DividedRows(shape, data.encoded, rows)
    return TrainingData(
        data.schema,
        data.features,
        encoded,
        targets,
        given,
        grow_tree=DividedGrower(collective, data.features, numbers),
    )


def gather_rows(agreed: Agreed, with_numbers: bool, collective: Collective) -> TrainingData:
    """Give every worker the rows of all, in their order.

    Parameters
    ----------
    agreed : Agreed
    with_numbers : bool
        Whether the numbers of X are sent, too, and not only their codes.
    collective : Collective
    """
    data = agreed.data
    rows = Gathering(collective, agreed.shard.numbers)
    features = _gather_features(data, rows)
    encoded: Any = CodedRows(features)
    if with_numbers:
        encoded = rows.matrix(data.encoded)
    targets, given = _gather_targets(data, rows)
    return TrainingData(data.schema, features, encoded, targets, given)


def _gather_targets(data: TrainingData, rows: Gathering) -> tuple[Targets, Any]:
    targets = Targets(
        data.targets.schema,
        rows.matrix(data.targets.values),
        rows.array(data.targets.observed),
        rows.array(data.targets.weights),
    )
    return targets.weighted(targets.weights), rows.array(data.sample_weight)


def _gather_features(data: TrainingData, rows: Gathering) -> BinnedFeatures:
    own = data.features
    codes = own.sparse_code
    if codes is None:  # features of two values: what is listed is the rarer one
        codes = 1 - own.sparse_default[own.sparse_slot]
    listed = sparse.csr_array(
        (codes.astype(np.int64) + 1, own.sparse_slot, own.sparse_indptr),
        shape=(own.n_rows, own.sparse_features.size),
    )
    tiles = rows.array(np.ascontiguousarray(own.dense_codes.transpose(1, 0, 2)))
    every = rows.matrix(listed)
    categories = np.where(data.schema.is_categorical, data.schema.n_categories, NUMERIC)
    return assemble(
        len(tiles),
        categories,
        Bins(own.bin_offsets, own.bin_low, own.bin_high),
        own.dense_features,
        np.ascontiguousarray(tiles.transpose(1, 0, 2)),
        CodesByRow(
            own.sparse_features,
            own.sparse_default,
            every.indptr,
            every.indices,
            (every.data - 1).astype(np.uint32),
        ),
    )


# Trees -------------------------------------------------------------------------------------------


def _grow_divided(
    collective: Collective, grower: ForestGrower, numbers: range, n_threads: int
) -> Generator[Member, None, None]:
    """Grow each tree on one worker, and give all of them to everybody, in their order."""
    own = numbers[collective.rank :: collective.world]
    with closing(grower.grow(own, n_threads)) as grown:
        packed = (_pack(member) for member in grown)
        for arrays in share_pieces(collective, packed, len(numbers)):
            yield _unpack(arrays, grower)


_STRUCTURE = tuple(f.name for f in fields(TreeStructure) if f.init)


def _pack(member: Member) -> dict[str, NDArray[Any]]:
    """Name the arrays of a tree; its outputs are on every worker already."""
    forest = member.forest
    arrays = {f"structure_{name}": getattr(forest.structure, name) for name in _STRUCTURE}
    arrays |= {
        "leaf_offsets": forest.leaf_offsets,
        "leaf_rows": forest.leaf_rows,
        "feature_gains": forest.feature_gains,
        "seen": member.seen,
        "updated": member.updated,
        "work": np.array([member.work], np.int64),
    }
    if forest.leaf_counts is not None:
        arrays["leaf_counts"] = forest.leaf_counts
    return arrays


def _unpack(arrays: dict[str, NDArray[Any]], grower: ForestGrower) -> Member:
    structure = TreeStructure(**{name: arrays[f"structure_{name}"] for name in _STRUCTURE})
    forest = Forest(
        structure=structure,
        leaf_offsets=arrays["leaf_offsets"],
        leaf_rows=arrays["leaf_rows"],
        leaf_counts=arrays.get("leaf_counts"),
        outputs=grower.outputs,
        tree_weights=None,
        feature_gains=arrays["feature_gains"],
    )
    return Member(forest, arrays["seen"], arrays["updated"], int(arrays["work"][0]))
