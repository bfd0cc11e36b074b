"""What the trees of a fitted model add up, in the form that an export writes down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.boosting.base import Boosting
from polyleaf.checks.fitted import expect_fitted
from polyleaf.estimator.mixed import Mixed
from polyleaf.forests.base import ForestEstimator
from polyleaf.forests.model import Forest
from polyleaf.rules.base import RuleEstimator
from polyleaf.trees.additive import AdditiveTrees, ChannelChoice
from polyleaf.trees.single_tree import SingleTree
from polyleaf.trees.structure import TreeStructure

#: Dense leaves are quicker; rows are taken where they need this many times less memory.
_ROWS_PAY = 2


class CannotExportError(ValueError):
    """A model, or a part of it, that a format cannot hold."""


@dataclass(frozen=True, eq=False)
class LeafEntries:
    """Leaves that average rows of a matrix.

    Attributes
    ----------
    rows : ndarray of shape (n_leaves, n_places), int32
        Rows of `values`; places without one have row 0 and share 0.
    shares : ndarray of shape (n_leaves, n_places), float64
    values : ndarray of shape (n_rows, n_channels), uint8 or float64
    """

    rows: NDArray[np.int32]
    shares: NDArray[np.float64]
    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class TreeSums:
    """A constant plus a sum of trees, by one of four kinds of leaves.

    Attributes
    ----------
    structure : TreeStructure
    base : ndarray of shape (n_channels,)
        In the precision in which the model adds.
    vectors : ndarray of shape (n_leaves, n_channels), or None
        What every leaf adds.
    numbers : ndarray of shape (n_leaves,), or None
        One number per leaf, with `factors` or `channels`.
    factors : ndarray of shape (n_trees, n_channels), or None
        By which the number of a tree is multiplied.
    channels : ndarray of shape (n_trees,), int, or None
        The only channel that a tree adds to.
    entries : LeafEntries or None
        Rows that every leaf averages.
    tree_weights : ndarray of shape (n_trees, n_channels), or None
        By which `entries` of a tree are multiplied.
    divisor : int
        By which the sum is divided.
    """

    structure: TreeStructure
    base: NDArray[Any]
    vectors: NDArray[Any] | None = None
    numbers: NDArray[Any] | None = None
    factors: NDArray[Any] | None = None
    channels: NDArray[np.int32] | None = None
    entries: LeafEntries | None = None
    tree_weights: NDArray[np.float64] | None = None
    divisor: int = 1

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.structure.n_trees

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return self.base.size

    @property
    def tree_of_leaf(self) -> NDArray[np.int64]:
        """Tree of every leaf, of shape (n_leaves,)."""
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.structure.tree_offsets))
        return tree[self.structure.is_leaf]

    @property
    def tree_leaves(self) -> NDArray[np.int64]:
        """First leaf of every tree, and the number of all; of shape (n_trees + 1,)."""
        before = np.concatenate([[0], np.cumsum(self.structure.is_leaf)])
        starts: NDArray[np.int64] = before[self.structure.tree_offsets]
        return starts


def check_exportable(model: Any) -> None:
    """Raise a CannotExportError unless a fitted model is a sum of trees or rules."""
    name = type(model).__name__
    if not isinstance(model, SingleTree | ForestEstimator | Boosting | RuleEstimator):
        raise CannotExportError(
            f"Only trees, forests, boosting and rules of polyleaf can be exported; got {name}. "
            + _reason(model)
        )
    expect_fitted(model)
    if model._targets.hierarchy is not None:
        raise CannotExportError(
            f"This {name} has a hierarchy of labels, which its predictions respect and a sum of "
            "trees or rules does not. Use polyleaf.save, or fit with hierarchy=None and apply "
            "Hierarchy.raise_ancestors to the exported scores."
        )
    if isinstance(model, Mixed):
        raise CannotExportError(
            f"{name} predicts a frame with columns of several kinds, for which polyleaf has no "
            "export. Use polyleaf.save; or fit a regressor and a classifier, and export these."
        )
    if isinstance(model, Boosting) and model.estimator is not None:
        raise CannotExportError(
            f"This {name} boosts {model.estimator!r:.80}, which has no trees that polyleaf could "
            "write down. Boost trees (estimator=None), or convert the weak models with skl2onnx."
        )


def _reason(model: Any) -> str:
    if hasattr(model, "graph") and hasattr(model, "kernel"):
        return (
            "Graph classifiers choose labels by messages along the edges of their graphs, which "
            "is no sum of trees: only to_onnx writes some of them. Use to_onnx or polyleaf.save, "
            "or export a BoostingClassifier."
        )
    if hasattr(model, "distil"):
        return (
            "Of a blend, to_onnx writes the whole. Use it, or export one model that imitates the "
            "blend: distil('Boosting', X)."
        )
    if hasattr(model, "steps"):
        return "Convert a Pipeline with skl2onnx, after polyleaf.export.register_skl2onnx()."
    if hasattr(model, "estimator_"):
        return "Export its estimator_. Of a TunedDecoder, to_onnx writes the whole."
    return "Use polyleaf.save."


def read_sums(model: Any, exact: bool) -> TreeSums:
    """Read what the trees of a model add up.

    Parameters
    ----------
    model : estimator
        That `check_exportable` accepts.
    exact : bool
        Whether sums are to be those of the model to the last bit: then leaves keep the form in
        which the model adds them.
    """
    if isinstance(model, Boosting):
        return _boosted(model, exact)
    if isinstance(model, RuleEstimator):
        return _rules(model)
    if isinstance(model, ForestEstimator):
        return _forest(model, exact)
    return _dense(model._additive())


def all_values(additive: AdditiveTrees) -> NDArray[Any]:
    """Give what every leaf adds to every channel, of shape (n_leaves, n_channels)."""
    choice = ChannelChoice.of([[k] for k in range(additive.n_channels)], additive.n_channels)
    return additive.tree_values(0, additive.n_trees, choice)


def _dense(additive: AdditiveTrees) -> TreeSums:
    return TreeSums(additive.structure, additive.base, vectors=all_values(additive))


def _boosted(model: Any, exact: bool) -> TreeSums:
    trees = model._trees()
    base = trees.baseline.astype(np.float32)
    if trees.kind == "dense":
        return TreeSums(trees.structure, base, vectors=trees.leaf_values)
    if trees.tree_factors is not None and exact:
        raise CannotExportError(
            "exact=True adds trees in the order of the model, but leaf_fit='linear' adds them by "
            "a matrix product, whose order is that of the BLAS library. Use exact=False."
        )
    return TreeSums(
        trees.structure,
        base,
        numbers=trees.leaf_values[:, 0],
        factors=trees.tree_factors,
        channels=trees.tree_channels,
    )


def _rules(model: Any) -> TreeSums:
    """Let the tree of a rule say 1 if it covers a row; its head is the factor."""
    additive: AdditiveTrees = model._additive()
    covers = np.zeros(additive.structure.n_leaves)
    covers[_covering_leaves(additive.structure, model._rules)] = 1.0
    return TreeSums(
        additive.structure, additive.base, numbers=covers, factors=model._rules.heads()
    )


def _covering_leaves(structure: TreeStructure, rules: Any) -> NDArray[np.int64]:
    """Find the leaf of every rule that satisfies all conditions: the one the longest way down.

    The last condition has two leaves below it. Of these the left one satisfies it, unless the
    condition is '>' or '!='.
    """
    from polyleaf.rules.model import OPERATORS

    fails_left = [OPERATORS.index(">"), OPERATORS.index("!=")]
    starts = structure.tree_offsets[:-1]
    leaves = np.empty(rules.n_rules, np.int64)
    for t in range(rules.n_rules):
        node = start = int(starts[t])
        for c in range(int(rules.body_offsets[t]), int(rules.body_offsets[t + 1])):
            goes_right = rules.operator[c] in fails_left
            node = start + int(structure.right[node]) if goes_right else node + 1
        leaves[t] = structure.leaf_index[node]
    return leaves


def _forest(model: Any, exact: bool) -> TreeSums:
    forest: Forest = model._forest
    if exact and forest.outputs.is_sparse:
        raise CannotExportError(
            "exact=True adds trees in the order of the model, but a forest of sparse outputs adds "
            "training rows in the order in which it meets them. Use exact=False."
        )
    base = np.where(forest._never_observed, np.nan, 0.0)
    if exact:
        entries = _dense_entries(forest)
        divisor = forest.n_trees if forest.tree_weights is None else 1
        weights = forest.tree_weights
        return TreeSums(
            forest.structure, base, entries=entries, tree_weights=weights, divisor=divisor
        )
    if forest.shares_row_weights:
        entries = _sparse_entries(forest) if forest.outputs.is_sparse else _dense_entries(forest)
        dense_size = forest.structure.n_leaves * forest.outputs.n_channels * 4
        rows_size = entries.rows.size * 8 + entries.values.nbytes
        if entries.values.dtype == np.float64:
            rows_size -= entries.values.nbytes // 2
        if _ROWS_PAY * rows_size < dense_size:
            divisor = forest.n_trees
            return TreeSums(forest.structure, base, entries=entries, divisor=divisor)
    if forest.tree_weights is not None:
        return _dense(model._additive())
    # Sums of means, not of their parts: labels that are tied stay tied in float32.
    vectors = all_values(model._additive()) * forest.n_trees
    return TreeSums(forest.structure, base, vectors=vectors, divisor=forest.n_trees)


def _dense_entries(forest: Forest) -> LeafEntries:
    condensed = forest._condensed
    offsets = condensed.leaf_offsets[:-1]
    return _padded(offsets, condensed.leaf_rows, condensed.shares, condensed.values)


def _sparse_entries(forest: Forest) -> LeafEntries:
    values: Any = forest.outputs.values
    is_labels = bool(np.all(values.data == 1))
    dense = (values.astype(np.uint8) if is_labels else values).toarray()
    return _padded(forest.leaf_offsets, forest.leaf_rows, forest.entry_shares, dense)


def _padded(
    offsets: NDArray[np.int64],
    leaf_rows: NDArray[np.int32],
    leaf_shares: NDArray[np.float64],
    values: NDArray[Any],
) -> LeafEntries:
    sizes = np.diff(offsets)
    rows = np.zeros((sizes.size, int(sizes.max())), np.int32)
    shares = np.zeros(rows.shape)
    leaf = np.repeat(np.arange(sizes.size), sizes)
    place = np.arange(leaf_rows.size) - offsets[leaf]
    rows[leaf, place], shares[leaf, place] = leaf_rows, leaf_shares
    if values.dtype != np.uint8 and np.all((values == 0) | (values == 1)):
        values = values.astype(np.uint8)
    return LeafEntries(rows, shares, values)
