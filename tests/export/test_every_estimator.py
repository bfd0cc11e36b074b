"""Every registered estimator is exported and agrees on hostile rows, or says why it cannot be."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from polyleaf._registry import ESTIMATORS
from polyleaf.export import CannotExportError, to_onnx, to_sql, to_treelite

N_NEW = 10_000
NO_TREES = {"GraphClassifier", "GraphEnsembleClassifier"}  # see test_label_graphs.py
SMALL = {"n_estimators": 4, "n_rules": 15, "max_iter": 2, "max_depth": 4}


def make_frame(n, seed, n_cities):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).astype(np.float32),
            "rank": rng.integers(0, 5, n).astype(np.float32),
            "city": rng.choice([f"c{i}" for i in range(n_cities)], n).astype(object),
        }
    )
    for name in frame:
        frame.loc[rng.random(n) < 0.1, name] = None if name == "city" else np.nan
    return frame


TRAIN = make_frame(400, 0, n_cities=30)
EFFECT = TRAIN["city"].map(lambda city: -1 if pd.isna(city) else int(city[1:]) % 4).to_numpy()
NUMBERS = np.column_stack([EFFECT + np.nan_to_num(TRAIN["size"]), np.nan_to_num(TRAIN["rank"])])


def fitted(name):
    estimator = ESTIMATORS[name]()
    small = {key: value for key, value in SMALL.items() if key in estimator.get_params()}
    small |= {"random_state": 0} if "random_state" in estimator.get_params() else {}
    y = NUMBERS if "Regressor" in name else (np.median(NUMBERS, axis=0) < NUMBERS).astype(int)
    return estimator.set_params(**small).fit(TRAIN, y)


def new_rows(model):
    """New rows with missing values, unseen cities, and half the numbers on thresholds."""
    rng = np.random.default_rng(1)
    new = make_frame(N_NEW, 2, n_cities=45)
    structure = model._additive().structure
    is_number = (structure.feature >= 0) & (structure.category_offset < 0)
    for j, column in enumerate(("size", "rank")):
        found = structure.threshold[is_number & (structure.feature == j)].astype(np.float32)
        found = found[np.isfinite(found)]
        if found.size:
            hit = rng.random(N_NEW) < 0.5
            new.loc[hit, column] = rng.choice(found, hit.sum())
    return new


def scores_of(model, rows):
    return model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)


def names():
    """Sums of trees and rules, and what is refused; those around others have their own tests."""
    is_one_kind = [name for name in ESTIMATORS if name.endswith(("Regressor", "Classifier"))]
    return [n for n in is_one_kind if n in NO_TREES or hasattr(ESTIMATORS[n], "_additive")]


@pytest.mark.parametrize("name", sorted(names()))
def test_exports_agree_on_missing_unseen_and_threshold_values_or_are_refused(name):
    if name in NO_TREES:
        check_graphs(name)
        return
    model = fitted(name)
    new = new_rows(model)
    check_onnx(model, new)
    check_sqlite(model, new)
    check_gtil(model, new)


def check_graphs(name):
    train, new = (rows[["size", "rank"]].fillna(0) for rows in (TRAIN, make_frame(N_NEW, 2, 2)))
    labels = (NUMBERS > 1).astype(int)
    model = ESTIMATORS[name](kernel="linear", tol=0.5, random_state=0).fit(train, labels)
    for export in (to_treelite, lambda graphs: to_sql(graphs, "data")):
        with pytest.raises(CannotExportError, match="messages along the edges"):
            export(model)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    labels, probabilities, scores = session.run(None, {"X": new.to_numpy(np.float32)})
    np.testing.assert_array_equal(labels, model.predict(new))
    np.testing.assert_allclose(probabilities, model.predict_proba(new), atol=1e-6)
    np.testing.assert_allclose(scores, model.decision_function(new), rtol=1e-5, atol=1e-6)


def check_onnx(model, new):
    onnxruntime = pytest.importorskip("onnxruntime")
    for exact in (False, True):
        dtype = np.float64 if exact else np.float32
        rows = {name: new[name].to_numpy(dtype).reshape(-1, 1) for name in ("size", "rank")}
        text = new["city"].where(new["city"].notna(), "")
        rows["city"] = text.to_numpy(dtype=object).reshape(-1, 1)
        session = onnxruntime.InferenceSession(to_onnx(model, exact=exact).SerializeToString())
        names = [output.name for output in session.get_outputs()]
        found = dict(zip(names, session.run(None, rows)))
        expected = scores_of(model, new)
        if exact:
            np.testing.assert_array_equal(found["score"], expected)
        np.testing.assert_allclose(found["score"], expected, rtol=1e-5, atol=1e-5)
        if "probability" in found:
            check_labels(model, new, found, exact)
        else:
            np.testing.assert_allclose(found["prediction"], expected, rtol=1e-5, atol=1e-5)


def check_labels(model, new, found, exact):
    """Probabilities to 1e-6; labels are equal unless a probability is within that of a half."""
    probability = model.predict_proba(new)
    np.testing.assert_allclose(found["probability"], probability, atol=1e-6, rtol=0)
    differs = found["prediction"] != model.predict(new)
    assert not differs.any() if exact else (np.abs(probability - 0.5)[differs] <= 1e-6).all()


def expected_sums(model, new):
    """What trees add up to: probabilities of trees and forests, scores of boosting and rules."""
    is_share = hasattr(model, "predict_proba") and not hasattr(model, "loss")
    return model.predict_proba(new) if is_share else scores_of(model, new)


def check_sqlite(model, new):
    with sqlite3.connect(":memory:") as database:
        columns = {name: new[name].astype(object).where(new[name].notna(), None) for name in new}
        database.execute('CREATE TABLE data ("size" REAL, "rank" REAL, "city" TEXT)')
        database.executemany("INSERT INTO data VALUES (?, ?, ?)", zip(*columns.values()))
        found = np.array(database.execute(to_sql(model, "data")).fetchall(), dtype=np.float64)
    np.testing.assert_allclose(found, expected_sums(model, new), rtol=1e-5, atol=1e-5)


def check_gtil(model, new):
    treelite = pytest.importorskip("treelite")
    found = treelite.gtil.predict(
        to_treelite(model), model._features.encode(new), pred_margin=True
    )
    expected = expected_sums(model, new)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)
