"""Sigmoids of scores: honest where they can be, and on the side of the prediction."""

import numpy as np
import pytest
from scipy.special import expit

from polyleaf.graphs.labels import channel_scores, fit_slopes, probabilities


def test_slopes_of_a_logistic_model_are_found():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40_000, 3)) * [1.0, 10.0, 0.1]
    slopes = np.array([1.5, 0.3, 20.0])
    below = slopes * [1.0, 2.0, 0.5]
    chances = expit(np.where(scores > 0, slopes, below) * scores)
    targets = (rng.random(scores.shape) < chances).astype(float)
    found = fit_slopes(scores, targets, np.ones(scores.shape))
    np.testing.assert_allclose(found[0], slopes, rtol=0.1)
    np.testing.assert_allclose(found[1], below, rtol=0.1)


def test_no_probability_is_certain_and_none_is_on_the_other_side():
    scores = np.array([[-2.0, -1.0, -3.0], [-1.0, 1.0, -1.0], [1.0, 2.0, -2.0], [2.0, 3.0, -1.0]])
    targets = np.array([[0, 1, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0]], dtype=float)
    slopes = fit_slopes(scores, targets, np.ones(scores.shape))
    assert all((slope > 0).all() and np.isfinite(slope).all() for slope in slopes)
    chances = probabilities(scores, np.full(3, 2, np.int32), *slopes, one_hot=False)
    assert chances.min() > 0.0
    assert chances.max() < 1.0
    assert (chances[scores > 0] >= 0.5).all()
    assert (chances[scores < 0] <= 0.5).all()


def test_entries_without_weight_do_not_count():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(500, 2))
    targets = (rng.random(scores.shape) < expit(2 * scores)).astype(float)
    weights = (rng.random(scores.shape) < 0.5).astype(float)
    changed = np.where(weights > 0, targets, 1 - targets)
    for one, other in zip(
        fit_slopes(scores, targets, weights), fit_slopes(scores, changed, weights), strict=True
    ):
        np.testing.assert_allclose(one, other)


def test_classes_of_a_label_add_up_to_one_and_the_predicted_one_is_likeliest():
    rng = np.random.default_rng(2)
    n_states = np.array([3, 2, 4, 1], np.int32)
    relative = rng.normal(size=(50, 6))
    slopes = rng.uniform(0.1, 3.0, size=(2, 10))
    chances = probabilities(relative, n_states, *slopes, one_hot=True)
    groups = np.split(chances, np.cumsum(n_states)[:-1], axis=1)
    scores = np.split(relative, np.cumsum(n_states - 1)[:-1], axis=1)
    for group, score in zip(groups, scores, strict=True):
        np.testing.assert_allclose(group.sum(axis=1), 1.0)
        best = np.argmax(np.column_stack([np.zeros(50), score]), axis=1)
        assert np.array_equal(np.argmax(group, axis=1), best)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_score_of_a_class_is_its_lead_over_the_best_of_the_others(n_classes):
    relative = np.array([[2.0, 1.0], [-1.0, -3.0]])[:, : n_classes - 1]
    scores = channel_scores(relative, np.array([n_classes], np.int32), one_hot=True)
    full = np.column_stack([np.zeros(2), relative])
    for row in range(2):
        for c in range(n_classes):
            assert scores[row, c] == full[row, c] - np.delete(full[row], c).max()
