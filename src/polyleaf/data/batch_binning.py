"""Bin an X that comes in batches: one pass for the bins, one for the codes.

The first pass keeps every row up to `2 * SAMPLE_ROWS`; of more rows it keeps those with the
`SAMPLE_ROWS` smallest random keys, as `dense_binning` does for an array, and counts the values of
columns that have few. The second pass writes codes. So there are never more rows in floats than
these, and the bins are those of the whole array, however it is divided into batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.checks.memory import check_memory
from polyleaf.data import dense_binning
from polyleaf.data.batch_schema import SchemaBuilder
from polyleaf.data.batch_sources import BatchSource, join_targets
from polyleaf.data.binned import (
    MISSING_U8,
    NUMERIC,
    TILE,
    BinnedFeatures,
    Bins,
    ListedCodes,
    assemble,
)
from polyleaf.data.dense_binning import (
    Cuts,
    Pairs,
    between_samples,
    bin_dense,
    cut_sorted,
    have_few_values,
    join_bins,
    joined_cuts,
    list_column,
    smallest_keys,
)
from polyleaf.data.features import FeatureSchema

#: A column with more values than this is cut by its sample.
_MOST_COUNTED = 4096


@dataclass(frozen=True)
class BinnedBatches:
    """What two passes over batches give.

    Attributes
    ----------
    schema : FeatureSchema
    features : BinnedFeatures
    targets : array, frame, csr_array or None
        The Y of all batches.
    """

    schema: FeatureSchema
    features: BinnedFeatures
    targets: Any


def bin_batches(
    source: BatchSource,
    categorical_features: Any,
    max_bins: int,
    n_threads: int,
    estimator_name: str,
) -> BinnedBatches:
    """Bin the batches of a source.

    Parameters
    ----------
    source : BatchSource
    categorical_features
        As for `FeatureSchema.fit`.
    max_bins : int from 2 to 255
    n_threads : int
    estimator_name : str
        Who asks, for error messages.
    """
    builder, sample = SchemaBuilder(categorical_features, estimator_name), _Sample()
    parts: list[Any] = []
    for X, Y in source:
        encoded = builder.read(X)
        _check_lengths(encoded, Y)
        sample.add(encoded)
        parts.append(Y)
    if sample.n_rows == 0:
        raise ValueError(
            f"{estimator_name} needs at least one row, but the batches have none. A function must "
            "return an iterator over all of them whenever it is called."
        )
    targets = join_targets(parts)
    schema, recoding = builder.finish()
    categories = np.where(schema.is_categorical, schema.n_categories, NUMERIC)
    rows = sample.rows(recoding)
    if not sample.is_partial:
        return BinnedBatches(schema, bin_dense(rows, categories, max_bins, n_threads), targets)
    bins = _bins_of(rows, sample, categories, max_bins, n_threads)
    default = np.zeros(categories.size, dtype=np.uint32)
    for j in np.flatnonzero(categories > MISSING_U8).tolist():
        default[j] = _commonest(rows[:, j], sample.counts[j], recoding[j])
    del rows
    sample.forget()
    coder = _Coder(sample.n_rows, categories, bins, default, n_threads)
    for X, _ in source:
        coder.add(schema.encode(X, estimator_name=estimator_name))
    return BinnedBatches(schema, coder.finish(), targets)


def _check_lengths(encoded: NDArray[Any], Y: Any) -> None:
    if Y is None:
        return
    n_outcomes = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    if n_outcomes != len(encoded):
        raise ValueError(
            f"X and Y of a batch must have the same number of rows; got {len(encoded)} and "
            f"{n_outcomes}."
        )


class _Sample:
    """Rows that say where columns are cut: all of them, or those with the smallest keys.

    Attributes
    ----------
    n_rows : int
        Rows that came.
    is_partial : bool
        Whether some of them were left out.
    counts : list of (_ValueCounts or None)
        Of every column of few values, once some rows were left out.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.is_partial = False
        self.counts: list[_ValueCounts | None] = []
        self._rng = np.random.default_rng(0)
        self._limit = np.inf
        self._parts: list[NDArray[Any]] = []
        self._keys: list[NDArray[np.float64]] = []
        self._n_kept = 0

    def add(self, encoded: NDArray[Any]) -> None:
        """Take the rows of a batch that may belong to the sample."""
        keys = self._rng.random(len(encoded))
        self.n_rows += len(encoded)
        if self.is_partial:
            self._count(encoded)
        is_kept = keys <= self._limit
        # A copy, because the caller may use its buffer again.
        self._parts.append(encoded[is_kept])
        self._keys.append(keys[is_kept])
        self._n_kept += int(is_kept.sum())
        if self._n_kept >= 2 * dense_binning.SAMPLE_ROWS:
            self._shrink()

    def _shrink(self) -> None:
        rows, keys = np.concatenate(self._parts), np.concatenate(self._keys)
        if not self.is_partial:
            self.is_partial = True
            self.counts = [_ValueCounts() for _ in range(rows.shape[1])]
            self._count(rows)
        kept = smallest_keys(keys, dense_binning.SAMPLE_ROWS)
        self._parts, self._keys, self._n_kept = [rows[kept]], [keys[kept]], kept.size
        self._limit = float(self._keys[0].max())

    def _count(self, encoded: NDArray[Any]) -> None:
        for j, counts in enumerate(self.counts):
            if counts is not None and not counts.add(encoded[:, j]):
                self.counts[j] = None

    def rows(self, recoding: dict[int, NDArray[np.float64]]) -> NDArray[Any]:
        """Give the rows, with categories by their codes of the schema."""
        if self.is_partial:
            self._shrink()
        rows: NDArray[Any] = np.concatenate(self._parts)
        self._parts = [rows]
        for j, codes in recoding.items():
            is_known = ~np.isnan(rows[:, j])
            rows[is_known, j] = codes[rows[is_known, j].astype(np.int64)]
        return rows

    def forget(self) -> None:
        """Give the memory of the rows back."""
        self._parts, self._keys, self.counts = [], [], []


