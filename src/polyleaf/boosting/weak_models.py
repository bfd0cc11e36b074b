"""Boosting of any regressor: Algorithms 2 and 3 of Joly et al. 2019 without trees.

The model is f(x) = f_0 + sum_m rho_m g_m(x), g_m a regressor of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from polyleaf.boosting.booster import Booster, BoostingSettings
from polyleaf.boosting.leaves import gradient_channels
from polyleaf.checks.warning import warn_user
from polyleaf.data.coded_rows import by_blocks

if TYPE_CHECKING:
    from polyleaf.boosting.leaves import Units
    from polyleaf.data.training import TrainingData
    from polyleaf.trees.channels import Channels


@dataclass(frozen=True, eq=False)
class ModelPerOutput:
    """Fitted regressors of one output each; None predicts 0."""

    models: tuple[Any, ...]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict all outputs, of shape (n_rows, n_outputs)."""
        zeros = np.zeros(X.shape[0])
        return np.column_stack(
            [zeros if model is None else np.ravel(model.predict(X)) for model in self.models]
        )


@dataclass(frozen=True, eq=False)
class BoostedModels:
    """Fitted regressors whose predictions are multiplied and added up.

    Attributes
    ----------
    baseline : ndarray of shape (n_channels,), float64
        NaN for a channel that was never observed.
    models : tuple of estimators
        Each predicts all channels, or one number that serves all of them.
    factors : ndarray of shape (n_models, n_channels), float32
        rho of every model, shrunk by the learning rate.
    """

    baseline: NDArray[np.float64]
    models: tuple[Any, ...]
    factors: NDArray[np.float32]

    @property
    def n_trees(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_channels(self) -> int:
        """Number of channels of raw predictions."""
        return self.baseline.size

    def predict(self, X: Any, n_threads: int = 1) -> NDArray[np.float32]:
        """Predict raw values of all rows, of shape (n_rows, n_channels)."""
        raw = np.tile(self.baseline.astype(np.float32), (X.shape[0], 1))
        self.add_to(X, raw, n_threads)
        return raw

    def add_to(self, X: Any, raw: NDArray[np.float32], n_threads: int = 1) -> None:
        """Add what the models predict, without the baseline, to raw predictions in place."""
        for model, factors in zip(self.models, self.factors):
            raw += columns(model.predict(X)) * factors

    def staged_predict(
        self, X: Any, trees_per_stage: int, n_threads: int = 1
    ) -> Iterator[NDArray[np.float32]]:
        """Predict raw values by the first models, more and more of them."""
        raw = np.tile(self.baseline.astype(np.float32), (X.shape[0], 1))
        for t, (model, factors) in enumerate(zip(self.models, self.factors)):
            raw += columns(model.predict(X)) * factors
            if (t + 1) % trees_per_stage == 0:
                yield raw.copy()

    @classmethod
    def concatenate(cls, parts: Sequence[BoostedModels]) -> BoostedModels:
        """Join models with one baseline, in their order."""
        models = tuple(model for part in parts for model in part.models)
        return cls(parts[0].baseline, models, np.concatenate([part.factors for part in parts]))


@dataclass(frozen=True, eq=False)
class FittedRound:
    """One regressor of a boosted model, and its shrunk factors (n_channels,)."""

    model: Any
    factors: NDArray[np.float32]


class ModelBooster(Booster):
    """Boosts regressors of scikit-learn.

    Parameters
    ----------
    data : TrainingData
    settings : BoostingSettings
        What it says about trees does not apply.
    entropy : sequence of int
    n_threads : int
    estimator : regressor
        Cloned for every round.
    units : Units
    """

    def __init__(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: Sequence[int],
        n_threads: int,
        estimator: Any,
        units: Units,
    ) -> None:
        super().__init__(data, settings, entropy, n_threads, units)
        self.estimator = estimator
        if weight_parameter(estimator) is not None:
            return
        if settings.row_sampling == "gradient" and settings.subsample < 1.0:
            raise ValueError(
                f"row_sampling='gradient' needs an estimator that takes sample_weight; got "
                f"{type(estimator).__name__}, which takes none. Use row_sampling='uniform'."
            )
        if data.weights is not None:
            warn_user(
                f"{type(estimator).__name__} takes no sample_weight: it is fitted as if all rows "
                "had the same weight; weights affect only the sizes of its steps.",
            )

    def grow(self, t: int) -> FittedRound:  # type: ignore[override]
        """Fit the model of round t and move all raw predictions by it."""
        rng = self._rng(t)
        view = self._draw(t, rng)
        state, settings = self.state, self.settings
        shown = gradient_channels(state, view, self._row_weights)
        rows, shown = self._drawn_rows(rng, shown)
        model = self._fit(shown, rows, rng)
        predicted = columns(by_blocks(self.data.encoded, model.predict)).astype(np.float64)
        if predicted.shape[1] not in (1, self.targets.n_channels):
            raise ValueError(
                f"estimator must predict {self.targets.n_channels} outputs; "
                f"{type(model).__name__} predicts {predicted.shape[1]}."
            )
        factors = settings.learning_rate * state.step(predicted)
        if view.updated is not None:
            factors = factors * view.updated
        shrunk = factors.astype(np.float32)
        state.add((predicted * shrunk).astype(np.float32))
        if self._watched is not None:
            self._watched_raw += columns(model.predict(self._watched)) * shrunk
        return FittedRound(model, shrunk)

    def _fit(self, shown: Channels, rows: NDArray[np.int32], rng: np.random.Generator) -> Any:
        """Fit a clone to gradients of some rows, or one for each output.

        So it is where the estimator takes one output alone, or where outputs have rows or
        weights of their own.
        """
        X = self.data.encoded[rows]
        aims = np.asarray(shown.source, dtype=np.float64)[rows]
        given = shown.row_weights if shown.entry_weights is None else shown.entry_weights
        weights: NDArray[np.float64] | None = None
        if given is not None:
            weights = given[rows].astype(np.float64)
            by_entry = weights if weights.ndim == 2 else weights[:, None]
            aims = np.divide(aims, by_entry, out=np.zeros_like(aims), where=by_entry > 0)
        model = _seeded(clone(self.estimator), rng)
        is_shared = weights is None or weights.ndim == 1
        if is_shared and (aims.shape[1] == 1 or get_tags(model).target_tags.multi_output):
            return _fit_one(model, X, aims[:, 0] if aims.shape[1] == 1 else aims, weights)
        models: list[Any] = []
        for j in range(aims.shape[1]):
            own = weights if is_shared or weights is None else weights[:, j]
            used = np.ones(rows.size, np.bool_) if own is None else own > 0
            if used.any():
                kept = None if own is None else own[used]
                models.append(_fit_one(clone(model), X[used], aims[used, j], kept))
            else:
                models.append(None)
        return ModelPerOutput(tuple(models))

    def model(self, rounds: Sequence[Any]) -> BoostedModels:  # type: ignore[override]
        """Put fitted regressors together."""
        return BoostedModels(
            np.where(self.units.is_observed, self.baseline, np.nan),
            tuple(fitted.model for fitted in rounds),
            np.array([fitted.factors for fitted in rounds]),
        )


def weight_parameter(model: Any) -> str | None:
    """Name the parameter of `fit` that takes weights of rows; that of a pipeline's last step."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def _seeded(model: Any, rng: np.random.Generator) -> Any:
    """Give a model, and all that it is made of, seeds of their own."""
    names = [name for name in sorted(model.get_params()) if name.split("__")[-1] == "random_state"]
    return model.set_params(**{name: int(rng.integers(2**31)) for name in names})


def _fit_one(
    model: Any, X: Any, aims: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> Any:
    """Fit a model, with weights if it takes them."""
    name = None if weights is None else weight_parameter(model)
    return model.fit(X, aims) if name is None else model.fit(X, aims, **{name: weights})


def columns(predicted: Any) -> NDArray[Any]:
    """Give predictions of a regressor two dimensions."""
    values = np.asarray(predicted)
    return values[:, None] if values.ndim == 1 else values
