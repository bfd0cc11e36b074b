"""Trees and forests of several workers are those of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from divided import assert_same, cut, fit_divided
from scipy import sparse
from sklearn.base import clone

from polyleaf import (
    BaggedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeClassifier,
    TreeRegressor,
)

MODELS: dict[str, Any] = {
    "tree": TreeRegressor(random_state=0),
    "pruned tree": TreeRegressor(random_state=0, pruning="f_test", pruning_level="cv"),
    "tree of labels": TreeClassifier(random_state=0),
    "forest": RandomForestRegressor(n_estimators=5, random_state=0),
    "forest in fixed point": RandomForestRegressor(n_estimators=3, random_state=0, sums="fixed"),
    "forest of views": RandomForestRegressor(
        n_estimators=4, projection="gaussian", random_state=0
    ),
    "forest out of bag": RandomForestRegressor(
        n_estimators=5, aggregation="oob", oob_score=True, random_state=0
    ),
    "forest that chooses": RandomForestRegressor(
        n_estimators=12, projection="auto", random_state=0
    ),
    "forest of labels": RandomForestClassifier(
        n_estimators=5, projection="subsample", random_state=0
    ),
    "extra trees": ExtraTreesRegressor(n_estimators=4, random_state=0),
    "extra trees of labels": ExtraTreesClassifier(n_estimators=4, random_state=0),
    "bagged trees": BaggedTreesRegressor(n_estimators=3, random_state=0),
}


def make_data(n_rows: int = 300) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = rng.random(n_rows) < 0.05
    X[:, 4] = np.where(rng.random(n_rows) < 0.1, rng.normal(size=n_rows), 0.0)
    Y = np.nan_to_num(X) @ rng.normal(size=(5, 3)) + 0.3 * rng.normal(size=(n_rows, 3))
    return X, Y, rng.uniform(0.0, 2.0, n_rows)


@pytest.mark.parametrize("name", MODELS)
def test_trees_of_several_workers_are_those_of_one_machine(name: str) -> None:
    X, Y, weights = make_data()
    model = MODELS[name]
    if "labels" in name:
        Y = (Y > 0).astype(int)
    expected = clone(model).fit(X, Y, sample_weight=weights)
    for world in (1, 3):
        found = fit_divided(model, X, Y, weights, world=world, parts=cut(len(X), 5))
        assert_same(found, expected)
        assert np.array_equal(found.predict(X), expected.predict(X))


def test_frames_missing_targets_and_sparse_labels() -> None:
    X, Y, _ = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["colour"] = np.random.default_rng(1).choice(["red", "green", "blue"], len(X))
    gaps = pd.DataFrame(np.where(Y > 1.5, np.nan, Y), columns=["u", "v", "w"])
    model: Any = RandomForestRegressor(n_estimators=4, random_state=0)
    expected = clone(model).fit(frame, gaps)
    assert_same(fit_divided(model, frame, gaps, world=3, parts=cut(len(X), 6)), expected)
    labels = sparse.csr_array((Y > 0.5).astype(float))
    model = RandomForestClassifier(n_estimators=4, random_state=0)
    expected = clone(model).fit(X, labels)
    assert_same(fit_divided(model, X, labels, world=2, parts=cut(len(X), 4)), expected)
