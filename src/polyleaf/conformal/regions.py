"""Regions and intervals from forecasts of new rows and the residuals of calibration rows.

One model has one forecast of a new row, and the k-th smallest radius (`ranks.py`) makes the
region. The models of several folds have a forecast each, and every calibration row is compared
with the one of its own fold, as in CV+ (Barber et al. 2021): a point belongs to the set if enough
rows have a score at least as large as the point's under the model of their fold. Its joint
probability is at least ``1 - 2 alpha - min(2 (1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1))`` for K
folds and scores that are fixed beforehand. That set is no box and no ellipsoid; what is given is
the box whose sides are quantiles of center and radius, or the ellipsoid around the mean forecast
whose radius has the distance of the fold's forecast added (triangle inequality). Both hold the
set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.warning import warn_user
from polyleaf.conformal.forecasts import Forecast
from polyleaf.conformal.radii import (
    Split,
    box_distances,
    box_radii,
    ellipsoid_distances,
    ellipsoid_radii,
    second_moments,
    split_moments,
)
from polyleaf.conformal.ranks import kth_smallest, promised_rank
from polyleaf.conformal.region import EDGE, ROUNDING, Region

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Numbers that are sorted at a time.
_BLOCK = 2**21
#: Smaller alpha ask for more rows than there can be.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Calibration:
    """Residuals of rows that were not trained on.

    Attributes
    ----------
    residuals : ndarray of shape (n, d), float64
        In spreads; NaN where not observed.
    folds : ndarray of shape (n,), int64
        The model that predicted each row.
    correlations : ndarray of shape (n, d, d), float64, or None
        For ``"local"``.
    moments : ndarray of shape (d, d), float64, or None
        Mean products of the residuals of training rows (`radii.training_moments`); None: the
        calibration rows give the moments.
    """

    residuals: Floats
    folds: NDArray[np.int64]
    correlations: Floats | None = None
    moments: Floats | None = None

    def whole_rows(self) -> Calibration:
        """Give the rows whose outputs are all observed."""
        kept = ~np.isnan(self.residuals).any(axis=1)
        if kept.all():
            return self
        correlations = None if self.correlations is None else self.correlations[kept]
        return Calibration(self.residuals[kept], self.folds[kept], correlations, self.moments)


@dataclass(frozen=True, eq=False)
class _Sides:
    """What the model of one fold says: centers, units, and radii that its rows ask for.

    Attributes
    ----------
    center, unit : ndarray of shape (m, u)
    radii : ndarray of shape (m, n_fold) or (1, n_fold)
    """

    center: Floats
    unit: Floats
    radii: Floats


def marginal_intervals(
    forecasts: list[Forecast], calibration: Calibration, alpha: float, outputs: Ints | None = None
) -> Floats:
    """Give an interval for each output on its own, of shape (n, d, 2).

    Parameters
    ----------
    forecasts : list of Forecast
        One per model.
    calibration : Calibration
    alpha : float
        The share that each interval may miss.
    outputs : ndarray of int, optional
        Only of these; other intervals are NaN.
    """
    n_rows, n_outputs = forecasts[0].center.shape
    intervals = np.full((n_rows, n_outputs, 2), np.nan)
    for j in np.arange(n_outputs) if outputs is None else outputs:
        sizes = np.abs(calibration.residuals[:, j])
        seen = ~np.isnan(sizes)
        sides = [
            _Sides(
                each.center[:, [j]],
                each.spread[:, [j]],
                sizes[seen & (calibration.folds == k)][np.newaxis],
            )
            for k, each in enumerate(forecasts)
        ]
        lower, upper = _box(sides, promised_rank(alpha, int(seen.sum())))
        intervals[:, j, 0], intervals[:, j, 1] = lower[:, 0], upper[:, 0]
    return intervals


def joint_regions(
    forecasts: list[Forecast],
    calibration: Calibration,
    score: str,
    alpha: float,
    given: Floats | None,
    names: tuple[str, ...],
) -> Region:
    """Give a region per row that holds all outputs together.

    Parameters
    ----------
    forecasts : list of Forecast
    calibration : Calibration
    score : {"max", "mahalanobis", "local", "quantile"}
    alpha : float
    given : ndarray of shape (n, d) or None
        Known outputs, NaN elsewhere.
    names : tuple of str
        Of the outputs.
    """
    n_rows, n_outputs = forecasts[0].center.shape
    known = np.zeros((n_rows, n_outputs), np.bool_) if given is None else ~np.isnan(given)
    center = np.mean([each.center for each in forecasts], axis=0)
    is_box = score in ("max", "quantile")
    parts: dict[str, Floats] = (
        {"lower": np.empty(center.shape), "upper": np.empty(center.shape)}
        if is_box
        else {"matrix": np.zeros((n_rows, n_outputs, n_outputs)), "radius": np.zeros(n_rows)}
    )
    if given is not None:
        center[known] = given[known]
        if is_box:
            parts["lower"][known] = parts["upper"][known] = given[known]
    whole = calibration.whole_rows()
    rank = promised_rank(alpha, whole.residuals.shape[0])
    _warn_if_unbounded(calibration, whole, alpha, score)
    for pattern, rows in _groups(known):
        names_of = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        if not names_of[1].size:
            continue
        step = max(1, _BLOCK // max(1, whole.residuals.shape[0] if pattern.any() else 1))
        for start in range(0, rows.size, step):
            block = rows[start : start + step]
            here = [each.rows(block) for each in forecasts]
            values = None if given is None else given[block]
            if is_box:
                found = _box_of(here, whole, calibration, names_of, values, rank, alpha)
            else:
                found = _ellipsoid_of(here, whole, names_of, values, rank)
            at = np.ix_(block, names_of[1])
            center[at] = found[0]
            if is_box:
                parts["lower"][at], parts["upper"][at] = found[1], found[2]
            else:
                parts["matrix"][np.ix_(block, names_of[1], names_of[1])] = found[1]
                parts["radius"][block] = found[2]
    return Region(center, alpha, known, output_names=names, **parts)


def _warn_if_unbounded(
    calibration: Calibration, whole: Calibration, alpha: float, score: str
) -> None:
    n_whole, n_outputs = whole.residuals.shape
    least = int(np.ceil(1.0 / max(alpha, _LEAST_SHARE))) - 1
    if score == "mahalanobis" and calibration.moments is None:
        least = max(least, n_outputs + 1)
    if n_whole >= least:
        return
    is_box = score in ("max", "quantile")
    fewest = int((~np.isnan(calibration.residuals)).sum(axis=0).min())
    if is_box and promised_rank(alpha / n_outputs, fewest) <= fewest:
        return
    hint = " Or use score='max', which can do with rows that miss outputs." if not is_box else ""
    warn_user(
        f"Regions of alpha={alpha:g} over {n_outputs} outputs need at least {least} calibration "
        f"rows whose outputs are all observed; there are {n_whole}, so that regions have no "
        f"bounds. Take more rows, a larger alpha, or method='cross'.{hint}"
    )


def _box_of(
    forecasts: list[Forecast],
    whole: Calibration,
    calibration: Calibration,
    outputs: tuple[Ints, Ints],
    given: Floats | None,
    rank: int,
    alpha: float,
) -> tuple[Floats, Floats, Floats]:
    """Give centers and bounds of the unknown outputs, each of shape (m, u)."""
    known, unknown = outputs
    n_whole = whole.residuals.shape[0]
    if rank > n_whole:  # each output by itself, so that rows which miss others count
        intervals = marginal_intervals(forecasts, calibration, alpha / unknown.size, unknown)
        center = np.mean([each.center[:, unknown] for each in forecasts], axis=0)
        return center, intervals[:, unknown, 0], intervals[:, unknown, 1]
    split = _split(whole, known, unknown)
    scales = np.sqrt(np.einsum("jj->j", split.rest))
    sides = []
    for k, each in enumerate(forecasts):
        new, center = _conditioned(each, split, given)
        own = whole.residuals[whole.folds == k]
        is_fixed = whole.moments is not None
        radii = box_distances(split, own) if is_fixed else box_radii(split, own, new)
        sides.append(_Sides(center, each.spread[:, unknown] * scales, radii))
    lower, upper = _box(sides, rank)
    return np.mean([side.center for side in sides], axis=0), lower, upper


def _split(whole: Calibration, known: Ints, unknown: Ints) -> Split:
    """Regress unknown on known outputs by the moments of training or of calibration rows."""
    moments = second_moments(whole.residuals) if whole.moments is None else whole.moments
    return split_moments(moments, known, unknown)


def _conditioned(forecast: Forecast, split: Split, given: Floats | None) -> tuple[Floats, Floats]:
    """Give the known residuals (m, k), and the centers that follow from them (m, u)."""
    center = forecast.center[:, split.unknown]
    if given is None or not split.known.size:
        return np.empty((center.shape[0], 0)), center
    new = forecast.residuals(given)[:, split.known]
    return new, center + forecast.spread[:, split.unknown] * (new @ split.weights)


def _box(sides: list[_Sides], rank: int) -> tuple[Floats, Floats]:
    """Give the bounds of boxes, each of shape (m, u)."""
    if len(sides) == 1:
        center = sides[0].center
        half = _with_edge(
            kth_smallest(sides[0].radii, rank)[:, np.newaxis] * sides[0].unit, center
        )
        return center - half, center + half
    shape = sides[0].center.shape
    n_radii = sum(side.radii.shape[1] for side in sides)
    lower, upper = np.empty(shape), np.empty(shape)
    step = max(1, _BLOCK // max(1, n_radii))
    for start in range(0, shape[0], step):
        rows = slice(start, start + step)
        for j in range(shape[1]):
            centers, halves = [], []
            for side in sides:
                radii = side.radii if side.radii.shape[0] == 1 else side.radii[rows]
                center = side.center[rows, j, np.newaxis]
                half = _with_edge(radii * side.unit[rows, j, np.newaxis], center)
                halves.append(half)
                centers.append(np.broadcast_to(center, half.shape))
            center, half = np.concatenate(centers, axis=1), np.concatenate(halves, axis=1)
            upper[rows, j] = kth_smallest(center + half, rank)
            lower[rows, j] = -kth_smallest(half - center, rank)
    return lower, upper


def _with_edge(half: Floats, center: Floats) -> Floats:
    """Widen half-widths by their rounding, so that boxes hold the rows that lie on their edge.

    A width of nothing stays: an output that equals its center differs from it by exactly nothing.
    """
    rounding = np.where(half > 0.0, ROUNDING * np.abs(center), 0.0)
    return np.asarray(half * (1.0 + EDGE) + rounding)


def _ellipsoid_of(
    forecasts: list[Forecast],
    whole: Calibration,
    outputs: tuple[Ints, Ints],
    given: Floats | None,
    rank: int,
) -> tuple[Floats, Floats, Floats]:
    """Give centers (m, u), matrices (m, u, u) and radii (m,) for the unknown outputs."""
    known, unknown = outputs
    if forecasts[0].correlation is not None:
        return _local_ellipsoid_of(forecasts, whole, outputs, given, rank)
    split = _split(whole, known, unknown)
    if whole.moments is not None:  # of one model, as it was trained on other rows
        _, center = _conditioned(forecasts[0], split, given)
        matrix = np.broadcast_to(split.rest, (center.shape[0], *split.rest.shape))
        radius = kth_smallest(ellipsoid_distances(split, whole.residuals), rank)
        return center, np.asarray(matrix), np.repeat(radius, center.shape[0])
    n_whole = max(1, whole.residuals.shape[0])
    centers, radii = [], []
    for k, each in enumerate(forecasts):
        new, center = _conditioned(each, split, given)
        centers.append(center)
        radii.append(ellipsoid_radii(split, whole.residuals[whole.folds == k], new))
    center = np.mean(centers, axis=0)
    matrix = np.broadcast_to(split.rest / n_whole, (center.shape[0], *split.rest.shape))
    shifts = [_norms(own - center, matrix) for own in centers]
    parts = [
        shift[:, np.newaxis] + own * np.sqrt(n_whole)
        for shift, own in zip(shifts, radii, strict=True)
    ]
    if n_whole <= whole.residuals.shape[1]:  # moments of fewer rows than outputs say nothing
        rank = n_whole + 1
    return center, np.asarray(matrix), kth_smallest(np.concatenate(parts, axis=1), rank)


def _local_ellipsoid_of(
    forecasts: list[Forecast],
    whole: Calibration,
    outputs: tuple[Ints, Ints],
    given: Floats | None,
    rank: int,
) -> tuple[Floats, Floats, Floats]:
    """Do the same with a covariance per row, of calibration rows, too."""
    known, unknown = outputs
    assert whole.correlations is not None
    _, radii = _local_rest(whole.correlations, whole.residuals, known, unknown)
    centers, matrices = [], []
    for each in forecasts:
        assert each.correlation is not None
        center, spread = each.center[:, unknown], each.spread[:, unknown]
        rest = each.correlation[np.ix_(np.arange(len(center)), unknown, unknown)]
        if given is not None and known.size:
            new = each.residuals(given)
            new[:, unknown] = 0.0
            rest, shift = _local_split(each.correlation, new, known, unknown)
            center = center + spread * shift
        centers.append(center)
        matrices.append(rest * spread[:, :, np.newaxis] * spread[:, np.newaxis])
    if len(forecasts) == 1:
        n_new = centers[0].shape[0]
        return centers[0], matrices[0], np.repeat(kth_smallest(radii, rank), n_new)
    center, matrix = np.mean(centers, axis=0), np.mean(matrices, axis=0)
    parts = []
    for k, own in enumerate(centers):
        # The largest stretch between the metric of this fold and that of all.
        stretch = np.sqrt(_largest_ratio(matrices[k], matrix))[:, np.newaxis]
        parts.append(
            _norms(own - center, matrix)[:, np.newaxis] + stretch * radii[whole.folds == k]
        )
    return center, matrix, kth_smallest(np.concatenate(parts, axis=1), rank)


def _local_split(
    correlations: Floats, residuals: Floats, known: Ints, unknown: Ints
) -> tuple[Floats, Floats]:
    """Give correlations of what known outputs leave over (m, u, u), and the rest (m, u)."""
    rows = np.arange(residuals.shape[0])
    across = correlations[np.ix_(rows, known, unknown)]
    weights = np.linalg.solve(correlations[np.ix_(rows, known, known)], across)
    rest = correlations[np.ix_(rows, unknown, unknown)] - np.einsum(
        "mku,mkv->muv", across, weights
    )
    return rest, np.einsum("mk,mku->mu", residuals[:, known], weights)


def _local_rest(
    correlations: Floats, residuals: Floats, known: Ints, unknown: Ints
) -> tuple[Floats, Floats]:
    """Give those correlations, and the distances of the residuals in their metric (n,)."""
    left = residuals[:, unknown]
    rest = correlations[np.ix_(np.arange(left.shape[0]), unknown, unknown)]
    if known.size:
        rest, explained = _local_split(correlations, residuals, known, unknown)
        left = left - explained
    return rest, _norms(left, rest)


def _norms(vectors: Floats, matrices: Any) -> Floats:
    """Give the length of each vector in the metric of its matrix, of shape (m,)."""
    if not vectors.size:
        return np.zeros(vectors.shape[0])
    scale = np.sqrt(np.einsum("mjj->mj", matrices))
    scaled = matrices / (scale[:, :, np.newaxis] * scale[:, np.newaxis])
    unit = (vectors / scale)[..., np.newaxis]
    squares = np.einsum("mjk,mjk->m", unit, np.linalg.solve(scaled, unit))
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _largest_ratio(matrices: Floats, others: Floats) -> Floats:
    """Give the largest generalised eigenvalue of each pair, of shape (m,)."""
    products = np.linalg.solve(others, matrices)
    return np.asarray(np.linalg.eigvals(products).real.max(axis=1))


def _groups(known: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], Ints]]:
    """Group rows with the same known outputs: the pattern and the rows."""
    if not known.any():
        return [(np.zeros(known.shape[1], np.bool_), np.arange(known.shape[0]))]
    patterns, group = np.unique(known, axis=0, return_inverse=True)
    group = group.reshape(-1)
    return [(pattern, np.flatnonzero(group == at)) for at, pattern in enumerate(patterns)]
