"""How alike outputs are, given a vector for each of their channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def output_cosines(vectors: NDArray[Any], offsets: NDArray[Any]) -> NDArray[np.float64]:
    """Compute cosines of the angles between outputs, of shape (n_outputs, n_outputs).

    For outputs of several channels: the root of Escoufier's RV coefficient of their directions,
    which is 1 for the same directions and 0 for orthogonal ones.

    Parameters
    ----------
    vectors : ndarray of shape (n_channels, n)
    offsets : ndarray of shape (n_outputs + 1,), int
        Output j has the channels offsets[j] up to offsets[j + 1].
    """
    vectors = vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    vectors = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
    cosines = vectors @ vectors.T
    sizes = np.diff(offsets)
    if np.any(sizes > 1):
        sums = np.add.reduceat(np.add.reduceat(cosines**2, offsets[:-1], 0), offsets[:-1], 1)
        own = np.where(sums.diagonal() > 0, sums.diagonal(), 1.0)
        cosines = np.sqrt(sums / np.sqrt(np.outer(own, own)))
    cosines = np.clip(cosines, -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    return cosines
