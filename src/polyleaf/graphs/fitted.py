"""What a fit of a graph classifier has learnt: the model, its calibration, and its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import FeatureSchema, TargetSchema
from polyleaf.estimator.base import schemas_from_file
from polyleaf.files.arrays import StoredArray, StoredArrays
from polyleaf.graphs.aggregation import Combination
from polyleaf.graphs.kernels import ColumnScale, KernelMap
from polyleaf.graphs.labels import LabelData, is_one_hot, n_states_of
from polyleaf.graphs.model import GraphModel

Arrays = dict[str, NDArray[Any]]


_ARRAYS = StoredArrays(
    "Graph classifiers",
    {
        "above": StoredArray(
            np.float64, "n_channels", "Slope of the sigmoid of positive scores, if calibrated."
        ),
        "below": StoredArray(np.float64, "n_channels", "Slope of the sigmoid of negative scores."),
    },
)


@dataclass(frozen=True, eq=False)
class FittedGraphs:
    """A fitted graph classifier or ensemble.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    model : GraphModel
    slopes : tuple of two ndarrays of shape (n_channels,), float64, or None
        Of the sigmoids of positive and of negative scores; None if they were not calibrated.
    variance_terms : tuple of two floats, or None
        Diversity and coherence of an ensemble's members (theorem 1), averaged over the training
        rows.
    certified : float or None
        Share of the training rows whose labelling is proven to be the best; None if a file does
        not tell.
    constant : float
        The number that `C` stood for.
    """

    features: FeatureSchema
    targets: TargetSchema
    model: GraphModel
    slopes: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    variance_terms: tuple[float, float] | None = None
    certified: float | None = None
    constant: float = float("nan")

    def to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give the arrays of the model, and its settings."""
        arrays = self.model.to_arrays()
        metadata: dict[str, Any] = {
            "model": self.model.settings(),
            "is_calibrated": self.slopes is not None,
        }
        if self.slopes is not None:
            arrays["above"], arrays["below"] = self.slopes
        if self.variance_terms is not None:
            # Squares of huge scores may be infinite, which JSON does not have.
            terms = self.variance_terms
            metadata["variance_terms"] = [t if np.isfinite(t) else None for t in terms]
        if self.certified is not None:
            metadata["certified"] = self.certified
        metadata["constant"] = self.constant
        if isinstance(self.model.kernel_map.kernel, str):
            metadata["kernel"] = self.model.kernel_map.kernel
        return arrays, metadata

    @classmethod
    def from_file(cls, arrays: Arrays, metadata: dict[str, Any], estimator: Any) -> FittedGraphs:
        """Rebuild and check graphs from a model file."""
        kernel = metadata["kernel"] if estimator.kernel == "auto" else estimator.kernel
        model = GraphModel.from_arrays(arrays, kernel, metadata["model"])
        n_states = model.members.n_states
        one_hot = is_one_hot(metadata["targets"]["kind"])
        n_channels = int(n_states.sum()) if one_hot else n_states.size
        n_features = model.kernel_map.n_features
        features, targets = schemas_from_file(metadata, n_features, n_channels)
        if not np.array_equal(n_states_of(targets), n_states):
            raise ValueError("the graphs and the outputs disagree about classes.")
        slopes = _stored_slopes(arrays, n_channels) if metadata["is_calibrated"] else None
        terms = None
        if estimator._is_ensemble:
            diversity, coherence = (
                float("nan") if term is None else float(term)
                for term in metadata["variance_terms"]
            )
            terms = diversity, coherence
        certified = metadata.get("certified")
        if certified is not None:
            certified = float(certified)
            if not 0.0 <= certified <= 1.0:
                raise ValueError("Expected a share of certified rows.")
        constant = float(metadata.get("constant", estimator.C))  # older files have numbers in C
        return cls(features, targets, model, slopes, terms, certified, constant)


def _stored_slopes(
    arrays: Arrays, n_channels: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    slopes = [_ARRAYS.read(arrays, at) for at in ("above", "below")]
    for slope in slopes:
        if slope.size != n_channels or not np.isfinite(slope).all() or slope.min() < 0:
            raise ValueError("Expected a slope of 0 or more per channel.")
    return slopes[0], slopes[1]


def check_kept(
    model: GraphModel,
    combination: Combination,
    kernel_map: KernelMap,
    columns: ColumnScale | None,
    labels: LabelData,
) -> None:
    """Refuse a warm start that cannot keep the members of a model.

    Parameters
    ----------
    model : GraphModel
        Whose members are to be kept.
    combination : Combination
    kernel_map : KernelMap
    columns : ColumnScale or None
    labels : LabelData
        Of the rows that are given now.
    """
    if combination.is_completed:
        raise ValueError(
            "warm_start is not available with completion='consistent', which needs the dual "
            "variables of all members at once. Use completion='zero' or warm_start=False."
        )
    fits = np.array_equal(model.members.n_states, labels.n_states)
    kept = model.columns
    if columns is not None and kept is not None:
        fits &= np.array_equal(columns.centre, kept.centre)
        fits &= np.array_equal(columns.scale, kept.scale)
    fits &= (columns is None) == (kept is None)
    if not fits or not model.kernel_map.is_like(kernel_map):
        raise ValueError(
            "warm_start must be called with the data of the first fit and with its kernel; "
            "got X or y of another shape, other classes, another kernel or other parameters "
            "of it, or other rows for it. Set warm_start=False to fit from scratch."
        )
    if combination.n_members < model.members.n_members:
        raise ValueError(
            f"n_estimators must be at least {model.members.n_members}, the number of "
            f"existing members, if warm_start=True; got {combination.n_members}."
        )
