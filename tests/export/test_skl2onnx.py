import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polyleaf
from polyleaf.export import CannotExportError, register_skl2onnx, to_onnx

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
FILLED = np.nan_to_num(X)
NUMBERS = np.column_stack([FILLED[:, 0] + FILLED[:, 1], FILLED[:, 2] * 3])
LABELS = (NUMBERS > 0).astype(int)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (polyleaf.TreeRegressor(max_depth=4), NUMBERS),
        (polyleaf.RandomForestRegressor(n_estimators=5), NUMBERS[:, 0]),
        (polyleaf.BoostingRegressor(n_estimators=10), NUMBERS),
        (polyleaf.RuleRegressor(n_rules=10), NUMBERS),
        (polyleaf.ExtraTreesClassifier(n_estimators=5), np.digitize(FILLED[:, 0], [-0.5, 0.5])),
        (polyleaf.BoostingClassifier(n_estimators=10), LABELS),
        (polyleaf.GraphClassifier(kernel="linear", tol=0.5), LABELS),
        (polyleaf.RuleClassifier(n_rules=10), np.array(["no", "yes"])[LABELS[:, 0]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_pipeline_is_converted_as_a_whole(model, y):
    register_skl2onnx()
    rows = FILLED if isinstance(model, polyleaf.GraphClassifier) else X
    pipeline = make_pipeline(StandardScaler(), model.set_params(random_state=0)).fit(rows, y)
    has_classes = hasattr(model, "predict_proba")
    options = {"zipmap": False} if has_classes else None
    graph = skl2onnx.to_onnx(pipeline, rows, options=options)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    found = session.run(None, {"X": rows})
    if has_classes:
        np.testing.assert_array_equal(found[0], pipeline.predict(rows))
        np.testing.assert_allclose(found[1], pipeline.predict_proba(rows), atol=1e-6)
    else:
        np.testing.assert_allclose(found[0], pipeline.predict(rows), rtol=1e-5, atol=1e-5)


def test_older_operators_for_trees_give_the_same_scores():
    opsets = {"": 18, "ai.onnx.ml": 3}
    rows = X.astype(np.float64)
    for model in (
        polyleaf.TreeRegressor(min_samples_leaf=300),
        polyleaf.RandomForestRegressor(n_estimators=5),
        polyleaf.BoostingRegressor(n_estimators=10, projection="round_robin"),
        polyleaf.RuleRegressor(n_rules=10),
    ):
        model.fit(rows, NUMBERS)
        graph = to_onnx(model, exact=True, target_opset=opsets)
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        found = session.run(["prediction"], {"X": rows})[0]
        np.testing.assert_array_equal(found, model.predict(rows))


def test_categories_in_a_pipeline_are_refused():
    register_skl2onnx()
    model = polyleaf.TreeRegressor(categorical_features=[0]).fit(FILLED.round(), NUMBERS)
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline[0].fit(FILLED)
    with pytest.raises(CannotExportError, match="Encode categories"):
        skl2onnx.to_onnx(pipeline, FILLED)
