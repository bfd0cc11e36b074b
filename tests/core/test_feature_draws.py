"""Drawing some of the features at each node."""

import numpy as np
import pytest
from agreement import assert_agrees, assert_identical
from problems import WEIGHTS, make_problem, mixed_problem, numeric_problem

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("random_cuts", [False, True])
def test_every_feature_gets_its_turn(random_cuts):
    problem = numeric_problem(100, n_features=12, seed=1)
    counts = np.zeros(12, dtype=int)
    for seed in range(300):
        settings = {"max_features": 1, "max_depth": 1, "seed": seed, "random_cuts": random_cuts}
        counts[problem.grow(**settings).feature[0]] += 1
    assert counts.min() > 10
    assert counts.max() < 45


@pytest.mark.parametrize("max_features", [1, 4, 9])
@pytest.mark.parametrize("random_cuts", [False, True])
def test_the_same_seed_gives_the_same_tree(random_cuts, max_features):
    problem = mixed_problem(n_channels=3)
    settings = {"max_features": max_features, "random_cuts": random_cuts}
    first = problem.grow(seed=1, **settings)
    assert_identical(first, problem.grow(seed=1, **settings))
    if max_features < 9 or random_cuts:
        other = problem.grow(seed=2, **settings)
        assert first.feature.tobytes() != other.feature.tobytes()


@pytest.mark.parametrize("weights", ["unit", "rows", "masked"])
@pytest.mark.parametrize("max_features", [1, 3, 8])
def test_splits_of_drawn_features_have_the_gains_they_record(max_features, weights):
    problem = mixed_problem(n_channels=5, weights=weights, seed=2)
    settings = {"max_features": max_features, "histogram_min_rows": 50, "seed": 4}
    assert_agrees(problem.grow(**settings), problem, is_best=False, **settings)


@pytest.mark.parametrize("is_rare", [False, True])
@pytest.mark.parametrize("random_cuts", [False, True])
def test_a_node_is_split_whenever_any_feature_can_split_it(random_cuts, is_rare):
    n_rows = 60
    X = np.zeros((n_rows, 201))
    X[:, 100] = np.arange(n_rows) < 8 if is_rare else np.arange(n_rows)
    values = 1.0 * (X[:, 100:101] > 0.5 * X[:, 100].max())
    problem = make_problem(X, values)
    assert (100 in problem.binned.sparse_features) == is_rare
    for seed in range(10):
        tree = problem.grow(max_features=1, seed=seed, random_cuts=random_cuts)
        assert set(tree.feature[tree.feature >= 0].tolist()) == {100}
        # No node is left that the feature could split.
        assert np.all(tree.impurity[tree.feature < 0] < 1e-9)


@pytest.mark.parametrize("l2_regularization", [0.0, 2.0])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("histogram_min_rows", [1, 10**9])
def test_features_drawn_because_the_first_could_not_split_have_the_gains_they_record(
    histogram_min_rows, weights, l2_regularization
):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    X[:, :2] = X[:, :2] > 0  # constant in a node once they have split one above it
    values = X @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(120, 4))
    problem = make_problem(X, values - values.mean(0), weights=weights)
    for seed in range(8):
        settings = {
            "max_features": 1,
            "seed": seed,
            "max_depth": 4,
            "histogram_min_rows": histogram_min_rows,
            "l2_regularization": l2_regularization,
        }
        assert_agrees(problem.grow(**settings), problem, is_best=False, **settings)


def test_a_drawn_feature_is_the_best_of_those_drawn():
    """With p - 1 of p features drawn, the best feature is missed about once in p times."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 5))
    problem = make_problem(X, np.sign(X[:, 2:3]) + 0.1 * rng.normal(size=(150, 1)))
    features = np.array(
        [problem.grow(max_features=4, max_depth=1, seed=seed).feature[0] for seed in range(300)]
    )
    assert 0.7 < np.mean(features == 2) < 0.9


def test_ties_between_features_are_broken_at_random():
    x = np.repeat([0.0, 1.0], 20)
    problem = make_problem(np.column_stack([x] * 4), x[:, None] - 0.5)
    features = [problem.grow(max_depth=1, seed=seed).feature[0] for seed in range(200)]
    counts = np.bincount(features, minlength=4)
    assert counts.min() > 25
