"""What runs in a process of its own: drawing data, or measuring one method on one case once.

The measuring process loads the data, imports the library and warms up on a few rows; what its
memory is then, is the baseline of the peaks. Only `fit` and `predict` are timed, with all that
they do: validation, conversion, binning.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from benchmarks.versus.machine import use_instruction_set
from benchmarks.versus.memory import peak, restart_peak
from benchmarks.versus.methods import Method, methods_of
from benchmarks.versus.problems import PROBLEMS, Split
from benchmarks.versus.scores import METRICS
from benchmarks.versus.tasks import TASKS, Case

_WARM_UP_ROWS = 64


@dataclass(frozen=True)
class Cost:
    """What one fit and one prediction of the test rows took.

    Attributes
    ----------
    fit_seconds, predict_seconds : float
        Wall time.
    fit_cpu_seconds : float
        Processor time of all threads: more than ``threads`` times the wall time would tell that
        a library does not keep to its threads.
    fit_peak_bytes, predict_peak_bytes : int
        Peak of the resident memory over that of the data and the imported library; during
        prediction the model is part of it.
    model_bytes : int
        Size of the pickled model.
    scores : dict of str to float
    n_rules : int or None
        Rules of the model, if it is made of rules: a library may end with fewer than asked for.
    predict_cpu_seconds : float
        Processor time of all threads while predicting.
    """

    fit_seconds: float
    fit_cpu_seconds: float
    predict_seconds: float
    fit_peak_bytes: int
    predict_peak_bytes: int
    model_bytes: int
    scores: dict[str, float]
    n_rules: int | None = None
    predict_cpu_seconds: float = 0.0


def draw(problem: str, number: int, dtype: str, path: Path) -> None:
    """Write a draw of a problem to a file."""
    joblib.dump(PROBLEMS[problem].draw(number).with_features_as(dtype), path)


def measure(method: Method, case: Case, split: Split) -> Cost:
    """Fit and predict once, with an eye on time and memory."""
    _warm_up(method, case, split)
    model = method.make(case)
    gc.collect()
    baseline = restart_peak()

    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(split.X_train, split.Y_train)
    fit_seconds, fit_cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    fit_peak = peak()

    restart_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    predictions = method.predict(model, split.X_test)
    predict_seconds, predict_cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    predict_peak = peak()

    metrics = TASKS[case.task].metrics
    return Cost(
        fit_seconds=fit_seconds,
        fit_cpu_seconds=fit_cpu_seconds,
        predict_seconds=predict_seconds,
        fit_peak_bytes=max(0, fit_peak - baseline),
        predict_peak_bytes=max(0, predict_peak - baseline),
        model_bytes=len(pickle.dumps(model)),
        scores={name: METRICS[name](split.Y_test, predictions) for name in metrics},
        n_rules=getattr(model, "n_rules_", None),
        predict_cpu_seconds=predict_cpu_seconds,
    )


def _warm_up(method: Method, case: Case, split: Split) -> None:
    """Let the library do what it does only once: late imports, starting threads."""
    rows = np.arange(min(_WARM_UP_ROWS, split.X_train.shape[0]))
    model = method.make(case)
    model.fit(split.X_train[rows], split.Y_train[rows])
    method.predict(model, split.X_train[rows])


def main(request: dict[str, Any]) -> None:
    """Do what the request says; see `benchmarks.versus.runner`."""
    if request["do"] == "draw":
        draw(request["problem"], request["draw"], request["dtype"], Path(request["data"]))
        return
    case = Case(**request["case"])
    method = methods_of(case.task)[request["method"]]
    if method.is_ours and request["instruction_set"] is not None:
        use_instruction_set(request["instruction_set"])
    cost = measure(method, case, joblib.load(request["data"]))
    Path(request["answer"]).write_text(json.dumps(asdict(cost)))


if __name__ == "__main__":
    main(json.load(sys.stdin))
