"""Graph models survive a file and a pickle."""

import pickle

import numpy as np
import pytest
from graph_problems import linear_labels, quick
from scipy import sparse

import polyleaf
from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.graphs import ChowLiu, Edges

X, Y = linear_labels(80, 4)
CLASSES = np.digitize(X[:, 0], [-0.5, 0.5])
CASES = {
    "linear": (GraphClassifier(), X, Y),
    "sparse": (GraphClassifier(kernel="cosine"), sparse.csr_array(X), sparse.csr_array(Y)),
    "rbf": (GraphClassifier(kernel="rbf", graph=ChowLiu(row_share=0.5)), X, Y),
    "poly": (GraphClassifier(kernel="poly", degree=2, coef0=1.0), X, CLASSES),
    "precomputed": (GraphClassifier(kernel="precomputed"), X @ X.T, Y),
    "given edges": (GraphClassifier(graph=Edges([(0, 1), (1, 2)])), X, Y),
    "binary": (GraphClassifier(), X, np.where(Y[:, 0], "yes", "no")),
    "many outputs": (GraphClassifier(), X, np.column_stack([CLASSES, CLASSES > 0]).astype(str)),
    "uncalibrated": (GraphClassifier(calibration_folds=None), X, Y),
    "mam": (GraphEnsembleClassifier(n_estimators=3), X, Y),
    "amm": (GraphEnsembleClassifier(n_estimators=3, aggregation="amm"), X, Y),
    "mve": (GraphEnsembleClassifier(n_estimators=3, aggregation="mve"), X, CLASSES),
    "completed": (GraphEnsembleClassifier(n_estimators=3, completion="consistent"), X, Y),
}


def as_arrays(value):
    values = value if isinstance(value, list) else [value]
    return [v.toarray() if sparse.issparse(v) else v for v in values]


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_does_what_the_saved_one_did(case, tmp_path):
    model, rows, targets = CASES[case]
    model = model.set_params(random_state=0).fit(rows, targets)
    polyleaf.save(model, tmp_path / "model")
    for loaded in (polyleaf.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert loaded.get_params() == model.get_params()
        assert np.array_equal(loaded.edges_, model.edges_)
        assert np.array_equal(loaded.dual_gap_, model.dual_gap_)
        for name in ("predict", "decision_function", "predict_proba", "staged_predict"):
            if not hasattr(model, name) or (name == "staged_predict" and case == "completed"):
                continue
            one, other = getattr(model, name)(rows), getattr(loaded, name)(rows)
            if name == "staged_predict":
                one, other = list(one), list(other)
            for a, b in zip(as_arrays(one), as_arrays(other), strict=True):
                assert np.array_equal(a, b)
        if isinstance(model, GraphEnsembleClassifier):
            assert (loaded.diversity_, loaded.coherence_) == (model.diversity_, model.coherence_)


@pytest.mark.parametrize(
    "edges", [[(0, 1), (2, 3)], np.array([[0, 1], [2, 3]]), Edges(np.array([[0, 1], [2, 3]]))]
)
def test_edges_given_in_other_forms_come_back_as_edges(edges, tmp_path):
    model = GraphClassifier(**quick(graph=edges)).fit(X, Y)
    polyleaf.save(model, tmp_path / "model")
    assert polyleaf.load(tmp_path / "model").graph == Edges([(0, 1), (2, 3)])


def test_a_function_as_kernel_cannot_be_stored(tmp_path):
    model = GraphClassifier(**quick(kernel=lambda a, b: a @ b.T)).fit(X, Y)
    with pytest.raises(TypeError, match="kernel"):
        polyleaf.save(model, tmp_path / "model")
