import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from polyleaf.datasets import make_multilabel
from polyleaf.experiments import AdaBoostMH
from polyleaf.metrics import hamming_loss

X, Y = make_multilabel(300, 6, 5, random_state=0)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), max_leaf_nodes=st.integers(2, 20), gaps=st.booleans())
def test_training_error_is_at_most_the_product_of_the_normalisers(seed, max_leaf_nodes, gaps):
    """Schapire and Singer 1999, theorem 1, for the Hamming loss of observed entries."""
    X, Y = make_multilabel(80, 4, 3, random_state=seed)
    Y = Y.astype(float)
    if gaps:
        Y[np.random.default_rng(seed).random(Y.shape) < 0.3] = np.nan
    model = AdaBoostMH(8, max_leaf_nodes, random_state=0).fit(X, Y)
    assert hamming_loss(Y, model.predict(X)) <= np.prod(model.normalisers_) + 1e-12
    assert (np.array(model.normalisers_) < 1).all()


def test_leaf_values_are_half_log_ratios_of_weights():
    model = AdaBoostMH(1, 4, random_state=0).fit(X, Y)
    leaves = model.estimators_[0].apply(X)
    leaf = leaves[0]
    share = Y[leaves == leaf].mean(axis=0)
    n_leaf = (leaves == leaf).sum()
    expected = 0.5 * np.log((share * n_leaf + 1) / ((1 - share) * n_leaf + 1))
    np.testing.assert_allclose(model.leaf_values_[0][leaf], expected)


def test_more_rounds_fit_the_training_rows_better():
    few, many = (
        hamming_loss(Y, AdaBoostMH(n, 10, random_state=0).fit(X, Y).predict(X)) for n in (1, 50)
    )
    assert many < few / 2


def test_sparse_labels_give_the_model_of_dense_ones():
    dense, sparse_ = (
        AdaBoostMH(5, random_state=0).fit(X, labels).predict_proba(X)
        for labels in (Y, sparse.csr_array(Y))
    )
    np.testing.assert_array_equal(dense, sparse_)


def test_probabilities_and_label_sets_agree():
    model = AdaBoostMH(5, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > 0.5)


@pytest.mark.parametrize("value", [0, 1])
def test_constant_labels_are_learnt(value):
    labels = np.full((50, 2), value)
    assert (AdaBoostMH(5).fit(X[:50], labels).predict(X[:5]) == value).all()
