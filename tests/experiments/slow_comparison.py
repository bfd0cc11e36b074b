"""Run a comparison of which half of the runs wait for a file `go`.

A file `waiting-` and the number of the process says that it waits.
"""

import os
import sys
import time
from pathlib import Path

from sklearn.base import clone
from sklearn.linear_model import Ridge

from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import Method, compare

DATA = make_correlated_targets(60, 4, 2, random_state=0)


class Waiting(Ridge):
    """Says that it has begun, and waits for the word to go on."""

    def __init__(self, folder=None, *, alpha=1.0):
        super().__init__(alpha)
        self.folder = folder

    def fit(self, X, y):
        folder = Path(self.folder)
        (folder / f"waiting-{os.getpid()}").touch()
        while folder.exists() and not (folder / "go").exists():
            time.sleep(0.05)
        return super().fit(X, y)


def result_of(folder, **options):
    folder = Path(folder)
    waiting = Method("Waiting", lambda problem, random_state: clone(Waiting(str(folder))))
    path = folder / "results.jsonl"
    return compare(DATA, methods=["Mean", waiting], metrics=["r2"], cv=2, path=path, **options)


if __name__ == "__main__":
    folder, n_jobs, limit = sys.argv[1:]
    limit = None if limit == "None" else float(limit)
    result_of(folder, n_jobs=int(n_jobs), limit=limit)