class _ValueCounts:
    """Counts how often each value of a column occurs, as long as there are few values."""

    def __init__(self) -> None:
        self.values: NDArray[Any] = np.zeros(0)
        self.counts = np.zeros(0, dtype=np.int64)

    def add(self, column: NDArray[Any]) -> bool:
        """Count the values of a batch; tell whether there still are few."""
        column = column[~np.isnan(column)]
        if self.values.size:
            place = np.minimum(np.searchsorted(self.values, column), self.values.size - 1)
            is_known = self.values[place] == column
            self.counts += np.bincount(place[is_known], minlength=self.values.size)
            column = column[~is_known]
        if not column.size:
            return True
        if column.size > 4 * _MOST_COUNTED and self.values.size:
            return False  # most of the batch is new, so there are many values
        values, counts = np.unique(column + 0.0, return_counts=True)  # -0.0 is 0.0
        values, counts = np.append(self.values, values), np.append(self.counts, counts)
        order = np.argsort(values)
        self.values, self.counts = values[order], counts[order]
        return bool(values.size <= _MOST_COUNTED)


def _bins_of(
    rows: NDArray[Any],
    sample: _Sample,
    categories: NDArray[Any],
    max_bins: int,
    n_threads: int,
) -> Bins:
    """Cut numeric features as `bin_dense` does, by a sample and the values of few."""
    numeric = np.flatnonzero(categories == NUMERIC)
    cuts = cut_sorted(np.ascontiguousarray(rows), numeric, max_bins, n_threads)
    is_counted = np.array([sample.counts[j] is not None for j in numeric], dtype=np.bool_)
    is_exact = have_few_values(cuts, max_bins) & is_counted
    exact = _cut_counted([sample.counts[j] for j in numeric[is_exact]], max_bins)
    cuts = joined_cuts(between_samples(cuts, sample.n_rows), exact, is_exact)
    named = np.flatnonzero(categories != NUMERIC)
    n_bins = categories[named].astype(np.int64)
    codes = np.concatenate([np.zeros(0), *(np.arange(n, dtype=np.float64) for n in n_bins)])
    nothing = np.zeros(named.size, dtype=np.int64)
    by_category = Cuts(named, n_bins, codes, codes, nothing, nothing)
    none = np.zeros(0, dtype=np.int64)
    pairs = Pairs(none, np.zeros((0, 2)), none.astype(np.bool_), none, none)
    return join_bins(categories.size, pairs, (cuts, by_category))


