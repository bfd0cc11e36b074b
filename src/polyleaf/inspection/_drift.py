"""Which columns of a table are no longer distributed as they were: inputs, or predicted labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from polyleaf.checks.matrices import is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import expect_number
from polyleaf.checks.optional import require


@dataclass(frozen=True, eq=False)
class Drift:
    """How far the columns of two tables differ.

    Attributes
    ----------
    names : list of str
        One per column.
    distances : ndarray of shape (n_columns,)
        From 0, distributed alike, to 1, nothing in common: the largest difference of the
        cumulative distributions of numbers (Kolmogorov-Smirnov), half the sum of the differences
        of the shares of categories (total variation); missing values count as a value.
    p_values : ndarray of shape (n_columns,)
        Of the hypothesis that nothing has changed, corrected for the number of columns (Holm).
    missing_before, missing_now : ndarray of shape (n_columns,)
        Shares of missing values.
    new_shares : ndarray of shape (n_columns,)
        Share of the new rows whose category was not there before, or whose number is beyond all
        those before.
    is_drifted : ndarray of shape (n_columns,), bool
        Where the difference is neither chance nor small.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.inspection import drift
    >>> rng = np.random.default_rng(0)
    >>> before, now = rng.normal(size=(500, 3)), rng.normal(size=(400, 3))
    >>> now[:, 2] += 0.5
    >>> drift(before, now).drifted
    ['x2']
    """

    names: list[str]
    distances: NDArray[np.float64]
    p_values: NDArray[np.float64]
    missing_before: NDArray[np.float64]
    missing_now: NDArray[np.float64]
    new_shares: NDArray[np.float64]
    is_drifted: NDArray[np.bool_]

    @property
    def drifted(self) -> list[str]:
        """Names of the columns that have drifted, the furthest first."""
        order = np.argsort(-self.distances, kind="stable")
        return [self.names[j] for j in order if self.is_drifted[j]]

    def to_frame(self) -> Any:
        """Tabulate a line per column, the furthest first."""
        order = np.argsort(-self.distances, kind="stable")
        columns = {
            "column": np.array(self.names, dtype=object),
            "distance": self.distances,
            "p_value": self.p_values,
            "missing_before": self.missing_before,
            "missing_now": self.missing_now,
            "new": self.new_shares,
            "drifted": self.is_drifted,
        }
        table = {name: values[order] for name, values in columns.items()}
        return require("pandas", "to_frame").DataFrame(table)


def drift(before: Any, now: Any, *, least_distance: float = 0.1, level: float = 0.01) -> Drift:
    """Compare the columns of two tables: rows of training and rows of today.

    Tables may be inputs, or what a model predicts for both: ``model.predict(X)`` for the rates of
    labels, ``model.predict_proba(X)`` for scores. Each column is compared alone.

    Parameters
    ----------
    before, now : array-like, frame or sparse matrix of shape (n, n_columns)
        Columns of frames are matched by name. Columns of text, categories or booleans, and numbers
        of which there are at most two, are compared by the shares of their values, other numbers
        by their distributions.
    least_distance : float, default=0.1
        Smaller differences are no drift, however sure they are.
    level : float, default=0.01
        Chance of a false alarm among all columns, if rows are independent.

    Returns
    -------
    Drift

    Examples
    --------
    >>> import pandas as pd
    >>> from polyleaf.inspection import drift
    >>> before = pd.DataFrame({"city": ["Bern", "Genf"] * 50, "age": range(100)})
    >>> now = pd.DataFrame({"city": ["Bern", "Chur"] * 50, "age": range(100)})
    >>> drift(before, now).to_frame().round(2)[["column", "distance", "new", "drifted"]]
      column  distance  new  drifted
    0   city       0.5  0.5     True
    1    age       0.0  0.0    False
    """
    least = expect_number("least_distance", least_distance, 0.0, 1.0, "from 0 to 1")
    most = expect_number("level", level, 0.0, 1.0, "from 0 to 1")
    names, pairs = _paired_columns(before, now)
    lines = np.array([_compared(old, new) for old, new in pairs]).reshape(len(names), 5)
    distances, p_values = lines[:, 0], _holm(lines[:, 1])
    is_drifted = (distances >= least) & (p_values < most)
    return Drift(names, distances, p_values, lines[:, 2], lines[:, 3], lines[:, 4], is_drifted)


def _paired_columns(
    before: Any, now: Any
) -> tuple[list[str], Iterator[tuple[NDArray[Any], NDArray[Any]]]]:
    """Match the columns of two tables."""
    tables = [nw.from_native(t, eager_only=True, strict=False) for t in (before, now)]
    old, new = (t if isinstance(t, nw.DataFrame) else None for t in tables)
    if old is not None and new is not None:
        missing = [name for name in old.columns if name not in new.columns]
        if missing or not old.columns:
            raise ValueError(f"now must have the columns of before; it lacks {missing[:5]!r}.")
        _check_rows(len(old), len(new))
        return list(old.columns), (
            (old[name].to_numpy(), new[name].to_numpy()) for name in old.columns
        )
    arrays = [_as_columns(before, "before"), _as_columns(now, "now")]
    if arrays[0].shape[1] != arrays[1].shape[1] or not arrays[0].shape[1]:
        raise ValueError(
            f"before and now must have the same columns; got {arrays[0].shape[1]} and "
            f"{arrays[1].shape[1]}."
        )
    _check_rows(arrays[0].shape[0], arrays[1].shape[0])
    names = [f"x{j}" for j in range(arrays[0].shape[1])]
    known = next((t.columns for t in (old, new) if t is not None), names)
    return list(known), zip(_each_column(arrays[0]), _each_column(arrays[1]))


def _as_columns(table: Any, name: str) -> Any:
    if is_sparse(table):
        return read_sparse(table, name).tocsc()
    values = read_array(table, name)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(f"{name} must have two dimensions; got shape {values.shape}.")
    return values


def _check_rows(n_before: int, n_now: int) -> None:
    if not n_before or not n_now:
        raise ValueError(f"Both tables must have rows; got {n_before} and {n_now}.")


def _each_column(table: Any) -> Iterator[NDArray[Any]]:
    if not is_sparse(table):
        yield from table.T
        return
    for j in range(table.shape[1]):
        yield table[:, [j]].toarray()[:, 0]


def _compared(old: NDArray[Any], new: NDArray[Any]) -> tuple[float, ...]:
    """Give distance, p, both shares of missing values, and the share of what was not there."""
    is_gone, is_gone_now = _is_missing(old), _is_missing(new)
    shares = float(is_gone.mean()), float(is_gone_now.mean())
    known, known_now = old[~is_gone], new[~is_gone_now]
    if _is_numeric(known) and _is_numeric(known_now):
        known, known_now = known.astype(np.float64), known_now.astype(np.float64)
        if np.unique(np.concatenate([known, known_now])).size > 2:
            return _compared_numbers(known, known_now, is_gone, is_gone_now)
    else:
        known, known_now = known.astype(str), known_now.astype(str)
    values, codes = np.unique(np.concatenate([known, known_now]), return_inverse=True)
    counts = np.zeros((2, values.size + 1))
    counts[0, :-1] = np.bincount(codes[: known.size], minlength=values.size)
    counts[1, :-1] = np.bincount(codes[known.size :], minlength=values.size)
    counts[:, -1] = is_gone.sum(), is_gone_now.sum()
    parts = counts / counts.sum(axis=1, keepdims=True)
    unseen = parts[1, :-1][counts[0, :-1] == 0].sum()
    return 0.5 * float(np.abs(parts[0] - parts[1]).sum()), _chance(counts), *shares, float(unseen)


def _compared_numbers(
    known: NDArray[np.float64],
    known_now: NDArray[np.float64],
    is_gone: NDArray[np.bool_],
    is_gone_now: NDArray[np.bool_],
) -> tuple[float, ...]:
    shares = float(is_gone.mean()), float(is_gone_now.mean())
    gone = np.array([is_gone.sum(), is_gone_now.sum()])
    p_gone = _chance(np.column_stack([gone, [is_gone.size, is_gone_now.size] - gone]))
    distance, p, beyond = abs(shares[0] - shares[1]), 1.0, 0.0
    if known.size and known_now.size:
        found = stats.ks_2samp(known, known_now, method="asymp")
        distance, p = max(distance, float(found.statistic)), float(found.pvalue)
        is_beyond = (known_now < known.min()) | (known_now > known.max())
        beyond = float(is_beyond.sum() / is_gone_now.size)
    return distance, min(1.0, 2.0 * min(p, p_gone)), *shares, beyond


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values], dtype=np.bool_)
    return np.zeros(values.shape, np.bool_)


def _is_numeric(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "O":
        return all(isinstance(v, int | float | np.number | bool | np.bool_) for v in values)
    return values.dtype.kind in "biuf"


def _chance(counts: NDArray[Any]) -> float:
    """Chance of such counts, of shape (2, n), if both rows have the same shares."""
    used = counts[:, counts.sum(axis=0) > 0]
    if used.shape[1] < 2:
        return 1.0
    return float(stats.chi2_contingency(used, correction=False).pvalue)


def _holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct for the number of hypotheses: a bound on the chance of any false alarm."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(p_values.size, 0, -1)
    corrected = np.empty(p_values.size)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
