"""A row explained in a table: which features moved which outputs, and how far."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import described, expect_count, shown
from polyleaf.checks.optional import require
from polyleaf.estimator.wording import feature_names_of, format_number
from polyleaf.inspection._shap import shap_values
from polyleaf.inspection._shap_values import ShapValues

COLUMNS = ["row", "output", "feature", "value", "contribution"]


def explain_rows(
    model: Any,
    X: Any,
    *,
    outputs: Any = None,
    top_outputs: int = 3,
    top_features: int = 5,
) -> Any:
    """List which features moved the predictions of a few rows, and how far.

    The method `explain` of every tree model calls it.

    Parameters
    ----------
    model : tree, forest or boosted trees
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
    outputs, top_outputs, top_features
        As in `explain` of a model.

    Returns
    -------
    DataFrame
        ``row, output, feature, value, contribution``.

    Examples
    --------
    >>> import pandas as pd
    >>> from polyleaf import TreeRegressor
    >>> X = pd.DataFrame({"rain": [320, 320, 1200, 1200], "slope": [1, 2, 1, 2]})
    >>> Y = pd.DataFrame({"pH": [7.2, 7.0, 5.8, 5.6]})
    >>> found = TreeRegressor(random_state=0).fit(X, Y).explain(X[:1])
    >>> found.round(2)
       row output feature  value  contribution
    0    0     pH    rain    320           0.7
    1    0     pH   slope      1           0.1
    """
    for name, count in (("top_outputs", top_outputs), ("top_features", top_features)):
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            raise ValueError(f"{name} must be a positive whole number; got {shown(count)}.")
    if outputs is not None:
        found = shap_values(model, X, outputs=outputs)
        chosen = np.tile(np.arange(len(found.output_names)), (found.values.shape[0], 1))
    elif hasattr(model, "classes_"):
        found = shap_values(model, X, top_outputs=top_outputs)
        chosen = np.tile(np.arange(found.outputs.shape[1]), (found.values.shape[0], 1))
    else:
        found = shap_values(model, X)
        chosen = _furthest(found, top_outputs)
    lines = _lines(found, chosen, shown_values(model, X), top_features)
    return require("pandas", "explain").DataFrame(lines, columns=COLUMNS)


def _furthest(found: ShapValues, count: int) -> NDArray[np.intp]:
    """Positions of the outputs that are furthest from their base, relative to their spread."""
    moves = found.values.sum(axis=1)
    spread = np.abs(found.values).sum(axis=1).mean(axis=0)
    sizes = np.divide(np.abs(moves), spread, out=np.zeros_like(moves), where=spread > 0)
    order: NDArray[np.intp] = np.argsort(-np.nan_to_num(sizes), axis=1, kind="stable")
    return order[:, :count]


def _lines(
    found: ShapValues, chosen: NDArray[np.intp], shown: Any, top_features: int
) -> list[tuple[Any, ...]]:
    lines = []
    for row, columns in enumerate(chosen):
        for column in columns:
            output = found.outputs[row, column] if found.outputs.ndim == 2 else column
            moves = found.values[row, :, column].astype(float)
            order = np.argsort(-np.abs(np.nan_to_num(moves)), kind="stable")[:top_features]
            lines += [
                (row, found.output_names[output], found.feature_names[f], shown(row, f), moves[f])
                for f in order.tolist()
                if np.abs(moves[f]) > 0  # NaN where an output was never observed
            ]
    return lines


def shown_values(model: Any, X: Any) -> Any:
    """Give a function from row and feature to the value as the user wrote it."""
    frame = nw.from_native(X, eager_only=True, strict=False)
    if isinstance(frame, nw.DataFrame):
        names, known = feature_names_of(model), list(frame.columns)
        columns = list(frame.iter_columns())
        if set(names) <= set(known):
            columns = [columns[known.index(name)] for name in names]
        return lambda row, feature: columns[feature][row]
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        return lambda row, feature: rows[row, feature]
    values = np.asarray(X)
    return lambda row, feature: values[row, feature]


def explanation_text(table: Any, decimals: int = 3) -> str:
    """Write what `explain` of a tree model gives as words, a line per contribution.

    Parameters
    ----------
    table : DataFrame
        What `explain` gives.
    decimals : int, default=3

    Examples
    --------
    >>> import pandas as pd
    >>> line = (0, "pH", "rain", 320, 0.7)
    >>> names = ["row", "output", "feature", "value", "contribution"]
    >>> print(explanation_text(pd.DataFrame([line], columns=names)))
    Row 0
      rain = 320: pH +0.7
    """
    columns = list(getattr(table, "columns", ()))
    if not hasattr(table, "itertuples") or columns != COLUMNS:
        hint = " Print the table of a rule model as it is." if "rule" in columns else ""
        raise TypeError(
            f"table must be what explain gives for a tree model, with the columns "
            f"{', '.join(COLUMNS)}; got {described(table)}.{hint}"
        )
    expect_count("decimals", decimals, 0)
    lines = []
    last = None
    for row, output, feature, value, move in table.itertuples(index=False):
        if row != last:
            lines.append(f"Row {row}")
            last = row
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if is_number:
            told = "missing" if value != value else format_number(float(value), decimals)
        else:
            text = "missing" if value is None else str(value)
            told = "missing" if text in ("NaT", "<NA>") else text.removesuffix(" 00:00:00")
        lines.append(f"  {feature} = {told}: {output} {format_number(move, decimals, sign=True)}")
    return "\n".join(lines)
