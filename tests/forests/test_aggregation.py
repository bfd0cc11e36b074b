"""Which trees count for which output: Breskvar et al. 2018, eq. 2; out-of-bag weights; no gaps."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf import (
    BaggedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    projections,
)
from polyleaf.datasets import make_friedman1_targets
from polyleaf.forests.out_of_bag import (
    is_out_of_bag,
    mixture_errors,
    predict_out_of_bag,
    tree_errors,
)
from polyleaf.forests.training import weigh_trees

RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 4))
Y = np.column_stack(
    [X[:, 0], X[:, 1] * X[:, 2], np.sin(X[:, 2]), X[:, 3], X @ RNG.normal(size=4)]
) + 0.2 * RNG.normal(size=(80, 5))
MASKED_Y = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
ROW_WEIGHTS = RNG.random(80) + 0.1
ENTRY_WEIGHTS = RNG.random(Y.shape)
SPARSE_Y = sparse.csr_array(np.where(Y > 0, Y, 0.0))
PROBLEMS = {
    "dense": (Y, None),
    "masked": (MASKED_Y, None),
    "sparse": (SPARSE_Y, None),
    "weighted": (Y, ROW_WEIGHTS),
    "sparse and weighted": (SPARSE_Y, ROW_WEIGHTS),
    "masked and weighted": (MASKED_Y, ENTRY_WEIGHTS),
}
each_problem = pytest.mark.parametrize("problem", PROBLEMS)


def fit(problem="dense", projection=None, aggregation="subspace", **parameters):
    targets, weights = PROBLEMS[problem]
    forest = RandomForestRegressor(
        **{"n_estimators": 12, "random_state": 5} | parameters,
        projection=projections.Subsample(2) if projection is None else projection,
        aggregation=aggregation,
    )
    return forest.fit(X, targets, sample_weight=weights)


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def by_tree(forest, features=X):
    return np.array([dense(tree.predict(features)) for tree in forest.estimators_])


@pytest.mark.parametrize("problem", ["dense", "sparse", "weighted"])
def test_subspace_averaging_is_the_mean_over_the_trees_that_saw_the_output(problem):
    forest = fit(problem)
    assert forest._fitted.seen[0].all()
    assert (forest._fitted.seen[1:].sum(axis=1) == 2).all()
    predicted, alone = dense(forest.predict(X)), by_tree(forest)
    for j in range(5):
        expected = alone[forest._fitted.seen[:, j], :, j].mean(axis=0)
        np.testing.assert_allclose(predicted[:, j], expected, atol=1e-9)


@pytest.mark.parametrize("problem", ["dense", "sparse", "weighted"])
def test_total_averaging_is_the_mean_over_all_trees(problem):
    forest = fit(problem, aggregation="total")
    np.testing.assert_allclose(dense(forest.predict(X)), by_tree(forest).mean(axis=0), atol=1e-9)


def test_an_output_counts_as_seen_where_the_column_of_a_projection_is_not_zero():
    forest = fit(projection=projections.SparseRademacher(1))
    assert 0 < forest._fitted.seen.mean() < 1
    predicted, alone = forest.predict(X), by_tree(forest)
    for j in range(5):
        seen = forest._fitted.seen[:, j] if forest._fitted.seen[:, j].any() else np.ones(12, bool)
        np.testing.assert_allclose(predicted[:, j], alone[seen, :, j].mean(axis=0), atol=1e-9)


def test_the_first_tree_sees_all_outputs_unless_told_otherwise():
    assert fit()._fitted.seen[0].all()
    drawn = fit(projection=projections.Subsample(2, first_sees_all=False))
    assert drawn._fitted.seen[0].sum() == 2


GAPS = {
    "one of many outputs": projections.Subsample(1, first_sees_all=False),
    "one output twice": projections.Subsample(2, replace=True, first_sees_all=False),
    "one sign": projections.SparseRademacher(1),
    "one output at a time": projections.RoundRobin(),
}


@pytest.mark.parametrize("aggregation", ["total", "subspace", "mixed", "oob"])
@pytest.mark.parametrize("gap", GAPS)
def test_every_output_is_covered_by_a_tree(gap, aggregation):
    forest = fit(projection=GAPS[gap], aggregation=aggregation, n_estimators=2)
    predicted = forest.predict(X)
    assert np.isfinite(predicted).all()
    assert (predicted.std(axis=0) > 0).all()
    if forest._forest.tree_weights is not None:
        np.testing.assert_allclose(forest._forest.tree_weights.sum(axis=0), 1.0)


@pytest.mark.parametrize("aggregation", ["total", "subspace", "mixed", "oob"])
@pytest.mark.parametrize("gap", GAPS)
def test_constant_and_empty_outputs_are_covered_too(gap, aggregation):
    targets = Y.copy()
    targets[:, 1] = 7.0
    targets[:, 3] = np.nan
    forest = RandomForestRegressor(
        n_estimators=3, projection=GAPS[gap], aggregation=aggregation, random_state=0
    )
    with pytest.warns(UserWarning, match="without a single observed value: 3"):
        forest.fit(X, targets)
    predicted = forest.predict(X)
    np.testing.assert_allclose(predicted[:, 1], 7.0)
    assert np.isnan(predicted[:, 3]).all()
    assert np.isfinite(predicted[:, [0, 2, 4]]).all()


@pytest.mark.parametrize("gap", GAPS)
def test_constant_labels_are_covered_too(gap):
    labels = np.column_stack([X[:, 0] > 0, np.zeros(80), np.ones(80), X[:, 1] > 0]).astype(int)
    for given in (labels, sparse.csr_array(labels)):
        forest = RandomForestClassifier(
            n_estimators=3, projection=GAPS[gap], aggregation="subspace", random_state=0
        ).fit(X, given)
        probabilities = dense(forest.predict_proba(X))
        np.testing.assert_allclose(probabilities[:, 1:3], np.tile([0.0, 1.0], (80, 1)))


def test_a_tree_without_an_observed_row_of_an_output_does_not_count_for_it():
    targets = Y.copy()
    targets[2:, 4] = np.nan  # two rows: many bootstrap samples have neither
    forest = RandomForestRegressor(
        n_estimators=20, projection=None, aggregation="total", random_state=0
    ).fit(X, targets)
    counts = np.array(list(forest._forest.in_bag_counts()))
    knows = counts[:, :2].sum(axis=1) > 0
    assert 0 < knows.sum() < 20
    weights = forest._forest.tree_weights
    np.testing.assert_allclose(weights[:, 4], knows / knows.sum())
    np.testing.assert_allclose(weights[:, :4], 1 / 20)
    expected = by_tree(forest)[knows, :, 4].mean(axis=0)
    np.testing.assert_allclose(forest.predict(X)[:, 4], expected)


def naive_errors(forest, targets, weights):
    """Mean squared errors out of bag, drawn to the mean of all trees by ten rows."""
    truth = dense(targets)
    by_entry = np.ones(truth.shape)
    if weights is not None:
        by_entry = by_entry * (weights[:, None] if weights.ndim == 1 else weights)
    by_entry = np.where(np.isnan(truth), 0.0, by_entry)
    counts = np.array(list(forest._forest.in_bag_counts()))
    sums, totals = np.zeros((12, 5)), np.zeros((12, 5))
    for t, predicted in enumerate(by_tree(forest)):
        for i in np.flatnonzero(counts[t] == 0):
            for j in range(5):
                if by_entry[i, j] > 0 and np.isfinite(predicted[i, j]):
                    sums[t, j] += by_entry[i, j] * (predicted[i, j] - truth[i, j]) ** 2
                    totals[t, j] += by_entry[i, j]
    average = sums.sum(axis=0) / totals.sum(axis=0)
    prior = 10 * totals.sum(axis=0) / (counts == 0).sum()
    return (sums + prior * average) / (totals + prior)


@each_problem
def test_errors_of_trees_equal_a_loop_over_rows_and_outputs(problem):
    targets, weights = PROBLEMS[problem]
    forest = fit(problem, aggregation="oob")
    errors = tree_errors(forest._forest, forest._encode(X))
    np.testing.assert_allclose(errors, naive_errors(forest, targets, weights), rtol=1e-9)


@each_problem
def test_out_of_bag_weights_are_inverse_errors(problem):
    targets, weights = PROBLEMS[problem]
    forest = fit(problem, aggregation="oob")
    errors = naive_errors(forest, targets, weights)
    expected = np.where(forest._forest.root_weights > 0, 1 / errors, 0.0)
    np.testing.assert_allclose(forest._forest.tree_weights, expected / expected.sum(axis=0))


MIXTURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def naive_mixture_errors(forest, targets, weights):
    """Squared errors out of bag of each mixture, and the weights of trees that it stands for."""
    truth, alone = dense(targets), by_tree(forest)
    by_entry = np.ones(truth.shape)
    if weights is not None:
        by_entry = by_entry * (weights[:, None] if weights.ndim == 1 else weights)
    outside = np.array(list(forest._forest.in_bag_counts())) == 0
    able = forest._forest.root_weights > 0
    seen = able & forest._fitted.seen
    total, subspace = able / able.sum(axis=0), seen / seen.sum(axis=0)
    errors = np.zeros((6, 5))
    for k, share in enumerate(MIXTURES):
        mixed = (1 - share) * total + share * subspace
        for i in range(80):
            for j in range(5):
                knows = outside[:, i]
                told = [each[knows, j].sum() > 0 for each in (total, subspace)]
                if np.isnan(truth[i, j]) or not all(told):
                    continue
                of_trees = mixed[knows, j]
                value = of_trees @ np.nan_to_num(alone[knows, i, j]) / of_trees.sum()
                errors[k, j] += by_entry[i, j] * (value - truth[i, j]) ** 2
    return errors, total, subspace


@pytest.mark.parametrize("problem", ["dense", "masked", "weighted", "masked and weighted"])
def test_mixtures_of_total_and_subspace_averaging_are_chosen_out_of_bag(problem):
    targets, weights = PROBLEMS[problem]
    forest = fit(problem, aggregation="mixed")
    errors, total, subspace = naive_mixture_errors(forest, targets, weights)
    found = mixture_errors(forest._forest, forest._encode(X), total, subspace, MIXTURES)
    np.testing.assert_allclose(found, errors, rtol=1e-9)
    shares = np.array(MIXTURES)[errors.argmin(axis=0)]
    assert shares.min() < shares.max()
    expected = (1 - shares) * total + shares * subspace
    np.testing.assert_allclose(forest._forest.tree_weights, expected, atol=1e-12)


def test_the_mixture_of_sparse_outputs_adds_up():
    forest = fit("sparse and weighted", aggregation="mixed")
    np.testing.assert_allclose(forest._forest.tree_weights.sum(axis=0), 1.0)
    assert np.isfinite(dense(forest.predict(X))).all()


def test_unrelated_targets_are_predicted_by_the_trees_that_saw_them():
    features, targets = make_friedman1_targets(240, 2, structure="ind", random_state=0)
    for cls in (RandomForestRegressor, ExtraTreesRegressor):
        scores = {
            aggregation: cls(aggregation=aggregation, random_state=0)
            .fit(features[:160], targets[:160])
            .score(features[160:], targets[160:])
            for aggregation in ("total", "mixed")
        }
        assert scores["mixed"] > scores["total"] + 0.1


def test_the_classes_of_an_output_have_one_mixture():
    classes = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), np.digitize(X[:, 1], [0, 1])])
    forest = RandomForestClassifier(
        n_estimators=10, projection="subsample", aggregation="mixed", random_state=0
    ).fit(X, classes)
    for chances in forest.predict_proba(X):
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_a_forest_without_bootstrap_samples_mixes_by_a_few_trees_that_have_them():
    one, two = (
        ExtraTreesRegressor(n_estimators=30, random_state=0, n_jobs=n_jobs).fit(X, Y)
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.predict(X), two.predict(X))
    plain = ExtraTreesRegressor(n_estimators=30, random_state=0, aggregation="total").fit(X, Y)
    assert np.array_equal(plain._forest.leaf_rows, one._forest.leaf_rows)  # the same trees
    assert one._forest.tree_weights is not None


def test_a_tree_without_any_error_gets_a_large_weight_but_not_all():
    labels = np.column_stack([X[:, 0] > 0, RNG.random(80) < 0.02]).astype(int)
    forest = RandomForestClassifier(n_estimators=5, aggregation="oob", random_state=0)
    weights = forest.fit(X, labels)._forest.tree_weights
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)


def test_trees_without_a_row_out_of_bag_count_alike():
    one_row = RandomForestRegressor(n_estimators=3, aggregation="oob").fit([[1.0]], [[2.0, 3.0]])
    np.testing.assert_allclose(one_row._forest.tree_weights, 1 / 3)
    assert one_row.predict([[0.0]]).tolist() == [[2.0, 3.0]]


@each_problem
def test_out_of_bag_predictions_equal_a_loop_over_the_trees_that_left_the_row_out(problem):
    forest = fit(problem, aggregation="oob")
    found = predict_out_of_bag(forest._forest, forest._encode(X))
    counts = np.array(list(forest._forest.in_bag_counts()))
    alone, weights = by_tree(forest), forest._forest.tree_weights
    assert np.array_equal(found.n_trees, (counts == 0).sum(axis=0))
    values = dense(found.values)
    for i in range(80):
        outside = counts[:, i] == 0
        for j in range(5):
            total = weights[outside, j].sum()
            if total > 0:
                expected = weights[outside, j] @ np.nan_to_num(alone[outside, i, j]) / total
                np.testing.assert_allclose(values[i, j], expected, atol=1e-9)
            elif not sparse.issparse(found.values):
                assert np.isnan(values[i, j])


def test_rows_out_of_bag_are_those_that_the_seed_did_not_draw():
    forest = fit(max_samples=30)
    outside = is_out_of_bag(forest._forest)
    for t in range(12):
        drawn = np.random.default_rng([*forest._fitted.entropy, t]).integers(80, size=30)
        assert np.array_equal(np.flatnonzero(~outside[:, t]), np.unique(drawn))
        counts = list(forest._forest.in_bag_counts())[t]
        assert np.array_equal(counts, np.bincount(drawn, minlength=80))


def test_rows_without_weight_are_never_drawn():
    weights = np.where(np.arange(80) < 40, 0.0, 1.0)
    forest = BaggedTreesRegressor(n_estimators=4, random_state=0).fit(X, Y, sample_weight=weights)
    counts = np.array(list(forest._forest.in_bag_counts()))
    assert not counts[:, :40].any()
    assert (counts.sum(axis=1) == 40).all()


def test_all_trees_counting_alike_need_no_weights():
    forest = fit(aggregation="total")
    every = np.ones((12, 5), bool)
    assert weigh_trees(forest._forest, "subspace", every, every, forest._encode(X)) is None
    assert forest._forest.tree_weights is None
