"""One output, no projection: ``python -m benchmarks.boosting_one_output``.

BoostingRegressor against scikit-learn's HistGradientBoostingRegressor and LightGBM with the same
settings (100 rounds, learning rate 0.1, 31 leaves of at least 20 rows, 255 bins, one thread): test
r2 over five folds of the first target of five data sets, the p-value of a paired t-test, and the
quickest of the five fits in processor seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import ttest_rel
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from benchmarks.papers.runs import markdown
from benchmarks.real_data import REAL_DATA, data_folder

DATA = ("rf1", "births2", "wq", "osales", "scpf")


def make(method: str) -> Any:
    """Make a model with the common settings."""
    if method == "polyleaf":
        from polyleaf import BoostingRegressor

        return BoostingRegressor(
            n_estimators=100,
            max_depth=None,
            max_leaf_nodes=31,
            min_samples_leaf=20,
            l2_regularization=0.0,
            random_state=0,
            n_jobs=1,
        )
    if method == "scikit-learn":
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(max_iter=100, early_stopping=False, random_state=0)
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=100, random_state=0, n_jobs=1, verbosity=-1)


def main() -> None:
    """Measure and print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.filterwarnings("ignore")
    folder = data_folder()
    if folder is None:
        raise SystemExit("Set POLYLEAF_DATA to the folder of data sets.")
    rows = []
    for name in DATA:
        data = REAL_DATA[name].load(folder)
        X: Any = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X, dtype=float)
        y = np.asarray(data.Y, dtype=float)[:, 0]
        scores: dict[str, list[float]] = {"polyleaf": [], "scikit-learn": [], "lightgbm": []}
        seconds = dict.fromkeys(scores, np.inf)
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            for method, of_method in scores.items():
                with threadpool_limits(1):
                    start = time.process_time()
                    model = make(method).fit(X[train], y[train])
                    seconds[method] = min(seconds[method], time.process_time() - start)
                of_method.append(float(model.score(X[test], y[test])))
        p = [ttest_rel(scores["polyleaf"], scores[m]).pvalue for m in ("scikit-learn", "lightgbm")]
        cells = [f"{np.mean(scores[m]):.4f} ({seconds[m]:.2f} s)" for m in scores]
        rows.append([name, f"{len(X)} x {X.shape[1]}", *cells, f"{p[0]:.2f}", f"{p[1]:.2f}"])
    header = ["data", "size", *scores, "p (scikit-learn)", "p (LightGBM)"]
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
