"""Graph classifiers in ONNX: linear kernels, exact inference; others are refused, and why."""

import numpy as np
import pytest
from sklearn.base import clone

import polyleaf
from polyleaf.export import CannotExportError, to_onnx, to_python

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4)).astype(np.float32) * np.float32([1, 10, 1, 1])
X[:, 1] += 2000  # years: scaled inside the graph
NEW = RNG.normal(size=(10_000, 4)).astype(np.float32) * np.float32([1, 10, 1, 1])
NEW[:, 1] += 2000
NEW[0] = 0.0  # cosine of nothing
SCORES = (X - X.mean(axis=0)) @ RNG.normal(size=(4, 6))
LABELS = (SCORES > 0).astype(int)
CLASSES = np.array(["a", "b", "c", "d"])[np.digitize(SCORES[:, 0], [-8, 0, 8])]
SEVERAL = np.column_stack([CLASSES, np.where(SCORES[:, 1] > 0, "up", "down"), CLASSES[::-1]])
CONSTANT = np.column_stack([np.full(len(X), "all"), SEVERAL[:, 0]])
SMALL = {"tol": 0.3, "max_iter": 10, "random_state": 0}


def graphs(n_estimators=3, **settings):
    chosen = SMALL | {"n_estimators": n_estimators, "kernel": "linear"} | settings
    return polyleaf.GraphEnsembleClassifier(**chosen)


MODELS = [
    polyleaf.GraphClassifier(**SMALL, kernel="linear"),
    polyleaf.GraphClassifier(**SMALL, kernel="cosine", intercept_scaling=0),
    polyleaf.GraphClassifier(**SMALL, kernel="linear", scale_features=False),
    graphs(aggregation="mam"),  # a cyclic union of few labels: all labellings are scored
    graphs(aggregation="amm", kernel="cosine"),
    graphs(aggregation="mve"),
    graphs(aggregation="amm", graph="random_pairs"),
]


def run(graph, rows=NEW):
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows})))


def side_by_side(values):
    return np.hstack(values) if isinstance(values, list) else values


@pytest.mark.parametrize("y", [LABELS, LABELS[:, :1], LABELS[:, 0], CLASSES, SEVERAL, CONSTANT])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.kernel}")
def test_a_linear_graph_model_in_onnx_labels_and_scores_as_the_model(model, y):
    fitted = clone(model).fit(X, y)
    found = run(to_onnx(fitted))
    expected = side_by_side(fitted.decision_function(NEW))
    np.testing.assert_allclose(found["score"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        found["probability"], side_by_side(fitted.predict_proba(NEW)), atol=1e-6
    )
    if y is not CONSTANT and model.get_params().get("aggregation") != "mve":
        clear = np.abs(expected).reshape(len(NEW), -1).min(axis=1) > 1e-6
        assert clear.mean() > 0.99
    else:
        clear = np.full(len(NEW), True)
    np.testing.assert_array_equal(found["prediction"][clear], fitted.predict(NEW)[clear])


def test_a_deep_tree_of_many_labels_is_exact_too():
    rng = np.random.default_rng(1)
    Y = (rng.normal(size=(60, 4)) @ rng.normal(size=(4, 80)) > 0).astype(int)
    chain = [(j, j + 1) for j in range(79)]
    fitted = polyleaf.GraphClassifier(**SMALL, kernel="linear", graph=chain).fit(X[:60], Y)
    found = run(to_onnx(fitted), NEW[:500])
    np.testing.assert_allclose(
        found["score"], fitted.decision_function(NEW[:500]), rtol=1e-5, atol=1e-6
    )


def test_decoders_and_calibration_apply_to_graphs():
    fitted = polyleaf.GraphClassifier(**SMALL, kernel="linear", decoding="f1").fit(X, LABELS)
    np.testing.assert_array_equal(run(to_onnx(fitted))["prediction"], fitted.predict(NEW))
    tuned = polyleaf.TunedDecoder(
        polyleaf.GraphClassifier(**SMALL, kernel="linear"), cv=2, random_state=0
    ).fit(X, LABELS)
    found = run(to_onnx(tuned))
    differ = (found["prediction"] != tuned.predict(NEW)).mean()
    assert differ < 1e-3  # steps of a calibration


def test_without_calibration_there_is_no_probability():
    fitted = polyleaf.GraphClassifier(**SMALL, kernel="linear", calibration_folds=None)
    graph = to_onnx(fitted.fit(X, LABELS))
    assert [output.name for output in graph.graph.output] == ["prediction", "score"]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (polyleaf.GraphClassifier(**SMALL, kernel="rbf"), "'rbf'.*kernel='linear'"),
        (graphs(aggregation="mam"), "2\\^14 labellings.*aggregation='amm'"),
    ],
    ids=["rbf", "cycles"],
)
def test_other_graph_models_are_refused_with_a_reason(model, told):
    many = np.tile(LABELS, 3)
    with pytest.raises(CannotExportError, match=told):
        to_onnx(model.fit(X, many))


def test_exact_graphs_and_texts_of_graphs_are_refused():
    fitted = polyleaf.GraphClassifier(**SMALL, kernel="linear").fit(X, LABELS)
    with pytest.raises(CannotExportError, match="exact=False"):
        to_onnx(fitted, exact=True)
    with pytest.raises(CannotExportError, match="no sum of trees: only to_onnx"):
        to_python(fitted)
