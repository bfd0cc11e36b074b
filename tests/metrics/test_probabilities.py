import numpy as np
import pytest
from hypothesis import given
from naive_metrics import label_problems, layouts
from scipy import sparse
from sklearn.metrics import log_loss, roc_auc_score

from polyleaf import metrics

METRICS = (metrics.log_loss, metrics.brier_score_loss, metrics.roc_auc_score)


def probabilities(scores):
    """Make probabilities of the scores of a problem, which have ties, 0 and 1 among them."""
    return (scores - scores.min()) / max(np.ptp(scores), 1.0)


def entry_loss(metric, y, p):
    if metric is metrics.brier_score_loss:
        return (y - p) ** 2
    return -np.log(max(p if y else 1 - p, np.finfo(float).eps))


def area(true, scores, weights):
    """Count the pairs of a row with the label and one without that are in the right order."""
    won = pairs = 0.0
    for y, s, w in zip(true, scores, weights):
        for other_y, other_s, other_w in zip(true, scores, weights):
            if y == 1 and other_y == 0:
                pairs += w * other_w
                won += w * other_w * ((s > other_s) + 0.5 * (s == other_s))
    return won / pairs if pairs else np.nan


@pytest.mark.parametrize("metric", [metrics.log_loss, metrics.brier_score_loss])
@given(problem=label_problems(unobserved=True))
def test_losses_are_means_over_observed_entries(metric, problem):
    true, _, scores, weights = problem
    given_weights = np.outer(weights, np.ones(true.shape[1]))
    p = probabilities(scores)
    losses = np.array(
        [[entry_loss(metric, y, q) for y, q in zip(*row)] for row in zip(np.nan_to_num(true), p)]
    )
    counted = np.where(np.isnan(true), 0.0, given_weights)
    for weight in (weights, given_weights):
        for one, other in layouts(true, p):
            micro = metric(one, other, sample_weight=weight)
            per_label = metric(one, other, average=None, sample_weight=weight)
            macro = metric(one, other, average="macro", sample_weight=weight)
            total = counted.sum()
            expected = (counted * losses).sum() / total if total else np.nan
            np.testing.assert_allclose(micro, expected, atol=1e-12)
            for j in range(true.shape[1]):
                total = counted[:, j].sum()
                expected = counted[:, j] @ losses[:, j] / total if total else np.nan
                np.testing.assert_allclose(per_label[j], expected, atol=1e-12)
            known = per_label[~np.isnan(per_label)]
            np.testing.assert_allclose(macro, known.mean() if known.size else np.nan)


@given(problem=label_problems(unobserved=True))
def test_areas_are_shares_of_pairs_in_order(problem):
    true, _, scores, weights = problem
    given_weights = np.outer(weights, np.ones(true.shape[1]))
    for weight in (weights, given_weights):
        for one, other in layouts(true, scores):
            per_label = metrics.roc_auc_score(one, other, average=None, sample_weight=weight)
            expected = [area(true[:, j], scores[:, j], weights) for j in range(true.shape[1])]
            np.testing.assert_allclose(per_label, expected, atol=1e-12)
            micro = metrics.roc_auc_score(one, other, average="micro", sample_weight=weight)
            together = area(true.ravel(), scores.ravel(), given_weights.ravel())
            np.testing.assert_allclose(micro, together, atol=1e-12)


def test_areas_and_log_losses_equal_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    true = (rng.random((50, 4)) < 0.3).astype(float)
    p = rng.random((50, 4)).round(1)
    weights = rng.random(50)
    for average in ("macro", "micro"):
        assert metrics.roc_auc_score(
            true, p, average=average, sample_weight=weights
        ) == pytest.approx(roc_auc_score(true, p, average=average, sample_weight=weights))
    assert metrics.log_loss(true[:, :1], p[:, :1], sample_weight=weights) == pytest.approx(
        log_loss(true[:, 0], p[:, 0], sample_weight=weights)
    )
    single = p.astype(np.float32)
    assert metrics.log_loss(true[:, :1], single[:, :1]) == pytest.approx(
        log_loss(true[:, 0], single[:, 0])
    )


@pytest.mark.parametrize("block", [1, 9, 10**6])
def test_large_problems_are_taken_in_blocks(monkeypatch, block):
    rng = np.random.default_rng(1)
    true = (rng.random((20, 6)) < 0.4).astype(float)
    true[rng.random(true.shape) < 0.2] = np.nan
    p = rng.random(true.shape).round(1)
    expected = [metric(true, p, average=None) for metric in METRICS]
    for module in (metrics._probabilities, metrics._auc):
        monkeypatch.setattr(module, "_BLOCK_ENTRIES", block)
    for metric, value in zip(METRICS, expected):
        np.testing.assert_allclose(metric(true, p, average=None), value)


def test_a_label_of_all_rows_has_no_area_whatever_the_weights():
    rng = np.random.default_rng(0)
    weights = rng.random(1000)
    true = sparse.csr_array(np.ones((1000, 1)))
    scores = sparse.csr_array(np.where(rng.random((1000, 1)) < 0.5, rng.random((1000, 1)), 0.0))
    assert np.isnan(metrics.roc_auc_score(true, scores, sample_weight=weights))


def test_a_hundred_thousand_labels_are_scored_without_writing_zeros_down():
    rows, labels = np.arange(50), np.arange(50) * 1000
    true = sparse.csr_array((np.ones(50), (rows, labels)), shape=(50, 100_000))
    sure = true * 0.5
    assert metrics.roc_auc_score(true, sure, average=None)[labels] == pytest.approx(1.0)
    assert metrics.roc_auc_score(true, sure, average="micro") == 1.0
    assert metrics.brier_score_loss(true, sure) == pytest.approx(0.25 / 100_000)
    assert metrics.log_loss(true, sure) == pytest.approx(np.log(2) / 100_000)


@pytest.mark.parametrize("metric", [metrics.log_loss, metrics.brier_score_loss])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_scores_that_are_no_probabilities_are_refused(metric, layout):
    with pytest.raises(ValueError, match="y_prob must hold probabilities, from 0 to 1; got"):
        metric([[1, 0]], layout(np.array([[2.0, -1.0]])))


@pytest.mark.parametrize("metric", METRICS)
def test_unknown_averages_are_refused(metric):
    with pytest.raises(ValueError, match="average must be 'macro', 'micro' or None; got 'all'"):
        metric([[1, 0]], [[0.5, 0.5]], average="all")
