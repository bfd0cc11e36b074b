"""The server of examples/container answers as the model does."""

import importlib.util
import json
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import polyleaf
from polyleaf.export import to_onnx

SERVE = Path(__file__).parents[2] / "examples" / "container" / "serve.py"


@pytest.fixture(scope="module")
def serve():
    if not SERVE.exists():
        pytest.skip("needs the examples")
    spec = importlib.util.spec_from_file_location("serve", SERVE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(predict, serve, body):
    server = serve.make_server(predict, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with urllib.request.urlopen(address, data=body.encode(), timeout=30) as answer:
            return json.load(answer)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("kind", ["polyleaf", "onnx"])
def test_the_server_answers_as_the_model_does(serve, kind, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    X[::7, 1] = np.nan
    model = polyleaf.BoostingRegressor(n_estimators=4).fit(X, np.nan_to_num(X[:, :2]))
    path = tmp_path / "model"
    if kind == "onnx":
        pytest.importorskip("onnxruntime")
        to_onnx(model, path)
    else:
        polyleaf.save(model, path)
    predict = getattr(serve, f"load_{kind}")(path)
    rows = [[None if np.isnan(x) else float(x) for x in row] for row in X]
    found = ask(predict, serve, json.dumps(rows))
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-5, atol=1e-6)


def test_what_is_no_matrix_of_numbers_gets_an_error(serve):
    with pytest.raises(urllib.error.HTTPError) as error:
        ask(lambda rows: rows, serve, '[["text"]]')
    assert error.value.code == 400
