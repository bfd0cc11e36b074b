"""One graph: kernels, tasks, edge cases and what is refused."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from graph_problems import linear_labels, quick
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import LinearSVC

from polyleaf import BinnedData, GraphClassifier


@pytest.fixture(scope="module")
def data():
    X, Y = linear_labels(300)
    return X[:200], Y[:200], X[200:], Y[200:]


@pytest.mark.parametrize("graph", ["spanning_tree", "recursive_tree", "random_pairs", "chow_liu"])
def test_every_graph_learns_linear_labels(data, graph):
    X, Y, X_test, Y_test = data
    model = GraphClassifier(**quick(graph=graph, C="3*scale")).fit(X, Y)
    assert (model.predict(X_test) == Y_test).mean() > 0.95
    assert model.dual_gap_ <= 0.01 * model.objective_
    assert model.n_iter_ >= 1


@pytest.mark.parametrize("margin_loss", ["edge", "node", "hamming"])
def test_every_margin_loss_learns_linear_labels(data, margin_loss):
    X, Y, X_test, Y_test = data
    model = GraphClassifier(**quick(margin_loss=margin_loss, C="3*scale")).fit(X, Y)
    assert (model.predict(X_test) == Y_test).mean() > 0.95


def test_a_graph_with_cycles_is_trained_with_approximate_inference(data):
    X, Y, X_test, Y_test = data
    model = GraphClassifier(**quick(graph=nx.complete_graph(5))).fit(X, Y)
    assert model.edges_.shape == (10, 2)
    assert (model.predict(X_test) == Y_test).mean() > 0.95


def test_a_single_label_is_a_support_vector_machine():
    X, Y = linear_labels(150, 1, noise=0.1)
    y = Y[:, 0]
    # With v = w_1 - w_0 the problem is 1/4 |v|^2 + C sum of hinges: an SVM of twice that C.
    model = GraphClassifier(
        **quick(intercept_scaling=0.0, C=0.5, tol=1e-6, max_iter=2000, scale_features=False)
    )
    svm = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-8, max_iter=10**6)
    scores, expected = (m.fit(X, y).decision_function(X) for m in (model, svm))
    np.testing.assert_allclose(scores, expected, atol=1e-2)


def linear_models(X, Y, X_test):
    scaled = 1.3
    gram, cross = X @ X.T + scaled**2, X_test @ X.T + scaled**2
    wider, wider_test = (np.column_stack([a, np.full(len(a), scaled)]) for a in (X, X_test))
    yield "linear", {"kernel": "linear", "intercept_scaling": scaled}, X, X_test
    yield (
        "sparse",
        {"kernel": "linear", "intercept_scaling": scaled},
        *map(sparse.csr_array, (X, X_test)),
    )
    yield "precomputed", {"kernel": "precomputed", "intercept_scaling": 0.0}, gram, cross
    yield "function", {"kernel": lambda a, b: a @ b.T, "intercept_scaling": scaled}, X, X_test
    yield (
        "columns",
        {"kernel": "linear", "intercept_scaling": 0.0},
        wider,
        wider_test,
    )
    degree_one = {"kernel": "poly", "degree": 1, "gamma": 1.0, "intercept_scaling": scaled}
    yield "poly", degree_one, X, X_test


def test_all_ways_to_say_linear_are_one_model(data):
    X, Y, X_test, _ = data
    scores = {}
    for name, parameters, rows, test_rows in linear_models(X, Y, X_test):
        # The optimum is unique; close to it, all ways give the same scores.
        precise = quick(tol=1e-5, max_iter=3000, C=0.1, scale_features=False)
        model = GraphClassifier(**precise | parameters)
        scores[name] = model.fit(rows, Y).decision_function(test_rows)
    for name, found in scores.items():
        np.testing.assert_allclose(found, scores["linear"], atol=0.02, err_msg=name)


@pytest.mark.parametrize(
    ("parameters", "kernel"),
    [
        ({"kernel": "rbf", "gamma": 0.5}, lambda a, b: rbf_kernel(a, b, 0.5)),
        (
            {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 1.0},
            lambda a, b: polynomial_kernel(a, b, 2, 0.3, 1.0),
        ),
    ],
)
def test_named_kernels_are_those_of_scikit_learn(data, parameters, kernel):
    X, Y, X_test, Y_test = data
    named = GraphClassifier(**quick(scale_features=False, **parameters)).fit(X, Y)
    own = GraphClassifier(**quick(kernel="precomputed")).fit(kernel(X, X), Y)
    np.testing.assert_allclose(
        named.decision_function(X_test), own.decision_function(kernel(X_test, X)), rtol=1e-6
    )
    assert (named.predict(X_test) == Y_test).mean() > 0.9


def test_the_cosine_kernel_is_linear_on_rows_of_length_one(data):
    X, Y, X_test, _ = data
    unit, unit_test = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (X, X_test))
    precise = quick(C=0.1, tol=1e-5, max_iter=3000, scale_features=False)
    cosine = GraphClassifier(**precise | {"kernel": "cosine"}).fit(X, Y)
    linear = GraphClassifier(**precise).fit(unit, Y)
    np.testing.assert_allclose(
        cosine.decision_function(X_test), linear.decision_function(unit_test), atol=0.02
    )


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 200))
    Y = (X[:, :4] > 0).astype(int)
    model = GraphClassifier(**quick()).fit(X, Y)
    assert (model.predict(X) == Y).all()
    assert model.predict(X[:3]).shape == (3, 4)


@pytest.mark.parametrize("graph", ["spanning_tree", "random_pairs"])
def test_classes_of_many_kinds(graph):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    first = np.digitize(X[:, 0], [-0.6, 0.6])
    second = np.where(X[:, 1] > 0, "up", "down")
    third = np.digitize(X.sum(axis=1), [-1.0, 0.0, 1.0])
    Y = pd.DataFrame({"first": first, "second": second, "third": third})
    model = GraphClassifier(graph=graph, kernel="rbf", C=10.0, random_state=0).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == (300, 3)
    for j, name in enumerate(Y):
        assert (predicted[:, j] == Y[name].to_numpy()).mean() > 0.85
    scores, chances = model.decision_function(X), model.predict_proba(X)
    for j, classes in enumerate(model.classes_):
        assert scores[j].shape == chances[j].shape == (300, len(classes))
        np.testing.assert_allclose(chances[j].sum(axis=1), 1.0)
        assert np.array_equal(classes[np.argmax(chances[j], axis=1)], predicted[:, j])


def test_constant_labels_are_predicted_as_they_are():
    X, Y = linear_labels(100, 5)
    Y[:, 1], Y[:, 3] = 0, 1
    model = GraphClassifier(random_state=0).fit(X, Y)
    predicted = model.predict(X)
    assert (predicted[:, 1] == 0).all()
    assert (predicted[:, 3] == 1).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_five_hundred_labels():
    X, Y = linear_labels(150, 500)
    model = GraphClassifier(**quick()).fit(X, Y)
    assert model.edges_.shape == (499, 2)
    assert (model.predict(X) == Y).mean() > 0.95


def test_a_sparse_y_comes_back_sparse(data):
    X, Y, X_test, _ = data
    dense = GraphClassifier(**quick()).fit(X, Y).predict(X_test)
    found = GraphClassifier(**quick()).fit(X, sparse.csr_array(Y)).predict(X_test)
    assert isinstance(found, sparse.csr_array)
    assert np.array_equal(found.toarray(), dense)


def test_edges_may_name_the_columns_of_y(data):
    X, Y, _, _ = data
    frame = pd.DataFrame(Y, columns=list("abcde"))
    model = GraphClassifier(**quick(graph=[("a", "e"), ("c", "b")])).fit(X, frame)
    assert model.edges_.tolist() == [[0, 4], [1, 2]]
    assert model.output_names_.tolist() == list("abcde")


def test_probabilities_are_honest_and_on_the_side_of_the_prediction():
    X, Y = linear_labels(1500, 4, noise=0.15)
    model = GraphClassifier(random_state=0).fit(X[:700], Y[:700])
    chances = model.predict_proba(X[700:])
    truth = Y[700:]
    assert np.array_equal(chances > 0.5, model.predict(X[700:]) == 1)
    for low, high in ((0.0, 0.3), (0.7, 1.0)):
        inside = (chances >= low) & (chances <= high)
        assert abs(chances[inside].mean() - truth[inside].mean()) < 0.07
    base = Y[:700].mean(axis=0)
    assert ((chances - truth) ** 2).mean() < 0.7 * ((base - truth) ** 2).mean()


def test_logarithms_of_probabilities_are_those_of_predict_proba(data):
    X, Y, X_test, _ = data
    model = GraphClassifier(random_state=0).fit(X, Y)
    assert np.array_equal(model.predict_log_proba(X_test), np.log(model.predict_proba(X_test)))


def test_probabilities_need_calibration_folds(data):
    X, Y, _, _ = data
    model = GraphClassifier(calibration_folds=None).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(ValueError, match="was fitted with calibration_folds=None"):
        model.set_params(calibration_folds=3).predict_proba(X)


def test_a_decoding_of_probabilities_needs_calibration_folds(data):
    X, Y = data[:2]
    with pytest.raises(ValueError, match=r"needs probabilities.*Set calibration_folds"):
        GraphClassifier(**quick(decoding="f1")).fit(X, Y)
    GraphClassifier(**quick(decoding="f1")).fit(X, Y[:, 0])  # one output is not decoded


def test_training_that_does_not_end_says_what_to_do(data):
    X, Y, _, _ = data
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap.*Raise max_iter"):
        GraphClassifier(**quick(max_iter=1, tol=1e-6)).fit(X, Y)


@pytest.mark.parametrize(
    ("X", "parameters", "message"),
    [
        (
            pd.DataFrame({"a": [1.0, 2.0], "kind": ["x", "y"]}),
            {},
            r"columns: \['kind'\]",
        ),
        (np.array([[1.0], [np.nan]]), {}, "contains NaN.*SimpleImputer"),
        (np.array([[1.0], [np.inf]]), {}, "infinity"),
        (np.array([[1.0], [1e200]]), {}, "overflow"),
        (np.ones((2, 3)), {"kernel": "precomputed"}, "square"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), {"kernel": "precomputed"}, "symmetric"),
        (sparse.csr_array(np.eye(2)), {"kernel": "rbf"}, "'linear' or 'cosine'"),
        (np.ones((2, 3)), {"kernel": lambda a, b: np.ones(2)}, "shape"),
        (np.ones((2, 3)), {"kernel": lambda a, b: np.full((2, 2), np.nan)}, "NaN"),
    ],
)
def test_what_kernels_cannot_take_is_refused(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        GraphClassifier(**quick(**parameters)).fit(X, [[0, 1], [1, 0]])


def test_binned_data_is_refused(data):
    X, Y, _, _ = data
    with pytest.raises(TypeError, match="needs the numbers of X"):
        GraphClassifier().fit(BinnedData(X), Y)
