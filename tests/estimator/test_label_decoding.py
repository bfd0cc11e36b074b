import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import decoding
from polyleaf._registry import ESTIMATORS
from polyleaf.datasets import make_multilabel

X, Y = make_multilabel(150, 5, 6, cardinality=1.5, random_state=0)
CLASSIFIERS = [cls for name, cls in ESTIMATORS.items() if name.endswith("Classifier")]
each_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)


def small(cls, **parameters):
    sizes = {"n_estimators": 5, "n_rules": 20, "min_samples_leaf": 5}
    known = cls().get_params()
    return cls(random_state=0, **{k: v for k, v in sizes.items() if k in known}, **parameters)


@each_classifier
@pytest.mark.parametrize("rule", ["f1", "jaccard", "top_k", decoding.Threshold(0.2)])
def test_predict_decodes_the_probabilities(cls, rule):
    model = small(cls, decoding=rule).fit(X, Y)
    expected = decoding.resolve(rule).decode(model.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), expected)
    plain = small(cls).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert (plain.predict(X) != expected).any()


@each_classifier
def test_sparse_labels_give_sparse_label_sets(cls):
    model = small(cls, decoding="top_k").fit(X, sparse.csr_array(Y))
    predicted = model.predict(X)
    assert isinstance(predicted, sparse.csr_array)
    chances = model.predict_proba(X)
    chances = chances.toarray() if sparse.issparse(chances) else chances
    np.testing.assert_array_equal(predicted.toarray(), decoding.TopK().decode(chances))


@each_classifier
def test_classes_are_not_decoded(cls):
    kinds = np.where(X[:, 0] > 0, "a", "b")
    ours, plain = (small(cls, decoding=rule).fit(X, kinds).predict(X) for rule in ("f1", "auto"))
    np.testing.assert_array_equal(ours, plain)


@each_classifier
@pytest.mark.parametrize("rule", ["f1", decoding.TopK(2), decoding.Threshold([0.1] * 6)])
def test_model_files_keep_the_rule(cls, rule, tmp_path):
    model = small(cls, decoding=rule).fit(X, Y)
    polyleaf.save(model, tmp_path / "m.polyleaf")
    loaded = polyleaf.load(tmp_path / "m.polyleaf")
    assert loaded.decoding == rule
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_decoders_of_others_are_not_written(tmp_path):
    class Everything(decoding.Decoder):
        def decode_rows(self, probabilities):
            return np.ones(probabilities.shape, dtype=bool)

    model = polyleaf.TreeClassifier(decoding=Everything()).fit(X, Y)
    assert model.predict(X).all()
    with pytest.raises(TypeError, match="polyleaf's own decoders"):
        polyleaf.save(model, tmp_path / "m.polyleaf")


@each_classifier
def test_rules_that_need_held_out_rows_are_refused(cls):
    with pytest.raises(ValueError, match="Wrap the classifier: TunedDecoder"):
        small(cls, decoding="label_thresholds").fit(X, Y)


@each_classifier
def test_known_label_sets_need_a_model_that_keeps_them(cls):
    if cls is polyleaf.RuleClassifier:
        known = {tuple(row) for row in Y}
        predicted = small(cls, decoding="known_label_set").fit(X, Y).predict(X)
        assert {tuple(row) for row in predicted} <= known
    else:
        with pytest.raises(ValueError, match="Use TunedDecoder"):
            small(cls, decoding="known_label_set").fit(X, Y)


@pytest.mark.parametrize(
    "stored", [3, {"decoder": "f1"}, {"decoder": "exec", "parameters": {}},
               {"decoder": "top_k", "parameters": {"j": 1}}],
)  # fmt: skip
def test_damaged_descriptions_are_refused(stored):
    from polyleaf.estimator.classifier import decoding_from_json

    with pytest.raises(
        ValueError, match=r"Expected|must have the parameters|'exec' is not registered"
    ):
        decoding_from_json(stored)
