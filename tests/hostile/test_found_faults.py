"""Faults that the hostile suite found: each one crashed, hung or raised an unclear error."""

import os

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import polyleaf
from polyleaf.datasets import (
    Dataset,
    MultiLabelKFold,
    concatenate,
    make_extreme_labels,
    make_linear_labels,
)
from polyleaf.decoding import TopK
from polyleaf.experiments import BestChain, OneModelPerTarget, friedman_test, saturation_size
from polyleaf.graphs import Edges
from polyleaf.inspection import plot_learning_curve, tree_text
from polyleaf.metrics import label_propensities, macro_r2_score, overfitting_score

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
Y = rng.normal(size=(24, 3))
LABELS = (Y > 0).astype(int)


def broken(kind):
    matrix = sparse.csr_array(Y).asformat(kind)
    if kind == "dia":
        matrix.offsets = matrix.offsets[:-1]
    else:
        matrix.rows[0] = [10**6]
    return matrix


@pytest.mark.parametrize("kind", ["dia", "lil"])
@pytest.mark.parametrize("argument", ["X", "y"])
def test_a_broken_matrix_of_any_format_is_refused(kind, argument):
    data = {"X": X, "y": Y} | {argument: broken(kind)}
    with pytest.raises(ValueError, match="index arrays of the sparse"):
        polyleaf.TreeRegressor().fit(**data)


@pytest.mark.parametrize("wrong", [sparse.eye_array(3), [1.0, 2.0], "0.5", None])
def test_an_error_that_is_no_number_has_no_overfitting_score(wrong):
    with pytest.raises(ValueError, match="must be errors"):
        overfitting_score(1.0, wrong)


@pytest.mark.parametrize("a", [1e308, np.inf, "0.5"])
def test_propensities_with_an_extreme_exponent_are_refused(a):
    with pytest.raises(ValueError, match="a and b must be above 0"):
        label_propensities(LABELS, a=a)


def test_propensities_with_a_tiny_offset_are_finite():
    assert np.isfinite(label_propensities(LABELS, b=5e-324)).all()


def test_sparse_weights_of_sparse_targets_are_refused():
    with pytest.raises(TypeError, match="sample_weight must be a dense array"):
        macro_r2_score(sparse.csr_array(Y), Y, sample_weight=sparse.csr_array(Y))


def test_a_masked_number_of_labels_is_refused():
    with pytest.raises(ValueError, match="k must be an integer"):
        TopK(np.ma.masked).decode([[0.1, 0.9]])


def test_edges_of_a_sparse_matrix_are_refused():
    with pytest.raises(ValueError, match="edges must be pairs"):
        Edges(sparse.bsr_array(np.eye(2))).check_params()


def test_more_jobs_than_an_integer_holds_are_as_many_as_folds():
    tree = polyleaf.TreeClassifier(max_depth=2, random_state=0)
    one, many = (
        polyleaf.TunedDecoder(tree, cv=2, random_state=0, n_jobs=n).fit(X, LABELS)
        for n in (None, 10**30)
    )
    np.testing.assert_array_equal(one.predict(X), many.predict(X))


@pytest.mark.parametrize("wrong", [0, "2", 1.5])
def test_a_number_of_jobs_that_is_none_is_refused(wrong):
    tree = polyleaf.TreeClassifier(max_depth=2, random_state=0)
    with pytest.raises(ValueError, match="n_jobs must be None or an integer"):
        polyleaf.TunedDecoder(tree, cv=2, n_jobs=wrong).fit(X, LABELS)


@pytest.mark.parametrize("wrong", [np.zeros(24), np.zeros((24, 1, 1)), None, pd.DataFrame(Y)])
def test_a_data_set_needs_outputs_of_two_dimensions(wrong):
    with pytest.raises(ValueError, match="Y must be an array or a sparse matrix"):
        Dataset(X, wrong, ["a", "b", "c"], ["d"], "toy")


def test_only_data_sets_are_stacked():
    with pytest.raises(ValueError, match="datasets must hold at least one Dataset; got str"):
        concatenate("toy")


def test_missing_values_are_counted_in_every_sparse_format():
    data = Dataset(sparse.bsr_array(X), Y, ["a", "b", "c"], ["d", "e", "f"], "toy")
    assert data.n_missing_features == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: next(MultiLabelKFold(10**12).split(X, LABELS)),
        lambda: make_linear_labels(10, 3, dependence="marginal", angle=np.inf),
        lambda: make_linear_labels(10, 2.5),
        lambda: make_extreme_labels(10, 10, 10, exponent=np.inf),
        lambda: saturation_size([1, 2], [[0.1, 0.2, 0.3]], greater_is_better=True),
        lambda: saturation_size([], np.empty((0, 0)), greater_is_better=True),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(ValueError, match=r"must (be|have)"):
        call()


def test_baselines_refuse_rows_that_do_not_match():
    with pytest.raises(ValueError, match="same number of rows"):
        OneModelPerTarget(LinearRegression()).fit(X[:-1], Y)
    with pytest.raises(ValueError, match="X must be a matrix"):
        OneModelPerTarget(LinearRegression()).fit(X, Y).predict(X[0])


def test_baselines_take_rows_of_frames_as_of_arrays():
    chain = BestChain(DecisionTreeClassifier(random_state=0), random_state=0)
    expected = chain.fit(X, LABELS).predict(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_array_equal(chain.fit(frame, LABELS).predict(frame), expected)


def test_names_that_are_a_matrix_are_refused():
    tree = polyleaf.TreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(TypeError, match="output_names must be a list of names"):
        tree_text(tree, output_names=sparse.bsr_array(Y))


def test_a_learning_curve_refuses_broken_labels():
    pytest.importorskip("matplotlib")
    forest = polyleaf.RandomForestClassifier(n_estimators=2, random_state=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="index arrays of the sparse y"):
        plot_learning_curve(forest, X, broken("lil"))


def test_a_pipe_is_not_replaced_by_a_model(tmp_path):
    path = tmp_path / "pipe.polyleaf"
    os.mkfifo(path)
    with pytest.raises(OSError, match="got a pipe, socket or device"):
        polyleaf.save(polyleaf.TreeRegressor(max_depth=2).fit(X, Y), path)
    assert path.is_fifo()


@pytest.mark.parametrize("form", ["bsr", "dia", "csr", "lil"])
def test_a_matrix_in_place_of_metrics_or_of_a_level_is_refused(form):
    matrix = sparse.csr_array(np.eye(3)).asformat(form)
    tree = polyleaf.TreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(TypeError, match="metrics must be names"):
        polyleaf.evaluate(tree, X, Y, metrics=matrix)
    with pytest.raises(ValueError, match="alpha must be a number"):
        friedman_test(rng.random((6, 4)), greater_is_better=True, alpha=matrix)
    with pytest.raises(ValueError, match="alpha must be a number"):
        saturation_size([1, 2], rng.random((6, 2)), greater_is_better=True, alpha=matrix)
