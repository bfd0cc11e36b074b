"""Lighter models made of a blend: fewer members, or one model that imitates it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf._registry import ESTIMATORS
from polyleaf.auto.blending import on_simplex
from polyleaf.auto.problem import channels_of
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.data import BinnedData

if TYPE_CHECKING:
    from polyleaf.auto.fitted import FittedBlend

Floats = NDArray[np.float64]
#: Rows that a smaller blend is drawn towards the present weights by, of a hundred.
_PULL = 0.1
#: Share of the rows that tell how well a model imitates the blend.
_HELD_OUT = 0.2


def pruned(fitted: FittedBlend, rows: BinnedData, max_ms_per_row: float) -> FittedBlend:
    """Leave out members, the dearest for what they bring first, until a row is quick enough.

    Parameters
    ----------
    fitted : FittedBlend
    rows : BinnedData
        On which the members are timed.
    max_ms_per_row : float
        One member is always kept.
    """
    spent = np.array([_milliseconds(member, rows, fitted) for member in fitted.members])
    kept = list(range(len(fitted.members)))
    while len(kept) > 1 and spent[kept].sum() > max_ms_per_row:
        trials = [[k for k in kept if k != out] for out in kept]
        kept = min(trials, key=lambda trial: _loss(fitted, trial)[0] + _late(spent[trial]))
    loss, weights = _loss(fitted, kept)
    full = float(np.einsum("kij,ki,kj->k", fitted.products, fitted.weights, fitted.weights).mean())
    return replace(
        fitted,
        names=tuple(fitted.names[k] for k in kept),
        members=tuple(fitted.members[k] for k in kept),
        weights=weights,
        products=fitted.products[:, kept][:, :, kept],
        losses=(loss, full),
    )


def _late(milliseconds: Floats) -> float:
    """Break ties between equal losses by time."""
    return 1e-9 * float(milliseconds.sum())


def _milliseconds(member: Any, rows: BinnedData, fitted: FittedBlend) -> float:
    """Time the predictions of a member, per row; the quicker one of two runs."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        channels_of(member, rows, fitted.targets)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times) / rows.n_rows


def _loss(fitted: FittedBlend, kept: list[int]) -> tuple[float, Floats]:
    """Weigh some members again; give the mean squared error of held-out rows, and weights."""
    products = fitted.products[:, kept][:, :, kept]
    present = fitted.weights[:, kept]
    totals = present.sum(axis=1, keepdims=True)
    centre = np.where(totals > 0, present / np.where(totals > 0, totals, 1.0), 1.0 / len(kept))
    pull = _PULL * np.diagonal(products, axis1=1, axis2=2).min(axis=1)
    weights = on_simplex(products, centre, np.maximum(pull, 1e-300))
    return float(np.einsum("kij,ki,kj->k", products, weights, weights).mean()), weights


def imitating(blend: Any, family: Any, X: Any) -> Any:
    """Train one model of a family on what a blend predicts for X.

    Parameters
    ----------
    blend : AutoRegressor or AutoClassifier
    family : str or estimator
    X : array-like, frame or sparse matrix of shape (n, p)
    """
    model = _model_of(family, blend)
    channels, targets = blend._channels(X), blend._targets
    n_rows = channels.shape[0]
    rng = np.random.default_rng(0)
    order = rng.permutation(n_rows)
    n_tested = int(_HELD_OUT * n_rows)
    tested, train = order[:n_tested], order[n_tested:]
    if n_tested:
        trial = _fit(_copy(model), _rows(X, train), channels[train], blend, rng)
        found = channels_of(trial, _rows(X, tested), targets)
        model.loss_ = float(np.sqrt(np.mean((found - channels[tested]) ** 2)))
    return _fit(model, X, channels, blend, rng)


def _model_of(family: Any, blend: Any) -> Any:
    if hasattr(family, "get_params") and not isinstance(family, type):
        return _copy(family)
    suffix = "Regressor" if blend._targets.kind == "regression" else "Classifier"
    kinds = {n.removesuffix(suffix): n for n in ESTIMATORS if n.endswith(suffix)}
    wanted = family.replace("_", "").lower() if isinstance(family, str) else None
    for kind, name in kinds.items():
        if kind.lower() == wanted:
            return ESTIMATORS[name](random_state=0, n_jobs=blend.n_jobs)
    raise ValueError(
        f"family must be one of {', '.join(map(repr, kinds))} or an estimator; got "
        f"{shown(family, 80)}.{did_you_mean(family, kinds)}"
    )


def _copy(model: Any) -> Any:
    return type(model)(**model.get_params(deep=False))


def _rows(X: Any, at: NDArray[np.intp]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[at]
    return (X.tocsr() if hasattr(X, "tocsr") else np.asarray(X))[at]


def _fit(model: Any, X: Any, channels: Floats, blend: Any, rng: np.random.Generator) -> Any:
    """Fit numbers as they are; labels and classes as they are drawn by their probabilities."""
    targets = blend._targets
    names = blend.output_names_
    if targets.kind == "regression":
        values = channels[:, 0] if targets.is_1d else channels
        return model.fit(X, values, output_names=names)
    draws = _drawn(channels, targets, rng)
    return model.fit(X, draws, output_names=names)


def _drawn(channels: Floats, targets: Any, rng: np.random.Generator) -> Any:
    """Draw classes and labels, so that rows that are alike keep their probabilities."""
    if targets.kind in ("binary", "multilabel"):
        chosen = (rng.random(channels.shape) < channels).astype(np.int64)
        return targets.classes[0][chosen[:, 0]] if targets.kind == "binary" else chosen
    columns = []
    offsets = targets.channel_offsets.tolist()
    for classes, start, end in zip(targets.classes, offsets[:-1], offsets[1:]):
        sums = np.cumsum(channels[:, start:end], axis=1)
        at = (rng.random((sums.shape[0], 1)) * sums[:, -1:] > sums).sum(axis=1)
        columns.append(classes[np.minimum(at, classes.size - 1)])
    return columns[0] if targets.kind == "multiclass" else np.column_stack(columns)
