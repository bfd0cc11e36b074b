"""Learn rules one after the other, each from what the others leave of the loss (Alg. 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.losses import Loss, LossTargets, Quadratic
from polyleaf.projections import Projection, ProjectionContext
from polyleaf.rules.guarding import TrainingLoss, warn_of_risen_loss
from polyleaf.rules.model import Rule, RuleSet
from polyleaf.rules.statistics import (
    PackedStatistics,
    label_signs,
    logistic_sums,
    seen_through,
    weighted,
)

#: Rules that the core learns before it answers, if somebody waits for it and if not.
_RULES_AT_A_TIME, _MOST_AT_A_TIME = 32, 4096
#: Losses whose formulas the core has, for labels that are all observed, not weighted.
_NATIVE_KERNELS = ("logistic", "examplewise_logistic")


@dataclass(frozen=True)
class RuleSettings:
    """How rules are learnt; see `polyleaf.RuleClassifier` for the meaning of each.

    `head_size` is 0 for complete heads, a number of outputs, or a share of the largest gain.
    `starts_at_baseline`: the default rule predicts the best constant, without regularisation.
    `view`: of the outputs, by which conditions are chosen.
    """

    n_rules: int = 500
    head_size: int | float = 0
    learning_rate: float = 0.3
    l2_regularization: float = 1.0
    l1_regularization: float = 0.0
    bootstrap: bool = True
    max_features: int = 1
    max_conditions: int | None = None
    min_coverage: int = 1
    label_bins: int | None = None
    is_guarded: bool = False
    starts_at_baseline: bool = False
    n_iter_no_change: int | None = None
    view: Projection | None = None

    def core_params(self, n_threads: int) -> _core.RuleParams:
        """Translate for the core."""
        params = _core.RuleParams()
        params.l2_regularization = self.l2_regularization
        params.l1_regularization = self.l1_regularization
        params.max_features = self.max_features
        params.max_conditions = -1 if self.max_conditions is None else self.max_conditions
        params.min_coverage = self.min_coverage
        if isinstance(self.head_size, float):
            params.head_share = self.head_size
        else:
            params.head_size = self.head_size
        params.label_bins = self.label_bins or 0
        params.n_threads = n_threads
        return params


class RuleLearner:
    """Scores and derivatives of all rows, which every new rule changes.

    Parameters
    ----------
    binned : _core.Binned
    targets : LossTargets
        With weights of entries (0 where they are not observed) or None.
    row_weights : ndarray of shape (n_rows,), or None
        Beside those of entries; not with weights of entries that are not 0 or 1 each.
    loss : Loss
    settings : RuleSettings
    held_out : ndarray of shape (n_rows,), bool, or None
        Rows to stop early by; nothing is learnt from them.
    n_threads : int

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_channels)
    losses : list of float
        Mean loss of the held-out rows after every rule; empty without any.
    """

    def __init__(
        self,
        binned: _core.Binned,
        targets: LossTargets,
        row_weights: NDArray[np.float64] | None,
        loss: Loss,
        settings: RuleSettings,
        held_out: NDArray[np.bool_] | None = None,
        n_threads: int = 1,
    ) -> None:
        self.columns = _core.RuleColumns(binned)
        self._loss, self._settings = loss, settings
        self._params = settings.core_params(n_threads)
        self._targets = targets
        self._given_weights = row_weights
        self._weights = _without(row_weights, held_out)
        self._held_out = held_out
        self._usable = _usable_rows(targets, self._weights)
        self.scores: NDArray[np.float64] = np.zeros(targets.values.shape)
        is_partial = targets.weights is not None or self._weights is not None
        if settings.view is not None and loss.hessian == "diagonal minus rank one":
            raise ValueError(
                f"projection={settings.view!r} needs a loss of single outputs, such as "
                f"'logistic'; {loss!r} is one of whole rows. Use another, or projection=None."
            )
        is_native = loss.native_kernel in _NATIVE_KERNELS and settings.view is None
        self._is_native = is_native and not is_partial
        has_sums = self._is_native and loss.native_kernel == "logistic"
        self._first_sums = logistic_sums(targets.values) if has_sums else None
        self._signs = label_signs(targets.values) if self._is_native else np.zeros((0, 0), np.int8)
        self._statistics = self._first_statistics()
        self.losses: list[float] = []
        self._n_best = 0  # rules until the least of them
        if held_out is not None:
            self._row_losses = loss.row_losses(targets, self.scores)

    def learn(
        self,
        n_features: int,
        rng: np.random.Generator,
        advance: Callable[..., None],
        is_watched: bool = True,
    ) -> RuleSet:
        """Learn the default rule and the others.

        Parameters
        ----------
        n_features : int
        rng : numpy.random.Generator
        advance : callable
            Called for every rule.
        is_watched : bool
            Whether it is to be called soon after each.

        Returns
        -------
        RuleSet
        """
        shape = n_features, self.scores.shape[1], int(self._usable.sum())
        watch = self._mean_loss if self._can_rise else lambda: 0.0
        first = watch()
        rules, learnt = [self._default_rule()], list[RuleSet]()
        default = watch()
        views = self._views()
        advance()
        n_left = self._settings.n_rules - 1
        while n_left > 0 and not self._is_over():
            n_next = 1
            if self._is_plain:
                n_next = min(n_left, _RULES_AT_A_TIME if is_watched else _MOST_AT_A_TIME)
                head_of_list = None if learnt else rules[0]
                learnt.append(RuleSet.learnt(self._next_rules(n_next, rng), *shape, head_of_list))
            else:
                rules.append(self._next_rule(int(rng.integers(2**63)), views, len(rules) - 1))
            advance(n_next)
            n_left -= n_next
        if self._can_rise:
            warn_of_risen_loss(first, default, watch(), self._settings.n_rules - n_left)
        if self.losses:
            del rules[self._n_best :]
        return RuleSet.join(learnt or [RuleSet.build(rules, *shape)])

    def _first_statistics(self) -> PackedStatistics:
        """Differentiate at scores of 0, unless the default rule needs sums only."""
        if not self._is_native:
            return PackedStatistics.of(self._quadratic(slice(None), self.scores))
        n_rows, n_channels = self.scores.shape
        is_coupled = self._loss.hessian == "diagonal minus rank one"
        coupling = np.ones(n_rows) if is_coupled else None
        packed = PackedStatistics(n_rows, n_channels, coupling, is_logistic=coupling is None)
        if self._first_sums is None:
            every = np.arange(n_rows, dtype=np.int32)
            self._add_natively(packed, every, None, np.zeros(n_channels), is_current=False)
        return packed

    def _is_over(self) -> bool:
        patience = self._settings.n_iter_no_change
        if patience is None or not self.losses:
            return False
        return len(self.losses) - self._n_best >= patience

    def _default_rule(self) -> Rule:
        """Cover all rows, with a complete head that is not shrunk (Alg. 1, line 2)."""
        rows = np.flatnonzero(self._usable).astype(np.int32)
        if self._first_sums is None:
            head, gain = self._find_head(self._statistics, rows, None)
        else:
            sums = PackedStatistics.of(self._first_sums)
            head, gain = self._find_head(sums, np.zeros(1, np.int32), None)
        outputs = np.arange(head.size, dtype=np.int32)
        if self._settings.starts_at_baseline:
            head = self._loss.baseline(self._weighted_targets(rows))
        elif self._settings.is_guarded and self._first_sums is None:
            # With the logistic loss of each label, no second derivative is larger than the one
            # at 0: a step from there never raises it.
            head = self._guarded(rows, outputs, head)
        every = np.arange(self.scores.shape[0], dtype=np.int32)
        self._add(every, outputs, head, is_first=True)
        nothing = (np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0))
        return Rule(*nothing, outputs, head, rows.size, gain)

    @property
    def _is_plain(self) -> bool:
        """Whether the core can learn rules without coming back after each."""
        return self._is_native

    @property
    def _can_rise(self) -> bool:
        """Whether steps may raise the loss of the training rows."""
        return not (self._settings.is_guarded or self._loss.is_squared_error)

    def _mean_loss(self) -> float:
        """Mean loss of the rows that are learnt from."""
        rows = np.flatnonzero(self._usable).astype(np.int32)
        weight = rows.size if self._weights is None else float(self._weights[rows].sum())
        return self._training_loss().value(rows, self.scores) / weight

    def _training_loss(self) -> TrainingLoss:
        return TrainingLoss(self._loss, self._targets, self._weights)

    def _guarded(
        self, rows: NDArray[np.int32], outputs: NDArray[np.int32], head: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Halve a head until the loss of the rows that it covers does not rise."""
        if not self._is_native:
            return self._training_loss().guarded(rows, self.scores, outputs, head)
        _core.guard_head(
            labels=self._signs,
            scores=self.scores,
            is_examplewise=self._loss.native_kernel == "examplewise_logistic",
            rows=rows,
            outputs=outputs,
            rate=1.0,
            is_newton=False,
            head=head,
            n_threads=self._params.n_threads,
        )
        return head

    def _next_rules(self, n_rules: int, rng: np.random.Generator) -> _core.LearntRules:
        """Learn several rules in the core; the same ones as `_next_rule` would."""
        known, settings = self._statistics, self._settings
        return _core.learn_rules(
            self.columns,
            self._signs,
            self.scores,
            known.values,
            known.coupling,
            rng.integers(2**63, size=n_rules).astype(np.uint64),
            settings.learning_rate,
            settings.bootstrap,
            settings.is_guarded,
            self._params,
        )

    def _views(self) -> ProjectionContext | None:
        """Tell a projection of the derivatives that views are drawn of."""
        if self._settings.view is None:
            return None
        offsets = self._targets.channel_offsets.astype(np.int32)
        context = ProjectionContext(
            round=0,
            rng=np.random.default_rng(0),
            values=self._statistics.gradient,
            channel_offsets=offsets,
        )
        _ = context.varying_channels
        return context

    def _next_rule(self, seed: int, views: ProjectionContext | None, number: int) -> Rule:
        counts = self._sample(seed)
        self._params.seed = seed
        shown = known = self._statistics
        view = None
        if views is not None and self._settings.view is not None:
            rng = np.random.default_rng([seed, number])
            view = self._settings.view.checked_draw(
                views.at_round(number, rng, values_changed=True)
            )
            shown = seen_through(known, view)
        induced = _core.induce_rule(
            self.columns, shown.values, shown.n_channels, shown.coupling, counts, self._params
        )
        n_conditions = induced.n_conditions
        feature = np.empty(n_conditions, np.int32)
        operator = np.empty(n_conditions, np.uint8)
        value = np.empty(n_conditions)
        induced.write_conditions(feature, operator, value)
        rows = np.empty(induced.n_rows, np.int32)
        induced.write_rows(rows)
        chosen = np.array(induced.outputs, np.int32) if induced.outputs else None
        if view is not None:
            updated = view.updated
            chosen = None if updated is None else np.flatnonzero(updated).astype(np.int32)
        training = rows[self._usable[rows]]
        head, gain = self._find_head(known, training, chosen)
        head *= self._settings.learning_rate
        outputs = chosen
        if outputs is None:
            outputs = np.arange(head.size, dtype=np.int32)
        if self._settings.is_guarded:
            head = self._guarded(training, outputs, head)
        self._add(rows, outputs, head)
        return Rule(feature, operator, value, outputs, head, training.size, gain)

    def _sample(self, seed: int) -> NDArray[np.int32]:
        """Count how often each row is drawn (Alg. 1, line 5)."""
        counts = self._usable.astype(np.int32)
        if self._settings.bootstrap:
            _core.draw_sample(seed, np.flatnonzero(self._usable).astype(np.int32), counts)
        return counts

    def _find_head(
        self,
        known: PackedStatistics,
        rows: NDArray[np.int32],
        outputs: NDArray[np.int32] | None,
    ) -> tuple[NDArray[np.float64], float]:
        """Find a head on all training rows (Alg. 1, line 7), and how far the objective falls."""
        head = np.empty(known.n_channels if outputs is None else outputs.size)
        gain = _core.find_head(
            known.values, known.n_channels, known.coupling, rows, outputs, self._params, head
        )
        return head, 0.5 * gain

    def _quadratic(
        self,
        rows: Any,
        scores: NDArray[np.float64],
        outputs: NDArray[np.int32] | None = None,
    ) -> Quadratic:
        """Differentiate the loss of some rows, of some outputs if given; weights included."""
        targets = self._targets
        part = targets.at(rows) if outputs is None else targets.entries(rows, outputs)
        weights = None if self._weights is None else self._weights[rows]
        return weighted(self._loss, part, self._loss.quadratic(part, scores), weights)

    def _weighted_targets(self, rows: NDArray[np.int32]) -> LossTargets:
        """Give the targets of some rows, with weights of rows and of entries in one."""
        targets = self._targets.at(rows)
        if self._weights is None:
            return targets
        weights = self._weights[rows]
        if targets.weights is not None:
            weights = targets.weights * weights[:, None]
        return LossTargets(targets.values, weights, targets.channel_offsets)

    def _add(
        self,
        rows: NDArray[Any],
        outputs: NDArray[np.int32],
        head: NDArray[np.float64],
        *,
        is_first: bool = False,
    ) -> None:
        """Add a head to the scores of rows, and bring their derivatives up to date."""
        is_complete = head.size == self.scores.shape[1]
        known = self._statistics
        if self._is_native:
            chosen = None if is_complete else outputs
            self._add_natively(known, rows, chosen, head, is_current=not is_first)
        elif is_complete or not self._loss.can_part_outputs:
            scores = self.scores[rows]
            scores[:, outputs] += head
            self.scores[rows] = scores
            new = self._quadratic(rows, scores)
            known.gradient[rows], known.diagonal[rows] = new.gradient, new.diagonal
            if known.coupling is not None and new.coupling is not None:
                known.coupling[rows] = new.coupling
        else:
            at = (rows[:, None], outputs)
            scores = self.scores[at] + head
            self.scores[at] = scores
            new = self._quadratic(rows, scores, outputs)
            known.gradient[at], known.diagonal[at] = new.gradient, new.diagonal
        self._follow(rows)

    def _add_natively(
        self,
        statistics: PackedStatistics,
        rows: NDArray[Any],
        outputs: NDArray[np.int32] | None,
        head: NDArray[np.float64],
        *,
        is_current: bool,
    ) -> None:
        """Let the core add a head; `is_current`: the statistics are those of the scores."""
        _core.add_head(
            labels=self._signs,
            scores=self.scores,
            statistics=statistics.values,
            is_examplewise=self._loss.native_kernel == "examplewise_logistic",
            is_current=is_current,
            rows=rows,
            outputs=outputs,
            head=head,
            n_threads=self._params.n_threads,
        )

    def _follow(self, rows: NDArray[Any]) -> None:
        """Note the loss of the held-out rows, of which only covered ones have changed."""
        if self._held_out is None:
            return
        changed = rows[self._held_out[rows]]
        self._row_losses[changed] = self._loss.row_losses(
            self._targets.at(changed), self.scores[changed]
        )
        losses, weights = self._row_losses[self._held_out], self._given_weights
        if weights is None:
            loss = float(losses.mean())
        else:
            loss = float(np.average(losses, weights=weights[self._held_out]))
        if not self.losses or loss < self.losses[self._n_best - 1]:
            self._n_best = len(self.losses) + 1
        self.losses.append(loss)


def _without(
    weights: NDArray[np.float64] | None, held_out: NDArray[np.bool_] | None
) -> NDArray[np.float64] | None:
    """Take the weight from held-out rows."""
    if held_out is None:
        return weights
    return (~held_out).astype(np.float64) if weights is None else weights * ~held_out


def _usable_rows(
    targets: LossTargets, row_weights: NDArray[np.float64] | None
) -> NDArray[np.bool_]:
    """Tell which rows have some weight in some observed channel."""
    usable = np.ones(len(targets.values), np.bool_) if row_weights is None else row_weights > 0
    if targets.weights is not None:
        usable = usable & (targets.weights > 0).any(axis=1)
    return usable
