"""Boosting from outside: data it takes, rounds, validation, constraints, other models."""

import inspect

import numpy as np
import pandas as pd
import pytest
from boosting_problems import (
    LABELS,
    ONE,
    X_TEST,
    X_TRAIN,
    Y_TEST,
    Y_TRAIN,
    X,
    Y,
    classifier,
    regressor,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

import polyleaf
from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.losses import Logistic, Quantile


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("projection", [None, "gaussian", "auto"])
def test_one_thread_gives_the_model_of_many(make, projection, n_threads):
    targets = Y if make is regressor else LABELS
    one = make(projection=projection).fit(X, targets)
    many = make(projection=projection, n_jobs=n_threads).fit(X, targets)
    np.testing.assert_array_equal(one._raw(X), many._raw(X))


def test_training_predictions_are_those_of_the_model():
    # What training has moved row by row is what the saved trees add up to.
    for model, targets in ((regressor(), Y), (classifier(), LABELS)):
        model.fit(X, targets)
        final = model.history_["train_loss"][-1]
        raw = model._raw(X).astype(float)
        if model.loss == "squared_error":
            scaled = (targets - model._fitted.reader.shift) / model._fitted.reader.scale
            expected = 0.5 * np.mean((scaled - raw) ** 2)
        else:
            margin = np.where(targets == 1, raw, -raw)
            expected = np.mean(np.logaddexp(0.0, -margin))
        assert final == pytest.approx(expected, rel=1e-4)


def test_the_unit_of_an_output_does_not_matter():
    units = np.array([1e-6, 1.0, 1e9, 1e30, 3.0])
    plain, scaled = regressor().fit(X, Y), regressor().fit(X, Y * units + units)
    np.testing.assert_allclose(scaled.predict(X), (plain.predict(X) + 1) * units, rtol=1e-3)


@pytest.mark.parametrize("projection", [None, "gaussian", "subsample", "round_robin"])
def test_unobserved_targets_are_learnt_around(projection):
    hidden = np.random.default_rng(0).random(Y_TRAIN.shape) < 0.3
    holes = np.where(hidden, np.nan, Y_TRAIN)
    given = {"projection": projection, "n_estimators": 60}
    model = regressor(**given).fit(X_TRAIN, holes)
    whole = regressor(**given).fit(X_TRAIN, Y_TRAIN).score(X_TEST, Y_TEST)
    assert model.score(X_TEST, Y_TEST) > whole - 0.12
    # What is hidden does not count, whatever stands there.
    wild = np.where(hidden, 1000.0, Y_TRAIN)
    weighed = regressor(**given).fit(X_TRAIN, wild, sample_weight=(~hidden).astype(float))
    assert weighed.score(X_TEST, Y_TEST) > whole - 0.12
    rest = np.where(hidden, 0.0, (Y_TRAIN - model.predict(X_TRAIN)) / model._fitted.reader.scale)
    expected = 0.5 * np.sum(rest**2) / np.sum(~hidden)
    assert model.history_["train_loss"][-1] == pytest.approx(expected, rel=1e-3)


def test_an_output_that_was_never_observed_is_predicted_as_nan():
    holes = Y.copy()
    holes[:, 2] = np.nan
    with pytest.warns(UserWarning, match="without a single observed value"):
        predicted = regressor().fit(X, holes).predict(X)
    assert np.all(np.isnan(predicted[:, 2]))
    assert np.all(np.isfinite(predicted[:, [0, 1, 3, 4]]))


def test_constant_and_rare_labels_are_predicted():
    labels = LABELS.copy()
    labels[:, 0], labels[:, 1] = 0, 1
    labels[:, 2] = 0
    labels[7, 2] = 1
    for projection in (None, "auto", "round_robin", "gaussian"):
        probability = classifier(projection=projection).fit(X, labels).predict_proba(X)
        assert np.all(probability[:, 0] < 0.1)
        assert np.all(probability[:, 1] > 0.9)
        assert np.all(np.isfinite(probability))


def test_all_labels_constant():
    model = classifier().fit(X, np.zeros((260, 3), dtype=int))
    assert not model.predict(X).any()


def test_frames_and_categories():
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    targets = pd.DataFrame(Y[:, :2], columns=["one", "two"])
    model = regressor().fit(frame, targets)
    assert list(model.output_names_) == ["one", "two"]
    # Two categories say what 0 and 1 would say.
    coded = np.column_stack([X[:, 0], X[:, 1] > 0])
    expected = regressor().fit(coded, Y[:, :2]).predict(coded)
    np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-4, atol=1e-5)
    assert model.feature_importances_[1] > 0.02
    unknown = frame.assign(c=pd.Categorical(["w"] * 260))
    assert np.all(np.isfinite(model.predict(unknown)))


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multiclass-multioutput"])
def test_tasks_of_the_classifier(kind):
    classes = np.digitize(Y[:, 0], [-0.5, 0.5])
    targets = {
        "binary": np.where(Y[:, 0] > 0, "yes", "no"),
        "multiclass": np.array(["low", "mid", "top"])[classes],
        "multiclass-multioutput": np.column_stack([classes, LABELS[:, 1]]),
    }[kind]
    model = classifier(n_estimators=60).fit(X, targets)
    assert np.mean(model.predict(X) == targets) > 0.9
    probabilities = model.predict_proba(X)
    for part in probabilities if isinstance(probabilities, list) else [probabilities]:
        np.testing.assert_allclose(part.sum(axis=1), 1.0)


