"""What rule learners for classes and for numbers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ramify.estimators.base import MultiOutputEstimator
from ramify.estimators.rule_reader import RuleReader, rule_table
from ramify.estimators.tree_settings import count, feature_count
from ramify.ingest import BinnedData, Targets, TargetSchema
from ramify.model import RuleSet
from ramify.training import (
    RuleLearner,
    RuleLoss,
    RuleSettings,
    RuleTargets,
    TrainingData,
    finish_rules,
    progress_bar,
)


class RuleEstimator(MultiOutputEstimator):
    """Base of the rule learners."""

    _rules: RuleSet

    # Fitting -----------------------------------------------------------------------------------

    def _loss(self) -> RuleLoss:
        raise NotImplementedError

    def _learn(
        self,
        data: BinnedData,
        targets: Targets,
        values: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        settings: RuleSettings,
    ) -> RuleSet:
        """Learn rules for values of shape (n_rows, n_channels)."""
        n_threads = self._n_threads()
        training = TrainingData(
            features=data.binned(self.max_bins, n_threads),
            encoded=data.encoded,
            n_categories=data.schema.n_categories,
            targets=targets,
            weights=weights,
        )
        rng = self._rng()
        learner = RuleLearner(
            training.binned,
            RuleTargets(values, targets.observed, weights),
            self._loss(),
            settings,
            self._hold_out(training, rng),
            n_threads,
        )
        with progress_bar(type(self).__name__, settings.n_rules, self.verbose) as advance:
            rules = learner.learn(data.shape[1], rng, advance)
        self.validation_losses_ = np.array(learner.losses)
        return finish_rules(rules, training.features, float(np.abs(values).max()))

    def _settings(self, shape: tuple[int, int]) -> RuleSettings:
        n_rows, n_features = shape
        sizes = {"complete": 0, "single": 1, "partial": self.head_size}
        size = sizes[self.head]
        return RuleSettings(
            n_rules=int(self.n_rules),
            head_size=float(size) if isinstance(size, float) else int(size),
            learning_rate=float(self.learning_rate),
            l2_regularization=float(self.l2_regularization),
            l1_regularization=float(self.l1_regularization),
            bootstrap=bool(self.bootstrap),
            max_features=feature_count(self.max_features, n_features),
            max_conditions=self.max_conditions,
            min_coverage=count(self.min_coverage, n_rows),
            label_bins=getattr(self, "label_bins", None),
            is_guarded=self.step == "guarded",
            n_iter_no_change=int(self.n_iter_no_change) if self.early_stopping else None,
        )

    def _hold_out(
        self, training: TrainingData, rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        if not self.early_stopping:
            return None
        usable = training.weighted_rows
        n_held_out = int(np.ceil(float(self.validation_fraction) * usable.size))
        if n_held_out >= usable.size:
            raise ValueError(
                f"early_stopping holds out {n_held_out} of {usable.size} rows and leaves none to "
                "learn from. Give more rows, or early_stopping=False."
            )
        held_out = np.zeros(training.n_rows, dtype=np.bool_)
        held_out[rng.choice(usable, n_held_out, replace=False)] = True
        return held_out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rules")

    # Prediction --------------------------------------------------------------------------------

    def _scores(self, X: Any) -> NDArray[np.float64]:
        encoded = self._encode(X)
        return self._rules.scores(encoded, self._n_threads())

    def _staged_scores(self, X: Any) -> Iterator[NDArray[np.float64]]:
        encoded = self._encode(X)
        return self._rules.staged_scores(encoded, self._n_threads())

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Tell which rules cover each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, n_rules_), bool
        """
        encoded = self._encode(X)
        return self._rules.covers(encoded, self._n_threads())

    # Reading -----------------------------------------------------------------------------------

    @property
    def n_rules_(self) -> int:
        """Number of rules, the default rule included."""
        check_is_fitted(self)
        return self._rules.n_rules

    @property
    def rules_(self) -> Any:
        """The rules as a pandas DataFrame: body, head, coverage, support, gain."""
        return rule_table(RuleReader(self))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the gains of the rules, of shape (n_features_in_,).

        A rule's gain is divided evenly among its conditions.
        """
        check_is_fitted(self)
        rules = self._rules
        n_conditions = np.diff(rules.body_offsets)
        shares = np.repeat(rules.gain / np.maximum(n_conditions, 1), n_conditions)
        gains = np.bincount(rules.feature, weights=shares, minlength=rules.n_features)
        total = gains.sum()
        return np.asarray(gains / total if total > 0 else gains, dtype=np.float64)

    def explain(self, X: Any) -> Any:
        """List the rules that cover each row, and what each adds to each output.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p), or one row of shape (p,)
            A few rows; a single one may also be an array or a Series.

        Returns
        -------
        DataFrame
            One line per row and rule that covers it, largest score first: the row's number, the
            rule's number, its body, and a column per output with the score that it adds. The
            scores of a row add up to its scores (`decision_function`, or the prediction).
        """
        reader = RuleReader(self)
        covers = self.covers(_as_rows(X))
        heads = self._rules.heads()
        lines = []
        for row, covered in enumerate(covers):
            fired = np.flatnonzero(covered)
            order = fired[np.argsort(-np.abs(heads[fired]).max(axis=1), kind="stable")]
            lines += [(row, int(t), reader.body(int(t)), *heads[t]) for t in order]
        return reader.frame(lines, ["row", "rule", "body", *reader.value_names])

    # Smaller models ----------------------------------------------------------------------------

    def select(self, rules: Any) -> Any:
        """Make a model of some of the rules.

        Parameters
        ----------
        rules : sequence of int or of bool
            Positions in `rules_`, or a mask. The default rule, 0, is always kept.

        Returns
        -------
        RuleClassifier or RuleRegressor
            A fitted copy with those rules alone, in their old order.
        """
        check_is_fitted(self)
        given = np.asarray(rules)
        n_rules = self._rules.n_rules
        if given.dtype == bool and given.shape == (n_rules,):
            given = np.flatnonzero(given)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise ValueError(
                f"rules must be a list of positions or a mask of length {n_rules}; got "
                f"{rules!r:.80}."
            )
        if given.size and (given.min() < 0 or given.max() >= n_rules):
            raise ValueError(
                f"rules must be positions from 0 to {n_rules - 1}; got {given.min()} to "
                f"{given.max()}."
            )
        kept = np.union1d(np.zeros(1, np.int64), given.astype(np.int64))
        smaller: Any = type(self)(**self.get_params(deep=False))
        for name, value in vars(self).items():
            if name not in smaller.__dict__:
                setattr(smaller, name, value)
        smaller._rules = self._rules.take(kept)
        return smaller

    def prune(self, X: Any, y: Any, *, n_rules: int | None = None, tolerance: float = 0.01) -> Any:
        """Make a smaller model whose loss on the given rows is about as small.

        Rules are taken greedily: next comes the one that lowers the mean loss most, until
        `n_rules` are taken, or the loss is within `tolerance` of that of all rules (or lower).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            Best rows that `fit` has not seen.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
        n_rules : int, optional
            Largest number of rules, the default rule included.
        tolerance : float, default=0.01
            Accepted rise of the mean loss, relative to that of all rules; ignored if `n_rules`
            is given.

        Returns
        -------
        RuleClassifier or RuleRegressor
            A fitted copy with fewer rules; its attributes `loss_` and `full_loss_` are the mean
            loss of the given rows with those rules, and with all.
        """
        check_is_fitted(self)
        if n_rules is not None and not int(n_rules) >= 1:
            raise ValueError(f"n_rules must be at least 1; got {n_rules!r}.")
        covers = self.covers(X)
        targets = self._pruning_targets(y, len(covers))
        kept, loss, full_loss = _greedy_subset(
            self._unit_rules(), covers, targets, self._loss(), n_rules, tolerance
        )
        smaller = self.select(kept)
        smaller.loss_, smaller.full_loss_ = loss, full_loss
        return smaller

    def _pruning_targets(self, y: Any, n_rows: int) -> RuleTargets:
        raise NotImplementedError

    def _unit_rules(self) -> NDArray[np.float64]:
        """Heads in the unit in which the loss was minimised, of shape (n_rules, n_channels)."""
        return self._rules.heads()

    def _check_same_outputs(self, schema: TargetSchema) -> None:
        if schema.n_channels != self._targets.n_channels:
            raise ValueError(
                f"y must have the outputs and classes of fit ({self._targets.n_channels} "
                f"columns or classes); got {schema.n_channels}."
            )

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        return self._rules.to_arrays(), self._metadata()

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        rules = RuleSet.from_arrays(arrays)
        estimator = cls._from_metadata(metadata, rules.n_features, rules.n_channels)
        estimator._rules = rules
        estimator.validation_losses_ = np.zeros(0)
        return estimator


def _as_rows(X: Any) -> Any:
    """Make a table of a single row; leave everything else."""
    if getattr(X, "ndim", 2) != 1:
        return X
    if hasattr(X, "to_frame"):  # a pandas Series, with the types that its values have
        return X.to_frame().T.infer_objects()
    return np.asarray(X).reshape(1, -1)


def _greedy_subset(
    heads: NDArray[np.float64],
    covers: NDArray[np.bool_],
    targets: RuleTargets,
    loss: RuleLoss,
    n_rules: int | None,
    tolerance: float,
) -> tuple[list[int], float, float]:
    """Choose rules one by one; also give the mean loss with them and with all."""
    n_rows = len(covers)

    def mean_loss(scores: NDArray[np.float64]) -> float:
        return loss.value(targets, scores) / n_rows

    full_loss = mean_loss(covers.astype(np.float64) @ heads)
    scores = np.broadcast_to(heads[0], targets.values.shape).copy()
    kept, current = [0], mean_loss(scores)
    left = list(range(1, len(heads)))
    while left and (
        len(kept) < n_rules if n_rules is not None else current > full_loss * (1 + tolerance)
    ):
        rows = [np.flatnonzero(covers[:, t]) for t in left]
        falls = []
        for t, covered in zip(left, rows):
            part = targets.at(covered)
            before = scores[covered]
            falls.append(loss.value(part, before) - loss.value(part, before + heads[t]))
        best = int(np.argmax(falls))
        if falls[best] <= 0:
            break
        scores[rows[best]] += heads[left[best]]
        kept.append(left.pop(best))
        current = mean_loss(scores)
    return sorted(kept), current, full_loss
