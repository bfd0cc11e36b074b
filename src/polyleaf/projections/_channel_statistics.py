"""Means and constancy of output channels, for dense, sparse, masked and weighted values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Floating values of shape (n_rows, n_channels), 0 where unobserved.
Values: TypeAlias = "NDArray[np.floating[Any]] | sparse.csr_array[Any]"


def channel_means(
    values: Values,
    observed: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the weighted mean of each channel over its observed entries.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_rows, n_channels)
        0 where unobserved.
    observed : bool ndarray of shape (n_rows, n_channels), optional
        All entries are observed by default.
    weights : float64 ndarray of shape (n_rows,) or (n_rows, n_channels), optional
        All weights are 1 by default.

    Returns
    -------
    float64 ndarray of shape (n_channels,)
        0 for a channel without any observed weight.
    """
    total = _weighted_sum(values, weights)
    mass = _observed_mass(values.shape, observed, weights)
    means = np.zeros(values.shape[1])
    return np.divide(total, mass, out=means, where=mass > 0)


def varying_channels(
    values: Values,
    observed: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Tell which channels take two or more values over their observed, weighted entries.

    A channel that is constant or entirely unobserved has no variance to reduce. An entry of
    weight 0 (a row outside of a bootstrap sample, say) counts as absent.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_rows, n_channels)
        0 where unobserved.
    observed : bool ndarray of shape (n_rows, n_channels), optional
        All entries are observed by default.
    weights : float64 ndarray of shape (n_rows,) or (n_rows, n_channels), optional
        All weights are 1 by default.

    Returns
    -------
    bool ndarray of shape (n_channels,)
    """
    present = _present_entries(observed, weights)
    if sparse.issparse(values):
        low, high = _sparse_range(values, present)
    else:
        where: Any = True if present is None else present
        low = np.min(values, axis=0, where=where, initial=np.inf)
        high = np.max(values, axis=0, where=where, initial=-np.inf)
    varying: NDArray[np.bool_] = low < high
    return varying


def _weighted_sum(values: Values, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Sum each channel; unobserved entries add nothing because they are stored as 0."""
    if weights is None:
        total = values.sum(axis=0, dtype=np.float64)
    elif weights.ndim == 1:
        total = weights @ values
    elif sparse.issparse(values):
        total = values.multiply(weights).sum(axis=0)
    else:
        total = np.einsum("ij,ij->j", weights, values)
    return np.asarray(total, dtype=np.float64)


def _observed_mass(
    shape: tuple[int, ...],
    observed: NDArray[np.bool_] | None,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Sum the weights of the observed entries of each channel."""
    n_rows, n_channels = shape
    if weights is not None and weights.ndim == 2:
        where: Any = True if observed is None else observed
        mass = np.sum(weights, axis=0, where=where)
    elif observed is None:
        mass = np.full(n_channels, n_rows if weights is None else weights.sum())
    elif weights is None:
        mass = observed.sum(axis=0)
    else:
        # einsum casts the mask in small buffers; `weights @ observed` would copy it as float64.
        mass = np.einsum("i,ij->j", weights, observed)
    return np.asarray(mass, dtype=np.float64)


def _present_entries(
    observed: NDArray[np.bool_] | None, weights: NDArray[np.float64] | None
) -> NDArray[np.bool_] | None:
    """Mark the entries that count, broadcastable to (n_rows, n_channels); None means all."""
    if weights is None or np.all(weights > 0):
        return observed
    weighted = weights > 0 if weights.ndim == 2 else (weights > 0)[:, np.newaxis]
    return weighted if observed is None else weighted & observed


def _sparse_range(
    values: sparse.csr_array[Any], present: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the minimum and maximum of each channel, implicit zeros included."""
    n_rows, n_channels = values.shape
    channels, data = values.indices, values.data
    n_present = np.full(n_channels, n_rows)
    if present is not None:
        rows = np.repeat(np.arange(n_rows), np.diff(values.indptr))
        stored = present[rows, channels if present.shape[1] > 1 else 0]
        channels, data = channels[stored], data[stored]
        n_present = np.broadcast_to(present.sum(axis=0), n_channels)
    low, high = np.full(n_channels, np.inf), np.full(n_channels, -np.inf)
    # A row for every channel, with its stored values side by side.
    at = channels, np.arange(channels.size)
    stored_values = sparse.coo_array((data, at), shape=(n_channels, channels.size)).tocsr()
    n_stored = np.diff(stored_values.indptr)
    is_stored = n_stored > 0
    if is_stored.any():
        starts = stored_values.indptr[:-1][is_stored]
        low[is_stored] = np.minimum.reduceat(stored_values.data, starts)
        high[is_stored] = np.maximum.reduceat(stored_values.data, starts)
    has_implicit_zero = n_stored < n_present
    low[has_implicit_zero] = np.minimum(low[has_implicit_zero], 0)
    high[has_implicit_zero] = np.maximum(high[has_implicit_zero], 0)
    return low, high
