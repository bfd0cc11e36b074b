import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import (
    mean_absolute_error,
    mean_absolute_percentage_error,
    r2_score,
    root_mean_squared_error,
)

from polyleaf import metrics


@st.composite
def target_problems(draw, *, unobserved=False):
    n = draw(st.integers(2, 8))
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    true = rng.integers(-2, 3, size=(n, d)).astype(float)
    pred = np.where(rng.random((n, d)) < 0.3, true, rng.normal(size=(n, d)))
    if draw(st.booleans()):
        pred = true.copy()
    if unobserved:
        hidden = rng.random((n, d)) < 0.3
        true[hidden] = np.nan
        pred[hidden & (rng.random((n, d)) < 0.5)] = np.nan
    weights = rng.integers(0, 3, size=n).astype(float)
    weights[:2] = 1.0
    return true, pred, weights


@given(problem=target_problems())
def test_r2_equals_that_of_scikit_learn(problem):
    true, pred, weights = problem
    for multioutput in ("uniform_average", "raw_values"):
        options = {"sample_weight": weights, "multioutput": multioutput}
        np.testing.assert_allclose(
            metrics.macro_r2_score(true, pred, **options), r2_score(true, pred, **options)
        )


@given(problem=target_problems(unobserved=True))
def test_r2_of_a_target_with_gaps_is_that_of_its_observed_rows(problem):
    true, pred, weights = problem
    scores = metrics.macro_r2_score(true, pred, sample_weight=weights, multioutput="raw_values")
    expected = []
    for j in range(true.shape[1]):
        counts = ~np.isnan(true[:, j]) & (weights > 0)
        if counts.sum() < 2:
            expected.append(np.nan)
        else:
            expected.append(
                r2_score(true[counts, j], pred[counts, j], sample_weight=weights[counts])
            )
    np.testing.assert_allclose(scores, expected)
    average = metrics.macro_r2_score(true, pred, sample_weight=weights)
    defined = [score for score in expected if not np.isnan(score)]
    np.testing.assert_allclose(average, np.mean(defined) if defined else np.nan)


@given(problem=target_problems(unobserved=True))
def test_rrmse_equals_its_definition(problem):
    true, pred, weights = problem
    train_mean = np.linspace(-0.3, 0.4, true.shape[1])
    expected = []
    for j in range(true.shape[1]):
        known = ~np.isnan(true[:, j])
        error = weights[known] @ (true[known, j] - pred[known, j]) ** 2
        baseline = weights[known] @ (true[known, j] - train_mean[j]) ** 2
        expected.append(np.sqrt(error / baseline) if weights[known].sum() else np.nan)
    options = {"train_mean": train_mean, "sample_weight": weights}
    np.testing.assert_allclose(
        metrics.relative_root_mean_squared_error(true, pred, multioutput="raw_values", **options),
        expected,
    )
    defined = [error for error in expected if not np.isnan(error)]
    np.testing.assert_allclose(
        metrics.relative_root_mean_squared_error(true, pred, **options),
        np.mean(defined) if defined else np.nan,
    )


def test_rrmse_of_the_training_mean_is_one():
    Y = np.random.default_rng(0).normal(size=(20, 3))
    train_mean = [0.5, -1.0, 2.0]
    predictions = np.tile(train_mean, (20, 1))
    assert metrics.relative_root_mean_squared_error(
        Y, predictions, train_mean=train_mean
    ) == pytest.approx(1.0)


def test_rrmse_of_a_target_without_spread_or_mean():
    Y = np.array([[2.0, 2.0, 5.0], [2.0, 2.0, 6.0]])
    predictions = np.array([[2.0, 2.0, 5.0], [2.0, 3.0, 6.0]])
    errors = metrics.relative_root_mean_squared_error(
        Y, predictions, train_mean=[2.0, 2.0, np.nan], multioutput="raw_values"
    )
    np.testing.assert_array_equal(errors, [0.0, np.inf, np.nan])


@given(problem=target_problems(unobserved=True))
def test_an_entry_of_weight_zero_counts_as_little_as_an_unobserved_one(problem):
    true, pred, weights = problem
    entry_weights = np.where(np.isnan(true), 0.0, weights[:, np.newaxis])
    if entry_weights.sum() == 0:
        return
    filled = np.nan_to_num(true, nan=7.0)
    guesses = np.nan_to_num(pred, nan=1.0)
    for multioutput in ("uniform_average", "raw_values"):
        np.testing.assert_allclose(
            metrics.macro_r2_score(
                filled, guesses, sample_weight=entry_weights, multioutput=multioutput
            ),
            metrics.macro_r2_score(true, pred, sample_weight=weights, multioutput=multioutput),
        )


def test_a_constant_target_that_no_float_sum_reproduces_is_still_constant():
    Y = np.full((3, 1), 0.1)  # the mean of three times 0.1 is not 0.1
    assert metrics.macro_r2_score(Y, Y + 0.5) == 0.0
    assert metrics.macro_r2_score(Y, Y) == 1.0


