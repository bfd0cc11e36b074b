"""What boosting for numbers and for classes have in common: rounds, validation, model files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ramify import losses, projections
from ramify.estimators import boosting_checks
from ramify.estimators.base import MultiOutputEstimator
from ramify.estimators.boosting_checks import (
    check_combinations,
    monotone_signs,
    resolved_leaf_values,
)
from ramify.estimators.parameter_storage import stored_entropy
from ramify.estimators.tree_settings import tree_settings
from ramify.ingest import BinnedData, Targets, align_targets
from ramify.metrics import METRICS
from ramify.model import BoostedModels, BoostedTrees, apply_trees
from ramify.training import (
    Booster,
    BoostingLoop,
    BoostingProgress,
    BoostingSettings,
    ChosenView,
    FactoredBooster,
    ModelBooster,
    StoppingRule,
    TrainingData,
    Units,
    Validation,
    choose_projection,
    progress_bar,
)

#: A stream of chance for the rows that are set aside.
_SPLIT_STREAM = 2**32 + 1

Callback = Callable[[BoostingProgress], Any]


class BoostingEstimator(MultiOutputEstimator):
    """Base of the boosted models."""

    _model: BoostedTrees | BoostedModels
    projection_: projections.Projection | None
    history_: dict[str, NDArray[np.float64]]

    # Fitting -----------------------------------------------------------------------------------

    def _fit(
        self,
        data: BinnedData,
        targets: Targets,
        weights: NDArray[np.float64] | None,
        eval_set: tuple[Any, Any] | None,
        callbacks: Sequence[Callback],
    ) -> None:
        loss = self._resolved_loss(targets.schema.kind)
        check_combinations(self, loss, targets)
        old = self._start(data, targets)
        training, held_out = self._training_data(data, targets, weights, eval_set)
        settings, most_rounds = self._settings(data, loss, training)
        booster = self._booster(training, settings)
        self._loss, units = loss, booster.units
        self._shift, self._scale = units.shift, units.scale
        self._remember(data.schema, targets.schema)
        validation = self._validation(booster, held_out, training.targets)
        rule = StoppingRule(self.n_iter_no_change if self._stops_early else None)
        n_rounds = min(self.n_estimators, most_rounds or self.n_estimators)
        with progress_bar(type(self).__name__, n_rounds, self.verbose) as advance:
            loop = BoostingLoop(booster, validation, rule, callbacks, advance)
            model = loop.run(n_rounds, old)
        assert model is not None
        self._trees_per_stage = booster.n_trees_per_stage
        self._model = model
        self._remember_history(loop.history, goes_on=old is not None)

    @property
    def _stops_early(self) -> bool:
        """Whether validation rows decide when to stop; 'auto' leaves that to the trial fits."""
        return not isinstance(self.early_stopping, str) and bool(self.early_stopping)

    def _booster(self, training: TrainingData, settings: BoostingSettings) -> Booster:
        if boosting_checks.raw_bytes(training.targets) > boosting_checks.LARGEST_RAW_BYTES:
            if self._stops_early or self.eval_metric is not None:
                raise ValueError(
                    "So many sparse outputs are boosted without raw predictions, and thus "
                    "without validation: use early_stopping=False and eval_metric=None."
                )
            return FactoredBooster(
                training, settings, self._entropy, self._n_threads(), self.n_estimators
            )
        if self.estimator is None:
            return Booster(training, settings, self._entropy, self._n_threads())
        return ModelBooster(training, settings, self._entropy, self._n_threads(), self.estimator)

    def _resolved_loss(self, kind: str) -> losses.Loss:
        if isinstance(self.loss, str) and self.loss == "auto":
            auto = {"regression": "squared_error", "binary": "logistic", "multilabel": "logistic"}
            return losses.resolve(auto.get(kind, "softmax"))
        return losses.resolve(self.loss)

    def _settings(
        self, data: BinnedData, loss: losses.Loss, training: TrainingData
    ) -> tuple[BoostingSettings, int | None]:
        """Give the settings, and a limit of rounds if the trial fits of a view showed one."""
        is_auto = isinstance(self.projection, str) and self.projection == "auto"
        settings = self._settings_without_view(data, loss)
        most_rounds = None
        if not (self.warm_start and hasattr(self, "_model")):
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

    def _start(self, data: BinnedData, targets: Targets) -> BoostedTrees | BoostedModels | None:
        """Give the trees to go on from, if there are any and that is wanted."""
        if not (self.warm_start and hasattr(self, "_model")):
            self._entropy = self._rng().integers(2**32, size=4).tolist()
            return None
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"n_estimators must be at least {self.n_estimators_}, the number of rounds that "
                f"are there, if warm_start=True; got {self.n_estimators}."
            )
        same = (
            data.schema.to_json() == self._features.to_json()
            and targets.schema.to_json() == self._targets.to_json()
        )
        if not same:
            raise ValueError(
                "warm_start=True adds trees grown on the same X and y as before; got others. Use "
                "warm_start=False to start anew."
            )
        return self._model

    def _training_data(
        self,
        data: BinnedData,
        targets: Targets,
        weights: NDArray[np.float64] | None,
        eval_set: tuple[Any, Any] | None,
    ) -> tuple[TrainingData, tuple[Any, Targets] | None]:
        """Set validation rows aside, or read those that were given."""
        features, encoded = data.binned(self.max_bins, self._n_threads()), data.encoded
        held_out = None
        if eval_set is not None:
            held_out = self._read_eval_set(data, targets, eval_set)
        elif self._stops_early:
            kept, aside = self._split(data.n_rows)
            held_out = encoded[aside], targets.at(aside)
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

    def _split(self, n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw the rows to train on and those to validate on, both ascending."""
        n_aside = int(np.ceil(self.validation_fraction * n_rows))
        if n_aside >= n_rows:
            raise ValueError(
                f"early_stopping=True sets {n_aside} of {n_rows} rows aside, which leaves none "
                "to train on. Give more rows, an eval_set, or early_stopping=False."
            )
        order = np.random.default_rng([*self._entropy, _SPLIT_STREAM]).permutation(n_rows)
        return np.sort(order[n_aside:]), np.sort(order[:n_aside])

    def _read_eval_set(
        self, data: BinnedData, targets: Targets, eval_set: tuple[Any, Any]
    ) -> tuple[Any, Targets]:
        if not isinstance(eval_set, tuple) or len(eval_set) != 2:
            raise ValueError(
                f"eval_set must be a pair (X, y); got {type(eval_set).__name__}. For early "
                "stopping on training rows leave it out."
            )
        encoded = data.schema.encode(eval_set[0], estimator_name=type(self).__name__)
        read = self._ingest_targets(eval_set[1], encoded.shape[0])
        return encoded, align_targets(read, targets.schema)

    def _ingest_targets(self, y: Any, n_rows: int) -> Targets:
        raise NotImplementedError

    def _validation(
        self, booster: Booster, held_out: tuple[Any, Targets] | None, training: Targets
    ) -> Validation | None:
        if held_out is None:
            if self.eval_metric is not None:
                raise ValueError(
                    "eval_metric is measured on validation rows: give fit an eval_set, or use "
                    "early_stopping=True."
                )
            return None
        encoded, targets = held_out
        score = None
        if self.eval_metric is not None:
            score = self._score_of(targets, training, booster.units)
        return Validation(encoded, booster.units.loss_targets(booster.data, targets), score)

    def _score_of(
        self, targets: Targets, training: Targets, units: Units
    ) -> Callable[[NDArray[np.float32]], float]:
        """Make the function from raw predictions of the validation rows to a score."""
        metric, sign = self.eval_metric, 1.0
        needs = "values" if targets.schema.kind == "regression" else "labels"
        if isinstance(metric, str):
            known = METRICS[metric]
            kind = targets.schema.kind
            if known.task != kind:
                raise ValueError(
                    f"eval_metric={metric!r} is for {known.task} problems; y is {kind}. Use "
                    "another metric or a callable."
                )
            sign, needs = (1.0 if known.greater_is_better else -1.0), known.needs
            metric = known.prepare(self._truth(training))
        truth = self._truth(targets)

        def score(raw: NDArray[np.float32]) -> float:
            return sign * float(metric(truth, self._shown(raw, needs)))

        return score

    def _truth(self, targets: Targets) -> Any:
        """Targets as metrics want them: NaN where they are not observed."""
        raise NotImplementedError

    def _shown(self, raw: NDArray[np.float32], needs: str) -> Any:
        """Predictions as metrics want them: values, labels or scores."""
        raise NotImplementedError

    def _remember_history(self, history: dict[str, list[float]], *, goes_on: bool) -> None:
        old = self.history_ if goes_on else {}
        kept = self.n_estimators_
        self.history_ = {
            name: np.concatenate([old.get(name, []), values]) for name, values in history.items()
        }
        self.best_iteration_ = kept

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
        """
        check_is_fitted(self)
        vectors = self._model.channel_vectors()
        lengths = np.linalg.norm(vectors, axis=1)
        vectors = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
        cosines = vectors @ vectors.T
        n_channels, n_outputs = self._model.n_channels, self._targets.n_outputs
        if n_channels != n_outputs:
            offsets: NDArray[Any] = self._targets.channel_offsets
            if offsets[-1] != n_channels:  # several quantiles per output
                offsets = np.arange(n_outputs + 1) * (n_channels // n_outputs)
            sizes = np.diff(offsets)
            sums = np.add.reduceat(np.add.reduceat(cosines**2, offsets[:-1], 0), offsets[:-1], 1)
            cosines = np.sqrt(sums / np.outer(sizes, sizes) * np.sqrt(np.outer(sizes, sizes)))
        cosines = np.clip(cosines, -1.0, 1.0)
        np.fill_diagonal(cosines, 1.0)
        return cosines

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        metadata = self._metadata()  # refuses an `estimator`
        metadata["entropy"] = self._entropy
        metadata["trees_per_stage"] = self._trees_per_stage
        metadata["fitted_loss"] = losses.to_json(self._loss)
        view = self.projection_
        metadata["fitted_projection"] = None if view is None else projections.to_json(view)
        arrays = self._trees().to_arrays()
        arrays |= {"output_shift": self._shift, "output_scale": self._scale}
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
