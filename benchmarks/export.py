"""Size, load time, memory and latency of a boosted model: as a model file, ONNX and treelite.

    python -m benchmarks.export [--outputs 16 100 1000] [--trees 50] [--models FOLDER] [--write]

Times are processor times of one thread; memory is what each further copy of the loaded model takes
of its own, in a process of its own. Prints a table in Markdown; `--write` makes
docs/benchmarks/export.md of it. XGBoost and CatBoost stand beside it if they are installed.
`--models` keeps the fitted models in a folder, so that a later run does not fit them again.
"""

import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import polyleaf
from polyleaf.export import to_onnx, to_treelite

#: Few bins, because neither sizes nor latencies depend on them, but the time of fits does.
N_ROWS, N_FEATURES, DEPTH, N_BINS = 2000, 20, 5, 16

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "export.md"
PACKAGES = ("onnxruntime", "treelite", "xgboost", "xgboost-cpu", "catboost")
HEAD = """\
| outputs | program | file, MB | load, ms | memory, MB | 1 row, ms | 1,000 rows, ms |
|---:|---|---:|---:|---:|---:|---:|"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=int, nargs="+", default=[16, 100, 1000])
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--models", type=Path, help="folder that keeps the fitted models")
    parser.add_argument("--fit", action="store_true", help="fit and keep them, measure nothing")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/export.md")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(memory_of(*arguments.memory_of))
        return
    print(HEAD)
    load = os.getloadavg()[0]
    lines = []
    for n_outputs in arguments.outputs:
        with tempfile.TemporaryDirectory() as passing:
            folder = arguments.models or Path(passing)
            folder.mkdir(parents=True, exist_ok=True)
            stem = str(folder / f"{n_outputs}_outputs_{arguments.trees}_trees")
            write_models(n_outputs, arguments.trees, stem)
            for name in PROGRAMS if not arguments.fit else ():
                if is_installed(name):
                    lines.append(measure(n_outputs, name, stem))
                    print(lines[-1], flush=True)
    if arguments.write:
        write(lines, arguments.trees, load)


def write(lines, n_trees, load):
    """Write the page, with what it was measured with."""
    today = datetime.date.today().isoformat()
    shown = re.sub(r" --models \S+", " --models FOLDER", " ".join(sys.argv[1:]))
    versions = ", ".join([f"polyleaf {polyleaf.__version__}", *map(" ".join, installed())])
    PAGE.write_text(
        f"""# Size and latency of exported models

```console
$ python -m benchmarks.export {shown}
```

Boosting of {n_trees} trees of depth {DEPTH} on {N_FEATURES} features of {N_BINS} bins and
{N_ROWS:,} rows, one thread. Medians of 5 loads, 50 predictions of one row and 5 of 1,000, in
processor time, on a machine with {os.cpu_count()} cores and a load of {load:.1f} before. Memory is
what every further copy of the model takes of its own in a process that has loaded and used one;
pages of a file that processes share do not count. Written on {today} with
CPython {platform.python_version()}, {versions}.

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


# The models -----------------------------------------------------------------------------------


def write_models(n_outputs, n_trees, stem):
    """Fit what is not fitted yet, and write it in all forms."""
    X, Y = make_data(n_outputs)
    own = path_of("polyleaf", stem)
    if not own.exists():
        model = polyleaf.BoostingRegressor(
            n_estimators=n_trees,
            max_depth=DEPTH,
            max_bins=N_BINS,
            early_stopping=False,
            random_state=0,
            n_jobs=1,
        ).fit(X, Y)
        polyleaf.save(model, own)
    model = polyleaf.load(own)
    to_onnx(model, path_of("ONNX", stem), outputs="prediction")
    to_onnx(model, path_of("ONNX, exact", stem), exact=True, outputs="prediction")
    to_treelite(model).serialize(str(path_of("treelite, GTIL", stem)))
    for name, fit in (("XGBoost", fit_xgboost), ("CatBoost", fit_catboost)):
        if is_installed(name) and not path_of(name, stem).exists():
            fit(X, Y, n_trees).save_model(path_of(name, stem))


