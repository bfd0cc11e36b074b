"""Sampled Shapley values: they add up, come near exact ones, and know how near."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from polyleaf import (
    AutoClassifier,
    BoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeRegressor,
)
from polyleaf.inspection import sampled_shap_values, shap_values

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] + X[:, 0]])
LABELS = (Y > 0).astype(int)


def test_an_additive_model_needs_one_walk():
    """Without interactions every order adds the same."""
    model = BoostingRegressor(n_estimators=10, max_depth=1, projection=None, random_state=0)
    model.fit(X, Y)
    exact = shap_values(model, X[:4], background=X[:1])
    found = sampled_shap_values(model, X[:4], X[:1], n_walks=2, random_state=0)
    np.testing.assert_allclose(found.values, exact.values, atol=1e-5)
    np.testing.assert_allclose(found.errors, 0.0, atol=1e-3)
    np.testing.assert_allclose(found.base_values, exact.base_values, atol=1e-5)


def test_values_lie_within_their_errors_of_the_exact_ones():
    model = RandomForestRegressor(n_estimators=10, random_state=0).fit(X, Y)
    exact = shap_values(model, X[:5], background=X)
    found = sampled_shap_values(model, X[:5], X, n_walks=180, random_state=0)
    known = found.errors > 0
    off = (found.values - exact.values)[known] / found.errors[known]
    assert np.abs(off).max() < 5.0
    assert np.mean(np.abs(off) < 2.0) > 0.85
    fewer = sampled_shap_values(model, X[:5], X, n_walks=45, random_state=0)
    assert 1.5 < fewer.errors[known].mean() / found.errors[known].mean() < 2.7


@pytest.mark.parametrize(
    ("model", "y", "x"),
    [
        (RandomForestClassifier(n_estimators=3, random_state=0), LABELS, X),
        (RandomForestClassifier(n_estimators=3, random_state=0), LABELS[:, 0], X),
        (
            RandomForestClassifier(n_estimators=3, random_state=0),
            np.array(["u", "v", "w"])[np.digitize(Y, [-0.5, 0.5])],
            X,
        ),
        (RandomForestRegressor(n_estimators=3, random_state=0), Y[:, 0], sparse.csr_array(X)),
        (
            RandomForestRegressor(n_estimators=3, random_state=0),
            Y,
            pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "p", "q")}),
        ),
    ],
)
def test_base_and_values_add_up_to_the_prediction(model, y, x):
    model.fit(x, y)
    rows = x.iloc[:3] if hasattr(x, "iloc") else x[:3]
    found = sampled_shap_values(model, rows, x, n_walks=3, random_state=0)
    whole = found.base_values + found.values.sum(axis=1)
    predict = getattr(model, "predict_proba", model.predict)
    expected = predict(rows)
    expected = np.concatenate(expected, axis=1) if isinstance(expected, list) else expected
    if whole.shape[1] == 1:
        expected = expected[:, -1] if expected.ndim == 2 else expected
        whole = whole[:, 0]
    np.testing.assert_allclose(whole, expected, atol=1e-5)


def test_probabilities_of_a_blend(quick):
    model = AutoClassifier(random_state=0).fit(X, LABELS)
    with pytest.raises(TypeError, match="sampled_shap_values"):
        shap_values(model, X[:2])
    found = sampled_shap_values(model, X[:2], X, outputs=[1], n_walks=4, random_state=0)
    assert found.values.shape == (2, 4, 1)
    whole = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(whole, model.predict_proba(X[:2])[:, [1]], atol=1e-5)
    again = sampled_shap_values(model, X[:2], X, outputs=[1], n_walks=4, random_state=0)
    np.testing.assert_array_equal(found.values, again.values)


def test_many_features_are_predicted_in_blocks(monkeypatch):
    model = TreeRegressor(random_state=0).fit(X, Y)
    whole = sampled_shap_values(model, X[:3], X, n_walks=2, random_state=0)
    monkeypatch.setattr("polyleaf.inspection._sampled_shap._BLOCK_VALUES", 1)
    blocks = sampled_shap_values(model, X[:3], X, n_walks=2, random_state=0)
    np.testing.assert_array_equal(whole.values, blocks.values)


def test_what_cannot_be_sampled_is_refused():
    model = TreeRegressor(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="at least one row"):
        sampled_shap_values(model, X[:2], X[:0])
    with pytest.raises(ValueError, match="n_walks must be an integer"):
        sampled_shap_values(model, X[:2], X, n_walks=0)
    with pytest.raises(ValueError, match="at most 1,000,000; got 1000000000000000000000"):
        sampled_shap_values(model, X[:2], X, n_walks=10**21)
