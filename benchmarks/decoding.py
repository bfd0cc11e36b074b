"""How much tuned and calibrated decoders gain over the threshold 0.5, on the public data sets.

``python -m benchmarks.decoding`` prints a table: example F1 (higher is better) and subset 0/1 loss
(lower is better) of the same model with its own label sets and with tuned ones, on a third of the
rows that neither the model nor the decoder has seen.

``python -m benchmarks.decoding --seconds`` measures what choosing costs with many labels:
processor time of a small forest on 4,000 rows of delicious (983 labels), of a `TunedDecoder`
around it with two folds, and of each part of the choice on those rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from benchmarks.real_data import REAL_DATA, data_folder
from polyleaf import RandomForestClassifier, TreeClassifier, TunedDecoder
from polyleaf.decoding import DECODERS, LabelCalibrator
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


class Clock:
    """Measures processor time of calls and keeps it by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, call: Callable[[], Any]) -> Any:
        """Call, and return what it returns."""
        start = time.process_time()
        result = call()
        self.seconds[name] = time.process_time() - start
        return result


def print_seconds(folder: Path, n_rows: int = 4000) -> None:
    """Time a `TunedDecoder` and its parts on rows of delicious."""
    data = REAL_DATA["delicious"].load(folder)
    chosen = np.sort(np.random.default_rng(0).permutation(data.Y.shape[0])[:n_rows])
    X, Y = _dense(data.X)[chosen], _dense(data.Y)[chosen]
    model = RandomForestClassifier(n_estimators=10, max_depth=6, random_state=0, n_jobs=1)
    clock = Clock()
    forest = clock("the forest", lambda: clone(model).fit(X, Y))
    tuned = TunedDecoder(model, cv=2, random_state=0)
    clock("TunedDecoder around it, 24 pairs", lambda: tuned.fit(X, Y))
    half = n_rows // 2
    p = clock("probabilities of all rows", lambda: forest.predict_proba(X))
    for method in ("isotonic", "sigmoid"):
        calibrator = LabelCalibrator(method)
        calibrated = clock(
            f"{method} calibration of half the rows",
            lambda calibrator=calibrator: calibrator.fit(p[:half], Y[:half]).transform(p),
        )
    signed = next(r["decoder"] for r in tuned.results_ if hasattr(r["decoder"], "score"))
    for name, decoder_class in DECODERS.items():
        decoder = clone(signed) if name == "tuned_threshold" else decoder_class()
        clock(
            f"{name}: fit on half the rows, decode the others",
            lambda decoder=decoder: decoder.fit(Y[:half], calibrated[:half]).decode(
                calibrated[half:]
            ),
        )
    print("| part | processor seconds |\n|---|---|")
    for name, seconds in clock.seconds.items():
        print(f"| {name} | {seconds:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", help="names, separated by commas; all by default")
    parser.add_argument("--seconds", action="store_true", help="time the choice on delicious")
    options = parser.parse_args()
    names = options.datasets
    folder = data_folder()
    if folder is None:
        raise SystemExit("No public data sets: set POLYLEAF_DATA or add ../shared/data.")
    if options.seconds:
        print_seconds(folder)
        return
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
