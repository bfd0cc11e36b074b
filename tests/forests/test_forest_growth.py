"""Trees in order: prefixes, warm starts, threads, out-of-bag scores, and what is refused."""

import naive_forest as naive
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score

from polyleaf import (
    BaggedTreesClassifier,
    BaggedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    projections,
)

FEATURES, TARGETS, _ = naive.training_part("dense")
LABELS = naive.labels_of(TARGETS)
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor, BaggedTreesRegressor]
CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier, BaggedTreesClassifier]
SETTINGS = {
    "subspace": {"projection": projections.Subsample(2), "aggregation": "subspace"},
    "unseen outputs": {
        "projection": projections.Subsample(1, first_sees_all=False),
        "aggregation": "subspace",
    },
    "gaussian": {"projection": "gaussian", "aggregation": "total"},
    "one view": {"projection": "gaussian", "projection_scope": "forest"},
    "view per split": {"projection": "gaussian", "projection_scope": "node"},
    "single targets": {"projection": "round_robin"},
    "no projection": {"projection": None},
}
each_setting = pytest.mark.parametrize("setting", SETTINGS)
each_kind = pytest.mark.parametrize("kind", naive.PROBLEMS)


def forest_of(n_estimators, setting="subspace", cls=RandomForestRegressor, **parameters):
    return cls(n_estimators=n_estimators, random_state=4, **SETTINGS[setting] | parameters)


def same(one, other):
    return np.array_equal(naive.dense(one), naive.dense(other), equal_nan=True)


@each_setting
@each_kind
def test_a_stage_is_the_forest_of_so_many_trees(kind, setting):
    features, targets, weights = naive.training_part(kind)
    queries = naive.test_features(kind)
    forest = forest_of(4, setting).fit(features, targets, sample_weight=weights)
    stages = list(forest.staged_predict(queries))
    assert len(stages) == 4
    np.testing.assert_allclose(naive.dense(stages[-1]), naive.dense(forest.predict(queries)))
    for size, stage in enumerate(stages, start=1):
        smaller = forest_of(size, setting).fit(features, targets, sample_weight=weights)
        expected = naive.dense(smaller.predict(queries))
        np.testing.assert_allclose(naive.dense(stage), expected, atol=1e-9)
        assert sparse.issparse(stage) == sparse.issparse(targets)


def test_stages_tell_outputs_that_the_trees_so_far_know_nothing_about():
    targets = TARGETS.copy()
    targets[2:, 3] = np.nan
    for seed in range(5):
        forest = RandomForestRegressor(n_estimators=6, random_state=seed).fit(FEATURES, targets)
        counts = np.array(list(forest._forest.in_bag_counts()))
        knows = np.logical_or.accumulate(counts[:, :2].any(axis=1))
        stages = np.array(list(forest.staged_predict(FEATURES)))
        assert np.array_equal(np.isnan(stages[:, :, 3]).all(axis=1), ~knows)
        assert np.isfinite(stages[:, :, :3]).all()
        if not knows[0]:
            return
    pytest.fail("no seed left both rows out of the first tree")


@pytest.mark.parametrize("given", [LABELS, sparse.csr_array(LABELS), TARGETS[:, 0] > 0])
def test_stages_of_classifiers_end_in_predictions_and_probabilities(given):
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(FEATURES, given)
    *_, last = forest.staged_predict(FEATURES)
    assert same(last, forest.predict(FEATURES))
    *_, last = forest.staged_predict_proba(FEATURES)
    expected = naive.dense(forest.predict_proba(FEATURES))
    np.testing.assert_allclose(naive.dense(last), expected, atol=1e-12)


@each_setting
@pytest.mark.parametrize("kind", ["dense", "sparse", "masked", "weighted entries"])
def test_a_warm_start_equals_one_fit_of_the_larger_number(kind, setting):
    features, targets, weights = naive.training_part(kind)
    grown = forest_of(2, setting, warm_start=True).fit(features, targets, sample_weight=weights)
    grown.set_params(n_estimators=5).fit(features, targets, sample_weight=weights)
    at_once = forest_of(5, setting).fit(features, targets, sample_weight=weights)
    queries = naive.test_features(kind)
    assert same(grown.predict(queries), at_once.predict(queries))
    assert np.array_equal(grown.feature_importances_, at_once.feature_importances_)
    again = grown.fit(features, targets, sample_weight=weights)  # nothing to add
    assert same(again.predict(queries), at_once.predict(queries))


