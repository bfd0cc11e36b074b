"""The trainer gives one model for any number of workers and any division of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from divided import assert_same, cut, fit_divided
from sklearn.base import clone

from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.data import dense_binning
from polyleaf.distributed import CollectiveError


def make_data(n_rows: int = 500, n_outputs: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = rng.integers(0, 3, n_rows)  # few values
    X[:, 5] = rng.random(n_rows) < 0.05  # two values, one of them rare
    signal = np.sin(np.nan_to_num(X)) @ rng.normal(size=(6, n_outputs))
    Y = signal + 0.3 * rng.normal(size=signal.shape)
    return X, Y, rng.uniform(0.5, 2.0, n_rows)


SETTINGS: dict[str, Any] = {
    "all outputs": {"projection": None},
    "gaussian": {"projection": projections.Gaussian(n_components=2)},
    "one output at a time": {"projection": "round_robin"},
    "adaptive": {"projection": "adaptive"},
    "top outputs": {"projection": "top_outputs"},
    "drawn outputs": {"projection": projections.GradientSampling(n_components=2)},
    "race": {"projection": "auto"},
    "subsampled": {"projection": "gaussian", "subsample": 0.6},
    "best first": {"projection": None, "max_depth": None, "max_leaf_nodes": 7},
    "early stopping": {"projection": None, "early_stopping": True, "n_iter_no_change": 2},
    "not normalized": {"projection": None, "normalize_outputs": False},
    "monotone": {"projection": None, "monotonic_cst": [1, 0, 0, 0, 0, 0]},
    "share of rows": {"projection": None, "min_samples_leaf": 0.05},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_numbers_are_boosted_to_the_same_model_however_rows_are_divided(name: str) -> None:
    X, Y, weights = make_data()
    model = BoostingRegressor(n_estimators=6, sums="fixed", random_state=0, **SETTINGS[name])
    expected = clone(model).fit(X, Y, sample_weight=weights)
    for world, n_parts in ((1, 3), (2, 2), (3, 7)):
        parts = cut(len(X), n_parts, seed=world)
        found = fit_divided(model, X, Y, weights, world=world, parts=parts)
        assert_same(found, expected)


LABELS: dict[str, Any] = {
    "labels": {"projection": None},
    "labels one at a time": {"projection": "round_robin"},
    "balanced": {"projection": "gaussian", "class_weight": "balanced"},
    "early stopping": {"projection": "auto", "early_stopping": True},
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_boosted_to_the_same_model(name: str) -> None:
    X, Y, _ = make_data()
    labels = (Y > 0.5).astype(float)
    labels[np.random.default_rng(1).random(labels.shape) < 0.2] = np.nan
    model = BoostingClassifier(n_estimators=5, sums="fixed", random_state=0, **LABELS[name])
    expected = clone(model).fit(X, labels)
    found = fit_divided(model, X, labels, world=3, parts=cut(len(X), 6))
    assert_same(found, expected)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "strings", "several"])
def test_classes_that_some_parts_lack_are_those_of_all(kind: str) -> None:
    X, Y, _ = make_data()
    codes = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.1, 0.6]))
    y: Any = {
        "binary": np.where(codes > 0, 7, 3),
        "multiclass": codes,
        "strings": np.array(["low", "mid", "high"], dtype=object)[codes],
        "several": np.column_stack([codes, codes > 0, Y[:, 1] > 0]).astype(int),
    }[kind]
    order = np.argsort(codes, kind="stable")  # most parts have one class only
    X, y = X[order], y[order]
    model = BoostingClassifier(n_estimators=4, sums="fixed", random_state=0)
    expected = clone(model).fit(X, y)
    found = fit_divided(model, X, y, world=3, parts=cut(len(X), 9))
    assert_same(found, expected)
    assert np.array_equal(found.predict(X), expected.predict(X))


def test_missing_targets_and_weights_of_entries() -> None:
    X, Y, _ = make_data()
    rng = np.random.default_rng(2)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    Y[:120] = np.nan  # a whole part without an observed output
    weights = rng.uniform(0.0, 2.0, Y.shape) * (rng.random(Y.shape) > 0.2)
    weights[200:300] = 0.0  # and one without weight
    model = BoostingRegressor(n_estimators=5, projection="gaussian", sums="fixed", random_state=0)
    expected = clone(model).fit(X, Y, sample_weight=weights)
    parts = [slice(0, 120), slice(120, 200), slice(200, 300), slice(300, 500)]
    for world in (2, 4):
        assert_same(fit_divided(model, X, Y, weights, world=world, parts=parts), expected)


def test_validation_rows_of_several_workers_stop_at_the_same_round() -> None:
    X, Y, weights = make_data(700)
    model = BoostingRegressor(
        n_estimators=40,
        learning_rate=0.5,
        projection=None,
        early_stopping=True,
        n_iter_no_change=3,
        sums="fixed",
        random_state=0,
    )
    held_out = (X[500:], Y[500:], weights[500:])
    expected = clone(model).fit(X[:500], Y[:500], eval_set=held_out)
    assert expected.n_estimators_ < 40
    for world in (1, 3):
        found = fit_divided(
            model, X[:500], Y[:500], None, held_out, world=world, parts=cut(500, 5)
        )
        assert_same(found, expected)


def test_frames_with_categories_that_some_parts_lack() -> None:
    X, Y, _ = make_data(400)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["colour"] = rng.choice(["red", "green", "blue", None], 400)
    frame["size"] = pd.Categorical(rng.choice(["s", "m", "l"], 400), categories=["s", "m", "l"])
    frame["flag"] = rng.random(400) < 0.3
    frame = frame.sort_values("colour", ignore_index=True)
    targets = pd.DataFrame(Y, columns=["u", "v", "w"])
    model = BoostingRegressor(n_estimators=5, projection=None, sums="fixed", random_state=0)
    expected = clone(model).fit(frame, targets)
    found = fit_divided(model, frame, targets, world=3, parts=cut(400, 8))
    assert_same(found, expected)
    assert list(found.output_names_) == ["u", "v", "w"]


def test_bins_of_many_rows_are_those_of_their_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_binning, "SAMPLE_ROWS", 150)
    X, Y, _ = make_data(600)
    X[:, 3] = np.round(X[:, 3], 1)
    model = BoostingRegressor(n_estimators=4, max_bins=30, sums="fixed", random_state=0)
    expected = clone(model).fit(X, Y)
    for world in (1, 3):
        found = fit_divided(model, X, Y, world=world, parts=cut(600, 5))
        assert_same(found, expected)


def test_float32_parts_beside_float64_parts() -> None:
    X, Y, _ = make_data(300)
    X = X.astype(np.float32).astype(np.float64)
    model = BoostingRegressor(n_estimators=3, sums="fixed", random_state=0)
    expected = clone(model).fit(X, Y)

    class Halves:
        shape = X.shape

        def __getitem__(self, rows: slice) -> Any:
            return X[rows].astype(np.float32) if rows.start == 0 else X[rows]

    assert_same(fit_divided(model, Halves(), Y, world=2, parts=cut(300, 3)), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X[:, :5], Y), "columns"),
        (lambda X, Y: (X, Y[:, :2]), "n_outputs"),
        (lambda X, Y: (X, Y[:-1]), "inconsistent"),
        (lambda X, Y: (X, np.full(Y.shape, np.inf)), "infinity"),
    ],
)
def test_parts_that_do_not_fit_the_others_are_refused_on_all_workers(
    change: Any, message: str
) -> None:
    X, Y, _ = make_data(200)

    class Changed:
        shape = X.shape

        def __init__(self, which: int) -> None:
            self.which = which

        def __getitem__(self, rows: slice) -> Any:
            given = X[rows], Y[rows]
            return (change(*given) if rows.start else given)[self.which]

    model = BoostingRegressor(n_estimators=3, random_state=0)
    parts = [slice(0, 100), slice(100, 200)]
    with pytest.raises((ValueError, CollectiveError), match=message):
        fit_divided(model, Changed(0), Changed(1), world=2, parts=parts)


def test_whoever_listens_can_stop_the_fit() -> None:
    X, Y, _ = make_data(200)
    heard = []

    def tell(progress: Any, traffic: Any) -> bool:
        heard.append((progress.n_estimators, traffic.bytes_sent))
        return progress.n_estimators == 3

    model = BoostingRegressor(n_estimators=9, projection=None, random_state=0)
    found = fit_divided(model, X, Y, world=2, parts=cut(200, 4), tell=tell)
    assert found.n_estimators_ == 3
    assert [n for n, _ in heard] == [1, 2, 3]
    assert heard[2][1] > heard[0][1] > 0
