"""Train the rules of an estimator (Rapp et al. 2020)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks import memory
from polyleaf.estimator.base import current_steps
from polyleaf.estimator.parameters import count, feature_count
from polyleaf.estimator.running import progress_bar
from polyleaf.losses import Loss, LossTargets
from polyleaf.projections import resolve
from polyleaf.rules.learner import RuleLearner, RuleSettings
from polyleaf.rules.model import RuleSet, count_body_rows, finish_rules
from polyleaf.rules.statistics import separate_weights

if TYPE_CHECKING:
    from polyleaf.data import Targets, TrainingData


def check_memory_of_rules(estimator: Any, targets: Targets, loss: Loss) -> None:
    """Refuse what does not fit, before anything is taken: numbers of every row and output.

    Those are labels and their signs (a byte each) or targets, scores, and derivatives: the first
    ones alone where the core knows the second ones by them.
    """
    n_rows, n_channels = targets.values.shape
    is_native = loss.native_kernel == "logistic" and targets.observed is None
    is_native = is_native and targets.weights is None
    per_entry = (2 if loss.is_of_margins else 8) + 8 + (8 if is_native else 16)
    needed = per_entry * n_rows * n_channels
    if needed < memory.SMALL_BYTES:
        return
    memory.check_memory(
        needed,
        f"Rules with loss={estimator.loss!r} keep labels or targets, scores and derivatives of "
        f"{n_rows} rows and {n_channels} outputs ({needed:,} bytes):",
        "Learn from fewer rows or outputs, or use a forest, whose leaves hold training rows.",
    )


def train_rules(
    estimator: Any,
    data: TrainingData,
    loss: Loss,
    values: NDArray[Any],
    size: float,
    *,
    starts_at_baseline: bool = False,
) -> tuple[RuleSet, NDArray[np.float64]]:
    """Learn the rules of an estimator.

    Parameters
    ----------
    estimator : RuleClassifier or RuleRegressor
    data : TrainingData
    loss : Loss
    values : ndarray of shape (n_rows, n_channels)
        The targets as the loss sees them: numbers, or 0 and 1.
    size : float
        How large the scores of such targets are.
    starts_at_baseline : bool
        Whether the default rule predicts the best constant, without regularisation.

    Returns
    -------
    rules : RuleSet
    losses : ndarray of float64
        Mean loss of the held-out rows after every rule; empty without any.
    """
    settings = rule_settings(estimator, data.encoded.shape, starts_at_baseline)
    rng, name, verbose = estimator._rng(), type(estimator).__name__, estimator.verbose
    with progress_bar(name, settings.n_rules, verbose) as advance:
        held_out = _hold_out(estimator, data, rng)
        learner = _learner(estimator, data, loss, values, settings, held_out)
        is_watched = bool(verbose or current_steps())
        rules = learner.learn(data.encoded.shape[1], rng, advance, is_watched)
    rules = finish_rules(rules, data.features, values, size)
    return count_body_rows(rules, learner.columns), np.array(learner.losses)


def train_few_rules(
    estimator: Any,
    data: TrainingData,
    loss: Loss,
    values: NDArray[Any],
    n_rules: int,
    rng: np.random.Generator,
) -> RuleSet:
    """Learn at most `n_rules` rules as the estimator would, without early stopping, silently."""
    settings = rule_settings(estimator, data.encoded.shape)
    settings = replace(
        settings, n_rules=min(n_rules, settings.n_rules), n_iter_no_change=None, is_guarded=True
    )
    learner = _learner(estimator, data, loss, values, settings)
    return learner.learn(data.encoded.shape[1], rng, lambda *_: None, is_watched=False)


def _learner(
    estimator: Any,
    data: TrainingData,
    loss: Loss,
    values: NDArray[Any],
    settings: RuleSettings,
    held_out: NDArray[np.bool_] | None = None,
) -> RuleLearner:
    targets = data.targets
    by_row, by_entry = separate_weights(targets.weights, targets.observed)
    return RuleLearner(
        data.binned,
        LossTargets(values, by_entry, targets.schema.channel_offsets),
        by_row,
        loss,
        settings,
        held_out,
        estimator._n_threads(),
    )


def rule_settings(
    estimator: Any, shape: tuple[int, int], starts_at_baseline: bool = False
) -> RuleSettings:
    """Turn the parameters of an estimator into settings for X of a shape."""
    n_rows, n_features = shape
    sizes = {"complete": 0, "single": 1, "partial": estimator.head_size}
    size = sizes[estimator.head]
    view = None if estimator.projection is None else resolve(estimator.projection)
    if view is not None and estimator.head != "complete":
        raise ValueError(
            f"projection of {type(estimator).__name__} needs head='complete'; got "
            f"projection={estimator.projection!r} with head={estimator.head!r}. For heads of one "
            "output, projection='round_robin' takes them in turn."
        )
    return RuleSettings(
        n_rules=int(estimator.n_rules),
        head_size=float(size) if isinstance(size, float) else int(size),
        learning_rate=float(estimator.learning_rate),
        l2_regularization=float(estimator.l2_regularization),
        l1_regularization=float(estimator.l1_regularization),
        bootstrap=bool(estimator.bootstrap),
        max_features=feature_count(estimator.max_features, n_features),
        max_conditions=estimator.max_conditions,
        min_coverage=count(estimator.min_coverage, n_rows),
        label_bins=getattr(estimator, "label_bins", None),
        is_guarded=estimator.step == "guarded",
        starts_at_baseline=starts_at_baseline,
        n_iter_no_change=int(estimator.n_iter_no_change) if estimator.early_stopping else None,
        view=view,
    )


def _hold_out(
    estimator: Any, data: TrainingData, rng: np.random.Generator
) -> NDArray[np.bool_] | None:
    """Choose the rows to stop early by."""
    if not estimator.early_stopping:
        return None
    usable = data.weighted_rows
    n_held_out = int(np.ceil(float(estimator.validation_fraction) * usable.size))
    if n_held_out >= usable.size:
        raise ValueError(
            f"early_stopping holds out {n_held_out} of {usable.size} rows and leaves none to "
            "learn from. Give more rows, or early_stopping=False."
        )
    held_out = np.zeros(data.n_rows, dtype=np.bool_)
    held_out[rng.choice(usable, n_held_out, replace=False)] = True
    return held_out
