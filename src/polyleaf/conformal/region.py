"""Regions of output space: boxes and ellipsoids, one per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from polyleaf.checks.matrices import as_floats, read_array

Floats = NDArray[np.float64]

#: Sums and products of outputs are exact up to about this share of their sizes.
ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
#: Rows lie inside up to this share beyond the edge.
EDGE = 1e-12


@dataclass(frozen=True, eq=False)
class Region:
    """A region of output space for every row, which holds all outputs together.

    Boxes have `lower` and `upper`, ellipsoids `matrix` and `radius`: y lies inside where
    ``(y - center) @ inv(matrix) @ (y - center) <= radius**2``. The others are None. The edge is
    inside, up to rounding: calibration rows lie on it, and so do new rows that are like them.

    Attributes
    ----------
    center : ndarray of shape (n, d), float64
        The prediction; where some outputs are known, they, and the others given them.
    alpha : float
        The share of rows that may lie outside.
    known : ndarray of shape (n, d), bool
        Outputs that were given. They have no width, and do not count in volumes.
    lower, upper : ndarray of shape (n, d), float64, or None
    matrix : ndarray of shape (n, d, d), float64, or None
        Zero in rows and columns of known outputs.
    radius : ndarray of shape (n,), float64, or None
    output_names : tuple of str

    See Also
    --------
    polyleaf.ConformalRegressor.predict_region : makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.conformal import Region
    >>> box = Region(
    ...     center=np.zeros((1, 2)), alpha=0.1, known=np.zeros((1, 2), bool),
    ...     lower=np.array([[-1.0, -2.0]]), upper=np.array([[1.0, 2.0]]),
    ... )
    >>> box.contains([[0.5, 1.5]]), box.contains([[0.5, 2.5]])
    (array([ True]), array([False]))
    >>> np.exp(box.log_volume()).round(6)
    array([8.])
    """

    center: Floats
    alpha: float
    known: NDArray[np.bool_]
    lower: Floats | None = None
    upper: Floats | None = None
    matrix: Floats | None = None
    radius: Floats | None = None
    output_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.output_names:
            names = tuple(f"y{j}" for j in range(self.center.shape[1]))
            object.__setattr__(self, "output_names", names)

    @property
    def is_box(self) -> bool:
        """Whether the regions are boxes, not ellipsoids."""
        return self.lower is not None

    def __len__(self) -> int:
        return int(self.center.shape[0])

    def contains(self, Y: Any) -> NDArray[np.bool_]:
        """Tell which rows lie inside.

        Parameters
        ----------
        Y : array-like or frame of shape (n, d)
            NaN is not observed: a row lies inside if some value there would do. Outputs that
            were given are not looked at. One-dimensional if there is one output.

        Returns
        -------
        ndarray of shape (n,), bool
        """
        values = read_outputs(Y, self.center.shape)
        differences = np.where(self.known, 0.0, values - self.center)
        if self.lower is not None and self.upper is not None:
            is_inside = (self.lower <= values) & (values <= self.upper)
            return np.asarray((is_inside | np.isnan(values) | self.known).all(axis=1))
        assert self.matrix is not None
        assert self.radius is not None
        counted = ~self.known & ~np.isnan(differences)
        distance = np.zeros(len(self))
        for pattern, rows in _patterns(counted):
            at = np.ix_(rows, pattern)
            sizes = np.abs(values[at]) + np.abs(self.center[at])
            part = self.matrix[rows][:, pattern][:, :, pattern]
            lengths, errors, shares = _lengths(part, differences[at], sizes)
            distance[rows] = (lengths - errors) / (1.0 + shares)
        return np.asarray(distance <= self.radius * (1.0 + EDGE))

    def log_volume(self) -> Floats:
        """Give the natural logarithm of the volumes, over the outputs that are not known.

        Returns
        -------
        ndarray of shape (n,), float64
            Infinity where a region has no bounds, minus infinity where it is flat.
        """
        if self.lower is not None and self.upper is not None:
            with np.errstate(divide="ignore"):
                sides = np.log(np.where(self.known, 1.0, self.upper - self.lower))
            # A side without bounds wins over a flat one.
            is_endless = (sides == np.inf).any(axis=1)
            sides[is_endless] = np.inf
            return np.asarray(sides.sum(axis=1))
        assert self.matrix is not None
        assert self.radius is not None
        logs = np.zeros(len(self))
        for pattern, rows in _patterns(~self.known):
            size = pattern.size
            part = self.matrix[rows][:, pattern][:, :, pattern]
            ball = 0.5 * size * np.log(np.pi) - gammaln(0.5 * size + 1.0)
            with np.errstate(divide="ignore"):
                log_radius = np.log(self.radius[rows])
            logs[rows] = ball + 0.5 * np.linalg.slogdet(part)[1] + size * log_radius
        return logs

    def bounds(self) -> tuple[Floats, Floats]:
        """Give the smallest boxes around the regions.

        Returns
        -------
        lower, upper : ndarray of shape (n, d), float64
        """
        if self.lower is not None and self.upper is not None:
            return self.lower, self.upper
        assert self.matrix is not None
        assert self.radius is not None
        sides = np.sqrt(np.maximum(np.einsum("njj->nj", self.matrix), 0.0))
        half = np.where(self.known, 0.0, np.where(sides > 0, sides, 1e-300) * self.radius[:, None])
        return self.center - half, self.center + half

    def __repr__(self) -> str:
        kind = "boxes" if self.is_box else "ellipsoids"
        n_rows, n_outputs = self.center.shape
        return f"Region({n_rows} {kind} over {n_outputs} outputs, alpha={self.alpha:g})"


def read_outputs(Y: Any, shape: tuple[int, ...]) -> Floats:
    """Read outputs of the shape of some regions, (n, d); a ValueError for another."""
    values = as_floats(read_array(Y, "Y"), "Y")
    if values.ndim == 1 and shape[1] == 1:
        values = values[:, np.newaxis]
    if values.shape != shape:
        raise ValueError(
            f"Y must have a row per region and a column per output, of shape {shape}; got "
            f"{values.shape}."
        )
    return values


def _patterns(counted: NDArray[np.bool_]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Group rows in which the same outputs count: their positions, and the rows."""
    if counted.all():
        return [(np.arange(counted.shape[1]), np.arange(counted.shape[0]))]
    patterns, group = np.unique(counted, axis=0, return_inverse=True)
    group = group.reshape(-1)
    return [
        (np.flatnonzero(pattern), np.flatnonzero(group == at))
        for at, pattern in enumerate(patterns)
        if pattern.any()
    ]


def _lengths(matrices: Floats, vectors: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Give the length of each vector in the metric of its matrix, and how exact it is.

    Where outputs depend on each other, the rounding of single outputs counts for much.

    Parameters
    ----------
    matrices : ndarray of shape (m, k, k)
    vectors : ndarray of shape (m, k)
        Differences of outputs.
    sizes : ndarray of shape (m, k)
        Of what was subtracted.

    Returns
    -------
    lengths, errors, shares : ndarray of shape (m,)
        A length may be off by its error, and by its share of itself.
    """
    scale = np.sqrt(np.einsum("njj->nj", matrices))
    inverse = np.linalg.inv(matrices / (scale[:, :, np.newaxis] * scale[:, np.newaxis]))
    unit = vectors / scale
    squares = np.einsum("nj,njk,nk->n", unit, inverse, unit)
    stretch = np.maximum(np.einsum("njj->nj", inverse), 0.0)
    errors = ROUNDING * ((1.0 + sizes / scale) * np.sqrt(stretch)).sum(axis=1)
    return np.sqrt(np.maximum(squares, 0.0)), errors, ROUNDING * stretch.sum(axis=1)
