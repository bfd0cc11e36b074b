"""Baselines: columns, least squares, kernels, neighbours and logistic regression."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from polyleaf.auto.baselines import BaselineClassifier, BaselineRegressor
from polyleaf.auto.design import Design
from polyleaf.auto.squares import (
    Decomposition,
    dual_coefficients,
    least_squares,
    primal_coefficients,
)
from polyleaf.data import FeatureSchema

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5))
Y = np.column_stack([X @ RNG.normal(size=5), X[:, 0] ** 2]) + 0.1 * RNG.normal(size=(80, 2))


def test_columns_are_scaled_numbers_gaps_and_categories():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 5.0], "b": ["u", "v", "u", None]})
    schema, encoded = FeatureSchema.fit(frame)
    columns = Design.fit(schema, encoded)(encoded)
    assert columns.shape == (4, 4)
    assert columns[:, 0].sum() == pytest.approx(0.0)
    np.testing.assert_array_equal(columns[:, 1], [0, 1, 0, 0])
    np.testing.assert_array_equal(columns[:, 2:], [[1, 0], [0, 1], [1, 0], [0, 0]])


def test_columns_stay_within_what_training_showed():
    schema, encoded = FeatureSchema.fit(X)
    design = Design.fit(schema, encoded)
    assert np.abs(design(np.full((1, 5), 1e308))).max() <= 10.0
    assert np.isfinite(design(np.array([[np.inf, -np.inf, np.nan, 0.0, 1.0]]))).all()


def test_sparse_columns_stay_sparse():
    rows = sparse.random_array((30, 7), density=0.3, rng=0, format="csr")
    schema, encoded = FeatureSchema.fit(rows)
    columns = Design.fit(schema, encoded)(encoded)
    assert sparse.issparse(columns)
    assert abs(columns).max() == 1.0


@pytest.mark.parametrize("weights", [None, RNG.integers(1, 4, 80).astype(float)])
def test_least_squares_agree_with_leaving_rows_out_one_by_one(weights):
    share = np.full(80, 1 / 80) if weights is None else weights / weights.sum()
    parts, directions = Decomposition.of_columns(X, share)
    found = least_squares(parts, Y, None)
    coefficients = primal_coefficients(parts, directions, found)
    for j in range(2):
        # Our rows weigh n in all.
        model = Ridge(alpha=found.penalties[j]).fit(X, Y[:, j], share * 80)
        np.testing.assert_allclose(coefficients[:, j], model.coef_, rtol=1e-6, atol=1e-9)
    if weights is None:
        errors = []
        for i in range(80):
            rest = np.arange(80) != i
            model = Ridge(alpha=found.penalties[0]).fit(X[rest], Y[rest, 0])
            errors.append((model.predict(X[i : i + 1])[0] - Y[i, 0]) ** 2)
        # Leaving a row out also moves the centre, which the closed form knows.
        assert found.errors[0] == pytest.approx(np.mean(errors), rel=1e-6)


def test_rows_and_columns_give_the_same_least_squares():
    share = np.full(80, 1 / 80)
    by_columns, directions = Decomposition.of_columns(X, share)
    by_rows = Decomposition.of(X @ X.T, share)
    found = least_squares(by_columns, Y, None)
    primal = primal_coefficients(by_columns, directions, found)
    dual = dual_coefficients(by_rows, least_squares(by_rows, Y, None))
    np.testing.assert_allclose((X - X.mean(0)).T @ dual, primal, rtol=1e-6, atol=1e-8)


def test_unobserved_outputs_hardly_move_a_linear_fit():
    gaps = Y.copy()
    gaps[RNG.random(Y.shape) < 0.2] = np.nan
    model = BaselineRegressor().fit(X, gaps)
    assert np.corrcoef(model.predict(X)[:, 0], Y[:, 0])[0, 1] > 0.99


@pytest.mark.parametrize("model", ["linear", "kernel", "neighbours"])
def test_regressors_follow_a_smooth_target(model):
    fitted = BaselineRegressor(model=model).fit(X, Y)
    least = {"linear": 0.45, "kernel": 0.9, "neighbours": 0.5}[model]
    assert fitted.score(X, Y) > least


def test_a_kernel_learns_what_a_line_cannot():
    scores = [
        BaselineRegressor(model=m).fit(X[:60], Y[:60, 1]).score(X[60:], Y[60:, 1])
        for m in ("linear", "kernel")
    ]
    assert scores[1] > scores[0] + 0.2


def test_logistic_regression_is_scikit_learns():
    labels = (Y > 0).astype(int)
    model = BaselineClassifier(model="logistic", strength=0.5).fit(X, labels)
    scaled = (X - X.mean(0)) / X.std(0)
    theirs = LogisticRegression(C=0.5, max_iter=200).fit(scaled, labels[:, 0])
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 0], theirs.predict_proba(scaled)[:, 1], atol=1e-4
    )


@pytest.mark.parametrize("model", ["logistic", "kernel", "neighbours", "linear"])
def test_classifiers_take_labels_classes_and_gaps(model):
    labels = (Y > 0).astype(float)
    labels[3, 1] = np.nan
    names = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-1.0, 1.0])]
    for y in (labels, names, names[:, None].repeat(2, axis=1), np.zeros((80, 2))):
        fitted = BaselineClassifier(model=model).fit(X, y)
        found = fitted.predict_proba(X)
        for part in found if isinstance(found, list) else [found]:
            assert np.isfinite(part).all()
            assert part.min() >= 0.0
            assert part.max() <= 1.0


@pytest.mark.parametrize("model", ["logistic", "kernel", "neighbours", "linear"])
def test_sparse_rows_give_what_their_numbers_give(model):
    dense = np.where(np.abs(X) > 1.0, np.abs(X), 0.0)
    labels = (Y > 0).astype(int)
    fitted = BaselineClassifier(model=model).fit(sparse.csr_array(dense), labels)
    np.testing.assert_allclose(
        fitted.predict_proba(dense), fitted.predict_proba(sparse.csr_array(dense)), atol=1e-9
    )
