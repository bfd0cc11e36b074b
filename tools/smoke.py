"""A quick look at an installed polyleaf: one fit of every family, a model file, the command line.

``make test-wheels`` runs it in fresh environments; it needs nothing but polyleaf's dependencies.
"""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import polyleaf


def main() -> None:
    """Check the installation, and say what was checked."""
    check_package()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    numbers = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] * 2, np.abs(X[:, 2])])
    labels = (numbers > np.median(numbers, axis=0)).astype(int)
    small = {"n_estimators": 10, "random_state": 0}
    models = [
        (polyleaf.TreeRegressor(random_state=0), numbers),
        (polyleaf.RandomForestRegressor(**small, projection="gaussian"), numbers),
        (polyleaf.ExtraTreesClassifier(**small), labels),
        (polyleaf.BoostingRegressor(**small), numbers),
        (polyleaf.BoostingClassifier(**small), labels),
        (polyleaf.RuleClassifier(n_rules=20, random_state=0), labels),
        (polyleaf.GraphClassifier(random_state=0), labels),
    ]
    for model, Y in models:
        check_model(model, X, Y)
    # Several at once: on free-threaded interpreters they run side by side.
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda pair: check_model(pair[0], X, pair[1]), models))
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    threads = "" if has_gil else ", free-threaded"
    if sysconfig.get_config_var("Py_GIL_DISABLED") and has_gil:
        threads = ", free-threaded, but a package turned the GIL on"
    print(f"polyleaf {polyleaf.__version__} works on Python {sys.version.split()[0]}{threads}")


def check_package() -> None:
    """Check the version, the types and the command line."""
    version = importlib.metadata.version("polyleaf")
    _check(polyleaf.__version__ == version, f"installed is {version}: install again")
    files = importlib.resources.files("polyleaf")
    _check((files / "py.typed").is_file(), "py.typed is missing")
    _check((files / "_core.pyi").is_file(), "_core.pyi is missing")
    call = "from polyleaf.cli import main; main()"
    told = subprocess.run(
        [sys.executable, "-c", call, "--version"], capture_output=True, text=True, check=True
    )
    _check(told.stdout == f"polyleaf {version}\n", f"--version printed {told.stdout!r}")


def check_model(model: polyleaf.RandomForestRegressor, X: np.ndarray, Y: np.ndarray) -> None:
    """Fit a copy, score it, and read it back from a file."""
    from sklearn.base import clone

    fitted = clone(model).fit(X, Y)
    name = type(model).__name__
    wrong = np.mean((fitted.predict(X) - Y) ** 2) / np.mean((Y - Y.mean(axis=0)) ** 2)
    _check(wrong < 0.8, f"{name} learnt nothing: {wrong:.3f}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.polyleaf"
        polyleaf.save(fitted, path)
        again = polyleaf.load(path)
    _check(np.array_equal(again.predict(X), fitted.predict(X)), f"{name} changed in its file")


def _check(is_fine: bool, told: str) -> None:
    if not is_fine:
        sys.exit(f"smoke test failed: {told}")


if __name__ == "__main__":
    main()
