import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

from polyleaf import RandomForestClassifier, TreeClassifier, TreeRegressor, TunedDecoder, evaluate
from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.metrics import METRICS, Metric, mean_absolute_error, roc_auc_score

X, Y = make_correlated_targets(200, 5, 3, random_state=0)
XL, L = make_multilabel(200, 5, 4, random_state=0)
TREE = TreeRegressor(max_depth=4, random_state=0).fit(X[:150], Y[:150])
FOREST = RandomForestClassifier(n_estimators=10, random_state=0).fit(XL[:150], L[:150])


def test_all_metrics_of_the_task_that_can_be_computed_are():
    plain = evaluate(TREE, X[150:], Y[150:])
    assert list(plain.scores) == ["r2", "rmse", "mae", "mape"]
    relative = evaluate(TREE, X[150:], Y[150:], y_train=Y[:150])
    assert set(relative.scores) == {n for n, m in METRICS.items() if m.task == "regression"}
    labels = evaluate(FOREST, XL[150:], L[150:], y_train=L[:150])
    assert set(labels.scores) == {n for n, m in METRICS.items() if m.task == "multilabel"}


def test_scores_are_those_of_the_metrics_with_weights_and_gaps():
    weights = np.linspace(0, 1, 50)
    truth = np.where(np.arange(150).reshape(50, 3) % 7, Y[150:], np.nan)
    found = evaluate(TREE, X[150:], truth, ["mae"], sample_weight=weights)
    predicted = TREE.predict(X[150:])
    assert found["mae"] == mean_absolute_error(truth, predicted, sample_weight=weights)
    np.testing.assert_array_equal(
        found.per_output["mae"],
        mean_absolute_error(truth, predicted, sample_weight=weights, multioutput="raw_values"),
    )


def test_outputs_have_scores_of_their_own_by_name():
    named = pd.DataFrame(L, columns=list("abcd"))
    model = TreeClassifier(max_depth=4, random_state=0).fit(XL[:150], named[:150])
    found = evaluate(model, XL[150:], named[150:], ["macro_auc", "subset_zero_one_loss"])
    areas = roc_auc_score(L[150:], model.predict_proba(XL[150:]), average=None)
    assert found.by_output() == {n: {"macro_auc": a} for n, a in zip("abcd", areas)}
    lines = repr(found).splitlines()
    assert lines[0].split() == ["output", "macro_auc", "subset_zero_one_loss"]
    assert lines[2].split() == ["a", f"{areas[0]:.4g}"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_found_by_name(frame):
    named = pd.DataFrame(Y, columns=list("abc"))
    model = TreeRegressor(max_depth=4, random_state=0).fit(X[:150], named[:150])
    expected = evaluate(model, X[150:], named[150:]).scores
    other = frame({name: named[name][150:].to_numpy() for name in "cab"} | {"more": np.ones(50)})
    found = evaluate(model, X[150:], other)
    assert found.scores == expected
    assert found.output_names == list("abc")


def test_sparse_labels_and_a_tuned_decoder_are_judged():
    truth = sparse.csr_array(L)
    model = TunedDecoder(TreeClassifier(max_depth=3, random_state=0), cv=2, random_state=0)
    model.fit(XL[:150], truth[:150])
    found = evaluate(model, XL[150:], truth[150:])
    dense = evaluate(model, XL[150:], L[150:])
    assert found.scores == pytest.approx(dense.scores)
    assert found.task == "multilabel"


@pytest.mark.parametrize(
    "model",
    [
        MultiOutputClassifier(LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
        OneVsRestClassifier(RidgeClassifier()),
    ],
)
def test_models_of_scikit_learn_are_judged_by_what_they_give(model):
    found = evaluate(model.fit(XL[:150], L[:150]), XL[150:], L[150:])
    assert found["macro_auc"] > 0.5
    has_probabilities = hasattr(model, "predict_proba")
    assert ("log_loss" in found.scores) == has_probabilities
    if not has_probabilities:
        with pytest.raises(TypeError, match="log_loss needs probabilities; OneVsRest"):
            evaluate(model, XL[150:], L[150:], "log_loss")


def test_one_target_may_be_a_vector():
    model = Ridge().fit(X[:150], Y[:150, 0])
    found = evaluate(model, X[150:], pd.Series(Y[150:, 0], name="u"), ["r2"])
    assert found["r2"] == pytest.approx(model.score(X[150:], Y[150:, 0]))
    assert found.per_output["r2"].shape == (1,)


def test_classes_are_judged_by_accuracy():
    classes = np.where(L[:, :2] == 1, "yes", "no").astype(object)
    model = TreeClassifier(max_depth=5, random_state=0).fit(XL[:150], classes[:150])
    truth = classes[150:].copy()
    truth[:10, 0] = None
    found = evaluate(model, XL[150:], truth)
    right = model.predict(XL[150:]) == truth
    assert found["accuracy"] == pytest.approx(right[:, 0].sum() / 90 + right[:, 1].sum() / 90)
    assert found["exact_match"] == pytest.approx(right[10:].all(axis=1).mean())
    np.testing.assert_allclose(found.per_output["accuracy"], right.sum(axis=0) / (40, 50))
    with pytest.raises(ValueError, match="must be among 'accuracy', 'exact_match'; got 'r2'"):
        evaluate(model, XL[150:], truth, ["r2"])


def test_metrics_of_another_task_and_missing_training_rows_are_told():
    with pytest.raises(ValueError, match="lrap is a metric of multilabel; the task is regression"):
        evaluate(TREE, X[150:], Y[150:], ["lrap"])
    with pytest.raises(ValueError, match="'arrmse' is relative to the training rows: give y_tr"):
        evaluate(TREE, X[150:], Y[150:], ["arrmse"])


def test_a_metric_of_ones_own_is_taken():
    own = Metric("bias", lambda y, p, sample_weight=None: float((p - y).mean()), "regression",
                 "values", False)  # fmt: skip
    found = evaluate(TREE, X[150:], Y[150:], own)
    assert found["bias"] == float((TREE.predict(X[150:]) - Y[150:]).mean())
    assert found.per_output == {}


def test_outputs_without_scores_of_their_own_are_not_listed():
    X, Y = make_multilabel(60, 4, 3, random_state=0)
    tree = TreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    lines = repr(evaluate(tree, X, Y, ["lrap", "precision_at_1"])).splitlines()
    assert [line.split()[0] for line in lines] == ["output", "all"]
    assert len(repr(evaluate(tree, X, Y, ["macro_f1", "lrap"])).splitlines()) == 5