def fit_xgboost(X, Y, n_trees):
    import xgboost

    return xgboost.XGBRegressor(
        n_estimators=n_trees,
        max_depth=DEPTH,
        multi_strategy="multi_output_tree",
        tree_method="hist",
        max_bin=N_BINS,
        n_jobs=1,
    ).fit(X, Y)


def fit_catboost(X, Y, n_trees):
    import catboost

    return catboost.CatBoostRegressor(
        iterations=n_trees,
        depth=DEPTH,
        border_count=N_BINS - 1,
        loss_function="MultiRMSE",
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    ).fit(X, Y)


# How each is loaded and asked -----------------------------------------------------------------


def load_onnx(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


def load_treelite(path):
    import treelite

    return treelite.Model.deserialize(str(path))


def ask_treelite(model, rows):
    import treelite

    return treelite.gtil.predict(model, rows.astype(np.float64), nthread=1)


def load_xgboost(path):
    import xgboost

    model = xgboost.XGBRegressor(n_jobs=1)
    model.load_model(path)
    return model


def load_catboost(path):
    import catboost

    return catboost.CatBoostRegressor().load_model(path)


def ask(model, rows):
    return model.predict(rows)


#: Ending of the file, module that is needed, and functions that load it and ask it.
PROGRAMS = {
    "polyleaf": (".polyleaf", "polyleaf", polyleaf.load, ask),
    "polyleaf, mmap": (
        ".polyleaf",
        "polyleaf",
        lambda path: polyleaf.load(path, mmap=True),
        ask,
    ),
    "ONNX": (
        ".onnx",
        "onnxruntime",
        load_onnx,
        lambda session, rows: session.run(None, {"X": rows}),
    ),
    "ONNX, exact": (
        ".exact.onnx",
        "onnxruntime",
        load_onnx,
        lambda session, rows: session.run(None, {"X": rows.astype(np.float64)}),
    ),
    "treelite, GTIL": (".treelite", "treelite", load_treelite, ask_treelite),
    "XGBoost": (".ubj", "xgboost", load_xgboost, ask),
    "CatBoost": (
        ".cbm",
        "catboost",
        load_catboost,
        lambda model, rows: model.predict(rows, thread_count=1),
    ),
}


def is_installed(name):
    return importlib.util.find_spec(PROGRAMS[name][1]) is not None


def path_of(name, stem):
    return Path(stem + PROGRAMS[name][0])


# Measures -------------------------------------------------------------------------------------


def measure(n_outputs, name, stem):
    X, _ = make_data(n_outputs)
    path, (_, _, load, predict) = path_of(name, stem), PROGRAMS[name]
    n_bytes = path.stat().st_size
    loading = median_ms(lambda: load(path), 5)
    loaded = load(path)
    one = median_ms(lambda: predict(loaded, X[:1]), 50)
    many = median_ms(lambda: predict(loaded, X[:1000]), 5)
    command = [sys.executable, "-m", "benchmarks.export", "--memory-of", name, stem]
    memory = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    size = f"{n_bytes / 1e6:.2f} | {loading:.1f} | {memory:.1f}"
    return f"| {n_outputs} | {name} | {size} | {one:.2f} | {many:.1f} |"


def median_ms(function, n_times):
    function()
    times = []
    for _ in range(n_times):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times))


def memory_of(name, stem):
    """Give what a further copy of a loaded model takes, in MB (Linux)."""
    path, (_, _, load, predict) = path_of(name, stem), PROGRAMS[name]
    rows = make_data(1)[0][:1]
    kept = [load(path)]
    predict(kept[0], rows)
    before = own_memory()
    for _ in range(4):
        kept.append(load(path))
        predict(kept[-1], rows)
    return (own_memory() - before) / 4


def own_memory():
    """Give the memory of this process that is no file's and shared with nobody, in MB."""
    told = Path("/proc/self/smaps_rollup").read_text()
    return int(re.search(r"Anonymous:\s+(\d+) kB", told).group(1)) / 1e3


if __name__ == "__main__":
    main()
