"""Find the categories of a column and code its values by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data.columns import Column, LabelColumn, NumberKind, NumericColumn

_EXACT_INTEGERS = 2.0**53
_JSON_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
}
_DTYPES: dict[str, Any] = {"str": object, "bool": np.bool_, "int": np.int64, "float": np.float64}


def find_categories(column: Column, where: str, *, zero_first: bool = False) -> NDArray[Any]:
    """List the categories that occur in a column.

    Only those that occur: a category that is declared but was never seen must go the missing way
    at prediction time, as any other unseen value does.

    Parameters
    ----------
    column : NumericColumn or LabelColumn
    where : str
        Names the column in error messages.
    zero_first : bool
        Whether 0 is the first category, occurring or not, so that the implicit zeros of a sparse
        column keep the code 0.

    Returns
    -------
    ndarray of shape (n_categories,)
        In declared order where the column's type declares one, else ascending; of dtype object
        (strings), bool, int64 or float64.
    """
    if isinstance(column, LabelColumn):
        found = {value for value in column.values if value is not None}
        labels = _in_declared_order(found, column.declared)
        return np.array(labels, dtype=object)
    values = np.asarray(column.values, dtype=np.float64)
    numbers = np.unique(values[~np.isnan(values)]) + 0.0  # -0.0 is the category 0
    if np.isinf(numbers).any():
        raise ValueError(
            f"{where} is categorical but holds infinity. Replace it by NaN (missing) or by a "
            "finite number, or leave the column out of categorical_features."
        )
    if zero_first:
        numbers = np.concatenate([[0.0], numbers[numbers != 0.0]])
    elif column.declared is not None:
        numbers = np.array(_in_declared_order(set(numbers.tolist()), column.declared), float)
    return _in_original_kind(numbers, column.kind)


def find_levels(
    columns: Sequence[Column], is_nominal: NDArray[np.bool_]
) -> dict[int, NDArray[Any]]:
    """List the levels of ordered categorical columns in their order, occurring or not.

    A level that fit has not seen has its place between the others, unlike a category.

    Parameters
    ----------
    columns : sequence of NumericColumn or LabelColumn
    is_nominal : ndarray of shape (n_features,), bool
        Columns whose order is to be ignored.

    Returns
    -------
    dict of int to ndarray of shape (n_levels,)
        By the position of the column; of dtype object (strings), bool, int64 or float64.
    """
    return {
        j: _levels_of(column)
        for j, column in enumerate(columns)
        if column.is_ordered and column.declared and not is_nominal[j]
    }


def _levels_of(column: Column) -> NDArray[Any]:
    if isinstance(column, LabelColumn):
        return np.array(column.declared, dtype=object)
    return _in_original_kind(np.array(column.declared, dtype=np.float64), column.kind)


def level_text(levels: NDArray[Any], threshold: float) -> str:
    """Name the last level up to a threshold between the places of levels.

    Examples
    --------
    >>> level_text(np.array(["small", "medium", "large"], object), 1.5)
    'medium'
    """
    if threshold < 0 or not levels.size:
        return "no level"
    return str(levels[min(int(threshold), levels.size - 1)])


def _in_declared_order(found: set[Any], declared: Sequence[Any] | None) -> list[Any]:
    if declared is None:
        return sorted(found)
    return [category for category in declared if category in found]


def _in_original_kind(numbers: NDArray[np.float64], kind: NumberKind) -> NDArray[Any]:
    if kind == "bool":
        return numbers.astype(np.bool_)
    if kind == "int" and (np.abs(numbers) <= _EXACT_INTEGERS).all():
        return numbers.astype(np.int64)
    return numbers


def encode_column(column: Column, categories: NDArray[Any], where: str) -> NDArray[np.float64]:
    """Code the values of a column by the position of their category; others become NaN.

    Raises
    ------
    TypeError
        If the column holds numbers and the categories are strings, or the other way round.
    """
    if categories.size == 0:
        n_rows = len(column.values)
        return np.full(n_rows, np.nan)
    has_text_categories = categories.dtype == object
    if isinstance(column, LabelColumn):
        if has_text_categories:
            codes = {label: float(code) for code, label in enumerate(categories.tolist())}
            coded = (codes.get(value, np.nan) for value in column.values)
            return np.fromiter(coded, dtype=np.float64, count=len(column.values))
        if any(value is not None for value in column.values):
            raise _wrong_type(categories, "strings", where)
        return np.full(len(column.values), np.nan)
    values = np.asarray(column.values, dtype=np.float64)
    if not has_text_categories:
        return encode_numbers(values, categories)
    if not np.isnan(values).all():
        raise _wrong_type(categories, "numbers", where)
    return values


def encode_numbers(values: NDArray[np.float64], categories: NDArray[Any]) -> NDArray[np.float64]:
    """Code numbers by the position of the equal category, NaN where there is none."""
    numbers = categories.astype(np.float64)
    order = np.argsort(numbers)
    ascending = numbers[order]
    place = np.minimum(np.searchsorted(ascending, values), numbers.size - 1)
    return np.where(ascending[place] == values, order[place].astype(np.float64), np.nan)


def _wrong_type(categories: NDArray[Any], got: str, where: str) -> TypeError:
    examples = ", ".join(repr(category) for category in categories[:3].tolist())
    return TypeError(
        f"{where} was fitted with categories such as {examples}, but now holds {got}. Pass the "
        "column in the type it had in fit."
    )


def categories_to_json(categories: NDArray[Any]) -> dict[str, Any]:
    """Describe categories by JSON types: their kind and their values."""
    kind = {"O": "str", "b": "bool", "i": "int", "f": "float"}[categories.dtype.kind]
    return {"kind": kind, "values": categories.tolist()}


def categories_from_json(stored: Any, where: str) -> NDArray[Any]:
    """Rebuild what `categories_to_json` described, refusing anything else."""
    kind = stored.get("kind") if isinstance(stored, dict) else None
    values = stored.get("values") if isinstance(stored, dict) else None
    if kind not in _JSON_KINDS or not isinstance(values, list):
        raise ValueError(
            f"{where}: expected categories as {{'kind': one of {list(_JSON_KINDS)}, 'values': a "
            f"list}}; got {stored!r:.80}. The model file is damaged."
        )
    if any(type(value) not in _JSON_KINDS[kind] for value in values):
        raise ValueError(
            f"{where}: expected only values of the kind {kind!r}; got {values!r:.80}. The model "
            "file is damaged."
        )
    if len(set(values)) != len(values) or any(value != value for value in values):
        raise ValueError(
            f"{where}: expected distinct categories; got {values!r:.80}. The model file is "
            "damaged."
        )
    try:
        return np.array(values, dtype=_DTYPES[kind])
    except OverflowError as error:
        raise ValueError(f"{where}: {error}. The model file is damaged.") from error


def numeric_column(values: NDArray[Any], kind: NumberKind) -> NumericColumn:
    """Wrap one column of an array of numbers."""
    return NumericColumn(values.astype(np.float64), kind)
