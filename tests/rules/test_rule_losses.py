"""Losses of rules: derivatives, label sets, masks and weights."""

import numpy as np
import pytest

from polyleaf import _core
from polyleaf.rules.loss_base import PackedStatistics, RuleTargets
from polyleaf.rules.losses import LABEL_LOSSES, NUMBER_LOSSES

LOSSES = {**{f"labels {k}": v for k, v in LABEL_LOSSES.items()}, **NUMBER_LOSSES}
#: Their curvature bounds the loss; it is no second derivative.
MAJORISED = {"absolute_error", "huber", "labels examplewise_squared_error"}
#: Neither; but it is finite.
BOUNDED = {"labels examplewise_squared_hinge"}


def problem(name, rng, n=12, k=4):
    values = rng.choice([-1.0, 1.0], size=(n, k))
    if not name.startswith("labels"):
        values = rng.normal(size=(n, k))
    return values, rng.normal(size=(n, k)) * 0.7


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_gradient_and_hessian_are_the_differences_of_the_loss(name, is_masked, is_weighted):
    rng = np.random.default_rng(0)
    values, scores = problem(name, rng)
    observed = rng.random(values.shape) < 0.7 if is_masked else None
    weights = rng.uniform(0.5, 2.0, len(values)) if is_weighted else None
    targets = RuleTargets(values, observed, weights)
    loss = LOSSES[name]()
    gradient, diagonal, coupling = loss.statistics(targets, scores)
    assert (coupling is None) != loss.is_coupled
    assert not (loss.decomposable and loss.is_coupled)
    step = 1e-5
    n_channels = values.shape[1]
    shifts = step * np.eye(n_channels)
    row_weights = np.ones(len(values)) if weights is None else weights

    def losses(shift):
        return loss.row_losses(targets, scores + shift) * row_weights

    for k in range(n_channels):
        slope = (losses(shifts[k]) - losses(-shifts[k])) / (2 * step)
        assert np.allclose(slope, gradient[:, k], atol=1e-6)
        up = loss.statistics(targets, scores + shifts[k]).gradient
        down = loss.statistics(targets, scores - shifts[k]).gradient
        hessian = (up - down) / (2 * step)
        expected = np.zeros_like(hessian)
        expected[:, k] = diagonal[:, k]
        if coupling is not None:
            expected -= coupling[:, None] * gradient[:, [k]] * gradient
        if name not in MAJORISED | BOUNDED:
            assert np.allclose(hessian, expected, atol=1e-5)


@pytest.mark.parametrize("name", sorted(MAJORISED))
def test_the_parabola_of_a_bounded_loss_lies_above_it(name):
    rng = np.random.default_rng(1)
    is_norm = name.startswith("labels")
    values, scores = problem(name, rng, n=200, k=4 if is_norm else 1)
    targets = RuleTargets(values)
    loss = LOSSES[name]()
    gradient, diagonal, _ = loss.statistics(targets, scores)
    for size in np.linspace(-3, 3, 25):
        step = size * (rng.normal(size=scores.shape) if is_norm else np.ones(scores.shape))
        rise = (gradient * step + diagonal * step**2 / 2).sum(axis=1)
        bound = loss.row_losses(targets, scores) + rise
        assert np.all(loss.row_losses(targets, scores + step) <= bound + 1e-3)


@pytest.mark.parametrize("name", ["examplewise_squared_error", "examplewise_squared_hinge"])
def test_the_step_of_one_row_takes_the_length_of_its_errors_to_zero(name):
    targets = RuleTargets(np.array([[1.0, -1.0, 1.0]]))
    scores = np.array([[0.2, 0.7, -3.0]])
    loss = LABEL_LOSSES[name]()
    gradient, diagonal, _ = loss.statistics(targets, scores)
    assert np.isclose(loss.value(targets, scores - gradient / diagonal), 0.0, atol=1e-12)


def test_label_sets_are_told_apart_at_any_size_of_scores():
    loss = LABEL_LOSSES["examplewise_logistic"]()
    scores = np.array([[400.0, 350.0], [-5000.0, 4000.0], [1.0, -2.0]])
    sets = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=bool)
    found = loss.set_losses(scores, sets)
    exact = np.log1p(np.exp([1.0, -1.0, -1.0, 1.0]) + np.exp([2.0, -2.0, 2.0, -2.0]))
    assert np.allclose(found, [[400, 350, 0, 400], [0, 5000, 5000, 4000], exact])
    assert loss.set_losses(scores, ~sets)[0, 3] > 0  # right, not certain


@pytest.mark.parametrize("name", LABEL_LOSSES)
def test_losses_of_label_sets_are_those_of_rows_with_these_labels(name):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(7, 4)) * 3
    sets = rng.random((9, 4)) < 0.5
    loss = LABEL_LOSSES[name]()
    found = loss.set_losses(scores, sets)
    for j, labels in enumerate(sets):
        targets = RuleTargets(np.broadcast_to(2.0 * labels - 1, scores.shape))
        assert np.allclose(found[:, j], loss.row_losses(targets, scores))


