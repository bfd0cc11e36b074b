import naive_metrics as naive
import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from sklearn import metrics as sklearn_metrics

from polyleaf import metrics
from polyleaf.metrics import _places, _ranking


@given(problem=naive.label_problems(unobserved=True))
def test_lrap_equals_its_definition_with_unobserved_entries(problem):
    true, _, scores, weights = problem
    for y_true, y_score in naive.layouts(true, scores):
        for empty_rows, value in (("count", 1.0), ("drop", np.nan)):
            rows = [naive.lrap(t, s, value) for t, s in zip(true, scores)]
            np.testing.assert_allclose(
                metrics.label_ranking_average_precision_score(
                    y_true, y_score, sample_weight=weights, empty_rows=empty_rows
                ),
                naive.mean(rows, weights),
            )


@given(problem=naive.label_problems(unobserved=True))
def test_coverage_equals_its_definition_with_unobserved_entries(problem):
    true, _, scores, weights = problem
    expected = naive.mean([naive.coverage(t, s) for t, s in zip(true, scores)], weights)
    for y_true, y_score in naive.layouts(true, scores):
        ours = metrics.coverage_error(y_true, y_score, sample_weight=weights)
        np.testing.assert_allclose(ours, expected)


@given(problem=naive.label_problems(min_labels=2))
def test_ranking_metrics_equal_those_of_scikit_learn(problem):
    true, _, scores, weights = problem
    for y_true, y_score in naive.layouts(true, scores):
        for ours, theirs in (
            (
                metrics.label_ranking_average_precision_score,
                sklearn_metrics.label_ranking_average_precision_score,
            ),
            (metrics.coverage_error, sklearn_metrics.coverage_error),
        ):
            assert ours(y_true, y_score, sample_weight=weights) == pytest.approx(
                theirs(true, scores, sample_weight=weights)
            )


@pytest.mark.parametrize("k", [1, 2, 3, 50])
@given(problem=naive.label_problems(unobserved=True))
def test_precision_at_k_is_the_mean_over_all_orders_of_ties(k, problem):
    true, _, scores, weights = problem
    value = naive.precision_at(k, np.ones(true.shape[1]))
    rows = [naive.expected(t, s, value) for t, s in zip(true, scores)]
    for y_true, y_score in naive.layouts(true, scores):
        np.testing.assert_allclose(
            metrics.precision_at_k(y_true, y_score, k=k, sample_weight=weights),
            naive.mean(rows, weights),
        )


@pytest.mark.parametrize("k", [1, 2, 3, 50])
@given(problem=naive.label_problems(min_labels=2))
def test_ndcg_at_k_equals_that_of_scikit_learn(k, problem):
    true, _, scores, weights = problem
    for y_true, y_score in naive.layouts(true, scores):
        assert metrics.ndcg_at_k(y_true, y_score, k=k, sample_weight=weights) == pytest.approx(
            sklearn_metrics.ndcg_score(true, scores, k=k, sample_weight=weights)
        )


@pytest.mark.parametrize("k", [1, 2, 50])
@given(problem=naive.label_problems(unobserved=True))
def test_propensity_scored_metrics_equal_their_definitions(k, problem):
    true, _, scores, weights = problem
    d = true.shape[1]
    propensities = np.linspace(0.1, 1.0, d)
    ndcg_unit = sum(1 / np.log2(place + 2) for place in range(min(k, d)))
    for metric, value, unit in (
        (metrics.propensity_scored_precision_at_k, _sum_at(k, 1 / propensities), min(k, d)),
        (metrics.propensity_scored_ndcg_at_k, naive.dcg_at(k, 1 / propensities), ndcg_unit),
    ):
        rows = [naive.expected(t, s, value) for t, s in zip(true, scores)]
        best = [naive.ideal(t, value, 1 / propensities) for t in true]
        expected = naive.mean(rows, weights)
        best_mean = naive.mean(best, weights)
        options = {"k": k, "propensities": propensities, "sample_weight": weights}
        for y_true, y_score in naive.layouts(true, scores):
            np.testing.assert_allclose(
                metric(y_true, y_score, normalize=False, **options), expected / unit
            )
            np.testing.assert_allclose(
                metric(y_true, y_score, **options),
                expected / best_mean if best_mean > 0 else np.nan,
                atol=1e-12,
            )