def test_one_target_may_be_a_vector():
    assert metrics.macro_r2_score([1.0, 2.0, 3.0], [1.0, 2.0, 2.0]) == 0.5


def test_overfitting_score_is_relative_to_the_training_error():
    assert metrics.overfitting_score(train_error=0.4, test_error=0.6) == pytest.approx(0.5)
    assert metrics.overfitting_score(train_error=0.4, test_error=0.2) == pytest.approx(-0.5)
    assert np.isnan(metrics.overfitting_score(train_error=0.0, test_error=0.6))


@pytest.mark.parametrize("train_error", [0.0, 1e-300, 8e-16, 3e-11])
def test_overfitting_score_beside_a_training_error_that_is_rounding_is_nan(train_error):
    assert np.isnan(metrics.overfitting_score(train_error, test_error=0.6))
    assert metrics.overfitting_score(train_error=1e-13, test_error=2e-13) == pytest.approx(1.0)
    assert metrics.overfitting_score(train_error=1e-6, test_error=0.6) > 1e5


def test_overfitting_scores_of_what_is_no_error_are_refused():
    with pytest.raises(ValueError, match="must be errors, 0 or more; got -1 and 2"):
        metrics.overfitting_score(-1, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.macro_r2_score([1.0, 2.0], [1.0, np.nan]), "got NaN in column 0"),
        (lambda: metrics.macro_r2_score([1.0, np.inf], [1.0, 2.0]), "finite numbers or NaN"),
        (lambda: metrics.macro_r2_score([1.0, 2.0], [[1.0, 2.0]]), "the shape of y_true"),
        (lambda: metrics.macro_r2_score([], []), "at least one of each"),
        (
            lambda: metrics.macro_r2_score([1.0, 2.0], [1.0, 2.0], multioutput="all"),
            "multioutput must be 'uniform_average' or 'raw_values'; got 'all'",
        ),
        (
            lambda: metrics.macro_r2_score([1.0, 2.0], [1.0, 2.0], sample_weight=[1.0]),
            r"sample_weight must have shape \(2,\) or \(2, 1\); got \(1,\)",
        ),
        (
            lambda: metrics.relative_root_mean_squared_error([1.0], [1.0], train_mean=[1, 2]),
            "one finite number for each of the 1 targets",
        ),
    ],
)
def test_wrong_inputs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


ERRORS = [
    (metrics.root_mean_squared_error, root_mean_squared_error),
    (metrics.mean_absolute_error, mean_absolute_error),
    (metrics.mean_absolute_percentage_error, mean_absolute_percentage_error),
]


@pytest.mark.parametrize(("ours", "theirs"), ERRORS)
@given(problem=target_problems())
def test_errors_equal_those_of_scikit_learn(ours, theirs, problem):
    true, pred, weights = problem
    for multioutput in ("uniform_average", "raw_values"):
        options = {"sample_weight": weights, "multioutput": multioutput}
        np.testing.assert_allclose(ours(true, pred, **options), theirs(true, pred, **options))


@pytest.mark.parametrize(("ours", "theirs"), ERRORS)
@given(problem=target_problems(unobserved=True))
def test_errors_of_a_target_with_gaps_are_those_of_its_observed_rows(ours, theirs, problem):
    true, pred, weights = problem
    found = ours(true, pred, sample_weight=weights, multioutput="raw_values")
    for j, error in enumerate(found):
        counts = ~np.isnan(true[:, j]) & (weights > 0)
        expected = (
            theirs(true[counts, j], pred[counts, j], sample_weight=weights[counts])
            if counts.any()
            else np.nan
        )
        np.testing.assert_allclose(error, expected)
    np.testing.assert_allclose(ours(true, pred, sample_weight=weights), _mean_of_known(found))


def _mean_of_known(values):
    known = values[~np.isnan(values)]
    return known.mean() if known.size else np.nan


@pytest.mark.parametrize("block", [1, 7, 2**22])
def test_sparse_targets_are_taken_some_columns_at_a_time(monkeypatch, block):
    monkeypatch.setattr(metrics._regression, "_BLOCK_ENTRIES", block)
    rng = np.random.default_rng(0)
    true, pred = (sparse.random_array((6, 5), density=0.5, rng=rng).toarray() for _ in range(2))
    weights = rng.random((6, 5))
    means = rng.random(5)
    for name, options in {
        "macro_r2_score": {},
        "root_mean_squared_error": {},
        "relative_root_mean_squared_error": {"train_mean": means},
    }.items():
        score = getattr(metrics, name)
        for weight in (None, weights[:, 0], weights):
            np.testing.assert_allclose(
                score(sparse.csr_array(true), sparse.csr_array(pred), sample_weight=weight,
                      multioutput="raw_values", **options),
                score(true, pred, sample_weight=weight, multioutput="raw_values", **options),
            )  # fmt: skip
