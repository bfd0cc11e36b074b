"""Going on with a boosted model, and fits that do not come to their end."""

import _thread
import signal
import threading

import numpy as np
import pytest
from boosting_problems import LABELS, ONE, X, Y
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import polyleaf
from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.losses import Quantile


def regressor(**parameters):
    given = {"n_estimators": 8, "max_depth": 3, "random_state": 0, "warm_start": True}
    return BoostingRegressor(**(given | parameters))


@pytest.mark.parametrize(
    "parameters",
    [
        {"projection": None},
        {"projection": "auto"},
        {"projection": "round_robin"},
        {"projection": "gaussian"},
        {"projection": ONE, "leaf_fit": "linear"},
        {"projection": None, "loss": "huber"},
        {"projection": None, "loss": Quantile([0.3, 0.6])},
        {"estimator": Ridge()},
    ],
    ids=str,
)
def test_a_warm_start_goes_on_where_it_stopped(parameters):
    whole = regressor(**parameters, n_estimators=20).fit(X, Y)
    part = regressor(**parameters).fit(X, Y).set_params(n_estimators=20).fit(X, Y)
    assert part.n_estimators_ == 20
    assert len(part.history_["train_loss"]) == 20
    if parameters.get("projection") != "auto":  # Adaptive forgets what earlier rounds brought
        np.testing.assert_allclose(part.predict(X), whole.predict(X), rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(
            part.history_["train_loss"], whole.history_["train_loss"], rtol=1e-4
        )
    with pytest.raises(ValueError, match="at least 20"):
        part.set_params(n_estimators=10).fit(X, Y)


@pytest.mark.parametrize("projection", [None, "round_robin", ONE])
def test_old_trees_keep_their_units(projection):
    model = regressor(projection=projection).fit(X, Y)
    before = model.predict(X)
    model.fit(X, 100 * Y + 500)  # no new round
    np.testing.assert_array_equal(model.predict(X), before)
    model.set_params(n_estimators=60, learning_rate=0.5).fit(X, 100 * Y + 500)
    assert np.abs(model.predict(X) - (100 * Y + 500)).mean() < 60
    stages = list(model.staged_predict(X))
    np.testing.assert_allclose(stages[7], before, rtol=1e-4, atol=1e-4)


def test_early_stopping_may_be_switched_on_later():
    model = regressor(projection=None).fit(X, Y)
    before = model.predict(X)
    model.set_params(early_stopping=True).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_units_that_new_targets_burst_are_refused():
    model = regressor(projection=None).fit(X, Y)
    with pytest.raises(ValueError, match="standard deviations"):
        model.set_params(n_estimators=9).fit(X, 1e20 * Y)


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        ({}, {"loss": "huber"}, "loss was SquaredError"),
        ({}, {"normalize_outputs": False}, "normalize_outputs was True"),
        ({"projection": None}, {"projection": projections.Gaussian(2)}, "projection was None"),
        ({"projection": None}, {"projection": "round_robin"}, "projection was None"),
        ({"projection": ONE}, {"leaf_fit": "linear"}, "leaf_fit was 'relabel'"),
        ({"projection": ONE, "leaf_fit": "linear"}, {"leaf_fit": "relabel"}, "leaf_fit was"),
        ({"loss": Quantile([0.1, 0.9])}, {"loss": Quantile([0.1, 0.5, 0.9])}, "loss was"),
        ({"projection": None}, {"estimator": Ridge()}, "estimator was None"),
        ({"estimator": Ridge()}, {"estimator": None}, "estimator was a regressor"),
    ],
)
def test_another_kind_of_rounds_is_refused(before, after, match):
    model = regressor(**before).fit(X, Y)
    predicted = model.predict(X)
    model.set_params(n_estimators=12, **after)
    with pytest.raises(ValueError, match=match):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), predicted)


def test_the_same_parameters_in_other_containers_go_on():
    model = regressor(loss=Quantile((0.1, 0.9)), projection=None).fit(X, Y)
    for n_estimators, quantiles in enumerate(([0.1, 0.9], np.array([0.1, 0.9])), start=9):
        model.set_params(loss=Quantile(quantiles), n_estimators=n_estimators).fit(X, Y)
        assert model.n_estimators_ == n_estimators
    with pytest.raises(ValueError, match="loss was"):
        model.set_params(loss=Quantile(np.array([0.1, 0.8]))).fit(X, Y)


def test_other_columns_are_refused():
    model = regressor().fit(X, Y)
    for features, targets in ((X[:, :5], Y), (X, Y[:, :4])):
        with pytest.raises(ValueError, match="got others"):
            model.fit(features, targets)


def test_what_is_learnt_perfectly_goes_on_having_a_tree_per_round(tmp_path):
    rng = np.random.default_rng(0)
    targets = np.column_stack([X[:, 0] > 0, X[:, 1] + 0.3 * rng.normal(size=260), X[:, 2]])
    model = regressor(
        projection="round_robin", learning_rate=1.0, l2_regularization=0.0, n_estimators=5
    ).fit(X, targets)
    model.set_params(n_estimators=10).fit(X, targets)
    assert model._fitted.model.n_trees == 30
    assert model.n_estimators_ == len(model.history_["train_loss"]) == 10
    assert len(list(model.staged_predict(X))) == 10
    polyleaf.save(model, tmp_path / "model")
    assert polyleaf.load(tmp_path / "model").n_estimators_ == 10