@pytest.mark.parametrize("projection", [None, "round_robin", "linear"])
def test_stages_end_with_the_whole_model(projection):
    linear = projection == "linear"
    model = regressor(
        projection=ONE if linear else projection, leaf_fit="linear" if linear else "relabel"
    ).fit(X, Y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 20
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-5, atol=1e-6)
    assert len({stage.tobytes() for stage in stages}) == 20


def test_rows_drawn_for_a_tree_change_the_model_but_not_its_quality():
    whole = regressor(n_estimators=60).fit(X_TRAIN, Y_TRAIN)
    drawn = regressor(n_estimators=60, subsample=0.5).fit(X_TRAIN, Y_TRAIN)
    assert not np.array_equal(whole.predict(X), drawn.predict(X))
    assert drawn.score(X_TEST, Y_TEST) > whole.score(X_TEST, Y_TEST) - 0.1


@pytest.mark.parametrize("projection", [None, "gaussian"])
@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("sign", [1, -1])
def test_monotonic_constraints_hold_for_every_output(make, projection, sign):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 3))
    aims = np.column_stack([features[:, 0], -features[:, 0], np.sin(4 * features[:, 0])])
    aims += 0.2 * rng.normal(size=aims.shape)
    targets = aims if make is regressor else (aims > 0).astype(int)
    model = make(
        projection=projection, n_estimators=40, max_depth=4, monotonic_cst=[sign, 0, 0]
    ).fit(features, targets)
    grid = np.linspace(-3, 3, 200)
    for rest in rng.normal(size=(5, 2)):
        path = np.column_stack([grid, np.tile(rest, (200, 1))])
        steps = sign * np.diff(model._raw(path), axis=0)
        assert steps.min() > -1e-5
        assert steps.max() > 0.01


