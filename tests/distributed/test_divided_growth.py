"""Trees whose codes stay with several workers are those of one machine with ``sums="fixed"``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
from polyleaf.checks.memory import limited_memory
from polyleaf.distributed import CollectiveError, ThreadCollective
from polyleaf.distributed.trees import fit_everywhere

FOREST: dict[str, Any] = {"n_estimators": 2, "sums": "fixed", "random_state": 0}
MODELS: dict[str, Any] = {
    "tree": TreeRegressor(sums="fixed", random_state=0),
    "tree with limits": TreeRegressor(
        sums="fixed",
        random_state=0,
        max_depth=5,
        min_samples_leaf=7,
        min_samples_split=0.05,
        min_impurity_decrease=1e-3,
    ),
    "pruned tree": TreeRegressor(
        sums="fixed", random_state=0, pruning="f_test", pruning_level=0.01
    ),
    "best first": TreeRegressor(sums="fixed", random_state=0, max_leaf_nodes=12),
    "tree of labels": TreeClassifier(sums="fixed", random_state=0),
    "forest": RandomForestRegressor(**FOREST),
    "forest of few features": RandomForestRegressor(max_features="sqrt", **FOREST),
    "forest of views": RandomForestRegressor(projection="gaussian", **FOREST),
    "forest of subspaces": RandomForestRegressor(
        projection="subsample", aggregation="subspace", **FOREST
    ),
    "forest out of bag": RandomForestRegressor(aggregation="oob", oob_score=True, **FOREST),
    "forest of labels": RandomForestClassifier(class_weight="balanced", **FOREST),
    "extra trees": ExtraTreesRegressor(**FOREST),
    "extra trees of labels": ExtraTreesClassifier(**FOREST),
    "bagged trees": BaggedTreesRegressor(max_samples=0.7, **FOREST),
}


@pytest.fixture(autouse=True)
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no worker hold all codes, and small nodes be small."""
    monkeypatch.setattr("polyleaf.distributed.trees.fit_everywhere", lambda *given: False)
    monkeypatch.setattr("polyleaf.trees.growing._FLOAT_ROWS", 60)


def make_data(n_rows: int = 300) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = rng.integers(0, 4, n_rows)
    X[:, 4] = np.where(rng.random(n_rows) < 0.1, rng.normal(size=n_rows), 0.0)
    Y = np.nan_to_num(X) @ rng.normal(size=(6, 3)) + 0.3 * rng.normal(size=(n_rows, 3))
    Y[X[:, 3] == 1] = 1.0  # nodes without anything to split
    return X, Y, rng.uniform(0.5, 2.0, n_rows) * (rng.random(n_rows) < 0.9)


CASES = [(name, "plain") for name in MODELS]
CASES += [
    (name, kind)
    for name in ("tree", "forest", "forest of labels", "extra trees")
    for kind in ("weights", "gaps")
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_trees_on_divided_codes_are_those_of_one_machine(name: str, kind: str) -> None:
    X, Y, weights = make_data()
    if "labels" in name:
        Y = (Y > 0).astype(float)
    if kind == "gaps":
        Y[np.random.default_rng(1).random(Y.shape) < 0.2] = np.nan
    given = weights if kind == "weights" else None
    expected = clone(MODELS[name]).fit(X, Y, sample_weight=given)
    for world in (1, 3):
        parts = cut(len(X), 6, seed=world)
        found = fit_divided(MODELS[name], X, Y, given, world=world, parts=parts)
        assert_same(found, expected)


def test_categories_and_listed_features() -> None:
    X, Y, _ = make_data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["colour"] = np.random.default_rng(1).choice(list("stuvwxyz"), len(X))
    for j in range(4):  # stored as lists
        frame[f"rare{j}"] = np.where(np.random.default_rng(j).random(len(X)) < 0.1, Y[:, 0], 0.0)
    for model in (RandomForestRegressor(**FOREST), ExtraTreesRegressor(**FOREST)):
        expected = clone(model).fit(frame, Y)
        found = fit_divided(model, frame, Y, world=3, parts=cut(len(X), 5))
        assert_same(found, expected)
        assert np.array_equal(found.predict(frame), expected.predict(frame))


@pytest.mark.parametrize("n_float_rows", [1, 299, 300, 4096])
def test_the_size_of_small_nodes_decides_where_floats_begin(
    n_float_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polyleaf.trees.growing._FLOAT_ROWS", n_float_rows)
    X, Y, _ = make_data()
    model = TreeRegressor(sums="fixed", random_state=0)
    expected = clone(model).fit(X, Y)
    assert_same(fit_divided(model, X, Y, world=3, parts=cut(len(X), 5)), expected)


def mostly_zeros(X: Any, Y: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return np.where(rng.random((len(X), 40)) < 0.05, 1.0, 0.0), Y


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (RandomForestRegressor(), None, "With sums='fixed' codes stay.*got sums='auto'"),
        (RandomForestRegressor(projection="auto", sums="fixed"), None, "without projection"),
        (
            RandomForestClassifier(sums="fixed"),
            lambda X, Y: (X, sparse.csr_array(Y > 0)),
            "if Y is dense",
        ),
        (TreeRegressor(sums="fixed"), mostly_zeros, "if X is not mostly zeros"),
    ],
)
def test_codes_that_do_not_fit_are_refused_with_what_to_do(
    model: Any, change: Any, message: str
) -> None:
    X, Y, _ = make_data()
    if change is not None:
        X, Y = change(X, Y)
    model.set_params(random_state=0)
    with pytest.raises((MemoryError, CollectiveError), match=f"takes .* GiB while.*{message}"):
        fit_divided(model, X, Y, world=2, parts=cut(len(X), 4))


def test_what_one_worker_lacks_fits_nowhere() -> None:
    def look(collective: ThreadCollective) -> bool:
        with limited_memory(1 if collective.rank == 1 else None):
            return fit_everywhere(2**28, collective)

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(look, ThreadCollective.group(3))) == [False] * 3
