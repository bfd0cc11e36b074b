"""Gradients seen through a view: the channels on which the tree of a round is grown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from polyleaf.trees.channels import Channels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.boosting.state import BoostingState
    from polyleaf.projections import View


def gradient_channels(
    state: BoostingState, view: View, row_weights: NDArray[np.float32] | None
) -> Channels:
    """Show the weighted gradients through a view.

    Parameters
    ----------
    state : BoostingState
    view : View
    row_weights : ndarray of shape (n_rows,), float32, or None
        What a row counts in all channels of a mixing view, if its entries count differently or
        are not all observed.
    """
    gradient, by_entry = state.gradient, state.entry_weights
    if by_entry is not None:
        gradient = gradient * by_entry
    shown = _shown(gradient, view)
    if by_entry is None:
        by_row = state.row_weights
        if by_row is not None:
            shown = shown * by_row[:, None]
        return Channels(shown, by_row, None)
    if view.mixes:
        return Channels(shown, row_weights, None)
    selected = by_entry if view.selected is None else by_entry[:, view.selected]
    return Channels(shown, None, np.ascontiguousarray(selected))


def _shown(gradient: NDArray[np.float32], view: View) -> NDArray[np.float32]:
    """Apply the view to gradients; unlike targets they need no centring."""
    if view.given is not None:
        return view.given
    if view.selected is not None:
        return np.ascontiguousarray(gradient[:, view.selected])
    if view.matrix is None:
        return gradient
    if sparse.issparse(view.matrix):
        used = np.flatnonzero(view.seen)
        matrix = view.matrix.tocsr()[used].toarray().astype(np.float32)
        return np.ascontiguousarray(gradient[:, used] @ matrix)
    return np.ascontiguousarray(gradient @ view.matrix.astype(np.float32))
