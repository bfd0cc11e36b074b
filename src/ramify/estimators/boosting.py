"""What boosting for numbers and for classes have in common: rounds, validation, model files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ramify import losses, projections
from ramify.estimators.base import MultiOutputEstimator
from ramify.estimators.boosting_checks import (
    Callback,
    as_callbacks,
    check_combinations,
    is_factored,
    monotone_signs,
    resolved_leaf_values,
)
from ramify.estimators.boosting_validation import (
    HeldOut,
    read_eval_set,
    score_function,
    set_aside,
)
from ramify.estimators.boosting_warm_start import check_goes_on, joined_history
from ramify.estimators.parameter_storage import stored_entropy
from ramify.estimators.tree_settings import tree_settings
from ramify.ingest import BinnedData, Targets
from ramify.model import BoostedModels, BoostedTrees, apply_trees
from ramify.model.arrays import expect_array
from ramify.model.output_cosines import output_cosines
from ramify.training import (
    Booster,
    BoostingLoop,
    BoostingSettings,
    ChosenView,
    FactoredBooster,
    ModelBooster,
    StoppingRule,
    TargetRows,
    TrainingData,
    Units,
    Validation,
    choose_projection,
    progress_bar,
)

#: Rows, at most, on which what a model adds to outputs is kept for `output_map_`.
_MAP_ROWS = 512


class BoostingEstimator(MultiOutputEstimator):
    """Base of the boosted models."""

    _model: BoostedTrees | BoostedModels
    _shift: NDArray[np.float64]
    _scale: NDArray[np.float64]
    _trees_per_stage: int
    projection_: projections.Projection | None
    history_: dict[str, NDArray[np.float64]]

    # Fitting -----------------------------------------------------------------------------------

    def _fit(
        self,
        data: BinnedData,
        targets: Targets,
        sample_weight: NDArray[np.float64] | None,
        eval_set: tuple[Any, ...] | None,
        callbacks: Callback | Sequence[Callback],
    ) -> None:
        # Whatever ends a fit early, this estimator is still what it was before.
        draft = object.__new__(type(self))
        draft.__dict__.update(self.__dict__)
        draft._boost(data, targets, sample_weight, eval_set, as_callbacks(callbacks))
        self.__dict__ = draft.__dict__

    def _boost(
        self,
        data: BinnedData,
        targets: Targets,
        sample_weight: NDArray[np.float64] | None,
        eval_set: tuple[Any, ...] | None,
        callbacks: Sequence[Callback],
    ) -> None:
        loss = self._resolved_loss(targets.schema.kind)
        check_combinations(self, loss, data.schema, targets)
        old = self._start(data, targets, loss)
        training, held_out = self._training_data(data, targets, sample_weight, eval_set)
        settings, most_rounds = self._settings(data, loss, training, goes_on=old is not None)
        units = Units.of(training, loss, settings.tree.normalize_outputs)
        if old is not None:
            units = units.kept(self._shift, self._scale)
        booster = self._booster(training, settings, units)
        self._loss, self._is_normalized = loss, settings.tree.normalize_outputs
        self._shift, self._scale = units.shift, units.scale
        self._remember(data.schema, targets.schema)
        validation = self._validation(units, held_out, training.targets)
        rule = StoppingRule(self.n_iter_no_change if self._stops_early else None)
        n_rounds = min(self.n_estimators, most_rounds or self.n_estimators)
        per_stage = None if old is None else self._trees_per_stage
        n_new = n_rounds - (0 if old is None else self.n_estimators_)
        with progress_bar(type(self).__name__, n_new, self.verbose) as advance:
            loop = BoostingLoop(booster, validation, rule, callbacks, advance)
            model = loop.run(n_rounds, old, per_stage)
        assert model is not None
        self._trees_per_stage = booster.n_trees_per_stage
        kept = 0 if old is None else old.n_trees // self._trees_per_stage
        self.history_ = joined_history(self.history_ if kept else {}, kept, loop.history)
        self._model = model
        self.best_iteration_ = self.n_estimators_
        self._moves = self._sampled_moves(training)

    @property
    def _stops_early(self) -> bool:
        """Whether validation rows decide when to stop; 'auto' leaves that to the trial fits."""
        return not isinstance(self.early_stopping, str) and bool(self.early_stopping)

    def _booster(
        self, training: TrainingData, settings: BoostingSettings, units: Units
    ) -> Booster:
        if is_factored(self, settings.loss, training.targets):
            if self._stops_early or self.eval_metric is not None:
                raise ValueError(
                    "So many sparse outputs are boosted without raw predictions, and thus "
                    "without validation: use early_stopping=False and eval_metric=None."
                )
            return FactoredBooster(
                training, settings, self._entropy, self._n_threads(), self.n_estimators, units
            )
        if self.estimator is None:
            return Booster(training, settings, self._entropy, self._n_threads(), units)
        return ModelBooster(
            training, settings, self._entropy, self._n_threads(), self.estimator, units
        )

    def _resolved_loss(self, kind: str) -> losses.Loss:
        if isinstance(self.loss, str) and self.loss == "auto":
            auto = {"regression": "squared_error", "binary": "logistic", "multilabel": "logistic"}
            return losses.resolve(auto.get(kind, "softmax"))
        return losses.resolve(self.loss)

    def _settings(
        self, data: BinnedData, loss: losses.Loss, training: TrainingData, *, goes_on: bool
    ) -> tuple[BoostingSettings, int | None]:
        """Give the settings, and a limit of rounds if the trial fits of a view showed one."""
        is_auto = isinstance(self.projection, str) and self.projection == "auto"
        settings = self._settings_without_view(data, loss)
        most_rounds = None
        if not goes_on:
            if is_auto:
                chosen = self._automatic_view(settings, training)
            else:
                chosen = ChosenView(projections.resolve(self.projection))
            self.projection_ = chosen.projection
            if isinstance(self.early_stopping, str) and not self.warm_start:
                most_rounds = chosen.most_rounds
        tree = replace(settings.tree, projection=self.projection_)
        return replace(settings, tree=tree), most_rounds

    def _automatic_view(self, settings: BoostingSettings, training: TrainingData) -> ChosenView:
        """Choose the view by a race, where all views are possible."""
        if self.leaf_fit == "linear":
            return ChosenView(projections.Gaussian(n_components=1))
        if self.estimator is not None:  # other models have no leaves, and see all outputs
            return ChosenView(None)
        return choose_projection(
            training, settings, self._entropy, self._n_threads(), self.n_estimators
        )

    def _settings_without_view(self, data: BinnedData, loss: losses.Loss) -> BoostingSettings:
        return BoostingSettings(
            tree=tree_settings(self, data.shape, False, None),
            loss=loss,
            learning_rate=float(self.learning_rate),
            leaf_fit=self.leaf_fit,
            leaf_values=resolved_leaf_values(self.leaf_values, loss),
            l2_regularization=float(self.l2_regularization),
            subsample=float(self.subsample),
            monotone=monotone_signs(self.monotonic_cst, data.schema),
        )

    def _start(
        self, data: BinnedData, targets: Targets, loss: losses.Loss
    ) -> BoostedTrees | BoostedModels | None:
        """Give the trees to go on from, if there are any and that is wanted."""
        if not (self.warm_start and hasattr(self, "_model")):
            self._entropy = self._rng().integers(2**32, size=4).tolist()
            return None
        check_goes_on(self, data, targets, loss)
        return self._model

    def _training_data(
        self,
        data: BinnedData,
        targets: Targets,
        sample_weight: NDArray[np.float64] | None,
        eval_set: tuple[Any, ...] | None,
    ) -> tuple[TrainingData, HeldOut | None]:
        """Set validation rows aside, or read those that were given."""
        features, encoded = data.binned(self.max_bins, self._n_threads()), data.encoded
        weights = self._loss_weights(sample_weight, targets, targets)
        held_out = None
        if eval_set is not None:
            held_out = read_eval_set(self, data, targets, eval_set)
        elif self._stops_early:
            kept, aside = set_aside(targets, weights, self.validation_fraction, self._entropy)
            given, w = (None if w is None else w[aside] for w in (sample_weight, weights))
            held_out = HeldOut(encoded[aside], targets.at(aside), given, w)
            features, encoded, targets = features.at(kept), encoded[kept], targets.at(kept)
            weights = None if weights is None else weights[kept]
        training = TrainingData(
            features=features,
            encoded=encoded,
            n_categories=data.schema.n_categories,
            targets=targets,
            weights=weights,
        )
        return training, held_out

    def _ingest_targets(self, y: Any, n_rows: int) -> Targets:
        raise NotImplementedError

    def _loss_weights(
        self, sample_weight: NDArray[np.float64] | None, targets: Targets, counted: Targets
    ) -> NDArray[np.float64] | None:
        """Weights of the loss: those of rows or entries, times those of classes."""
        return sample_weight

    def _validation(
        self, units: Units, held_out: HeldOut | None, training: Targets
    ) -> Validation | None:
        if held_out is None:
            if self.eval_metric is not None:
                raise ValueError(
                    "eval_metric is measured on validation rows: give fit an eval_set, or use "
                    "early_stopping=True."
                )
            return None
        score = None
        if self.eval_metric is not None:
            score = score_function(self, held_out, training)
        rows = units.loss_targets(TargetRows.of(held_out.targets, held_out.weights))
        try:
            self._loss.check_targets(rows)
        except ValueError as error:
            raise ValueError(f"eval_set: {error}") from error
        return Validation(held_out.encoded, rows, score)

    def _truth(self, targets: Targets) -> Any:
        """Targets as metrics want them: NaN where they are not observed."""
        raise NotImplementedError

    def _shown(self, raw: NDArray[np.float32], needs: str) -> Any:
        """Predictions as metrics want them: values, labels, scores or probabilities."""
        raise NotImplementedError

    def _sampled_moves(self, training: TrainingData) -> NDArray[np.float32] | None:
        """Sample what is added to every channel on some training rows, if no tree serves two."""
        is_shared = isinstance(self._model, BoostedTrees) and not isinstance(
            self.projection_, projections.RoundRobin
        )
        if is_shared:
            return None
        rows = training.weighted_rows
        rows = rows[:: -(-rows.size // _MAP_ROWS)]
        raw = self._model.predict(training.encoded[rows], self._n_threads())
        moves = np.nan_to_num(raw - self._model.baseline.astype(np.float32))
        return np.ascontiguousarray(moves.T)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    # Prediction --------------------------------------------------------------------------------

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
        repeats = loss.quantiles.size if isinstance(loss, losses.Quantile) else 1
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
