"""`projection="auto"`: forests that choose their view of the outputs and their features."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import projections
from polyleaf.datasets import make_friedman1_targets
from polyleaf.forests import race
from polyleaf.forests.growing import ForestGrower
from polyleaf.forests.training import forest_settings

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(90, 12))
TARGETS = np.column_stack([FEATURES[:, :3] @ RNG.normal(size=(3, 5)), RNG.normal(size=(90, 2))])
LABELS = (TARGETS + 0.3 * RNG.normal(size=TARGETS.shape) > 0.6).astype(int)
MASKED = np.where(RNG.random(TARGETS.shape) < 0.2, np.nan, TARGETS)
CASES = {
    "numbers": (polyleaf.RandomForestRegressor, TARGETS),
    "extra trees": (polyleaf.ExtraTreesRegressor, TARGETS),
    "masked": (polyleaf.BaggedTreesRegressor, MASKED),
    "one output": (polyleaf.RandomForestRegressor, TARGETS[:, 0]),
    "labels": (polyleaf.RandomForestClassifier, LABELS),
    "sparse labels": (polyleaf.RandomForestClassifier, sparse.csr_array(LABELS)),
    "classes": (polyleaf.ExtraTreesClassifier, np.argmax(TARGETS[:, :3], axis=1)),
    "no labels": (polyleaf.RandomForestClassifier, np.zeros_like(LABELS)),
    "constant": (polyleaf.RandomForestRegressor, np.ones((90, 3))),
}


def fitted(case, **parameters):
    make, Y = CASES[case]
    parameters = {"n_estimators": 30, "random_state": 3, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels of one value
        return make(projection="auto", **parameters).fit(FEATURES, Y)


def scores(model):
    found = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    values = found(FEATURES)
    return values.toarray() if sparse.issparse(values) else values


@pytest.mark.parametrize("case", CASES)
def test_the_choice_is_saved_with_the_model(case, tmp_path):
    model = fitted(case)
    polyleaf.save(model, tmp_path / "model.polyleaf")
    loaded = polyleaf.load(tmp_path / "model.polyleaf")
    assert loaded.auto_results_ == model.auto_results_
    assert repr(loaded.projection_) == repr(model.projection_)
    assert loaded.max_features_ == model.max_features_
    assert np.array_equal(scores(loaded), scores(model))


@pytest.mark.parametrize("case", CASES)
def test_threads_choose_the_same_forest(case):
    one, two = fitted(case, n_jobs=1), fitted(case, n_jobs=2)
    assert one.auto_results_ == two.auto_results_
    assert np.array_equal(scores(one), scores(two))


@pytest.mark.parametrize("case", ["numbers", "labels", "extra trees"])
def test_the_forest_is_that_of_the_choice(case):
    model = fitted(case)
    make, Y = CASES[case]
    plain = make(
        n_estimators=30,
        random_state=3,
        projection=model.projection_,
        max_features=model.max_features_,
    ).fit(FEATURES, Y)
    assert np.array_equal(scores(model), scores(plain))


def test_all_views_race_with_three_numbers_of_features():
    tried = fitted("numbers").auto_results_
    assert {each["max_features"] for each in tried} == {3, 4, 12}
    assert len(tried) == 18
    assert tried[0]["projection"] == "None"
    scored = [each for each in tried if each["score"] is not None]
    assert 1 < len(scored) <= 9
    model = fitted("numbers")
    best = max(scored, key=lambda each: each["score"])
    assert best["max_features"] == model.max_features_
    assert best["projection"] == repr(model.projection_)


def test_targets_that_have_nothing_in_common_get_trees_of_their_own():
    X, Y = make_friedman1_targets(400, structure="ind", random_state=0)
    model = polyleaf.RandomForestRegressor(projection="auto", n_estimators=40, random_state=0)
    model.fit(X[:250], Y[:250])
    assert repr(model.projection_) == "RoundRobin()"
    shared = polyleaf.RandomForestRegressor(projection=None, n_estimators=40, random_state=0)
    shared.fit(X[:250], Y[:250])
    assert model.score(X[250:], Y[250:]) > shared.score(X[250:], Y[250:]) + 0.1


def test_targets_that_share_their_inputs_do_not():
    X, Y = make_friedman1_targets(400, structure="chain", random_state=0)
    model = polyleaf.RandomForestRegressor(projection="auto", n_estimators=40, random_state=0)
    assert repr(model.fit(X, Y).projection_) != "RoundRobin()"


def test_errors_by_channel_are_those_by_row_where_all_trees_count():
    targets = CASES["numbers"][1]
    model = polyleaf.RandomForestRegressor(projection=None, n_estimators=20, random_state=0)
    data = model._read(FEATURES, targets, None, None)
    settings = forest_settings(model, (90, 12))
    score = race.OutOfBagScore(data, settings, np.arange(90))
    members = list(ForestGrower(data, settings, [0]).grow(range(20), 1))
    by_row = score.error(members, 1, 5.0)
    used = np.ones((20, 7), bool)
    by_channel = score._channel_votes(members, used, 1, 5.0)[1].sum()
    assert by_channel == pytest.approx(by_row, rel=1e-6)
    _, errors = score._channel_votes(members, used, 1, None)
    assert 1.0 - errors.sum() == pytest.approx(score(members, 1), rel=1e-6)


def test_the_race_averages_trees_as_the_forest_does():
    """Half of the targets is poor with total averaging where they have nothing in common."""
    X, Y = make_friedman1_targets(300, structure="ind", random_state=1)
    found = {}
    for aggregation in ("total", "mixed"):
        model = polyleaf.RandomForestRegressor(
            projection="auto", aggregation=aggregation, n_estimators=30, random_state=0
        ).fit(X, Y)
        half = [each for each in model.auto_results_ if each["projection"] == "Subsample()"]
        found[aggregation] = min(each["error"] for each in half if each["error"])
    assert found["mixed"] < found["total"] - 0.05


def test_the_race_keeps_its_budget():
    tried = fitted("numbers").auto_results_
    first = tried[0]
    forest = first["work"] / first["n_trees"] * 30
    assert sum(each["work"] for each in tried) <= 1.1 * 8 * forest


def test_warm_start_goes_on_with_the_choice_or_says_why_not():
    model = fitted("numbers", warm_start=True)
    before = model.projection_, model.max_features_
    model.set_params(n_estimators=35).fit(FEATURES, TARGETS)
    assert (model.projection_, model.max_features_) == before
    assert len(model.estimators_) == 35
    plain = polyleaf.RandomForestRegressor(n_estimators=5, projection="gaussian", warm_start=True)
    plain.fit(FEATURES, TARGETS).set_params(projection="auto", n_estimators=9)
    with pytest.raises(ValueError, match="got projection='auto', which chooses one"):
        plain.fit(FEATURES, TARGETS)


def test_a_refit_without_auto_forgets_what_was_tried():
    model = fitted("numbers").set_params(projection=None).fit(FEATURES, TARGETS)
    assert not hasattr(model, "auto_results_")
    assert model.projection_ is None


def test_a_transformer_is_refused_for_nodes():
    from sklearn.decomposition import TruncatedSVD

    model = polyleaf.RandomForestRegressor(projection=TruncatedSVD(2), projection_scope="node")
    with pytest.raises(ValueError, match="transforms all rows at once"):
        model.fit(FEATURES, TARGETS)


def test_members_are_described_when_that_is_asked_for():
    model = polyleaf.RandomForestRegressor(n_estimators=3, random_state=0).fit(FEATURES, TARGETS)
    member = model.estimators_[1]
    assert member._trees.structure.gain.size == 0
    assert member.feature_importances_.sum() == pytest.approx(1.0)
    described = member._fitted.described.structure
    assert described.gain.size == described.n_nodes == member._trees.structure.n_nodes


def test_out_of_bag_accuracy_counts_what_was_observed():
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(LABELS.shape) < 0.2, np.nan, LABELS)
    model = polyleaf.RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0)
    model.fit(FEATURES, labels)
    guess = np.nan_to_num(model.oob_decision_function_) > 0.5
    wrong = (guess != (labels == 1)) & ~np.isnan(labels)
    assert model.oob_score_ == pytest.approx(1.0 - wrong.any(axis=1).mean())


def test_out_of_bag_score_of_sparse_targets_is_that_of_dense_ones():
    Y = np.where(np.abs(TARGETS) > 1.0, TARGETS, 0.0)
    settings = {"oob_score": True, "random_state": 0, "projection": projections.Gaussian(3)}
    dense = polyleaf.RandomForestRegressor(n_estimators=40, **settings).fit(FEATURES, Y)
    scored = polyleaf.RandomForestRegressor(n_estimators=40, **settings).fit(
        FEATURES, sparse.csr_array(Y)
    )
    known = ~np.isnan(dense.oob_prediction_).any(axis=1)
    expected = polyleaf.metrics.macro_r2_score(Y[known], scored.oob_prediction_.toarray()[known])
    assert scored.oob_score_ == pytest.approx(expected)
