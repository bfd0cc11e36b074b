"""Workers whose rows do not count, or are all set aside, do not change the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from divided import assert_same, fit_divided
from sklearn.base import clone

from polyleaf import BoostingClassifier, BoostingRegressor

SETTINGS: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
ASIDE: dict[str, Any] = SETTINGS | {"early_stopping": True, "validation_fraction": 0.8}
MODELS: dict[str, Any] = {
    "view that is chosen": BoostingRegressor(**SETTINGS),
    "labels": BoostingClassifier(**ASIDE),
    "medians": BoostingRegressor(loss="absolute_error", projection=None, **ASIDE),
    "linear leaves": BoostingRegressor(projection="gaussian", leaf_fit="linear", **ASIDE),
    "subsamples": BoostingRegressor(projection="gaussian", subsample=0.5, **ASIDE),
}


@pytest.mark.parametrize("kind", ["set aside", "unobserved", "weightless"])
@pytest.mark.parametrize("name", MODELS)
def test_workers_without_rows_to_train_on_take_part(name: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = np.sin(X) @ rng.normal(size=(4, 3)) + 0.2 * rng.normal(size=(300, 3))
    weights = None
    if name == "labels":
        Y = (Y > 0).astype(float)
    parts = [slice(0, 30), slice(30, 300)]
    if kind == "set aside":  # one row in most workers
        parts = [slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 300)]
    elif kind == "unobserved":
        Y[:30] = np.nan
    else:
        weights = np.where(np.arange(300) < 30, 0.0, 1.0)
    expected = clone(MODELS[name]).set_params(sums="fixed").fit(X, Y, sample_weight=weights)
    found = fit_divided(MODELS[name], X, Y, weights, world=len(parts), parts=parts)
    assert_same(found, expected)
