"""A fitted tree in the user's terms: names, categories, and what each node predicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import expect_list, shown
from polyleaf.data import TargetSchema, duration_unit, level_text, time_text
from polyleaf.estimator.wording import (
    feature_names_of,
    format_number,
    mixed_channel_names,
    output_names_of,
)
from polyleaf.trees.estimators import TreeClassifier, TreeRegressor
from polyleaf.trees.leaves import Leaves, RowLeaves
from polyleaf.trees.mixed import TreeMixed
from polyleaf.trees.structure import TreeStructure

#: A variance this small beside the squared mean is what rounding leaves of a constant.
_ROUNDING = 1e-13
#: Categories that a sentence names before it counts the rest.
_MAX_CATEGORIES = 6
_NAMED = "names or positions of outputs"


def check_tree(model: Any) -> None:
    """Raise unless the model is a fitted tree.

    Raises
    ------
    TypeError
        If it is something else than a tree of polyleaf.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    if not isinstance(model, TreeRegressor | TreeClassifier | TreeMixed):
        is_forest = hasattr(type(model), "estimators_")
        raise TypeError(
            "model must be a fitted TreeRegressor or TreeClassifier of polyleaf; got "
            f"{type(model).__name__}.{' Take one of its estimators_.' if is_forest else ''}"
        )
    expect_fitted(model)


