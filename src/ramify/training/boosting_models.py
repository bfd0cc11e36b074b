"""Boosting of any regressor: Algorithms 2 and 3 of paper 000 without trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ramify.model import BoostedModels
from ramify.model.boosted_models import columns
from ramify.training.boosting import Booster, BoostingSettings
from ramify.training.boosting_units import Units
from ramify.training.gradient_channels import gradient_channels

if TYPE_CHECKING:
    from ramify.training.data import TrainingData


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
    units : Units, optional
        Those of an earlier fit that is gone on with.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: BoostingSettings,
        entropy: Sequence[int],
        n_threads: int,
        estimator: Any,
        units: Units | None = None,
    ) -> None:
        super().__init__(data, settings, entropy, n_threads, units)
        self.estimator = estimator

    def grow(self, t: int) -> FittedRound:  # type: ignore[override]
        """Fit the model of round t and move all raw predictions by it."""
        rng = self._rng(t)
        view = self._draw(t, rng)
        state, settings = self.state, self.settings
        shown = gradient_channels(state, view, self._row_weights)
        aims = np.asarray(shown.source, dtype=np.float64)
        rows = self._drawn_rows(rng)
        model = self._fit(aims[rows], rows, rng)
        predicted = columns(model.predict(self.data.encoded)).astype(np.float64)
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
        return FittedRound(model, shrunk)

    def _fit(
        self,
        aims: NDArray[np.float64],
        rows: NDArray[np.int32],
        rng: np.random.Generator,
    ) -> Any:
        """Fit a clone to weighted gradients of some rows."""
        model = clone(self.estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=int(rng.integers(2**31)))
        is_weighted = has_fit_parameter(model, "sample_weight")
        if aims.shape[1] > 1 and not get_tags(model).target_tags.multi_output:
            model = MultiOutputRegressor(model)
        given: dict[str, Any] = {}
        if self._row_weights is not None:
            weights = self._row_weights[rows].astype(np.float64)
            aims = aims / weights[:, None]
            if is_weighted:
                given["sample_weight"] = weights
        shaped = aims[:, 0] if aims.shape[1] == 1 else aims
        return model.fit(self.data.encoded[rows], shaped, **given)

    def model(self, rounds: Sequence[Any]) -> BoostedModels:  # type: ignore[override]
        """Put fitted regressors together."""
        return BoostedModels(
            np.where(self.units.is_observed, self.baseline, np.nan),
            tuple(fitted.model for fitted in rounds),
            np.array([fitted.factors for fitted in rounds]),
        )
