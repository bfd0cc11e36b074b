"""Turn encoded X into the columns that linear models, kernels and distances can use.

Numbers are centred, scaled and held within what training showed; missing ones become 0, with a
column that says so; categories become one column each. A sparse X stays sparse: it is scaled only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyleaf.data import EncodedX, FeatureSchema

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Columns: TypeAlias = NDArray[np.float64] | CSR

#: A column of categories with more of them says little to a linear model, and costs a lot.
_MOST_CATEGORIES = 100
#: Beyond so many deviations from the mean a number counts as that far.
_FARTHEST = 10.0

_ARRAYS = StoredArrays(
    "Columns of baselines (estimators of polyleaf.AutoRegressor and AutoClassifier)",
    {
        "design_numeric": StoredArray(np.int64, "n_numeric", "Features that are numbers."),
        "design_centre": StoredArray(np.float64, "n_numeric", "What is subtracted from them."),
        "design_scale": StoredArray(np.float64, "n_numeric", "What they are divided by."),
        "design_gaps": StoredArray(
            np.int64, "n_gaps", "Features with a column that says where they are missing."
        ),
        "design_nominal": StoredArray(np.int64, "n_nominal", "Features with categories."),
        "design_levels": StoredArray(np.int64, "n_nominal", "How many each of these has."),
    },
)


@dataclass(frozen=True, eq=False)
class Design:
    """How encoded rows become columns.

    Attributes
    ----------
    n_features : int
    numeric : ndarray of shape (n_numeric,), int64
    centre, scale : ndarray of shape (n_numeric,), float64
    gaps : ndarray of shape (n_gaps,), int64
    nominal, levels : ndarray of shape (n_nominal,), int64
    is_sparse : bool
        Whether rows are sparse: centre is 0, and there are neither gaps nor categories.
    """

    n_features: int
    numeric: NDArray[np.int64]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    gaps: NDArray[np.int64]
    nominal: NDArray[np.int64]
    levels: NDArray[np.int64]
    is_sparse: bool

    @classmethod
    def fit(cls, schema: FeatureSchema, encoded: EncodedX) -> Design:
        """Learn centres and scales from training rows."""
        n_levels = schema.n_categories.astype(np.int64)
        is_number = ~schema.is_categorical
        none: NDArray[np.int64] = np.empty(0, np.int64)
        if not isinstance(encoded, np.ndarray):
            numeric = np.flatnonzero(is_number).astype(np.int64)
            largest = abs(_finite(encoded)).max(axis=0).toarray().ravel()[numeric]
            kept = largest > 0
            numeric, scale = numeric[kept], largest[kept].astype(np.float64)
            centre = np.zeros(numeric.size)
            return cls(schema.n_features, numeric, centre, scale, none, none, none, True)
        numbers = np.flatnonzero(is_number).astype(np.int64)
        centre, scale = _moments(encoded[:, numbers])
        varies = scale > 0
        numeric, centre, scale = numbers[varies], centre[varies], scale[varies]
        is_gap = np.isnan(encoded[:, numbers])
        gaps = numbers[is_gap.any(axis=0) & ~is_gap.all(axis=0)]
        nominal = np.flatnonzero((n_levels > 0) & (n_levels <= _MOST_CATEGORIES) & ~is_number)
        return cls(
            schema.n_features,
            numeric,
            centre,
            scale,
            gaps,
            nominal.astype(np.int64),
            n_levels[nominal],
            False,
        )

    @property
    def n_columns(self) -> int:
        """Number of columns; where no feature says anything there is one of zeros."""
        return max(1, self._n_telling)

    @property
    def _n_telling(self) -> int:
        return int(self.numeric.size + self.gaps.size + self.levels.sum())

    def __call__(self, encoded: EncodedX) -> Columns:
        """Give the columns of encoded rows, of shape (n, n_columns)."""
        if not self._n_telling:
            nothing = np.zeros((encoded.shape[0], 1))
            return sparse.csr_array(nothing) if self.is_sparse else nothing
        if self.is_sparse:
            rows = encoded if not isinstance(encoded, np.ndarray) else sparse.csr_array(encoded)
            chosen: Any = _finite(rows)[:, self.numeric]
            scaled: CSR = sparse.csr_array(chosen @ sparse.diags_array(1.0 / self.scale))
            return scaled
        if not isinstance(encoded, np.ndarray):
            encoded = encoded.toarray()
        numbers = (encoded[:, self.numeric].astype(np.float64) - self.centre) / self.scale
        numbers = np.clip(np.where(np.isnan(numbers), 0.0, numbers), -_FARTHEST, _FARTHEST)
        parts = [numbers, np.isnan(encoded[:, self.gaps]).astype(np.float64)]
        for j, n_levels in zip(self.nominal.tolist(), self.levels.tolist()):
            parts.append((encoded[:, j, None] == np.arange(n_levels)).astype(np.float64))
        return np.concatenate(parts, axis=1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        return {
            "design_numeric": self.numeric,
            "design_centre": self.centre,
            "design_scale": self.scale,
            "design_gaps": self.gaps,
            "design_nominal": self.nominal,
            "design_levels": self.levels,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], n_features: int, is_sparse: bool
    ) -> Design:
        """Rebuild and check columns from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        found = {name: _ARRAYS.read(arrays, f"design_{name}") for name in _NAMES}
        for name in ("numeric", "gaps", "nominal"):
            expect_below(found[name], n_features, f"design_{name}")
        sizes = [found[name].size for name in ("numeric", "centre", "scale")]
        if len(set(sizes)) > 1 or found["nominal"].size != found["levels"].size:
            raise ValueError("Expected a centre and a scale of each column.")
        if not np.isfinite(found["centre"]).all() or not (found["scale"] > 0).all():
            raise ValueError("Expected centres and scales to be numbers, and scales above 0.")
        expect_below(found["levels"], _MOST_CATEGORIES + 1, "design_levels")
        if is_sparse and (found["gaps"].size or found["nominal"].size or found["centre"].any()):
            raise ValueError("Expected sparse columns to be scaled only.")
        return cls(n_features, is_sparse=is_sparse, **found)


_NAMES = ("numeric", "centre", "scale", "gaps", "nominal", "levels")


def _finite(rows: Any) -> CSR:
    """Give sparse rows with 0 for what is missing, and large numbers for infinite ones."""
    limit = 1e100
    data = np.nan_to_num(rows.data.astype(np.float64), nan=0.0, posinf=limit, neginf=-limit)
    data = np.clip(data, -limit, limit)
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _moments(numbers: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give mean and standard deviation of what is known and finite; 0 where nothing varies."""
    values = numbers.astype(np.float64)
    known = np.isfinite(values) & (np.abs(values) < 1e100)
    values = np.where(known, values, 0.0)
    counts = np.maximum(known.sum(axis=0), 1)
    unit = np.maximum(np.abs(values).max(axis=0, initial=0.0), 1e-300)
    values /= unit
    centre = values.sum(axis=0) / counts
    deviations = np.where(known, values - centre, 0.0)
    spread = np.sqrt((deviations**2).sum(axis=0) / counts)
    spread = np.where(spread > 1e-12, spread * unit, 0.0)
    return centre * unit, np.where(np.isfinite(spread) & (spread > 1e-290), spread, 0.0)
