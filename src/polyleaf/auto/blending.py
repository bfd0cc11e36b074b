"""Weights of a blend: non-negative, adding up to 1, of every output, drawn towards common ones.

With weights w that add up to 1, the squared error of an output is w' A w, where A holds the
products of the members' errors on held-out rows. Common weights minimise the sum over all outputs
and are drawn towards a prior that follows the members' own errors; weights of an output are drawn
towards the common ones as strongly as pays on folds that they were not chosen on. The pull is
counted in rows: ten rows of pull weigh as much as ten rows of data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Pull of the prior on common weights, in rows.
_COMMON_ROWS = 60.0
#: Pulls of the common weights on those of single outputs, in rows; the first one wins ties.
_OUTPUT_ROWS = (np.inf, 1000.0, 300.0, 100.0, 30.0)
#: A weaker pull must be better by so many standard errors over the folds.
_PAYS = 2.0
#: How quickly the prior falls with the error of a member, relative to that of the best.
_PRIOR_POWER = 5.0
_STEPS = 200


@dataclass(frozen=True, eq=False)
class Blend:
    """Weights of members.

    Attributes
    ----------
    weights : ndarray of shape (n_outputs, n_members), float64
        Rows add up to 1.
    loss : float
        Mean squared error of held-out folds with weights that were chosen on the others,
        relative to the variance (numbers) or as it is (probabilities).
    """

    weights: Floats
    loss: float


def error_products(
    errors: list[NDArray[np.float32]],
    weights: Floats | None,
    fold_of: NDArray[np.intp],
    offsets: NDArray[np.int32],
) -> Floats:
    """Sum products of errors per fold and output: (n_folds, n_outputs, n_members, n_members).

    Parameters
    ----------
    errors : list of n_members ndarrays of shape (n, n_channels)
        0 where nothing is observed.
    weights : ndarray of shape (n, n_channels) or (n, 1), or None
    fold_of : ndarray of shape (n,)
    offsets : ndarray of shape (n_outputs + 1,)
        First channel of each output.
    """
    n_members, n_folds = len(errors), int(fold_of.max()) + 1
    starts = np.searchsorted(fold_of, np.arange(n_folds))
    products = np.empty((n_folds, offsets.size - 1, n_members, n_members))
    for a in range(n_members):
        weighted = errors[a] if weights is None else errors[a] * weights
        for b in range(a + 1):
            by_row = weighted * errors[b]
            by_fold = np.add.reduceat(by_row, starts, axis=0, dtype=np.float64)
            products[:, :, a, b] = np.add.reduceat(by_fold, offsets[:-1], axis=1)
            products[:, :, b, a] = products[:, :, a, b]
    return products


def choose_weights(products: Floats, mass: Floats, unit: Floats) -> Blend:
    """Choose the weights of a blend.

    Parameters
    ----------
    products : ndarray of shape (n_folds, n_outputs, n_members, n_members)
    mass : ndarray of shape (n_folds, n_outputs)
        How many rows are observed; of labels, how much they tell.
    unit : ndarray of shape (n_outputs,)
        What the errors of an output are divided by, so that outputs can be added.
    """
    scaled = products / unit[:, None, None]
    n_folds = scaled.shape[0]
    # All folds but one, for each of them; last, all folds.
    known = np.concatenate([scaled.sum(axis=0) - scaled, scaled.sum(axis=0)[None]])
    rows = np.concatenate([mass.sum(axis=0) - mass, mass.sum(axis=0)[None]])
    common = _common_weights(known, rows)
    weights = _output_weights(known, rows, common)
    by_output = np.einsum("foij,pfoi,pfoj->pfo", scaled, weights[:, :-1], weights[:, :-1])
    losses = by_output.sum(axis=2) / np.maximum(mass.sum(axis=1), 1e-300)
    chosen = 0
    for k in range(1, len(_OUTPUT_ROWS)):
        gains = losses[chosen] - losses[k]
        error = gains.std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.inf
        if gains.mean() > _PAYS * error:
            chosen = k
    return Blend(weights[chosen, -1], float(losses[chosen].mean()))


def _common_weights(products: Floats, mass: Floats) -> Floats:
    """Choose weights that all outputs share, of shape (n_sets, n_members)."""
    totals = products.sum(axis=1)
    own = np.maximum(np.diagonal(totals, axis1=1, axis2=2), 1e-300)
    best = own.min(axis=1, keepdims=True)
    prior = (best / own) ** _PRIOR_POWER
    prior = prior / prior.sum(axis=1, keepdims=True)
    # Outputs of a row are not independent: all of them together weigh as much as their rows.
    rows = np.maximum(mass.max(axis=1), 1e-300)
    return on_simplex(totals, prior, _COMMON_ROWS * best[:, 0] / rows)


def _output_weights(products: Floats, mass: Floats, common: Floats) -> Floats:
    """Choose weights for every pull: (n_pulls, n_sets, n_outputs, n_members)."""
    n_sets, n_outputs, n_members = products.shape[:3]
    weights = np.empty((len(_OUTPUT_ROWS), n_sets, n_outputs, n_members))
    weights[:] = common[:, None]
    if n_outputs == 1 or n_members == 1:
        return weights
    pulls = np.array(_OUTPUT_ROWS[1:])[:, None, None]
    sizes = np.diagonal(products, axis1=2, axis2=3).min(axis=2)
    strength = np.maximum(pulls * sizes / np.maximum(mass, 1e-300), 1e-300)
    found = on_simplex(
        np.broadcast_to(products, (*strength.shape, n_members, n_members)).reshape(
            -1, n_members, n_members
        ),
        weights[1:].reshape(-1, n_members),
        strength.ravel(),
    ).reshape(*strength.shape, n_members)
    weights[1:] = np.where((mass > 0)[..., None], found, weights[1:])
    return weights


def on_simplex(products: Floats, centre: Floats, pull: Floats) -> Floats:
    """Minimise w'Aw + pull |w - centre|^2 over weights that are not negative and add up to 1.

    Parameters
    ----------
    products : ndarray of shape (k, m, m)
        A of each problem.
    centre : ndarray of shape (k, m)
    pull : ndarray of shape (k,)

    Returns
    -------
    ndarray of shape (k, m)
    """
    size = np.linalg.eigvalsh(products)[:, -1] + pull
    step = 0.5 / np.maximum(size, 1e-300)
    weights = momentum = centre
    speed = 1.0
    for _ in range(_STEPS):
        slope = np.einsum("kij,kj->ki", products, momentum) + pull[:, None] * (momentum - centre)
        moved = _project(momentum - 2.0 * step[:, None] * slope)
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed**2))
        momentum = moved + (speed - 1.0) / faster * (moved - weights)
        weights, speed = moved, faster
    return weights


def _project(points: Floats) -> Floats:
    """Find the nearest points with coordinates that are not negative and add up to 1."""
    ordered = -np.sort(-points, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1.0
    counts = np.arange(1, points.shape[1] + 1)
    n_kept = (ordered * counts > sums).sum(axis=1)
    shift = sums[np.arange(points.shape[0]), n_kept - 1] / n_kept
    return np.asarray(np.maximum(points - shift[:, None], 0.0))
