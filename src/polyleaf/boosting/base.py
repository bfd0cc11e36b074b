"""What fits of boosting for numbers and for classes have in common: rounds and validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyleaf import losses, projections
from polyleaf.boosting.boosted_models import BoostedModels
from polyleaf.boosting.booster import Booster, BoostingSettings
from polyleaf.boosting.checks import (
    Callback,
    as_callbacks,
    check_combinations,
    is_factored,
    monotone_signs,
    resolved_leaf_values,
)
from polyleaf.boosting.factored import FactoredBooster
from polyleaf.boosting.loop import BoostingLoop, StoppingRule, Validation
from polyleaf.boosting.model import BoostedTrees
from polyleaf.boosting.model_booster import ModelBooster
from polyleaf.boosting.parameters import BOOSTING_PARAMETERS
from polyleaf.boosting.prediction import BoostingPrediction
from polyleaf.boosting.race import ChosenView, choose_projection
from polyleaf.boosting.units import Units
from polyleaf.boosting.validation import HeldOut, read_eval_set, score_function, set_aside
from polyleaf.boosting.warm_start import check_goes_on, joined_history
from polyleaf.data import BinnedData, Targets
from polyleaf.data.training import TargetRows, TrainingData
from polyleaf.estimator.parameters import Parameter
from polyleaf.estimator.running import progress_bar
from polyleaf.trees.growing import tree_settings

#: Rows, at most, on which what a model adds to outputs is kept for `output_map_`.
_MAP_ROWS = 512


class BoostingEstimator(BoostingPrediction):
    """Base of the boosted models."""

    _declared: ClassVar[dict[str, Parameter]] = BOOSTING_PARAMETERS

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
