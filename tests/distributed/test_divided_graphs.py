"""Graph classifiers whose members are solved on several workers are those of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from divided import assert_same, cut, fit_divided
from scipy import sparse
from sklearn.base import clone

from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.distributed import CollectiveError

MODELS: dict[str, Any] = {
    "one graph": GraphClassifier(random_state=0),
    "ensemble": GraphEnsembleClassifier(n_estimators=5, random_state=0),
    "votes": GraphEnsembleClassifier(n_estimators=4, aggregation="mve", random_state=0),
    "consistent": GraphEnsembleClassifier(
        n_estimators=3, completion="consistent", calibration_folds=None, random_state=0
    ),
    "chosen kernel": GraphEnsembleClassifier(
        n_estimators=3, kernel="auto", C="auto", random_state=0
    ),
}


def make_data(n_rows: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, (np.sin(X) @ rng.normal(size=(4, 3)) > 0).astype(int)


@pytest.mark.parametrize("name", MODELS)
def test_graphs_of_several_workers_are_those_of_one_machine(name: str) -> None:
    X, Y = make_data()
    expected = clone(MODELS[name]).fit(X, Y)
    found = fit_divided(MODELS[name], X, Y, world=3, parts=cut(len(X), 5))
    assert_same(found, expected)
    assert np.array_equal(found.predict(X), expected.predict(X))


def test_labels_that_are_missing_or_weigh_more_and_classes() -> None:
    X, Y = make_data()
    labels = np.where(np.random.default_rng(1).random(Y.shape) < 0.1, np.nan, Y)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    model = GraphEnsembleClassifier(n_estimators=3, class_weight="balanced", random_state=0)
    expected = clone(model).fit(X, labels, sample_weight=weights)
    found = fit_divided(model, X, labels, weights, world=2, parts=cut(len(X), 4))
    assert_same(found, expected)
    classes = np.column_stack([X[:, 0] * 2 // 1 % 3, X[:, 1] > 0]).astype(int)
    expected = clone(model).fit(X, classes)
    assert_same(fit_divided(model, X, classes, world=2, parts=cut(len(X), 4)), expected)


def test_sparse_parts_of_graphs() -> None:
    X, Y = make_data()
    rows, labels = sparse.csr_array(np.where(X > 0.5, X, 0.0)), sparse.csr_array(Y)
    model = GraphEnsembleClassifier(n_estimators=3, kernel="linear", random_state=0)
    expected = clone(model).fit(rows, labels)
    found = fit_divided(model, rows, labels, world=2, parts=cut(len(X), 4))
    assert_same(found, expected)


def test_missing_numbers_are_refused_on_all_workers() -> None:
    X, Y = make_data()
    X[7, 1] = np.nan
    with pytest.raises((ValueError, CollectiveError), match="Input X contains NaN"):
        fit_divided(MODELS["ensemble"], X, Y, world=2, parts=cut(len(X), 4))
