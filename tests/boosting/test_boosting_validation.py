"""Validation rows of boosting: early stopping, metrics, weights, callbacks."""

import numpy as np
import pandas as pd
import pytest
from boosting_problems import LABELS, X_TEST, X_TRAIN, Y_TEST, Y_TRAIN, X, Y, classifier, regressor
from scipy import sparse
from sklearn.metrics import f1_score, log_loss, roc_auc_score

import polyleaf
from polyleaf.losses import Quantile
from polyleaf.metrics import METRICS, Metric


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


@pytest.mark.parametrize("shape", ["rows", "entries"])
def test_rows_without_weight_decide_nothing(shape):
    wild = np.vstack([Y_TRAIN, 50 * np.random.default_rng(0).normal(size=(200, 5))])
    features = np.vstack([X_TRAIN, X_TRAIN])
    weights = np.r_[np.ones(200), np.zeros(200)]
    if shape == "entries":
        weights = np.repeat(weights[:, None], 5, axis=1)
    given = {"projection": None, "n_estimators": 60, "early_stopping": True, "max_bins": None}
    weighed = regressor(**given).fit(features, wild, sample_weight=weights)
    alone = regressor(**given).fit(X_TRAIN, Y_TRAIN)
    assert weighed.n_estimators_ == alone.n_estimators_
    np.testing.assert_allclose(
        weighed.history_["validation_loss"], alone.history_["validation_loss"], rtol=1e-3
    )


@pytest.mark.parametrize("by_entry", [False, True])
def test_weights_of_an_eval_set_count_in_its_loss_and_score(by_entry):
    weights = np.random.default_rng(0).uniform(0.0, 3.0, (60, 5) if by_entry else 60)
    metric = None if by_entry else "neg_mean_squared_error"
    model = regressor(eval_metric=metric)
    model.fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST, 1e-30 * weights))
    rest = Y_TEST - model.predict(X_TEST)
    shares = weights if by_entry else np.repeat(weights[:, None], 5, axis=1)
    expected = 0.5 * np.average((rest / Y_TRAIN.std(axis=0)) ** 2, weights=shares)
    assert model.history_["validation_loss"][-1] == pytest.approx(expected, rel=1e-4)
    if metric is not None:
        score = -np.average(rest**2, weights=shares)
        assert model.history_["validation_score"][-1] == pytest.approx(score, rel=1e-4)


def test_weights_of_rows_reach_polyleafs_metrics():
    weights = np.random.default_rng(0).uniform(0.0, 3.0, 60)
    model = regressor(eval_metric="r2")
    model.fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST, weights))
    expected = METRICS["r2"].function(Y_TEST, model.predict(X_TEST), sample_weight=weights)
    assert model.history_["validation_score"][-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 7.0}])
def test_weights_of_classes_count_in_the_validation_loss(class_weight):
    y = (Y[:, 0] > 0.8).astype(int)
    model = classifier(class_weight=class_weight)
    model.fit(X_TRAIN, y[:200], eval_set=(X_TEST, y[200:]))
    weights = np.array([1.0, 7.0])
    if class_weight == "balanced":  # as frequent as among the training rows
        weights = 200 / (2 * np.bincount(y[:200]))
    raw = model.decision_function(X_TEST)
    entries = np.logaddexp(0.0, np.where(y[200:] == 1, -raw, raw))
    expected = np.average(entries, weights=weights[y[200:]])
    assert model.history_["validation_loss"][-1] == pytest.approx(expected, rel=1e-4)
    aside = classifier(class_weight=class_weight, early_stopping=True).fit(X, y)
    plain = classifier(early_stopping=True).fit(X, y)
    assert aside.history_["validation_loss"][0] != plain.history_["validation_loss"][0]


def test_an_eval_set_that_says_nothing_is_refused():
    holes = np.where(np.arange(60)[:, None] < 30, np.nan, Y_TEST)
    weights = np.r_[np.ones(30), np.zeros(30)]
    with pytest.raises(ValueError, match="validation row"):
        regressor().fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, holes, weights))


