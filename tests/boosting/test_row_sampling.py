"""Rows drawn by the size of their gradients (GOSS)."""

from __future__ import annotations

import numpy as np
import pytest
from boosting_problems import X_TEST, X_TRAIN, Y_TEST, Y_TRAIN, regressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from polyleaf import BoostingClassifier
from polyleaf.trees.shards import Shard, draw_by_size

SIZES = np.random.default_rng(0).gamma(0.5, size=20_000).astype(np.float32)


def test_the_largest_are_drawn_and_the_others_count_for_all() -> None:
    is_drawn, is_other, factor = draw_by_size(3, Shard.alone(SIZES.size), SIZES, 0.3)
    assert abs(is_drawn.mean() - 0.3) < 0.01
    is_largest = is_drawn & ~is_other
    assert SIZES[is_largest].min() > SIZES[~is_largest].max()
    assert 0.19 < is_largest.mean() <= 0.2
    weights = is_drawn * np.where(is_other, factor, 1.0)
    assert weights.sum() == pytest.approx(SIZES.size, rel=0.03)
    assert (weights * SIZES).sum() == pytest.approx(SIZES.sum(), rel=0.03)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_equal_sizes_are_drawn_at_random(share: float) -> None:
    sizes = np.zeros(5000, np.float32)
    is_drawn, is_other, factor = draw_by_size(3, Shard.alone(5000), sizes, share)
    assert abs(is_drawn.mean() - share) < 0.03
    assert np.array_equal(is_drawn, is_other)
    assert factor == pytest.approx(1.0 / share)


def test_of_very_few_rows_some_are_drawn() -> None:
    for seed in range(20):
        is_drawn, _, _ = draw_by_size(seed, Shard.alone(2), np.ones(2, np.float32), 0.01)
        assert is_drawn.any()


def test_a_sample_by_gradient_predicts_about_as_well_as_all_rows() -> None:
    whole = regressor(n_estimators=60).fit(X_TRAIN, Y_TRAIN)
    drawn = regressor(n_estimators=60, subsample=0.4, row_sampling="gradient")
    drawn.fit(X_TRAIN, Y_TRAIN)
    uniform = regressor(n_estimators=60, subsample=0.4).fit(X_TRAIN, Y_TRAIN)
    assert not np.array_equal(uniform.predict(X_TEST), drawn.predict(X_TEST))
    assert drawn.score(X_TEST, Y_TEST) > whole.score(X_TEST, Y_TEST) - 0.1


def test_without_a_sample_nothing_is_drawn() -> None:
    whole = regressor(n_estimators=5).fit(X_TRAIN, Y_TRAIN)
    same = regressor(n_estimators=5, row_sampling="gradient").fit(X_TRAIN, Y_TRAIN)
    assert np.array_equal(whole.predict(X_TEST), same.predict(X_TEST))


def test_leaves_have_the_means_of_all_rows() -> None:
    model = regressor(
        n_estimators=1,
        learning_rate=1.0,
        l2_regularization=0.0,
        projection=None,
        max_depth=3,
        subsample=0.3,
        row_sampling="gradient",
    ).fit(X_TRAIN, Y_TRAIN)
    predicted = model.predict(X_TRAIN)
    for value in np.unique(predicted[:, 0]):
        rows = predicted[:, 0] == value
        np.testing.assert_allclose(predicted[rows][0], Y_TRAIN[rows].mean(axis=0), rtol=1e-4)


def test_weights_and_missing_targets_are_kept() -> None:
    rng = np.random.default_rng(1)
    labels = (Y_TRAIN > 0).astype(float)
    labels[rng.random(labels.shape) < 0.2] = np.nan
    model = BoostingClassifier(
        n_estimators=10, subsample=0.5, row_sampling="gradient", random_state=0
    ).fit(X_TRAIN, labels, sample_weight=rng.uniform(0.1, 3.0, len(labels)))
    is_seen = np.isfinite(labels)
    assert (model.predict(X_TRAIN)[is_seen] == labels[is_seen]).mean() > 0.7


def test_other_estimators_need_weights() -> None:
    settings = {"n_estimators": 3, "subsample": 0.5, "row_sampling": "gradient"}
    assert regressor(**settings, estimator=Ridge()).fit(X_TRAIN, Y_TRAIN).n_estimators == 3
    with pytest.raises(ValueError, match="row_sampling='gradient' needs an estimator that takes"):
        regressor(**settings, estimator=KNeighborsRegressor()).fit(X_TRAIN, Y_TRAIN)