def _sum_at(k, gains):
    return lambda relevant, order: sum(gains[j] for j in order[:k] if j in relevant)


@given(problem=naive.label_problems(unobserved=True))
def test_one_error_is_the_share_of_rows_with_a_wrong_first_label(problem):
    true, _, scores, weights = problem
    rows = [
        naive.expected(t, s, lambda relevant, order: float(order[0] not in relevant))
        for t, s in zip(true, scores)
    ]
    for y_true, y_score in naive.layouts(true, scores):
        np.testing.assert_allclose(
            metrics.one_error(y_true, y_score, sample_weight=weights),
            naive.mean(rows, weights),
            atol=1e-12,
        )


def test_blocks_of_rows_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    true = (rng.random((57, 9)) < 0.3).astype(float)
    true[rng.random(true.shape) < 0.1] = np.nan
    scores = rng.integers(0, 5, size=true.shape).astype(float)
    functions = (
        metrics.label_ranking_average_precision_score,
        metrics.coverage_error,
        metrics.precision_at_k,
        metrics.ndcg_at_k,
    )
    whole = [function(true, scores) for function in functions]
    monkeypatch.setattr(_ranking, "_BLOCK_ENTRIES", 45)
    monkeypatch.setattr(_places, "_BLOCK_ENTRIES", 45)
    np.testing.assert_allclose([function(true, scores) for function in functions], whole)


def test_propensities_follow_their_formula_and_are_at_most_one():
    counts = np.array([0, 1, 10, 100])
    Y = (np.arange(100)[:, np.newaxis] < counts).astype(float)
    c = (np.log(100) - 1) * 2.5**0.55
    expected = 1 / (1 + c * (counts + 1.5) ** -0.55)
    np.testing.assert_allclose(metrics.label_propensities(Y), expected)
    np.testing.assert_allclose(metrics.label_propensities(sparse.csc_matrix(Y)), expected)
    Y[5, 3] = np.nan  # not observed: one positive less
    assert metrics.label_propensities(Y)[3] < expected[3]
    assert (metrics.label_propensities([[1, 0]]) == 1).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.precision_at_k([[1, 0]], [[1, 0]], k=0), "k must be an integer >= 1"),
        (lambda: metrics.precision_at_k([[1, 0]], [[1, 0]], k=1.5), "k must be an integer >= 1"),
        (lambda: metrics.ndcg_at_k([[1, 0]], [[1, np.inf]]), "y_score must hold finite numbers"),
        (
            lambda: metrics.coverage_error([[1, 0]], sparse.csr_array([[np.nan, 1]])),
            "y_score must hold finite numbers",
        ),
        (
            lambda: metrics.one_error([[1, 0]], [[1, 0], [1, 0]]),
            r"y_score must have the shape of y_true, \(1, 2\); got \(2, 2\)",
        ),
        (
            lambda: metrics.label_ranking_average_precision_score([[1]], [[1]], empty_rows="x"),
            "empty_rows must be 'count' or 'drop'; got 'x'",
        ),
        (
            lambda: metrics.propensity_scored_ndcg_at_k([[1, 0]], [[1, 0]], propensities=[0.5]),
            "for each of the 2 labels",
        ),
        (
            lambda: metrics.propensity_scored_ndcg_at_k([[1]], [[1]], propensities=[0.0]),
            "label_propensities",
        ),
        (lambda: metrics.label_propensities([[1, 0]], a=0), "a and b must be above 0"),
    ],
)
def test_wrong_inputs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_million_labels_with_sparse_scores_fit_in_memory():
    rng = np.random.default_rng(0)
    shape = (1000, 10**6)  # 8 GB as a dense matrix of scores
    columns = rng.choice(shape[1], size=5000, replace=False)
    rows = np.repeat(np.arange(1000), 5)
    true = sparse.csr_array((np.ones(5000), (rows, columns)), shape=shape)
    scores = sparse.csr_array((np.tile([5.0, 4, 3, 2, 1], 1000), (rows, columns)), shape=shape)
    propensities = metrics.label_propensities(true)
    assert metrics.precision_at_k(true, scores) == 1.0
    assert metrics.ndcg_at_k(true, scores) == pytest.approx(1.0)
    assert metrics.propensity_scored_precision_at_k(
        true, scores, propensities=propensities
    ) == pytest.approx(1.0)