@pytest.mark.parametrize("kind", ["regression", "multilabel", "classes"])
def test_columns_of_y_in_another_order_are_refused(kind):
    values = {"regression": Y, "multilabel": LABELS, "classes": np.digitize(Y, [-1, 1])}[kind]
    make = regressor if kind == "regression" else classifier
    frame = pd.DataFrame(values, columns=list("abcde"))
    make(n_estimators=2).fit(X, frame, eval_set=(X, frame))
    with pytest.raises(ValueError, match=r"in their order; output 0 is 'e'"):
        make(n_estimators=2).fit(X, frame, eval_set=(X, frame[list("edcba")]))


BINARY = np.where(Y[:, 0] > 0, "yes", "no")
CLASSES = np.array(["low", "mid", "top"])[np.digitize(Y[:, 0], [-0.5, 0.5])]


@pytest.mark.parametrize(
    ("name", "y", "expected"),
    [
        ("accuracy", BINARY, lambda m: np.mean(m.predict(X_TEST) == BINARY[200:])),
        ("neg_log_loss", CLASSES, lambda m: -log_loss(CLASSES[200:], m.predict_proba(X_TEST))),
        ("roc_auc", BINARY, lambda m: roc_auc_score(BINARY[200:], m.predict_proba(X_TEST)[:, 1])),
        (
            "roc_auc_ovr",
            CLASSES,
            lambda m: roc_auc_score(CLASSES[200:], m.predict_proba(X_TEST), multi_class="ovr"),
        ),
        (
            "f1_macro",
            CLASSES,
            lambda m: f1_score(CLASSES[200:], m.predict(X_TEST), average="macro"),
        ),
        ("f1_micro", LABELS, lambda m: f1_score(LABELS[200:], m.predict(X_TEST), average="micro")),
    ],
)
def test_scorers_of_scikit_learn_are_followed_by_name(name, y, expected):
    model = classifier(eval_metric=name).fit(X_TRAIN, y[:200], eval_set=(X_TEST, y[200:]))
    assert model.history_["validation_score"][-1] == pytest.approx(expected(model), rel=1e-5)


def test_a_scorer_leaves_rows_out_whose_class_is_not_observed():
    y = np.where(Y[:, 0] > 0, 1.0, 0.0)
    holes = y[200:].copy()
    holes[::3] = np.nan
    model = classifier(eval_metric="accuracy")
    model.fit(X_TRAIN, y[:200], eval_set=(X_TEST, holes))
    seen = ~np.isnan(holes)
    expected = np.mean(model.predict(X_TEST)[seen] == holes[seen])
    assert model.history_["validation_score"][-1] == pytest.approx(expected)


def test_a_metric_of_ones_own_may_ask_for_scores():
    brier = Metric(
        "brier", lambda y, p: np.mean((p - (y == "yes")) ** 2), "binary", "scores", False
    )
    model = classifier(eval_metric=brier)
    model.fit(X_TRAIN, BINARY[:200], eval_set=(X_TEST, BINARY[200:]))
    p = model.predict_proba(X_TEST)[:, 1]
    expected = -np.mean((p - (BINARY[200:] == "yes")) ** 2)
    assert model.history_["validation_score"][-1] == pytest.approx(expected)
    with pytest.raises(ValueError, match="'brier' is for binary problems; y is multiclass"):
        classifier(eval_metric=brier).fit(X, CLASSES, eval_set=(X, CLASSES))


def test_a_score_that_is_no_number_does_not_end_a_fit_in_silence():
    model = regressor(eval_metric=lambda y, p: np.nan)
    model.fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST))
    assert model.n_estimators_ == 20
    with pytest.raises(ValueError, match=r"score .eval_metric. after 1 rounds is NaN"):
        model.set_params(early_stopping=True).fit(X, Y)


