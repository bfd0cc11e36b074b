"""Answer POST requests with predictions: rows as JSON come in, predictions go out.

python serve.py model.polyleaf
python serve.py --onnx model.onnx --port 8000
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


def load_polyleaf(path):
    """Give a function of rows; the file's large arrays are shared between processes."""
    import polyleaf

    model = polyleaf.load(path, mmap=True).set_params(n_jobs=1)
    return model.predict


def load_onnx(path):
    """Give a function of rows for a graph that takes numbers."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    dtype = np.float64 if "double" in session.get_inputs()[0].type else np.float32
    return lambda rows: session.run(["prediction"], {"X": rows.astype(dtype)})[0]


def make_server(predict, port):
    """Make a server; null is a missing value, and what is no matrix of numbers gets a 400."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                rows = np.array(json.loads(body), dtype=np.float64)
                status, answer = 200, np.asarray(predict(rows)).tolist()
            except Exception as error:
                status, answer = 400, {"error": str(error)}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return ThreadingHTTPServer(("", port), Handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    load = load_onnx if given.onnx else load_polyleaf
    make_server(load(given.model), given.port).serve_forever()
