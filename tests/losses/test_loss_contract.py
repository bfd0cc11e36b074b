"""What holds for every loss: a new one is tested by being listed in LOSSES."""

import json
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from polyleaf.losses import LOSSES, Huber, LossTargets, Quantile, from_json, resolve, to_json

each_loss = pytest.mark.parametrize("name", LOSSES)
each_weighting = pytest.mark.parametrize("weighting", [None, "rows", "mask"])
decomposable = [name for name, cls in LOSSES.items() if cls.decomposable]


def make_targets(name, weighting=None, n_rows=40, seed=0):
    """Targets in the loss's domain, four channels; classes come in groups of 3 and 1 + 1."""
    rng = np.random.default_rng(seed)
    offsets = np.arange(5, dtype=np.int32)
    tasks = LOSSES[name].tasks
    if "regression" in tasks:
        values = (
            rng.poisson(2.0, size=(n_rows, 4))
            if name == "poisson"
            else rng.normal(size=(n_rows, 4))
        )
    elif "multilabel" in tasks:
        values = rng.random((n_rows, 4)) < [0.2, 0.4, 0.6, 0.5]
    else:
        offsets = np.array([0, 3, 5], dtype=np.int32)
        values = np.hstack(
            [np.eye(3)[rng.integers(3, size=n_rows)], np.eye(2)[rng.integers(2, size=n_rows)]]
        )
    n_channels = offsets[-1]
    weights = None
    if weighting == "rows":
        weights = rng.uniform(0.5, 3.0, size=n_rows)
    elif weighting == "mask":
        observed = rng.random((n_rows, len(offsets) - 1)) < 0.7
        weights = np.repeat(observed, np.diff(offsets), axis=1).astype(float)
        if "multiclass" in tasks and "regression" not in tasks:
            values = values * weights
    assert values.shape == (n_rows, n_channels)
    return LossTargets(values.astype(float), weights, offsets)


def predictions_for(targets, seed=1):
    return np.random.default_rng(seed).normal(scale=0.7, size=targets.values.shape)


@each_loss
@each_weighting
def test_the_gradient_is_the_difference_quotient_of_the_value(name, weighting):
    loss, targets = resolve(name), make_targets(name, weighting)
    raw = predictions_for(targets)
    gradient = targets.weighted(loss.gradient(targets, raw))
    step = 1e-6
    for i, k in [(0, 0), (3, 1), (17, 2), (39, 3)]:
        up, down = raw.copy(), raw.copy()
        up[i, k] += step
        down[i, k] -= step
        quotient = (loss.value(targets, up) - loss.value(targets, down)) / (2 * step)
        assert gradient[i, k] == pytest.approx(quotient, abs=1e-6)


