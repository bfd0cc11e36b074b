"""The error in parts: known variances are found; forests have the error that they predict."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from polyleaf import RandomForestRegressor, TreeClassifier, TreeRegressor, projections
from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import bias_variance
from polyleaf.experiments._variance import _divided

X, Y = make_correlated_targets(300, 4, 6, random_state=0)
PARTS = X[:150], Y[:150], X[150:], Y[150:]


def test_known_variances_are_found():
    rng = np.random.default_rng(0)
    shape = (60, 20, 20, 40, 3)
    samples = 3.0 * rng.normal(size=(60, 1, 1, 40, 3))
    views = 2.0 * rng.normal(size=(60, 20, 1, 40, 3))
    found = 1.0 + samples + views + rng.normal(size=shape)
    parts = _divided(found, np.zeros((40, 3)))
    assert parts.variance_sample == pytest.approx(3 * 9.0, rel=0.1)
    assert parts.variance_projection == pytest.approx(3 * 4.0, rel=0.1)
    assert parts.variance_algorithm == pytest.approx(3 * 1.0, rel=0.1)
    assert parts.bias_and_noise == pytest.approx(3 * 1.0, abs=1.0)


def test_without_a_projection_its_variance_is_0():
    parts = bias_variance(TreeRegressor(max_features=1), *PARTS, n_samples=3, random_state=0)
    assert parts.variance_projection == 0.0
    assert parts.variance_algorithm > 0.0


def test_without_other_chance_all_of_it_is_the_projection():
    tree = TreeRegressor(projection=projections.Gaussian(1), max_depth=2)
    parts = bias_variance(tree, *PARTS, n_samples=3, random_state=0)
    assert abs(parts.variance_algorithm) < 1e-12
    assert parts.variance_projection > 0.0


def test_forests_have_the_error_that_the_parts_of_a_tree_predict():
    settings = {"projection": projections.Gaussian(1), "max_features": 2, "n_jobs": 1}
    tree = RandomForestRegressor(n_estimators=1, **settings)
    parts = bias_variance(tree, *PARTS, n_samples=8, n_projections=6, n_repeats=4, random_state=0)
    for scope in ("tree", "forest"):
        forest = RandomForestRegressor(n_estimators=20, projection_scope=scope, **settings)
        rng = np.random.default_rng(1)
        errors = []
        for seed in range(12):
            rows = rng.permutation(150)[:75]
            forest.set_params(random_state=seed).fit(X[:150][rows], Y[:150][rows])
            errors.append(((forest.predict(X[150:]) - Y[150:]) ** 2).sum(axis=1).mean())
        assert np.mean(errors) == pytest.approx(
            parts.of_ensemble(20, projection_scope=scope), rel=0.15
        )


def test_probabilities_of_labels_and_of_one_label():
    labels = (Y > 0).astype(int)
    tree = TreeClassifier(projection="gaussian", max_features=2)
    parts = bias_variance(tree, X[:150], labels[:150], X[150:], labels[150:], n_samples=2)
    assert parts.error == pytest.approx(
        parts.bias_and_noise
        + parts.variance_sample
        + parts.variance_projection
        + parts.variance_algorithm
    )
    one = bias_variance(TreeClassifier(), X[:150], labels[:150, :1], X[150:], labels[150:, :1])
    assert 0.0 < one.error < 1.0


class _WithoutSeed(BaseEstimator):
    pass


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_samples": 1}, "n_samples"),
        ({"n_projections": 1}, "n_projections"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"train_size": 2.0}, "train_size"),
    ],
)
def test_wrong_values_are_named(changed, message):
    with pytest.raises(ValueError, match=message):
        bias_variance(TreeRegressor(), *PARTS, **changed)


def test_what_cannot_be_drawn_again_is_refused():
    with pytest.raises(TypeError, match="random_state"):
        bias_variance(_WithoutSeed(), *PARTS)
    with pytest.raises(ValueError, match="auto"):
        bias_variance(RandomForestRegressor(projection="auto"), *PARTS)
    with pytest.raises(ValueError, match="y_test"):
        bias_variance(TreeRegressor(), X, Y, X, Y[:, :2])