def test_a_warm_start_weighs_all_trees_anew():
    grown = forest_of(3, warm_start=True, oob_score=True).fit(FEATURES, TARGETS)
    first = grown.oob_score_
    grown.set_params(n_estimators=9, aggregation="oob").fit(FEATURES, TARGETS)
    at_once = forest_of(9, aggregation="oob", oob_score=True).fit(FEATURES, TARGETS)
    assert np.array_equal(grown._forest.tree_weights, at_once._forest.tree_weights)
    assert grown.oob_score_ == at_once.oob_score_ != first


def test_a_warm_start_may_go_on_without_drawing_rows():
    forest = forest_of(2, warm_start=True).fit(FEATURES, TARGETS)
    forest.set_params(n_estimators=3, bootstrap=False).fit(FEATURES, TARGETS)
    counts = np.array(list(forest._forest.in_bag_counts()))
    assert (counts[:2] == 0).any()
    assert (counts[2] == 1).all()
    assert np.isfinite(forest.predict(FEATURES)).all()


@pytest.mark.parametrize(
    ("features", "targets", "weights"),
    [
        (FEATURES, TARGETS + 1.0, None),
        (FEATURES, TARGETS[:, :3], None),
        (FEATURES[:, :3], TARGETS, None),
        (FEATURES[:50], TARGETS[:50], None),
        (FEATURES, TARGETS, np.arange(70.0)),
        (FEATURES, np.where(np.eye(70, 4), np.nan, TARGETS), None),
    ],
    ids=["values", "outputs", "features", "rows", "weights", "gaps"],
)
def test_a_warm_start_on_other_data_is_refused(features, targets, weights):
    forest = forest_of(2, warm_start=True).fit(FEATURES, TARGETS)
    with pytest.raises(ValueError, match="the same rows, y and weights as before; got another"):
        forest.set_params(n_estimators=3).fit(features, targets, sample_weight=weights)
    assert forest.predict(FEATURES).shape == TARGETS.shape  # as it was


def test_a_warm_start_with_fewer_trees_or_others_per_estimator_is_refused():
    forest = forest_of(3, warm_start=True).fit(FEATURES, TARGETS)
    with pytest.raises(ValueError, match=r"n_estimators must be at least 3, .* got 2"):
        forest.set_params(n_estimators=2).fit(FEATURES, TARGETS)
    with pytest.raises(ValueError, match="projection='round_robin', which needs 4 trees"):
        forest.set_params(n_estimators=4, projection="round_robin").fit(FEATURES, TARGETS)


def test_a_fit_without_warm_start_starts_anew():
    forest = forest_of(3, "single targets").fit(FEATURES, TARGETS)
    forest.set_params(projection=None, n_estimators=2).fit(FEATURES, TARGETS[:, :2])
    assert len(forest.estimators_) == 2
    assert same(
        forest.predict(FEATURES),
        forest_of(2, "no projection").fit(FEATURES, TARGETS[:, :2]).predict(FEATURES),
    )


@pytest.mark.parametrize("cls", REGRESSORS)
@each_setting
def test_the_forest_is_the_same_for_any_number_of_threads(cls, setting):
    one, two, three = (
        forest_of(8, setting, cls, n_jobs=n_jobs, bootstrap=True, oob_score=True).fit(
            FEATURES, TARGETS
        )
        for n_jobs in (1, 2, 3)
    )
    arrays = one._forest.to_arrays()
    for other in (two, three):
        theirs = other._forest.to_arrays()
        assert all(np.array_equal(arrays[name], theirs[name]) for name in arrays)
        assert same(one.oob_prediction_, other.oob_prediction_)
        assert same(one.predict(FEATURES), other.predict(FEATURES))


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("projection", ["pca", "hadamard"])
def test_the_classifier_is_the_same_for_any_number_of_threads(cls, projection):
    labels = sparse.csr_array(LABELS)
    one, two = (
        cls(n_estimators=6, projection=projection, random_state=0, n_jobs=n_jobs)
        .fit(FEATURES, labels)
        .predict_proba(FEATURES)
        for n_jobs in (1, 2)
    )
    assert same(one, two)


def test_another_seed_gives_another_forest():
    one, two = (forest_of(3).set_params(random_state=s).fit(FEATURES, TARGETS) for s in (0, 1))
    assert not same(one.predict(FEATURES), two.predict(FEATURES))


