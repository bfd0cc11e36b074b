"""What boosting for numbers and for classes have in common: the fit, stages and inspection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf import losses, projections
from polyleaf.boosting.booster import Booster, BoostingSettings, sums_in_fixed_point
from polyleaf.boosting.checks import (
    Callback,
    StoppingRule,
    as_callbacks,
    check_combinations,
    check_goes_on,
    is_factored,
    joined_history,
    monotone_signs,
    resolved_leaf_values,
)
from polyleaf.boosting.factored import FactoredBooster
from polyleaf.boosting.fitted import FittedBoosting, RawReader, sampled_moves
from polyleaf.boosting.leaves import Units
from polyleaf.boosting.members import boosted_importances, boosted_member
from polyleaf.boosting.model import BoostedTrees
from polyleaf.boosting.parameters import BOOSTING_PARAMETERS
from polyleaf.boosting.rounds import (
    DEPTH,
    BoostingLoop,
    ChosenView,
    choose_projection,
)
from polyleaf.boosting.validation import (
    HeldOut,
    Validation,
    output_score_function,
    read_eval_sets,
    score_function,
    set_aside,
)
from polyleaf.boosting.weak_models import ModelBooster
from polyleaf.estimator.running import progress_bar
from polyleaf.trees.additive import AdditiveTrees
from polyleaf.trees.growing import TreeSettings, tree_settings
from polyleaf.trees.members import Members
from polyleaf.trees.moments import channel_moments
from polyleaf.trees.shards import Shard
from polyleaf.trees.structure import apply_trees
from polyleaf.trees.tree_model import TreeModel

if TYPE_CHECKING:
    from polyleaf.data import Targets, TrainingData
    from polyleaf.estimator.parameters import Parameter
    from polyleaf.losses import Loss
    from polyleaf.projections import Projection

#: Outputs, at most, whose learning curves are kept.
_MOST_CURVES = 1024
#: The loss that 'auto' stands for; softmax for what is not here.
_AUTO_LOSSES = {"regression": "squared_error", "binary": "logistic", "multilabel": "logistic"}


class Boosting(TreeModel):
    """What boosted models for numbers and for classes have in common."""

    _declared: ClassVar[dict[str, Parameter]] = BOOSTING_PARAMETERS
    _fitted_type = FittedBoosting
    _fitted: FittedBoosting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: tuple[Any, ...] | list[tuple[Any, ...]] | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        output_names: Any = None,
    ) -> Self:
        """Boost the model.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Numbers, or classes and labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
        eval_set : tuple (X, y) or (X, y, sample_weight), or list of such tuples, optional
            Validation rows, for `history_` and early stopping; the last ones of a list stop.
        callbacks : callable or sequence of callable
            Called after every round with a progress that has `n_estimators`, `train_loss`,
            `validation_loss` and `validation_score`; one that returns True ends the fit.
        output_names : sequence of str, of length d, optional
            Names of the outputs, if y has none: an array or a sparse matrix.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, output_names, eval_set=eval_set, callbacks=callbacks)

    def _train(
        self,
        data: TrainingData,
        eval_set: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
        shard: Shard | None = None,
    ) -> FittedBoosting:
        old = self._fitted if self.warm_start and hasattr(self, "_fitted") else None
        loss = self._resolved_loss(data, old)
        declared = {
            "n_values": loss.n_values_per_output,
            "is_squared_error": loss.is_squared_error,
            "is_joint": loss.is_joint_over_outputs,
            "can_part": loss.can_part_outputs,
        }
        n_rows = data.n_rows if shard is None else shard.count(data.n_rows)
        tree = tree_settings(self, (n_rows, data.features.n_features), False, None)
        entropy = self._rng().integers(2**32, size=4).tolist() if old is None else old.entropy
        if self._has_auto_depth:
            tree = replace(tree, max_depth=DEPTH)
        settings = self._settings(data, tree, loss, declared)
        heard = as_callbacks(callbacks)
        check_combinations(self, settings, data.schema, data.targets)
        if old is not None:
            check_goes_on(self, old, data, loss)
        if shard is None and self._sums_fixed(data, tree):
            shard = Shard.alone(data.n_rows)
        data, shard, held_out = self._validation_rows(data, eval_set, entropy, shard)
        if old is None:
            view = self._choose_view(data, settings, entropy, shard)
        else:
            view = ChosenView(old.projection)
        tree = replace(
            tree, projection=view.projection, sums="float" if shard is None else "fixed"
        )
        if view.max_depth is not None:
            tree = replace(tree, max_depth=view.max_depth)
        settings = replace(settings, tree=tree)
        moments = channel_moments(data.targets, shard, self._n_threads())
        units = Units.of(data, moments, loss, settings.n_values, tree.normalize_outputs, shard)
        if old is not None:  # its trees speak in its units
            units = replace(units, shift=old.reader.shift, scale=old.reader.scale)
        reader = RawReader(loss, data.targets.schema, units.shift, units.scale)
        booster = self._booster(data, settings, entropy, units, shard)
        validations = [self._validation(reader, units, h, data.targets, shard) for h in held_out]
        n_rounds = min(self.n_estimators, view.most_rounds or self.n_estimators)
        rule = StoppingRule(self.n_iter_no_change if self._stops_early else None)
        loop = BoostingLoop(booster, validations, rule, heard)
        rounds = self._run(loop, n_rounds, old)
        history = joined_history(old, loop.history)
        model = booster.joined(rounds, None if old is None else old.model)
        # Leaves know what trees add to outputs, unless each tree serves one output alone.
        is_told = isinstance(model, BoostedTrees) and not isinstance(
            view.projection, projections.RoundRobin
        )
        return FittedBoosting(
            features=data.schema,
            targets=data.targets.schema,
            model=model,
            reader=reader,
            is_normalized=tree.normalize_outputs,
            projection=view.projection,
            history=history,
            trees_per_stage=booster.n_trees_per_stage,
            entropy=entropy,
            moves=None if is_told else sampled_moves(model, data, booster.n_threads, shard),
            max_depth=tree.max_depth,
        )

    def _resolved_loss(self, data: TrainingData, old: FittedBoosting | None) -> Loss:
        """Give the loss that `loss` names; `old` is the model to continue."""
        name = self.loss
        if isinstance(name, str) and name == "auto":
            name = _AUTO_LOSSES.get(data.targets.schema.kind, "softmax")
        return losses.resolve(name)

    @property
    def _stops_early(self) -> bool:
        """Whether validation rows decide when to stop; 'auto' leaves that to the trial fits."""
        return not isinstance(self.early_stopping, str) and bool(self.early_stopping)

    def _settings(
        self, data: TrainingData, tree: TreeSettings, loss: Loss, declared: dict[str, Any]
    ) -> BoostingSettings:
        """Give the settings, but for the view; `declared` is what the loss says of itself."""
        return BoostingSettings(
            tree=tree,
            loss=loss,
            learning_rate=float(self.learning_rate),
            leaf_fit=self.leaf_fit,
            leaf_values=resolved_leaf_values(self.leaf_values, loss),
            l2_regularization=float(self.l2_regularization),
            subsample=float(self.subsample),
            row_sampling=self.row_sampling,
            monotone=monotone_signs(self.monotonic_cst, data.schema),
            **declared,
        )

    def _sums_fixed(self, data: TrainingData, tree: TreeSettings) -> bool:
        """Tell whether trees are boosted by sums in fixed point."""
        return self.estimator is None and sums_in_fixed_point(
            data, tree, Shard(np.zeros(0, np.int64))
        )

    def _validation_rows(
        self, data: TrainingData, eval_set: Any, entropy: list[int], shard: Shard | None
    ) -> tuple[TrainingData, Shard | None, list[HeldOut]]:
        """Read the validation rows that were given, or set some training rows aside."""
        if isinstance(eval_set, HeldOut):  # a worker has read its own
            return data, shard, [eval_set]
        if eval_set is not None:
            return data, shard, read_eval_sets(self, data, eval_set)
        if self._stops_early:
            data, shard, held_out = set_aside(data, self.validation_fraction, entropy, shard)
            return data, shard, [held_out]
        if self.eval_metric is not None:
            raise ValueError(
                "eval_metric is measured on validation rows: give fit an eval_set, or use "
                "early_stopping=True."
            )
        return data, shard, []

    def _choose_view(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: list[int],
        shard: Shard | None,
    ) -> ChosenView:
        """Choose the view: by a race, where that is asked for and all views are possible."""
        if not (isinstance(self.projection, str) and self.projection == "auto"):
            return ChosenView(projections.resolve(self.projection))
        if self.leaf_fit == "linear":
            return ChosenView(projections.Gaussian(n_components=1))
        if self.estimator is not None:  # other models have no leaves, and see all outputs
            return ChosenView(None)
        # Rounds that are added to a model have trees of one depth, whatever rows they are given.
        tries_depth = self._has_auto_depth and self.max_leaf_nodes is None and not self.warm_start
        # Sums that are fixed only because rows are many leave the race as it was.
        raced = shard if settings.tree.sums == "fixed" else None
        chosen = choose_projection(
            data, settings, entropy, self._n_threads(), self.n_estimators, tries_depth, raced
        )
        if self.warm_start or not isinstance(self.early_stopping, str):
            return replace(chosen, most_rounds=None)
        return chosen

    @property
    def _has_auto_depth(self) -> bool:
        return isinstance(self.max_depth, str)

    def _booster(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: list[int],
        units: Units,
        shard: Shard | None = None,
    ) -> Booster:
        n_threads = self._n_threads()
        if is_factored(self, settings, data.targets):
            if shard is not None and shard.reduce is not None:
                raise ValueError(
                    "Raw predictions of so many sparse outputs do not fit a worker, and on a "
                    "cluster they have no factored form. Use more workers, or fit on one machine."
                )
            if self._stops_early or self.eval_metric is not None:
                raise ValueError(
                    "So many sparse outputs are boosted without raw predictions, and thus "
                    "without validation: use early_stopping=False and eval_metric=None."
                )
            return FactoredBooster(data, settings, entropy, n_threads, self.n_estimators, units)
        if self.estimator is None:
            return Booster(data, settings, entropy, n_threads, units, shard)
        return ModelBooster(data, settings, entropy, n_threads, self.estimator, units)

    def _validation(
        self,
        reader: RawReader,
        units: Units,
        held_out: HeldOut,
        training: Targets,
        shard: Shard | None,
    ) -> Validation:
        by_output = 1 < training.schema.n_outputs <= _MOST_CURVES
        score = output_scores = None
        if self.eval_metric is not None:
            score = score_function(self, reader, held_out, training)
            if by_output:
                output_scores = output_score_function(self, reader, held_out, training)
        rows = units.loss_targets(held_out.targets)
        try:
            reader.loss.check_targets(rows)
        except ValueError as error:
            raise ValueError(f"eval_set: {error}") from error
        if shard is not None:
            shard = Shard(np.arange(rows.n_rows), shard.reduce)
        return Validation(
            held_out.encoded,
            rows,
            reader.loss,
            score,
            output_scores,
            by_output=by_output,
            shard=shard,
        )

    def _run(self, loop: BoostingLoop, n_rounds: int, old: FittedBoosting | None) -> list[Any]:
        if old is None:
            n_old, model, per_stage = 0, None, None
        else:
            n_old, model, per_stage = old.n_rounds, old.model, old.trees_per_stage
        bar: Any = nullcontext()  # a loop without one does not stop after every round
        if self.verbose or getattr(self, "_skl_callbacks", None):
            bar = progress_bar(type(self).__name__, n_rounds - n_old, self.verbose)
        with bar as loop.advance:
            return loop.run(n_rounds, model, per_stage)

    def _truth(self, targets: Targets) -> Any:
        """Targets as metrics want them: NaN where they are not observed."""
        raise NotImplementedError

    def _shown(self, reader: RawReader, raw: NDArray[np.float32], needs: str) -> Any:
        """Predictions as metrics want them: values, labels, scores or probabilities."""
        raise NotImplementedError

    # Predictions -------------------------------------------------------------------------------

    def _raw(self, X: Any) -> NDArray[np.float32]:
        encoded = self._encode(X)
        return self._fitted.model.predict(encoded, self._n_threads())

    def _staged_raw(self, X: Any) -> Iterator[NDArray[np.float32]]:
        encoded = self._encode(X)
        fitted = self._fitted
        return fitted.model.staged_predict(encoded, fitted.trees_per_stage, self._n_threads())

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

    # What was learnt ---------------------------------------------------------------------------

    @property
    def n_estimators_(self) -> int:
        """Number of rounds that are kept."""
        check_is_fitted(self)
        return self._fitted.n_rounds

    @property
    def best_iteration_(self) -> int:
        """Number of rounds that are kept: up to the best, if there is early stopping."""
        return self.n_estimators_

    @property
    def rho_(self) -> NDArray[np.float64]:
        """Factor of every output in every tree, of shape (n_trees, n_channels).

        Only with ``leaf_fit='linear'`` (Algorithm 3 of Joly et al. 2019): a tree adds its own
        number times rho to the raw predictions. The learning rate is in it.
        """
        factors = self._trees().tree_factors
        if factors is None:
            raise AttributeError(
                f"Only leaf_fit='linear' on a view of all outputs has rho_; this "
                f"{type(self).__name__} has leaf_fit={self.leaf_fit!r}."
            )
        return factors.astype(np.float64)

    @property
    def projection_(self) -> Projection | None:
        """The view of the outputs that was used; None: all of them."""
        check_is_fitted(self)
        return self._fitted.projection

    @property
    def history_(self) -> dict[str, NDArray[np.float64]]:
        """Mean loss after every round, and what was measured on validation rows.

        "train_loss"; with validation rows "validation_loss", and "validation_score" if there is
        an `eval_metric` (larger is better), each of shape (n_rounds,). With 2 to 1024 outputs
        also "validation_loss_per_output" and "validation_score_per_output", of shape
        (n_rounds, n_outputs_), where the loss or metric has a value for an output alone. If
        `eval_set` was a list, "validation_0_loss" and so on for each, and the names without a
        number for the last.
        """
        check_is_fitted(self)
        return self._fitted.history

    def _trees(self) -> BoostedTrees:
        """Give the trees, if it is trees that were boosted."""
        check_is_fitted(self)
        model = self._fitted.model
        if not isinstance(model, BoostedTrees):
            raise AttributeError(
                f"Only boosted trees have leaves and importances; this {type(self).__name__} "
                f"boosts {self.estimator!r}."
            )
        return model

    def _additive(self) -> AdditiveTrees:
        """Give the model as a sum of trees: raw scores, or numbers in the units of Y."""
        reader = self._fitted.reader
        return self._trees().additive(reader.scale, reader.shift)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the gains of all splits, of shape (p,)."""
        gains = self._trees().feature_gains
        total = gains.sum()
        return gains / total if total > 0 else gains.copy()

    @property
    def output_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature for each output, of shape (n_outputs_, p).

        What each feature's splits take off the variance, over the training rows, of what the
        trees add to an output. A row adds up to 1, or to 0 if no tree moves that output.
        """
        return boosted_importances(self._known_rows("importances"), self._fitted.channel_offsets())

    @property
    def estimators_(self) -> Members:
        """The trees in their order, each as a `TreeRegressor` of what it adds to the scores.

        Its outputs are the channels: targets, labels, or every class of a class output. A round
        has several trees where outputs or classes are boosted one at a time.
        """
        trees = self._known_rows("trees to read")
        return Members(trees.n_trees, partial(boosted_member, self, trees))

    @property
    def tree_outputs_(self) -> NDArray[np.bool_]:
        """Which outputs each tree saw in the choice of its splits, of shape (n_trees, n_outputs_).

        With a view of all outputs, or a dense combination of them, that is all that vary. A tree
        adds to outputs that it did not see as well, unless outputs are boosted one at a time.
        """
        seen = self._trees().seen_channels()
        return np.logical_or.reduceat(seen, self._fitted.channel_offsets()[:-1], axis=1)

    def _known_rows(self, what: str) -> AdditiveTrees:
        """Give the trees, if they know how many training rows reached their leaves."""
        trees = self._additive()
        if trees.leaf_rows is None:
            raise AttributeError(
                "This model comes from an older file, which lacks the number of training rows per "
                f"leaf; fit it again for {what}."
            )
        return trees

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
        return self._fitted.output_map()
