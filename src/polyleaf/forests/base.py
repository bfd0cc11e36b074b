"""What all forests have in common: growing, adding trees, inspection, model files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf import projections
from polyleaf.data import BinnedData, Targets
from polyleaf.data.training import TrainingData
from polyleaf.estimator.parameters import Parameter, count
from polyleaf.estimator.progress import progress_bar
from polyleaf.files.parameters import stored_entropy
from polyleaf.forests.aggregation import weigh_trees
from polyleaf.forests.described_tree import described_tree
from polyleaf.forests.growing import ForestGrower, ForestSettings, Member
from polyleaf.forests.joining import JoinedForest
from polyleaf.forests.members import Members
from polyleaf.forests.model import Forest
from polyleaf.forests.out_of_bag import OutOfBag, predict_out_of_bag
from polyleaf.forests.prediction import ForestPrediction
from polyleaf.forests.race import Race
from polyleaf.trees.parameters import TREE_PARAMETERS
from polyleaf.trees.settings import tree_settings
from polyleaf.trees.single_tree import SingleTree


class ForestEstimator(ForestPrediction):
    """Base of all forests."""

    _declared: ClassVar[dict[str, Parameter]] = TREE_PARAMETERS

    #: Extra trees cut at random.
    _random_cuts = False
    #: What a tree of the forest is as an estimator of its own.
    _member_type: type[SingleTree]
    projection_: projections.Projection | None
    max_features_: int | None

    _entropy: list[int]
    _seen: NDArray[np.bool_]
    _updated: NDArray[np.bool_]

    # Fitting -----------------------------------------------------------------------------------

    def _fit(
        self, data: BinnedData, targets: Targets, weights: NDArray[np.float64] | None
    ) -> None:
        self._check_combinations()
        n_threads = self._n_threads()
        training = TrainingData(
            features=data.binned(self.max_bins, n_threads),
            encoded=data.encoded,
            n_categories=data.schema.n_categories,
            targets=targets,
            weights=weights,
        )
        old = self._trees_to_keep(data, training)
        entropy = self._rng().integers(2**32, size=4).tolist() if old is None else self._entropy
        settings = self._settings(data.shape)
        settings, members, tried = self._choose(settings, training, entropy, old, n_threads)
        grower = ForestGrower(training, settings, entropy)
        per_estimator = grower.n_trees_per_estimator
        n_old = len(members)
        if old is not None:
            self._check_goes_on(per_estimator)
            n_old = old.n_trees
        trees = range(n_old, self.n_estimators * per_estimator)
        with (
            progress_bar(type(self).__name__, len(trees), self.verbose) as advance,
            closing(grower.grow(trees, n_threads)) as grown,  # so that no thread outlives this
        ):
            forest = self._put_together(old, members, grown, len(trees), advance)
        weights = weigh_trees(
            forest, self.aggregation, self._seen, self._updated, training.encoded
        )
        self._forest = forest.with_tree_weights(weights)
        self._entropy = entropy
        self._trees_per_estimator = per_estimator
        self._remember(data.schema, targets.schema)
        self._remember_choice(settings, tried)
        self._score_out_of_bag(training, n_threads)

    def _check_combinations(self) -> None:
        name = type(self).__name__
        if not self.bootstrap:
            if self.aggregation == "oob":
                raise ValueError(
                    f"aggregation='oob' of {name} weighs trees by the rows they were not grown "
                    "on, and needs bootstrap=True; got bootstrap=False. Use aggregation='total' "
                    "or 'subspace' with it."
                )
            if self.oob_score:
                raise ValueError(f"oob_score of {name} needs bootstrap=True; got bootstrap=False.")
            if self.max_samples is not None:
                raise ValueError(
                    f"max_samples of {name} is the size of a bootstrap sample and needs "
                    f"bootstrap=True; got {self.max_samples} with bootstrap=False."
                )
        if _is_auto(self.projection) and self.projection_scope != "tree":
            raise ValueError(
                f"projection='auto' of {name} chooses among views that are drawn for every tree; "
                f"got projection_scope={self.projection_scope!r}. Use 'tree'."
            )
        view = None if _is_auto(self.projection) else projections.resolve(self.projection)
        if self.projection_scope == "node" and isinstance(view, projections.FromTransformer):
            raise ValueError(
                f"projection_scope='node' of {name} draws a view of the rows of every node, but "
                f"{self.projection!r} transforms all rows at once. Use 'tree' or 'forest'."
            )
        if self.projection_scope == "node" and self.max_leaf_nodes is not None:
            raise ValueError(
                f"projection_scope='node' of {name} grows trees depth-first and cannot be "
                f"combined with max_leaf_nodes; got {self.max_leaf_nodes}. Use max_depth, or "
                "projection_scope='tree'."
            )

    def _settings(self, shape: tuple[int, int]) -> ForestSettings:
        projection = None if _is_auto(self.projection) else projections.resolve(self.projection)
        max_samples = None if self.max_samples is None else count(self.max_samples, shape[0])
        return ForestSettings(
            tree=tree_settings(self, shape, self._random_cuts, projection),
            n_estimators=self.n_estimators,
            bootstrap=bool(self.bootstrap),
            max_samples=max_samples,
            projection_scope=self.projection_scope,
        )

    def _choose(
        self,
        settings: ForestSettings,
        training: TrainingData,
        entropy: list[int],
        old: Forest | None,
        n_threads: int,
    ) -> tuple[ForestSettings, list[Member], list[dict[str, Any]] | None]:
        """Choose the view and the number of features, if that is wanted.

        Returns
        -------
        settings : ForestSettings
        members : list of Member
            Trees of that choice that are there already.
        tried : list of dict or None
            What was tried; None if nothing was to be chosen.
        """
        if not _is_auto(self.projection):
            return settings, [], None
        members: list[Member] = []
        if old is not None:
            if not hasattr(self, "auto_results_"):
                raise ValueError(
                    "warm_start=True goes on with the view that the trees before were grown on; "
                    "got projection='auto', which chooses one. Use the projection of the first "
                    "fit, or warm_start=False to start anew."
                )
            chosen, tried = (self.projection_, self.max_features_), self.auto_results_
        else:
            with progress_bar("choosing a view", 0, self.verbose) as advance:
                race = Race(training, settings, entropy, n_threads, advance)
                winner = race.run()
            tried = [candidate.describe() for candidate in race.tried]
            chosen = winner.projection, winner.max_features
            members = winner.members if settings.bootstrap else []
        tree = replace(settings.tree, projection=chosen[0], max_features=chosen[1])
        return replace(settings, tree=tree), members, tried

    def _remember_choice(
        self, settings: ForestSettings, tried: list[dict[str, Any]] | None
    ) -> None:
        self.projection_ = settings.tree.projection
        self.max_features_ = settings.tree.max_features
        if tried is not None:
            self.auto_results_ = tried
        elif hasattr(self, "auto_results_"):
            del self.auto_results_

    def _trees_to_keep(self, data: BinnedData, training: TrainingData) -> Forest | None:
        """Give the trees to go on from, if there are any and that is wanted."""
        if not (self.warm_start and hasattr(self, "_forest")):
            return None
        old: Forest = self._forest
        same = (
            data.schema.to_json() == self._features.to_json()
            and training.targets.schema.to_json() == self._targets.to_json()
            and training.targets.equals(old.outputs)
        )
        if not same:
            raise ValueError(
                "warm_start=True adds trees grown on the same rows, y and weights as before; got "
                "another y, other weights or other features. Use warm_start=False to start anew."
            )
        return old

    def _check_goes_on(self, per_estimator: int) -> None:
        """Raise a ValueError unless trees can be added to those there are."""
        if per_estimator != self._trees_per_estimator:
            raise ValueError(
                f"warm_start=True adds estimators of {self._trees_per_estimator} trees, as those "
                f"before; got projection={self.projection!r}, which needs {per_estimator} trees "
                "for each. Use warm_start=False to start anew."
            )
        n_old = self._forest.n_trees // per_estimator
        if self.n_estimators < n_old:
            raise ValueError(
                f"n_estimators must be at least {n_old}, the number of trees that are there, if "
                f"warm_start=True; got {self.n_estimators}."
            )

    def _put_together(
        self,
        old: Forest | None,
        members: list[Member],
        grown: Iterable[Member],
        n_grown: int,
        advance: Callable[[], None],
    ) -> Forest:
        """Join old trees, those that are there already, and new ones as they come."""
        n_old = 0 if old is None else old.structure.n_trees
        joined = JoinedForest(n_old + len(members) + n_grown)
        seen, updated = [], []
        if old is not None:
            joined.add(old)
            seen.append(self._seen)
            updated.append(self._updated)

        def add(member: Member) -> None:
            joined.add(member.forest)
            seen.append(member.seen)
            updated.append(member.updated)

        for member in members:
            add(member)
        for member in grown:
            add(member)
            advance()
        self._seen, self._updated = np.vstack(seen), np.vstack(updated)
        return joined.finish()

    def _score_out_of_bag(self, training: TrainingData, n_threads: int) -> None:
        for name in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
            if hasattr(self, name):
                delattr(self, name)
        if self.oob_score:
            predicted = predict_out_of_bag(self._forest, training.encoded, n_threads)
            self._remember_out_of_bag(predicted, training.targets)

    def _remember_out_of_bag(self, predicted: OutOfBag, targets: Targets) -> None:
        raise NotImplementedError

    def _out_of_bag_score(self, default: Callable[..., float], truth: Any, guess: Any) -> float:
        """Score the rows that are given, if there are any."""
        if not truth.shape[0]:
            warnings.warn(
                f"oob_score_ of {type(self).__name__} is NaN: a row is scored if trees that were "
                "not grown on it saw all of its outputs; there is none. Use more trees, or "
                "oob_score=False.",
                UserWarning,
                stacklevel=6,
            )
            return float("nan")
        score = self.oob_score if callable(self.oob_score) else default
        return float(score(truth, guess))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_forest")

    # Inspection --------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in what the splits took off the variance, of shape (p,)."""
        check_is_fitted(self)
        gains = self._forest.feature_gains
        total = gains.sum()
        return gains / total if total > 0 else gains.copy()

    @property
    def output_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature for each output, of shape (n_outputs_, p).

        What each feature's splits take off the squared deviations of an output in the leaves'
        training rows, summed over the trees. A row adds up to 1, or to 0 if no split tells
        anything about that output.
        """
        check_is_fitted(self)
        offsets = self._targets.channel_offsets
        gains = np.zeros((self._targets.n_outputs, self.n_features_in_))
        for t in range(self._forest.n_trees):
            by_channel = self._forest.tree(t).channel_gains()
            by_output = np.add.reduceat(by_channel, offsets[:-1], axis=0)
            totals = by_output.sum(axis=1, keepdims=True)
            gains += np.divide(by_output, totals, out=np.zeros_like(by_output), where=totals > 0)
        totals = gains.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = np.divide(
            gains, totals, out=np.zeros_like(gains), where=totals > 0
        )
        return shares

    @property
    def estimators_(self) -> Members:
        """The trees, each as an estimator that shares the arrays of the forest."""
        check_is_fitted(self)
        return Members(self._forest.n_trees, self._member)

    def _member(self, t: int) -> SingleTree:
        """Make an estimator of one tree."""
        shared = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name in self._member_type._get_param_names()
        }
        member = self._member_type(**shared, splitter="random" if self._random_cuts else "best")
        member._remember(self._features, self._targets)
        member._remember_tree(
            self._forest.tree(t), describe=partial(described_tree, self._forest, t)
        )
        return member

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        metadata = self._metadata()
        metadata["entropy"] = self._entropy
        if _is_auto(self.projection):
            metadata["auto_results_"] = self.auto_results_
            metadata["max_features_"] = self.max_features_
            metadata["projection_"] = (
                None if self.projection_ is None else projections.to_json(self.projection_)
            )
        metadata["trees_per_estimator"] = self._trees_per_estimator
        if hasattr(self, "oob_score_"):
            is_number = np.isfinite(self.oob_score_)  # JSON has no NaN
            metadata["oob_score_"] = float(self.oob_score_) if is_number else None
        arrays = self._forest.to_arrays()
        for name in ("seen", "updated"):
            arrays[f"tree_{name}_bits"] = np.packbits(getattr(self, f"_{name}"))
        return arrays, metadata

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        forest = Forest.from_arrays(arrays)
        estimator = cls._from_metadata(
            metadata, forest.structure.n_features, forest.outputs.n_channels
        )
        if not np.array_equal(forest.structure.n_categories, estimator._features.n_categories):
            raise ValueError("the trees and the features disagree about categories.")
        if forest.outputs.is_sparse != estimator._targets.is_sparse:
            raise ValueError("the leaves and the outputs disagree about whether y was sparse.")
        estimator._forest = forest
        estimator._entropy = stored_entropy(metadata["entropy"])
        estimator._restore_choice(metadata)
        per_estimator = int(metadata["trees_per_estimator"])
        if per_estimator < 1 or forest.n_trees % per_estimator:
            raise ValueError(f"Expected {forest.n_trees} trees to be a multiple of those per one.")
        estimator._trees_per_estimator = per_estimator
        if "oob_score_" in metadata:
            score = metadata["oob_score_"]
            estimator.oob_score_ = float("nan") if score is None else float(score)
        shape = (forest.n_trees, forest.outputs.n_channels)
        for name in ("seen", "updated"):
            bits = arrays.get(f"tree_{name}_bits")
            if bits is None or bits.dtype != np.uint8 or bits.size != -(-shape[0] * shape[1] // 8):
                raise ValueError(f"Expected a bit per tree and channel that was {name}.")
            mask = np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape)
            setattr(estimator, f"_{name}", mask.astype(np.bool_))
        return estimator

    def _restore_choice(self, metadata: dict[str, Any]) -> None:
        if not _is_auto(self.projection):
            shape = self._forest.outputs.n_rows, self._features.n_features
            tree = self._settings(shape).tree
            self.projection_, self.max_features_ = tree.projection, tree.max_features
            return
        stored = metadata["projection_"]
        self.projection_ = None if stored is None else projections.from_json(stored)
        self.max_features_ = int(metadata["max_features_"])
        if not 1 <= self.max_features_ <= self._features.n_features:
            raise ValueError(f"Expected a number of features; got {self.max_features_}.")
        self.auto_results_ = list(metadata["auto_results_"])


def _is_auto(projection: Any) -> bool:
    return isinstance(projection, str) and projection == "auto"
