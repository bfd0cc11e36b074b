"""Boosting of sparse label matrices, and of more labels than fit into memory."""

import tracemalloc

import numpy as np
import pytest
from boosting_problems import LABELS, X, classifier, regressor
from scipy import sparse

from polyleaf import projections
from polyleaf.checks import memory
from polyleaf.losses import Quantile


def test_sparse_labels_give_the_model_of_dense_ones():
    dense = classifier().fit(X, LABELS)
    from_sparse = classifier().fit(sparse.csr_array(X), sparse.csr_array(LABELS))
    np.testing.assert_allclose(from_sparse._raw(X), dense._raw(X), atol=1e-5)
    assert sparse.issparse(from_sparse.predict(X))


@pytest.mark.parametrize("dense", [False, True])
def test_what_does_not_fit_is_refused_with_the_memory_it_would_need(dense, monkeypatch):
    monkeypatch.setattr("polyleaf.checks.memory.available_memory", lambda: 2**29)
    many = sparse.csr_array((np.ones(1), ([0], [0])), shape=(6_000, 10_000))
    advice = "factored form"
    if dense:
        monkeypatch.setattr("polyleaf.checks.memory.SMALL_BYTES", 0)
        monkeypatch.setattr("polyleaf.checks.memory.available_memory", lambda: 9)
        many, advice = np.zeros((6_000, 2)), "fewer rows"
    with pytest.raises(MemoryError, match=rf"GiB, of which 0\.. are available\. .*{advice}"):
        regressor(loss="huber").fit(np.zeros((6_000, 1)), many)


def test_what_fits_is_not_refused_however_large(monkeypatch):
    monkeypatch.setattr("polyleaf.checks.memory.SMALL_BYTES", 0)
    monkeypatch.setattr("polyleaf.boosting.checks.LARGEST_RAW_BYTES", 0)
    name = "polyleaf.checks.memory.available_memory"
    monkeypatch.setattr(name, lambda: None)
    classifier(n_estimators=2).fit(X, LABELS)
    monkeypatch.setattr(name, lambda: 3 * 4 * 260 * 5)
    classifier(n_estimators=2).fit(X, LABELS)
    with pytest.raises(MemoryError, match="GiB"):
        regressor(loss=Quantile([0.2, 0.8])).fit(X, LABELS)  # twice as many channels


def test_memory_is_read_where_the_system_tells(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  7 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    assert memory.available_memory() == 7 * 1024
    (tmp_path / "memory.max").write_text("6000\n")
    (tmp_path / "memory.current").write_text("5000\n")
    assert memory.available_memory() == 1000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "meminfo").unlink()
    assert memory.available_memory() is None or memory.available_memory() > 0


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
    monkeypatch.setattr("polyleaf.boosting.checks.LARGEST_RAW_BYTES", 0)
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
    features = rng.normal(size=(6_000, 2))
    rows = np.repeat(np.arange(6_000), 3)
    columns = (40 * (features[rows, 0] > 0) + rng.integers(50, size=rows.size)) % 100_000
    labels = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(6_000, 100_000))
    labels.data[:] = 1.0
    model = classifier(loss="squared_error", leaf_fit="linear", n_estimators=3).fit(
        features, labels
    )
    boosted = model._fitted.model
    assert boosted.tree_factors.shape == (3, 100_000)
    # The factors of some labels are the shrunk least squares fits to their residuals.
    some = np.r_[:60, 99_990:100_000]
    left = labels[:, some].toarray() - boosted.baseline[some]
    leaves = boosted.leaves_of(features)
    for t in range(3):
        numbers = boosted.leaf_values[leaves[:, t], 0].astype(float)
        expected = 0.1 * (left.T @ numbers) / (numbers @ numbers)
        np.testing.assert_allclose(boosted.tree_factors[t, some], expected, rtol=1e-3, atol=1e-6)
        left -= np.outer(numbers, boosted.tree_factors[t, some])
    with pytest.raises(ValueError, match="without validation"):
        classifier(loss="squared_error", leaf_fit="linear", early_stopping=True).fit(
            np.zeros((6_000, 1)), labels
        )
    # Predictions are sparse, and no dense array of them is ever there.
    tracemalloc.start()
    predicted = model.predict(features[:300])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 100_000 * 4
    expected = model.predict_proba(features[:40]) > 0.5
    np.testing.assert_array_equal(predicted[:40].toarray(), expected)


@pytest.mark.parametrize("decoding", ["auto", "top_k"])
def test_sparse_predictions_made_in_blocks_are_those_of_all_rows(decoding, monkeypatch):
    model = classifier(decoding=decoding).fit(X, sparse.csr_array(LABELS))
    whole = model.predict(X)
    monkeypatch.setattr("polyleaf.boosting.estimators._BLOCK_ENTRIES", 7)
    blocks = model.predict(X)
    assert blocks.dtype == whole.dtype
    assert isinstance(blocks, sparse.csr_array)
    np.testing.assert_array_equal(blocks.toarray(), whole.toarray())
    assert whole.nnz > 0
