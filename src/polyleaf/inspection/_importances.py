"""Which features matter for which outputs: as a table and as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.boosting.base import Boosting
from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import expect_count
from polyleaf.checks.optional import require
from polyleaf.estimator.wording import feature_names_of, output_names_of
from polyleaf.forests.base import ForestEstimator
from polyleaf.rules.base import RuleEstimator
from polyleaf.trees.single_tree import SingleTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches of a row with its number, and of one among many.
_ROW_HEIGHT, _LOW_ROW_HEIGHT = 0.27, 0.145
#: Inches of a letter in the label of a legend.
_LETTER = 0.065
#: Up to this many outputs rows are high, and up to this many all have their name.
_FEW_OUTPUTS, _MOST_NAMED = 30, 100
#: Up to this many cells carry their number.
_MAX_WRITTEN = 400


@dataclass(frozen=True, eq=False)
class ImportanceTable:
    """What `output_importances` returns where pandas is not installed.

    Attributes
    ----------
    values : ndarray of shape (n_outputs, n_features)
    index : list of str
        Names of the outputs.
    columns : list of str
        Names of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.inspection import ImportanceTable
    >>> table = ImportanceTable(np.array([[0.8, 0.2]]), ["weight"], ["length", "colour"])
    >>> dict(zip(table.columns, table.values[table.index.index("weight")].tolist()))
    {'length': 0.8, 'colour': 0.2}
    """

    values: NDArray[np.float64]
    index: list[str]
    columns: list[str]


def output_importances(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Any:
    """Tabulate the importance of each feature for each output.

    The importance is the part that the feature's splits take off the output's sum of squared
    deviations, as a share of what all splits take off. Of boosted trees it is the same for the
    deviations of what the trees add to the output; of rules the variance of what they
    add to the output, divided evenly among their conditions. A row adds up to 1, or to 0 if
    no split helps to predict the output.

    Parameters
    ----------
    model : tree, forest, boosted trees or rules
        Fitted.
    feature_names, output_names : sequence of str, optional
        Names to use instead of those the model knows.

    Returns
    -------
    pandas.DataFrame of shape (n_outputs, n_features)
        Or an `ImportanceTable` with the same `values`, `index` and `columns` where pandas is not
        installed.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.inspection import output_importances
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> Y = X[:, ::-1]  # the first target is the second feature
    >>> output_importances(TreeRegressor().fit(X, Y), feature_names=["left", "right"])
        left  right
    y0   0.0    1.0
    y1   1.0    0.0
    """
    _check_model(model)
    values = model.output_importances_
    index, columns = output_names_of(model, output_names), feature_names_of(model, feature_names)
    try:
        import pandas as pd
    except ImportError:
        return ImportanceTable(values, index, columns)
    return pd.DataFrame(values, index=index, columns=columns)


def plot_output_importances(
    model: Any,
    *,
    max_features: int = 20,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the importance of features for outputs: one row per output, one column per feature.

    Columns are sorted by their mean over the outputs, which is in the first row.

    Parameters
    ----------
    model : tree, forest, boosted trees or rules
        Fitted.
    max_features : int, default=20
        Most features to show, the most important ones; a last column has the sums of the rest,
        in grey.
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

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import plot_output_importances
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> ax = plot_output_importances(TreeRegressor(max_depth=4).fit(X, Y))
    """
    _check_model(model)
    outputs, features = (
        output_names_of(model, output_names),
        feature_names_of(model, feature_names),
    )
    label = "share of the output's explained variance"
    return draw_shares(model.output_importances_, outputs, features, max_features, label, ax)


def draw_shares(
    shares: NDArray[np.float64],
    outputs: list[str],
    features: list[str],
    max_features: int,
    label: str,
    ax: Axes | None,
) -> Axes:
    """Draw shares of shape (n_outputs, n_features): a heat map with its legend."""
    plt = require("matplotlib.pyplot", "plots")
    table = _Table.of(shares, outputs, features, expect_count("max_features", max_features))
    if ax is None:
        _, ax = plt.subplots(figsize=table.size, layout="constrained")
    _draw_heatmap(ax, table, label)
    return ax


