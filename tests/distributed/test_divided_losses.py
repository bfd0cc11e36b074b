"""Every loss of boosting gives one model, however rows are divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from divided import assert_same, cut, fit_divided
from scipy import sparse
from sklearn.base import clone

from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.boosting.exact_quantiles import exact_quantiles
from polyleaf.distributed import CollectiveError
from polyleaf.losses import LOSSES, Huber, LossTargets, Quantile, is_for
from polyleaf.losses._targets import weighted_quantiles
from polyleaf.trees.shards import Shard

NUMBERS = [
    *[name for name in LOSSES if is_for(name, "boosting", "regression")],
    Quantile([0.1, 0.5, 0.9]),
]
LABELS = [name for name in LOSSES if is_for(name, "boosting", "multilabel")]
LEAVES: dict[str, Any] = {
    "auto": {},
    "gradient": {"leaf_values": "gradient"},
    "exact": {"leaf_values": "exact"},
    "linear": {"leaf_fit": "linear", "projection": projections.Gaussian(n_components=1)},
}


def make_data(n_rows: int = 240) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    Y = np.sin(X) @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(n_rows, 3))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    return X, np.abs(Y).round(1), rng.integers(1, 4, n_rows) / 2.0


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("loss", NUMBERS, ids=str)
def test_losses_of_numbers_give_one_model(loss: Any, leaves: str) -> None:
    X, Y, weights = make_data()
    model = BoostingRegressor(
        n_estimators=3, max_depth=2, loss=loss, sums="fixed", random_state=0, **LEAVES[leaves]
    )
    expected = clone(model).fit(X, Y, sample_weight=weights)
    found = fit_divided(model, X, Y, weights, world=2, parts=cut(len(X), 5))
    assert_same(found, expected)
    assert np.isfinite(expected.predict(X)).all()


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("loss", LABELS)
def test_losses_of_labels_give_one_model(loss: str, leaves: str) -> None:
    if leaves == "exact" and not LOSSES[loss]().decomposable:
        pytest.skip("exact leaf values need a loss that adds up over outputs")
    X, Y, weights = make_data()
    labels = np.where(np.isnan(Y), np.nan, Y > 0.7)
    model = BoostingClassifier(
        n_estimators=3, max_depth=2, loss=loss, sums="fixed", random_state=0, **LEAVES[leaves]
    )
    expected = clone(model).fit(X, labels, sample_weight=weights)
    found = fit_divided(model, X, labels, weights, world=2, parts=cut(len(X), 5))
    assert_same(found, expected)


@pytest.mark.parametrize("leaves", ["auto", "gradient"])
def test_classes_give_one_model(leaves: str) -> None:
    X, _, _ = make_data()
    classes = (3 * X[:, 0]).astype(int) % 3
    model = BoostingClassifier(
        n_estimators=3, max_depth=2, sums="fixed", random_state=0, **LEAVES[leaves]
    )
    expected = clone(model).fit(X, classes)
    assert_same(fit_divided(model, X, classes, world=2, parts=cut(len(X), 5)), expected)


@pytest.mark.parametrize("loss", ["absolute_error", Huber(0.5), Quantile(0.3)], ids=str)
def test_fixed_sums_leave_models_as_good_as_float_ones(loss: Any) -> None:
    X, Y, _ = make_data()
    both = [
        BoostingRegressor(
            n_estimators=5, loss=loss, projection=None, sums=sums, random_state=0
        ).fit(X, Y)
        for sums in ("fixed", "float")
    ]
    losses = [model.history_["train_loss"][-1] for model in both]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_exact_quantiles_are_those_of_sorted_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 60)), int(rng.integers(1, 4))
    values = rng.normal(size=(n, d)).round(int(rng.integers(0, 4)))
    values = values.astype(np.float32 if seed % 2 else np.float64)
    weights = None if seed % 3 == 0 else rng.integers(0, 4, size=(n, 1 + (d - 1) * (seed % 2)))
    shares = rng.uniform(0.05, 0.95, d)
    shares[0] = 0.5
    everywhere = np.zeros(n, np.int64)
    found = exact_quantiles(values, weights, shares, everywhere, 1, Shard.alone(n))[0]
    assert np.array_equal(found, weighted_quantiles(values, weights, shares))


def test_outputs_that_would_be_factored_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyleaf.boosting.checks.LARGEST_RAW_BYTES", 1000)
    X, Y, _ = make_data()
    labels = sparse.csr_array(np.nan_to_num(Y) > 0.7)
    model = BoostingClassifier(loss="squared_error", random_state=0, **LEAVES["linear"])
    with pytest.raises((ValueError, CollectiveError), match="do not fit a worker"):
        fit_divided(model, X, labels, world=2, parts=cut(len(X), 5))


def test_leaves_without_weight_have_quantile_zero() -> None:
    values, groups = np.array([[3.0], [4.0]]), np.array([0, 0])
    found = exact_quantiles(values, None, np.array([0.5]), groups, 2, Shard.alone(2))
    assert found.tolist() == [[3.5], [0.0]]


def test_a_shard_answers_as_all_rows_do() -> None:
    targets = LossTargets.of([[1.0, 2.0], [3.0, 4.0]], [1.0, 3.0])
    assert targets.total(np.array([1.0, 2.0])) == 3.0
    assert targets.mean(np.array([1.0, 3.0]), np.array([1.0, 3.0])) == 2.5
