r"""Thresholds of label probabilities that keep a risk below a promised value.

**Conformal risk control** (Angelopoulos et al. 2024), for the false-negative rate. The set of a
row holds the labels whose probability is at least :math:`\lambda`. The mean loss of n calibration
rows :math:`\hat R(\lambda)` never falls as :math:`\lambda` rises, and a loss is at most 1. With
the largest :math:`\lambda` for which :math:`(n \hat R(\lambda) + 1) / (n + 1) \le \alpha`, the
expected loss of a new row is at most :math:`\alpha`.

**Learn then test** (Angelopoulos et al. 2021), for risks that are not monotone: every threshold
of a fixed grid is a hypothesis 'the risk is above alpha' with a p-value after Hoeffding and
Bentkus. Those that are rejected at level delta together have a risk of at most alpha with
probability 1 - delta. Thresholds are tested in a fixed sequence until one is not rejected: from
the largest on (false discoveries), or from 0.5 and from 0.2 on upward and downward, each of the
four sequences at delta / 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from polyleaf.checks.matrices import is_sparse

Floats = NDArray[np.float64]

#: Thresholds that are tested, from the largest; the first is that of empty sets.
GRID = np.unique(
    np.concatenate(
        [np.linspace(0.0, 1.0, 51), np.geomspace(1e-4, 0.02, 12), 1 - np.geomspace(1e-4, 0.02, 6)]
    )
)[::-1]
#: Above every probability: sets are empty.
NOTHING = np.nextafter(1.0, 2.0)


class Entries(NamedTuple):
    """Labels that calibration rows have, for the false-negative rate.

    Attributes
    ----------
    probability : ndarray of shape (n_entries,), float64
        Ascending.
    share : ndarray of shape (n_entries,), float64
        Of its row's loss that is due to each, if the set lacks it.
    n_rows : int
        Calibration rows, those without labels included.
    """

    probability: Floats
    share: Floats
    n_rows: int


def missed_entries(labels: Any, probabilities: Any, chosen: NDArray[np.bool_]) -> Entries:
    """Collect the labels of rows, each with its share in the loss.

    A row that has no label among the chosen ones loses nothing. If some of them are not observed
    in it and none of those observed is there, nobody knows, and the row does not count.

    Parameters
    ----------
    labels : ndarray of shape (n, d) or csr_array
        0 and 1; NaN is not observed.
    probabilities : ndarray of shape (n, d) or csr_array
    chosen : ndarray of shape (d,), bool
        The labels that count.
    """
    n_rows = int(labels.shape[0])
    if is_sparse(labels):
        coo = labels.tocoo()
        is_there = (coo.data == 1) & chosen[coo.col]
        rows, columns = coo.row[is_there], coo.col[is_there]
    else:
        rows, columns = np.nonzero((labels == 1) & chosen)
        is_vague = np.asarray(np.isnan(np.asarray(labels, np.float64))[:, chosen].any(axis=1))
        is_vague[rows] = False
        n_rows -= int(is_vague.sum())
    counts = np.bincount(rows, minlength=int(labels.shape[0]))
    found = np.asarray(probabilities[rows, columns], dtype=np.float64).reshape(-1)
    order = np.argsort(found, kind="stable")
    return Entries(found[order], (1.0 / np.maximum(counts, 1)[rows])[order], n_rows)


def controlled_threshold(entries: Entries, alpha: float) -> float:
    """Give the largest threshold whose expected false-negative rate is at most alpha.

    Parameters
    ----------
    entries : Entries
    alpha : float

    Returns
    -------
    float
        0 (all labels) if even one missed row would be too many.

    Examples
    --------
    >>> entries = Entries(np.array([0.1, 0.3, 0.9]), np.array([1.0, 0.5, 0.5]), 19)
    >>> controlled_threshold(entries, 0.1)  # (1 + 1) / 20: the first label may be missed
    0.3
    >>> controlled_threshold(entries, 0.05)
    0.1
    >>> controlled_threshold(entries, 0.04)
    0.0
    """
    budget = float(Fraction(repr(alpha)) * (entries.n_rows + 1) - 1)
    if budget < 0.0:
        return 0.0
    total = np.cumsum(entries.share)
    # Entries below the threshold are missed, those at it are not.
    first = int(np.searchsorted(total, budget * (1.0 + 1e-12) + 1e-12, side="right"))
    return float(entries.probability[first]) if first < total.size else NOTHING


# Other risks -----------------------------------------------------------------------------------


def false_negative_rate(labels: Floats, sets: NDArray[Any]) -> Floats:
    """Share of each row's labels that its set lacks; 0 without labels: (n,)."""
    there = labels == 1
    return np.asarray((there & (sets == 0)).sum(axis=1) / np.maximum(there.sum(axis=1), 1))


