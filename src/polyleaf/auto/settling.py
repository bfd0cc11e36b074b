"""What the first fold settles: view, depth and rounds of boosting, the number of rules, kernels.

A candidate that has to choose does so once, by the rows that the first fold holds out; the others
take over what it has chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyleaf.auto.work import (
    Shape,
    boosting_work,
    rules_work,
    settled_kernel_work,
    single_trees_work,
)
from polyleaf.projections import RoundRobin

if TYPE_CHECKING:
    from polyleaf.data import BinnedData, Targets


@dataclass(frozen=True, eq=False)
class Settled:
    """What a first fold has settled.

    Attributes
    ----------
    model : estimator
        That of the first fold.
    make : callable (seed, n_jobs) -> estimator
        Makes those of the others.
    work : callable (Shape) -> float
        Of one of them on all rows.
    """

    model: Any
    make: Callable[[int, int | None], Any]
    work: Callable[[Shape], float]


def settled_boosting(model: Any, rows: BinnedData, truth: Targets) -> Settled:
    """Keep view, depth and number of rounds: no more races, and nothing to stop by."""
    view, n_rounds = model.projection_, model.n_estimators_
    settings = {
        "projection": view,
        "max_depth": model._fitted.max_depth,
        "n_estimators": n_rounds,
        "early_stopping": False,
    }
    work = single_trees_work if isinstance(view, RoundRobin) else boosting_work
    return Settled(model, _made_like(model, settings), partial(work, n_rounds=n_rounds))


def settled_rules(model: Any, rows: BinnedData, truth: Targets) -> Settled:
    """Keep the number of rules after which the squared error of held-out rows is least."""
    values = truth.dense_values()
    counted = np.ones(values.shape) if truth.observed is None else truth.observed.astype(float)
    if truth.weights is not None:
        counted *= truth.weights[:, None] if truth.weights.ndim == 1 else truth.weights
    fitted = model._fitted
    errors = [
        float((counted * ((values - scores) / fitted.unit) ** 2).sum())
        for scores in model._staged_scores(rows)
    ]
    n_rules = int(np.argmin(errors)) + 1
    model._fitted = replace(fitted, rules=fitted.rules.take(range(n_rules)))
    # The default rule is one of them, but not one that is asked for.
    settings = {"n_rules": max(1, n_rules - 1)}
    return Settled(model, _made_like(model, settings), partial(rules_work, n_rules=n_rules))


def settled_kernel(model: Any, rows: BinnedData, truth: Targets) -> Settled:
    """Keep the kernel and its width."""
    found = model._fitted.model
    settings = model.get_params(deep=False) | {"kernel": found.kernel, "width": found.width}
    return Settled(model, lambda seed, n_jobs: type(model)(**settings), settled_kernel_work)


def _made_like(model: Any, settings: dict[str, Any]) -> Callable[[int, int | None], Any]:
    given = model.get_params(deep=False) | settings
    return lambda seed, n_jobs: type(model)(**given | {"random_state": seed, "n_jobs": n_jobs})
