"""What boosting asks of losses, constraints and scorers, and what it says to wrong answers."""

import numpy as np
import pytest
from boosting_problems import LABELS, X_TEST, X_TRAIN, Y_TEST, Y_TRAIN, X, Y, classifier, regressor
from sklearn.metrics import get_scorer, log_loss, roc_auc_score

from polyleaf import projections
from polyleaf.data import BinnedData
from polyleaf.inspection import plot_output_map
from polyleaf.losses import Loss, Quantile


class _Squares(Loss):
    """Squared errors, with an answer to be spoilt."""

    def losses(self, targets, raw):
        return (raw - targets.values) ** 2 / 2

    def gradient(self, targets, raw):
        return raw - targets.values


class _OneColumn(_Squares):
    def gradient(self, targets, raw):
        return super().gradient(targets, raw)[:, :1]


class _Flat(_Squares):
    def losses(self, targets, raw):
        return super().losses(targets, raw).ravel()


class _Nothing(_Squares):
    def gradient(self, targets, raw):
        return None


class _NoNumber(_Squares):
    def gradient(self, targets, raw):
        return np.where(targets.values > 1, np.nan, super().gradient(targets, raw))


class _NoLoss(_Squares):
    def losses(self, targets, raw):
        return np.where(np.abs(raw) > 0.5, np.nan, super().losses(targets, raw))


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (_OneColumn(), r"_OneColumn.gradient must return an array of shape \(260, 5\).*260, 1"),
        (_Flat(), r"_Flat.losses must return an array of shape \(260, 5\).*1300"),
        (_Nothing(), "_Nothing.gradient must return an array .* got NoneType"),
        (_NoNumber(), "_NoNumber.gradient must be finite; it is nan for the target"),
        (_NoLoss(), "train_loss after .* rounds is NaN"),
    ],
)
def test_a_loss_that_answers_wrongly_is_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        regressor(loss=loss, projection=None, learning_rate=0.3).fit(X, Y)


def test_a_loss_need_not_answer_for_what_is_not_observed():
    targets = Y.copy()
    targets[Y > 1] = np.nan
    model = regressor(loss=_NoNumber(), projection=None, n_estimators=3).fit(X, targets)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "squared_error"])
def test_gradient_leaves_keep_constraints_on_rows_they_did_not_see(loss):
    x = np.random.default_rng(0).normal(size=(200, 2))
    y = -x[:, 0] + x[:, 0] * x[:, 1] + 0.5 * np.random.default_rng(4).normal(size=200)
    model = regressor(
        loss=loss,
        leaf_values="gradient",
        monotonic_cst=[1, 0],
        subsample=0.5,
        learning_rate=1.0,
        n_estimators=30,
    ).fit(x, y)
    rising = np.column_stack([np.linspace(-3, 3, 100), np.full(100, -0.7)])
    assert np.diff(model.predict(rising)).min() >= 0