def false_discovery_rate(labels: Floats, sets: NDArray[Any]) -> Floats:
    """Share of each set that its row does not have; 0 for an empty set: (n,)."""
    held = (sets == 1) & ~np.isnan(labels)
    return np.asarray((held & (labels == 0)).sum(axis=1) / np.maximum(held.sum(axis=1), 1))


def hamming_rate(labels: Floats, sets: NDArray[Any]) -> Floats:
    """Share of each row's observed labels that are wrong: (n,)."""
    seen = ~np.isnan(labels)
    return np.asarray((seen & (labels != sets)).sum(axis=1) / np.maximum(seen.sum(axis=1), 1))


def jaccard_loss(labels: Floats, sets: NDArray[Any]) -> Floats:
    """1 less the Jaccard index of each row and its set; 0 if both are empty: (n,)."""
    seen = ~np.isnan(labels)
    both = (seen & (labels == 1) & (sets == 1)).sum(axis=1)
    either = (seen & ((labels == 1) | (sets == 1))).sum(axis=1)
    return np.where(either > 0, 1.0 - both / np.maximum(either, 1), 0.0)


#: Losses of rows, in [0, 1].
RISKS: dict[str, Callable[[Floats, NDArray[Any]], Floats]] = {
    "fnr": false_negative_rate,
    "fdr": false_discovery_rate,
    "hamming": hamming_rate,
    "jaccard": jaccard_loss,
}


def losses_by_threshold(
    labels: Floats, probabilities: Floats, loss: Callable[[Floats, NDArray[Any]], Floats]
) -> Floats:
    """Give the mean loss of calibration rows at every threshold of the grid: (n_grid,).

    Raises
    ------
    ValueError
        If a loss is not one number in [0, 1] per row.
    """
    means = np.empty(GRID.size)
    for at, threshold in enumerate(GRID):
        found = np.asarray(loss(labels, (probabilities >= threshold).astype(np.int64)))
        is_fine = found.shape == (labels.shape[0],) and found.dtype.kind in "fiub"
        if not is_fine or not ((found >= 0) & (found <= 1)).all():
            raise ValueError(
                "risk must give one loss in [0, 1] per row, of shape "
                f"({labels.shape[0]},); got {found.dtype} of shape {found.shape}."
            )
        means[at] = found.mean()
    return means


def p_values(means: Floats, n_rows: int, alpha: float) -> Floats:
    """Give p-values of 'the risk is above alpha', after Hoeffding and Bentkus.

    Parameters
    ----------
    means : ndarray of shape (n_grid,)
        Mean losses, in [0, 1].
    n_rows : int
    alpha : float

    Examples
    --------
    >>> p_values(np.array([0.0, 0.05, 0.1, 0.2]), 100, 0.1).round(3)
    array([0.   , 0.157, 1.   , 1.   ])
    """
    low = np.minimum(means, alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(low > 0, low * np.log(low / alpha), 0.0)
        entropy = entropy + np.where(low < 1, (1 - low) * np.log((1 - low) / (1 - alpha)), 0.0)
    hoeffding = np.exp(-n_rows * entropy)
    bentkus = math.e * binom.cdf(np.ceil(n_rows * means - 1e-9), n_rows, alpha)
    return np.asarray(np.clip(np.minimum(hoeffding, bentkus), 0.0, 1.0))


def passing_threshold(
    means: Floats, n_rows: int, alpha: float, delta: float, risk: Any
) -> float | None:
    """Give a threshold whose risk is at most alpha with probability 1 - delta.

    Parameters
    ----------
    means : ndarray of shape (n_grid,)
        Mean losses at the thresholds of the grid.
    n_rows : int
    alpha, delta : float
    risk : str or callable
        ``"fdr"`` is tested from the largest threshold on, and the smallest that passes makes the
        largest sets; of other risks the threshold with the smallest mean that passes.

    Returns
    -------
    float or None
        None if no threshold passes.
    """
    found = p_values(means, n_rows, alpha)
    if isinstance(risk, str) and risk == "fdr":
        passed = int(np.argmax(found > delta)) if (found > delta).any() else found.size
        return float(GRID[passed - 1]) if passed else NOTHING
    is_fine = np.zeros(found.size, np.bool_)
    for start in (0.5, 0.2):
        first = int(np.abs(GRID - start).argmin())
        for sequence in (np.arange(first, found.size), np.arange(first, -1, -1)):
            is_above = found[sequence] > delta / 4
            n_passed = int(is_above.argmax()) if is_above.any() else sequence.size
            is_fine[sequence[:n_passed]] = True
    if not is_fine.any():
        return None
    return float(GRID[np.argmin(np.where(is_fine, means, np.inf))])
