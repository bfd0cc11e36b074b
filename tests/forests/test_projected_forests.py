"""Forests on views of the outputs: limits, Alg. 1 and 2 of Joly et al. 2014, single targets."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition, random_projection
from tests.core.training_problems import make_training_data, smooth_problem

from polyleaf import (
    BinnedData,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeRegressor,
    projections,
)
from polyleaf.forests.growing import ForestGrower, ForestSettings
from polyleaf.trees.channels import make_context, output_scaling
from polyleaf.trees.growing import TreeSettings

X, Y, RNG = smooth_problem(3, n_rows=150, n_features=5, n_outputs=8)
MASKED_Y = np.where(RNG.random(Y.shape) < 0.2, np.nan, Y)
SPARSE_Y = sparse.csr_array(np.where(Y > 3.0, Y, 0.0))
#: Leaves large enough that no two features divide the rows alike.
NO_TIES = {"min_samples_leaf": 8, "max_bins": None, "random_state": 2}

FULL = {
    "all outputs": projections.Subsample(1.0, first_sees_all=False),
    "hadamard": projections.Hadamard(8),
    "pca": projections.PCA(1.0),
    "identity": projections.Identity(),
    "rotation": decomposition.PCA(n_components=8),
}


def same_trees(one, other):
    ours, theirs = one._forest.structure, other._forest.structure
    return np.array_equal(ours.feature, theirs.feature) and np.allclose(
        ours.threshold, theirs.threshold
    )


@pytest.mark.parametrize("cls", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("scope", ["tree", "forest"])
@pytest.mark.parametrize("view", FULL)
def test_a_view_of_full_size_gives_the_trees_of_no_projection(view, scope, cls):
    parameters = NO_TIES | {"n_estimators": 5, "aggregation": "total"}
    plain = cls(projection=None, **parameters).fit(X, Y)
    projected = cls(projection=FULL[view], projection_scope=scope, **parameters).fit(X, Y)
    assert same_trees(plain, projected)
    np.testing.assert_allclose(plain.predict(X), projected.predict(X))


@pytest.mark.parametrize("view", ["all outputs", "pca", "hadamard", "identity"])
def test_a_view_of_full_size_gives_the_trees_of_no_projection_for_sparse_labels(view):
    labels = sparse.csr_array((np.quantile(Y, 0.8, axis=0) < Y).astype(float))
    parameters = NO_TIES | {"n_estimators": 3}
    plain = RandomForestClassifier(**parameters).fit(X, labels)
    projected = RandomForestClassifier(projection=FULL[view], **parameters).fit(X, labels)
    assert same_trees(plain, projected)


def test_predictions_approach_those_of_no_projection_as_components_grow():
    parameters = NO_TIES | {"n_estimators": 10, "aggregation": "total"}
    plain = RandomForestRegressor(projection=None, **parameters).fit(X, Y).predict(X)
    gaps = []
    for size in (1, 16, 4096):
        forest = RandomForestRegressor(projection=projections.Gaussian(size), **parameters)
        gaps.append(np.mean((forest.fit(X, Y).predict(X) - plain) ** 2))
    assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]


# Section 3.3 of Joly et al. 2014 -----------------------------------------------------------------

N_FORESTS, N_TREES = 60, 16


def tree_predictions(scope):
    """Predictions of every tree of many forests, (n_forests, n_trees, n_points, n_outputs)."""
    data, queries = BinnedData(X), X[::5]
    predictions = []
    for seed in range(N_FORESTS):
        forest = RandomForestRegressor(
            n_estimators=N_TREES,
            projection=projections.Gaussian(1),
            projection_scope=scope,
            aggregation="total",
            max_depth=4,
            max_features=None,  # little chance beside that of the projection
            random_state=seed,
        ).fit(data, Y)
        leaves = forest._leaves_of(queries)
        predictions.append(
            [
                forest._forest.predict_leaves(leaves[:, t : t + 1], trees=slice(t, t + 1))
                for t in range(N_TREES)
            ]
        )
    return np.array(predictions)


def variance(values, axis):
    """Unbiased, summed over outputs and averaged over everything else."""
    return values.var(axis=axis, ddof=1).sum(axis=-1).mean()


@pytest.fixture(scope="module")
def by_scope():
    return {scope: tree_predictions(scope) for scope in ("forest", "tree")}


def test_trees_of_both_algorithms_have_the_same_mean_and_variance(by_scope):
    shared, separate = by_scope["forest"], by_scope["tree"]
    spread = variance(separate[:, 0], 0)
    difference = shared.mean(axis=(0, 1)) - separate.mean(axis=(0, 1))
    # Means over draws of 60 projections: within a few hundredths of the variance of one tree.
    assert (difference**2).sum(axis=-1).mean() < 0.1 * spread
    assert variance(shared[:, 0], 0) == pytest.approx(spread, rel=0.25)


def test_with_one_projection_per_tree_the_variance_falls_with_the_number_of_trees(by_scope):
    separate = by_scope["tree"]
    of_one = variance(separate.reshape(-1, *separate.shape[2:]), 0)
    for size in (2, 4, 8, 16):
        of_many = variance(separate[:, :size].mean(axis=1), 0)
        assert of_many == pytest.approx(of_one / size, rel=0.15), size


def test_with_a_shared_projection_the_variance_stays_above_that_of_the_projection(by_scope):
    shared, separate = by_scope["forest"], by_scope["tree"]
    of_algorithm = variance(shared, 1)  # between trees that share their projection
    # From the other algorithm, where trees differ in both: V_Algo + V_Proj.
    of_both = variance(separate, 1)
    of_projection = of_both - of_algorithm
    assert of_projection > 0.2 * of_both
    for size in (1, 2, 4, 8, 16):
        of_many = variance(shared[:, :size].mean(axis=1), 0)
        expected = of_algorithm / size + of_projection
        assert of_many == pytest.approx(expected, rel=0.15), size
    assert variance(shared.mean(axis=1), 0) > 3 * variance(separate.mean(axis=1), 0)


# Single targets --------------------------------------------------------------------------------


def grow_single_target(forest, y, t):
    """Tree t of a forest on one target alone, from the same seed."""
    settings = ForestSettings(
        tree=TreeSettings(min_samples_leaf=8, max_features=2, exact=True, normalize_outputs=True),
    )
    grower = ForestGrower(make_training_data(X, y), settings, forest._fitted.entropy)
    (member,) = grower.grow(range(t, t + 1), 1)
    return member.forest


@pytest.mark.parametrize("constant", [False, True])
def test_round_robin_equals_forests_of_one_target_each(constant):
    targets = Y[:, :4].copy()
    if constant:
        targets[:, 1] = 2.5
    varying = [0, 2, 3] if constant else [0, 1, 2, 3]
    forest = RandomForestRegressor(
        n_estimators=3, projection="round_robin", max_features=2, **NO_TIES
    ).fit(X, targets)
    assert len(forest.estimators_) == 3 * len(varying)
    predicted = forest.predict(X)
    for place, j in enumerate(varying):
        numbers = range(place, 3 * len(varying), len(varying))
        alone = [grow_single_target(forest, targets[:, j], t) for t in numbers]
        for t, single in zip(numbers, alone):
            ours = forest._forest.structure.tree(t)
            assert np.array_equal(ours.feature, single.structure.feature)
            assert np.allclose(ours.threshold, single.structure.threshold)
        expected = np.mean([single.predict(X)[:, 0] for single in alone], axis=0)
        np.testing.assert_allclose(predicted[:, j], expected)
    if constant:
        np.testing.assert_allclose(predicted[:, 1], 2.5)


@pytest.mark.parametrize("targets", [Y, MASKED_Y, SPARSE_Y], ids=["dense", "masked", "sparse"])
def test_a_tree_of_round_robin_counts_for_its_output_alone(targets):
    forest = RandomForestRegressor(n_estimators=2, projection="round_robin", random_state=0)
    weights = forest.fit(X, targets)._forest.tree_weights
    assert np.array_equal(weights > 0, np.tile(np.eye(8, dtype=bool), (2, 1)))


# Transformers of scikit-learn --------------------------------------------------------------------


def test_a_transformer_shows_the_tree_its_components():
    transformer = decomposition.TruncatedSVD(n_components=3, random_state=0)
    forest = RandomForestRegressor(
        n_estimators=1, bootstrap=False, max_features=None, projection=transformer, **NO_TIES
    ).fit(X, Y)
    shown = transformer.fit_transform((Y - Y.mean(axis=0)) / Y.std(axis=0))
    tree = TreeRegressor(normalize_outputs=False, min_samples_leaf=8, max_bins=None).fit(X, shown)
    assert np.array_equal(forest.apply(X)[:, 0], tree.apply(X))


@pytest.mark.parametrize(
    "transformer",
    [
        random_projection.GaussianRandomProjection(n_components=2),
        random_projection.SparseRandomProjection(n_components=2, dense_output=False),
        decomposition.TruncatedSVD(n_components=2),
        decomposition.NMF(n_components=2, max_iter=1000),
    ],
    ids=lambda transformer: type(transformer).__name__,
)
def test_transformers_take_sparse_outputs_and_are_seeded_by_the_forest(transformer):
    def fit(n_jobs):
        forest = RandomForestRegressor(
            n_estimators=3, projection=transformer, random_state=0, n_jobs=n_jobs
        )
        return forest.fit(X, SPARSE_Y)

    one, two = fit(1), fit(2)
    assert abs(one.predict(X) - two.predict(X)).max() == 0
    if transformer.__module__.startswith("sklearn.random"):
        features = [tree._trees.structure.feature[:5].tolist() for tree in one.estimators_]
        assert len(set(map(tuple, features))) > 1  # another view for every tree
    assert not hasattr(transformer, "components_")  # a clone was fitted


@pytest.mark.parametrize("given", [decomposition.PCA, "pcaa", 3, object()])
def test_what_is_no_view_is_refused(given):
    with pytest.raises((TypeError, ValueError), match="projection must be"):
        RandomForestRegressor(n_estimators=1, projection=given).fit(X, Y)


# A view per split --------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [Y, MASKED_Y, SPARSE_Y], ids=["dense", "masked", "sparse"])
def test_all_outputs_at_every_split_give_the_tree_of_all_outputs(targets):
    parameters = NO_TIES | {"n_estimators": 4, "max_features": None, "projection": "identity"}
    by_tree = RandomForestRegressor(projection_scope="tree", **parameters).fit(X, targets)
    by_node = RandomForestRegressor(projection_scope="node", **parameters).fit(X, targets)
    assert same_trees(by_tree, by_node)


def best_split(shown):
    """Feature and threshold that leave the least sum of squares, by trying all of them."""
    best = (np.inf, -1, np.nan)
    for feature in range(X.shape[1]):
        rows = shown["rows"][np.argsort(X[shown["rows"], feature], kind="stable")]
        values = shown["values"][rows]
        for n_left in range(8, rows.size - 7):
            left, right = values[:n_left], values[n_left:]
            rest = ((left - left.mean(axis=0)) ** 2).sum() + (
                (right - right.mean(axis=0)) ** 2
            ).sum()
            threshold = X[rows[n_left - 1 : n_left + 1], feature].mean()
            best = min(best, (rest, feature, threshold))
    return best[1:]


def test_every_split_is_the_best_on_the_view_drawn_for_it():
    projection = projections.Gaussian(2)
    forest = RandomForestRegressor(
        n_estimators=1,
        bootstrap=False,
        max_features=None,
        max_depth=3,
        projection=projection,
        projection_scope="node",
        **NO_TIES,
    ).fit(X, Y)
    data = make_training_data(X, Y)
    scaling = output_scaling(data, normalize=True)
    rng = np.random.default_rng([*forest._fitted.entropy, 0])
    rng.integers(2**63)  # the seed of the tree
    context = make_context(data, scaling, rng)
    structure = forest._forest.structure
    waiting, node = [np.arange(150)], 0
    while waiting:
        rows = waiting.pop()
        if structure.depth[node] < 3 and rows.size >= 2:
            view = projection.draw(context.at_round(node, rng))
            rng.integers(2**63)  # the seed of the split
            if structure.feature[node] >= 0:
                shown = {"rows": rows, "values": np.asarray(context.values) @ view.matrix}
                feature, threshold = best_split(shown)
                assert feature == structure.feature[node]
                assert threshold == pytest.approx(structure.threshold[node])
                is_left = X[rows, feature] <= threshold
                waiting += [rows[~is_left], rows[is_left]]
        node += 1
    assert node == structure.n_nodes > 10