def test_several_quantiles_and_a_metric_by_name_are_refused_at_once():
    heard = []
    model = regressor(loss=Quantile([0.1, 0.9]), eval_metric="r2", early_stopping=True)
    with pytest.raises(ValueError, match="one prediction per output"):
        model.fit(X, Y, callbacks=heard.append)
    assert heard == []


@pytest.mark.parametrize("answer", [True, np.True_, np.float64(1.0) > 0])
def test_any_true_stops(answer):
    assert regressor().fit(X, Y, callbacks=[lambda progress: answer]).n_estimators_ == 1


@pytest.mark.parametrize("answer", [None, False, np.False_, 1, "on"])
def test_nothing_else_stops(answer):
    assert regressor(n_estimators=2).fit(X, Y, callbacks=lambda _: answer).n_estimators_ == 2


def test_callbacks_must_be_callable():
    with pytest.raises(TypeError, match="callbacks must be a function"):
        regressor().fit(X, Y, callbacks=["print"])


# Curves of single outputs, and several sets of validation rows -----------------------------------


def test_losses_of_outputs_average_to_the_validation_loss():
    model = regressor().fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST))
    history = model.history_
    per_output = history["validation_loss_per_output"]
    assert per_output.shape == (len(history["validation_loss"]), 5)
    np.testing.assert_allclose(per_output.mean(axis=1), history["validation_loss"], rtol=1e-6)
    scaled = (Y_TEST - model.predict(X_TEST)) / Y_TRAIN.std(axis=0)
    np.testing.assert_allclose(per_output[-1], 0.5 * np.mean(scaled**2, axis=0), rtol=1e-4)


def test_losses_of_outputs_heed_weights_and_gaps():
    gaps = np.where(np.random.default_rng(3).random(Y_TEST.shape) < 0.3, np.nan, Y_TEST)
    gaps[:, 4] = np.nan
    weights = np.random.default_rng(4).uniform(size=len(gaps))
    model = regressor().fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, gaps, weights))
    squares = ((gaps - model.predict(X_TEST)) / Y_TRAIN.std(axis=0)) ** 2
    for j in range(4):
        seen = ~np.isnan(gaps[:, j])
        expected = 0.5 * np.average(squares[seen, j], weights=weights[seen])
        found = model.history_["validation_loss_per_output"][-1, j]
        assert found == pytest.approx(expected, rel=1e-4)
    assert np.isnan(model.history_["validation_loss_per_output"][:, 4]).all()


def test_scores_of_outputs_are_those_of_the_metric():
    model = regressor(eval_metric="rmse").fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST))
    errors = np.sqrt(np.mean((Y_TEST - model.predict(X_TEST)) ** 2, axis=0))
    found = model.history_["validation_score_per_output"]
    np.testing.assert_allclose(found[-1], -errors, rtol=1e-5)  # larger is better


def test_classes_and_quantiles_have_a_loss_for_each_output():
    classes = np.column_stack([np.digitize(y, [-0.5, 0.5]) for y in Y[:, :2].T])
    model = classifier().fit(X, classes, eval_set=(X, classes))
    history = model.history_
    np.testing.assert_allclose(
        history["validation_loss_per_output"].mean(axis=1), history["validation_loss"]
    )
    expected = [log_loss(classes[:, j], p) for j, p in enumerate(model.predict_proba(X))]
    np.testing.assert_allclose(history["validation_loss_per_output"][-1], expected, rtol=1e-4)
    quantiles = regressor(loss=Quantile([0.1, 0.9])).fit(X, Y, eval_set=(X, Y))
    assert quantiles.history_["validation_loss_per_output"].shape[1] == 5


def test_a_loss_of_whole_rows_and_a_single_output_have_no_curves_of_outputs():
    joint = classifier(loss="examplewise_logistic").fit(X, LABELS, eval_set=(X, LABELS))
    assert set(joint.history_) == {"train_loss", "validation_loss"}
    single = regressor().fit(X, Y[:, 0], eval_set=(X, Y[:, 0]))
    assert set(single.history_) == {"train_loss", "validation_loss"}


