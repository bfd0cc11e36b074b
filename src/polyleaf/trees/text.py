"""A fitted tree as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import expect_count
from polyleaf.estimator.wording import format_number
from polyleaf.trees.reader import TreeReader


def tree_text(
    model: Any,
    *,
    max_depth: int | None = None,
    decimals: int = 3,
    outputs: Sequence[str | int] | None = None,
    max_outputs: int = 5,
    show_missing: bool = True,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> str:
    """Write a tree as indented text.

    Every branch is a line: the values that take it, whether missing values take it too, and its
    number of training rows. Leaves add what they predict: the mean of each target, or the
    probability of each label or class, with the difference from all training rows in brackets.
    Of many outputs, those are named that differ most, in units of their standard deviation (see
    Notes).

    Parameters
    ----------
    model : TreeRegressor or TreeClassifier
        Fitted.
    max_depth : int, optional
        Deepest level to write; what lies below is summed up. All by default.
    decimals : int, default=3
        Digits after the point; significant digits of numbers between -1 and 1.
    outputs : sequence of str or int, optional
        Outputs to write, by name or position; all by default.
    max_outputs : int, default=5
        Most values to name in a leaf; the others are counted.
    show_missing : bool, default=True
        Whether to say where missing values go. They have a way at every split, also where
        training saw none.
    feature_names, output_names : sequence of str, optional
        Names to use instead of those the model knows.

    Returns
    -------
    str
        Lines without a newline at the end.

    See Also
    --------
    plot_tree : the same as a picture.

    Notes
    -----
    A tree with dense leaves does not keep the standard deviations of its targets, so that those
    of its own predictions stand in for them. For labels and classes they are exact.

    Examples
    --------
    >>> import pandas as pd
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.inspection import tree_text
    >>> X = pd.DataFrame(
    ...     {"size": [1.0, 2.0, None, 4.0], "colour": ["red", "blue", "red", "green"]}
    ... )
    >>> Y = pd.DataFrame({"price": [10.0, 10.0, 30.0, 30.0], "weight": [1.0, 2.0, 4.0, 4.0]})
    >>> tree = TreeRegressor(random_state=0).fit(X, Y)
    >>> print(tree_text(tree))
    TreeRegressor: 2 outputs, 3 leaves, depth 2, 4 training rows
    Values are means (difference from all rows: price 20, weight 2.75)
    ├─ size <= 3  [2 rows]
    │  ├─ size <= 1.5 or missing  [1 row]  price 10 (-10), weight 1 (-1.75)
    │  └─ size > 1.5  [1 row]  price 10 (-10), weight 2 (-0.75)
    └─ size > 3 or missing  [2 rows]  price 30 (+10), weight 4 (+1.25)
    """
    for name, count in (("max_depth", max_depth), ("max_outputs", max_outputs)):
        if count is not None:
            expect_count(name, count, 0)
    expect_count("decimals", decimals, 0)
    reader = TreeReader(model, feature_names, output_names, decimals=decimals)
    writer = _Writer(
        reader, reader.positions(outputs), max_depth, decimals, max_outputs, show_missing
    )
    return "\n".join([*writer.header(type(model).__name__), *writer.branches()])


@dataclass(frozen=True)
class _Writer:
    """Writes the lines of one tree."""

    reader: TreeReader
    shown: NDArray[np.intp]
    max_depth: int | None
    decimals: int
    max_outputs: int
    show_missing: bool

    def header(self, model_name: str) -> list[str]:
        structure = self.reader.structure
        counts = ", ".join(
            [
                _count(len(self.reader.output_names), "output"),
                _count(structure.n_leaves, "leaf", "leaves"),
                f"depth {structure.depth.max()}",
                _count(int(structure.n_samples[0]), "training row"),
            ]
        )
        what = "probabilities" if self.reader.predicts_probabilities else "means"
        reference = "difference from all rows"
        if self.shown.size <= self.max_outputs:
            reference += ": " + ", ".join(self._root_value(j) for j in self.shown)
        lines = [f"{model_name}: {counts}", f"Values are {what} ({reference})"]
        if structure.is_leaf[0]:
            lines.append(f"A single leaf: {self._prediction(0)}")
        return lines

    def branches(self) -> Iterator[str]:
        """Write all branches, each followed by those below it."""
        waiting = self._lines_below(0, "")
        while waiting:
            line, child, indent = waiting.pop()
            yield line
            waiting.extend(self._lines_below(child, indent))

    def _lines_below(self, node: int, indent: str) -> list[tuple[str, int, str]]:
        """Give line, child and the child's indent of both branches of a node, the right first."""
        if self.reader.structure.is_leaf[node] or self._is_cut_off(node):
            return []
        conditions = self.reader.conditions(node)
        names_missing = self.show_missing and not self.reader.asks_whether_missing(node)
        lines = []
        for side, child in enumerate(self.reader.children(node)):
            takes_missing = self.reader.missing_left(node) == (side == 0)
            missing = " or missing" if names_missing and takes_missing else ""
            fork, below = ("├─ ", "│  ") if side == 0 else ("└─ ", "   ")
            line = f"{indent}{fork}{conditions[side]}{missing}  {self._facts(child)}"
            lines.append((line, child, indent + below))
        return lines[::-1]

    def _is_cut_off(self, node: int) -> bool:
        return self.max_depth is not None and self.reader.structure.depth[node] >= self.max_depth

    def _facts(self, node: int) -> str:
        structure = self.reader.structure
        rows = _count(int(structure.n_samples[node]), "row")
        if structure.is_leaf[node]:
            return f"[{rows}]  {self._prediction(node)}"
        if self._is_cut_off(node):
            below = self.reader.n_leaves_below(node)
            return f"[{rows}, {below} leaves below]  {self._prediction(node)}"
        return f"[{rows}]"

    def _prediction(self, node: int) -> str:
        values = self.reader.values(node)[self.shown]
        differences = values - self.reader.root_values[self.shown]
        named = range(self.shown.size)
        if self.shown.size > self.max_outputs:
            size = np.nan_to_num(np.abs(self.reader.deviations(node)[self.shown]), nan=-1.0)
            named = np.argsort(-size, kind="stable")[: self.max_outputs].tolist()
        parts = [
            f"{self.reader.value_names[self.shown[j]]} {format_number(values[j], self.decimals)}"
            + self._difference(differences[j])
            for j in named
        ]
        text = ", ".join(parts)
        n_left_out = self.shown.size - len(parts)
        return f"{text}, {n_left_out:,} more" if n_left_out else text

    def _difference(self, difference: float) -> str:
        if np.isnan(difference):
            return ""
        return f" ({format_number(difference, self.decimals, sign=True)})"

    def _root_value(self, position: int) -> str:
        value = format_number(self.reader.root_values[position], self.decimals)
        return f"{self.reader.value_names[position]} {value}"


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
