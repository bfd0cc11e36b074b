"""A sum of trees in the user's terms: names of features and outputs, categories, missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.fitted import expect_fitted
from polyleaf.export._onnx_inputs import feature_names
from polyleaf.export._sums import CannotExportError, all_values, check_exportable
from polyleaf.rules.reader import value_names
from polyleaf.trees.additive import AdditiveTrees

#: Numbers in leaves that a text may have.
_MOST_NUMBERS = 200_000


@dataclass(frozen=True)
class Split:
    """A test of one feature; a row that passes it goes left.

    Attributes
    ----------
    feature : str
    threshold : float or None
        A number goes left if it is at most this.
    left, right : list
        Categories, instead of a threshold.
    missing_left : bool
        Whether missing values go left, and categories that fit has not seen.
    is_date : bool
        Whether the threshold is a date, in nanoseconds since 1970.
    """

    feature: str
    threshold: float | None
    left: list[Any]
    right: list[Any]
    missing_left: bool
    is_date: bool = False


class TreeReader:
    """The trees of one fitted model.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest or boosted model.
    purpose : str
        What they are written as, for messages.

    Attributes
    ----------
    feature_names : list of str
    value_names : list of str
        One per channel: the output's name, with ``=class`` if the output has several classes.
    base : ndarray of shape (n_channels,), float64
    values : ndarray of shape (n_leaves, n_channels)
    """

    def __init__(self, model: Any, purpose: str) -> None:
        check_exportable(model)
        expect_fitted(model)
        additive: AdditiveTrees = model._additive()
        self.structure = additive.structure
        size = self.structure.n_leaves * additive.n_channels
        if size > _MOST_NUMBERS:
            raise CannotExportError(
                f"The leaves of this {type(model).__name__} hold {size} numbers, too many for "
                f"{purpose}, which may have {_MOST_NUMBERS}. Use to_onnx, or fewer and smaller "
                "trees."
            )
        self.base = additive.base
        self.values: NDArray[Any] = all_values(additive)
        self._features = model._features
        self.feature_names = feature_names(model._features)
        self.value_names = channel_names(model)

    @property
    def roots(self) -> list[int]:
        """First node of every tree."""
        starts: list[int] = self.structure.tree_offsets[:-1].tolist()
        return starts

    def children(self, node: int, root: int) -> tuple[int, int]:
        """Left and right child of a node."""
        return node + 1, root + int(self.structure.right[node])

    def leaf_values(self, node: int) -> list[float] | None:
        """Values of a leaf; None for an inner node."""
        leaf = int(self.structure.leaf_index[node])
        if leaf < 0:
            return None
        values: list[float] = self.values[leaf].astype(np.float64).tolist()
        return values

    def split(self, node: int) -> Split:
        """Give the test of an inner node."""
        structure = self.structure
        j = int(structure.feature[node])
        name, threshold = self.feature_names[j], float(structure.threshold[node])
        missing_left = bool(structure.missing_left[node])
        levels = self._features.levels.get(j)
        if levels is not None:
            n_left = int(np.clip(np.floor(threshold) + 1, 0, levels.size))
            listed = levels.tolist()
            return Split(name, None, listed[:n_left], listed[n_left:], missing_left)
        if structure.category_offset[node] < 0:
            is_date = self._features.times.get(j) == "date"
            return Split(name, threshold, [], [], missing_left, is_date)
        categories = self._features.categories[j].tolist()
        codes = set(structure.left_categories(node).tolist())
        left = [category for code, category in enumerate(categories) if code in codes]
        right = [category for code, category in enumerate(categories) if code not in codes]
        return Split(name, None, left, right, missing_left)


def channel_names(model: Any) -> list[str]:
    """Name the channels of a model: outputs, their classes, or their quantiles."""
    names = value_names(model)
    n_values = model._additive().n_channels // len(names)
    if n_values <= 1:
        return names
    return [f"{name}[{k}]" for name in names for k in range(n_values)]
