"""Faults that the hostile suite has found in methods of what polyleaf gives back; mended since."""

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import conformal, distributed, experiments, inspection
from polyleaf.hierarchy import Hierarchy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
NUMBERS = np.column_stack([X[:, 0], X[:, 1] * X[:, 2]])
LABELS = (NUMBERS > 0).astype(int)


def broken():
    """A matrix with an index that is out of bounds: comparing it with a number would crash."""
    matrix = sparse.coo_array(np.eye(4))
    matrix.coords[0][2] = 10**6
    return matrix


@pytest.fixture(scope="module")
def comparison():
    return experiments.compare(X, NUMBERS, methods=["Mean", "Tree"], metrics=["r2"], cv=2)


@pytest.mark.parametrize("level", [broken(), "x", 0.0, 1.0, True, None])
def test_a_level_that_is_none_is_refused(level):
    tree = polyleaf.TreeRegressor(max_depth=2).fit(X, NUMBERS)
    found = inspection.permutation_importances(tree, X, NUMBERS, n_repeats=2, random_state=0)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        found.interval(level)


@pytest.mark.parametrize("method", ["fold_scores", "corrected", "output_scores", "level_scores"])
def test_what_was_not_compared_has_no_scores(comparison, method):
    others = {"fold_scores": ("Tree", "r2"), "corrected": ("Tree",)}.get(method, ())
    with pytest.raises(ValueError, match=r"dataset must be one of 'data'; got 'dta'\. Did you"):
        getattr(comparison, method)("dta", *others)


def test_methods_and_metrics_that_were_not_compared_are_named(comparison):
    with pytest.raises(ValueError, match="method must be one of 'Mean', 'Tree'; got 'Forest'"):
        comparison.corrected("data", "Forest")
    with pytest.raises(ValueError, match="metric must be one of 'r2'; got 'mse'"):
        comparison.fold_scores("data", "Tree", "mse")
    assert comparison.fold_scores("data", "Tree", "r2").shape == (2,)
    assert comparison.corrected("data", "Tree") is None


@pytest.mark.parametrize("label", [np.inf, 1.5, None, np.ma.masked, True, 3, "x"])
def test_a_label_that_is_none_has_no_parents(label):
    tree = Hierarchy([(0, 1), (0, 2)], 3, names=["all", "left", "right"])
    with pytest.raises(ValueError, match="label"):
        tree.parents(label)
    assert tree.parents(np.int64(2)) == tree.parents("right") == [0]


@pytest.mark.parametrize("plot", [conformal.plot_region, conformal.plot_outputs])
@pytest.mark.parametrize("region", [[1.0], NUMBERS, broken(), None])
def test_only_regions_are_drawn(plot, region):
    with pytest.raises(TypeError, match="region must be what predict_region gives"):
        plot(region)


def test_a_part_without_dimensions_is_refused():
    with pytest.raises(ValueError, match="X of a part must have rows"):
        _ = distributed.Rows(0, np.array(1.0), NUMBERS).n_rows


def test_names_that_are_a_sparse_matrix_are_refused():
    broken = sparse.lil_array(np.eye(2))
    broken.rows = broken.rows[:1]
    for names in (sparse.coo_matrix(np.eye(2)), broken):
        with pytest.raises(TypeError, match="output_names must be a sequence"):
            polyleaf.TreeRegressor().fit(X, NUMBERS, output_names=names)


@pytest.mark.parametrize("names", [sparse.coo_matrix(np.eye(2)), "abc", 3, [1, 2]])
@pytest.mark.parametrize("parameter", ["targets", "exclude"])
def test_columns_of_batches_are_a_list_of_names(parameter, names):
    with pytest.raises(TypeError, match=f"{parameter} must be a list of column names"):
        polyleaf.BinnedData.from_batches([(X, NUMBERS)], **{parameter: names})


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "lil"])
def test_one_label_of_rows_in_any_sparse_format_has_probabilities(form):
    tree = polyleaf.TreeClassifier(max_depth=2, random_state=0).fit(X, LABELS)
    found = inspection.single_output(tree, 1).predict_proba(sparse.coo_array(X).asformat(form))
    np.testing.assert_array_equal(found[:, 1], tree.predict_proba(X)[:, 1])


@pytest.mark.parametrize(
    "y", [LABELS[:, 0], LABELS[:, :1], np.zeros(30), np.where(LABELS[:, 0], "a", "b")]
)
def test_the_only_output_has_the_probabilities_of_its_classes(y):
    tree = polyleaf.TreeClassifier(max_depth=2, random_state=0).fit(X, y)
    found = inspection.single_output(tree, 0).predict_proba(X)
    expected = tree.predict_proba(X)
    if np.ndim(y) == 2:  # a label: the probability of 1
        expected = np.column_stack([1.0 - expected, expected])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_edges", [-1, "x", 1.5, broken()])
def test_a_number_of_edges_that_is_none_is_refused(n_edges):
    found = inspection.ConsensusEdges(
        ["a", "b"], np.array([[0, 1]], np.int32), np.array([1]), np.array([0.5])
    )
    with pytest.raises((TypeError, ValueError), match="n_edges must be an integer"):
        found.strongest(n_edges)
    assert len(found.strongest(1).edges) == 1


def test_sampled_values_name_what_they_cannot_read():
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(X, NUMBERS)
    with pytest.raises(TypeError, match="must be a fitted estimator of polyleaf"):
        inspection.sampled_shap_values(model, X[:2], X)
    tree = polyleaf.TreeRegressor(max_depth=2).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="random_state must be None"):
        inspection.sampled_shap_values(tree, X[:2], X, random_state=broken())


def test_a_scope_that_is_none_is_refused():
    parts = experiments.BiasVariance(1.0, 0.5, 0.25, 0.125, 0.125)
    with pytest.raises(ValueError, match="projection_scope must be 'tree' or 'forest'"):
        parts.of_ensemble(5, projection_scope=broken())


def test_a_blend_imitates_itself_by_an_estimator_alone():
    model = polyleaf.AutoRegressor(budget="small", cv=2, random_state=0).fit(X, NUMBERS)
    for family in (5, broken(), None, polyleaf.TreeRegressor):
        with pytest.raises(ValueError, match="family must be one of"):
            model.distil(family, X)
    tree = model.distil("Tree", X)
    for rows in (X.tolist(), sparse.coo_array(X)):
        assert np.array_equal(model.distil("Tree", rows).predict(X), tree.predict(X))


def test_a_matrix_is_no_path_of_a_graph():
    model = polyleaf.TreeRegressor(max_depth=1, random_state=0).fit(np.eye(4), np.eye(4))
    signs = sparse.csr_array(np.eye(3))
    signs.indices[0] = 10**6
    with pytest.raises(TypeError, match="path must be a str or a path"):
        polyleaf.export.to_onnx(model, signs)
