"""Quantiles, joint draws and the likeliest labels follow the weights of the training rows."""

import tracemalloc

import naive_forest as naive
import numpy as np
import pytest
from scipy import sparse

from polyleaf import RandomForestClassifier, RandomForestRegressor

each_aggregation = pytest.mark.parametrize("aggregation", ["total", "subspace", "mixed", "oob"])
LEVELS = [0.05, 0.5, 0.95, 0.25, 0.0, 1.0]


def fit(kind, cls=RandomForestRegressor, **parameters):
    features, targets, weights = naive.training_part(kind)
    if cls is RandomForestClassifier:
        targets = naive.labels_of(targets)
    forest = cls(n_estimators=8, random_state=1, min_samples_leaf=4, **parameters)
    return forest.fit(features, targets, sample_weight=weights), targets, naive.test_features(kind)


def naive_quantile(values, weights, level):
    """Smallest value whose cumulative weight reaches the level."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return values[order][np.flatnonzero(reached >= level * reached[-1] - 1e-9)[0]]


@each_aggregation
@pytest.mark.parametrize("kind", ["dense", "sparse", "masked", "weighted entries"])
def test_quantiles_equal_those_of_the_weighted_training_outputs(kind, aggregation):
    forest, targets, queries = fit(kind, aggregation=aggregation)
    found = forest.predict_quantiles(queries, LEVELS)
    if kind == "sparse":
        assert all(isinstance(matrix, sparse.csr_array) for matrix in found)
        found = np.stack([matrix.toarray() for matrix in found], axis=-1)
    assert found.shape == (naive.N_TEST, 4, len(LEVELS))
    values = naive.dense(targets)
    for j in range(4):
        weights = forest.predict_weights(queries, output=j).toarray()
        for row in range(naive.N_TEST):
            used = weights[row] > 0
            expected = [
                naive_quantile(values[used, j], weights[row, used], level) for level in LEVELS
            ]
            np.testing.assert_allclose(found[row, j], expected)


def test_sparse_quantiles_are_found_block_by_block(monkeypatch):
    features, targets, _ = naive.training_part("sparse")
    forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(features, targets)
    whole = forest.predict_quantiles(features, LEVELS)
    monkeypatch.setattr("polyleaf.forests.quantiles._BLOCK_ENTRIES", 1)
    monkeypatch.setattr("polyleaf.forests.model.BLOCK_ENTRIES", 30)
    for one, other in zip(forest.predict_quantiles(features, LEVELS), whole):
        assert one.shape == (naive.N_TRAIN, 4)
        assert (one != other).nnz == 0
    assert (forest.predict_quantiles(features, 0.95) != whole[2]).nnz == 0


def test_quantiles_of_many_sparse_targets_need_no_dense_matrix():
    rng = np.random.default_rng(0)
    targets = sparse.random_array((1500, 30_000), density=5e-5, rng=rng, format="csr")
    features = rng.normal(size=(1500, 3))
    forest = RandomForestRegressor(n_estimators=2, max_depth=2, random_state=0)
    forest.fit(features, targets)
    tracemalloc.start()
    high = forest.predict_quantiles(features[:3], 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert high.shape == (3, 30_000)
    assert 0 < high.nnz <= 3 * targets.nnz
    assert peak < 150e6  # dense training targets would take 360 MB


def test_quantiles_of_equal_weights_equal_those_of_numpy():
    features, targets, _ = naive.training_part("dense")
    stump = RandomForestRegressor(
        n_estimators=1, bootstrap=False, min_samples_leaf=naive.N_TRAIN
    ).fit(features, targets)
    expected = np.quantile(targets, LEVELS, axis=0, method="inverted_cdf").T
    assert np.array_equal(stump.predict_quantiles(features[:1], LEVELS)[0], expected)


def test_quantiles_have_no_axis_for_one_level_or_for_one_target():
    features, targets, _ = naive.training_part("dense")
    forest = RandomForestRegressor(n_estimators=3, random_state=0).fit(features, targets[:, 0])
    assert forest.predict_quantiles(features, 0.5).shape == (naive.N_TRAIN,)
    assert forest.predict_quantiles(features).shape == (naive.N_TRAIN, 3)
    both = forest.fit(features, targets[:, :2])
    assert both.predict_quantiles(features, 0.5).shape == (naive.N_TRAIN, 2)


@pytest.mark.parametrize("levels", [1.5, [-0.1, 0.5], [[0.5]], np.nan])
def test_levels_that_are_no_quantiles_are_refused(levels):
    forest, _, queries = fit("dense")
    with pytest.raises(ValueError, match="numbers from 0 to 1; got"):
        forest.predict_quantiles(queries, levels)


@pytest.mark.parametrize("kind", ["dense", "weighted"])
def test_draws_follow_the_weights_of_the_training_rows(kind):
    forest, targets, queries = fit(kind)
    n_draws = 4000
    draws = forest.sample_predictions(queries[:3], n_draws, random_state=0)
    assert draws.shape == (n_draws, 3, 4)
    for row, weights in enumerate(forest.predict_weights(queries[:3]).toarray()):
        same = (draws[:, row, None, :] == targets[None]).all(axis=2)  # joint rows of the training
        assert np.array_equal(same.sum(axis=1), np.ones(n_draws))
        hits, expected = same.sum(axis=0), n_draws * weights
        assert not hits[weights == 0].any()
        likely = expected >= 5
        statistic = np.sum((hits - expected)[likely] ** 2 / expected[likely])
        # Its mean is about the number of terms and its variance twice that.
        assert statistic < likely.sum() + 4 * np.sqrt(2 * likely.sum())


def test_draws_are_repeatable_and_default_to_the_seed_of_the_forest():
    forest, _, queries = fit("dense")
    first = forest.sample_predictions(queries, 5)
    assert np.array_equal(first, forest.sample_predictions(queries, 5))
    assert np.array_equal(first, forest.sample_predictions(queries, 5, random_state=1))
    assert not np.array_equal(first, forest.sample_predictions(queries, 5, random_state=2))


def test_draws_of_sparse_targets_are_sparse_rows_of_the_training_targets():
    forest, targets, queries = fit("sparse")
    draws = forest.sample_predictions(queries, 3, random_state=0)
    known = {row.tobytes() for row in targets.toarray()}
    assert [type(draw) for draw in draws] == [sparse.csr_array] * 3
    assert all(row.tobytes() in known for draw in draws for row in draw.toarray())


def test_unobserved_entries_of_a_drawn_row_stay_unknown():
    forest, targets, queries = fit("masked")
    drawn = forest.sample_predictions(queries, 20, random_state=0)
    known = {row.tobytes() for row in targets}
    assert all(row.tobytes() in known for row in drawn.reshape(-1, 4))
    assert np.isnan(drawn).any()


def test_unobserved_labels_and_classes_of_a_drawn_row_stay_unknown():
    forest, labels, queries = fit("masked", cls=RandomForestClassifier)
    drawn = forest.sample_predictions(queries, 20, random_state=0)
    known = {row.tobytes() for row in labels}
    assert all(row.tobytes() in known for row in drawn.reshape(-1, 4))
    names = np.array([None, "low", "high"], dtype=object)
    classes = names[np.where(np.isnan(labels), 0, labels + 1).astype(int)][:, :2]
    features = naive.training_part("masked")[0]
    forest = RandomForestClassifier(n_estimators=4, random_state=0).fit(features, classes)
    drawn = forest.sample_predictions(queries, 20, random_state=0)
    assert set(drawn.ravel()) == {None, "low", "high"}
    known = {tuple(row) for row in classes}
    assert {tuple(row) for row in drawn.reshape(-1, 2)} <= known


def test_draws_of_one_output_have_the_shape_of_predictions():
    features, targets, _ = naive.training_part("dense")
    y = np.digitize(targets[:, 0], [0.0, 1.0])
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(features, y)
    drawn = forest.sample_predictions(features, 2)
    assert drawn.shape == (2, naive.N_TRAIN)
    assert drawn.dtype == forest.predict(features).dtype
    regressor = RandomForestRegressor(n_estimators=3).fit(features, targets[:, 0])
    assert regressor.sample_predictions(features, 2).shape == (2, naive.N_TRAIN)


def test_no_draw_is_refused():
    forest, _, queries = fit("dense")
    with pytest.raises(ValueError, match="n_draws must be an integer >= 1; got 0"):
        forest.sample_predictions(queries, 0)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
@pytest.mark.parametrize("kind", ["dense", "sparse", "masked"])
def test_the_likeliest_labels_are_the_top_of_the_probabilities(kind, k):
    forest, _, queries = fit(kind, cls=RandomForestClassifier)
    top = forest.predict_topk(queries, k)
    probabilities = naive.dense(forest.predict_proba(queries))
    expected = np.zeros_like(probabilities)
    for row, values in enumerate(probabilities):
        chosen = np.argsort(-values, kind="stable")[:k]  # of equal ones, the first
        expected[row, chosen] = values[chosen]
    assert isinstance(top, sparse.csr_array)
    np.testing.assert_allclose(top.toarray(), expected, atol=1e-12)
    assert np.diff(top.indptr).max() <= k
    assert (top.data > 0).all()


def test_the_likeliest_labels_are_for_labels_alone():
    features, targets, _ = naive.training_part("dense")
    forest = RandomForestClassifier(n_estimators=2).fit(features, targets[:, 0] > 0)
    with pytest.raises(ValueError, match=r"multi-label problems; y was binary\. Use"):
        forest.predict_topk(features)
    labels = RandomForestClassifier(n_estimators=2).fit(features, targets > 0)
    with pytest.raises(ValueError, match="k must be an integer >= 1; got 0"):
        labels.predict_topk(features, 0)
    regressor = RandomForestRegressor(n_estimators=2).fit(features, targets)
    assert not hasattr(regressor, "predict_topk")
    assert not hasattr(labels, "predict_quantiles")
