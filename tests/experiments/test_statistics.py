import numpy as np
import pytest
import scikit_posthocs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from polyleaf.experiments import (
    average_ranks,
    bootstrap_corrected_score,
    friedman_test,
    pairwise_tests,
    saturation_size,
)
from polyleaf.experiments._statistics import not_worse_groups


def scores(seed, n=8, k=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)) + np.arange(k) * 0.3


@given(seed=st.integers(0, 10**6))
def test_friedman_statistic_follows_from_the_ranks(seed):
    values = scores(seed)
    result = friedman_test(values, greater_is_better=True)
    n, k = values.shape
    ranks = np.mean([stats.rankdata(-row) for row in values], axis=0)
    chi = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    np.testing.assert_allclose(result.ranks, ranks)
    assert result.statistic == pytest.approx(chi)
    assert result.p_value == pytest.approx(stats.chi2.sf(chi, k - 1))
    assert result.iman_davenport == pytest.approx((n - 1) * chi / (n * (k - 1) - chi))


def test_critical_differences_are_the_published_ones():
    """Demšar 2006, table 5: q at 0.05 is 2.569 for four methods; Dunn's is 2.394."""
    result = friedman_test(scores(0, n=14), greater_is_better=True)
    spread = np.sqrt(4 * 5 / (6 * 14))
    assert result.critical_difference == pytest.approx(2.569 * spread, abs=1e-3)
    assert result.dunn_difference == pytest.approx(2.394 * spread, abs=1e-3)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_pairwise_tests_equal_those_of_the_libraries(seed):
    values = scores(seed)
    np.testing.assert_allclose(
        pairwise_tests(values), np.asarray(scikit_posthocs.posthoc_nemenyi_friedman(values))
    )
    wilcoxon, t = pairwise_tests(values, test="wilcoxon"), pairwise_tests(values, test="t")
    assert wilcoxon[0, 1] == stats.wilcoxon(values[:, 0], values[:, 1]).pvalue
    assert t[2, 3] == pytest.approx(stats.ttest_rel(values[:, 2], values[:, 3]).pvalue)
    for matrix in (wilcoxon, t):
        np.testing.assert_array_equal(matrix, matrix.T)
        np.testing.assert_array_equal(np.diag(matrix), 1.0)


def test_ranks_turn_round_with_the_direction_and_share_ties():
    values = [[1.0, 2.0, 2.0]]
    np.testing.assert_array_equal(average_ranks(values, greater_is_better=True), [3, 1.5, 1.5])
    np.testing.assert_array_equal(average_ranks(values, greater_is_better=False), [1, 2.5, 2.5])


def test_equal_methods_are_not_told_apart():
    same = np.ones((5, 3))
    result = friedman_test(same, greater_is_better=True)
    assert (result.statistic, result.p_value) == (0.0, 1.0)
    assert (pairwise_tests(same, test="wilcoxon") == 1).all()


def test_perfectly_ordered_methods_have_an_infinite_f_value():
    values = np.tile([1.0, 2.0, 3.0], (4, 1))
    result = friedman_test(values, greater_is_better=False)
    assert result.iman_davenport == np.inf
    assert result.iman_davenport_p == result.p_value > 0.0


def test_two_blocks_that_agree_are_no_proof():
    result = friedman_test(np.tile([1.0, 2.0, 3.0], (2, 1)), greater_is_better=False)
    assert result.iman_davenport_p == pytest.approx(1 / 6)  # the chance of the same order again


def test_saturation_is_the_smallest_size_not_significantly_worse_than_the_best():
    rng = np.random.default_rng(0)
    means = np.array([0.5, 0.7, 0.899, 0.9, 0.9005])
    values = means + rng.normal(scale=0.01, size=(10, 5))
    sizes = [1, 5, 20, 50, 100]
    assert saturation_size(sizes, values, greater_is_better=True) == 20
    assert saturation_size(sizes, -values, greater_is_better=False) == 20
    assert saturation_size(sizes, np.tile(means, (4, 1)), greater_is_better=True) == 100
    assert saturation_size([1, 2], np.ones((3, 2)), greater_is_better=True) == 1


def test_groups_are_the_longest_stretches_below_the_difference():
    assert not_worse_groups([1.0, 1.5, 2.4, 4.0], 1.0) == [(0, 1), (1, 2)]
    assert not_worse_groups([1.0, 1.1, 1.2], 1.0) == [(0, 2)]
    assert not_worse_groups([1.0, 3.0], 1.0) == []


def test_bootstrap_correction_takes_the_optimism_off_the_best_setting():
    rng = np.random.default_rng(0)
    best, corrected = [], []
    for seed in range(20):
        values = rng.normal(size=(60, 30))  # all settings are worth 0
        best.append(values.mean(axis=0).max())
        corrected.append(
            bootstrap_corrected_score(
                values, greater_is_better=True, n_bootstraps=200, random_state=seed
            )
        )
    assert np.mean(best) > 0.2
    assert abs(np.mean(corrected)) < 0.06
    good = rng.normal(size=(200, 3)) + [0.0, 0.0, 2.0]
    assert bootstrap_corrected_score(good, greater_is_better=True) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman_test([[1.0, 2.0, 3.0]], greater_is_better=True), "got 1 and 3"),
        (lambda: friedman_test([[1.0, 2.0]] * 3, greater_is_better=True), "got 3 and 2"),
        (lambda: friedman_test([[1, np.nan, 2]] * 3, greater_is_better=True), "finite numbers"),
        (lambda: pairwise_tests([[1.0, 2.0]] * 3, test="sign"), "'nemenyi', 'wilcoxon' or 't'"),
    ],
)
def test_wrong_inputs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
