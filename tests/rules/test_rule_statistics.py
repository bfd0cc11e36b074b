"""Derivatives as the core keeps them are those of the losses."""

import numpy as np
import pytest
from rule_losses import LABEL_LOSSES, NUMBER_LOSSES

from polyleaf import _core
from polyleaf.losses import LossTargets
from polyleaf.rules.statistics import PackedStatistics, logistic_sums, weighted

NATIVE = [name for name, loss in LABEL_LOSSES.items() if loss.native_kernel]


@pytest.mark.parametrize("name", LABEL_LOSSES | NUMBER_LOSSES)
def test_a_row_of_weight_three_counts_like_three_rows(name):
    rng = np.random.default_rng(0)
    loss = (LABEL_LOSSES | NUMBER_LOSSES)[name]
    targets = LossTargets.of(rng.integers(2, size=(5, 3)), rng.random((5, 3)) < 0.8)
    scores, weights = rng.normal(size=(5, 3)), np.array([3.0, 1.0, 0.0, 1e-320, 2.0])
    if loss.decomposable:
        weights[3] = 0.0
    plain = weighted(loss, targets, loss.quadratic(targets, scores), None)
    found = weighted(loss, targets, loss.quadratic(targets, scores), weights)
    for row, times in enumerate((3, 1, 0, 0, 2)):
        assert np.allclose(found.gradient[row], times * plain.gradient[row], rtol=1e-14)
        assert np.allclose(found.diagonal[row], times * plain.diagonal[row], rtol=1e-14)
        if plain.coupling is not None and times:
            squares = times * plain.coupling[row] * np.outer(*2 * [plain.gradient[row]])
            assert np.allclose(
                found.coupling[row] * np.outer(*2 * [found.gradient[row]]), squares, rtol=1e-14
            )
    assert found.coupling is None or np.isfinite(found.coupling).all()


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("outputs", [None, [4], [0, 3, 9]])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("is_current", [False, True])
def test_the_core_brings_statistics_up_to_date_as_the_loss_does(
    name, outputs, n_threads, is_current
):
    rng = np.random.default_rng(3)
    n, k = 1200, 21
    values = rng.integers(2, size=(n, k))
    scores = rng.normal(size=(n, k)) * np.array([1.0, 30.0, 900.0])[rng.integers(3, size=(n, 1))]
    loss = LABEL_LOSSES[name]
    targets = LossTargets.of(values)
    known = PackedStatistics.of(loss.quadratic(targets, scores), is_logistic=loss.decomposable)
    rows = np.flatnonzero(rng.random(n) < 0.8).astype(np.int32)
    at = None if outputs is None else np.array(outputs, np.int32)
    head = rng.normal(size=k if outputs is None else len(outputs))
    if not is_current:
        known.gradient[rows[:, None], slice(None) if outputs is None else outputs] = 7.0
    expected = scores.copy()
    expected[np.ix_(rows, np.arange(k) if outputs is None else outputs)] += head
    signs = (2 * values - 1).astype(np.int8)
    flags = not loss.decomposable, is_current
    _core.add_head(signs, scores, known.values, *flags, rows, at, head, n_threads)
    assert np.array_equal(scores, expected)
    new = loss.quadratic(targets, expected)
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
    signs = rng.choice([-1, 1], size=(n, k)).astype(np.int8)
    loss, targets = LABEL_LOSSES["logistic"], LossTargets.of(signs > 0)
    scores = np.zeros((n, k))
    known = PackedStatistics.of(loss.quadratic(targets, scores), is_logistic=True)
    for _ in range(400):
        rows = np.flatnonzero(rng.random(n) < 0.5).astype(np.int32)
        head = rng.normal(size=k) * size
        _core.add_head(signs, scores, known.values, False, True, rows, None, head, 1)
    assert np.abs(scores).max() > 20 * size
    exact = loss.quadratic(targets, scores).gradient
    # The scores have an error of so many roundings themselves.
    error = 400 * np.finfo(float).eps * np.maximum(1.0, np.abs(scores).max())
    assert np.allclose(known.gradient, exact, rtol=error, atol=1e-300)


def test_sums_of_first_derivatives_are_those_of_all_rows():
    labels = np.random.default_rng(0).integers(2, size=(50, 6), dtype=np.int8)
    sums = logistic_sums(labels)
    each = LABEL_LOSSES["logistic"].quadratic(LossTargets.of(labels), np.zeros(labels.shape))
    assert np.allclose(sums.gradient, each.gradient.sum(axis=0, keepdims=True))
    assert np.allclose(sums.diagonal, each.diagonal.sum(axis=0, keepdims=True))
