"""Size, load time and latency of a boosted model: as a model file, ONNX and treelite.

    python -m benchmarks.export [--outputs 16 100 1000] [--trees 100] [--write]

Times are processor times of one thread. Prints a table in Markdown; `--write` makes
docs/benchmarks/export.md of it. XGBoost and CatBoost stand beside it if they are installed.
"""

import argparse
import datetime
import importlib.metadata
import pickle
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import polyleaf
from polyleaf.export import to_onnx, to_treelite

N_ROWS, N_FEATURES, DEPTH = 2000, 20, 5


PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "export.md"
PACKAGES = ("onnxruntime", "treelite", "xgboost", "xgboost-cpu", "catboost")
HEAD = """\
| outputs | program | file, MB | load, ms | 1 row, ms | 1,000 rows, ms |
|---:|---|---:|---:|---:|---:|"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=int, nargs="+", default=[16, 100, 1000])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/export.md")
    arguments = parser.parse_args()
    print(HEAD)
    lines = []
    for n_outputs in arguments.outputs:
        with tempfile.TemporaryDirectory() as folder:
            for name, path, load, predict in programs(n_outputs, arguments.trees, Path(folder)):
                lines.append(measure(n_outputs, name, path, load, predict))
                print(lines[-1], flush=True)
    if arguments.write:
        write(lines, arguments.trees)


def write(lines, n_trees):
    """Write the page, with what it was measured with."""
    today = datetime.date.today().isoformat()
    command = " ".join(["python -m benchmarks.export", *sys.argv[1:]])
    versions = ", ".join([f"polyleaf {polyleaf.__version__}", *map(" ".join, installed())])
    PAGE.write_text(
        f"""# Size and latency of exported models

```console
$ {command}
```

Boosting of {n_trees} trees of depth {DEPTH} on {N_FEATURES} features and {N_ROWS:,} rows, one
thread. Medians of 5 loads, 50 predictions of one row and 5 of 1,000, in processor time, on a
machine with two cores that other work shared. CatBoost's model is a pickle. Written on {today}
with CPython {platform.python_version()}, {versions}.

{HEAD}
"""
        + "\n".join(lines)
        + "\n",
        encoding="utf-8",
    )


def installed():
    """Yield packages and their versions."""
    for name in PACKAGES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def make_data(n_outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    return X, X @ rng.normal(size=(N_FEATURES, n_outputs)) + np.abs(X[:, :1])


def programs(n_outputs, n_trees, folder):
    """Yield a name, a file, a function that loads it, and one that predicts."""
    X, Y = make_data(n_outputs)
    model = polyleaf.BoostingRegressor(
        n_estimators=n_trees, max_depth=DEPTH, early_stopping=False, random_state=0, n_jobs=1
    ).fit(X, Y)
    own = folder / "model.polyleaf"
    polyleaf.save(model, own)
    yield "polyleaf", own, lambda: polyleaf.load(own), lambda m, rows: m.predict(rows)
    yield (
        "polyleaf, mmap",
        own,
        lambda: polyleaf.load(own, mmap=True),
        lambda m, rows: m.predict(rows),
    )
    yield from onnx_programs(model, folder)
    yield from treelite_programs(model, folder)
    yield from rival_programs(X, Y, n_trees, folder)


def onnx_programs(model, folder):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for exact in (False, True):
        path = folder / f"model_{exact}.onnx"
        to_onnx(model, path, exact=exact, outputs="prediction")
        dtype = np.float64 if exact else np.float32
        yield (
            "ONNX, exact" if exact else "ONNX",
            path,
            lambda path=path: onnxruntime.InferenceSession(path, options),
            lambda session, rows, dtype=dtype: session.run(None, {"X": rows.astype(dtype)}),
        )


def treelite_programs(model, folder):
    import treelite

    path = folder / "model.treelite"
    to_treelite(model).serialize(str(path))
    yield (
        "treelite, GTIL",
        path,
        lambda: treelite.Model.deserialize(str(path)),
        lambda m, rows: treelite.gtil.predict(m, rows.astype(np.float64), nthread=1),
    )


def rival_programs(X, Y, n_trees, folder):
    try:
        import xgboost
    except ImportError:
        pass
    else:
        path = folder / "model.ubj"
        rival = xgboost.XGBRegressor(
            n_estimators=n_trees,
            max_depth=DEPTH,
            multi_strategy="multi_output_tree",
            tree_method="hist",
            n_jobs=1,
        ).fit(X, Y)
        rival.save_model(path)

        def load_rival():
            loaded = xgboost.XGBRegressor(n_jobs=1)
            loaded.load_model(path)
            return loaded

        yield "XGBoost", path, load_rival, lambda m, rows: m.predict(rows)
    try:
        import catboost
    except ImportError:
        return
    path = folder / "model.pickle"
    rival = catboost.CatBoostRegressor(
        iterations=n_trees,
        depth=DEPTH,
        loss_function="MultiRMSE",
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    ).fit(X, Y)
    path.write_bytes(pickle.dumps(rival))
    yield (
        "CatBoost",
        path,
        lambda: pickle.loads(path.read_bytes()),
        lambda m, rows: m.predict(rows, thread_count=1),
    )


def measure(n_outputs, name, path, load, predict):
    X, _ = make_data(n_outputs)
    n_bytes = path.stat().st_size
    loading = median_ms(load, 5)
    loaded = load()
    one = median_ms(lambda: predict(loaded, X[:1]), 50)
    many = median_ms(lambda: predict(loaded, X[:1000]), 5)
    size = f"{n_bytes / 1e6:.2f}"
    return f"| {n_outputs} | {name} | {size} | {loading:.1f} | {one:.2f} | {many:.1f} |"


def median_ms(function, n_times):
    function()
    times = []
    for _ in range(n_times):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times))


if __name__ == "__main__":
    main()
