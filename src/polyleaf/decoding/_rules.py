"""Rules without a goal of their own: thresholds, and the k likeliest labels."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.decoding._base import Decoder


class Threshold(Decoder):
    """The labels above a threshold; with 0.5, the least expected Hamming loss.

    Parameters
    ----------
    threshold : float or array-like of shape (d,), default=0.5
        One for all labels, or one per label, from 0 to 1.

    Examples
    --------
    >>> from polyleaf.decoding import Threshold
    >>> Threshold().decode([[0.2, 0.7, 0.9]])
    array([[0, 1, 1]])
    >>> Threshold([0.1, 0.8, 0.8]).decode([[0.2, 0.7, 0.9]])
    array([[1, 0, 1]])
    """

    def __init__(self, threshold: Any = 0.5) -> None:
        self.threshold = threshold

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        values = np.asarray(self.threshold)
        if values.dtype.kind not in "fiu" or values.ndim > 1 or not _in_unit(values):
            raise ValueError(
                "threshold must be a number from 0 to 1, or one per label; got "
                f"{shown(self.threshold)}."
            )

    def decode_rows(self, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Choose label sets for a block of rows."""
        threshold = np.asarray(self.threshold)
        if threshold.shape not in ((), (probabilities.shape[1],)):
            raise ValueError(
                f"threshold must have one value, or {probabilities.shape[1]}, as many as there "
                f"are labels; got {threshold.size}."
            )
        return np.asarray(probabilities > threshold)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Threshold):
            return NotImplemented
        return np.array_equal(self.threshold, other.threshold)

    __hash__ = None


class TopK(Decoder):
    """The k likeliest labels.

    Parameters
    ----------
    k : int or "expected", default="expected"
        A number of labels, or the expected number of labels of each row, rounded. Of tied labels
        the first ones are taken.

    Examples
    --------
    >>> from polyleaf.decoding import TopK
    >>> TopK(2).decode([[0.2, 0.7, 0.9]])
    array([[0, 1, 1]])
    >>> TopK().decode([[0.2, 0.4, 0.3], [0.9, 0.8, 0.1]])
    array([[0, 1, 0],
           [1, 1, 0]])
    """

    def __init__(self, k: int | str = "expected") -> None:
        self.k = k

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        is_count = isinstance(self.k, numbers.Integral) and not isinstance(self.k, bool)
        if not (is_count and int(self.k) >= 0) and not (
            isinstance(self.k, str) and self.k == "expected"
        ):
            raise ValueError(f"k must be an integer >= 0 or 'expected'; got {shown(self.k)}.")

    def decode_rows(self, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Choose label sets for a block of rows."""
        if self.k == "expected":
            sizes = np.rint(probabilities.sum(axis=1)).astype(np.int64)
        else:
            k = min(int(self.k), probabilities.shape[1])
            sizes = np.full(probabilities.shape[0], k, dtype=np.int64)
        return first_labels(probabilities, sizes)


def first_labels(probabilities: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the ``sizes[i]`` likeliest labels of each row i; of tied ones the first."""
    n_rows, n_labels = probabilities.shape
    last = np.sort(probabilities, axis=1)[np.arange(n_rows), n_labels - np.maximum(sizes, 1)]
    chosen = np.asarray(probabilities >= last[:, np.newaxis])
    chosen &= (sizes > 0)[:, np.newaxis]
    tied = np.flatnonzero(chosen.sum(axis=1) > sizes)
    above = probabilities[tied] > last[tied, np.newaxis]
    at = chosen[tied] & ~above
    room = sizes[tied] - above.sum(axis=1)
    chosen[tied] = above | (at & (np.cumsum(at, axis=1) <= room[:, np.newaxis]))
    return chosen


def _in_unit(values: NDArray[Any]) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())
