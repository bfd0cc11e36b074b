"""Scores of fitted models, alone and in scikit-learn's searches: outputs that are many, sparse,
classes, or not all observed.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from polyleaf import BoostingClassifier, RandomForestClassifier, TreeClassifier, TreeRegressor
from polyleaf._registry import ESTIMATORS
from polyleaf.metrics import (
    METRICS,
    label_ranking_average_precision_score,
    macro_r2_score,
    multilabel_accuracy_score,
)

REGRESSORS = {name: cls for name, cls in ESTIMATORS.items() if name.endswith("Regressor")}
CLASSIFIERS = {name: cls for name, cls in ESTIMATORS.items() if name.endswith("Classifier")}
TREES = {
    name: cls
    for name, cls in CLASSIFIERS.items()
    if name.startswith(("Tree", "Random", "Extra", "Bagged"))
}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = X[:, :3] + 0.3 * RNG.normal(size=(90, 3))
LABELS = (Y > 0).astype(int)
CLASSES = np.digitize(Y, [-0.5, 0.5])
HIDDEN = RNG.random(Y.shape) < 0.3
WEIGHTS = RNG.random(90)

each_regressor = pytest.mark.parametrize("cls", REGRESSORS.values(), ids=REGRESSORS)
each_classifier = pytest.mark.parametrize("cls", CLASSIFIERS.values(), ids=CLASSIFIERS)


def small(cls):
    chosen = {"n_estimators": 3, "n_rules": 8, "max_depth": 3, "random_state": 0}
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in chosen.items() if name in known})


@each_regressor
def test_complete_numbers_are_scored_as_by_scikit_learn(cls):
    for targets in (Y, Y[:, 0]):
        model = small(cls).fit(X, targets)
        expected = r2_score(targets, model.predict(X), sample_weight=WEIGHTS)
        assert model.score(X, targets, sample_weight=WEIGHTS) == pytest.approx(expected)


@each_regressor
def test_numbers_that_are_not_observed_do_not_count(cls):
    targets = np.where(HIDDEN, np.nan, Y)
    model = small(cls).fit(X, targets)
    expected = macro_r2_score(targets, model.predict(X))
    assert model.score(X, targets) == pytest.approx(expected)
    nullable = pd.DataFrame(targets).convert_dtypes()
    assert model.score(X, nullable) == pytest.approx(expected)


@each_regressor
def test_sparse_numbers_are_scored_as_dense_ones(cls):
    targets = np.where(Y > 0, Y, 0.0)
    model = small(cls).fit(X, sparse.csr_array(targets))
    predicted = model.predict(X)
    dense = predicted.toarray() if sparse.issparse(predicted) else predicted
    expected = pytest.approx(r2_score(targets, dense))
    assert model.score(X, sparse.csr_array(targets)) == expected
    assert model.score(X, targets) == expected


@each_classifier
def test_complete_labels_and_classes_are_scored_as_by_scikit_learn(cls):
    for truth in (LABELS, CLASSES[:, 0].astype(str), LABELS[:, 0] == 1):
        model = small(cls).fit(X, truth)
        expected = accuracy_score(truth, model.predict(X), sample_weight=WEIGHTS)
        assert model.score(X, truth, sample_weight=WEIGHTS) == pytest.approx(expected)


@each_classifier
def test_classes_of_several_outputs_are_right_where_all_are(cls):
    truth = pd.DataFrame({"kind": CLASSES[:, 0], "name": CLASSES[:, 1].astype(str)})
    model = small(cls).fit(X, truth)
    predicted = model.predict(X)
    right = (predicted[:, 0] == CLASSES[:, 0]) & (predicted[:, 1] == CLASSES[:, 1].astype(str))
    assert 0.0 < right.mean() < 1.0
    assert model.score(X, truth) == pytest.approx(right.mean())
    # A test set that happens to hold zeros and ones only is still one of classes.
    few = np.flatnonzero((CLASSES < 2).all(axis=1))
    model = small(cls).fit(X, CLASSES)
    right = (model.predict(X) == CLASSES).all(axis=1)
    assert model.score(X[few], CLASSES[few]) == pytest.approx(right[few].mean())


@each_classifier
def test_labels_that_are_not_observed_do_not_count(cls):
    truth = np.where(HIDDEN, np.nan, LABELS)
    model = small(cls).fit(X, LABELS)
    expected = multilabel_accuracy_score(truth, model.predict(X))
    assert expected != multilabel_accuracy_score(LABELS, model.predict(X))
    assert model.score(X, truth) == pytest.approx(expected)
    classes = np.where(HIDDEN, np.nan, CLASSES)
    model = small(cls).fit(X, CLASSES)
    right = ((model.predict(X) == CLASSES) | HIDDEN).all(axis=1)
    assert model.score(X, classes) == pytest.approx(right[~HIDDEN.all(axis=1)].mean())


@each_classifier
def test_sparse_labels_are_scored_as_dense_ones(cls):
    model = small(cls).fit(X, sparse.csr_array(LABELS))
    expected = pytest.approx(accuracy_score(LABELS, model.predict(X).toarray()))
    assert model.score(X, sparse.csr_array(LABELS)) == expected
    assert model.score(X, LABELS) == expected


def test_a_class_that_training_did_not_see_is_wrong():
    truth = CLASSES[:, 0].astype(str)
    model = TreeClassifier().fit(X[truth != "2"], truth[truth != "2"])
    assert model.score(X, truth) == pytest.approx(np.mean(truth != "2"))


def test_a_column_is_scored_as_a_vector():
    assert TreeRegressor().fit(X, Y[:, 0]).score(X, Y[:, [0]]) == pytest.approx(1.0)
    assert TreeClassifier().fit(X, LABELS[:, [0]]).score(X, LABELS[:, 0]) == pytest.approx(1.0)
    assert TreeClassifier().fit(X, CLASSES[:, 0]).score(X, CLASSES[:, [0]]) == pytest.approx(1.0)


def test_outputs_in_another_order_or_number_are_refused():
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    model = TreeRegressor(max_depth=2).fit(X, frame)
    with pytest.raises(ValueError, match="'c', where training had 'a'"):
        model.score(X, frame[["c", "b", "a"]])
    with pytest.raises(ValueError, match="must have 3 outputs"):
        model.score(X, Y[:, :2])
    with pytest.raises(ValueError, match="must have 3 outputs"):
        TreeClassifier(max_depth=2).fit(X, CLASSES).score(X, CLASSES[:, :2])


def test_a_search_chooses_among_models_of_targets_that_are_not_all_observed():
    targets = np.where(HIDDEN, np.nan, Y)
    search = GridSearchCV(TreeRegressor(random_state=0), {"max_depth": [1, 4]}, cv=3)
    search.fit(X, targets)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"max_depth": 4}


@pytest.mark.parametrize("cls", TREES.values(), ids=TREES)
def test_trees_are_scored_by_scikit_learns_ranking_measures(cls):
    folds = KFold(3)
    for scoring, average in (("roc_auc", "macro"), ("average_precision", "macro")):
        scores = cross_val_score(small(cls), X, LABELS, cv=folds, scoring=scoring)
        assert np.isfinite(scores).all(), average
    train, test = next(folds.split(X))
    model = small(cls).fit(X[train], LABELS[train])
    first = cross_val_score(small(cls), X, LABELS, cv=folds, scoring="roc_auc")[0]
    assert first == pytest.approx(roc_auc_score(LABELS[test], model.predict_proba(X[test])))


@pytest.mark.parametrize("cls", TREES.values(), ids=TREES)
def test_the_decision_function_of_trees_agrees_with_their_predictions(cls):
    model = small(cls).fit(X, LABELS)
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == 1)
    model = small(cls).fit(X, CLASSES[:, 0])
    assert np.array_equal(model.decision_function(X), model.predict_proba(X))
    model = small(cls).fit(X, sparse.csr_array(LABELS))
    with pytest.raises(ValueError, match="Use predict_proba"):
        model.decision_function(X)


@pytest.mark.parametrize("name", ["lrap", "coverage_error", "example_f1", "hamming_loss"])
def test_a_metric_is_a_scorer_of_labels_that_are_not_all_observed(name):
    truth, metric = np.where(HIDDEN, np.nan, LABELS), METRICS[name]
    for model in (RandomForestClassifier(n_estimators=3), BoostingClassifier(n_estimators=3)):
        model.set_params(random_state=0).fit(X, truth)
        predicted = model.predict(X) if metric.needs == "labels" else model.predict_proba(X)
        score = metric.function(truth, predicted)
        assert metric.scorer()(model, X, truth) == (score if metric.greater_is_better else -score)
    # A number of folds would make scikit-learn look at the labels, and refuse NaN.
    scores = cross_val_score(model, X, truth, cv=KFold(3), scoring=metric.scorer(), n_jobs=2)
    assert np.isfinite(scores).all()


def test_a_metric_scores_other_models_too():
    from sklearn.ensemble import RandomForestClassifier as Rival
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    lrap = METRICS["lrap"].scorer()
    rival = Rival(n_estimators=3, max_depth=3, random_state=0).fit(X, LABELS)
    scores = np.column_stack([p[:, 1] for p in rival.predict_proba(X)])
    assert lrap(rival, X, LABELS) == label_ranking_average_precision_score(LABELS, scores)
    rival = OneVsRestClassifier(LinearSVC()).fit(X, LABELS)
    expected = label_ranking_average_precision_score(LABELS, rival.decision_function(X))
    assert lrap(rival, X, LABELS) == expected
    rival = Rival(n_estimators=3).fit(X, np.column_stack([LABELS, np.ones(90, int)]))
    with pytest.raises(ValueError, match="probabilities of 0 and 1"):
        lrap(rival, X, np.column_stack([LABELS, np.ones(90, int)]))


def test_a_metric_relative_to_training_rows_is_no_scorer():
    with pytest.raises(ValueError, match="'arrmse' is relative to the training rows"):
        METRICS["arrmse"].scorer()
