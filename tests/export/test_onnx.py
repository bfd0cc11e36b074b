import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import polyleaf
from polyleaf import projections
from polyleaf.export import CannotExportError, to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

N_NEW = 10_000


def make_X(n, seed):
    """Rows with missing values, and with many values that thresholds will hit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 3] = np.round(X[:, 3], 1)
    X[:, 4] = rng.integers(0, 4, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def make_Y(X):
    F = np.nan_to_num(X)
    numbers = np.column_stack([F[:, 0] + F[:, 1], 3 * F[:, 2] + 5, F[:, 0] * F[:, 3]])
    labels = (numbers > np.median(numbers, axis=0)).astype(int)
    classes = np.digitize(F[:, 0], [-0.5, 0.5])
    return {
        "numbers": numbers,
        "number": numbers[:, 0],
        "counts": np.abs(numbers).round(),
        "labels": labels,
        "sparse labels": sparse.csr_array(labels),
        "binary": np.array(["no", "yes"])[labels[:, 0]],
        "classes": classes,
        "outputs": np.column_stack([classes, 5 + labels[:, 1]]),
    }


X = make_X(300, 0)
Y = make_Y(X)


def run(model, rows, **options):
    graph = to_onnx(model, **options)
    onnx.checker.check_model(graph)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, rows)))


def dense(values):
    if isinstance(values, list):
        return np.hstack(values)
    return values.toarray() if sparse.issparse(values) else values


def new_rows(model, exact):
    """New rows, of which half the values lie on thresholds of the model."""
    rng = np.random.default_rng(1)
    rows = make_X(N_NEW, 2)
    structure = model._additive().structure
    inner = structure.feature >= 0
    for feature in range(5):
        found = structure.threshold[inner & (structure.feature == feature)]
        found = found[np.isfinite(found)]
        if found.size:
            hit = rng.random(N_NEW) < 0.5
            rows[hit, feature] = rng.choice(found, hit.sum())
    return rows.astype(np.float64 if exact else np.float32)


def check(model, exact):
    rows = new_rows(model, exact)
    found = run(model, {"X": rows}, exact=exact)
    expected = dense(model.predict(rows))
    assert found["prediction"].shape == expected.shape
    if not hasattr(model, "predict_proba"):
        size = np.abs(expected).max()
        np.testing.assert_allclose(found["prediction"], expected, rtol=1e-5, atol=1e-6 * size)
        if exact and getattr(model, "loss", "") != "poisson":
            np.testing.assert_array_equal(found["prediction"], expected)
            np.testing.assert_array_equal(found["score"].reshape(expected.shape), expected)
        return
    probabilities = dense(model.predict_proba(rows))
    np.testing.assert_allclose(found["probability"], probabilities, rtol=0, atol=1e-6)
    if not model._targets.is_sparse:
        scores = dense(model.decision_function(rows))
        assert found["score"].shape == scores.shape
        np.testing.assert_allclose(found["score"], scores, rtol=1e-5, atol=1e-5)
        if exact:
            np.testing.assert_array_equal(found["score"], scores)
    differs = found["prediction"] != expected
    if not exact:
        differs = differs.reshape(N_NEW, -1) & ~near_ties(model, probabilities)
    assert not differs.any()


def near_ties(model, probabilities):
    """Tell which entries are decided by rounding."""
    offsets = model._targets.channel_offsets
    if model._targets.kind in ("binary", "multilabel"):
        return np.abs(probabilities[:, -model.n_outputs_ :] - 0.5) < 1e-6
    best = [np.sort(part, axis=1) for part in np.split(probabilities, offsets[1:-1], axis=1)]
    return np.column_stack([part[:, -1] - part[:, -2] < 1e-6 for part in best])


CASES = [
    ("TreeRegressor", "numbers", {}),
    ("TreeRegressor", "number", {"min_samples_leaf": 300}),
    ("RandomForestRegressor", "numbers", {"n_estimators": 10}),
    ("ExtraTreesRegressor", "numbers", {"n_estimators": 5, "min_samples_leaf": 12}),
    ("BaggedTreesRegressor", "number", {"n_estimators": 5}),
    (
        "RandomForestRegressor",
        "numbers",
        {
            "n_estimators": 10,
            "projection": projections.Subsample(n_components=2),
            "aggregation": "subspace",
        },
    ),
    ("BoostingRegressor", "numbers", {"n_estimators": 30}),
    ("BoostingRegressor", "number", {"n_estimators": 10, "loss": "absolute_error"}),
    ("BoostingRegressor", "counts", {"n_estimators": 10, "loss": "poisson"}),
    ("BoostingRegressor", "numbers", {"n_estimators": 10, "projection": "round_robin"}),
    (
        "BoostingRegressor",
        "numbers",
        {"n_estimators": 10, "loss": polyleaf.losses.Quantile([0.1, 0.9])},
    ),
    ("RuleRegressor", "numbers", {"n_rules": 30}),
    ("TreeClassifier", "labels", {}),
    ("RandomForestClassifier", "labels", {"n_estimators": 10}),
    ("RandomForestClassifier", "binary", {"n_estimators": 9}),
    ("ExtraTreesClassifier", "outputs", {"n_estimators": 5}),
    ("BaggedTreesClassifier", "classes", {"n_estimators": 5}),
    ("BoostingClassifier", "labels", {"n_estimators": 20}),
    ("BoostingClassifier", "binary", {"n_estimators": 20}),
    ("BoostingClassifier", "classes", {"n_estimators": 10}),
    ("BoostingClassifier", "outputs", {"n_estimators": 10}),
    ("BoostingClassifier", "outputs", {"n_estimators": 10, "loss": "squared_error"}),
    ("BoostingClassifier", "sparse labels", {"n_estimators": 10}),
    ("RuleClassifier", "labels", {"n_rules": 30}),
    ("RuleClassifier", "outputs", {"n_rules": 30, "loss": "squared_hinge"}),
    ("RuleClassifier", "labels", {"n_rules": 40, "loss": "examplewise_logistic"}),
    (
        "RuleClassifier",
        "labels",
        {"n_rules": 40, "loss": "examplewise_squared_error", "set_probabilities": "loss"},
    ),
    ("RuleClassifier", "labels", {"n_rules": 40, "loss": "examplewise_squared_hinge"}),
]
LINEAR = {"n_estimators": 20, "leaf_fit": "linear", "projection": "gaussian"}
INEXACT = [
    ("BoostingRegressor", "numbers", LINEAR),
    ("BoostingClassifier", "labels", LINEAR),
    ("RandomForestClassifier", "sparse labels", {"n_estimators": 10}),
]


def fitted(name, target, parameters):
    return getattr(polyleaf, name)(random_state=0, **parameters).fit(X, Y[target])


def case_id(case):
    name, target, parameters = case
    return "-".join([name, target, *map(str, parameters)])


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_exact_graphs_give_the_scores_of_the_model_to_the_last_bit(case):
    check(fitted(*case), exact=True)


@pytest.mark.parametrize("case", CASES + INEXACT, ids=case_id)
def test_graphs_in_single_precision_agree_with_the_model(case):
    check(fitted(*case), exact=False)


@pytest.mark.parametrize("case", INEXACT, ids=case_id)
def test_sums_in_another_order_are_not_called_exact(case):
    with pytest.raises(CannotExportError, match="exact=False"):
        to_onnx(fitted(*case), exact=True)


def test_leaves_that_hold_rows_are_smaller_than_dense_ones():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 5))
    labels = sparse.random_array((400, 300), density=0.02, rng=rng, format="csr")
    labels.data[:] = 1
    model = polyleaf.ExtraTreesClassifier(n_estimators=8, random_state=0).fit(rows, labels)
    n_dense = model._forest.structure.n_leaves * 300 * 4
    graph = to_onnx(model, outputs="probability")
    assert graph.ByteSize() < n_dense / 2
    found = run(model, {"X": rows.astype(np.float32)}, outputs="probability")["probability"]
    expected = model.predict_proba(rows.astype(np.float32)).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-6)


# Categories --------------------------------------------------------------------------------------


def make_frame(n, seed, n_cities):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).round(1),
            "city": rng.choice([f"c{i}" for i in range(n_cities)], n),
            "code": rng.integers(0, 70, n),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "score": rng.normal(size=n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    return frame


def as_inputs(frame, dtype):
    rows = {}
    for name in frame:
        column = frame[name]
        own = "score_" if name == "score" else name
        if name in ("city", "grade"):
            text = column.astype(object).where(column.notna(), "")
            rows[own] = text.to_numpy(dtype=object).reshape(-1, 1)
        else:
            rows[own] = column.to_numpy(dtype).reshape(-1, 1)
    return rows


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("RandomForestRegressor", {"n_estimators": 10}),
        ("BoostingRegressor", {"n_estimators": 20}),
        ("RuleRegressor", {"n_rules": 60}),
    ],
)
def test_categories_seen_unseen_and_missing_go_the_way_of_the_model(name, parameters, exact):
    frame = make_frame(600, 0, n_cities=40)
    effect = frame["city"].map(lambda city: 0 if pd.isna(city) else hash_of(city))
    levels = frame["grade"].cat.codes
    y = np.column_stack([effect + frame["code"] % 7, levels + np.nan_to_num(frame["size"])])
    model = getattr(polyleaf, name)(
        random_state=0, categorical_features=["code", "city"], **parameters
    ).fit(frame, y)
    new = make_frame(2000, 1, n_cities=60)  # with cities that fit has not seen
    dtype = np.float64 if exact else np.float32
    for column in ("size", "score"):
        new[column] = new[column].astype(dtype)
    found = run(model, as_inputs(new, dtype), exact=exact)["prediction"]
    expected = model.predict(new)
    if exact:
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def hash_of(text):
    return sum(map(ord, text)) % 5


# The interface -----------------------------------------------------------------------------------


def test_outputs_that_were_never_observed_are_missing():
    y = Y["numbers"].copy()
    y[:, 1] = np.nan
    for name in ("TreeRegressor", "RandomForestRegressor", "BoostingRegressor"):
        model = getattr(polyleaf, name)().fit(X, y)
        found = run(model, {"X": X}, exact=True)["prediction"]
        np.testing.assert_array_equal(found, model.predict(X))


def test_the_graph_is_described_and_written(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcde"))
    y = pd.DataFrame(Y["labels"], columns=["jazz", "folk", "soul"])
    model = polyleaf.TreeClassifier(max_depth=3).fit(frame, y)
    path = tmp_path / "model.onnx"
    graph = to_onnx(model, path)
    assert onnx.load(path) == graph
    described = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(described["output_names"]) == ["jazz", "folk", "soul"]
    assert json.loads(described["feature_names"]) == list("abcde")
    assert json.loads(described["classes"]) == [[0, 1]]
    assert described["estimator"] == "TreeClassifier"


def test_unknown_outputs_and_old_operators_are_refused():
    model = polyleaf.TreeRegressor(max_depth=2).fit(X, Y["numbers"])
    with pytest.raises(ValueError, match="some of 'prediction', 'score'; got 'probability'"):
        to_onnx(model, outputs="probability")
    with pytest.raises(ValueError, match="at least 18"):
        to_onnx(model, target_opset=15)
    graph = to_onnx(model, target_opset={"": 21, "ai.onnx.ml": 5})
    assert {entry.domain: entry.version for entry in graph.opset_import}[""] == 21


def test_what_cannot_be_exported_says_why():
    labels = Y["labels"]
    filled = np.nan_to_num(X)
    from sklearn.linear_model import Ridge

    graphs = polyleaf.GraphClassifier(kernel="rbf", max_iter=2).fit(filled, labels)
    with pytest.raises(CannotExportError, match="need the training rows"):
        to_onnx(graphs)
    weak = polyleaf.BoostingRegressor(estimator=Ridge(), n_estimators=2).fit(filled, labels)
    with pytest.raises(CannotExportError, match="boosts Ridge"):
        to_onnx(weak)
    with pytest.raises(CannotExportError, match="got Ridge"):
        to_onnx(Ridge())
