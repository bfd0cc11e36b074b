import shutil

import numpy as np
import pytest

import polyleaf
from polyleaf.export import to_treelite

treelite = pytest.importorskip("treelite")


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 3] = rng.integers(0, 40, 400)
    F = X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    numbers = np.column_stack([F[:, 0] + F[:, 3] % 3, F[:, 1] * F[:, 2], F[:, 2]])
    return X, numbers


X, NUMBERS = make_data()
LABELS = (np.median(NUMBERS, axis=0) < NUMBERS).astype(int)
CLASSES = np.digitize(NUMBERS[:, 0], [0, 1.5])


@pytest.mark.parametrize(
    ("name", "y", "parameters"),
    [
        ("TreeRegressor", NUMBERS, {}),
        ("TreeRegressor", NUMBERS[:, 0], {}),
        ("RandomForestRegressor", NUMBERS, {"n_estimators": 10}),
        ("BoostingRegressor", NUMBERS, {"n_estimators": 20}),
        ("BoostingRegressor", NUMBERS, {"n_estimators": 10, "leaf_fit": "linear"}),
        ("RuleRegressor", NUMBERS, {"n_rules": 20}),
        ("ExtraTreesClassifier", LABELS, {"n_estimators": 10}),
        ("RandomForestClassifier", CLASSES, {"n_estimators": 10}),
        ("BoostingClassifier", LABELS, {"n_estimators": 20}),
        ("BoostingClassifier", CLASSES, {"n_estimators": 20}),
        ("BoostingClassifier", LABELS[:, 0], {"n_estimators": 20}),
        ("RuleClassifier", LABELS, {"n_rules": 20}),
    ],
)
def test_gtil_agrees_with_the_model(name, y, parameters):
    if parameters.get("leaf_fit") == "linear":
        parameters = {**parameters, "projection": "gaussian"}
    model = getattr(polyleaf, name)(random_state=0, categorical_features=[3], **parameters)
    model.fit(X, y)
    rows = model._features.encode(X)  # categories as their codes
    found = treelite.gtil.predict(to_treelite(model), rows)
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(X)
        if model._targets.kind == "binary":
            expected = expected[:, 1]
    else:
        expected = model.predict(X)
    found = found.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "y", "parameters"),
    [
        ("RandomForestRegressor", NUMBERS, {"n_estimators": 4, "max_depth": 4}),
        ("BoostingClassifier", LABELS, {"n_estimators": 4, "max_depth": 4}),
    ],
)
def test_tl2cgen_compiles_what_agrees_with_the_model(name, y, parameters, tmp_path):
    tl2cgen = pytest.importorskip("tl2cgen")
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    model = getattr(polyleaf, name)(random_state=0, **parameters).fit(X, y)
    library = tmp_path / "model.so"
    tl2cgen.export_lib(to_treelite(model), toolchain="gcc", libpath=str(library), params={})
    found = tl2cgen.Predictor(str(library), nthread=1).predict(tl2cgen.DMatrix(X, dtype="float64"))
    expected = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)
