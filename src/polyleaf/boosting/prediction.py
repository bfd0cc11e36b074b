"""What boosted models for numbers and for classes have in common: stages, maps, model files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf import losses, projections
from polyleaf.boosting.boosted_models import BoostedModels
from polyleaf.boosting.model import BoostedTrees
from polyleaf.boosting.output_cosines import output_cosines
from polyleaf.estimator.base import MultiOutputEstimator
from polyleaf.files.arrays import expect_array
from polyleaf.files.parameters import stored_entropy
from polyleaf.trees.model import apply_trees


class BoostingPrediction(MultiOutputEstimator):
    """Predictions of a fitted boosted model, what it tells about outputs, and its file."""

    _model: BoostedTrees | BoostedModels
    _loss: losses.Loss
    _is_normalized: bool
    _shift: NDArray[np.float64]
    _scale: NDArray[np.float64]
    _trees_per_stage: int
    _moves: NDArray[np.float32] | None
    projection_: projections.Projection | None
    history_: dict[str, NDArray[np.float64]]
    best_iteration_: int

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    @property
    def n_estimators_(self) -> int:
        """Number of rounds that are kept."""
        check_is_fitted(self)
        return self._model.n_trees // self._trees_per_stage

    def _raw(self, X: Any) -> NDArray[np.float32]:
        encoded = self._encode(X)
        return self._model.predict(encoded, self._n_threads())

    def _staged_raw(self, X: Any) -> Iterator[NDArray[np.float32]]:
        encoded = self._encode(X)
        return self._model.staged_predict(encoded, self._trees_per_stage, self._n_threads())

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, n_trees), int32
            Nodes of each tree, numbered in preorder.
        """
        encoded = self._encode(X)
        return apply_trees(self._trees().structure, encoded, self._n_threads())

    def _trees(self) -> BoostedTrees:
        """Give the trees, if it is trees that were boosted."""
        check_is_fitted(self)
        if not isinstance(self._model, BoostedTrees):
            raise AttributeError(
                f"Only boosted trees have leaves and importances; this {type(self).__name__} "
                f"boosts {self.estimator!r}."
            )
        return self._model

    # Inspection --------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the gains of all splits, of shape (p,)."""
        gains = self._trees().feature_gains
        total = gains.sum()
        return gains / total if total > 0 else gains.copy()

    @property
    def output_map_(self) -> NDArray[np.float64]:
        """Which outputs share structure: cosines in [-1, 1], of shape (n_outputs_, n_outputs_).

        Of what the trees add to two outputs: the vectors rho of ``leaf_fit='linear'``, or the
        values of all leaves. 1: every tree moves both alike; 0: they have nothing in common; -1:
        every tree moves them in opposite directions. Channels of an output are taken together.

        Where no tree serves two outputs (one output at a time), and for an `estimator`: of what
        the whole model adds to two outputs on (some of) the training rows.
        """
        check_is_fitted(self)
        moves = self._moves
        n_outputs = self._targets.n_outputs
        offsets: NDArray[Any] = self._targets.channel_offsets
        if offsets[-1] != self._model.n_channels:  # several quantiles per output
            offsets = np.arange(n_outputs + 1) * (self._model.n_channels // n_outputs)
        return output_cosines(self._trees().channel_vectors() if moves is None else moves, offsets)

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        metadata = self._metadata()  # refuses an `estimator`
        metadata["entropy"] = self._entropy
        metadata["trees_per_stage"] = self._trees_per_stage
        metadata["is_normalized"] = self._is_normalized
        metadata["fitted_loss"] = losses.to_json(self._loss)
        view = self.projection_
        metadata["fitted_projection"] = None if view is None else projections.to_json(view)
        arrays = self._trees().to_arrays()
        arrays |= {"output_shift": self._shift, "output_scale": self._scale}
        if self._moves is not None:
            arrays["output_moves"] = self._moves
        arrays |= {f"history_{name}": values for name, values in self.history_.items()}
        return arrays, metadata

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        model = BoostedTrees.from_arrays(arrays)
        loss = losses.from_json(metadata["fitted_loss"])
        repeats = loss.n_values_per_output
        if model.n_channels % repeats:
            raise ValueError(f"Expected {repeats} raw channels per target.")
        estimator = cls._from_metadata(
            metadata, model.structure.n_features, model.n_channels // repeats
        )
        if not np.array_equal(model.structure.n_categories, estimator._features.n_categories):
            raise ValueError("the trees and the features disagree about categories.")
        if estimator._targets.kind not in loss.tasks:
            raise ValueError("the loss does not fit the outputs.")
        per_stage = int(metadata["trees_per_stage"])
        if per_stage < 1 or model.n_trees % per_stage:
            raise ValueError(f"Expected {model.n_trees} trees to be a multiple of those per one.")
        for name in ("shift", "scale"):
            stored = arrays.get(f"output_{name}")
            if stored is None or stored.shape != (model.n_channels,) or stored.dtype != np.float64:
                raise ValueError(f"Expected output_{name} with a number per channel.")
            if not np.all(np.isfinite(stored)):
                raise ValueError(f"Expected output_{name} to be finite.")
            setattr(estimator, f"_{name}", stored)
        estimator._model, estimator._loss = model, loss
        moves = arrays.get("output_moves")
        if moves is not None:
            moves = expect_array(arrays, "output_moves", np.float32, 2)
            if moves.shape[0] != model.n_channels or not np.all(np.isfinite(moves)):
                raise ValueError("Expected finite output_moves with a row per channel.")
        estimator._moves, estimator._is_normalized = moves, bool(metadata["is_normalized"])
        view = metadata["fitted_projection"]
        estimator.projection_ = None if view is None else projections.from_json(view)
        estimator._trees_per_stage = per_stage
        estimator._entropy = stored_entropy(metadata["entropy"])
        estimator.history_ = {
            name.removeprefix("history_"): np.asarray(values, dtype=np.float64)
            for name, values in arrays.items()
            if name.startswith("history_")
        }
        estimator.best_iteration_ = estimator.n_estimators_
        return estimator
