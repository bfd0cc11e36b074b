r"""How far regions reach around a prediction, from residuals of rows that were not trained on.

Where one model is trained on other rows, these rows give the moments (`training_moments`), and
scores are fixed before the calibration rows are looked at: `box_distances` and
`ellipsoid_distances`. Regions then hold their promise neither less nor more often.

Elsewhere the calibration rows give them. Their residuals :math:`z_i` (n, d) have the second
moments :math:`A = \sum_i z_i z_i^T`. A score that is standardised by the moments of all n + 1
rows, the new one included, is exchangeable, so that the rank of `ranks.py` holds. Nobody knows
the new row, but two bounds take its place: moments only grow by it, so that the scores of the
others are at most those of A alone; and its own score rises with its distance. What remains is
the distance that a row has from the moments of the others (a leave-one-out distance): with
:math:`s_i = \max_j z_{ij}^2 / A_{jj}` (boxes) or :math:`s_i = z_i^T A^{-1} z_i` (ellipsoids) it
is :math:`s_i / (1 - s_i)`. No row need be set aside for scales.

Where outputs K of the new row are known, the others U are predicted from their residuals by least
squares, :math:`u = z_U - A_{UK} A_{KK}^{-1} z_K`, and the same two bounds hold for the residuals
of that regression with the new row among its rows (:math:`g_i = z_{iK}^T A_{KK}^{-1} z_K`,
:math:`q_K = z_K^T A_{KK}^{-1} z_K`); `box_radii` and `ellipsoid_radii` have the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Keeps moments of outputs that depend on each other positive definite.
_RIDGE = 1e-9
#: Keeps the moments of an output without residuals positive.
_LEAST_MOMENT = 1e-300
#: An output that the training rows are fitted to exactly has at least this share of its deviation.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Split:
    """Moments of residuals, split into known and unknown outputs.

    Attributes
    ----------
    known, unknown : ndarray of shape (k,) and (u,), int
        Positions of the outputs.
    weights : ndarray of shape (k, u)
        By which unknown residuals follow from known ones.
    inverse : ndarray of shape (k, k)
        Of the moments of the known ones.
    rest : ndarray of shape (u, u)
        Moments of what the known ones do not explain.
    """

    known: Ints
    unknown: Ints
    weights: Floats
    inverse: Floats
    rest: Floats


def second_moments(residuals: Floats) -> Floats:
    """Add up the products of residuals, of shape (d, d), with a little more on the diagonal."""
    moments = residuals.T @ residuals
    diagonal = np.einsum("jj->j", moments)
    diagonal[:] = np.maximum(diagonal * (1.0 + _RIDGE), _LEAST_MOMENT)
    return moments


def training_moments(residuals: Floats, deviations: Floats) -> Floats:
    """Give the mean products of the residuals of training rows, of shape (d, d).

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
        In spreads; NaN where not observed.
    deviations : ndarray of shape (d,)
        Standard deviations of the outputs, in spreads.
    """
    n_outputs = residuals.shape[1]
    whole = residuals[~np.isnan(residuals).any(axis=1)]
    moments = np.zeros((n_outputs, n_outputs))
    if whole.shape[0] > n_outputs:
        moments = whole.T @ whole / whole.shape[0]
    else:  # too few rows for a covariance: each output by itself
        n_seen = np.maximum((~np.isnan(residuals)).sum(axis=0), 1)
        np.fill_diagonal(moments, np.nansum(residuals**2, axis=0) / n_seen)
    least = np.maximum((_LEAST_SHARE * deviations) ** 2, _LEAST_MOMENT)
    moments[np.diag_indices(n_outputs)] += np.maximum(_RIDGE * np.diagonal(moments), least)
    return moments


def split_moments(moments: Floats, known: Ints, unknown: Ints) -> Split:
    """Regress the unknown outputs on the known ones.

    Parameters
    ----------
    moments : ndarray of shape (d, d)
    known, unknown : ndarray of int
    """
    own = moments[np.ix_(known, known)]
    across = moments[np.ix_(known, unknown)]
    rest = moments[np.ix_(unknown, unknown)].copy()
    inverse = np.empty((0, 0))
    if known.size:
        inverse = _inverse(own)
        rest -= across.T @ inverse @ across
        diagonal = np.einsum("jj->j", rest)
        floor = _RIDGE * moments[unknown, unknown]
        diagonal[:] = np.maximum(diagonal, np.maximum(floor, _LEAST_MOMENT))
    return Split(known, unknown, inverse @ across, inverse, rest)


def _inverse(matrix: Floats) -> Floats:
    """Invert moments, scaled to a diagonal of ones, so that their units do not matter."""
    scale = np.sqrt(np.einsum("jj->j", matrix))
    correlation = matrix / np.outer(scale, scale)
    inverse = cho_solve(cho_factor(correlation), np.eye(scale.size))
    return np.asarray(inverse / np.outer(scale, scale))


def box_distances(split: Split, residuals: Floats) -> Floats:
    """Give the largest residual of each row in units of `rest`'s roots, of shape (1, n).

    Parameters
    ----------
    split : Split
        Of moments that do not depend on these rows.
    residuals : ndarray of shape (n, d)
    """
    left = residuals[:, split.unknown] - residuals[:, split.known] @ split.weights
    units = np.sqrt(np.einsum("jj->j", split.rest))
    return np.asarray((np.abs(left) / units).max(axis=1, initial=0.0)[np.newaxis])


def ellipsoid_distances(split: Split, residuals: Floats) -> Floats:
    """Give the length of each row's residuals in the metric of `rest`, of shape (1, n).

    Parameters
    ----------
    split : Split
        Of moments that do not depend on these rows.
    residuals : ndarray of shape (n, d)
    """
    left = residuals[:, split.unknown] - residuals[:, split.known] @ split.weights
    squares = np.einsum("ij,jk,ik->i", left, _inverse(split.rest), left)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0))[np.newaxis])


def box_radii(split: Split, residuals: Floats, new: Floats) -> Floats:
    r"""Give the half-width that each calibration row asks for, in units of `rest`'s roots.

    With :math:`\epsilon_{ij}` the residual of output j over the root of its moment in `rest` and
    :math:`Z_i = (1 + q_K) \max_j \epsilon_{ij}^2 + g_i^2`, it is
    :math:`\sqrt{(1 + q_K) Z_i / (1 - Z_i)}`.

    Parameters
    ----------
    split : Split
    residuals : ndarray of shape (n, d)
        Of calibration rows.
    new : ndarray of shape (m, k)
        Known residuals of the rows to be predicted.

    Returns
    -------
    ndarray of shape (m, n), or (1, n) if nothing is known
    """
    left = residuals[:, split.unknown] - residuals[:, split.known] @ split.weights
    largest = (left**2 / np.einsum("jj->j", split.rest)).max(axis=1, initial=0.0)
    if not split.known.size:
        return np.sqrt(_odds(largest)[np.newaxis])
    leverage, products = _leverages(split, residuals, new)
    share = (1.0 + leverage) * largest + products**2
    return np.asarray(np.sqrt((1.0 + leverage) * _odds(share)))


def ellipsoid_radii(split: Split, residuals: Floats, new: Floats) -> Floats:
    r"""Give the distance that each calibration row asks for, in the metric of `rest`.

    With :math:`a_i` the squared distance of row i in the metric of all outputs less that of the
    known ones, and :math:`Z_i = a_i + (g_i^2 + q_K) / (1 + q_K)`, it is
    :math:`\sqrt{Z_i / (1 - Z_i) - q_K}`.

    Parameters
    ----------
    split : Split
    residuals : ndarray of shape (n, d)
    new : ndarray of shape (m, k)

    Returns
    -------
    ndarray of shape (m, n), or (1, n) if nothing is known
    """
    left = residuals[:, split.unknown] - residuals[:, split.known] @ split.weights
    own = np.einsum("ij,jk,ik->i", left, _inverse(split.rest), left)
    if not split.known.size:
        return np.sqrt(_odds(own)[np.newaxis])
    leverage, products = _leverages(split, residuals, new)
    share = own + (products**2 + leverage) / (1.0 + leverage)
    return np.asarray(np.sqrt(np.maximum(_odds(share) - leverage, 0.0)))


def _leverages(split: Split, residuals: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Give q_K of shape (m, 1) and g of shape (m, n)."""
    towards = new @ split.inverse
    leverage = np.einsum("mk,mk->m", towards, new)[:, np.newaxis]
    return leverage, towards @ residuals[:, split.known].T


def _odds(share: Floats) -> Floats:
    """Give s / (1 - s); infinity from 1 on, where too few rows say anything."""
    odds = np.full(share.shape, np.inf)
    np.divide(share, 1.0 - share, out=odds, where=share < 1.0)
    return odds
