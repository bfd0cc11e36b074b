"""The likeliest labels, from every classifier."""

import numpy as np
import pytest
from scipy import sparse

import polyleaf

rng = np.random.default_rng(1)
X = rng.normal(size=(80, 4))
LABELS = (X @ rng.normal(size=(4, 6)) + rng.normal(size=(80, 6)) > 0.5).astype(int)
NAMES = list("abcdef")
CLASSIFIERS = {
    "tree": polyleaf.TreeClassifier(max_depth=3),
    "forest": polyleaf.RandomForestClassifier(n_estimators=5, random_state=0),
    "boosting": polyleaf.BoostingClassifier(n_estimators=5, random_state=0),
    "boosting per output": polyleaf.BoostingClassifier(
        n_estimators=2, projection="round_robin", random_state=0
    ),
    "rules": polyleaf.RuleClassifier(n_rules=10, random_state=0),
    "rules of whole rows": polyleaf.RuleClassifier(
        n_rules=10, loss="examplewise_logistic", random_state=0
    ),
    "graph": polyleaf.GraphClassifier(calibration_folds=3, random_state=0),
}
each_classifier = pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@each_classifier
@pytest.mark.parametrize("given", [np.asarray, sparse.csr_array])
def test_the_likeliest_labels_are_the_top_of_the_probabilities(model, given):
    model.fit(X, given(LABELS))
    top = model.predict_topk(X, k=2)
    probabilities = dense(model.predict_proba(X))
    expected = np.zeros_like(probabilities)
    for row, values in enumerate(probabilities):
        chosen = np.argsort(-values, kind="stable")[:2]  # of equal ones, the first
        expected[row, chosen] = values[chosen]
    assert isinstance(top, sparse.csr_array)
    np.testing.assert_allclose(top.toarray(), expected, atol=1e-12)


@each_classifier
def test_names_begin_with_the_likeliest(model):
    model.fit(X, LABELS, output_names=NAMES)
    listed = model.predict_topk(X[:7], k=3, names=True)
    top = model.predict_topk(X[:7], k=3).toarray()
    assert len(listed) == 7
    for row, pairs in enumerate(listed):
        shares = [share for _, share in pairs]
        assert len(pairs) <= 3
        assert shares == sorted(shares, reverse=True)
        assert dict(pairs) == {NAMES[j]: top[row, j] for j in np.flatnonzero(top[row])}


def test_boosting_answers_block_by_block_as_at_once(monkeypatch):
    model = CLASSIFIERS["boosting"].fit(X, sparse.csr_array(LABELS))
    at_once = model.predict_topk(X, k=2).toarray()
    monkeypatch.setattr("polyleaf.boosting.estimators._BLOCK_ENTRIES", 30)
    np.testing.assert_array_equal(model.predict_topk(X, k=2).toarray(), at_once)


@pytest.mark.parametrize("name", ["boosting", "rules"])
def test_classes_have_no_likeliest_labels(name):
    with pytest.raises(ValueError, match=r"multi-label problems; y was binary\. Use"):
        CLASSIFIERS[name].fit(X, LABELS[:, 0]).predict_topk(X)