def test_monotonic_constraints_by_name_and_where_they_are_refused():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["g"] = pd.Categorical(np.where(X[:, 0] > 0, "u", "v"))
    regressor(monotonic_cst={"a": 1}).fit(frame, Y)
    for wrong, match in (
        ({"z": 1}, "names the feature 'z'"),
        ({"g": 1}, "categorical"),
        ([1, 0], "shape"),
    ):
        with pytest.raises(ValueError, match=match):
            regressor(monotonic_cst=wrong).fit(frame, Y)
    with pytest.raises(ValueError, match="opposite sign"):
        regressor(monotonic_cst={"a": 1}, leaf_fit="linear", projection=ONE).fit(frame, Y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"leaf_fit": "linear"}, "one component"),
        ({"loss": "logistic"}, "for binary, multilabel targets"),
        ({"loss": "absolute_error", "leaf_values": "newton"}, "second derivatives"),
        ({"estimator": Ridge(), "projection": "gaussian"}, "no leaves"),
        ({"estimator": Ridge(), "monotonic_cst": [1, 0, 0, 0, 0, 0]}, "for trees"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(parameters, match):
    with pytest.raises(ValueError, match=match):
        regressor(**({"projection": None} | parameters)).fit(X, Y)


def test_exact_leaves_need_a_loss_that_adds_up():
    with pytest.raises(ValueError, match="adds up"):
        classifier(loss="examplewise_logistic", leaf_values="exact").fit(X, LABELS)


def test_logistic_exact_leaves_lower_the_loss_most_in_one_round():
    def loss_after_one(leaf_values):
        model = classifier(
            n_estimators=1,
            learning_rate=1.0,
            leaf_values=leaf_values,
            l2_regularization=0.0,
            projection=None,
        )
        return model.fit(X, LABELS).history_["train_loss"][-1]

    assert loss_after_one("exact") <= min(loss_after_one("newton"), loss_after_one("gradient"))


MAPPED = [
    {"projection": None},
    {"projection": ONE, "leaf_fit": "linear"},
    {"projection": "round_robin"},
    {"estimator": KNeighborsRegressor(3), "learning_rate": 0.5},
    {"estimator": KNeighborsRegressor(3), "projection": ONE, "leaf_fit": "linear"},
]


@pytest.mark.parametrize("parameters", MAPPED, ids=str)
def test_the_output_map_finds_groups(parameters):
    rng = np.random.default_rng(0)
    a, b = X[:, 0] + X[:, 1] ** 2, X[:, 2] * X[:, 3]
    groups = np.column_stack([a, a, -a, b, b]) + 0.05 * rng.normal(size=(260, 5))
    found = regressor(n_estimators=60, **parameters).fit(X, groups).output_map_
    assert found.shape == (5, 5)
    np.testing.assert_allclose(np.diag(found), 1.0)
    np.testing.assert_allclose(found, found.T)
    assert found[0, 1] > 0.8
    assert found[0, 2] < -0.8
    assert found[3, 4] > 0.8
    assert np.abs(found[:3, 3:]).max() < 0.5


def test_the_output_map_takes_channels_of_an_output_together():
    model = regressor(loss=Quantile([0.2, 0.8]), projection="round_robin")
    found = model.fit(X, np.column_stack([X[:, 0], X[:, 0], X[:, 2]])).output_map_
    assert found[0, 1] > 0.95
    assert found[0, 2] < 0.8


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize(
    "parameters",
    [
        {"leaf_fit": "linear"},
        {"leaf_fit": "linear", "estimator": KNeighborsRegressor(3), "projection": ONE},
        {"projection": "round_robin"},
        {"projection": "gaussian"},
        {"estimator": KNeighborsRegressor(3)},
    ],
    ids=str,
)
def test_outputs_that_are_all_constant_are_learnt(make, parameters):
    constant = np.tile([0, 1, 1], (260, 1))
    model = make(n_estimators=2, **parameters).fit(X, constant)
    np.testing.assert_allclose(model.predict(X), constant, atol=1e-6)


def test_feature_importances_find_the_features_that_matter():
    found = regressor().fit(X, np.column_stack([X[:, 2], X[:, 4]])).feature_importances_
    assert found[[2, 4]].sum() > 0.95
    assert found.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "huber", "projection": "gaussian"},
        {"loss": Quantile([0.2, 0.8])},
        {"projection": ONE, "leaf_fit": "linear"},
        {"projection": "round_robin"},
        {"projection": projections.Adaptive([projections.Identity(), ONE])},
    ],
)
def test_a_saved_model_predicts_the_same(parameters, tmp_path):
    model = regressor(early_stopping=True, **parameters).fit(X, Y)
    polyleaf.save(model, tmp_path / "model")
    loaded = polyleaf.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.output_map_, model.output_map_)
    assert loaded.n_estimators_ == model.n_estimators_
    assert loaded.get_params()["loss"] == model.get_params()["loss"]
    for name, values in model.history_.items():
        np.testing.assert_array_equal(loaded.history_[name], values)


def test_linear_leaf_fits_store_numbers_and_not_vectors():
    model = regressor(projection=ONE, leaf_fit="linear").fit(X, Y)
    arrays = model._fitted.model.to_arrays()
    assert arrays["leaf_values"].shape == (model._fitted.model.structure.n_leaves, 1)
    assert arrays["tree_factors"].shape == (20, 5)


def test_verbose_shows_the_losses(capsys):
    regressor(verbose=1, early_stopping=True).fit(X, Y)
    shown = capsys.readouterr().err
    assert "BoostingRegressor" in shown
    assert "train" in shown
    assert "validation" in shown


def test_every_fit_takes_eval_set_and_callbacks_by_name():
    for cls in (BoostingRegressor, BoostingClassifier):
        parameters = inspect.signature(cls.fit).parameters
        for name in ("eval_set", "callbacks"):
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY


def test_a_boosted_logistic_model_is_calibrated_on_its_training_rows():
    model = classifier(n_estimators=100).fit(X, LABELS)
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), LABELS.mean(axis=0), atol=0.02)
    assert isinstance(model._fitted.reader.loss, Logistic)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_weight_of_zero_leaves_a_row_out(make):
    targets = Y if make is regressor else LABELS
    weights = np.ones(len(X))
    weights[200:] = 0.0
    bins = polyleaf.BinnedData(X[:200])
    kept = make(projection=None, max_bins=None).fit(bins, targets[:200])
    weighed = make(projection=None, max_bins=None).fit(X, targets, sample_weight=weights)
    np.testing.assert_allclose(weighed._raw(X), kept._raw(X), atol=1e-4)


def test_weights_of_entries_steer_single_outputs():
    weights = np.ones(Y.shape)
    weights[:130, 0] = 0.0
    shifted = Y.copy()
    shifted[:130, 0] += 100.0  # weightless
    model = regressor(projection=None).fit(X, shifted, sample_weight=weights)
    assert np.abs(model.predict(X)[:, 0]).max() < 20
