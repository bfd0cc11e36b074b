"""Classifiers with a hierarchy: every family respects it, whatever its predictions were."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polyleaf
from polyleaf import decoding
from polyleaf.hierarchy import Hierarchy, as_hierarchy

#: Two trees, and label 6 with two parents.
EDGES = [(0, 1), (0, 2), (1, 3), (4, 5), (2, 6), (4, 6)]
HIERARCHY = Hierarchy(EDGES, 7)
CLASSIFIERS = {
    "TreeClassifier": {},
    "RandomForestClassifier": {"n_estimators": 5},
    "ExtraTreesClassifier": {"n_estimators": 5},
    "BaggedTreesClassifier": {"n_estimators": 5},
    "BoostingClassifier": {"n_estimators": 10},
    "RuleClassifier": {"n_rules": 15},
    "GraphClassifier": {"tol": 0.1, "calibration_folds": 2},
    "GraphEnsembleClassifier": {"n_estimators": 3, "tol": 0.1, "calibration_folds": 2},
}
EVERY = pytest.mark.parametrize("name", CLASSIFIERS)


def problem(n=90):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    noisy = X @ rng.normal(size=(5, 7)) + rng.normal(size=(n, 7))
    return X, HIERARCHY.close((noisy > 1.0).astype(int))


X, Y = problem()


def new(name, **given):
    model = getattr(polyleaf, name)
    return model(**{"random_state": 0, "hierarchy": HIERARCHY} | CLASSIFIERS[name] | given)


def check_respects(model, rows):
    for method in ("predict_proba", "decision_function", "predict"):
        if method == "decision_function" and model._targets.is_sparse:
            continue
        assert HIERARCHY.n_violations(getattr(model, method)(rows)) == 0, method
    for method in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        for stage in getattr(model, method, lambda rows: [])(rows):
            assert HIERARCHY.n_violations(stage) == 0, method


@EVERY
def test_predictions_respect_the_hierarchy(name):
    model = new(name).fit(X, Y)
    check_respects(model, X)
    check_respects(model, np.random.default_rng(1).normal(size=(50, 5)) * 3)
    assert_array_equal(model.hierarchy_.edges, HIERARCHY.edges)
    assert model.hierarchy_.depth.tolist() == [0, 1, 1, 2, 0, 1, 2]


@EVERY
def test_sparse_labels_and_labels_that_are_not_observed(name):
    model = new(name).fit(X, sparse.csr_array(Y))
    check_respects(model, X)
    holes = np.where(np.random.default_rng(2).random(Y.shape) < 0.3, np.nan, Y)
    check_respects(new(name).fit(X, holes), X)


@EVERY
def test_files_keep_the_hierarchy(name, tmp_path):
    model = new(name).fit(X, Y)
    polyleaf.save(model, tmp_path / "model")
    again = polyleaf.load(tmp_path / "model")
    assert again.hierarchy_ == model.hierarchy_
    assert again.hierarchy == HIERARCHY
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.predict(X), model.predict(X))


@EVERY
def test_without_a_hierarchy_there_is_none(name):
    model = new(name, hierarchy=None).fit(X, Y)
    with pytest.raises(AttributeError, match="without a hierarchy"):
        _ = model.hierarchy_


@EVERY
def test_rows_that_violate_it_are_closed_or_refused(name):
    broken = Y.copy()
    broken[:5, 3], broken[:5, 0] = 1, 0
    with pytest.raises(ValueError, match=r"row \d has '.' without '.'"):
        new(name, on_violation="raise").fit(X, broken)
    closed = new(name).fit(X, HIERARCHY.close(broken)).predict_proba(X)
    assert_array_equal(new(name).fit(X, broken).predict_proba(X), closed)
    new(name, on_violation="raise").fit(X, Y)


@EVERY
@pytest.mark.parametrize(
    "y", [Y[:, 0], np.arange(len(X)) % 3, np.column_stack([np.arange(len(X)) % 3] * 2)]
)
def test_only_labels_have_a_hierarchy(name, y):
    with pytest.raises(ValueError, match="multi-label"):
        new(name).fit(X, y)


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        ([-1, 0], "7 outputs"),
        ([(0, 9)], "outputs 0 to 6"),
        ([(0, 1), (1, 0)], "cycles"),
        ([("a", "b")], "no names"),
        ("tree", "hierarchy of TreeClassifier must be"),
        (3, "hierarchy of TreeClassifier must be"),
    ],
)
def test_what_is_no_hierarchy_of_the_outputs_is_refused(hierarchy, message):
    with pytest.raises((ValueError, TypeError), match=message):
        polyleaf.TreeClassifier(hierarchy=hierarchy).fit(X, Y)


def test_names_of_outputs_place_the_edges():
    names = list("abcdefg")
    pairs = [(names[a], names[b]) for a, b in EDGES]
    model = polyleaf.TreeClassifier(hierarchy=pairs).fit(X, Y, output_names=names)
    assert_array_equal(model.hierarchy_.edges, HIERARCHY.edges)
    assert model.hierarchy_.names == tuple(names)


@pytest.mark.parametrize(
    "rule", ["threshold", "subset", "f1", "jaccard", "top_k", decoding.TopK(3)]
)
@pytest.mark.parametrize("name", ["RandomForestClassifier", "RuleClassifier"])
def test_every_decoder_gives_label_sets_with_all_ancestors(name, rule):
    chosen = new(name, decoding=rule).fit(X, Y).predict(X)
    assert HIERARCHY.n_violations(chosen) == 0
    if isinstance(rule, decoding.TopK):
        assert (chosen.sum(axis=1) == 3).all()


def test_thresholds_of_single_labels_are_closed():
    rule = decoding.Threshold([0.99, 0.9, 0.9, 0.01, 0.9, 0.01, 0.01])
    chosen = new("RandomForestClassifier", decoding=rule).fit(X, Y).predict(X)
    assert HIERARCHY.n_violations(chosen) == 0


def test_rules_of_whole_rows_respect_it():
    for rule in ("auto", "f1", "threshold"):
        model = new("RuleClassifier", loss="examplewise_logistic", decoding=rule).fit(X, Y)
        check_respects(model, X)


def test_tuned_decoders_take_names_and_close_what_they_are_tuned_on():
    names = list("abcdefg")
    pairs = [(names[a], names[b]) for a, b in EDGES]
    broken = Y.copy()
    broken[:40, 0] = 0
    model = polyleaf.TunedDecoder(
        new("RandomForestClassifier", hierarchy=pairs),
        metric="hierarchical_f1",
        cv=2,
        random_state=0,
    )
    model.fit(X, broken, output_names=names)
    assert HIERARCHY.n_violations(model.predict(X)) == 0
    same = polyleaf.TunedDecoder(
        new("RandomForestClassifier", hierarchy=pairs),
        metric="hierarchical_f1",
        cv=2,
        random_state=0,
    )
    same.fit(X, HIERARCHY.close(broken), output_names=names)
    assert [r["score"] for r in model.results_] == [r["score"] for r in same.results_]


def test_tuned_decoders_around_a_pipeline_respect_it():
    pipeline = make_pipeline(StandardScaler(), new("BoostingClassifier"))
    model = polyleaf.TunedDecoder(pipeline, calibration="isotonic", decoding="f1", cv=2).fit(X, Y)
    assert HIERARCHY.n_violations(model.predict_proba(X)) == 0
    assert HIERARCHY.n_violations(model.predict(X)) == 0


def test_tuned_decoders_respect_it():
    model = polyleaf.TunedDecoder(
        new("BoostingClassifier"), decoding="label_thresholds", calibration="isotonic", cv=2
    )
    model.fit(X, Y)
    assert HIERARCHY.n_violations(model.predict_proba(X)) == 0
    assert HIERARCHY.n_violations(model.predict(X)) == 0


def test_weights_of_labels_steer_the_splits():
    rows = np.random.default_rng(3).random((400, 2))
    deep = rows[:, 1] > 0.5  # balanced, and alone in its branch
    labels = np.column_stack([rows[:, 0] > 0.3, np.ones(400), deep]).astype(int)
    flat = polyleaf.TreeClassifier(max_depth=1).fit(rows, labels)
    below = Hierarchy([(1, 2)], 3, w0=0.3)
    weighted = polyleaf.TreeClassifier(max_depth=1, hierarchy=below).fit(rows, labels)
    assert np.argmax(flat.feature_importances_) == 1
    assert np.argmax(weighted.feature_importances_) == 0


def test_w0_of_one_leaves_the_trees_as_they_are():
    plain = new("RandomForestClassifier", hierarchy=None).fit(X, Y)
    even = new("RandomForestClassifier", hierarchy=HIERARCHY.with_w0(1.0)).fit(X, Y)
    assert_array_equal(plain.predict_proba(X), even.predict_proba(X))


@EVERY
@pytest.mark.parametrize("k", [1, 2, 4])
def test_likeliest_labels_come_with_their_ancestors(name, k):
    backwards = as_hierarchy([(6 - a, 6 - b) for a, b in EDGES], 7)  # children stand first
    for labels in (Y[:, ::-1], sparse.csr_array(Y[:, ::-1])):
        model = new(name, hierarchy=backwards).fit(X, labels)
        assert backwards.n_violations(model.predict_topk(X, k)) == 0


def test_likeliest_labels_are_those_of_predict_proba():
    for name in ("RandomForestClassifier", "BoostingClassifier"):
        model = new(name).fit(X, Y)
        found = model.predict_topk(X, k=7).toarray()
        np.testing.assert_allclose(found, model.predict_proba(X))


def test_a_warm_start_asks_for_the_same_hierarchy():
    forest = new("RandomForestClassifier", warm_start=True).fit(X, Y)
    forest.set_params(n_estimators=6, hierarchy=None)
    with pytest.raises(ValueError, match="warm_start"):
        forest.fit(X, Y)


def test_exports_refuse_a_hierarchy():
    model = new("BoostingClassifier").fit(X, Y)
    with pytest.raises(ValueError, match="hierarchy"):
        polyleaf.export.to_python(model)


def test_validation_rows_and_scores():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = polyleaf.BoostingClassifier(
            n_estimators=10,
            hierarchy=as_hierarchy(EDGES, 7),
            early_stopping=True,
            eval_metric="hierarchical_f1",
            random_state=0,
        ).fit(X, Y)
    assert model.history_["validation_score"].size
    assert 0 <= model.score(X, Y) <= 1
