"""Boosting from outside: data it takes, rounds, validation, constraints, other models."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

import ramify
from ramify import BoostingClassifier, BoostingRegressor, projections
from ramify.datasets import make_correlated_targets
from ramify.losses import Logistic, Loss, Quantile
from ramify.metrics import METRICS

X, Y = make_correlated_targets(260, 6, 5, random_state=0)
X_TRAIN, Y_TRAIN, X_TEST, Y_TEST = X[:200], Y[:200], X[200:], Y[200:]
LABELS = (Y > 0).astype(int)
ONE = projections.Gaussian(n_components=1)


def regressor(**parameters):
    given = {"n_estimators": 20, "max_depth": 3, "random_state": 0}
    return BoostingRegressor(**(given | parameters))


def classifier(**parameters):
    given = {"n_estimators": 20, "max_depth": 3, "random_state": 0}
    return BoostingClassifier(**(given | parameters))


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
            scaled = (targets - model._shift) / model._scale
            expected = 0.5 * np.mean((scaled - raw) ** 2)
        else:
            margin = np.where(targets == 1, raw, -raw)
            expected = np.mean(np.logaddexp(0.0, -margin))
        assert final == pytest.approx(expected, rel=1e-4)


def test_the_unit_of_an_output_does_not_matter():
    units = np.array([1e-6, 1.0, 1e9, 1e30, 3.0])
    plain, scaled = regressor().fit(X, Y), regressor().fit(X, Y * units + units)
    np.testing.assert_allclose(scaled.predict(X), (plain.predict(X) + 1) * units, rtol=1e-3)


def test_unobserved_targets_are_learnt_around():
    holes = Y_TRAIN.copy()
    holes[np.random.default_rng(0).random(holes.shape) < 0.3] = np.nan
    for projection in (None, "gaussian", "subsample", "round_robin"):
        model = regressor(projection=projection, n_estimators=60).fit(X_TRAIN, holes)
        assert model.score(X_TEST, Y_TEST) > 0.4
        assert np.all(np.isfinite(model.predict(X_TEST)))


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


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_weight_of_zero_leaves_a_row_out(make):
    targets = Y if make is regressor else LABELS
    weights = np.ones(len(X))
    weights[200:] = 0.0
    bins = ramify.BinnedData(X[:200])
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


def test_sparse_labels_give_the_model_of_dense_ones():
    dense = classifier().fit(X, LABELS)
    from_sparse = classifier().fit(sparse.csr_array(X), sparse.csr_array(LABELS))
    np.testing.assert_allclose(from_sparse._raw(X), dense._raw(X), atol=1e-5)
    assert sparse.issparse(from_sparse.predict(X))


def test_labels_too_many_to_hold_are_refused_with_the_memory_they_would_need():
    many = sparse.csr_array((np.ones(1), ([0], [0])), shape=(60_000, 100_000))
    with pytest.raises(MemoryError, match=r"GiB"):
        classifier().fit(np.zeros((60_000, 1)), many)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("projection", ["auto", "sparse_rademacher", "subsample"])
def test_factored_residuals_give_the_model_of_dense_ones(make, projection, weighted, monkeypatch):
    labels = sparse.csr_array(LABELS * (2.5 if make is regressor else 1))
    if projection != "auto":
        projection = projections.resolve(projection).set_params(n_components=1)
    given = {"loss": "squared_error", "leaf_fit": "linear", "projection": projection}
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else None
    dense = make(**given).fit(X, labels, sample_weight=weights)
    monkeypatch.setattr("ramify.estimators.boosting_checks.LARGEST_RAW_BYTES", 0)
    factored = make(**given).fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(factored._raw(X), dense._raw(X), atol=2e-3)
    np.testing.assert_allclose(
        factored.history_["train_loss"], dense.history_["train_loss"], rtol=1e-3
    )
    part = make(**given, warm_start=True).set_params(n_estimators=8)
    part.fit(X, labels, sample_weight=weights).set_params(n_estimators=20)
    part.fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(part._raw(X), factored._raw(X), atol=2e-3)


def test_a_hundred_thousand_labels_are_boosted_in_factored_form():
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(6_000), 3)
    columns = (rows * 7 + rng.integers(3, size=rows.size)) % 100_000
    labels = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(6_000, 100_000))
    labels.data[:] = 1.0
    model = classifier(loss="squared_error", leaf_fit="linear", n_estimators=3)
    losses = model.fit(rng.normal(size=(6_000, 2)), labels).history_["train_loss"]
    assert np.all(np.diff(losses) <= 0)
    assert model._model.tree_factors.shape == (3, 100_000)
    with pytest.raises(ValueError, match="without validation"):
        classifier(loss="squared_error", leaf_fit="linear", early_stopping=True).fit(
            np.zeros((6_000, 1)), labels
        )


def test_frames_and_categories():
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    targets = pd.DataFrame(Y[:, :2], columns=["one", "two"])
    model = regressor().fit(frame, targets)
    assert list(model.output_names_) == ["one", "two"]
    assert model.predict(frame).shape == (260, 2)


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


@pytest.mark.parametrize("loss", ["huber", "absolute_error", "quantile", "poisson"])
def test_regression_losses_learn(loss):
    targets = np.round(np.exp(Y_TRAIN)) if loss == "poisson" else Y_TRAIN
    history = regressor(loss=loss, n_estimators=40).fit(X_TRAIN, targets).history_["train_loss"]
    assert history[-1] < history[0] - 0.1 * abs(history[0])


def test_several_quantiles_of_several_outputs():
    loss = Quantile([0.1, 0.5, 0.9])
    model = regressor(loss=loss, n_estimators=60).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == (260, 5, 3)
    below = (Y[:, :, None] <= predicted).mean(axis=(0, 1))
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=0.07)


def test_the_examplewise_loss_learns_whole_label_sets():
    loss = "examplewise_logistic"
    model = classifier(loss=loss, n_estimators=150, learning_rate=0.3).fit(X, LABELS)
    right = np.all(model.predict(X) == LABELS, axis=1)
    assert right.mean() > 0.8


class _Asymmetric(Loss):
    """Squared error that counts double below the target."""

    def losses(self, targets, raw):
        rest = targets.values - raw
        return np.where(rest > 0, rest**2, 0.5 * rest**2)

    def gradient(self, targets, raw):
        rest = raw - targets.values
        return np.where(rest < 0, 2 * rest, rest)


@pytest.mark.parametrize("leaf_values", ["gradient", "newton", "exact"])
def test_a_loss_of_ones_own(leaf_values):
    model = regressor(loss=_Asymmetric(), leaf_values=leaf_values).fit(X, Y)
    history = model.history_["train_loss"]
    assert history[-1] < 0.7 * history[0]
    assert (model.predict(X) - Y).mean() > 0


def test_early_stopping_keeps_the_best_round():
    noise = np.random.default_rng(0).normal(size=(200, 3))
    model = regressor(
        n_estimators=200, early_stopping=True, n_iter_no_change=5, learning_rate=0.5
    ).fit(X_TRAIN, noise)
    losses = model.history_["validation_loss"]
    assert len(losses) < 200
    assert model.n_estimators_ == np.argmin(losses) + 1
    assert len(losses) == model.n_estimators_ + 5


def test_an_eval_set_is_not_trained_on():
    model = regressor().fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST))
    alone = regressor().fit(X_TRAIN, Y_TRAIN)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    scaled = (Y_TEST - model.predict(X_TEST)) / Y_TRAIN.std(axis=0)
    final = model.history_["validation_loss"][-1]
    assert final == pytest.approx(0.5 * np.mean(scaled**2), rel=1e-4)


@pytest.mark.parametrize("metric", ["r2", "arrmse", lambda y, p: -np.abs(y - p).mean()])
def test_a_metric_is_followed(metric):
    model = regressor(eval_metric=metric).fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST))
    predicted = model.predict(X_TEST)
    if callable(metric):
        expected = metric(Y_TEST, predicted)
    else:
        known = METRICS[metric]
        sign = 1 if known.greater_is_better else -1
        expected = sign * known.prepare(Y_TRAIN)(Y_TEST, predicted)
    assert model.history_["validation_score"][-1] == pytest.approx(expected, rel=1e-5)


def test_metrics_of_labels_and_classes_are_followed():
    model = classifier(eval_metric="lrap").fit(X, LABELS, eval_set=(X, LABELS))
    assert model.history_["validation_score"][-1] > 0.8
    classes = np.array(["low", "mid", "top"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
    right = classifier(eval_metric=lambda y, p: np.mean(y == p))
    right.fit(X, classes, eval_set=(X[classes != "mid"], classes[classes != "mid"]))
    assert right.history_["validation_score"][-1] > 0.8


def test_an_eval_set_with_unknown_classes_or_outputs_is_refused():
    with pytest.raises(ValueError, match="does not have"):
        classifier().fit(X, np.arange(260) % 3, eval_set=(X, np.arange(260) % 4))
    with pytest.raises(ValueError, match="must have 5 outputs"):
        regressor().fit(X, Y, eval_set=(X, Y[:, :2]))
    with pytest.raises(ValueError, match="pair"):
        regressor().fit(X, Y, eval_set=[X, Y])


def test_a_metric_without_validation_rows_is_refused():
    with pytest.raises(ValueError, match="eval_set"):
        regressor(eval_metric="r2").fit(X, Y)
    with pytest.raises(ValueError, match="multilabel"):
        regressor(eval_metric="lrap", early_stopping=True).fit(X, Y)


def test_callbacks_see_every_round_and_can_stop():
    seen = []

    def watch(progress):
        seen.append((progress.n_estimators, progress.train_loss))
        return progress.n_estimators == 7

    model = regressor().fit(X, Y, callbacks=[watch])
    assert model.n_estimators_ == 7
    np.testing.assert_array_equal([loss for _, loss in seen], model.history_["train_loss"])


@pytest.mark.parametrize("projection", [None, "auto", "round_robin", "gaussian"])
def test_a_warm_start_goes_on_where_it_stopped(projection):
    # Adaptive views have forgotten what earlier rounds brought, but go on.
    whole = regressor(projection=projection).fit(X, Y)
    part = regressor(projection=projection, n_estimators=8, warm_start=True).fit(X, Y)
    part.set_params(n_estimators=20).fit(X, Y)
    assert part.n_estimators_ == 20
    assert len(part.history_["train_loss"]) == 20
    if projection != "auto":
        np.testing.assert_allclose(part.predict(X), whole.predict(X), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="at least 20"):
        part.set_params(n_estimators=10).fit(X, Y)


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


@pytest.mark.parametrize("estimator", [Ridge(), KNeighborsRegressor()])
@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("linear", [False, True])
def test_any_regressor_can_be_boosted(estimator, make, linear):
    targets = Y if make is regressor else LABELS
    model = make(
        estimator=estimator,
        leaf_fit="linear" if linear else "relabel",
        projection=ONE if linear else None,
    ).fit(X, targets)
    losses = model.history_["train_loss"]
    assert losses[-1] < losses[0]
    assert np.all(np.diff(losses) <= 1e-6)
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X), rtol=1e-5)
    with pytest.raises(AttributeError, match="Only boosted trees"):
        model.feature_importances_  # noqa: B018
    with pytest.raises(TypeError, match="pickle"):
        ramify.save(model, "never")


def test_boosted_ridge_regression_tends_to_least_squares():
    model = regressor(estimator=Ridge(alpha=1e-6), learning_rate=1.0, n_estimators=3).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Ridge(alpha=1e-6).fit(X, Y).predict(X), rtol=1e-3)


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


def test_the_output_map_finds_groups():
    rng = np.random.default_rng(0)
    a, b = X[:, 0] + X[:, 1] ** 2, X[:, 2] * X[:, 3]
    groups = np.column_stack([a, a, -a, b, b]) + 0.05 * rng.normal(size=(260, 5))
    for parameters in ({"projection": None}, {"projection": ONE, "leaf_fit": "linear"}):
        found = regressor(n_estimators=60, **parameters).fit(X, groups).output_map_
        assert found.shape == (5, 5)
        np.testing.assert_allclose(np.diag(found), 1.0)
        assert found[0, 1] > 0.8
        assert found[0, 2] < -0.8
        assert found[3, 4] > 0.8
        assert np.abs(found[:3, 3:]).max() < 0.5


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
    ramify.save(model, tmp_path / "model")
    loaded = ramify.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.output_map_, model.output_map_)
    assert loaded.n_estimators_ == model.n_estimators_
    assert loaded.get_params()["loss"] == model.get_params()["loss"]
    for name, values in model.history_.items():
        np.testing.assert_array_equal(loaded.history_[name], values)


def test_linear_leaf_fits_store_numbers_and_not_vectors():
    model = regressor(projection=ONE, leaf_fit="linear").fit(X, Y)
    arrays = model._model.to_arrays()
    assert arrays["leaf_values"].shape == (model._model.structure.n_leaves, 1)
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
    assert isinstance(model._loss, Logistic)
