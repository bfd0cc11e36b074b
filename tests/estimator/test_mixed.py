"""Numbers, counts, classes and labels in one Y."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor

import polyleaf
from polyleaf import losses

N = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
FULL = np.nan_to_num(X)
NUMBERS = pd.DataFrame(
    FULL[:, :3] @ RNG.normal(size=(3, 3)) + RNG.normal(size=(N, 3)), columns=["a", "b", "c"]
)
LABELS = pd.DataFrame({f"l{j}": FULL[:, j] + RNG.normal(size=N) > 0 for j in range(3)})
CLASSES = pd.DataFrame(
    {
        f"k{j}": np.array(["u", "v", "w"])[np.digitize(FULL[:, j], cuts)]
        for j, cuts in enumerate([[-0.5, 0.5], [0.0, 9.0]])
    }
)
COUNTS = pd.DataFrame({f"n{j}": RNG.poisson(np.exp(FULL[:, j] / 2)) for j in range(2)})
MIXED = pd.DataFrame(
    {
        "price": NUMBERS["a"].mask(RNG.random(N) < 0.1),
        "small": NUMBERS["b"].astype(np.float32),
        "visits": COUNTS["n0"],
        "colour": pd.Categorical(CLASSES["k0"], categories=["w", "v", "u", "x"], ordered=True),
        "open": CLASSES["k1"].mask(RNG.random(N) < 0.1),
        "sold": LABELS["l0"],
        "paid": LABELS["l1"].astype("boolean").mask(RNG.random(N) < 0.1),
        "flag": LABELS["l2"].astype(np.int8),
    }
)
SMALL = {
    "TreeMixed": {"max_depth": 4},
    "RandomForestMixed": {"n_estimators": 8},
    "ExtraTreesMixed": {"n_estimators": 8},
    "BoostingMixed": {"n_estimators": 10, "max_depth": 3, "projection": None},
}
each_model = pytest.mark.parametrize("name", SMALL)


def make(name, **given):
    return getattr(polyleaf, name)(**SMALL[name] | {"random_state": 0} | given)


# One kind ----------------------------------------------------------------------------------------

ONE_KIND = {
    "numbers": (NUMBERS, "Regressor"),
    "masked": (NUMBERS.mask(NUMBERS > 1.5), "Regressor"),
    "vector": (NUMBERS["a"].to_numpy(), "Regressor"),
    "labels": (LABELS, "Classifier"),
    "zero-one": (LABELS.to_numpy().astype(int), "Classifier"),
    "classes": (CLASSES, "Classifier"),
    "one-class": (CLASSES["k0"], "Classifier"),
    "two-classes": (CLASSES["k1"], "Classifier"),
}


@each_model
@pytest.mark.parametrize("kind", ONE_KIND)
def test_a_y_of_one_kind_gives_the_regressor_or_classifier_bit_by_bit(name, kind):
    Y, suffix = ONE_KIND[kind]
    weights = RNG.uniform(0.5, 2.0, N)
    other = getattr(polyleaf, name.replace("Mixed", suffix))(random_state=0, **SMALL[name])
    model = make(name).fit(X, Y, sample_weight=weights)
    other.fit(X, Y, sample_weight=weights)
    expected = other.predict(X).reshape(N, -1)
    assert np.array_equal(model.predict(X).to_numpy(), expected)
    if suffix == "Classifier":
        expected = other.predict_proba(X)
        if kind in ("labels", "zero-one"):
            expected = list(expected.T)
        elif isinstance(expected, np.ndarray):
            expected = [expected]
        for found, values in zip(model.predict_proba(X).values(), expected, strict=True):
            assert np.array_equal(found, values)


def test_boosting_of_counts_is_the_regressor_with_the_loss_of_poisson():
    model = make("BoostingMixed").fit(X, COUNTS)
    other = polyleaf.BoostingRegressor(loss="poisson", random_state=0, **SMALL["BoostingMixed"])
    assert np.array_equal(model.predict(X).to_numpy(), other.fit(X, COUNTS).predict(X))


@each_model
def test_defaults_are_those_of_the_regressor_and_the_classifier(name):
    for suffix, Y in (("Regressor", NUMBERS), ("Classifier", LABELS)):
        other = getattr(polyleaf, name.replace("Mixed", suffix))(random_state=0)
        model = getattr(polyleaf, name)(random_state=0)
        if "n_estimators" in model.get_params():
            other.set_params(n_estimators=4)
            model.set_params(n_estimators=4)
        expected = other.fit(X, Y).predict(X)
        assert np.array_equal(model.fit(X, Y).predict(X).to_numpy(), expected)


# Several kinds -----------------------------------------------------------------------------------


@each_model
def test_predictions_are_a_frame_with_each_column_in_its_own_kind(name):
    model = make(name).fit(X, MIXED)
    assert model.target_types_ == {
        "price": "number",
        "small": "number",
        "visits": "count",
        "colour": "class",
        "open": "class",
        "sold": "label",
        "paid": "label",
        "flag": "label",
    }
    found = model.predict(X)
    assert list(found) == list(MIXED)
    for column in ("price", "small", "colour", "sold", "paid", "flag", "open"):
        assert found[column].dtype == MIXED[column].dtype
    assert found["visits"].dtype == np.float64
    assert not is_regressor(model)
    assert not is_classifier(model)


@each_model
def test_probabilities_come_by_output_and_agree_with_predictions(name):
    model = make(name).fit(X, MIXED)
    chances, found = model.predict_proba(X), model.predict(X)
    assert list(chances) == ["colour", "open", "sold", "paid", "flag"] == list(model.classes_)
    for column in ("colour", "open"):
        classes = model.classes_[column]
        assert chances[column].shape == (N, len(classes))
        assert np.allclose(chances[column].sum(axis=1), 1.0)
        chosen = classes[np.argmax(chances[column], axis=1)]
        assert chosen.tolist() == found[column].tolist()
    for column in ("sold", "paid", "flag"):
        assert np.array_equal(chances[column] > 0.5, found[column].to_numpy(dtype=bool))


@each_model
def test_polars_in_polars_out(name):
    model = make(name).fit(X, pl.from_pandas(MIXED.drop(columns="colour")))
    found = model.predict(X)
    assert isinstance(found, pl.DataFrame)
    assert found["open"].dtype == pl.String
    assert found["sold"].dtype == pl.Boolean
    assert found["small"].dtype == pl.Float32
    pandas = make(name).fit(X, MIXED.drop(columns="colour")).predict(X)
    assert found["price"].to_list() == pandas["price"].tolist()
    assert found["open"].to_list() == pandas["open"].tolist()


@each_model
def test_arrays_take_target_types_and_names(name):
    Y = np.column_stack([NUMBERS["a"], COUNTS["n0"], LABELS["l0"]])
    types = {"p": "number", "n": "count", "s": "label"}
    model = make(name).fit(X, Y, target_types=types, output_names=["p", "n", "s"])
    assert model.target_types_ == types
    assert list(model.predict(X)) == ["p", "n", "s"]
    listed = make(name).fit(X, Y, target_types=["number", "count", "label"])
    assert listed.target_types_ == {"y0": "number", "y1": "count", "y2": "label"}
    assert np.array_equal(listed.predict(X).to_numpy(), model.predict(X).to_numpy())


@each_model
def test_numbers_of_any_unit_give_the_same_splits(name):
    other = MIXED.assign(price=MIXED["price"] * 1024.0)
    one, two = (make(name).fit(X, Y).predict(X) for Y in (MIXED, other))
    assert np.allclose(one["price"] * 1024.0, two["price"], rtol=1e-4)
    assert one["colour"].tolist() == two["colour"].tolist()


@each_model
def test_what_is_not_observed_and_what_has_no_weight_does_not_count(name):
    weights = np.ones((N, MIXED.shape[1]))
    weights[:50, 0] = 0.0
    masked = MIXED.assign(price=MIXED["price"].mask(np.arange(N) < 50))
    wrong = MIXED.assign(price=MIXED["price"].where(np.arange(N) >= 50, 0.5))
    given = {"projection": None} if name in ("RandomForestMixed", "ExtraTreesMixed") else {}
    one = make(name, **given).fit(X, masked).predict(X)
    two = make(name, **given).fit(X, wrong, sample_weight=weights).predict(X)
    assert np.allclose(one["price"], two["price"], rtol=1e-4, atol=1e-4)


@each_model
def test_files_keep_kinds_types_and_losses(name, tmp_path):
    given = {"loss": {"price": losses.Huber(0.5)}} if name == "BoostingMixed" else {}
    for Y in (MIXED, pl.from_pandas(MIXED), NUMBERS):
        kept = {} if "price" not in Y.columns else given
        model = make(name, **kept).fit(X, Y)
        polyleaf.save(model, tmp_path / "model")
        loaded = polyleaf.load(tmp_path / "model")
        assert loaded.predict(X).equals(model.predict(X))
        assert loaded.target_types_ == model.target_types_
        assert loaded.score(X, Y) == model.score(X, Y)


def test_the_index_of_x_is_kept():
    frame = pd.DataFrame(FULL, columns=list("pqrs"), index=np.arange(N) + 1000)
    found = make("TreeMixed").fit(frame, MIXED).predict(frame[:5])
    assert found.index.tolist() == [1000, 1001, 1002, 1003, 1004]


def test_categories_in_x_are_taken():
    frame = pd.DataFrame({"x": X[:, 0], "c": pd.Categorical(CLASSES["k0"])})
    model = make("RandomForestMixed").fit(frame, MIXED)
    assert model.score(frame, MIXED) > 0.3


# Scores ------------------------------------------------------------------------------------------


@each_model
def test_the_score_is_the_mean_of_what_is_taken_off_the_trivial_error(name):
    model = make(name).fit(X, MIXED)
    found = model.output_scores(X, MIXED)
    assert model.score(X, MIXED) == pytest.approx(np.mean([s["score"] for s in found.values()]))
    predicted, chances = model.predict(X), model.predict_proba(X)
    seen = MIXED["price"].notna()
    truth, guess = MIXED["price"][seen], predicted["price"][seen]
    r2 = 1 - ((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
    assert found["price"]["score"] == pytest.approx(r2)
    sold = MIXED["sold"].to_numpy(dtype=float)
    brier = np.mean((sold - chances["sold"]) ** 2) / np.mean((sold - sold.mean()) ** 2)
    assert found["sold"]["score"] == pytest.approx(1 - brier)
    assert set(found["visits"]) == {"score", "rmse", "mae", "poisson_deviance"}
    assert set(found["colour"]) == {"score", "accuracy", "log_loss"}
    right = (predicted["colour"].astype(str) == MIXED["colour"].astype(str)).mean()
    assert found["colour"]["accuracy"] == pytest.approx(right)


def test_the_score_of_numbers_is_that_of_the_regressor():
    model = make("TreeMixed").fit(X, NUMBERS)
    other = polyleaf.TreeRegressor(random_state=0, max_depth=4).fit(X, NUMBERS)
    assert model.score(X, NUMBERS) == pytest.approx(other.score(X, NUMBERS))


def test_a_class_that_training_never_saw_is_wrong_and_no_error():
    model = make("TreeMixed").fit(X, MIXED)
    Y = MIXED.assign(open=MIXED["open"].where(np.arange(N) > 0, "never"))
    found = model.output_scores(X, Y)["open"]
    assert found["accuracy"] < model.output_scores(X, MIXED)["open"]["accuracy"]
    assert np.isfinite(found["score"])


# Forests -----------------------------------------------------------------------------------------


def test_out_of_bag_scores_and_predictions_are_of_all_kinds():
    model = make("RandomForestMixed", n_estimators=30, oob_score=True).fit(X, MIXED)
    assert model.oob_score_ < model.score(X, MIXED)
    assert list(model.oob_prediction_) == list(MIXED)
    scored = make("RandomForestMixed", n_estimators=30, oob_score=lambda truth, guess: len(truth))
    assert scored.fit(X, MIXED).oob_score_ <= N


def test_draws_are_whole_training_rows():
    model = make("RandomForestMixed").fit(X, MIXED)
    [draw] = model.sample_predictions(X[:5], random_state=1)
    assert list(draw) == list(MIXED)
    known = set(zip(MIXED["small"], MIXED["visits"], MIXED["sold"], strict=True))
    assert set(zip(draw["small"], draw["visits"], draw["sold"], strict=True)) <= known


def test_stages_end_with_the_prediction():
    for name in ("RandomForestMixed", "BoostingMixed"):
        model = make(name).fit(X, MIXED)
        *_, last = model.staged_predict(X)
        pd.testing.assert_frame_equal(last, model.predict(X))


def test_trees_of_a_forest_are_trees_of_mixed_kinds():
    member = make("RandomForestMixed").fit(X, MIXED).estimators_[0]
    assert isinstance(member, polyleaf.TreeMixed)
    assert list(member.predict(X[:3])) == list(MIXED)
    assert "colour=u" in polyleaf.inspection.tree_text(member)


# Boosting ----------------------------------------------------------------------------------------


def test_a_loss_per_output_is_taken_and_others_are_as_usual():
    loss = {"price": "absolute_error", "colour": losses.Softmax(), "visits": "squared_error"}
    model = make("BoostingMixed", loss=loss).fit(X, MIXED)
    found = model.losses_
    assert found["price"] == losses.AbsoluteError()
    assert found["small"] == losses.SquaredError()
    assert found["visits"] == losses.SquaredError()
    assert found["open"] == found["sold"] == losses.Logistic()
    curve = model.history_["train_loss"]
    assert curve[-1] < curve[0]
    assert model.score(X, MIXED) > 0.2


def test_an_output_learns_from_its_own_loss():
    rows = NUMBERS.assign(a=NUMBERS["a"].where(RNG.random(N) > 0.05, 1000.0), sold=LABELS["l0"])
    plain = make("BoostingMixed", n_estimators=40).fit(X, rows).predict(X)["a"]
    robust = make("BoostingMixed", n_estimators=40, loss={"a": "absolute_error"}).fit(X, rows)
    error = np.abs(robust.predict(X)["a"] - NUMBERS["a"]).mean()
    assert error < 0.2 * np.abs(plain - NUMBERS["a"]).mean()


def test_validation_rows_and_metrics_of_frames_stop_boosting():
    def metric(truth, guess):
        return float((truth["sold"] == guess["sold"]).mean())

    model = make("BoostingMixed", early_stopping=True, eval_metric=metric, n_iter_no_change=2)
    model.fit(X[:150], MIXED[:150], eval_set=(X[150:], MIXED[150:]))
    assert model.history_["validation_loss_per_output"].shape[1] == MIXED.shape[1]
    assert 0 <= model.history_["validation_score"].max() <= 1
    model.set_params(eval_metric="score", early_stopping=False)
    model.fit(X[:150], MIXED[:150], eval_set=(X[150:], MIXED[150:]))
    score = model.score(X[150:], MIXED[150:])
    assert model.history_["validation_score"][-1] == pytest.approx(score, rel=1e-4)


def test_a_warm_start_goes_on_as_if_it_had_never_stopped():
    whole = make("BoostingMixed", n_estimators=10).fit(X, MIXED)
    model = make("BoostingMixed", n_estimators=4, warm_start=True).fit(X, MIXED)
    model.set_params(n_estimators=10).fit(X, MIXED)
    assert np.allclose(model.predict(X)["small"], whole.predict(X)["small"], rtol=1e-4)


@pytest.mark.parametrize("projection", ["auto", "gaussian", "round_robin", "subsample"])
def test_views_of_mixed_gradients_work(projection):
    model = make("BoostingMixed", projection=projection, n_estimators=20).fit(X, MIXED)
    assert model.score(X, MIXED) > 0.1


def test_scales_of_losses_change_no_leaf_value():
    targets = losses.LossTargets.of(np.column_stack([NUMBERS["a"], LABELS["l0"]]))
    raw = np.zeros(targets.values.shape)
    parts = [losses.SquaredError(), losses.Logistic()]
    one, two = losses.LossPerOutput(parts), losses.LossPerOutput(parts, [3.0, 0.5])
    assert np.allclose(one.baseline(targets), two.baseline(targets))
    assert np.allclose(one.gradient(targets, raw) * [3.0, 0.5], two.gradient(targets, raw))
    assert np.allclose(one.curvature(targets, raw) * [3.0, 0.5], two.curvature(targets, raw))


def test_a_loss_per_output_has_the_gradient_of_its_value():
    offsets = np.array([0, 1, 4, 5], dtype=np.int32)
    one_hot = np.eye(3)[[0, 2, 1, 1]]
    values = np.column_stack([[1.0, -2.0, 0.5, 3.0], one_hot, [1.0, 0.0, 4.0, 2.0]])
    targets = losses.LossTargets(values, None, offsets)
    parts = [losses.Huber(), losses.Softmax(), losses.Poisson()]
    loss = losses.LossPerOutput(parts, [2.0, 0.5, 0.1])
    raw = np.random.default_rng(1).normal(size=values.shape)
    gradient = loss.gradient(targets, raw)
    for place in np.ndindex(raw.shape):
        moved = raw.copy()
        moved[place] += 1e-6
        slope = (loss.value(targets, moved) - loss.value(targets, raw)) / 1e-6
        assert slope == pytest.approx(gradient[place], abs=1e-4)
    assert losses.from_json(losses.to_json(loss)).get_params() == loss.get_params()


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("Y", "types", "message"),
    [
        (MIXED, {"prize": "number"}, "target_types names the output 'prize'.*Did you mean"),
        (MIXED, {"price": "numbr"}, "target_types must be one of.*Did you mean 'number'"),
        (MIXED, ["number"], "a kind for each of the 8 outputs"),
        (MIXED, {"price": "count"}, "'price' of y is a count and must hold whole numbers"),
        (MIXED, {"colour": "label"}, "'colour' of y is a label and must hold 0 and 1"),
        (MIXED, {"colour": "number"}, "needs numbers to regress on"),
        (MIXED, {"price": "class"}, "Unknown label type: continuous"),
        (MIXED.assign(price=np.inf), None, "infinity"),
        (MIXED.assign(open=None), {"open": "class"}, "no observed value"),
        (MIXED[:10], None, "inconsistent numbers of samples"),
        (None, None, "requires y"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(Y, types, message):
    with pytest.raises(ValueError, match=message):
        make("TreeMixed").fit(X, Y, target_types=types)


def test_a_sparse_y_is_refused():
    with pytest.raises(TypeError, match="sparse"):
        make("TreeMixed").fit(X, sparse.csr_array(LABELS.to_numpy().astype(int)))


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ({"prize": "huber"}, "loss names the output 'prize'"),
        ({"sold": "huber"}, "'sold' is a label"),
        ({"price": "logistic"}, "'price' is a number"),
        ({"price": losses.Quantile([0.1, 0.9])}, "cannot be combined with others"),
        ("huber", "'colour' is a class"),
        ({"price": "hubber"}, "Did you mean 'huber'"),
    ],
)
def test_losses_that_do_not_fit_are_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        make("BoostingMixed", loss=loss).fit(X, MIXED)


def test_another_y_must_have_the_outputs_of_training():
    model = make("TreeMixed").fit(X, MIXED)
    with pytest.raises(ValueError, match="8 outputs"):
        model.score(X, MIXED[["price"]])
    with pytest.raises(ValueError, match="in their order"):
        model.score(X, MIXED[list(MIXED)[::-1]])
    with pytest.raises(ValueError, match="does not have"):
        make("BoostingMixed").fit(X, MIXED, eval_set=(X, MIXED.assign(open="never")))


def test_an_export_says_what_to_do_instead():
    with pytest.raises(polyleaf.export.CannotExportError, match=r"polyleaf\.save"):
        polyleaf.export.to_onnx(make("TreeMixed").fit(X, MIXED))


def test_importances_are_by_output():
    model = make("RandomForestMixed").fit(X, MIXED)
    found = polyleaf.inspection.permutation_importances(model, X, MIXED, random_state=0)
    assert found.scores.size == MIXED.shape[1]
    assert model.output_importances_.shape == (MIXED.shape[1], 4)