class TreeReader:
    """Names, sentences and numbers of the nodes of one fitted tree.

    An output has one value per node: a mean, or the probability of a label. An output with
    classes has one value per class.

    Parameters
    ----------
    model : TreeRegressor or TreeClassifier
        Fitted.
    feature_names : sequence of str, optional
        Instead of those the model knows.
    output_names : sequence of str, optional
        Likewise.
    decimals : int, default=3
        Digits after the point in sentences.

    Attributes
    ----------
    structure : TreeStructure
    feature_names : list of str
    output_names : list of str
    value_names : list of str
        One per value: the output's name, with ``=class`` if the output has classes.
    """

    def __init__(
        self,
        model: Any,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        *,
        decimals: int = 3,
    ) -> None:
        check_tree(model)
        self.structure: TreeStructure = model._fitted.described.structure
        self._leaves: Leaves = model._fitted.described.leaves
        self._categories = model._features.categories
        self._times = model._features.times
        self._levels = model._features.levels
        self._targets: TargetSchema = model._targets
        self._decimals = decimals
        self.feature_names = feature_names_of(model, feature_names)
        self.output_names = output_names_of(model, output_names)
        if self._targets.is_1d and self._targets.output_names is None and output_names is None:
            self.output_names = ["y"]
        self.value_names = self._name_values()

    def _name_values(self) -> list[str]:
        targets = self._targets
        if targets.kind in ("regression", "multilabel"):
            return list(self.output_names)
        if targets.kind == "mixed":
            return mixed_channel_names(targets, self.output_names)
        if targets.kind == "binary":
            return [f"{self.output_names[0]}={targets.classes[0][1]}"]
        return [
            f"{name}={label}"
            for name, classes in zip(self.output_names, targets.classes)
            for label in classes.tolist()
        ]

    @property
    def predicts_probabilities(self) -> bool:
        """Whether values are probabilities of labels or classes, rather than means."""
        return self._targets.kind not in ("regression", "mixed")

    def children(self, node: int) -> tuple[int, int]:
        """Give the left and the right child of an inner node."""
        return node + 1, int(self.structure.right[node])

    def n_leaves_below(self, node: int) -> int:
        """Count the leaves below a node, 1 for a leaf."""
        first, last = self.structure.leaf_ranges
        return int(last[node] - first[node])

    # Values ------------------------------------------------------------------------------------

    def values(self, node: int) -> NDArray[np.float64]:
        """Mean of every value over a node's training rows, of shape (n_values,).

        For a leaf, what it predicts. NaN for an output that was never observed.
        """
        first, last = (int(bound[node]) for bound in self.structure.leaf_ranges)
        if isinstance(self._leaves, RowLeaves):
            offsets = self._leaves.leaf_offsets
            entries = slice(int(offsets[first]), int(offsets[last]))
            weights = self._leaves.leaf_row_weights[entries]
            values = self._leaves.outputs.values[self._leaves.leaf_rows[entries]]
            return np.asarray(weights @ values / weights.sum())
        predicted: NDArray[np.float64] = self._leaves.leaf_values[first:last]
        if last - first == 1:
            return np.asarray(predicted[0])
        weights = np.broadcast_to(self._leaves.leaf_weights[first:last], predicted.shape)
        totals = weights.sum(axis=0)
        sums = np.where(weights > 0, weights * predicted, 0.0).sum(axis=0)
        # Without an observed row all leaves below took over the same value from further up.
        means: NDArray[np.float64] = predicted[0].copy()
        np.divide(sums, totals, out=means, where=totals > 0)
        return means

    @cached_property
    def root_values(self) -> NDArray[np.float64]:
        """Mean of every value over all training rows, of shape (n_values,)."""
        return self.values(0)

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """Unit in which deviations of different outputs are compared, of shape (n_values,).

        The standard deviation over the training rows: of labels and classes, and of targets if
        the leaves hold training rows; otherwise that of the tree's predictions of the target,
        because a tree does not keep its targets.
        """
        root = self.root_values
        if self.predicts_probabilities:
            variance = root * (1.0 - root)
        elif isinstance(self._leaves, RowLeaves):
            weights = self._leaves.leaf_row_weights
            values = self._leaves.outputs.values[self._leaves.leaf_rows]
            variance = weights @ values**2 / weights.sum() - root**2
        else:
            predicted = self._leaves.leaf_values
            weights = np.broadcast_to(self._leaves.leaf_weights, predicted.shape)
            squares = np.where(weights > 0, weights * (predicted - root) ** 2, 0.0).sum(axis=0)
            totals = weights.sum(axis=0)
            variance = np.zeros(root.shape)
            np.divide(squares, totals, out=variance, where=totals > 0)
        is_rounding = variance <= _ROUNDING * root**2
        return np.asarray(np.sqrt(np.where(is_rounding, 0.0, variance)))

    def deviations(self, node: int) -> NDArray[np.float64]:
        """Difference of a node's values from those of the root in units of `scale`.

        Returns
        -------
        ndarray of shape (n_values,)
            0 where an output does not vary, NaN where it was never observed.
        """
        difference = self.values(node) - self.root_values
        deviations = np.where(np.isnan(difference), np.nan, 0.0)
        np.divide(difference, self.scale, out=deviations, where=self.scale > 0)
        return deviations

    def positions(self, outputs: Sequence[str | int] | None) -> NDArray[np.intp]:
        """Find the values of the given outputs, all of them by default.

        Parameters
        ----------
        outputs : sequence of str or int, or None
            Names or positions of outputs; an output with classes gives all its classes.

        Returns
        -------
        ndarray of intp
            Positions among the values, in the order given.
        """
        if outputs is None:
            return np.arange(len(self.value_names))
        given = [] if isinstance(outputs, str | int) else expect_list("outputs", outputs, _NAMED)
        if not given:
            raise ValueError(
                "outputs must be a non-empty list of names or positions of outputs; got "
                f"{shown(outputs)}."
            )
        offsets = self._targets.channel_offsets
        spans = [self._output_position(output) for output in given]
        return np.concatenate([np.arange(offsets[j], offsets[j + 1]) for j in spans])

    def _output_position(self, output: str | int) -> int:
        n_outputs = len(self.output_names)
        if isinstance(output, str):
            if output in self.output_names:
                return self.output_names.index(output)
            some = ", ".join(map(repr, self.output_names[:8]))
            more = f" and {n_outputs - 8} more" if n_outputs > 8 else ""
            raise ValueError(f"outputs must be among {some}{more}; got {shown(output)}.")
        if not isinstance(output, int | np.integer) or not 0 <= output < n_outputs:
            raise ValueError(
                f"outputs must be positions from 0 to {n_outputs - 1}; got {shown(output, 80)}."
            )
        return int(output)

    # Sentences ---------------------------------------------------------------------------------

    def missing_left(self, node: int) -> bool:
        """Tell whether missing values go to the left child of an inner node."""
        return bool(self.structure.missing_left[node])

    def asks_whether_missing(self, node: int) -> bool:
        """Tell whether a split only separates missing from observed values."""
        if self.structure.category_offset[node] < 0:
            return bool(np.isposinf(self.structure.threshold[node]))
        reachable = self._reachable_categories(node)
        left = np.isin(reachable, self.structure.left_categories(node))
        return bool(left.all() or not left.any())

    def conditions(self, node: int) -> tuple[str, str]:
        """Say which observed values go left and which go right at an inner node.

        Where missing values go is told by `missing_left`. Categories that cannot reach the node
        are left out.

        Returns
        -------
        tuple of two str
            Such as ``("size <= 2.5", "size > 2.5")`` or
            ``("colour in {blue, red}", "colour in {green}")``.
        """
        name = self.feature_names[self.structure.feature[node]]
        if self.asks_whether_missing(node):
            observed, missing = f"{name} is known", f"{name} is missing"
            return (missing, observed) if self.missing_left(node) else (observed, missing)
        if self.structure.category_offset[node] < 0:
            threshold = self._threshold_text(node)
            return f"{name} <= {threshold}", f"{name} > {threshold}"
        reachable = self._reachable_categories(node)
        goes_left = np.isin(reachable, self.structure.left_categories(node))
        left, right = reachable[goes_left], reachable[~goes_left]
        if max(left.size, right.size) <= _MAX_CATEGORIES:
            return (
                f"{name} in {self._braces(node, left)}",
                f"{name} in {self._braces(node, right)}",
            )
        if left.size <= right.size:
            few = self._braces(node, left)
            return f"{name} in {few}", f"{name} not in {few}"
        few = self._braces(node, right)
        return f"{name} not in {few}", f"{name} in {few}"

    def _threshold_text(self, node: int) -> str:
        threshold = float(self.structure.threshold[node])
        levels = self._levels.get(int(self.structure.feature[node]))
        if levels is not None and np.isfinite(threshold):
            return level_text(levels, threshold)
        kind = self._times.get(int(self.structure.feature[node]))
        if kind == "date":
            return time_text(threshold, kind, self._decimals)
        if kind == "duration":
            name, length = duration_unit(threshold)
            return f"{format_number(threshold / length, self._decimals)} {name}"
        return format_number(threshold, self._decimals)

    def _braces(self, node: int, codes: NDArray[np.int64]) -> str:
        categories = self._categories[self.structure.feature[node]]
        names = [str(categories[code]) for code in codes[:_MAX_CATEGORIES]]
        if codes.size > _MAX_CATEGORIES:
            names.append(f"... {codes.size - _MAX_CATEGORIES} more")
        return "{" + ", ".join(names) + "}"

    def _reachable_categories(self, node: int) -> NDArray[np.int64]:
        """Codes of the node's split feature that the splits above let through."""
        structure = self.structure
        feature = structure.feature[node]
        reachable = np.arange(structure.n_categories[feature])
        child, parent = node, int(structure.parent[node])
        while parent >= 0:
            if structure.feature[parent] == feature:
                went_left = child == parent + 1
                is_left = np.isin(reachable, structure.left_categories(parent))
                reachable = reachable[is_left == went_left]
            child, parent = parent, int(structure.parent[parent])
        return reachable