@pytest.mark.parametrize("name", LABEL_LOSSES)
def test_large_scores_stay_finite(name):
    scores = np.array([[1000.0, -1000.0], [-1000.0, 1000.0], [0.0, 1e5]])
    loss = LABEL_LOSSES[name]()
    targets = RuleTargets(np.ones_like(scores))
    for part in loss.statistics(targets, scores):
        assert part is None or np.isfinite(part).all()
    assert np.isfinite(loss.row_losses(targets, scores)).all()
    assert np.isfinite(loss.set_losses(scores, np.array([[True, False], [True, True]]))).all()


def test_unobserved_labels_do_not_matter():
    rng = np.random.default_rng(3)
    values, scores = problem("labels", rng)
    observed = rng.random(values.shape) < 0.6
    flipped = np.where(observed, values, -values)
    for loss in (cls() for cls in LABEL_LOSSES.values()):
        one = loss.statistics(RuleTargets(values, observed), scores)
        other = loss.statistics(RuleTargets(flipped, observed), scores)
        for a, b in zip(one, other, strict=True):
            assert a is b or np.array_equal(np.abs(a), np.abs(b))
        assert np.all(one.gradient[~observed] == 0)


@pytest.mark.parametrize("name", [n for n, loss in LABEL_LOSSES.items() if loss.has_twin])
@pytest.mark.parametrize("outputs", [None, [4], [0, 3, 9]])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("is_current", [False, True])
def test_the_core_brings_statistics_up_to_date_as_the_loss_does(
    name, outputs, n_threads, is_current
):
    rng = np.random.default_rng(3)
    n, k = 1200, 21
    values = rng.choice([-1.0, 1.0], size=(n, k))
    scores = rng.normal(size=(n, k)) * np.array([1.0, 30.0, 900.0])[rng.integers(3, size=(n, 1))]
    loss = LABEL_LOSSES[name]()
    targets = RuleTargets(values)
    known = PackedStatistics.of(loss.statistics(targets, scores), is_logistic=loss.decomposable)
    rows = np.flatnonzero(rng.random(n) < 0.8).astype(np.int32)
    at = None if outputs is None else np.array(outputs, np.int32)
    head = rng.normal(size=k if outputs is None else len(outputs))
    if not is_current:
        known.gradient[rows[:, None], slice(None) if outputs is None else outputs] = 7.0
    expected = scores.copy()
    expected[np.ix_(rows, np.arange(k) if outputs is None else outputs)] += head
    labels = values.astype(np.int8)
    flags = not loss.decomposable, is_current
    _core.add_head(labels, scores, known.values, *flags, rows, at, head, n_threads)
    assert np.array_equal(scores, expected)
    new = loss.statistics(targets, expected)
    assert np.allclose(known.gradient, new.gradient, rtol=1e-13, atol=1e-15)
    if loss.decomposable:  # they follow from the gradients
        share = np.abs(known.gradient)
        assert np.allclose(share - share**2, new.diagonal, rtol=1e-13, atol=1e-15)
    else:
        assert np.allclose(known.diagonal, new.diagonal, rtol=1e-13, atol=1e-15)
    used = np.r_[:k] if loss.decomposable else np.r_[:k, 24 : 24 + k]
    assert not np.delete(known.values, used, axis=1).any()


@pytest.mark.parametrize("size", [0.1, 3.0, 60.0, 300.0])
def test_derivatives_that_follow_many_heads_are_those_of_the_scores(size):
    rng = np.random.default_rng(5)
    n, k = 300, 13
    labels = rng.choice([-1, 1], size=(n, k)).astype(np.int8)
    loss, targets = LABEL_LOSSES["logistic"](), RuleTargets(labels)
    scores = np.zeros((n, k))
    known = PackedStatistics.of(loss.statistics(targets, scores), is_logistic=True)
    for _ in range(400):
        rows = np.flatnonzero(rng.random(n) < 0.5).astype(np.int32)
        head = rng.normal(size=k) * size
        _core.add_head(labels, scores, known.values, False, True, rows, None, head, 1)
    assert np.abs(scores).max() > 20 * size
    exact = loss.statistics(targets, scores).gradient
    # The scores have an error of so many roundings themselves.
    error = 400 * np.finfo(float).eps * np.maximum(1.0, np.abs(scores).max())
    assert np.allclose(known.gradient, exact, rtol=error, atol=1e-300)


def test_sums_of_first_derivatives_are_those_of_all_rows():
    values = np.random.default_rng(0).choice([-1, 1], size=(50, 6)).astype(np.int8)
    targets = RuleTargets(values)
    for name, loss in ((name, cls()) for name, cls in LABEL_LOSSES.items()):
        sums = loss.first_sums(targets)
        assert (sums is not None) == (name == "logistic")
        if sums is not None:
            each = loss.statistics(targets, np.zeros(values.shape))
            assert np.allclose(sums.gradient, each.gradient.sum(axis=0, keepdims=True))
            assert np.allclose(sums.diagonal, each.diagonal.sum(axis=0, keepdims=True))