def _commonest(
    column: NDArray[Any], counted: _ValueCounts | None, recoding: NDArray[np.float64]
) -> int:
    """Find the commonest category: of all rows, or of the sample if there are very many."""
    if counted is None:
        return int(np.bincount(column[~np.isnan(column)].astype(np.int64)).argmax())
    codes = recoding[counted.values.astype(np.int64)].astype(np.int64)
    return int(np.bincount(codes, counted.counts).argmax())


def _cut_counted(counted: list[Any], max_bins: int) -> Cuts:
    """Cut columns of which every value is counted."""
    n_bins = np.zeros(len(counted), dtype=np.int64)
    lows, highs = [np.zeros(0)], [np.zeros(0)]
    for i, column in enumerate(counted):
        ends = np.empty(min(column.values.size, max_bins), dtype=np.int64)
        if ends.size:
            _core.cut_into_bins(column.counts, ends)
        lows.append(column.values[np.append(0, ends[:-1])[: ends.size]])
        highs.append(column.values[ends - 1])
        n_bins[i] = ends.size
    nothing = np.zeros_like(n_bins)
    low, high = np.concatenate(lows), np.concatenate(highs)
    return Cuts(np.arange(n_bins.size), n_bins, low, high, nothing, nothing)


class _Coder:
    """Writes the codes of all batches: bytes, and lists for features of too many categories."""

    def __init__(
        self,
        n_rows: int,
        categories: NDArray[Any],
        bins: Bins,
        default: NDArray[np.uint32],
        n_threads: int,
    ) -> None:
        self._n_rows, self._categories, self._bins = n_rows, categories, bins
        self._default, self._n_threads = default, n_threads
        self._listed = np.flatnonzero(categories > MISSING_U8)
        self._dense = np.flatnonzero(categories <= MISSING_U8).astype(np.int32)
        n_tiles = -(-self._dense.size // TILE)
        check_memory(
            n_tiles * TILE * n_rows,
            f"The codes of {n_rows} rows and {self._dense.size} features take",
            "Train on a sample of the rows, or leave out features.",
        )
        self._tiles = np.zeros((n_tiles, n_rows, TILE), dtype=np.uint8)
        nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint32)
        self._lists: list[tuple[NDArray[Any], ...]] = [nothing]
        self._n_done = 0

    def add(self, encoded: Any) -> None:
        """Write the codes of a batch."""
        first, last = self._n_done, self._n_done + len(encoded)
        if last > self._n_rows:
            raise self._other_rows(f"more than {self._n_rows}")
        bins = self._bins
        tiles = np.zeros((len(self._tiles), len(encoded), TILE), dtype=np.uint8)
        if self._dense.size:
            _core.encode_columns(
                encoded, self._dense, bins.offsets, bins.high, tiles, self._n_threads
            )
            self._tiles[:, first:last] = tiles
        for slot, feature in enumerate(self._listed.tolist()):
            of_feature = slice(bins.offsets[feature], bins.offsets[feature + 1])
            rows, codes = list_column(
                encoded[:, feature],
                bins.low[of_feature],
                bins.high[of_feature],
                int(self._default[feature]),
            )
            self._lists.append((rows + first, np.full(rows.size, slot), codes))
        self._n_done = last

    def finish(self) -> BinnedFeatures:
        """Put the codes of all batches together."""
        if self._n_done != self._n_rows:
            raise self._other_rows(str(self._n_done))
        listed = ListedCodes(
            self._listed.astype(np.int32),
            self._default[self._listed],
            *map(np.concatenate, zip(*self._lists)),
        ).by_row(self._n_rows)
        return assemble(
            self._n_rows, self._categories, self._bins, self._dense, self._tiles, listed
        )

    def _other_rows(self, got: str) -> ValueError:
        return ValueError(
            f"The batches had {self._n_rows} rows when they were read for the bins, but {got} "
            "when they were read for the codes. They must give the same rows every time."
        )
