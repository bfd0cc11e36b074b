"""What must hold for long: memory over 1,000 fits and loads, predictions while others fit.

Run by `make soak`; prints one line per estimator and ends with 1 if one of them grows or errs.
"""

import argparse
import gc
import os
import sys
import tempfile
import threading
import warnings
from pathlib import Path

if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from hostile_estimators import X_NEW, X, fitted, new, outputs_for

import polyleaf
from polyleaf._registry import ESTIMATORS

#: Growth of the resident memory over all fits behind the first tenth, in bytes.
MOST_GROWTH = 8 << 20


def resident_bytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth_over_fits(name, n_fits):
    """Fit, save, load and predict again and again; return by how much the memory grew."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.polyleaf"
        for i in range(n_fits):
            model = new(name).fit(X, outputs_for(name))
            polyleaf.save(model, path)
            polyleaf.load(path).predict(X_NEW)
            if i == n_fits // 10:
                before = resident_bytes()
        return resident_bytes() - before


def errors_under_load(name, n_calls):
    """Predict in three threads while a fourth fits other models; return what went wrong."""
    model = fitted(name)
    expected, errors, is_over = model.predict(X_NEW), [], threading.Event()

    def predict():
        for _ in range(n_calls):
            if not np.array_equal(model.predict(X_NEW), expected):
                errors.append("another prediction")

    def fit():
        while not is_over.is_set():
            new(name).fit(X, outputs_for(name))

    fitter = threading.Thread(target=fit)
    fitter.start()
    readers = [threading.Thread(target=predict) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    is_over.set()
    fitter.join()
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--estimators", nargs="+", default=list(ESTIMATORS), metavar="NAME")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    is_bad = False
    for name in options.estimators:
        growth = growth_over_fits(name, options.fits)
        errors = errors_under_load(name, options.calls)
        is_bad |= growth > MOST_GROWTH or bool(errors)
        print(
            f"{name}: {growth / 2**20:+.1f} MiB over {options.fits} fits, saves and loads; "
            f"{len(errors)} wrong of {3 * options.calls} predictions under load",
            flush=True,
        )
    sys.exit(1 if is_bad else 0)


if __name__ == "__main__":
    main()
