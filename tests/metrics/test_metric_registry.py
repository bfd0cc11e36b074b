import inspect

import numpy as np
import pytest
from scipy import sparse

from polyleaf import metrics
from polyleaf.metrics import METRICS, Metric, resolve

rng = np.random.default_rng(0)
Y_TRAIN = (rng.random((30, 8)) < 0.4).astype(float)
Y = (rng.random((6, 8)) < 0.4).astype(float)
PREDICTIONS = (rng.random((6, 8)) < 0.4).astype(float)

each_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@each_metric
def test_a_perfect_prediction_is_better_than_its_opposite(metric):
    score = metric.prepare(Y_TRAIN)
    assert metric.is_better(score(Y, Y), score(Y, 1 - Y))
    assert not metric.is_better(score(Y, 1 - Y), score(Y, Y))
    assert not metric.is_better(score(Y, Y), score(Y, Y))


@each_metric
def test_rows_of_weight_zero_do_not_count(metric):
    score = metric.prepare(Y_TRAIN)
    assert score(Y, PREDICTIONS, sample_weight=[1, 1, 1, 1, 0, 0]) == pytest.approx(
        score(Y[:4], PREDICTIONS[:4])
    )


@each_metric
def test_unobserved_entries_do_not_count(metric):
    score = metric.prepare(Y_TRAIN)
    true = Y.copy()
    true[4:] = np.nan
    assert score(true, PREDICTIONS) == pytest.approx(score(Y[:4], PREDICTIONS[:4]))


@each_metric
def test_labels_and_scores_may_be_sparse(metric):
    dense = metric.prepare(Y_TRAIN)(Y, PREDICTIONS)
    score = metric.prepare(sparse.csr_array(Y_TRAIN))
    assert score(sparse.csr_array(Y), sparse.csr_array(PREDICTIONS)) == pytest.approx(dense)


def test_every_public_metric_of_predictions_is_registered():
    registered = {getattr(m.function, "func", m.function) for m in METRICS.values()}
    public = {
        value
        for value in vars(metrics).values()
        if inspect.isfunction(value)
        and list(inspect.signature(value).parameters)[:1] == ["y_true"]
    }
    assert registered == public


def test_what_a_metric_needs_from_training_is_asked_for():
    with pytest.raises(
        ValueError, match="'arrmse' is relative to the training rows: give y_train"
    ):
        METRICS["arrmse"].prepare()
    assert METRICS["r2"].prepare()(Y, Y) == 1.0


def test_training_means_are_those_of_observed_values():
    y_train = np.array([[1.0, np.nan, np.nan], [3.0, 4.0, np.nan]])
    true = np.array([[5.0, 6.0, 1.0]])
    guesses = np.array([[2.0, 4.0, 9.0]])  # the means; nothing is known about the last target
    assert METRICS["arrmse"].prepare(y_train)(true, guesses) == pytest.approx(1.0)


def test_any_number_is_better_than_nan():
    metric = METRICS["hamming_loss"]
    assert metric.is_better(1.0, np.nan)
    assert not metric.is_better(np.nan, 1.0)
    assert not metric.is_better(np.nan, np.nan)


def test_a_metric_of_ones_own_resolves_to_itself():
    mine = Metric("mine", lambda y_true, y_pred: 0.0, "regression", "values", True)
    assert resolve(mine) is mine
    assert resolve("lrap") is METRICS["lrap"]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("hamming", "hamming_loss"), ("R2", "r2"), ("example_f", "example_f1")],
)
def test_near_name_is_suggested(name, suggestion):
    with pytest.raises(ValueError, match=f"got '{name}'. Did you mean '{suggestion}'?"):
        resolve(name)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match=r"or a Metric; got 3\.$"):
        resolve(3)


@each_metric
def test_scores_of_outputs_are_those_of_each_output_alone(metric):
    if metric.per_output is None:
        with pytest.raises(ValueError, match="compares all outputs of a row together"):
            metric.prepare(Y_TRAIN, per_output=True)
        return
    found = metric.prepare(Y_TRAIN, per_output=True)(Y, PREDICTIONS)
    assert found.shape == (8,)
    for j in range(8):
        alone = metric.prepare(Y_TRAIN[:, [j]])(Y[:, [j]], PREDICTIONS[:, [j]])
        np.testing.assert_allclose(found[j], alone)


def test_messages_name_the_metrics_of_the_task():
    with pytest.raises(ValueError, match=r"of 'r2', 'arrmse', 'rmse', 'mae', 'mape' .* 'rmse'"):
        resolve("mse", "regression")
    with pytest.raises(ValueError, match=r"lrap is a metric of multilabel; .* Use one of 'r2'"):
        resolve("lrap", "regression")
    assert resolve("lrap", "multilabel") is METRICS["lrap"]


def test_a_scorer_of_probabilities_takes_no_scores():
    class Scores:
        def decision_function(self, X):
            return PREDICTIONS

    assert METRICS["lrap"].scorer()(Scores(), None, Y) > 0
    with pytest.raises(AttributeError, match="predict_proba"):
        METRICS["log_loss"].scorer()(Scores(), None, Y)
