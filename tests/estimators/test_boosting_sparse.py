"""Boosting of sparse label matrices, and of more labels than fit into memory."""

import numpy as np
import pytest
from boosting_problems import LABELS, X, classifier, regressor
from scipy import sparse

from ramify import projections


def test_sparse_labels_give_the_model_of_dense_ones():
    dense = classifier().fit(X, LABELS)
    from_sparse = classifier().fit(sparse.csr_array(X), sparse.csr_array(LABELS))
    np.testing.assert_allclose(from_sparse._raw(X), dense._raw(X), atol=1e-5)
    assert sparse.issparse(from_sparse.predict(X))


def test_labels_too_many_to_hold_are_refused_with_the_memory_they_would_need():
    many = sparse.csr_array((np.ones(1), ([0], [0])), shape=(60_000, 100_000))
    with pytest.raises(MemoryError, match=r"GiB"):
        classifier().fit(np.zeros((60_000, 1)), many)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("projection", ["auto", "sparse_rademacher", "subsample"])
def test_factored_residuals_give_the_model_of_dense_ones(make, projection, weighted, monkeypatch):
    labels = sparse.csr_array(LABELS * (2.5 if make is regressor else 1))
    if projection != "auto":
        projection = projections.resolve(projection).set_params(n_components=1)
    given = {"loss": "squared_error", "leaf_fit": "linear", "projection": projection}
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else None
    dense = make(**given).fit(X, labels, sample_weight=weights)
    monkeypatch.setattr("ramify.estimators.boosting_checks.LARGEST_RAW_BYTES", 0)
    factored = make(**given).fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(factored._raw(X), dense._raw(X), atol=2e-3)
    np.testing.assert_allclose(
        factored.history_["train_loss"], dense.history_["train_loss"], rtol=1e-3
    )
    part = make(**given, warm_start=True).set_params(n_estimators=8)
    part.fit(X, labels, sample_weight=weights).set_params(n_estimators=20)
    part.fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(part._raw(X), factored._raw(X), atol=2e-3)


def test_a_hundred_thousand_labels_are_boosted_in_factored_form():
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(6_000), 3)
    columns = (rows * 7 + rng.integers(3, size=rows.size)) % 100_000
    labels = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(6_000, 100_000))
    labels.data[:] = 1.0
    model = classifier(loss="squared_error", leaf_fit="linear", n_estimators=3)
    losses = model.fit(rng.normal(size=(6_000, 2)), labels).history_["train_loss"]
    assert np.all(np.diff(losses) <= 0)
    assert model._model.tree_factors.shape == (3, 100_000)
    with pytest.raises(ValueError, match="without validation"):
        classifier(loss="squared_error", leaf_fit="linear", early_stopping=True).fit(
            np.zeros((6_000, 1)), labels
        )
