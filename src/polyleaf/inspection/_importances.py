"""Which features matter for which outputs: as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf.checks.optional import require
from polyleaf.estimator.wording import feature_names_of, output_names_of
from polyleaf.forests.base import ForestEstimator
from polyleaf.trees.single_tree import SingleTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_HEIGHT = 9.0
_ROW_HEIGHT = 0.27
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
    deviations, as a share of what all splits take off. A row adds up to 1, or to 0 if no split
    tells anything about the output.

    Parameters
    ----------
    model : tree or forest
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
    check_tree_or_forest(model)
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

    Columns are sorted by their mean over the outputs, which stands in the first row.

    Parameters
    ----------
    model : tree or forest
        Fitted.
    max_features : int, default=20
        Most features to show, the most important ones; the rest is summed up in a last column.
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
    plt = require("matplotlib.pyplot", "plots")
    if max_features < 1:
        raise ValueError(f"max_features must be 1 or more; got {max_features}.")
    check_tree_or_forest(model)
    outputs, features = (
        output_names_of(model, output_names),
        feature_names_of(model, feature_names),
    )
    values, columns = _top_columns(model.output_importances_, features, max_features)
    if ax is None:
        height = min(_MAX_HEIGHT, 1.6 + _ROW_HEIGHT * (len(outputs) + 1))
        width = 1.6 + 0.09 * max(map(len, outputs)) + 0.42 * len(columns)
        _, ax = plt.subplots(figsize=(max(width, 4.0), height), layout="constrained")
    _draw_heatmap(ax, values, outputs, columns)
    return ax


def _top_columns(
    importances: NDArray[np.float64], features: list[str], max_features: int
) -> tuple[NDArray[np.float64], list[str]]:
    """Sort columns by their mean; sum up those beyond `max_features`."""
    order = np.argsort(-importances.mean(axis=0), kind="stable")
    top, rest = order[:max_features], order[max_features:]
    values, names = importances[:, top], [features[j] for j in top]
    if rest.size:
        values = np.column_stack([values, importances[:, rest].sum(axis=1)])
        names.append(f"{rest.size:,} more")
    return values, names


def _draw_heatmap(
    ax: Axes, values: NDArray[np.float64], outputs: list[str], columns: list[str]
) -> None:
    n_outputs, n_columns = values.shape
    gap = max(0.25, 0.01 * n_outputs)
    head = max(1.0, 0.03 * n_outputs)  # the row of means stays visible above many outputs
    edges = np.arange(n_columns + 1) - 0.5
    style: dict[str, Any] = {"cmap": "Blues", "vmin": 0.0, "vmax": max(float(values.max()), 1e-9)}
    mean = values.mean(axis=0)
    ax.pcolormesh(edges, [-gap - head, -gap], mean[None, :], **style)
    mesh = ax.pcolormesh(edges, np.arange(n_outputs + 1.0), values, **style)
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_outputs, -gap - head))
    ax.set_xticks(range(n_columns), columns, rotation=90, parse_math=False)
    ax.xaxis.tick_top()
    step = -(-n_outputs // 30)
    shown = list(range(0, n_outputs, step))
    ax.set_yticks(
        [-gap - head / 2, *(j + 0.5 for j in shown)],
        ["mean", *(outputs[j] for j in shown)],
        parse_math=False,
    )
    ax.tick_params(length=0, labelsize=8)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if values.size <= _MAX_WRITTEN and n_outputs <= 30:
        _write_numbers(ax, mean, -gap - head / 2, style["vmax"])
        for j, row in enumerate(values):
            _write_numbers(ax, row, j + 0.5, style["vmax"])
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.6, pad=0.02, aspect=25)
    bar.set_label("share of the output's explained variance", size=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)


def _write_numbers(ax: Axes, numbers: NDArray[np.float64], y: float, largest: float) -> None:
    for x, number in enumerate(numbers.tolist()):
        if number < 0.005:
            continue
        colour = "white" if number > 0.6 * largest else "#222222"
        text = f"{number:.2f}".lstrip("0") if number < 0.995 else "1"
        ax.text(x, y, text, ha="center", va="center", fontsize=6.5, color=colour)


def check_tree_or_forest(model: Any) -> None:
    """Raise a TypeError or NotFittedError unless the model is a fitted tree or forest."""
    if not isinstance(model, SingleTree | ForestEstimator):
        raise TypeError(
            f"model must be a fitted tree or forest of polyleaf; got {type(model).__name__}."
        )
    check_is_fitted(model)
