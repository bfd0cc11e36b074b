"""Learn the schema of X in fit (names, categories) and encode X by it as floats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from operator import is_not
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.memory import SMALL_BYTES, check_memory
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.checks.warning import warn_user
from polyleaf.data.categories import (
    categories_from_json,
    categories_to_json,
    encode_column,
    encode_numbers,
    find_categories,
    find_levels,
    numeric_column,
)
from polyleaf.data.columns import (
    NUMBER_KINDS,
    Column,
    LabelColumn,
    NumericColumn,
    describe_column,
)
from polyleaf.data.tables import (
    ColumnTable,
    DenseTable,
    SparseTable,
    Table,
    read_table,
    table_shape,
    to_float,
)
from polyleaf.data.times import TimeKind

if TYPE_CHECKING:
    EncodedX: TypeAlias = (
        NDArray[np.float32] | NDArray[np.float64] | sparse.csr_array[Any, tuple[int, int]]
    )
else:
    EncodedX = np.ndarray | sparse.csr_array

_ANY_ESTIMATOR = "The estimator"
_MAX_NAMES_SHOWN = 5
#: A damaged model file must not make us allocate more than a gigabyte.
_MAX_STORED_FEATURES = 2**27
#: What fits keep of a column of which nothing is stored: offsets, bins, gains.
_BYTES_PER_FEATURE = 100


@dataclass(frozen=True, eq=False)
class FeatureSchema:
    """What fit learnt about the columns of X.

    Attributes
    ----------
    n_features : int
    names : tuple of str, or None
        Column names; None if X had none, or if they were not strings.
    categories : tuple of (ndarray or None), of length n_features
        Per feature the categories as the user gave them, None for a numeric feature. The code of
        a category is its position. Only categories that occur in fit are kept; those of a pandas
        Categorical or a polars Enum stand in declared order, all others ascending. A feature
        without a numeric type and without an observed value has no categories.
    times : dict of int to {"date", "duration"}
        Positions of features whose numbers are nanoseconds.
    levels : dict of int to ndarray
        Positions of numeric features whose numbers are places among these levels: ordered
        categoricals of pandas.

    Examples
    --------
    >>> import pandas as pd
    >>> from polyleaf.data import FeatureSchema
    >>> X = pd.DataFrame({"size": [1.5, None, 3.0], "colour": ["red", "blue", "red"]})
    >>> schema, encoded = FeatureSchema.fit(X)
    >>> encoded
    array([[1.5, 1. ],
           [nan, 0. ],
           [3. , 1. ]])
    >>> schema.encode(pd.DataFrame({"size": [2.0], "colour": ["green"]}))
    array([[ 2., nan]])
    """

    n_features: int
    names: tuple[str, ...] | None
    categories: tuple[NDArray[Any] | None, ...]
    times: Mapping[int, TimeKind] = field(default_factory=dict)
    levels: Mapping[int, NDArray[Any]] = field(default_factory=dict)

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Whether each feature is categorical, of shape (n_features,)."""
        if not self.has_categories:
            return np.zeros(self.n_features, dtype=np.bool_)
        return np.array([c is not None for c in self.categories], dtype=np.bool_)

    @property
    def n_categories(self) -> NDArray[np.int32]:
        """Number of categories of each feature, 0 for numeric ones, of shape (n_features,)."""
        if not self.has_categories:
            return np.zeros(self.n_features, dtype=np.int32)
        return np.array([0 if c is None else c.size for c in self.categories], dtype=np.int32)

    @cached_property
    def has_categories(self) -> bool:
        """Whether some feature is categorical."""
        return any(map(is_not, self.categories, repeat(None)))

    @classmethod
    def fit(
        cls,
        X: Any,
        categorical_features: Sequence[Any] | NDArray[Any] | None = None,
        *,
        estimator_name: str = _ANY_ESTIMATOR,
    ) -> tuple[FeatureSchema, EncodedX]:
        """Learn the schema of X and encode X by it.

        Parameters
        ----------
        X : array-like, scipy.sparse matrix or data frame, of shape (n_rows, n_features)
            NaN, None, NaT and pandas.NA are missing; infinities are values.
        categorical_features : sequence of str, int or bool, optional
            Names, positions or a mask of the features that are categorical although they are
            numeric. Strings, booleans of frames and categoricals are categorical in any case,
            but ordered categoricals of pandas only if they are listed here.
        estimator_name : str
            Who asks, for error messages.

        Returns
        -------
        schema : FeatureSchema
        encoded : ndarray of shape (n_rows, n_features), C-contiguous, or csr_array
            float32 or float64: numbers as they are, categories as their codes, missing as NaN.
        """
        table = read_table(X)
        _check_not_empty(table, estimator_name)
        n_features = table_shape(table)[1]
        _check_width(n_features)
        chosen = resolve_categorical(categorical_features, table.names, n_features)
        levels = find_levels(table.columns, chosen) if isinstance(table, ColumnTable) else {}
        categories = _find_categories(table, chosen, levels)
        schema = cls(n_features, table.names, categories, _find_times(table, categories), levels)
        return schema, schema._encode_table(table)

    def encode(self, X: Any, *, estimator_name: str = _ANY_ESTIMATOR) -> EncodedX:
        """Encode new rows by the schema.

        Parameters
        ----------
        X : array-like, scipy.sparse matrix or data frame, of shape (n_rows, n_features)
            The columns of fit, in the same order. Categories that fit has not seen are missing.
        estimator_name : str
            Who asks, for error messages.

        Returns
        -------
        ndarray of shape (n_rows, n_features), C-contiguous, or csr_array
        """
        table = read_table(X)
        check_names(self.names, table.names, estimator_name)
        n_features = table_shape(table)[1]
        if n_features != self.n_features:
            raise ValueError(
                f"X has {n_features} features, but {estimator_name} is expecting "
                f"{self.n_features} features as input."
            )
        _check_not_empty(table, estimator_name)
        return self._encode_table(table)

    def _encode_table(self, table: Table) -> EncodedX:
        if isinstance(table, SparseTable):
            return self._encode_sparse(table)
        if isinstance(table, DenseTable):
            return self._encode_dense(table)
        return self._encode_columns(table)

    def _where(self, position: int) -> str:
        name = None if self.names is None else self.names[position]
        return describe_column(name, position, "X")

    def _categorical_items(self) -> list[tuple[int, NDArray[Any]]]:
        if not self.has_categories:
            return []
        return [(j, c) for j, c in enumerate(self.categories) if c is not None]

    def _coded_items(self) -> list[tuple[int, NDArray[Any]]]:
        """Features whose values are coded by their place among categories or levels."""
        return [*self._categorical_items(), *self.levels.items()]

    def _encode_dense(self, table: DenseTable) -> EncodedX:
        encoded = to_float(table.values)
        items = self._coded_items()
        if items and np.may_share_memory(encoded, table.values):
            encoded = encoded.copy()
        kind = NUMBER_KINDS.get(table.values.dtype.kind, "float")
        for j, categories in items:
            column = numeric_column(table.values[:, j], kind)
            encoded[:, j] = encode_column(column, categories, self._where(j))
        return encoded

    def _encode_columns(self, table: ColumnTable) -> EncodedX:
        all_float32 = all(_is_float32(column) for column in table.columns)
        dtype = np.float32 if all_float32 else np.float64
        encoded = np.empty((table.n_rows, self.n_features), dtype=dtype)
        for j, (column, nominal) in enumerate(zip(table.columns, self.categories)):
            categories = self.levels.get(j, nominal)
            if categories is not None:
                encoded[:, j] = encode_column(column, categories, self._where(j))
            elif isinstance(column, LabelColumn):
                encoded[:, j] = self._expect_numbers(column, j)
            else:
                encoded[:, j] = column.values
        return encoded

    def _expect_numbers(self, column: LabelColumn, position: int) -> float:
        label = next((value for value in column.values if value is not None), None)
        if label is not None:
            raise TypeError(
                f"{self._where(position)} was numeric in fit, but now holds strings such as "
                f"{label!r}. Convert the column to numbers."
            )
        return np.nan

    def _encode_sparse(self, table: SparseTable) -> EncodedX:
        items = self._coded_items()
        if not items:
            return table.values
        columns = table.values.tocsc(copy=True)
        n_rows = columns.shape[0]
        for j, categories in items:
            entries = slice(columns.indptr[j], columns.indptr[j + 1])
            if categories.size == 0:
                raise self._no_implicit_zero(j)
            if categories.dtype == object:
                raise TypeError(
                    f"{self._where(j)} was fitted with categories such as {categories[0]!r}, "
                    "which a sparse matrix cannot hold. Pass a data frame."
                )
            has_implicit = entries.stop - entries.start < n_rows
            if has_implicit and encode_numbers(np.zeros(1), categories)[0] != 0.0:
                raise self._no_implicit_zero(j)
            stored = columns.data[entries].astype(np.float64)
            columns.data[entries] = encode_numbers(stored, categories)
        return columns.tocsr()

    def _no_implicit_zero(self, position: int) -> ValueError:
        return ValueError(
            f"{self._where(position)} is categorical and 0 is not its first category, so the "
            "implicit zeros of a sparse X cannot be coded. Pass a dense X, or fit on a sparse one."
        )

    def to_json(self) -> dict[str, Any]:
        """Describe the schema by JSON types."""
        return {
            "n_features": self.n_features,
            "names": None if self.names is None else list(self.names),
            "categories": {
                str(j): categories_to_json(categories)
                for j, categories in self._categorical_items()
            },
            **({"times": {str(j): kind for j, kind in self.times.items()}} if self.times else {}),
            **(
                {"levels": {str(j): categories_to_json(found) for j, found in self.levels.items()}}
                if self.levels
                else {}
            ),
        }

    @classmethod
    def from_json(cls, obj: Any) -> FeatureSchema:
        """Rebuild a schema from `to_json`'s description.

        Raises
        ------
        ValueError
            If the description is not one that `to_json` gives.
        """
        expected = {"n_features", "names", "categories"}
        if not isinstance(obj, Mapping) or set(obj) - {"times", "levels"} != expected:
            raise ValueError(
                f"A feature schema must be an object with the keys {sorted(expected)}; got "
                f"{shown(obj, 80)}. The model file is damaged."
            )
        n_features, names, stored = obj["n_features"], obj["names"], obj["categories"]
        if type(n_features) is not int or not 1 <= n_features <= _MAX_STORED_FEATURES:
            raise ValueError(
                f"n_features must be an integer from 1 to {_MAX_STORED_FEATURES}; got "
                f"{shown(n_features, 80)}. The model file is damaged."
            )
        if names is not None:
            _check_stored_names(names, n_features)
        categories: list[NDArray[Any] | None] = [None] * n_features
        for j, value in _by_position(stored, n_features, "categories"):
            categories[j] = categories_from_json(value, f"Feature {j}")
        times: dict[int, TimeKind] = {}
        for j, kind in _by_position(obj.get("times", {}), n_features, "times"):
            if kind not in ("date", "duration") or categories[j] is not None:
                raise ValueError(
                    f"times must hold date or duration for numeric features; got "
                    f"{shown(kind, 80)} for "
                    f"feature {j}."
                )
            times[j] = kind
        levels: dict[int, NDArray[Any]] = {}
        for j, value in _by_position(obj.get("levels", {}), n_features, "levels"):
            levels[j] = categories_from_json(value, f"Feature {j}")
            if categories[j] is not None or j in times:
                raise ValueError(f"levels must be those of numeric features; got feature {j}.")
        return cls(
            n_features, None if names is None else tuple(names), tuple(categories), times, levels
        )