def test_other_constant_outputs_are_refused_one_at_a_time():
    model = regressor(projection="round_robin").fit(X, Y)
    constant = Y.copy()
    constant[:, 2] = 1.0
    with pytest.raises(ValueError, match="in this y 4 vary"):
        model.set_params(n_estimators=9).fit(X, constant)


def test_rounds_that_make_it_worse_are_dropped_and_so_is_their_history():
    noise = np.random.default_rng(0).normal(size=(260, 3))
    heard = []
    model = regressor(
        projection=None,
        n_estimators=40,
        early_stopping=True,
        n_iter_no_change=5,
        learning_rate=0.5,
    ).fit(X, noise)
    kept, predicted = model.n_estimators_, model.predict(X)
    for _ in range(3):
        heard.clear()
        model.fit(X, noise, callbacks=lambda progress: heard.append(progress.n_estimators))
        assert model.n_estimators_ == kept
        np.testing.assert_array_equal(model.predict(X), predicted)
        assert heard == list(range(kept + 1, kept + 6))
        for values in model.history_.values():
            assert len(values) == kept + 5


def test_curves_line_up_where_one_fit_had_no_validation_rows():
    model = regressor(n_estimators=4).fit(X, Y)
    model.set_params(n_estimators=7).fit(X, Y, eval_set=(X, Y))
    model.set_params(n_estimators=9).fit(X, Y)
    assert len(model.history_["train_loss"]) == 9
    measured = np.isfinite(model.history_["validation_loss"])
    np.testing.assert_array_equal(np.flatnonzero(measured), [4, 5, 6])


def test_a_loaded_model_goes_on(tmp_path):
    model = regressor(projection="gaussian").fit(X, Y)
    polyleaf.save(model, tmp_path / "model")
    loaded = polyleaf.load(tmp_path / "model")
    for each in (model, loaded):
        each.set_params(n_estimators=12).fit(X, Y)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="normalize_outputs was True"):
        loaded.set_params(normalize_outputs=False).fit(X, Y)


class TroubleError(Exception):
    """What a callback may raise."""


def _raise(progress):
    raise TroubleError


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("cls", [BoostingRegressor, BoostingClassifier])
def test_a_fit_that_fails_leaves_the_model_as_it_was(cls, warm_start):
    targets = Y if cls is BoostingRegressor else LABELS
    model = cls(n_estimators=5, random_state=0, warm_start=warm_start).fit(X, targets)
    model.set_params(n_estimators=9)
    before, predicted = dict(vars(model)), model.predict(X)
    for features, others in ((X, 1 - targets), (X[:, :3], targets[:, :2])):
        with pytest.raises((TroubleError, ValueError)):
            model.fit(features, others, callbacks=[_raise])
    np.testing.assert_array_equal(model.predict(X), predicted)
    assert vars(model) == before


#: What a fit passes through, from reading to the last thing it does.
STEPS = {
    "parameters": "polyleaf.estimator.base.check_parameters",
    "reading": "polyleaf.data.training.read_features",
    "checks": "polyleaf.boosting.base.check_combinations",
    "validation rows": "polyleaf.boosting.base.set_aside",
    "race": "polyleaf.boosting.base.choose_projection",
    "baseline": "polyleaf.losses.SquaredError.baseline",
    "tree": "polyleaf.boosting.booster.grow_splits",
    "leaves": "polyleaf.boosting.leaves.LeafFitter.fit",
    "history": "polyleaf.boosting.base.joined_history",
    "joining": "polyleaf.boosting.booster.join_structures",
}


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_an_interrupt_at_any_step_leaves_the_model_as_it_was(step, warm_start, monkeypatch):
    model = regressor(warm_start=warm_start, early_stopping=True, n_estimators=5).fit(X, Y)
    model.set_params(n_estimators=9)
    before, predicted, calls = dict(vars(model)), model.predict(X), []

    def interrupted(*_, **__):
        calls.append(step)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(STEPS[step], interrupted)
        if step == "race" and warm_start:  # a model that goes on has its view
            model.fit(X, Y)
            assert not calls
            return
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    assert calls
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(X), predicted)
    model.fit(X, Y)
    assert model.n_estimators_ > 5


def test_a_first_fit_that_fails_leaves_nothing_fitted():
    model = BoostingRegressor(n_estimators=5)
    with pytest.raises(TroubleError):
        model.fit(X, Y, callbacks=_raise)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]


@pytest.fixture
def heeded_interrupts():
    """Let Ctrl-C raise KeyboardInterrupt, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_interrupts")
def test_an_interrupted_fit_leaves_the_model_as_it_was():
    model = BoostingRegressor(n_estimators=5, projection=None, random_state=0).fit(X, Y)
    predicted = model.predict(X)
    model.set_params(n_estimators=1_000_000)

    def interrupt(progress):
        if progress.n_estimators == 3:
            threading.Timer(0.05, _thread.interrupt_main).start()

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, 100 * Y + 500, callbacks=interrupt)
    np.testing.assert_array_equal(model.predict(X), predicted)