@pytest.mark.parametrize("given", [np.asarray, sparse.csr_array])
def test_each_set_of_a_list_is_followed_as_if_it_were_alone(given):
    first, last = (X_TRAIN[:50], Y_TRAIN[:50]), (given(X_TEST), Y_TEST)
    model = regressor(eval_metric="r2").fit(X_TRAIN, Y_TRAIN, eval_set=[first, last])
    for number, rows in enumerate([first, last]):
        alone = regressor(eval_metric="r2").fit(X_TRAIN, Y_TRAIN, eval_set=rows)
        for kind in ("loss", "score", "loss_per_output", "score_per_output"):
            np.testing.assert_allclose(
                model.history_[f"validation_{number}_{kind}"],
                alone.history_[f"validation_{kind}"],
            )
    for kind in ("loss", "score", "loss_per_output"):
        np.testing.assert_array_equal(
            model.history_[f"validation_{kind}"], model.history_[f"validation_1_{kind}"]
        )


def test_the_last_set_of_a_list_stops():
    noise = np.random.default_rng(0).normal(size=(260, 3))
    settings = {
        "n_estimators": 60,
        "early_stopping": True,
        "n_iter_no_change": 5,
        "learning_rate": 0.5,
    }
    held_out = (X[200:], noise[200:])
    training = (X[:200], noise[:200])
    model = regressor(**settings).fit(*training, eval_set=[training, held_out])
    alone = regressor(**settings).fit(*training, eval_set=held_out)
    other = regressor(**settings).fit(*training, eval_set=[held_out, training])
    assert model.n_estimators_ == alone.n_estimators_ < 60
    assert other.n_estimators_ == 60


def test_curves_of_a_list_are_kept_in_files_and_by_warm_starts(tmp_path):
    sets = [(X_TRAIN, Y_TRAIN), (X_TEST, Y_TEST)]
    model = regressor(n_estimators=4, warm_start=True).fit(X_TRAIN, Y_TRAIN, eval_set=sets)
    model.set_params(n_estimators=6).fit(X_TRAIN, Y_TRAIN)
    polyleaf.save(model, tmp_path / "model.polyleaf")
    history = polyleaf.load(tmp_path / "model.polyleaf").history_
    assert history.keys() == model.history_.keys()
    per_output = history["validation_0_loss_per_output"]
    assert per_output.shape == (6, 5)
    assert np.isfinite(per_output[:4]).all()
    assert np.isnan(per_output[4:]).all()


@pytest.mark.parametrize("wrong", [[], [(X, Y), X], [X, Y], (X,)])
def test_an_eval_set_that_is_no_pair_or_list_of_pairs_is_refused(wrong):
    with pytest.raises(ValueError, match=r"eval_set must .* pair \(X, y\)"):
        regressor().fit(X, Y, eval_set=wrong)


def test_a_metric_of_another_task_is_refused_with_those_of_this_one():
    with pytest.raises(ValueError, match="y is multilabel") as refused:
        classifier(eval_metric="rmse").fit(X, LABELS, eval_set=(X, LABELS))
    names = [name for name, metric in METRICS.items() if metric.task == "multilabel"]
    assert all(repr(name) in str(refused.value) for name in names)


@pytest.mark.parametrize(
    ("model", "given", "named", "other"),
    [
        (polyleaf.BoostingRegressor, "rsme", "'rmse'", "hamming_loss"),
        (polyleaf.BoostingClassifier, "exmple_f1", "'example_f1'", "arrmse"),
    ],
)
def test_a_misspelt_metric_is_answered_with_those_of_the_task(model, given, named, other):
    X = np.arange(8.0).reshape(-1, 2)
    with pytest.raises(ValueError, match=f"Did you mean {named}") as told:
        model(eval_metric=given).fit(X, (X > 3).astype(int))
    assert other not in str(told.value)
