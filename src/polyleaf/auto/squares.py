"""Penalised least squares for all outputs at once: one decomposition serves every penalty.

With K = U diag(s) U' (a Gram matrix of rows), predictions at penalty a are
U diag(s / (s + a)) U'y; what a row would be predicted without itself follows from the diagonal of
that matrix (leave-one-out in closed form). Penalties are chosen per output by these errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Penalties that are tried, relative to the mean eigenvalue.
_PENALTIES = 10.0 ** np.arange(-4.0, 3.5, 0.5)
#: Eigenvalues below this share of the largest are taken for 0.
_NOTHING = 1e-10
#: Rounds in which unobserved outputs are replaced by what the model says of them.
_FILLINGS = 3


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Rows that are centred and weighted, decomposed.

    Attributes
    ----------
    vectors : ndarray of shape (n, k)
    values : ndarray of shape (k,)
        Positive eigenvalues of the Gram matrix.
    share : ndarray of shape (n,)
        Weight of each row, of a total of 1.
    """

    vectors: Floats
    values: Floats
    share: Floats

    @classmethod
    def of(cls, gram: Floats, share: Floats) -> Decomposition:
        """Decompose a Gram matrix of rows, which is centred here."""
        means = gram @ share
        centred = gram - means[:, None] - means + share @ means
        roots = np.sqrt(share * share.size)
        values, vectors = np.linalg.eigh(roots[:, None] * centred * roots)
        kept = values > _NOTHING * max(float(values[-1]), 1e-300)
        return cls(vectors[:, kept], values[kept], share)

    @classmethod
    def of_columns(cls, columns: Floats, share: Floats) -> tuple[Decomposition, Floats]:
        """Decompose few columns of many rows; also give what turns scores into coefficients."""
        roots = np.sqrt(share * share.size)
        centred = (columns - share @ columns) * roots[:, None]
        values, directions = np.linalg.eigh(centred.T @ centred)
        kept = values > _NOTHING * max(float(values[-1]), 1e-300)
        values, directions = values[kept], directions[:, kept]
        vectors = centred @ (directions / np.sqrt(values))
        return cls(vectors, values, share), directions


@dataclass(frozen=True, eq=False)
class SquaresFit:
    """What least squares has found.

    Attributes
    ----------
    means : ndarray of shape (n_channels,)
        Weighted means of the outputs.
    rotated : ndarray of shape (k, n_channels)
        U'y of the centred, weighted outputs.
    penalties : ndarray of shape (n_channels,)
    errors : ndarray of shape (n_channels,)
        Mean squared leave-one-out errors.
    """

    means: Floats
    rotated: Floats
    penalties: Floats
    errors: Floats


def least_squares(
    parts: Decomposition, outputs: Floats, observed: NDArray[np.bool_] | None
) -> SquaresFit:
    """Choose a penalty for every output, and fit it.

    Parameters
    ----------
    parts : Decomposition
    outputs : ndarray of shape (n, n_channels)
    observed : ndarray of shape (n, n_channels), bool, or None
        Where outputs are not observed, the model's own predictions stand in for them, which
        converges to a fit of the observed ones alone.
    """
    if observed is None:
        return _fit(parts, outputs, None)
    share = parts.share[:, None] * observed
    totals = np.maximum(share.sum(axis=0), 1e-300)
    filled = np.where(observed, outputs, (share * outputs).sum(axis=0) / totals)
    for _ in range(_FILLINGS):
        found = _fit(parts, filled, observed)
        filled = np.where(observed, outputs, _fitted_values(parts, found))
    return _fit(parts, filled, observed)


def _fit(parts: Decomposition, outputs: Floats, observed: Any) -> SquaresFit:
    n_rows = outputs.shape[0]
    roots = np.sqrt(parts.share * n_rows)[:, None]
    means = parts.share @ outputs
    centred = (outputs - means) * roots
    rotated = parts.vectors.T @ centred
    counted = np.ones_like(outputs) if observed is None else observed.astype(np.float64)
    counts = np.maximum(counted.sum(axis=0), 1.0)
    best = np.full(outputs.shape[1], np.inf)
    chosen = np.full(outputs.shape[1], np.inf)
    squares = parts.vectors**2
    for penalty in _penalties(parts):
        factors = parts.values / (parts.values + penalty)
        leverage = squares @ factors + parts.share
        residuals = centred - parts.vectors @ (factors[:, None] * rotated)
        left_out = residuals / np.maximum(1.0 - leverage, 1e-6)[:, None]
        errors = (counted * left_out**2).sum(axis=0) / counts
        better = errors < best
        best, chosen = np.where(better, errors, best), np.where(better, penalty, chosen)
    return SquaresFit(means, rotated, chosen, best)


def _penalties(parts: Decomposition) -> Floats:
    return _PENALTIES * (float(parts.values.mean()) if parts.values.size else 1.0)


def _fitted_values(parts: Decomposition, found: SquaresFit) -> Floats:
    factors = parts.values[:, None] / (parts.values[:, None] + found.penalties)
    roots = np.sqrt(np.maximum(parts.share * parts.share.size, 1e-300))[:, None]
    fitted: Floats = found.means + parts.vectors @ (factors * found.rotated) / roots
    return fitted


def dual_coefficients(parts: Decomposition, found: SquaresFit) -> Floats:
    """Give coefficients of (weighted, centred) training rows, of shape (n, n_channels)."""
    inverse = 1.0 / (parts.values[:, None] + found.penalties)
    roots = np.sqrt(parts.share * parts.share.size)[:, None]
    dual: Floats = roots * (parts.vectors @ (inverse * found.rotated))
    return dual


def primal_coefficients(parts: Decomposition, directions: Floats, found: SquaresFit) -> Floats:
    """Give coefficients of columns, of shape (n_columns, n_channels)."""
    inverse = np.sqrt(parts.values)[:, None] / (parts.values[:, None] + found.penalties)
    primal: Floats = directions @ (inverse * found.rotated)
    return primal