def _by_position(stored: Any, n_features: int, what: str) -> Iterator[tuple[int, Any]]:
    """Yield the items of a stored object whose keys are positions of features."""
    if not isinstance(stored, Mapping):
        raise ValueError(f"{what} must be an object; got {shown(stored, 80)}.")
    for key, value in stored.items():
        if not key.isdecimal() or int(key) >= n_features or str(int(key)) != key:
            raise ValueError(
                f"{what} must be keyed by feature positions below {n_features}; got "
                f"{shown(key, 80)}."
            )
        yield int(key), value


def _check_stored_names(names: Any, n_features: int) -> None:
    if not isinstance(names, list) or any(type(name) is not str for name in names):
        raise ValueError(f"names must be a list of strings or null; got {shown(names, 80)}.")
    if len(names) != n_features or len(set(names)) != n_features:
        raise ValueError(
            f"names must hold {n_features} distinct names, one per feature; got "
            f"{shown(names, 80)}."
        )


def _check_not_empty(table: Table, estimator_name: str) -> None:
    shape = table_shape(table)
    for found, unit in zip(shape, ("sample(s)", "feature(s)")):
        if found == 0:
            raise ValueError(
                f"Found array with 0 {unit} (shape={shape}) while a minimum of 1 is required. "
                f"{estimator_name} needs at least one row and one column in X."
            )