def test_constraints_are_refused_for_several_classes():
    with pytest.raises(ValueError, match="more than two classes"):
        classifier(monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(X, np.digitize(Y[:, 0], [-0.5, 0.5]))


def test_the_area_under_the_curve_of_several_labels_can_be_followed():
    model = classifier(eval_metric="roc_auc").fit(
        X[:200], LABELS[:200], eval_set=(X[200:], LABELS[200:])
    )
    expected = roc_auc_score(LABELS[200:], model.predict_proba(X[200:]))
    assert model.history_["validation_score"][-1] == pytest.approx(expected, abs=1e-6)


def test_validation_rows_may_lack_a_class():
    y = np.where(Y[:, 0] > 0, "a", "b").astype(object)
    y[:2] = "rare"
    given = {"eval_set": (X[100:], y[100:])}
    model = classifier(eval_metric="neg_log_loss").fit(X, y, **given)
    expected = log_loss(y[100:], model.predict_proba(X[100:]), labels=model.classes_)
    assert model.history_["validation_score"][-1] == pytest.approx(-expected, abs=1e-6)
    with pytest.raises(ValueError, match="validation rows have none of 'rare'"):
        classifier(eval_metric="roc_auc_ovr").fit(X, y, **given)


def test_scorers_of_single_outputs_need_all_of_them():
    targets = Y_TEST.copy()
    targets[0, 0] = np.nan
    with pytest.raises(ValueError, match="some validation targets are not observed"):
        regressor(eval_metric="neg_mean_squared_error").fit(
            X_TRAIN, Y_TRAIN, eval_set=(X_TEST, targets)
        )


def test_a_scorer_may_be_given_itself():
    by_name, given = (
        regressor(eval_metric=metric).fit(X_TRAIN, Y_TRAIN, eval_set=(X_TEST, Y_TEST))
        for metric in ("neg_mean_squared_error", get_scorer("neg_mean_squared_error"))
    )
    np.testing.assert_array_equal(
        by_name.history_["validation_score"], given.history_["validation_score"]
    )


def test_a_metric_of_another_task_is_refused_with_one_that_fits():
    with pytest.raises(ValueError, match=r"y is multilabel. Use one of '\w+', '\w+'") as caught:
        classifier(eval_metric="r2", early_stopping=True).fit(X, LABELS)
    named = str(caught.value).split("Use one of '")[1].split("'")[0]
    classifier(eval_metric=named, early_stopping=True, n_estimators=2).fit(X, LABELS)


def test_validation_rows_may_be_binned():
    plain, binned = (
        regressor().fit(read(X_TRAIN), Y_TRAIN, eval_set=(read(X_TEST), Y_TEST))
        for read in (np.asarray, BinnedData)
    )
    np.testing.assert_array_equal(
        plain.history_["validation_loss"], binned.history_["validation_loss"]
    )
    with pytest.raises(ValueError, match="BinnedData of eval_set has other columns"):
        regressor().fit(X_TRAIN, Y_TRAIN, eval_set=(BinnedData(X_TEST[:, :2]), Y_TEST))


def test_validation_targets_must_suit_the_loss():
    counts = np.abs(Y_TRAIN)
    with pytest.raises(ValueError, match="eval_set: "):
        regressor(loss="poisson").fit(X_TRAIN, counts, eval_set=(X_TEST, -np.abs(Y_TEST)))


def test_an_output_without_weight_is_not_known():
    weights = np.ones(Y.shape)
    weights[:, 2] = 0.0
    with pytest.warns(UserWarning, match="without a single observed value: 2"):
        model = regressor().fit(X, Y + 100, sample_weight=weights)
    assert np.isnan(model.predict(X)).all(axis=0).tolist() == [False, False, True, False, False]


def test_new_rounds_do_not_make_up_for_an_output_that_was_never_seen():
    targets = Y.copy()
    targets[:, 1] = np.nan
    with pytest.warns(UserWarning, match="without a single observed value: 1"):
        model = regressor(warm_start=True).fit(X, targets)
    with pytest.raises(ValueError, match="never saw some of the outputs"):
        model.set_params(n_estimators=30).fit(X, Y)


def test_candidates_do_not_choose_by_themselves():
    nested = projections.Adaptive([projections.Gaussian(1), projections.Adaptive()])
    with pytest.raises(ValueError, match="must not choose by themselves"):
        regressor(projection=nested).fit(X, Y)


def test_losses_and_views_with_arrays_can_be_compared():
    assert Quantile(np.array([0.1, 0.9])) == Quantile(np.array([0.1, 0.9]))
    assert Quantile(np.array([0.1, 0.9])) != Quantile(np.array([0.1, 0.8]))


def test_none_is_no_callback():
    assert regressor(n_estimators=2).fit(X, Y, callbacks=None).n_estimators_ == 2


def test_only_boosting_has_an_output_map():
    with pytest.raises(TypeError, match="takes a BoostingRegressor"):
        plot_output_map(object())


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_y_of_numbers_and_labels_is_refused_by_name(make):
    mixed = np.array([[0.5, "a"], [1.5, "b"], [2.5, "a"]], dtype=object)
    with pytest.raises(ValueError, match="BoostingMixed for a y of both kinds"):
        make().fit(X[:3], mixed)