def test_the_score_out_of_bag_is_that_of_the_predictions_out_of_bag():
    forest = forest_of(40, "gaussian", oob_score=True).fit(FEATURES, TARGETS)
    assert forest.oob_prediction_.shape == TARGETS.shape
    assert forest.oob_score_ == pytest.approx(r2_score(TARGETS, forest.oob_prediction_))
    classifier = RandomForestClassifier(n_estimators=30, oob_score=True, random_state=0)
    for given in (LABELS, sparse.csr_array(LABELS)):
        classifier.fit(FEATURES, given)
        guess = naive.dense(classifier.oob_decision_function_) > 0.5
        assert classifier.oob_score_ == pytest.approx(accuracy_score(LABELS, guess))


def test_rows_that_no_tree_can_tell_all_outputs_of_are_not_scored():
    forest = forest_of(4, "unseen outputs", oob_score=True).fit(FEATURES, TARGETS)
    told = np.isfinite(forest.oob_prediction_).all(axis=1)
    assert 0 < told.sum() < naive.N_TRAIN
    expected = r2_score(TARGETS[told], forest.oob_prediction_[told])
    assert forest.oob_score_ == pytest.approx(expected)


def test_a_callable_scores_out_of_bag_what_it_is_given():
    given = []

    def score(truth, guess):
        given.append((truth, guess))
        return 0.25

    targets = naive.training_part("masked")[1]
    forest = forest_of(3, oob_score=score).fit(FEATURES, targets)
    assert forest.oob_score_ == 0.25
    truth, guess = given[0]
    counts = np.array(list(forest._forest.in_bag_counts()))
    is_told = (counts == 0).T.astype(float) @ forest._forest.tree_weights > 0
    scored = (is_told | np.isnan(targets)).all(axis=1)
    assert np.array_equal(truth, targets[scored], equal_nan=True)
    assert np.array_equal(guess, forest.oob_prediction_[scored], equal_nan=True)
    assert 0 < scored.sum() < naive.N_TRAIN


@pytest.mark.parametrize("given", [LABELS[:1], sparse.csr_array(LABELS[:1])])
def test_without_a_row_out_of_bag_the_score_is_nan_and_says_so(given):
    for cls in (RandomForestRegressor, RandomForestClassifier):
        forest = cls(n_estimators=2, oob_score=True)
        with pytest.warns(UserWarning, match="is NaN: a row is scored if"):
            forest.fit(FEATURES[:1], given)
        assert np.isnan(forest.oob_score_)


def test_a_fit_without_score_forgets_the_old_one():
    forest = forest_of(3, oob_score=True).fit(FEATURES, TARGETS)
    forest.set_params(oob_score=False).fit(FEATURES, TARGETS)
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_prediction_")


def test_class_weights_equal_the_weights_of_entries():
    plain, by_entry, by_class = (
        RandomForestClassifier(
            n_estimators=3, min_samples_leaf=9, class_weight=class_weight, random_state=0
        ).fit(FEATURES, LABELS, sample_weight=weights)
        for class_weight, weights in (
            (None, None),
            (None, np.where(LABELS == 1, 3.0, 1.0)),
            ({0: 1.0, 1: 3.0}, None),
        )
    )
    assert same(by_class.predict_proba(FEATURES), by_entry.predict_proba(FEATURES))
    assert by_class.predict_proba(FEATURES).mean() > plain.predict_proba(FEATURES).mean()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"aggregation": "oob", "bootstrap": False}, "aggregation='oob'.*needs bootstrap=True"),
        ({"oob_score": True, "bootstrap": False}, "oob_score.*needs bootstrap=True"),
        ({"max_samples": 0.5, "bootstrap": False}, "max_samples.*needs bootstrap=True; got 0.5"),
        ({"projection_scope": "node", "max_leaf_nodes": 5}, "cannot be combined with max_leaf"),
        (
            {"projection": "round_robin", "projection_scope": "forest"},
            "needs projection_scope='tree'; got 'forest'",
        ),
        (
            {"projection": "round_robin", "projection_scope": "node"},
            "needs projection_scope='tree'; got 'node'",
        ),
        ({"projection": projections.Subsample(5)}, "at most the number of outputs, 4; got 5"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        RandomForestRegressor(n_estimators=2, **parameters).fit(FEATURES, TARGETS)


def test_a_failed_fit_leaves_the_fitted_forest_as_it_was():
    forest = forest_of(3).fit(FEATURES, TARGETS)
    before = forest.predict(FEATURES)
    forest.set_params(projection=projections.Subsample(5))
    with pytest.raises(ValueError, match="at most the number of outputs"):
        forest.fit(FEATURES, TARGETS)
    assert same(forest.predict(FEATURES), before)
    assert forest._fitted.seen.shape == (3, 4)
    assert not isinstance(forest.projection_, projections.Subsample) or (
        forest.projection_.n_components != 5
    )
