import json
import sqlite3

import numpy as np
import pytest

from polyleaf import TreeRegressor, save

X = np.arange(40.0).reshape(-1, 2)
MODEL = TreeRegressor(max_depth=2).fit(X, X[:, 0] > 20)


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "model.polyleaf"
    save(MODEL, path)
    return path


def test_models_are_written_in_every_format(polyleaf, stored, tmp_path):
    written = {}
    for name in ("onnx", "treelite", "sql", "python", "json"):
        pytest.importorskip({"onnx": "onnx", "treelite": "treelite"}.get(name, "json"))
        written[name] = tmp_path / f"model.{name}"
        told = polyleaf("export", stored, "--to", name, "--out", written[name])
        assert "bytes" in told
        assert written[name].stat().st_size > 0
    space = {}
    exec(written["python"].read_text(), space)
    assert space["scores"]({"x0": 30.0, "x1": 31.0}) == [1.0]
    assert json.loads(written["json"].read_text())["estimator"] == "TreeRegressor"
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE data (x0 REAL, x1 REAL)")
        database.execute("INSERT INTO data VALUES (30, 31), (0, 1)")
        assert database.execute(written["sql"].read_text()).fetchall() == [(1.0,), (0.0,)]
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(written["onnx"])
    found = session.run(["prediction"], {"X": X.astype(np.float32)})[0]
    np.testing.assert_allclose(found, MODEL.predict(X))


def test_a_key_is_kept_in_queries(polyleaf, stored, tmp_path):
    out = tmp_path / "model.sql"
    polyleaf("export", stored, "--to", "sql", "--key", "id", "--key", "day", "--out", out)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE data (id TEXT, day INTEGER, x0 REAL, x1 REAL)")
        database.execute("INSERT INTO data VALUES ('a', 7, 30, 31), ('b', 8, 0, 1)")
        found = set(database.execute(out.read_text()).fetchall())
    assert found == {("a", 7, 1.0), ("b", 8, 0.0)}
    told = polyleaf("export", stored, "--to", "json", "--key", "id", "--out", out, code=2)
    assert "--key is for --to sql; got --to json" in told
