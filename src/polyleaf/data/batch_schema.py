"""Learn the schema of an X that comes in batches, and encode the batches before it is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data.categories import (
    categories_from_json,
    categories_to_json,
    encode_column,
    find_categories,
    find_levels,
)
from polyleaf.data.columns import (
    NUMBER_KINDS,
    Column,
    LabelColumn,
    NumberKind,
    NumericColumn,
    describe_column,
)
from polyleaf.data.features import FeatureSchema, check_names, resolve_categorical
from polyleaf.data.tables import (
    DenseTable,
    SparseTable,
    Table,
    read_table,
    table_shape,
    to_float,
)
from polyleaf.data.times import TimeKind

_KINDS: tuple[NumberKind, ...] = ("bool", "int", "float")


@dataclass
class _MergedColumn:
    """What the batches so far say about one column.

    Attributes
    ----------
    where : str
        Names the column in error messages.
    is_chosen : bool
        Whether it is listed in categorical_features.
    kind : {"bool", "int", "float"} or None
        What its numbers were; None if there were none yet.
    is_text : bool
        Whether a batch had labels.
    is_nominal : bool or None
        Whether its values are categories; None if there was no value yet.
    declared : list or None
        Categories in the order in which the types of the batches declare them.
    levels : ndarray or None
        Levels of an ordered categorical.
    codes : dict
        Number of each category, in the order of appearance.
    """

    where: str
    is_chosen: bool
    kind: NumberKind | None = None
    is_text: bool = False
    is_nominal: bool | None = None
    declared: list[Any] | None = None
    levels: NDArray[Any] | None = None
    time: TimeKind | None = None
    codes: dict[Any, int] = field(default_factory=dict)

    def read(self, column: Column) -> NDArray[Any]:
        """Give the numbers of one batch's column; categories as the order of their appearance."""
        values = column.values
        is_text = isinstance(column, LabelColumn)
        if is_text and not column.declared and all(value is None for value in values):
            return np.full(len(values), np.nan)  # a column of no type: it fits any
        self._agree(column)
        if self.levels is not None:
            return encode_column(column, self.levels, self.where)
        if not self.is_nominal:
            return np.asarray(values)
        if isinstance(column, LabelColumn):
            for value in dict.fromkeys(column.values):
                if value is not None:
                    self.codes.setdefault(value, len(self.codes))
            known = {None: np.nan, **self.codes}
            return np.fromiter((known[value] for value in column.values), float, len(values))
        numbers = np.asarray(values, dtype=np.float64)
        found, places = np.unique(numbers + 0.0, return_inverse=True)
        code_of = [
            np.nan if np.isnan(value) else self.codes.setdefault(value, len(self.codes))
            for value in found.tolist()
        ]
        return np.array(code_of, dtype=np.float64)[places]

    def _agree(self, column: Column) -> None:
        """Take over the type of a batch's column, or refuse it beside that of the others."""
        is_text = isinstance(column, LabelColumn)
        if is_text != self.is_text and self.is_nominal is not None:
            raise self._changes("strings" if is_text else "numbers")
        found = find_levels([column], np.array([self.is_chosen])).get(0)
        is_first = self.is_nominal is None
        if not is_first and (found is None) != (self.levels is None):
            raise self._changes("ordered" if found is not None else "unordered values")
        if found is not None and self.levels is not None and list(found) != list(self.levels):
            raise self._changes(f"other ordered levels: {list(found)!r:.80}")
        is_categorical = is_text or (isinstance(column, NumericColumn) and column.is_categorical)
        is_nominal = found is None and (self.is_chosen or is_categorical)
        if not is_first and is_nominal != self.is_nominal:
            raise self._changes("categories" if is_nominal else "numbers that are none")
        self.is_text, self.levels, self.is_nominal = is_text, found, is_nominal
        if column.declared is not None:
            self.declared = list(dict.fromkeys([*(self.declared or []), *column.declared]))
        if isinstance(column, NumericColumn):
            if not is_first and column.time != self.time:
                raise self._changes(f"{column.time or 'plain'} numbers")
            self.time = column.time
            self.saw(column.kind)

    def to_json(self) -> dict[str, Any]:
        """Describe the column by JSON types, for `join`."""
        return {
            "kind": self.kind,
            "is_text": self.is_text,
            "is_nominal": self.is_nominal,
            "declared": None if self.declared is None else [_plain(v) for v in self.declared],
            "levels": None if self.levels is None else categories_to_json(self.levels),
            "time": self.time,
            "codes": [_plain(value) for value in self.codes],
        }

    def join(self, other: dict[str, Any]) -> None:
        """Take over what later rows say, as `to_json` described it."""
        if other["is_nominal"] is None:
            return
        stored = other["levels"]
        levels = None if stored is None else categories_from_json(stored, self.where)
        if self.is_nominal is None:
            self.is_text, self.is_nominal = other["is_text"], other["is_nominal"]
            self.levels, self.time = levels, other["time"]
        if other["is_text"] != self.is_text:
            raise self._changes("strings" if other["is_text"] else "numbers")
        if (levels is None) != (self.levels is None):
            raise self._changes("ordered" if levels is not None else "unordered values")
        if levels is not None and self.levels is not None and list(levels) != list(self.levels):
            raise self._changes(f"other ordered levels: {list(levels)!r:.80}")
        if other["is_nominal"] != self.is_nominal:
            raise self._changes("categories" if other["is_nominal"] else "numbers that are none")
        if other["time"] != self.time:
            raise self._changes(f"{other['time'] or 'plain'} numbers")
        if other["declared"] is not None:
            self.declared = list(dict.fromkeys([*(self.declared or []), *other["declared"]]))
        if other["kind"] is not None:
            self.saw(other["kind"])
        for value in other["codes"]:
            self.codes.setdefault(value, len(self.codes))

    def saw(self, kind: NumberKind) -> None:
        """Remember that there were numbers of a kind."""
        self.kind = kind if self.kind is None else max(kind, self.kind, key=_KINDS.index)

    def _changes(self, now: str) -> TypeError:
        return TypeError(
            f"{self.where} must have the same type in every batch, but it now holds {now}, unlike "
            "in the batches before. Convert the column, or read the batches with types given."
        )

    def categories(self) -> tuple[NDArray[Any] | None, NDArray[np.float64] | None]:
        """Give the categories as one table would have them, and the code of each appearance."""
        if self.levels is not None or (self.is_nominal is False):
            return None, None
        seen = list(self.codes)
        declared = None if self.declared is None else tuple(self.declared)
        column: Column
        if self.is_text or self.is_nominal is None:
            column = LabelColumn(seen, declared)
        else:
            numbers = np.array(seen, dtype=np.float64)
            column = NumericColumn(numbers, self.kind or "float", True, declared)
        found = find_categories(column, self.where)
        return found, encode_column(column, found, self.where)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class SchemaBuilder:
    """Reads batches one after the other, and gives the schema at the end.

    Parameters
    ----------
    categorical_features
        As for `FeatureSchema.fit`.
    estimator_name : str
        Who asks, for error messages.
    """

    def __init__(self, categorical_features: Any, estimator_name: str) -> None:
        self._categorical_features = categorical_features
        self._estimator_name = estimator_name
        self._columns: list[_MergedColumn] = []
        self._names: tuple[str, ...] | None = None

    def read(self, X: Any) -> NDArray[Any]:
        """Give a batch as numbers of shape (n_rows, n_features), float32 or float64.

        Categories are numbered in the order of their appearance, which `finish` translates.
        """
        table = read_table(X)
        if isinstance(table, SparseTable):
            raise TypeError(
                "Batches of X must be dense; got a scipy.sparse matrix. A sparse X is small "
                "enough to be given as a whole: stack the batches with scipy.sparse.vstack, and "
                "give it to BinnedData."
            )
        self._check_columns(table)
        if isinstance(table, DenseTable):
            return self._read_dense(table)
        read = [merged.read(column) for merged, column in zip(self._columns, table.columns)]
        all_float32 = all(values.dtype == np.float32 for values in read)
        encoded = np.empty((table.n_rows, len(read)), np.float32 if all_float32 else np.float64)
        for j, values in enumerate(read):
            encoded[:, j] = values
        return encoded

    def _read_dense(self, table: DenseTable) -> NDArray[Any]:
        kind = NUMBER_KINDS.get(table.values.dtype.kind, "float")
        encoded = to_float(table.values)
        is_shared = np.may_share_memory(encoded, table.values)
        for j, merged in enumerate(self._columns):
            is_plain = not merged.is_chosen and not merged.is_nominal and merged.levels is None
            if is_plain and merged.time is None:
                merged.is_nominal = False
                continue
            column = NumericColumn(table.values[:, j].astype(np.float64), kind)
            values = merged.read(column)
            if is_shared:
                encoded, is_shared = encoded.copy(), False
            encoded[:, j] = values
        return encoded

    def _check_columns(self, table: Table) -> None:
        n_features = table_shape(table)[1]
        if not self._columns:
            if n_features == 0:
                raise ValueError(
                    f"{self._estimator_name} needs at least one column in X; the first batch has "
                    "none."
                )
            chosen = resolve_categorical(self._categorical_features, table.names, n_features)
            self._names = table.names
            self._columns = [
                _MergedColumn(describe_column(name, j, "X"), bool(chosen[j]))
                for j, name in enumerate(table.names or [None] * n_features)
            ]
            return
        check_names(self._names, table.names, self._estimator_name)
        if n_features != len(self._columns):
            raise ValueError(
                f"Every batch of X must have {len(self._columns)} columns, as the first one has; "
                f"got one of {n_features}."
            )

    def to_json(self) -> dict[str, Any]:
        """Describe what was read by JSON types, for `join`."""
        return {
            "names": None if self._names is None else list(self._names),
            "chosen": [merged.is_chosen for merged in self._columns],
            "columns": [merged.to_json() for merged in self._columns],
        }

    def join(self, other: dict[str, Any]) -> None:
        """Take over what another builder has read of later rows, as `to_json` described it.

        Parameters
        ----------
        other : dict
        """
        names = None if other["names"] is None else tuple(other["names"])
        if not self._columns:
            self._names = names
            self._columns = [
                _MergedColumn(describe_column(name, j, "X"), is_chosen)
                for j, (name, is_chosen) in enumerate(
                    zip(names or [None] * len(other["chosen"]), other["chosen"])
                )
            ]
        check_names(self._names, names, self._estimator_name)
        if len(other["columns"]) != len(self._columns):
            raise ValueError(
                f"All parts of X must have {len(self._columns)} columns, as the first one has; "
                f"got one of {len(other['columns'])}."
            )
        for merged, described in zip(self._columns, other["columns"]):
            merged.join(described)

    def finish(self) -> tuple[FeatureSchema, dict[int, NDArray[np.float64]]]:
        """Give the schema, and for every categorical feature the codes of its appearances."""
        found = [merged.categories() for merged in self._columns]
        schema = FeatureSchema(
            len(self._columns),
            self._names,
            tuple(categories for categories, _ in found),
            {j: m.time for j, m in enumerate(self._columns) if m.time and not m.is_nominal},
            {j: m.levels for j, m in enumerate(self._columns) if m.levels is not None},
        )
        return schema, {j: codes for j, (_, codes) in enumerate(found) if codes is not None}
