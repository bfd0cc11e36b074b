"""A fitted forest: the trees, what each saw, and how they were chosen; and its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import projections
from polyleaf.estimator.base import schemas_from_file
from polyleaf.files.parameters import stored_entropy
from polyleaf.forests.growing import is_auto
from polyleaf.forests.model import Forest
from polyleaf.trees.growing import tree_settings

if TYPE_CHECKING:
    from polyleaf.data import FeatureSchema, TargetSchema

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class FittedForest:
    """What a fit of a forest has learnt.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    forest : Forest
    seen, updated : ndarray of shape (n_trees, n_channels), bool
        The channels on which each tree was grown, and those that it predicts.
    entropy : list of int
        The seed of all trees.
    trees_per_estimator : int
    projection : Projection or None
    max_features : int or None
        The view and the number of features that were used.
    auto_results : list of dict or None
        What ``projection='auto'`` tried.
    oob_score : float or None
    oob_prediction : object
        What the trees say of rows they did not see; None if nobody asked, or after loading.
    """

    features: FeatureSchema
    targets: TargetSchema
    forest: Forest
    seen: NDArray[np.bool_]
    updated: NDArray[np.bool_]
    entropy: list[int]
    trees_per_estimator: int
    projection: projections.Projection | None
    max_features: int | None
    auto_results: list[dict[str, Any]] | None = None
    oob_score: float | None = None
    oob_prediction: Any = None

    def to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give the arrays of the forest, and how it was made."""
        metadata: dict[str, Any] = {
            "entropy": self.entropy,
            "trees_per_estimator": self.trees_per_estimator,
        }
        if self.auto_results is not None:
            metadata["auto_results_"] = self.auto_results
            metadata["max_features_"] = self.max_features
            metadata["projection_"] = (
                None if self.projection is None else projections.to_json(self.projection)
            )
        if self.oob_score is not None:
            is_number = np.isfinite(self.oob_score)  # JSON has no NaN
            metadata["oob_score_"] = float(self.oob_score) if is_number else None
        bits = {
            "tree_seen_bits": np.packbits(self.seen),
            "tree_updated_bits": np.packbits(self.updated),
        }
        return self.forest.to_arrays() | bits, metadata

    @classmethod
    def from_file(cls, arrays: Arrays, metadata: dict[str, Any], estimator: Any) -> FittedForest:
        """Rebuild and check a forest from a model file."""
        forest = Forest.from_arrays(arrays)
        n_channels = forest.outputs.n_channels
        features, targets = schemas_from_file(metadata, forest.structure.n_features, n_channels)
        if not np.array_equal(forest.structure.n_categories, features.n_categories):
            raise ValueError("the trees and the features disagree about categories.")
        if forest.outputs.is_sparse != targets.is_sparse:
            raise ValueError("the leaves and the outputs disagree about whether y was sparse.")
        per_estimator = int(metadata["trees_per_estimator"])
        if per_estimator < 1 or forest.n_trees % per_estimator:
            raise ValueError(f"Expected {forest.n_trees} trees to be a multiple of those per one.")
        resolved = estimator._resolved(targets)
        view, max_features, tried = _stored_choice(metadata, resolved, forest)
        score = None
        if "oob_score_" in metadata:
            stored = metadata["oob_score_"]
            score = float("nan") if stored is None else float(stored)
        return cls(
            features,
            targets,
            forest,
            _stored_mask(arrays, "seen", forest),
            _stored_mask(arrays, "updated", forest),
            stored_entropy(metadata["entropy"]),
            per_estimator,
            view,
            max_features,
            tried,
            score,
        )


def _stored_mask(arrays: Arrays, name: str, forest: Forest) -> NDArray[np.bool_]:
    shape = (forest.n_trees, forest.outputs.n_channels)
    bits = arrays.get(f"tree_{name}_bits")
    if bits is None or bits.dtype != np.uint8 or bits.size != -(-shape[0] * shape[1] // 8):
        raise ValueError(f"Expected a bit per tree and channel that was {name}.")
    mask = np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape)
    return mask.astype(np.bool_)


def _stored_choice(
    metadata: dict[str, Any], estimator: Any, forest: Forest
) -> tuple[projections.Projection | None, int | None, list[dict[str, Any]] | None]:
    """Read the view, the number of features, and what was tried if they were chosen."""
    n_features = forest.structure.n_features
    if not is_auto(estimator.projection):
        shape = forest.outputs.n_rows, n_features
        view = projections.resolve(estimator.projection)
        return view, tree_settings(estimator, shape, False, view).max_features, None
    stored = metadata["projection_"]
    max_features = int(metadata["max_features_"])
    if not 1 <= max_features <= n_features:
        raise ValueError(f"Expected a number of features; got {max_features}.")
    view = None if stored is None else projections.from_json(stored)
    return view, max_features, list(metadata["auto_results_"])
