"""A boosted model of scikit-learn's regressors: f(x) = f_0 + sum_m rho_m g_m(x)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def columns(predicted: Any) -> NDArray[Any]:
    """Give predictions of a regressor two dimensions."""
    values = np.asarray(predicted)
    return values[:, None] if values.ndim == 1 else values
