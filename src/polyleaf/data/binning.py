"""Bin encoded features into small integer codes, once, and share them between fits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data.binned import MISSING_U8, MISSING_U32, NUMERIC, BinnedFeatures
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
            f"{max_bins!r}."
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
    encoded : ndarray or csr_array of shape (n_rows, n_features)
    shape : tuple of int
    n_rows : int

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
        self.schema, self.encoded = FeatureSchema.fit(
            X, categorical_features, estimator_name=estimator_name
        )
        self._binned: dict[int | None, BinnedFeatures] = {}
        self._lock = threading.Lock()

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
