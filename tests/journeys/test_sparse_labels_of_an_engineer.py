"""An engineer with sparse features and sparse labels, who wants names, speed and one file."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

import polyleaf
from polyleaf.datasets import make_extreme_labels
from polyleaf.experiments import compare


@pytest.fixture(scope="module")
def articles():
    X, Y = make_extreme_labels(300, 200, 120, random_state=0)
    tags = [[f"tag {j:03d}" for j in row.indices] for row in sparse.csr_array(Y)]
    binarizer = MultiLabelBinarizer(sparse_output=True)
    return X, binarizer.fit_transform(tags), binarizer.classes_


def test_labels_have_names_from_the_binarizer_to_the_answer(articles, tmp_path):
    X, Y, names = articles
    forest = polyleaf.RandomForestClassifier(n_estimators=10, random_state=0)
    forest.fit(X[:200], Y[:200], output_names=names)
    answers = forest.predict_topk(X[200:], k=3, names=True)
    assert len(answers) == 100
    assert all(len(row) <= 3 and {name for name, _ in row} <= set(names) for row in answers)
    polyleaf.save(forest, tmp_path / "tags.polyleaf")
    kept = polyleaf.load(tmp_path / "tags.polyleaf")
    assert kept.predict_topk(X[200:], k=3, names=True) == answers
    assert kept.output_names_.tolist() == list(names)


def test_nothing_becomes_dense_on_the_way(articles):
    X, Y, names = articles
    forest = polyleaf.ExtraTreesClassifier(n_estimators=5, random_state=0)
    assert sparse.issparse(polyleaf.cross_val_proba(forest, X, Y, cv=2, random_state=0))
    boosted = polyleaf.BoostingClassifier(n_estimators=5, random_state=0)
    boosted.fit(X[:200], Y[:200], output_names=names, eval_set=[(X[200:], Y[200:])])
    assert sparse.issparse(boosted.predict(X))
    assert boosted.predict_topk(X[200:], k=5).nnz <= 500
    assert boosted.history_["validation_loss_per_output"].shape == (5, len(names))
    judged = polyleaf.evaluate(boosted, X[200:], Y[200:], ["precision_at_1", "micro_auc"])
    assert 0 <= judged["precision_at_1"] <= 1
    assert np.isfinite(judged["micro_auc"])


def test_methods_are_compared_on_sparse_data(articles):
    X, Y, _ = articles
    result = compare(X[:150], Y[:150, :20], methods=["Mean", "Tree"], metrics=["micro_f1"], cv=2)
    assert {standing.method for standing in result.leaderboard("micro_f1")} == {"Mean", "Tree"}
    model = result.best_estimator(refit=False)
    assert not hasattr(model, "n_outputs_")
