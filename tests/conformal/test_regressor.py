"""Conformal regressors as estimators: what they take, give, and refuse."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polyleaf import (
    BoostingRegressor,
    ConformalRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
    TreeRegressor,
    losses,
)
from polyleaf.conformal.forecasts import out_of_bag_forecast
from polyleaf.datasets import make_correlated_targets

X, Y = make_correlated_targets(240, n_features=5, n_targets=3, random_state=0)
FOREST = RandomForestRegressor(n_estimators=8, min_samples_leaf=3, random_state=0)
BOOSTING = BoostingRegressor(n_estimators=5, max_depth=2, projection=None, random_state=0)
CASES = [
    (FOREST, method, score)
    for method in ("split", "cross", "oob")
    for score in ("max", "mahalanobis", "local", "quantile")
] + [(BOOSTING, "split", "quantile"), (LinearRegression(), "cross", "max")]


def new(estimator=FOREST, **parameters):
    return ConformalRegressor(estimator, cv=3, random_state=0, **parameters)


@pytest.mark.parametrize(("estimator", "method", "score"), CASES)
def test_shapes_and_nested_levels(estimator, method, score):
    model = new(estimator, method=method, score=score).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    wide, narrow = (model.predict_interval(X[:9], alpha) for alpha in (0.1, 0.5))
    assert wide.shape == (9, 3, 2)
    assert (wide[..., 0] <= narrow[..., 0]).all()
    assert (wide[..., 1] >= narrow[..., 1]).all()
    large, small = (model.predict_region(X[:9], alpha=alpha) for alpha in (0.1, 0.5))
    assert (large.log_volume() > small.log_volume()).all()
    assert large.is_box == (score in ("max", "quantile"))
    assert large.contains(large.center).all()
    assert len(model.estimators_) == (3 if method == "cross" else 1)


@pytest.mark.parametrize(("estimator", "method", "score"), CASES)
def test_known_outputs_shrink_the_region_of_the_others(estimator, method, score):
    model = new(estimator, method=method, score=score).fit(X, Y)
    given = np.column_stack([Y[:20, 0], np.full((20, 2), np.nan)])
    given[15:] = np.nan  # nothing is known of the last rows
    given[0] = Y[0]  # all of the first
    region = model.predict_region(X[:20], given=given)
    plain = model.predict_region(X[:20])
    np.testing.assert_array_equal(region.known, ~np.isnan(given))
    np.testing.assert_array_equal(region.center[region.known], given[region.known])
    assert region.log_volume()[0] == 0.0
    assert region.contains(Y[:20])[0]
    np.testing.assert_allclose(region.log_volume()[15:], plain.log_volume()[15:])
    np.testing.assert_allclose(region.center[15:], plain.center[15:])
    lower, upper = region.bounds()
    widths, before = (upper - lower)[1:15, 1:], np.subtract(*plain.bounds()[::-1])[1:15, 1:]
    assert np.median(widths / before) < 1.0


def test_a_known_output_moves_the_others_by_least_squares():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2000, 1)) + 0.1 * rng.normal(size=(2000, 2))
    rows = rng.normal(size=(2000, 2))
    model = ConformalRegressor(LinearRegression(), score="mahalanobis", cv=2, random_state=0)
    model.fit(rows[:1500], rows[:1500] + noise[:1500])
    truth = rows[1500:] + noise[1500:]
    given = np.column_stack([truth[:, 0], np.full(500, np.nan)])
    region = model.predict_region(rows[1500:], given=given)
    assert np.abs(region.center[:, 1] - truth[:, 1]).mean() < 0.15
    assert 0.86 < region.contains(truth).mean() < 0.94
    # Regions follow the residuals, whatever the known value.
    assert np.exp(region.log_volume()).mean() < 0.7


def test_one_output_is_the_interval():
    model = new(LinearRegression(), score="max").fit(X, Y[:, 0])
    assert model.predict(X).shape == (240,)
    interval, region = model.predict_interval(X[:5]), model.predict_region(X[:5])
    assert interval.shape == (5, 1, 2)
    # The box is measured by the other rows: wider by a factor of the order of 1 / n.
    width = region.upper - region.lower
    np.testing.assert_allclose(width[:, 0], interval[:, 0, 1] - interval[:, 0, 0], rtol=0.1)
    assert region.contains(model.predict(X[:5])).all()


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars"])
def test_frames_and_names(library):
    names = ["height", "width", "weight"]
    columns = [f"x{j}" for j in range(5)]
    frames = {
        "numpy": (X, Y, {"output_names": names}),
        "pandas": (pd.DataFrame(X, columns=columns), pd.DataFrame(Y, columns=names), {}),
        "polars": (pl.DataFrame(X, schema=columns), pl.DataFrame(Y, schema=names), {}),
    }
    features, targets, given = frames[library]
    model = new(method="cross").fit(features, targets, **given)
    assert model.output_names_.tolist() == names
    assert model.predict_region(features[:4]).output_names == tuple(names)
    plain = new(method="cross").fit(X, Y)
    np.testing.assert_array_equal(model.predict_interval(features), plain.predict_interval(X))
    assert str(model.evaluate(features, targets)).count("inside") == 5


def test_prefit_calibrates_on_other_rows_and_leaves_the_model_alone():
    forest = clone(FOREST).fit(X[:100], Y[:100])
    model = ConformalRegressor(forest, method="prefit", score="local").fit(X[100:], Y[100:])
    assert model.estimators_[0] is forest
    assert model.n_calibration_ == 140
    with pytest.raises(ValueError, match="must predict the 2 outputs"):
        model.fit(X, Y[:, :2])


def test_out_of_bag_rows_are_those_that_trees_have_not_seen():
    forest = clone(FOREST).set_params(oob_score=True).fit(X, Y)
    found = out_of_bag_forecast(forest, X, "local", 0.1)
    np.testing.assert_allclose(found.center, forest.oob_prediction_)
    quantiles = out_of_bag_forecast(forest, X, "quantile", 0.2)
    is_seen_by_all = np.isnan(forest.oob_prediction_[:, 0])
    np.testing.assert_array_equal(np.isnan(quantiles.center[:, 0]), is_seen_by_all)
    assert new(method="oob").fit(X, Y).n_calibration_ == (~is_seen_by_all).sum()


def test_local_covariances_are_those_of_the_weighted_training_rows():
    forest = clone(FOREST).fit(X, Y)
    model = ConformalRegressor(forest, method="prefit", score="local").fit(X, Y)
    [found] = model._forecasts(X[:3])
    weights = forest.predict_weights(X[:3]).toarray()
    for i in range(3):
        expected = np.cov(Y.T, aweights=weights[i], ddof=0)
        np.testing.assert_allclose(found.spread[i], np.sqrt(np.diag(expected)))
        size = weights[i].sum() ** 2 / (weights[i] ** 2).sum()
        share = 3 / (3 + size)
        corr = expected / np.outer(found.spread[i], found.spread[i])
        np.testing.assert_allclose(
            found.correlation[i], (1 - share) * corr + share * np.eye(3), atol=1e-9
        )


def test_missing_outputs_are_learnt_around_and_calibrated_on_complete_rows():
    gaps = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    for score in ("max", "mahalanobis", "local", "quantile"):
        for method in ("split", "cross", "oob"):
            model = new(method=method, score=score).fit(X, gaps)
            assert np.isfinite(model.predict_region(X[:5]).log_volume()).all()
            report = model.evaluate(X, gaps)
            assert report.n_rows == (~np.isnan(gaps).any(axis=1)).sum()


def test_too_few_complete_rows_make_boxes_of_single_intervals():
    gaps = Y.copy()
    gaps[np.arange(240), np.arange(240) % 3] = np.nan  # every row misses one output
    model = new().fit(X, gaps)
    region, intervals = model.predict_region(X[:5]), model.predict_interval(X[:5], 0.1 / 3)
    np.testing.assert_allclose(region.lower, intervals[..., 0])
    np.testing.assert_allclose(region.upper, intervals[..., 1])
    with pytest.warns(UserWarning, match=r"need at least 9 calibration rows .* score='max'"):
        region = new(score="local").fit(X, gaps).predict_region(X[:5])
    assert (region.log_volume() == np.inf).all()


def test_too_few_rows_have_no_bounds_and_say_so():
    model = new(LinearRegression()).fit(X[:24], Y[:24])
    with pytest.warns(UserWarning, match=r"at least 99 calibration rows .* there are 8"):
        region = model.predict_region(X[:3], alpha=0.01)
    assert region.contains(1e9 * Y[:3]).all()
    with pytest.warns(UserWarning, match="at least 999999999999 calibration rows"):
        model.predict_region(X[:3], alpha=5e-324)
    fitted = LinearRegression().fit(X[:8], Y[:8])
    few = new(fitted, method="prefit", score="mahalanobis", alpha=0.5).fit(X[8:11], Y[8:11])
    with pytest.warns(UserWarning, match="at least 4 calibration rows"):
        few.predict_region(X[:3])


def test_volumes_are_smaller_than_those_of_bonferroni():
    report = new(method="oob", score="local").fit(X[:200], Y[:200]).evaluate(X[200:], Y[200:])
    assert report.log_volume < report.bonferroni_log_volume
    assert "promised 0.900, 40 rows" in str(report)


def test_score_is_the_parameter_and_the_method():
    model = new(LinearRegression(), score="mahalanobis").fit(X, Y)
    assert model.score == "mahalanobis"
    assert model.get_params()["score"] == "mahalanobis"
    assert type(model.get_params()["score"]) is str
    assert model.score(X, Y) > 0.1
    assert clone(model).set_params(score="max").score == "max"
    assert cross_val_score(model, X, Y, cv=2).shape == (2,)
    assert "score='mahalanobis'" in repr(model)


def test_boosting_learns_quantiles_only_if_it_must():
    model = new(BOOSTING, score="quantile", alpha=0.2).fit(X, Y)
    assert model.estimators_[0].loss.quantile == [0.1, 0.5, 0.9]
    assert model.estimator.loss == BOOSTING.loss
    own = clone(BOOSTING).set_params(loss=losses.Quantile([0.3, 0.7]))
    assert new(own, score="quantile").fit(X, Y).estimators_[0].loss.quantile == [0.3, 0.7]
    assert new(BOOSTING, score="quantile").fit(X, Y[:, 0]).predict(X).shape == (240,)


def test_folds_of_ones_own_and_pipelines():
    pipeline = make_pipeline(StandardScaler(), KNeighborsRegressor(5))
    model = ConformalRegressor(pipeline, method="cross", cv=KFold(4)).fit(X, Y)
    assert len(model.estimators_) == 4
    assert model.output_names_.tolist() == ["y0", "y1", "y2"]
    split = ConformalRegressor(pipeline, cv=KFold(4)).fit(X, Y)
    np.testing.assert_allclose(
        split.predict_region(X[:3]).center, clone(pipeline).fit(X[60:], Y[60:]).predict(X[:3])
    )


def test_the_same_seed_gives_the_same_regions():
    regions = [new(method="cross").fit(X, Y).predict_region(X[:5]) for _ in range(2)]
    np.testing.assert_array_equal(regions[0].lower, regions[1].lower)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "spilt"}, "method must be one of 'split'.*Did you mean 'split'"),
        ({"score": "mahalanobi"}, "Did you mean 'mahalanobis'"),
        ({"score": 3}, "score must be one of"),
        ({"alpha": 1.0}, r"alpha must be a number in \(0, 1\)"),
        ({"alpha": "0.1"}, r"alpha must be a number in \(0, 1\)"),
        ({"cv": 1}, "cv must be an integer >= 2 or an object with split"),
        ({"cv": 300}, "cv=300 needs at least as many rows"),
        ({"estimator": TreeRegressor(), "method": "oob"}, "needs a forest of polyleaf"),
        ({"estimator": ExtraTreesRegressor(), "method": "oob"}, "Set bootstrap=True"),
        ({"estimator": TreeRegressor(), "score": "local"}, "needs a forest of polyleaf"),
        ({"estimator": TreeRegressor(), "score": "quantile"}, "whose predict gives quantiles"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        new().set_params(**parameters).fit(X, Y)


def test_wrong_given_and_alpha_are_named():
    model = new(LinearRegression()).fit(X, Y)
    with pytest.raises(ValueError, match=r"given must have .* \(5, 3\).*got \(5, 2\)"):
        model.predict_region(X[:5], given=Y[:5, :2])
    with pytest.raises(ValueError, match="finite numbers"):
        model.predict_region(X[:5], given=np.full((5, 3), np.inf))
    with pytest.raises(ValueError, match="alpha must be"):
        model.predict_interval(X, alpha=0)
    with pytest.raises(ValueError, match="y must have 3 outputs"):
        model.evaluate(X, Y[:, :2])


def test_a_failed_fit_leaves_the_one_before():
    model = new(LinearRegression()).fit(X, Y)
    before, fitted = model.predict_interval(X), model._fitted
    with pytest.raises(ValueError, match=r"inconsistent|rows"):
        model.fit(X[:5], Y)
    assert model._fitted is fitted
    np.testing.assert_array_equal(model.predict_interval(X), before)
