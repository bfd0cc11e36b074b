"""Trees and forests on a cluster: codes, outputs and weights go to all, whole trees are tasks.

A tree depends on the seed, its number and all rows in order. So each worker gets the codes of all
rows, a byte per cell, and grows some of the trees; the forest is the one that one machine grows.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.data import BinnedFeatures, CodedRows, Targets, TrainingData
from polyleaf.data.binned import NUMERIC, Bins, CodesByRow, assemble
from polyleaf.distributed.collectives import Collective
from polyleaf.distributed.gathering import Gathering
from polyleaf.distributed.pieces import share_pieces
from polyleaf.distributed.reading import Agreed
from polyleaf.forests.base import ForestEstimator
from polyleaf.forests.growing import ForestGrower, Member, is_auto
from polyleaf.forests.model import Forest
from polyleaf.trees.structure import TreeStructure


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
    data = gather_rows(agreed, _needs_numbers(estimator), collective)
    if isinstance(estimator, ForestEstimator):
        return estimator._train(data, grow=partial(_grow_divided, collective))
    return estimator._train(data) if collective.rank == 0 else None


def _needs_numbers(estimator: Any) -> bool:
    """Tell whether rows are predicted that trees were not grown on: codes do not suffice then."""
    given = estimator.get_params(deep=False)
    return bool(
        given.get("oob_score")
        or given.get("aggregation") not in (None, "total", "subspace")
        or is_auto(given.get("projection"))
        or given.get("pruning_level") == "cv"
    )


# Rows --------------------------------------------------------------------------------------------


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
    targets = Targets(
        data.targets.schema,
        rows.matrix(data.targets.values),
        rows.array(data.targets.observed),
        rows.array(data.targets.weights),
    )
    targets = targets.weighted(targets.weights)
    given = rows.array(data.sample_weight)
    return TrainingData(data.schema, features, encoded, targets, given)


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