def _check_width(n_features: int) -> None:
    """Refuse what a damaged or mistaken header asks for, before anything is taken."""
    needed = _BYTES_PER_FEATURE * n_features
    if needed >= SMALL_BYTES:
        purpose = f"X has {n_features} columns: what is kept of each takes"
        check_memory(
            needed, purpose, "Leave out columns without entries, or hash them into fewer."
        )


def _find_categories(
    table: Table, chosen: NDArray[np.bool_], levels: Mapping[int, NDArray[Any]]
) -> tuple[NDArray[Any] | None, ...]:
    """Find the categories of the chosen columns and of those whose type says so."""
    if isinstance(table, ColumnTable):
        chosen = chosen | [_is_categorical_type(column) for column in table.columns]
        chosen[list(levels)] = False
    categories: list[NDArray[Any] | None] = [None] * chosen.size
    column_of = _column_reader(table, bool(chosen.any()))
    for j in np.flatnonzero(chosen).tolist():
        name = None if table.names is None else table.names[j]
        categories[j] = find_categories(
            column_of(j),
            describe_column(name, j, "X"),
            zero_first=isinstance(table, SparseTable),
        )
    return tuple(categories)


def _find_times(table: Table, categories: Sequence[NDArray[Any] | None]) -> dict[int, TimeKind]:
    """Find the numeric columns that are dates or durations."""
    if not isinstance(table, ColumnTable):
        return {}
    return {
        j: column.time
        for j, column in enumerate(table.columns)
        if isinstance(column, NumericColumn) and column.time and categories[j] is None
    }


