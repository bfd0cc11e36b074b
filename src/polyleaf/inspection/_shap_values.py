"""Shapley values as a frozen value that users read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import described
from polyleaf.checks.optional import require
from polyleaf.checks.spelling import did_you_mean


@dataclass(frozen=True, eq=False)
class ShapValues:
    """What every feature adds to every output, row by row; made by `shap_values`.

    Attributes
    ----------
    values : ndarray of shape (n, p, k), float32
        What each feature adds. With ``reduce="mean_abs"`` of shape (p, k): its mean size over the
        rows.
    base_values : ndarray of shape (k,), float64
        The expected prediction; ``base_values + values.sum(axis=1)`` is the prediction. With
        `top_outputs` of shape (n, k).
    outputs : ndarray of shape (k,), int64
        The channels, -1 for a group; with `top_outputs` of shape (n, k), where groups are counted
        behind the channels.
    feature_names : list of str
    output_names : list of str
        The names of the k channels or groups; with `top_outputs` those of all channels, then of
        the groups, which `outputs` counts.
    data : ndarray of shape (n, p), or None
        The rows that were explained, categories as their codes; None if they were sparse or
        reduced.
    categories, levels : mapping of int to ndarray
        Of the features whose codes stand in `data`, by their numbers: what each code means. Levels
        have an order, categories have none.
    times : mapping of int to {"date", "duration"}
        Features whose nanoseconds stand in `data`.

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import shap_values
    >>> X, Y = make_correlated_targets(200, 5, 3, random_state=0)
    >>> found = shap_values(TreeRegressor(max_depth=3).fit(X, Y), X[:10])
    >>> found.values.shape, found.base_values.shape
    ((10, 5, 3), (3,))
    >>> found.difference("y0", "y2").output_names
    ['y0 rather than y2']
    """

    values: NDArray[np.float32]
    base_values: NDArray[np.float64]
    outputs: NDArray[np.int64]
    feature_names: list[str]
    output_names: list[str]
    data: NDArray[Any] | None = None
    categories: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    levels: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    times: Mapping[int, str] = field(default_factory=dict)

    def _position(self, output: Any) -> int:
        if isinstance(output, str):
            if output in self.output_names:
                return self.output_names.index(output)
            raise ValueError(
                f"No output that was explained is called {output!r}."
                f"{did_you_mean(output, self.output_names)}"
            )
        n_outputs = len(self.output_names)
        if not isinstance(output, int | np.integer) or not -n_outputs <= output < n_outputs:
            raise ValueError(
                f"Expected the name or the position of one of {n_outputs} explained outputs; got "
                f"{described(output)}."
            )
        return int(output) % n_outputs

    def difference(self, a: Any, b: Any) -> ShapValues:
        """Explain why output a rather than output b: the difference of their scores.

        Exact, because Shapley values are linear.

        Parameters
        ----------
        a, b : str or int
            Names or positions among the outputs that were explained.

        Returns
        -------
        ShapValues
            Of one output, ``a - b``.
        """
        if self.outputs.ndim == 2:
            raise ValueError(
                "difference compares two outputs over all rows, but with top_outputs every row "
                "has its own: explain with outputs=[a, b] instead."
            )
        if self.values.ndim == 2:
            raise ValueError(
                "difference needs values row by row, but these are means of sizes: explain "
                "without reduce."
            )
        i, j = self._position(a), self._position(b)
        return ShapValues(
            values=self.values[:, :, [i]] - self.values[:, :, [j]],
            base_values=self.base_values[[i]] - self.base_values[[j]],
            outputs=np.array([-1], dtype=np.int64),
            feature_names=self.feature_names,
            output_names=[f"{self.output_names[i]} rather than {self.output_names[j]}"],
            data=self.data,
            categories=self.categories,
            levels=self.levels,
            times=self.times,
        )

    def to_shap(self) -> Any:
        """Give a `shap.Explanation`, for all plots of the shap package.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        if self.values.ndim == 2:
            raise ValueError("shap explains rows, but these are means of rows: leave out reduce.")
        shap = require("shap", "ShapValues.to_shap")
        n_rows = self.values.shape[0]
        base = np.broadcast_to(self.base_values, (n_rows, self.values.shape[2]))
        is_top = self.outputs.ndim == 2
        return shap.Explanation(
            values=self.values.astype(np.float64),
            base_values=np.array(base),
            data=self.data,
            feature_names=self.feature_names,
            output_names=None if is_top else self.output_names,
        )
