"""Faults that the hostile suite found in functions that read fitted models."""

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import export, inspection

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
Y = rng.normal(size=(24, 3))
BROKEN = sparse.csr_array(np.eye(3))
BROKEN.indices[0] = 10**6  # to print it crashes the interpreter


@pytest.fixture(scope="module")
def tree():
    return polyleaf.TreeRegressor(max_depth=2).fit(X, Y)


@pytest.fixture(scope="module")
def found(tree):
    return inspection.shap_values(tree, X)


@pytest.mark.parametrize("wrong", [None, 1.5, "text", BROKEN, [1, 2]])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("plot_shap_map", {}),
        ("plot_shap_swarm", {"output": 0}),
        ("plot_shap_waterfall", {"output": 0}),
        ("plot_shap_difference", {"a": 0, "b": 1}),
        ("plot_shap_dependence", {"feature": 0}),
        ("plot_dependence", {}),
        ("explanation_text", {}),
    ],
)
def test_what_no_function_gives_is_refused(function, arguments, wrong):
    with pytest.raises(TypeError, match=r"must be what \w+ gives"):
        getattr(inspection, function)(wrong, **arguments)


@pytest.mark.parametrize("wrong", [0, 1.5, "2", np.ma.masked, BROKEN])
def test_a_number_of_threads_that_is_none_is_refused(tree, wrong):
    with pytest.raises(ValueError, match="n_jobs must be None or an integer"):
        inspection.shap_values(tree, X, n_jobs=wrong)


def test_more_decimals_than_a_number_has_are_not_written(tree):
    table = inspection.explain_rows(tree, X[:2])
    assert inspection.explanation_text(table, 10**12) == inspection.explanation_text(table, 20)


@pytest.mark.parametrize("wrong", [BROKEN, sparse.bsr_array(np.eye(2)), 1.5, []])
def test_pictures_of_no_outputs_are_refused(found, wrong):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="outputs must"):
        inspection.plot_shap_dependence(found, 0, outputs=wrong)


@pytest.mark.parametrize("wrong", [BROKEN, None, 1.5])
def test_features_rows_and_numbers_of_them_are_checked(found, wrong):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="name of a feature"):
        inspection.plot_shap_dependence(found, wrong)
    with pytest.raises(ValueError, match="max_features must be an integer"):
        inspection.plot_shap_map(found, max_features=wrong)
    with pytest.raises(ValueError, match="row must be one of"):
        inspection.plot_shap_waterfall(found, "row" if wrong is None else wrong, 0)


@pytest.mark.parametrize("wrong", [sparse.csr_array(np.eye(2)), BROKEN, None, 1])
def test_a_prefix_of_columns_is_a_text(tree, wrong):
    rules = polyleaf.RuleRegressor(n_rules=2, random_state=0).fit(X, Y)
    for model in (tree, rules):
        with pytest.raises(TypeError, match="prefix must be a str"):
            export.to_sql(model, "rows", prefix=wrong)
    with pytest.raises(ValueError, match="function_name must be an identifier"):
        export.to_python(tree, function_name=wrong)
