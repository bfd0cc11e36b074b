import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin

from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import compare, pairwise_tests
from polyleaf.experiments._significance import (
    fold_verdict,
    friedman_over_outputs,
    output_matrix,
    verdicts,
)
from polyleaf.metrics import METRICS


class Shifted(RegressorMixin, BaseEstimator):
    """Predicts the training mean, shifted."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y):
        self.mean = y.mean(axis=0)
        return self

    def predict(self, X):
        return np.tile(self.mean + self.shift, (len(X), 1))


@pytest.fixture(scope="module")
def comparison():
    data = {f"s{i}": make_correlated_targets(90, 4, 3, random_state=i) for i in range(4)}
    methods = {"Tree": "Tree", "mean": Shifted(), "off": Shifted(1.0), "far": Shifted(5.0)}
    return compare(data, methods=methods, metrics=["arrmse"], cv=4)


def test_outputs_of_all_data_sets_are_blocks(comparison):
    methods, scores = output_matrix(comparison, "regression")
    assert methods == ["Tree", "mean", "off", "far"]
    assert scores.shape == (12, 4)
    np.testing.assert_allclose(scores[3:6, 1], comparison.output_scores("s1")["mean"])


def test_friedman_over_outputs_ranks_every_output(comparison):
    methods, result = friedman_over_outputs(comparison, "regression")
    assert result.n_blocks == 12
    assert dict(zip(methods, result.ranks)) == {"Tree": 1, "mean": 2, "off": 3, "far": 4}
    assert result.iman_davenport_p < 1e-6


def test_verdicts_hold_the_p_values_of_the_libraries(comparison):
    found = {v.method: v for v in verdicts(comparison, METRICS["arrmse"], "Tree")}
    _, matrix = comparison.score_matrix("arrmse")
    nemenyi = pairwise_tests(matrix)[0]
    assert found["off"].nemenyi == pytest.approx(nemenyi[2])
    assert found["off"].wilcoxon == stats.wilcoxon(matrix[:, 0] - matrix[:, 2]).pvalue
    _, outputs = output_matrix(comparison, "regression")
    assert found["far"].wilcoxon_outputs == stats.wilcoxon(outputs[:, 0] - outputs[:, 3]).pvalue
    assert (found["far"].n_better, found["far"].n_alike, found["far"].n_worse) == (0, 0, 4)
    assert list(found) == ["mean", "off", "far"]


def test_t_tests_over_folds_have_a_direction(comparison):
    metric = METRICS["arrmse"]
    assert fold_verdict(comparison, metric, "s0", "far", "Tree") == -1
    assert fold_verdict(comparison, metric, "s0", "Tree", "far") == 1
    assert fold_verdict(comparison, metric, "s0", "Tree", "Tree") == 0


def test_methods_with_a_failure_take_no_part(comparison):
    class Failing(Shifted):
        def fit(self, X, y):
            raise RuntimeError("no")

    data = make_correlated_targets(60, 4, 3, random_state=0)
    result = compare(data, methods={"Mean": "Mean", "bad": Failing()}, metrics=["r2"], cv=3)
    assert output_matrix(result, "regression")[0] == ["Mean"]
    assert verdicts(result, METRICS["r2"], "bad") == []
    assert friedman_over_outputs(result, "regression") is None
