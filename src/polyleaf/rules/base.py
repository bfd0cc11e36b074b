"""What rule learners for classes and for numbers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf.checks.numbers import shown
from polyleaf.estimator.base import Estimator
from polyleaf.losses import Loss, LossTargets
from polyleaf.rules.fitted import FittedRules
from polyleaf.rules.model import RuleSet
from polyleaf.rules.pruning import check_pruning, greedy_subset
from polyleaf.rules.reader import RuleReader, rule_table

if TYPE_CHECKING:
    from polyleaf.trees.additive import AdditiveTrees


class RuleEstimator(Estimator):
    """Base of the rule learners."""

    _fitted_type = FittedRules
    _fitted: FittedRules

    def _loss(self) -> Loss:
        raise NotImplementedError

    # What was learnt ---------------------------------------------------------------------------

    @property
    def _rules(self) -> RuleSet:
        return self._fitted.rules

    @property
    def validation_losses_(self) -> NDArray[np.float64]:
        """Mean loss of held-out rows after each rule; empty without early stopping."""
        check_is_fitted(self)
        return self._fitted.validation_losses

    @property
    def loss_(self) -> float:
        """Mean loss of the rows that `select` or `prune` was given, with these rules."""
        return self._measured[0]

    @property
    def full_loss_(self) -> float:
        """Mean loss of the rows that `select` or `prune` was given, with all rules."""
        return self._measured[1]

    @property
    def _measured(self) -> tuple[float, float]:
        check_is_fitted(self)
        losses = self._fitted.losses
        if losses is None:
            raise AttributeError(
                "loss_ and full_loss_ exist only for models that select or prune has made."
            )
        return losses

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
    def output_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature for each output, of shape (n_outputs_, p).

        How much each rule spreads the score of an output over the training rows (the variance of
        what it adds), divided evenly among its conditions. A row adds up to 1, or to 0 if no
        rule is about that output.
        """
        check_is_fitted(self)
        rules = self._rules
        share = rules.coverage / max(rules.n_train, 1)
        spread = rules.heads() ** 2 * (share * (1.0 - share))[:, None]
        n_conditions = np.diff(rules.body_offsets)
        by_condition = sparse.csr_array(
            (np.ones(rules.feature.size), rules.feature, rules.body_offsets),
            shape=(rules.n_rules, rules.n_features),
        )
        by_feature = by_condition.T @ (spread / np.maximum(n_conditions, 1)[:, None])
        offsets = self._targets.channel_offsets
        gains = np.add.reduceat(np.asarray(by_feature).T, offsets[:-1], axis=0)
        totals = gains.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = np.zeros(gains.shape)
        np.divide(gains, totals, out=shares, where=totals > 0)
        return shares

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

    def _additive(self) -> AdditiveTrees:
        """Give the rules as a sum of trees, for `polyleaf.inspection.shap_values`."""
        from polyleaf.rules.additive import rules_as_trees

        check_is_fitted(self)
        return rules_as_trees(self._rules, self._features.n_categories)

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
            scores of a row add up to its scores (`decision_function`, or the prediction). An
            output named like one of the first columns is followed by ``(output)``.
        """
        reader = RuleReader(self)
        covers = self.covers(_as_rows(X))
        heads = self._rules.heads()
        lines = []
        for row, covered in enumerate(covers):
            fired = np.flatnonzero(covered)
            order = fired[np.argsort(-np.abs(heads[fired]).max(axis=1), kind="stable")]
            lines += [(row, int(t), reader.body(int(t)), *heads[t]) for t in order]
        own = ["row", "rule", "body"]
        names = [f"{name} (output)" if name in own else name for name in reader.value_names]
        return reader.frame(lines, [*own, *names])

    # Smaller models ----------------------------------------------------------------------------

    def select(self, rules: Any, X: Any = None, y: Any = None) -> Any:
        """Make a model of some of the rules.

        Parameters
        ----------
        rules : sequence of int or of bool
            Positions in `rules_`, or a mask. The default rule, 0, is always kept.
        X : array-like, frame or sparse matrix of shape (n, p), optional
            Rows to measure the loss on, best such that `fit` has not seen.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d), optional
            Given if and only if X is.

        Returns
        -------
        RuleClassifier or RuleRegressor
            A fitted copy with those rules alone, in their old order. If rows were given, its
            attributes `loss_` and `full_loss_` are their mean loss with those rules, and with
            all.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("select measures the loss on rows of X and y; got only one of them.")
        given = np.asarray(rules)
        n_rules = self._rules.n_rules
        if given.dtype == bool and given.shape == (n_rules,):
            given = np.flatnonzero(given)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise ValueError(
                f"rules must be a list of positions or a mask of length {n_rules}; got "
                f"{shown(rules, 80)}."
            )
        if given.size and (given.min() < 0 or given.max() >= n_rules):
            raise ValueError(
                f"rules must be positions from 0 to {n_rules - 1}; got {given.min()} to "
                f"{given.max()}."
            )
        kept = np.union1d(np.zeros(1, np.int64), given.astype(np.int64))
        smaller = self._copy_with(replace(self._fitted, rules=self._rules.take(kept), losses=None))
        if X is not None:
            losses = smaller._mean_loss(X, y), self._mean_loss(X, y)
            smaller._fitted = replace(smaller._fitted, losses=losses)
        return smaller

    def _copy_with(self, fitted: FittedRules) -> Any:
        """Make a model with these parameters and other rules."""
        copy = type(self)(**self.get_params(deep=False))
        copy._fitted = fitted
        return copy

    def _mean_loss(self, X: Any, y: Any) -> float:
        scores = self._scores(X)
        targets = self._read_targets(y, len(scores))
        losses = self._loss().row_losses(targets, self._unit_scores(scores))
        return float(losses.sum()) / len(scores)

    def prune(self, X: Any, y: Any, *, n_rules: int | None = None, tolerance: float = 0.01) -> Any:
        """Make a smaller model whose loss on the given rows is about as small.

        All rows are held against all rules at once: two bytes for each pair.

        Rules are taken greedily: next comes the one that lowers the mean loss most, until
        `n_rules` are taken, or the loss is within `tolerance` of that of all rules (or lower).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            Best rows that `fit` has not seen.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            With the outputs of `fit`, and none but its classes, though not necessarily all.
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
        check_pruning(n_rules, tolerance)
        covers = self.covers(X)
        targets = self._read_targets(y, len(covers))
        kept, loss, full_loss = greedy_subset(
            self._unit_rules(), covers, targets, self._loss(), n_rules, tolerance
        )
        smaller = self.select(kept)
        smaller._fitted = replace(smaller._fitted, losses=(loss, full_loss))
        return smaller

    def _read_targets(self, y: Any, n_rows: int) -> LossTargets:
        """Read the y of new rows, by the outputs and classes of fit."""
        raise NotImplementedError

    def _unit_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores in the unit in which the loss was minimised."""
        return scores

    def _unit_rules(self) -> NDArray[np.float64]:
        """Heads in the unit in which the loss was minimised, of shape (n_rules, n_channels)."""
        return self._rules.heads()


def _as_rows(X: Any) -> Any:
    """Make a table of a single row; leave everything else."""
    if isinstance(X, list | tuple) and X and all(np.ndim(value) == 0 for value in X):
        return [list(X)]
    if getattr(X, "ndim", 2) != 1:
        return X
    if hasattr(X, "to_frame"):  # a pandas Series, with the types that its values have
        return X.to_frame().T.infer_objects()
    return np.asarray(X).reshape(1, -1)