def _column_reader(table: Table, is_needed: bool) -> Callable[[int], Column]:
    """Give a function from a position to a column; of a sparse table, to its stored entries."""
    if isinstance(table, ColumnTable):
        return table.columns.__getitem__
    if isinstance(table, DenseTable):
        kind = NUMBER_KINDS.get(table.values.dtype.kind, "float")
        return lambda j: numeric_column(table.values[:, j], kind)
    kind = NUMBER_KINDS.get(table.source_dtype.kind, "float")
    by_column = table.values.tocsc() if is_needed else table.values
    data, indptr = by_column.data, by_column.indptr
    return lambda j: numeric_column(data[indptr[j] : indptr[j + 1]], kind)


def _is_categorical_type(column: Column) -> bool:
    return isinstance(column, LabelColumn) or column.is_categorical


def _is_float32(column: Column) -> bool:
    return isinstance(column, NumericColumn) and column.values.dtype == np.float32


def resolve_categorical(
    categorical_features: Sequence[Any] | NDArray[Any] | None,
    names: tuple[str, ...] | None,
    n_features: int,
) -> NDArray[np.bool_]:
    """Turn names, positions or a mask into a mask of shape (n_features,)."""
    mask = np.zeros(n_features, dtype=np.bool_)
    if categorical_features is None:
        return mask
    expected = "categorical_features must be None, a list of column names, a list of column "
    expected += f"positions below {n_features}, or a mask of {n_features} booleans"
    if isinstance(categorical_features, str | bytes) or np.ndim(categorical_features) != 1:
        raise ValueError(f"{expected}; got {shown(categorical_features, 80)}.")
    items = list(categorical_features)
    if all(isinstance(item, bool | np.bool_) for item in items) and items:
        if len(items) != n_features:
            raise ValueError(f"{expected}; got a mask of {len(items)}.")
        return np.array(items, dtype=np.bool_)
    if all(isinstance(item, str) for item in items):
        items = [_position_of(item, names) for item in items]
    for item in items:
        if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
            raise ValueError(f"{expected}; got {shown(item, 80)} among them.")
        if not 0 <= item < n_features:
            raise ValueError(f"{expected}; got the position {item}.")
        mask[item] = True
    return mask


def _position_of(name: str, names: tuple[str, ...] | None) -> int:
    if names is None:
        raise ValueError(
            f"categorical_features names the column {name!r}, but X has no string column names. "
            "Give positions or a mask, or pass X as a data frame."
        )
    if name not in names:
        hint = did_you_mean(name, names)
        raise ValueError(
            f"categorical_features must name columns of X; got {shown(name)}, which is none of "
            f"{_shown(names)}.{hint}"
        )
    return names.index(name)


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MAX_NAMES_SHOWN])
    return shown + (", ..." if len(names) > _MAX_NAMES_SHOWN else "")


def check_names(
    fitted: tuple[str, ...] | None, given: tuple[str, ...] | None, estimator_name: str
) -> None:
    """Compare column names as scikit-learn does; the sentences are those its checks ask for."""
    if fitted == given:
        return
    if fitted is None:
        message = f"X has feature names, but {estimator_name} was fitted without feature names"
        warn_user(message)
        return
    if given is None:
        message = "X does not have valid feature names, but "
        message += f"{estimator_name} was fitted with feature names"
        warn_user(message)
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen = sorted(set(given) - set(fitted))
    absent = sorted(set(fitted) - set(given))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if absent:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(absent)
    if not unseen and not absent:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def _listed(names: Sequence[str]) -> str:
    lines = [f"- {name}\n" for name in names[:_MAX_NAMES_SHOWN]]
    return "".join(lines) + ("- ...\n" if len(names) > _MAX_NAMES_SHOWN else "")
