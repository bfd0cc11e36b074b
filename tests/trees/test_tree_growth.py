"""Weights, random cuts, drawn features, pruning, seeds and threads."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import r2_score

from polyleaf import TreeClassifier, TreeRegressor


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    Y = np.sin(2 * X[:, :3]) + 0.2 * rng.normal(size=(400, 3))
    return X, Y


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sparse_x", [False, True])
def test_rows_of_zero_weight_might_as_well_be_removed(problem, masked, sparse_x):
    X, Y = problem
    rng = np.random.default_rng(1)
    if masked:
        Y = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    weights = rng.integers(0, 2, len(X)).astype(float)
    kept = weights > 0
    given = sparse.csr_array(np.where(X > 0, X, 0.0)) if sparse_x else X
    settings = {"max_bins": None, "random_state": 0}
    weighted = TreeRegressor(**settings).fit(given, Y, weights)
    removed = TreeRegressor(**settings).fit(given[kept], Y[kept])
    np.testing.assert_allclose(weighted.predict(given), removed.predict(given), rtol=1e-12)
    assert weighted.get_n_leaves() == removed.get_n_leaves()


@pytest.mark.parametrize("masked", [False, True])
def test_integer_weights_equal_repetition(problem, masked):
    X, Y = problem
    rng = np.random.default_rng(2)
    if masked:
        Y = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    times = rng.integers(1, 4, len(X))
    settings = {"max_bins": None, "max_depth": 5, "random_state": 0}
    weighted = TreeRegressor(**settings).fit(X, Y, times)
    repeated = TreeRegressor(**settings).fit(np.repeat(X, times, 0), np.repeat(Y, times, 0))
    assert weighted.get_n_leaves() == repeated.get_n_leaves() > 20
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12)


def test_weights_of_entries_equal_masks_where_they_are_zero(problem):
    X, Y = problem
    weights = (np.random.default_rng(3).random(Y.shape) < 0.7).astype(float)
    settings = {"max_bins": None, "random_state": 0}
    weighted = TreeRegressor(**settings).fit(X, Y, weights)
    masked = TreeRegressor(**settings).fit(X, np.where(weights > 0, Y, np.nan))
    np.testing.assert_allclose(weighted.predict(X), masked.predict(X), rtol=1e-12)


def test_balanced_classes_count_alike():
    X = np.repeat([[0.0], [1.0]], [90, 10], axis=0)
    y = np.repeat([0, 1], [95, 5])  # half of the second group
    plain = TreeClassifier().fit(X, y)
    balanced = TreeClassifier(class_weight="balanced").fit(X, y)
    by_dict = TreeClassifier(class_weight={0: 100 / 190, 1: 10.0}).fit(X, y)
    assert plain.predict_proba([[1.0]])[0, 1] == 0.5
    assert balanced.predict_proba([[1.0]])[0, 1] == pytest.approx(0.95)
    assert by_dict.predict_proba([[1.0]])[0, 1] == pytest.approx(0.95)


def test_random_cuts_lie_between_the_values_of_their_node(problem):
    X, Y = problem
    tree = TreeRegressor(splitter="random", max_depth=6, random_state=0).fit(X, Y)
    structure = tree._trees.structure
    reached = tree.decision_path(X).toarray().astype(bool)
    best = TreeRegressor(max_depth=6, random_state=0).fit(X, Y)
    assert not np.array_equal(tree.apply(X), best.apply(X))
    for node in np.flatnonzero(~structure.is_leaf):
        values = X[reached[:, node], structure.feature[node]]
        assert values.min() <= structure.threshold[node] < values.max()


def test_extra_trees_learn_and_differ_by_seed(problem):
    X, Y = problem
    trees = [
        TreeRegressor(splitter="random", min_samples_leaf=5, random_state=seed).fit(
            X[:300], Y[:300]
        )
        for seed in (0, 0, 1)
    ]
    predictions = [tree.predict(X[300:]) for tree in trees]
    assert np.array_equal(predictions[0], predictions[1])
    assert not np.array_equal(predictions[0], predictions[2])
    assert all(r2_score(Y[300:], predicted) > 0.15 for predicted in predictions)


@pytest.mark.parametrize("max_features", [1, 2, 0.5, "sqrt", "log2", 100])
def test_drawing_features_changes_the_splits_but_not_the_fit(problem, max_features):
    X, Y = problem
    whole = TreeRegressor(random_state=0).fit(X, Y)
    drawn = TreeRegressor(max_features=max_features, random_state=0).fit(X, Y)
    np.testing.assert_allclose(drawn.predict(X), Y)
    same = np.array_equal(whole._trees.structure.feature, drawn._trees.structure.feature)
    assert same == (max_features == 100)


def test_one_drawn_feature_spreads_the_splits_over_useless_ones(problem):
    X, Y = problem
    settings = {"min_samples_leaf": 20, "random_state": 0}
    greedy = TreeRegressor(**settings).fit(X, Y).feature_importances_
    drawn = TreeRegressor(max_features=1, **settings).fit(X, Y).feature_importances_
    assert drawn[3:].sum() > greedy[3:].sum()


@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 17])
def test_best_first_growth_stops_at_the_number_of_leaves(problem, max_leaf_nodes):
    X, Y = problem
    tree = TreeRegressor(max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, Y)
    assert tree.get_n_leaves() == max_leaf_nodes


def test_best_first_without_a_binding_limit_equals_depth_first(problem):
    X, Y = problem
    settings = {"min_samples_leaf": 10, "random_state": 0}
    best_first = TreeRegressor(max_leaf_nodes=1000, **settings).fit(X, Y)
    depth_first = TreeRegressor(**settings).fit(X, Y)
    assert np.array_equal(best_first.predict(X), depth_first.predict(X))


def test_pruning_by_cross_validation_is_deterministic_and_reports_its_level(problem):
    X, Y = problem
    settings = {"pruning": "f_test", "random_state": 0}
    trees = [TreeRegressor(**settings).fit(X, Y) for _ in range(2)]
    assert trees[0].pruning_level_ == trees[1].pruning_level_
    assert trees[0].pruning_level_ in (0.001, 0.005, 0.01, 0.05, 0.1, 1.0)
    assert np.array_equal(trees[0].predict(X), trees[1].predict(X))
    full = TreeRegressor(random_state=0).fit(X, Y)
    assert 2 < trees[0].get_n_leaves() < full.get_n_leaves()


def test_pruning_noise_leaves_almost_nothing():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 5)), rng.normal(size=(300, 2))
    pruned = TreeRegressor(pruning="f_test", random_state=0).fit(X, Y)
    full = TreeRegressor(random_state=0).fit(X, Y)
    assert pruned.pruning_level_ == 0.001
    assert pruned.get_n_leaves() < full.get_n_leaves() / 5


@pytest.mark.parametrize("level", [0.001, 0.05, 1.0])
def test_a_given_level_prunes_the_full_tree(problem, level):
    X, Y = problem
    pruned = TreeRegressor(pruning="f_test", pruning_level=level, random_state=0).fit(X, Y)
    full = TreeRegressor(random_state=0).fit(X, Y)
    assert pruned.pruning_level_ == level
    assert (pruned.get_n_leaves() == full.get_n_leaves()) == (level == 1.0)
    # Rows that share a leaf of the full tree share one of the pruned tree.
    for leaf in np.unique(full.apply(X)):
        assert len(set(pruned.apply(X)[full.apply(X) == leaf])) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_bins": None},
        {"splitter": "random", "max_features": 0.5},
        {"projection": "gaussian"},
        {"max_leaf_nodes": 40},
        {"pruning": "f_test"},
    ],
)
@pytest.mark.parametrize("kind", ["dense", "masked", "sparse"])
def test_the_number_of_threads_does_not_change_the_tree(settings, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 8))
    Y = np.sin(2 * X[:, :4]) + 0.5 * rng.normal(size=(5000, 4))
    if kind == "masked":
        Y[rng.random(Y.shape) < 0.1] = np.nan
    if kind == "sparse":
        Y = sparse.csr_array(np.where(Y > 1, Y, 0.0))
    trees = [
        TreeRegressor(min_samples_leaf=20, n_jobs=n_jobs, random_state=0, **settings).fit(X, Y)
        for n_jobs in (1, 2, 3)
    ]
    first = trees[0]._trees.to_arrays()
    for tree in trees[1:]:
        for name, array in tree._trees.to_arrays().items():
            assert np.array_equal(array, first[name], equal_nan=True), name


def test_an_absurd_number_of_threads_is_cut(problem):
    X, Y = problem
    tree = TreeRegressor(max_depth=2, n_jobs=10**6, random_state=0).fit(X[:20], Y[:20])
    assert tree._n_threads() == 1024
    assert TreeRegressor(n_jobs=-1)._n_threads() >= 1
