"""Ranks of calibration scores: the one finite-sample correction that every promise rests on."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown


def check_alpha(alpha: Any) -> float:
    """Read the share of rows that a region may miss.

    Raises
    ------
    ValueError
        If it is no number in (0, 1).
    """
    is_number = isinstance(alpha, Real) and not isinstance(alpha, (bool, np.bool_))
    if not is_number or not 0.0 < float(alpha) < 1.0:
        raise ValueError(
            "alpha must be a number in (0, 1), the share that a region may miss, such as 0.1; "
            f"got {shown(alpha, 60)}."
        )
    return float(alpha)


def promised_rank(alpha: float, n_rows: int) -> int:
    """Give the rank of the score that a new one exceeds with probability alpha at most.

    Among n + 1 exchangeable scores, a new one is at most the k-th smallest of the n others with
    probability k / (n + 1) or more. The decimal that was written counts, not its binary
    neighbour: 0.9 times 10 is 9.

    Parameters
    ----------
    alpha : float
        In (0, 1).
    n_rows : int
        n.

    Returns
    -------
    int
        ``ceil((1 - alpha) (n + 1))``; n + 1 if no finite score is large enough.

    Examples
    --------
    >>> promised_rank(0.1, 99), promised_rank(0.1, 100), promised_rank(0.1, 8)
    (90, 91, 9)
    """
    return math.ceil((1 - Fraction(repr(float(alpha)))) * (n_rows + 1))


def kth_smallest(values: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Give the k-th smallest along the last axis; infinity if there are fewer.

    Parameters
    ----------
    values : ndarray of shape (..., n)
    rank : int
        k, from 1.

    Returns
    -------
    ndarray of shape (...)
    """
    if rank > values.shape[-1]:
        return np.full(values.shape[:-1], np.inf)
    return np.asarray(np.partition(values, rank - 1, axis=-1)[..., rank - 1])
