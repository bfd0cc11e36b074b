"""Raw data: the size of features and weights, and memory that is not there."""

import numpy as np
import pytest
from graph_problems import linear_labels, quick
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import polyleaf
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.graphs.kernels import ColumnScale

X, Y = linear_labels(120, 4, noise=0.05)
#: Units and zero points as they come.
RAW = X * [1e5, 1e-3, 40.0] + [2e6, 5.0, -300.0]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_units_and_zero_points_of_features_do_not_matter(kernel):
    model, raw = (GraphClassifier(**quick(kernel=kernel)).fit(rows, Y) for rows in (X, RAW))
    assert pytest.approx(model.C_) == raw.C_
    # Up to the tolerance of the training: rounding decides about its steps.
    assert (raw.predict(RAW) == model.predict(X)).mean() > 0.97
    assert raw.objective_ == pytest.approx(model.objective_, rel=0.02)


@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf", "precomputed"])
def test_the_default_constant_is_one_over_the_mean_of_the_kernel(kernel):
    rows = X @ X.T if kernel == "precomputed" else X
    model = GraphClassifier(**quick(kernel=kernel, scale_features=False)).fit(rows, Y)
    size = 1.0 if kernel in ("cosine", "rbf") else (X**2).sum(axis=1).mean()
    assert pytest.approx(1.0 / size) == model.C_
    same = GraphClassifier(**quick(kernel=kernel, scale_features=False, C=1.0 / size))
    np.testing.assert_allclose(
        same.fit(rows, Y).decision_function(rows), model.decision_function(rows), atol=1e-6
    )


def test_a_multiple_of_the_default_constant_is_that():
    one, ten = (GraphClassifier(**quick(C=C)).fit(X, Y).C_ for C in ("scale", "10 * scale"))
    assert ten == pytest.approx(10.0 * one)


@pytest.mark.parametrize(
    "C", ["scales", "x*scale", "0*scale", "-1*scale", "nan*scale", "1e13*scale", "1.2.3*scale"]
)
def test_other_words_for_the_constant_are_refused(C):
    with pytest.raises(ValueError, match="C of GraphClassifier must be 'auto', 'scale'"):
        GraphClassifier(C=C).fit(X, Y)


def test_sparse_and_dense_rows_give_the_same_model():
    words = np.where(np.random.default_rng(0).random((120, 10)) < 0.8, 0.0, 2.0)
    mixed = np.hstack([RAW, words])
    dense, compressed = (
        GraphClassifier(**quick()).fit(rows, Y).decision_function(rows)
        for rows in (mixed, sparse.csr_array(mixed))
    )
    np.testing.assert_allclose(dense, compressed, atol=1e-9)


def test_columns_of_mostly_zeros_keep_them_and_large_sparse_rows_stay_sparse():
    words = sparse.random_array((3000, 2000), density=0.01, rng=np.random.default_rng(0)).tocsr()
    scaled = ColumnScale.fit(words, np.ones(3000))
    assert not scaled.centre.any()
    found = scaled.apply(words)
    assert sparse.issparse(found)
    squares = np.asarray((found * found).sum(axis=0))
    filled = np.bincount(words.indices, minlength=2000)
    np.testing.assert_allclose(squares[filled > 0], filled[filled > 0])
    few = words[:, :50]
    dense = ColumnScale.fit(few.toarray(), np.ones(3000))
    np.testing.assert_allclose(dense.scale, scaled.scale[:50])
    assert not dense.centre.any()


def test_constant_columns_and_weights_of_rows_are_minded():
    rows = np.column_stack([X[:, 0], np.full(120, 1e6 / 3)])
    scaled = ColumnScale.fit(rows, np.ones(120)).apply(rows)
    assert np.abs(scaled[:, 1]).max() < 1e-3
    weights = np.repeat([2.0, 0.0], 60)
    one = ColumnScale.fit(X, weights)
    other = ColumnScale.fit(X[:60], np.ones(60))
    np.testing.assert_allclose(one.centre, other.centre)
    np.testing.assert_allclose(one.scale, other.scale)
    assert ColumnScale.fit(X, np.zeros(120)).scale.shape == (3,)


def test_a_warm_start_keeps_no_members_of_other_scales():
    model = GraphEnsembleClassifier(**quick(n_estimators=1, warm_start=True)).fit(X, Y)
    model.set_params(n_estimators=2)
    with pytest.raises(ValueError, match="data of the first fit"):
        model.fit(2.0 * X, Y)
    with pytest.raises(ValueError, match="data of the first fit"):
        model.set_params(scale_features=False).fit(X, Y)


@pytest.mark.parametrize("aggregation", ["mam", "amm"])
def test_a_scaled_model_survives_a_file(aggregation, tmp_path):
    model = GraphEnsembleClassifier(**quick(n_estimators=3, aggregation=aggregation)).fit(RAW, Y)
    polyleaf.save(model, tmp_path / "model")
    loaded = polyleaf.load(tmp_path / "model")
    assert loaded.C == "scale"
    assert loaded.C_ == model.C_
    assert np.array_equal(loaded.decision_function(RAW), model.decision_function(RAW))


def test_a_training_that_does_not_converge_says_that_x_should_be_scaled():
    slow = quick(C=1e6, scale_features=False, max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"C='scale'.*scale X \(scale_features=True"):
        GraphClassifier(**slow).fit(RAW, Y)
    with pytest.warns(ConvergenceWarning, match="lower C, or scale X, so that"):
        GraphClassifier(**quick(C="1e6*scale", max_iter=1, kernel="precomputed")).fit(X @ X.T, Y)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
@pytest.mark.parametrize("size", [1.0, 1e90])
def test_models_of_huge_weights_can_be_saved(weight, size, tmp_path):
    model = GraphEnsembleClassifier(
        **quick(n_estimators=2, C=1e12, scale_features=False, max_iter=5, tol=1.0)
    )
    model.fit(X * size, Y, sample_weight=np.full(120, weight))
    polyleaf.save(model, tmp_path / "model")
    loaded = polyleaf.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X * size), model.predict(X * size))


def test_infinite_variances_of_scores_survive_a_file(tmp_path):
    model = GraphEnsembleClassifier(**quick(n_estimators=2)).fit(X, Y)
    fitted = model._fitted
    object.__setattr__(fitted, "variance_terms", (np.inf, np.nan))
    polyleaf.save(model, tmp_path / "model")
    assert np.isnan(polyleaf.load(tmp_path / "model").diversity_)


@pytest.mark.parametrize("cls", [GraphClassifier, GraphEnsembleClassifier])
def test_what_does_not_fit_into_memory_is_refused_at_once(cls):
    n_rows, n_labels = 70_000, 40_000
    labels = sparse.csr_array(
        (np.ones(n_rows), np.arange(n_rows) % n_labels, np.arange(n_rows + 1)),
        shape=(n_rows, n_labels),
    )
    with pytest.raises(MemoryError, match=r"70000 rows and 40000 labels.* GiB.*Fit fewer rows"):
        cls().fit(np.zeros((n_rows, 2)), labels)


def test_a_kernel_matrix_that_does_not_fit_is_refused_at_once():
    rows = np.broadcast_to(np.zeros(1), (10_000_000, 1))
    with pytest.raises(MemoryError, match="10000000 rows"):
        GraphClassifier(kernel="rbf").fit(rows, np.broadcast_to(np.zeros(1), (10_000_000, 1)))
