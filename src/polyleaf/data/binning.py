"""Bin encoded features into small integer codes, once, and share them between fits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.data.batch_binning import bin_batches
from polyleaf.data.batch_sources import BatchSource
from polyleaf.data.binned import MISSING_U8, MISSING_U32, NUMERIC, BinnedFeatures
from polyleaf.data.coded_rows import CodedRows
from polyleaf.data.dense_binning import bin_dense
from polyleaf.data.features import EncodedX, FeatureSchema
from polyleaf.data.sparse_binning import bin_sparse

__all__ = ["MISSING_U8", "MISSING_U32", "BinnedData", "BinnedFeatures", "bin_features"]


def bin_features(
    encoded: EncodedX,
    is_categorical: NDArray[Any],
    n_categories: NDArray[Any],
    max_bins: int | None,
    n_threads: int = 1,
) -> BinnedFeatures:
    """Bin all features.

    A numeric feature with at most `max_bins` distinct values has one bin per value; others have
    `max_bins` quantile bins that never separate equal values. A categorical feature has one bin
    per category.

    Parameters
    ----------
    encoded : ndarray or csr_array of shape (n_rows, n_features)
        As `FeatureSchema` encodes it; NaN is missing.
    is_categorical, n_categories : ndarray of shape (n_features,)
    max_bins : int from 2 to 255, or None
        None gives every distinct value its own bin (exact splits).
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    BinnedFeatures
    """
    _check_max_bins(max_bins)
    categories = np.where(is_categorical, n_categories, NUMERIC)
    if isinstance(encoded, np.ndarray):
        return bin_dense(encoded, categories, max_bins, n_threads)
    return bin_sparse(encoded, categories, max_bins)


def _check_max_bins(max_bins: int | None) -> None:
    if max_bins is None:
        return
    if isinstance(max_bins, bool) or not isinstance(max_bins, int | np.integer):
        raise TypeError(
            f"max_bins must be an integer from 2 to {MISSING_U8}, or None for exact splits; got "
            f"{shown(max_bins)}."
        )
    if not 2 <= max_bins <= MISSING_U8:
        raise ValueError(
            f"max_bins must be from 2 to {MISSING_U8}, or None for exact splits; got {max_bins}."
        )


class BinnedData:
    """X encoded once and binned once per `max_bins`, to be shared between fits.

    Pass it to `fit` in place of X.

    Parameters
    ----------
    X : array-like, scipy.sparse matrix or data frame, of shape (n_rows, n_features)
    categorical_features : sequence of str, int or bool, optional
        As for `FeatureSchema.fit`.
    estimator_name : str
        Who asks, for error messages.

    Attributes
    ----------
    schema : FeatureSchema
    encoded : ndarray, csr_array or CodedRows of shape (n_rows, n_features)
        The numbers of X; of batches, what their codes say about them.
    Y : array, frame, csr_array or None
        The outputs that came with batches, to be given to `fit`; None if none did.
    shape : tuple of int
    n_rows : int

    See Also
    --------
    BinnedData.from_batches : Of an X that does not fit into the memory.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.data import BinnedData
    >>> data = BinnedData(np.array([[0.5, 1.0], [np.nan, 2.0], [0.5, 4.0]]))
    >>> binned = data.binned(max_bins=255)
    >>> binned.bin_high
    array([0.5, 1. , 2. , 4. ])
    >>> binned is data.binned(max_bins=255)
    True
    """

    def __init__(
        self,
        X: Any,
        categorical_features: Sequence[Any] | NDArray[Any] | None = None,
        *,
        estimator_name: str = "BinnedData",
    ) -> None:
        self.schema: FeatureSchema
        self.encoded: EncodedX | CodedRows
        self.schema, self.encoded = FeatureSchema.fit(
            X, categorical_features, estimator_name=estimator_name
        )
        self.Y: Any = None
        self._binned: dict[int | None, BinnedFeatures] = {}
        self._lock = threading.Lock()

    @classmethod
    def of_encoded(cls, schema: FeatureSchema, encoded: EncodedX) -> BinnedData:
        """Take rows that were encoded before, for models that share a schema."""
        data = cls.__new__(cls)
        data.schema, data.encoded, data.Y = schema, encoded, None
        data._binned = {}
        data._lock = threading.Lock()
        return data

    @classmethod
    def from_batches(
        cls,
        batches: Any,
        categorical_features: Sequence[Any] | NDArray[Any] | None = None,
        *,
        targets: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        max_bins: int = 255,
        batch_rows: int = 65_536,
        n_threads: int = 1,
        estimator_name: str = "BinnedData",
    ) -> BinnedData:
        """Bin an X that comes in batches, in two passes, without ever holding all its numbers.

        What is kept takes a byte per row and feature. The bins are those of
        ``BinnedData(X)``, however X is divided into batches; below 400,000 rows, everything is.

        Parameters
        ----------
        batches : path, list of paths, list of batches, or callable
            Paths of Parquet, CSV or TSV files with column names; batches, over which one can walk
            twice; or a function without arguments that returns an iterator over them, which is
            called twice. A batch is an array, a data frame, a table or a record batch of Arrow,
            or a pair (X, Y) of which X is one of these.
        categorical_features : sequence of str, int or bool, optional
            As for `FeatureSchema.fit`.
        targets : sequence of str, optional
            Columns of files, frames or tables that are outputs; they become `Y`.
        exclude : sequence of str, default=()
            Columns that are neither features nor outputs.
        max_bins : int from 2 to 255, default=255
            That of the estimators that are to be fitted.
        batch_rows : int, default=65,536
            Rows of a batch that is read from a file.
        n_threads : int, default=1
            The result does not depend on it.
        estimator_name : str
            Who asks, for error messages.

        Returns
        -------
        BinnedData
            Its `Y` holds the outputs of all batches below each other, as an array, a frame or a
            csr_array, in whichever form they came.

        Raises
        ------
        TypeError
            If one can walk over the batches only once, or a column changes its type.
        ValueError
            If names or numbers of columns differ, or the second pass has other rows.

        Examples
        --------
        >>> import numpy as np
        >>> from polyleaf import BinnedData, BoostingRegressor
        >>> def batches():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(4):
        ...         X = rng.normal(size=(500, 3))
        ...         yield X, np.column_stack([X[:, 0] > 0, X.sum(axis=1)])
        >>> data = BinnedData.from_batches(batches)
        >>> data
        BinnedData(n_rows=2000, n_features=3)
        >>> model = BoostingRegressor(random_state=0).fit(data, data.Y)
        >>> model.predict([[1.0, 1.0, 1.0]]).round()
        array([[1., 3.]])
        """
        if max_bins is None:
            raise ValueError(
                "max_bins of batches must be an integer from 2 to 255; got None. Exact splits "
                "need all numbers of X: give them to BinnedData(X)."
            )
        _check_max_bins(max_bins)
        if isinstance(batch_rows, bool) or not isinstance(batch_rows, int) or batch_rows < 1:
            raise ValueError(f"batch_rows must be an integer >= 1; got {shown(batch_rows)}.")
        source = BatchSource(batches, targets, exclude, batch_rows)
        found = bin_batches(source, categorical_features, max_bins, n_threads, estimator_name)
        data = cls.__new__(cls)
        data.schema, data.Y = found.schema, found.targets
        data.encoded = CodedRows(found.features)
        data._binned = {max_bins: found.features}
        data._lock = threading.Lock()
        return data

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_features)."""
        n_rows, n_features = self.encoded.shape
        return int(n_rows), int(n_features)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def binned(self, max_bins: int | None, n_threads: int = 1) -> BinnedFeatures:
        """Give the binned features, from the cache if they were asked for before.

        Parameters
        ----------
        max_bins : int from 2 to 255, or None for exact splits
        n_threads : int

        Returns
        -------
        BinnedFeatures
        """
        _check_max_bins(max_bins)
        with self._lock:
            if max_bins not in self._binned:
                if isinstance(self.encoded, CodedRows):
                    (known,) = self._binned
                    raise ValueError(
                        f"This BinnedData was made of batches with max_bins={known}, and has no "
                        f"numbers to bin again; got max_bins={max_bins}. Set max_bins={known} in "
                        f"the estimator, or give max_bins={max_bins} to BinnedData.from_batches."
                    )
                self._binned[max_bins] = bin_features(
                    self.encoded,
                    self.schema.is_categorical,
                    self.schema.n_categories,
                    max_bins,
                    n_threads,
                )
            return self._binned[max_bins]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        n_rows, n_features = self.shape
        return f"BinnedData(n_rows={n_rows}, n_features={n_features})"
