"""X of a fold, encoded and binned once for all methods of a process."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

import joblib

from polyleaf.data import BinnedData
from polyleaf.estimator.base import Estimator

#: Sets of rows that are kept: those of a fold, and those that its methods are tuned on.
_MOST_KEPT = 6


class SharedRows:
    """Gives methods the same `BinnedData` where they ask for the same rows.

    Models are those that were fitted to X itself. What binning takes counts for every method that
    has its bins, whoever made them.

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> shared = SharedRows()
    >>> rows, seconds = shared.of([[0.5], [1.0], [2.0]], TreeRegressor())
    >>> rows
    BinnedData(n_rows=3, n_features=1)
    >>> again, same_seconds = shared.of([[0.5], [1.0], [2.0]], TreeRegressor(max_depth=2))
    >>> again is rows, same_seconds == seconds
    (True, True)
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[BinnedData, dict[int | None, float]]] = OrderedDict()

    def of(self, X: Any, model: Any) -> tuple[Any, float]:
        """Give what to fit a model to in place of X, and the seconds that were spent on it.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, p)
        model : estimator
            Unfitted. If it does not bin X, or has categories of its own, it gets X.

        Returns
        -------
        rows : BinnedData, or X
        seconds : float
        """
        max_bins = _bins_of(model)
        if max_bins is _NO_BINS:
            return X, 0.0
        key = joblib.hash(X)
        if key not in self._kept:
            start = time.perf_counter()
            data = BinnedData(X, estimator_name=type(model).__name__)
            self._kept[key] = data, {_ENCODED: time.perf_counter() - start}
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        data, seconds = self._kept[key]
        if max_bins not in seconds:
            start = time.perf_counter()
            data.binned(max_bins)
            seconds[max_bins] = time.perf_counter() - start
        return data, seconds[_ENCODED] + seconds[max_bins]


_NO_BINS = object()
_ENCODED = -1


def _bins_of(model: Any) -> Any:
    if not isinstance(model, Estimator):
        return _NO_BINS
    settings = model.get_params(deep=False)
    if "max_bins" not in settings or settings.get("categorical_features") is not None:
        return _NO_BINS
    return settings["max_bins"]


#: Of this process.
SHARED_ROWS = SharedRows()
