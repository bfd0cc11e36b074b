"""How much tuned and calibrated decoders gain over the threshold 0.5, on the public data sets.

``python -m benchmarks.decoding`` prints a table: example F1 (higher is better) and subset 0/1 loss
(lower is better) of the same model with its own label sets and with tuned ones, on a third of the
rows that neither the model nor the decoder has seen.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from benchmarks.real_data import REAL_DATA, data_folder
from polyleaf import TreeClassifier, TunedDecoder
from polyleaf.metrics import METRICS

METRIC_NAMES = ("example_f1", "subset_zero_one_loss")
_MOST_ENTRIES = 2_000_000  # of Y; larger data sets take minutes


def _models(X: Any) -> dict[str, Any]:
    models: dict[str, Any] = {"tree": TreeClassifier(min_samples_leaf=5, random_state=0)}
    if isinstance(X, np.ndarray) and not np.isnan(X).any():
        models["extra trees"] = ExtraTreesClassifier(50, min_samples_leaf=2, random_state=0)
    return models


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", help="names, separated by commas; all by default")
    names = parser.parse_args().datasets
    folder = data_folder()
    if folder is None:
        raise SystemExit("No public data sets: set POLYLEAF_DATA or add ../shared/data.")
    wins = dict.fromkeys(METRIC_NAMES, 0)
    n_runs = 0
    print("| data set | model | example F1 | tuned | subset 0/1 | tuned | chosen | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for real in REAL_DATA.values():
        if names is not None and real.name not in names.split(","):
            continue
        if real.task != "multilabel" or (names is None and real.n * real.d > _MOST_ENTRIES):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = real.load(folder)
            Y = _dense(data.Y)
            X = data.X if real.n_nominal else _dense(data.X)
            order = np.random.default_rng(0).permutation(len(Y))
            train, test = np.sort(order[len(Y) // 3 :]), np.sort(order[: len(Y) // 3])
            rows = (lambda m, i: m.iloc[i]) if hasattr(X, "iloc") else (lambda m, i: m[i])
            for name, model in _models(X).items():
                plain = clone(model).fit(rows(X, train), Y[train])
                cells, chosen = [], []
                start = time.process_time()
                for metric in METRIC_NAMES:
                    tuned = TunedDecoder(model, metric=metric, random_state=0)
                    tuned.fit(rows(X, train), Y[train])
                    score = METRICS[metric].prepare(Y[train])
                    before = score(Y[test], plain.predict(rows(X, test)))
                    after = score(Y[test], tuned.predict(rows(X, test)))
                    wins[metric] += METRICS[metric].is_better(after, before)
                    cells += [f"{before:.3f}", f"{after:.3f}"]
                    method = tuned.results_[0]["calibration"]
                    chosen.append(f"{type(tuned.decoder_).__name__} ({method})")
                seconds = time.process_time() - start
                n_runs += 1
                row = [real.name, name, *cells, "; ".join(chosen), f"{seconds:.0f}"]
                print("| " + " | ".join(row) + " |", flush=True)
    won = ", ".join(f"{metric} {count}" for metric, count in wins.items())
    print(f"\nTuned better than the model's own label sets, of {n_runs} runs: {won}.")


if __name__ == "__main__":
    main()
