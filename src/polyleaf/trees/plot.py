"""A fitted tree as a picture: splits from left to right, then a table of the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import expect_count
from polyleaf.checks.optional import require
from polyleaf.trees.layout import place_tree
from polyleaf.trees.picture import TreePicture
from polyleaf.trees.reader import TreeReader

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most values in the table unless the caller names outputs.
_MAX_VALUES = 100
#: Up to this many values stand in the order of the outputs.
_MAX_IN_ORDER = 24


def plot_tree(
    model: Any,
    *,
    max_depth: int | None = 3,
    outputs: Sequence[str | int] | None = None,
    decimals: int = 2,
    show_missing: bool = True,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree from left to right, with a table of what its leaves predict.

    A box is a split, its colour shows the feature. The upper branch takes the rows for which
    the condition holds. Under the condition, bars (or a strip of colours, for many outputs) show
    how the means of the outputs in the node differ from those of all rows. Each leaf leads to a
    row of the table: one cell per output, coloured by the same difference, with the mean or the
    probability written in it where there is room.

    Parameters
    ----------
    model : TreeRegressor or TreeClassifier
        Fitted.
    max_depth : int or None, default=3
        Deepest level to draw; None: all. A node that is cut off there has a dashed border.
    outputs : sequence of str or int, optional
        Outputs to show, by name or position, in this order. By default all, but of more than 100
        those that differ most from all rows in some leaf; more than 24 are ordered by likeness.
    decimals : int, default=2
        Digits after the point of thresholds; significant digits of those between -1 and 1.
    show_missing : bool, default=True
        Whether the branch that takes missing values says so.
    feature_names, output_names : sequence of str, optional
        Names to use instead of those the model knows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    tree_text : the same as text.

    Notes
    -----
    Differences are in standard deviations of each output over the training rows; see the notes
    of `tree_text`.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.inspection import plot_tree
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> tree = TreeRegressor().fit(X, np.column_stack([X > 3, X > 5]).astype(float))
    >>> ax = plot_tree(tree, feature_names=["height"])
    >>> ax.figure.savefig("tree.png")  # doctest: +SKIP
    """
    plt = require("matplotlib.pyplot", "plots")
    if max_depth is not None:
        expect_count("max_depth", max_depth, 0)
    expect_count("decimals", decimals, 0)
    reader = TreeReader(model, feature_names, output_names, decimals=decimals)
    values = _choose_values(reader, outputs, max_depth)
    layout = place_tree(reader, max_depth, values.size)
    return TreePicture(plt, reader, layout, values, ax).draw(show_missing)


def _choose_values(
    reader: TreeReader, outputs: Sequence[str | int] | None, max_depth: int | None
) -> NDArray[np.intp]:
    """Choose the columns of the table; if there are many, similar ones are neighbours."""
    from scipy.cluster import hierarchy  # slow to import, and seldom needed

    values = reader.positions(outputs)
    if outputs is not None or values.size <= _MAX_IN_ORDER:
        return values
    ends = [placed.node for placed in place_tree(reader, max_depth, 1).ends]
    largest = np.zeros(values.size)
    for node in ends:
        np.fmax(largest, np.abs(reader.deviations(node)), out=largest)
    chosen = np.sort(np.argsort(-largest, kind="stable")[:_MAX_VALUES])
    deviations = np.array([reader.deviations(node)[chosen] for node in ends])
    tree = hierarchy.linkage(np.nan_to_num(deviations.T), "average", optimal_ordering=True)
    return chosen[hierarchy.leaves_list(tree)]
