"""Tests for comparisons of methods over data sets: ranks, Friedman, Nemenyi and others.

The recommendations are those of Demšar (2006): a Friedman test (with Iman and Davenport's
correction) whether methods differ at all, then Nemenyi's test between all pairs or Bonferroni and
Dunn's against one of them. Distributions come from scipy, pairwise tables from scikit-posthocs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from polyleaf.checks.matrices import as_floats, read_array
from polyleaf.checks.numbers import expect_count, expect_number, is_one_of, shown
from polyleaf.checks.optional import require

Floats = NDArray[np.float64]
_FEWEST_BLOCKS = 2
#: More take minutes and change no digit that counts.
_MOST_BOOTSTRAPS = 1_000_000


@dataclass(frozen=True)
class FriedmanResult:
    """Whether methods differ, over blocks such as data sets.

    Attributes
    ----------
    ranks : ndarray of shape (k,)
        The mean rank of each method; 1 is best.
    statistic, p_value : float
        Of Friedman's test.
    iman_davenport, iman_davenport_p : float
        Of the less conservative F statistic, which is infinite where all blocks agree.
    critical_difference : float
        Nemenyi's test cannot distinguish mean ranks that differ by less, at level `alpha`.
    dunn_difference : float
        The same for Bonferroni and Dunn's test of all methods against one.
    n_blocks : int
    alpha : float

    Examples
    --------
    >>> from polyleaf.experiments import friedman_test
    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.5], [0.9, 0.6, 0.4]]
    >>> result = friedman_test(scores, greater_is_better=True)
    >>> best, worst = result.ranks.argmin(), result.ranks.argmax()
    >>> bool(result.ranks[worst] - result.ranks[best] > result.critical_difference)
    True
    """

    ranks: Floats
    statistic: float
    p_value: float
    iman_davenport: float
    iman_davenport_p: float
    critical_difference: float
    dunn_difference: float
    n_blocks: int
    alpha: float


def average_ranks(scores: Any, *, greater_is_better: bool) -> Floats:
    """Return the mean rank of each column over the rows; ties share their ranks.

    Parameters
    ----------
    scores : array-like of shape (blocks, methods)
    greater_is_better : bool

    Returns
    -------
    ndarray of shape (methods,)
        1 is best.

    Examples
    --------
    >>> from polyleaf.experiments import average_ranks
    >>> average_ranks([[0.9, 0.8, 0.7], [0.5, 0.6, 0.4]], greater_is_better=True)
    array([1.5, 1.5, 3. ])
    """
    values = _complete(scores)
    return np.asarray(
        stats.rankdata(-values if greater_is_better else values, axis=1).mean(axis=0)
    )


def friedman_test(scores: Any, *, greater_is_better: bool, alpha: float = 0.05) -> FriedmanResult:
    """Test whether methods differ, and how large a difference of mean ranks must be to count.

    Parameters
    ----------
    scores : array-like of shape (blocks, methods)
        At least 2 blocks and 3 methods. Blocks should be independent, such as data sets.
    greater_is_better : bool
    alpha : float, default=0.05
        The level of the critical differences.

    Returns
    -------
    FriedmanResult

    Examples
    --------
    >>> from polyleaf.experiments import friedman_test
    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.5], [0.9, 0.6, 0.4]]
    >>> result = friedman_test(scores, greater_is_better=True)
    >>> result.ranks, round(result.p_value, 3)
    (array([1., 2., 3.]), 0.018)
    """
    alpha = expect_number("alpha", alpha, 0.0, 1.0, "a number from 0 to 1")
    values = _complete(scores)
    n, k = values.shape
    if n < _FEWEST_BLOCKS or k < 3:
        raise ValueError(
            f"The Friedman test needs at least 2 blocks and 3 methods; got {n} and {k}."
        )
    ranks = average_ranks(values, greater_is_better=greater_is_better)
    if (values == values[:, :1]).all():
        statistic, p_value = 0.0, 1.0
    else:
        statistic, p_value = map(float, stats.friedmanchisquare(*values.T))
    f_value, f_p = _iman_davenport(statistic, p_value, n, k)
    spread = np.sqrt(k * (k + 1) / (6.0 * n))
    nemenyi = stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2.0)
    dunn = stats.norm.ppf(1 - alpha / (2.0 * (k - 1)))
    return FriedmanResult(
        ranks,
        statistic,
        p_value,
        f_value,
        f_p,
        float(nemenyi * spread),
        float(dunn * spread),
        n,
        alpha,
    )


def _iman_davenport(statistic: float, p_value: float, n: int, k: int) -> tuple[float, float]:
    """Return the F statistic and its p-value.

    Where all blocks agree, F is infinite and its p-value would be 0 however few the blocks are.
    Then the p-value is that of Friedman's test, or the chance that random orders agree, if that
    is larger.
    """
    room = n * (k - 1) - statistic
    if room <= 1e-9 * n * (k - 1):
        chance = float(np.exp(-(n - 1) * special.gammaln(k + 1)))
        return float("inf"), max(p_value, chance)
    f_value = (n - 1) * statistic / room
    return float(f_value), float(stats.f.sf(f_value, k - 1, (k - 1) * (n - 1)))


def pairwise_tests(
    scores: Any, *, test: Literal["nemenyi", "wilcoxon", "t"] = "nemenyi"
) -> Floats:
    """Return the p-value of each pair of methods.

    Parameters
    ----------
    scores : array-like of shape (blocks, methods)
    test : {"nemenyi", "wilcoxon", "t"}, default="nemenyi"
        Nemenyi's test on ranks (scikit-posthocs), Wilcoxon's signed ranks, or paired t-tests.
        P-values of the last two are not corrected for the number of pairs.

    Returns
    -------
    ndarray of shape (methods, methods)
        Symmetric, with 1 on the diagonal.

    Examples
    --------
    >>> from polyleaf.experiments import pairwise_tests
    >>> scores = [[0.9, 0.7], [0.8, 0.65], [0.7, 0.5], [0.9, 0.6]]
    >>> pairwise_tests(scores, test="t").round(3)
    array([[1.   , 0.007],
           [0.007, 1.   ]])
    """
    values = _complete(scores)
    if test == "nemenyi":
        posthocs = require("scikit_posthocs", "Nemenyi's test")
        return np.asarray(posthocs.posthoc_nemenyi_friedman(values), dtype=np.float64)
    if not is_one_of(test, ("wilcoxon", "t")):
        raise ValueError(f"test must be 'nemenyi', 'wilcoxon' or 't'; got {shown(test)}.")
    k = values.shape[1]
    p_values = np.ones((k, k))
    for i in range(k):
        for j in range(i):
            differences = values[:, i] - values[:, j]
            if not np.allclose(differences, 0.0):
                if test == "wilcoxon":
                    p = stats.wilcoxon(differences).pvalue
                else:
                    p = stats.ttest_rel(values[:, i], values[:, j]).pvalue
                p_values[i, j] = p_values[j, i] = float(p)
    return p_values


def bootstrap_corrected_score(
    scores: Any,
    *,
    greater_is_better: bool,
    n_bootstraps: int = 1000,
    random_state: int = 0,
) -> float:
    """Estimate the score of the best setting without the optimism of choosing it (BBC-CV).

    The score of the best of many settings, chosen and judged on the same rows, is too good. The
    bootstrap chooses on rows drawn with replacement and judges on the rows that were not drawn
    (Tsamardinos et al. 2018; used in Rapp et al. 2020).

    Parameters
    ----------
    scores : array-like of shape (rows, settings)
        The score of each row under each setting, from cross-validation.
    greater_is_better : bool
    n_bootstraps : int, default=1000
    random_state : int, default=0

    Returns
    -------
    float
        The mean score, over bootstraps, of the setting chosen in each.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.experiments import bootstrap_corrected_score
    >>> chance = np.random.default_rng(0).normal(size=(100, 50))  # no setting is any good
    >>> round(float(chance.mean(axis=0).max()), 2)
    0.19
    >>> round(bootstrap_corrected_score(chance, greater_is_better=True), 2)
    -0.04
    """
    values = _complete(scores)
    if expect_count("n_bootstraps", n_bootstraps) > _MOST_BOOTSTRAPS:
        raise ValueError(f"n_bootstraps must be at most {_MOST_BOOTSTRAPS:,}; got {n_bootstraps}.")
    expect_count("random_state", random_state, 0)
    rng = np.random.default_rng(random_state)
    signed = values if greater_is_better else -values
    n = values.shape[0]
    estimates = []
    for _ in range(n_bootstraps):
        drawn = rng.integers(n, size=n)
        left_out = np.setdiff1d(np.arange(n), drawn)
        if left_out.size:
            best = int(signed[drawn].mean(axis=0).argmax())
            estimates.append(values[left_out, best].mean())
    return float(np.mean(estimates)) if estimates else float("nan")


def saturation_size(
    sizes: Sequence[float], scores: Any, *, greater_is_better: bool, alpha: float = 0.05
) -> float:
    """Return the smallest size of an ensemble that is not significantly worse than the best.

    Parameters
    ----------
    sizes : sequence of float, length m
        Ascending.
    scores : array-like of shape (runs, m)
        The score of each run at each size.
    greater_is_better : bool
    alpha : float, default=0.05
        The level of the paired t-tests.

    Returns
    -------
    float
        One of the sizes.

    Examples
    --------
    >>> from polyleaf.experiments import saturation_size
    >>> scores = [[0.50, 0.71, 0.72], [0.52, 0.74, 0.72], [0.49, 0.73, 0.75]]
    >>> saturation_size([1, 10, 100], scores, greater_is_better=True)
    10
    """
    alpha = expect_number("alpha", alpha, 0.0, 1.0, "a number from 0 to 1")
    values = _complete(scores)
    if len(sizes) != values.shape[1]:
        raise ValueError(
            f"sizes must have one entry per column of scores, {values.shape[1]}; got {len(sizes)}."
        )
    signed = values if greater_is_better else -values
    best = int(signed.mean(axis=0).argmax())
    for j in range(best):
        differences = signed[:, best] - signed[:, j]
        if np.allclose(differences, differences[0]):
            is_worse = bool(differences[0] > 0)
        else:
            is_worse = bool(stats.ttest_1samp(differences, 0.0).pvalue <= alpha)
        if not is_worse:
            return sizes[j]
    return sizes[best]


def not_worse_groups(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return the longest stretches of sorted ranks whose ends differ by less than `difference`.

    Parameters
    ----------
    ranks : sequence of float
        Ascending.
    difference : float

    Returns
    -------
    list of (first, last)
        Positions, of stretches with at least two methods that lie in no longer one.
    """
    groups: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] < difference)
        if last > first and not (groups and groups[-1][1] >= last):
            groups.append((first, last))
    return groups


def _complete(scores: Any) -> Floats:
    values = as_floats(read_array(scores, "scores"), "scores")
    if values.ndim != 2 or 0 in values.shape or not np.isfinite(values).all():
        raise ValueError(
            "scores must be a matrix of finite numbers, a row per block and a column per method, "
            f"at least one of each; got shape {values.shape}. Leave out methods that failed on "
            "some blocks."
        )
    return values


def means_over_folds(values: Floats) -> Floats:
    """Return means over rows, of what is finite; NaN for a column of nothing else."""
    known = np.isfinite(values)
    sums = np.where(known, values, 0.0).sum(axis=0)
    counts = known.sum(axis=0)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def dense_order(row: Floats) -> Floats:
    """Replace scores by their places, so that infinite ones can be ranked."""
    return np.unique(row, return_inverse=True)[1].astype(np.float64)