@pytest.mark.parametrize("name", ["squared_error", "poisson", "logistic"])
def test_the_curvature_is_the_difference_quotient_of_the_gradient(name):
    loss, targets = resolve(name), make_targets(name)
    raw = predictions_for(targets)
    quotient = (loss.gradient(targets, raw + 1e-6) - loss.gradient(targets, raw - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.curvature(targets, raw), quotient, atol=1e-6)


@pytest.mark.parametrize("name", ["examplewise_logistic", "huber"])
def test_a_step_along_gradient_over_curvature_lowers_the_loss(name):
    # Their curvature lies above the Hessian, so that no step overshoots.
    loss, targets = resolve(name), make_targets(name)
    for seed in range(5):
        raw = 3 * predictions_for(targets, seed)
        step = -loss.gradient(targets, raw) / loss.curvature(targets, raw)
        assert loss.value(targets, raw + step) < loss.value(targets, raw)


@each_loss
@each_weighting
def test_no_constant_near_the_baseline_is_better(name, weighting):
    loss, targets = resolve(name), make_targets(name, weighting)
    found = loss.baseline(targets)
    ones = np.ones(targets.values.shape)
    best = loss.value(targets, ones * found)
    for k in range(targets.n_channels):
        for move in (-0.05, -0.01, 0.01, 0.05):
            near = found.copy()
            near[k] += move
            assert loss.value(targets, ones * near) >= best - 1e-9


@each_loss
@each_weighting
def test_entries_without_weight_do_not_count(name, weighting):
    loss, targets = resolve(name), make_targets(name, "mask")
    raw = predictions_for(targets)
    elsewhere = np.where(targets.weights > 0, raw, 5.0)
    changed = np.where(targets.weights > 0, targets.values, 0.0)
    other = LossTargets(changed, targets.weights, targets.channel_offsets)
    assert loss.value(other, elsewhere) == pytest.approx(loss.value(targets, raw))
    np.testing.assert_allclose(loss.baseline(other), loss.baseline(targets))
    np.testing.assert_allclose(
        other.weighted(loss.gradient(other, elsewhere)),
        targets.weighted(loss.gradient(targets, raw)),
    )


@each_loss
def test_a_weight_of_two_counts_like_two_rows(name):
    loss, targets = resolve(name), make_targets(name)
    raw = predictions_for(targets)
    weights = np.ones(targets.n_rows)
    weights[:10] = 2.0
    weighted = LossTargets(targets.values, weights, targets.channel_offsets)
    twice = np.concatenate([np.arange(10), np.arange(targets.n_rows)])
    repeated = targets.at(twice)
    assert loss.value(weighted, raw) == pytest.approx(loss.value(repeated, raw[twice]))
    np.testing.assert_allclose(loss.baseline(weighted), loss.baseline(repeated), atol=0.02)


@pytest.mark.parametrize("name", decomposable)
@each_weighting
def test_the_step_is_brents_minimiser(name, weighting):
    loss, targets = resolve(name), make_targets(name, weighting)
    raw = predictions_for(targets)
    direction = np.random.default_rng(2).normal(size=raw.shape)
    factors = loss.step(targets, raw, direction)
    for k in range(targets.n_channels):

        def along(factor, k=k):
            moved = raw.copy()
            moved[:, k] += factor * direction[:, k]
            return loss.value(targets, moved)

        best = minimize_scalar(along, bracket=(-1.0, 1.0), tol=1e-10).fun
        assert along(factors[k]) <= best + 1e-6 * abs(best)


@each_loss
@pytest.mark.parametrize("shared", [False, True])
def test_a_step_never_raises_the_loss(name, shared):
    loss, targets = resolve(name), make_targets(name)
    for seed in range(3):
        raw = predictions_for(targets, seed)
        rng = np.random.default_rng(seed)
        direction = -loss.gradient(targets, raw)
        if shared:
            direction = rng.normal(size=(targets.n_rows, 1))
        moved = raw + loss.step(targets, raw, direction) * direction
        start = loss.value(targets, raw)
        assert loss.value(targets, moved) <= start * (1 + 1e-12)


@pytest.mark.parametrize("name", ["logistic", "examplewise_logistic"])
def test_separable_labels_give_a_bounded_step(name):
    labels = np.array([[0.0], [0.0], [1.0], [1.0]])
    targets = LossTargets.of(labels)
    loss = resolve(name)
    factors = loss.step(targets, np.zeros((4, 1)), labels - 0.5)
    assert 1.0 < factors[0] * 0.5 <= loss.largest_move


@pytest.mark.parametrize("name", ["logistic", "examplewise_logistic", "softmax", "poisson"])
def test_constant_targets_have_a_finite_baseline(name):
    targets = make_targets(name)
    constant = np.zeros(targets.values.shape)
    constant[:, targets.channel_offsets[:-1]] = name != "poisson"
    found = resolve(name).baseline(LossTargets(constant, None, targets.channel_offsets))
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("name", decomposable)
@each_weighting
def test_leaf_minimisers_are_the_baselines_of_the_leaves(name, weighting):
    loss, targets = resolve(name), make_targets(name, weighting)
    rows = np.random.default_rng(0).permutation(40).astype(np.int32)
    offsets = np.array([0, 15, 40], dtype=np.int64)
    raw = np.zeros(targets.values.shape)
    found = loss.leaf_minimisers(targets, raw, rows, offsets)
    for leaf in range(2):
        part = targets.at(rows[offsets[leaf] : offsets[leaf + 1]])
        ones = np.ones(part.values.shape)
        best = loss.value(part, ones * loss.baseline(part))
        assert loss.value(part, ones * found[leaf]) == pytest.approx(best, rel=1e-6)


@each_loss
def test_float32_predictions_give_nearly_the_same_gradient(name):
    loss, targets = resolve(name), make_targets(name)
    raw = predictions_for(targets)
    single = loss.gradient(targets, raw.astype(np.float32))
    np.testing.assert_allclose(single, loss.gradient(targets, raw), atol=1e-5)


@pytest.mark.parametrize("name", ["logistic", "examplewise_logistic", "softmax", "poisson"])
def test_large_predictions_do_not_overflow(name):
    loss, targets = resolve(name), make_targets(name)
    size = 80.0 if name == "poisson" else 1000.0
    raw = np.where(predictions_for(targets) > 0, size, -size)
    with np.errstate(over="raise", invalid="raise"):
        assert np.all(np.isfinite(loss.gradient(targets, raw)))
        assert np.isfinite(loss.value(targets, raw))


@each_loss
def test_a_loss_survives_clone_pickle_and_json(name):
    loss = resolve(name)
    for copy in (
        clone(loss),
        pickle.loads(pickle.dumps(loss)),
        from_json(json.loads(json.dumps(to_json(loss)))),
    ):
        assert copy == loss


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        {"name": "huber"},
        {"name": "hubber", "params": {}},
        {"name": 3, "params": {}},
        {"name": "huber", "params": {"delta": -1.0}},
        {"name": "huber", "params": {"gamma": 1.0}},
    ],
)
def test_a_damaged_description_is_a_value_error(damaged):
    with pytest.raises(ValueError, match=r"stored|'hubber' is not registered|delta must be"):
        from_json(damaged)


@pytest.mark.parametrize("wrong", [0.0, 1.0, [], [0.5, 2.0], "half", None])
def test_quantiles_lie_between_0_and_1(wrong):
    with pytest.raises(ValueError, match=r"quantile must be"):
        Quantile(wrong).check_params()


def test_targets_outside_of_the_domain_are_refused():
    negative = LossTargets.of([[-1.0], [2.0]])
    for name in ("poisson", "logistic", "examplewise_logistic", "softmax"):
        with pytest.raises(ValueError, match=r"^loss="):
            resolve(name).check_targets(negative)


def test_weights_that_differ_within_a_row_are_refused_by_the_examplewise_loss():
    targets = LossTargets.of([[0.0, 1.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="one weight"):
        resolve("examplewise_logistic").check_targets(targets)


@pytest.mark.parametrize("delta", [0.1, 1e-3])
def test_the_constant_of_a_loss_that_is_nearly_straight_is_found(delta):
    targets = LossTargets.of(np.repeat([0.0, 2.0], [101, 99])[:, None])
    # Between the two, where 101 rows pull by the constant and 99 by delta.
    np.testing.assert_allclose(Huber(delta).baseline(targets), delta * 99 / 101, rtol=1e-6)


def test_an_unknown_stored_loss_says_where_to_register_it():
    with pytest.raises(ValueError, match=r"'mine'.*Register a class of your own in .*LOSSES"):
        from_json({"name": "mine", "params": {}})
