"""Principal components of the outputs (Joly et al., 2014, section 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.sparse import linalg as sparse_linalg

from polyleaf.projections._base import MixingProjection, check_view_memory, count_components
from polyleaf.projections._view import CentredValues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.projections._base import ProjectionContext
    from polyleaf.projections._view import Matrix

# Channels up to which the whole covariance matrix is decomposed (8 MB).
EXACT_CHANNELS = 1024


class PCA(MixingProjection):
    """The directions in which the outputs vary most.

    The columns of the view are the first right singular vectors of the centred values, times
    the square root of their weights, with 0 for unobserved entries. Nothing in them is random;
    the largest coefficient of each is positive. Directions without variance are left out, so
    that there may be fewer components than asked for.

    Parameters
    ----------
    n_components : int, float, "log" or "sqrt", default="log"
        Number of components, absolute or relative to the number d of channels that vary: a
        fraction in (0, 1] of d, round(ln d) or ceil(sqrt d). An int larger than the number of
        channels is an error; one larger than d gives d components.

    Notes
    -----
    Up to 1,024 channels, or where at least a quarter of all components is asked for and there
    are no fewer rows than channels, the d x d covariance matrix is decomposed. Otherwise the
    components (at most n_rows - 1) are found iteratively, without that matrix. Sparse values
    are not expanded in either case.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.projections import PCA, ProjectionContext
    >>> rng = np.random.default_rng(0)
    >>> Y = np.outer([0.0, 1.0, 2.0, 3.0], [3.0, 4.0])
    >>> context = ProjectionContext(
    ...     round=0, rng=rng, values=Y, channel_offsets=np.arange(3, dtype=np.int32)
    ... )
    >>> PCA(n_components=1).draw(context).matrix
    array([[0.6],
           [0.8]])
    """

    def draw_matrix(self, context: ProjectionContext, channels: NDArray[np.intp]) -> Matrix:
        """Return the components, a float64 ndarray of shape (d, n_components)."""
        n_components = count_components(self.n_components, len(channels))
        if n_components > context.n_channels:
            raise ValueError(
                f"PCA of {context.n_channels} channels has {context.n_channels} components: "
                f"n_components must be at most {context.n_channels}; got {n_components}. Use a "
                "smaller number or a fraction."
            )
        check_view_memory(n_components, context, n_coefficients=len(channels))

        def compute_axes() -> NDArray[np.float64]:
            centred = _centred_channels(context, channels)
            return _with_positive_peaks(_principal_axes(centred, min(n_components, len(channels))))

        axes: Matrix = context.remember((PCA, n_components), compute_axes)
        return axes


def _centred_channels(context: ProjectionContext, channels: NDArray[np.intp]) -> CentredValues:
    """Centre the given channels; each entry is multiplied by the square root of its weight."""
    values, observed, weights = context.values, context.observed, context.weights
    if len(channels) < context.n_channels:
        values = values[:, channels]
        observed = None if observed is None else observed[:, channels]
        if weights is not None and weights.ndim == 2:
            weights = weights[:, channels]
    scale = None if weights is None else np.sqrt(weights)
    return CentredValues(values, observed, weights, scale)


def _principal_axes(centred: CentredValues, n_components: int) -> NDArray[np.float64]:
    """Return the first right singular vectors with a singular value that is not 0."""
    n_rows, n_channels = centred.shape
    many = n_rows >= n_channels and 4 * n_components >= n_channels
    if n_channels <= EXACT_CHANNELS or many:
        first = n_channels - n_components
        variances, axes = linalg.eigh(
            centred.gram(), subset_by_index=(first, n_channels - 1), overwrite_a=True
        )
    else:
        variances, axes = _iterative_axes(centred, min(n_components, n_rows - 1))
    variances, axes = variances[::-1], axes[:, ::-1]  # descending
    negligible = variances[0] * max(n_rows, n_channels) * np.finfo(np.float64).eps
    rank = max(1, np.count_nonzero(variances > negligible))
    return np.ascontiguousarray(axes[:, :rank])


def _iterative_axes(
    centred: CentredValues, n_components: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest squared singular values, ascending, and their right vectors."""

    def as_columns(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        return vector.reshape(len(vector), -1)

    operator: Any = sparse_linalg.LinearOperator(
        shape=centred.shape,
        dtype=np.float64,
        matvec=lambda vector: centred.matmul(as_columns(vector)).ravel(),
        rmatvec=lambda vector: centred.rmatmul(as_columns(vector)).ravel(),
        matmat=centred.matmul,
        rmatmat=centred.rmatmul,
    )
    # A fixed start, so that the components depend on the values alone.
    start = np.random.default_rng(0).standard_normal(min(centred.shape))
    vectors: Any = sparse_linalg.svds(operator, k=n_components, v0=start)
    _, singular_values, axes = vectors
    order = np.argsort(singular_values)
    return singular_values[order] ** 2, axes[order].T


def _with_positive_peaks(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose the sign of each column so that its largest coefficient is positive.

    Of coefficients that are equal up to rounding, the first decides.
    """
    size = np.abs(axes)
    peaks = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    signs = np.sign(axes[peaks, np.arange(axes.shape[1])])
    return np.asarray(axes * signs)
