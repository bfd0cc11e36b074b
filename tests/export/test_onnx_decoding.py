import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import decoding
from polyleaf.datasets import make_multilabel
from polyleaf.export import CannotExportError, to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

N_TRAIN = 300
X, Y = make_multilabel(n_samples=10_000 + N_TRAIN, n_labels=7, random_state=0)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
X = X.astype(np.float32)
TRAIN, TRUTH, NEW = X[:N_TRAIN], Y[:N_TRAIN], X[N_TRAIN:]


def run(model, rows, exact):
    graph = to_onnx(model, exact=exact)
    onnx.checker.check_model(graph)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    rows = rows.astype(np.float64 if exact else np.float32)
    return dict(zip(names, session.run(names, {"X": rows})))


def dense(values):
    return values.toarray() if sparse.issparse(values) else values


def changed_rows(model, found):
    """Rows whose label sets differ; ties between sets are decided by rounding."""
    return np.flatnonzero((found["prediction"] != dense(model.predict(NEW))).any(axis=1))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "rule",
    [
        decoding.Threshold(0.3),
        decoding.Threshold([0.2, 0.5, 0.7, 0.1, 0.3, 0.3, 0.6]),
        decoding.TopK(2),
        "top_k",
        "subset",
        "f1",
        "jaccard",
    ],
    ids=str,
)
def test_labels_are_decoded_inside_the_graph(rule, exact):
    model = polyleaf.BoostingClassifier(n_estimators=10, decoding=rule, random_state=0)
    model.fit(TRAIN, TRUTH)
    assert changed_rows(model, run(model, NEW, exact)).size == 0


@pytest.mark.parametrize("rule", ["f1", "jaccard"])
def test_certain_and_impossible_labels_are_decoded_as_in_the_model(rule):
    tree = polyleaf.TreeClassifier(decoding=rule, random_state=0).fit(TRAIN, TRUTH)
    assert set(np.unique(tree.predict_proba(NEW))) >= {0.0, 1.0}
    assert changed_rows(tree, run(tree, NEW, exact=True)).size == 0


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic"])
@pytest.mark.parametrize("rule", list(decoding.DECODERS))
def test_tuned_decoders_are_calibrated_and_decoded_inside_the_graph(rule, calibration, exact):
    inner = polyleaf.BoostingClassifier(n_estimators=8, random_state=0)
    model = polyleaf.TunedDecoder(
        inner, decoding=rule, calibration=calibration, cv=2, random_state=0
    ).fit(TRAIN, TRUTH)
    found = run(model, NEW, exact)
    assert list(found) == ["prediction", "probability"]
    # A step of an isotonic fit is steep: it multiplies what float32 rounds.
    near = 1e-3 if calibration == "isotonic" and not exact else 1e-6
    expected = model.predict_proba(NEW)
    np.testing.assert_allclose(found["probability"], expected, rtol=0, atol=near)
    assert changed_rows(model, found).size <= (0 if exact else len(NEW) // 1000)


def test_zeros_of_sparse_probabilities_are_not_calibrated():
    forest = polyleaf.RandomForestClassifier(n_estimators=8, random_state=0)
    model = polyleaf.TunedDecoder(forest, decoding="f1", calibration="sigmoid", cv=2)
    model.fit(TRAIN, sparse.csr_array(TRUTH))
    found = run(model, NEW, exact=False)
    expected = dense(model.predict_proba(NEW))
    assert (expected == 0).any()
    np.testing.assert_allclose(found["probability"], expected, rtol=0, atol=1e-6)
    assert changed_rows(model, found).size <= len(NEW) // 1000


def test_rules_of_whole_rows_are_tuned_by_the_probabilities_of_labels():
    rules = polyleaf.RuleClassifier(n_rules=20, loss="examplewise_logistic", random_state=0)
    model = polyleaf.TunedDecoder(rules, decoding="jaccard", cv=2, random_state=0)
    model.fit(TRAIN, TRUTH)
    found = run(model, NEW, exact=True)
    np.testing.assert_allclose(found["probability"], model.predict_proba(NEW), atol=1e-9)
    assert changed_rows(model, found).size == 0


def test_decoders_that_no_graph_can_hold_are_refused_for_predictions_only():
    class Everything(decoding.Decoder):
        def decode_rows(self, probabilities):
            return np.ones(probabilities.shape, dtype=bool)

    model = polyleaf.RandomForestClassifier(n_estimators=3, decoding=Everything())
    model.fit(TRAIN, TRUTH)
    with pytest.raises(CannotExportError, match="Python function"):
        to_onnx(model)
    names = [
        output.name for output in to_onnx(model, outputs=("score", "probability")).graph.output
    ]
    assert names == ["probability", "score"]


def test_expected_f1_of_very_many_labels_is_refused():
    labels = sparse.random_array((60, 501), density=0.02, rng=np.random.default_rng(0))
    labels.data[:] = 1
    model = polyleaf.ExtraTreesClassifier(n_estimators=2, decoding="f1")
    model.fit(np.arange(60.0)[:, None], labels)
    with pytest.raises(CannotExportError, match=r"500 labels; got 501"):
        to_onnx(model)


def test_rules_that_search_over_joint_label_sets_are_refused():
    rules = polyleaf.RuleClassifier(n_rules=5, loss="examplewise_logistic", decoding="f1")
    with pytest.raises(CannotExportError, match="joint distribution"):
        to_onnx(rules.fit(TRAIN, TRUTH))


def test_tuned_decoders_of_other_libraries_are_refused():
    from sklearn.neighbors import KNeighborsClassifier

    rows = np.nan_to_num(TRAIN)
    model = polyleaf.TunedDecoder(KNeighborsClassifier(), cv=2).fit(rows, TRUTH)
    with pytest.raises(CannotExportError, match="got KNeighborsClassifier"):
        to_onnx(model)