@dataclass(frozen=True, eq=False)
class _Table:
    """What is drawn.

    Attributes
    ----------
    values : ndarray of shape (n_outputs, n_columns)
        Of the most important features, sorted by their mean.
    rest : ndarray of shape (n_outputs,) or None
        The sum of all other features.
    outputs, columns : list of str
        Names; the last column is that of the rest, if there is one.
    """

    values: NDArray[np.float64]
    rest: NDArray[np.float64] | None
    outputs: list[str]
    columns: list[str]

    @classmethod
    def of(
        cls,
        importances: NDArray[np.float64],
        outputs: list[str],
        features: list[str],
        max_features: int,
    ) -> _Table:
        """Sort columns by their mean; sum up those beyond `max_features`."""
        order = np.argsort(-importances.mean(axis=0), kind="stable")
        top, others = order[:max_features], order[max_features:]
        names, rest = [features[j] for j in top], None
        if others.size:
            rest = importances[:, others].sum(axis=1)
            names.append(f"{others.size:,} more")
        return cls(importances[:, top], rest, outputs, names)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure, in inches: all names of up to 100 outputs fit."""
        n_outputs = len(self.outputs)
        few, many = min(n_outputs, _FEW_OUTPUTS), min(n_outputs, _MOST_NAMED)
        rows = max(_ROW_HEIGHT * few, _LOW_ROW_HEIGHT * many)
        width = 1.6 + 0.09 * max(map(len, self.outputs)) + 0.42 * len(self.columns)
        return max(width, 4.0), 1.6 + _ROW_HEIGHT + rows


def _draw_heatmap(ax: Axes, table: _Table, label: str) -> None:
    values, outputs, n_columns = table.values, table.outputs, len(table.columns)
    n_outputs, n_features = values.shape
    gap = max(0.25, 0.01 * n_outputs)
    head = max(1.0, 0.03 * n_outputs)  # the row of means stays visible above many outputs
    edges = np.arange(n_features + 1) - 0.5
    # The sum of the rest has no colour: it would leave none for single features.
    style: dict[str, Any] = {"cmap": "Blues", "vmin": 0.0, "vmax": max(float(values.max()), 1e-9)}
    mean = values.mean(axis=0)
    ax.pcolormesh(edges, [-gap - head, -gap], mean[None, :], **style)
    mesh = ax.pcolormesh(edges, np.arange(n_outputs + 1.0), values, **style)
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_outputs, -gap - head))
    ax.set_xticks(range(n_columns), table.columns, rotation=90, parse_math=False)
    ax.xaxis.tick_top()
    step = -(-n_outputs // _MOST_NAMED)
    shown = list(range(0, n_outputs, step))
    ax.set_yticks(
        [-gap - head / 2, *(j + 0.5 for j in shown)],
        ["mean", *(outputs[j] for j in shown)],
        parse_math=False,
    )
    ax.tick_params(length=0, labelsize=8)
    if n_outputs > _FEW_OUTPUTS:
        ax.tick_params(axis="y", labelsize=6.5)
    for spine in ax.spines.values():
        spine.set_visible(False)
    middles = [-gap - head / 2, *(np.arange(n_outputs) + 0.5)]
    if values.size <= _MAX_WRITTEN and n_outputs <= _FEW_OUTPUTS:
        for row, y in zip([mean, *values], middles):
            _write_numbers(ax, row, float(y), style["vmax"])
    if table.rest is not None:
        sums = [table.rest.mean(), *table.rest]
        size = 6.5 if n_outputs <= _FEW_OUTPUTS else 5.5
        for y, number in zip(middles[: _MOST_NAMED + 1], sums):
            ax.text(
                n_features, float(y), f"{number:.2f}".lstrip("0"), ha="center", va="center",
                fontsize=size, color="#777777", style="italic",
            )  # fmt: skip
    shrink = 0.6 if n_outputs > 8 else 1.0
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=shrink, pad=0.02, aspect=25)
    # Beside few rows a long label has several lines, so that it is not cut off.
    length = shrink * _ROW_HEIGHT * (min(n_outputs, _FEW_OUTPUTS) + 1)
    bar.set_label(textwrap.fill(label, max(10, int(length / _LETTER))), size=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)


def _write_numbers(ax: Axes, numbers: NDArray[np.float64], y: float, largest: float) -> None:
    for x, number in enumerate(numbers.tolist()):
        if number < 0.005:
            continue
        colour = "white" if number > 0.6 * largest else "#222222"
        text = f"{number:.2f}".lstrip("0") if number < 0.995 else "1"
        ax.text(x, y, text, ha="center", va="center", fontsize=6.5, color=colour)


def _check_model(model: Any) -> None:
    """Raise a TypeError or NotFittedError unless the model knows importances per output."""
    if not isinstance(model, SingleTree | ForestEstimator | Boosting | RuleEstimator):
        raise TypeError(
            "model must be a fitted tree, forest, boosted or rule model of polyleaf; got "
            f"{type(model).__name__}."
        )
    expect_fitted(model)
