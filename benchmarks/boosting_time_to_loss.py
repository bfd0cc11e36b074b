"""Time to be as good as the best rival: ``python -m benchmarks.boosting_time_to_loss``.

polyleaf boosts trees that see five Gaussian combinations of the gradients, for 150 rounds;
LightGBM (a model per output), XGBoost (a tree per output, and vector leaves) and CatBoost
boost as they do, for 100 rounds of depth 6, or until ``--cutoff`` seconds have passed
(LightGBM, which ends one output after the other, is never cut off). After certain rounds the
validation loss is measured, outside of the time that counts. The target is one per cent above the
lowest loss that any rival reached in any round; what is compared is the time that polyleaf takes
to get there with the time that the rivals that get there take.
Every finished run is kept; a second call goes on where the first was stopped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.runs import Runs, markdown
from benchmarks.versus.problems import PROBLEMS, Split

#: Rounds whose validation loss is measured.
ROUNDS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)
OWN_ROUNDS = (*ROUNDS, 105, 110, 115, 120, 130, 140, 150)  # polyleaf's are short
IS_LABELS = {"dense-30k-120-100": False, "delicious": True, "dense-300-8-3": False}

Predict = Callable[[int], NDArray[Any]]  # of the validation rows, with the first so many rounds


class Clock:
    """The time of a fit, noted after every round."""

    def __init__(self, cutoff: float) -> None:
        self.cutoff = cutoff
        self._start = time.perf_counter(), time.process_time()
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []

    def note(self) -> bool:
        """Note that a round is over; tell whether the time is."""
        self.seconds.append(time.perf_counter() - self._start[0])
        self.cpu_seconds.append(time.process_time() - self._start[1])
        return self.seconds[-1] > self.cutoff


def train_polyleaf(
    n_leaves: int, data: Split, is_labels: bool, rate: float, threads: int, clock: Clock
) -> Predict:
    """Boost trees on five combinations."""
    from polyleaf import BoostingClassifier, BoostingRegressor
    from polyleaf.projections import Gaussian

    cls = BoostingClassifier if is_labels else BoostingRegressor
    model = cls(
        projection=Gaussian(n_components=5),
        n_estimators=OWN_ROUNDS[-1],
        learning_rate=rate,
        max_depth=None,
        max_leaf_nodes=n_leaves,
        random_state=0,
        n_jobs=threads,
    )
    model.fit(data.X_train, data.Y_train, callbacks=[lambda progress: clock.note()])
    stages = model.staged_predict_proba if is_labels else model.staged_predict
    wanted = {k: stage for k, stage in enumerate(stages(data.X_test), start=1) if k in OWN_ROUNDS}
    return wanted.__getitem__


def train_lightgbm(
    data: Split, is_labels: bool, rate: float, threads: int, clock: Clock
) -> Predict:
    """Boost a model per output on one binned data set; a round is over when all have done it."""
    import lightgbm

    params = {
        "objective": "binary" if is_labels else "regression",
        "learning_rate": rate,
        "max_depth": 6,
        "num_leaves": 64,
        "max_bin": 255,
        "num_threads": threads,
        "verbosity": -1,
        "seed": 0,
    }
    Y = dense(data.Y_train)
    rows = lightgbm.Dataset(data.X_train, params=params, free_raw_data=False).construct()
    clock.note()
    spent = np.array([clock.seconds, clock.cpu_seconds]) + np.zeros((2, ROUNDS[-1]))
    models: list[Any] = []
    for y in Y.T:
        if y.min() == y.max():
            models.append(None)
            continue
        rows.set_label(y)
        own = Clock(np.inf)
        noting = [lambda env, own=own: own.note()]
        models.append(lightgbm.train(params, rows, ROUNDS[-1], callbacks=noting))
        spent += padded(own.seconds), padded(own.cpu_seconds)
    clock.seconds, clock.cpu_seconds = spent.tolist()

    def predict(k: int) -> NDArray[Any]:
        columns = [
            np.full(len(data.X_test), y[0])
            if model is None
            else model.predict(data.X_test, num_iteration=k)
            for y, model in zip(Y.T, models, strict=True)
        ]
        return np.column_stack(columns)

    return predict


def padded(times: list[float]) -> NDArray[np.float64]:
    """Let a model that ended early stand still for the other rounds."""
    return np.array(times + times[-1:] * (ROUNDS[-1] - len(times)))


def train_xgboost(
    strategy: str, data: Split, is_labels: bool, rate: float, threads: int, clock: Clock
) -> Predict:
    """Boost a tree per output and round, or one with vector leaves."""
    import xgboost

    class Noting(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return clock.note()

    booster = xgboost.train(
        {
            "objective": "binary:logistic" if is_labels else "reg:squarederror",
            "learning_rate": rate,
            "max_depth": 6,
            "max_bin": 255,
            "tree_method": "hist",
            "multi_strategy": strategy,
            "nthread": threads,
            "seed": 0,
        },
        xgboost.QuantileDMatrix(data.X_train, dense(data.Y_train), max_bin=255, nthread=threads),
        ROUNDS[-1],
        callbacks=[Noting()],
    )
    rows = xgboost.DMatrix(data.X_test)
    return lambda k: booster.predict(rows, iteration_range=(0, k))


def train_catboost(
    data: Split, is_labels: bool, rate: float, threads: int, clock: Clock
) -> Predict:
    """Boost symmetric trees with vector leaves."""
    from catboost import CatBoost, Pool

    class Noting:
        def after_iteration(self, info: Any) -> bool:
            return not clock.note()

    model = CatBoost(
        {
            "iterations": ROUNDS[-1],
            "learning_rate": rate,
            "depth": 6,
            "border_count": 254,
            "loss_function": "MultiLogloss" if is_labels else "MultiRMSE",
            "random_seed": 0,
            "thread_count": threads,
            "allow_writing_files": False,
            "verbose": False,
        }
    )
    model.fit(Pool(data.X_train, dense(data.Y_train)), callbacks=[Noting()])
    kind = "Probability" if is_labels else "RawFormulaVal"
    return lambda k: model.predict(data.X_test, prediction_type=kind, ntree_end=k)


#: How each library trains, and the module that must be there.
METHODS: dict[str, tuple[str, Callable[..., Predict]]] = {
    "polyleaf, 32 leaves": ("polyleaf", partial(train_polyleaf, 32)),
    "polyleaf, 256 leaves": ("polyleaf", partial(train_polyleaf, 256)),
    "lightgbm": ("lightgbm", train_lightgbm),
    "xgboost-single": ("xgboost", partial(train_xgboost, "one_output_per_tree")),
    "xgboost-vector": ("xgboost", partial(train_xgboost, "multi_output_tree")),
    "catboost": ("catboost", train_catboost),
}


def dense(Y: Any) -> NDArray[np.float32]:
    """Return outputs as one array of numbers."""
    return np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y, dtype=np.float32)


def loss_of(predicted: NDArray[Any], data: Split, is_labels: bool) -> float:
    """Average the log loss over labels, or the share of the outputs' variances not explained."""
    Y = dense(data.Y_test).astype(np.float64)
    if is_labels:
        p = np.clip(predicted.astype(np.float64), 1e-7, 1 - 1e-7)
        return float(-np.mean(np.where(Y > 0, np.log(p), np.log1p(-p))))
    return float(np.mean(((predicted - Y) ** 2).mean(axis=0) / Y.var(axis=0)))


def run(problem: str, method: str, rate: float, threads: int, cutoff: float) -> dict[str, Any]:
    """Train, then measure the loss after some of the rounds."""
    data, is_labels = PROBLEMS[problem].draw(0), IS_LABELS[problem]
    clock = Clock(cutoff)
    predict = METHODS[method][1](data, is_labels, rate, threads, clock)
    rounds = [k for k in OWN_ROUNDS if k <= len(clock.seconds)]
    return {
        "rounds": rounds,
        "seconds": [clock.seconds[k - 1] for k in rounds],
        "cpu_seconds": [clock.cpu_seconds[k - 1] for k in rounds],
        "losses": [loss_of(predict(k), data, is_labels) for k in rounds],
    }


def first_at(row: dict[str, Any], target: float) -> dict[str, Any] | None:
    """Find the first of the measured rounds that is at the target."""
    for k, seconds, cpu, loss in zip(
        row["rounds"], row["seconds"], row["cpu_seconds"], row["losses"], strict=True
    ):
        if loss <= target:
            return {"rounds": k, "seconds": seconds, "cpu_seconds": cpu}
    return None


def report(rows: list[dict[str, Any]]) -> str:
    """Write one table per problem: when each got to the target."""
    parts = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        of_problem = [row for row in rows if row["problem"] == problem]
        rivals = [
            min(row["losses"]) for row in of_problem if METHODS[row["method"]][0] != "polyleaf"
        ]
        if not rivals:
            continue
        target = 1.01 * min(rivals)
        lines = []
        for row in of_problem:
            at = first_at(row, target)
            lines.append(
                [
                    row["method"],
                    f"{row['rate']:g}",
                    f"{min(row['losses']):.5f}",
                    f"{row['seconds'][-1]:.1f} ({row['rounds'][-1]})",
                    "-" if at is None else f"{at['seconds']:.2f} ({at['rounds']})",
                    "-" if at is None else f"{at['cpu_seconds']:.2f}",
                ]
            )
        header = [
            "method",
            "rate",
            "lowest loss",
            "seconds (rounds)",
            "to target",
            "CPU to target",
        ]
        parts.append(f"{problem}, target {target:.5f}\n\n{markdown(header, lines)}")
    return "\n\n".join(parts)


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default="dense-30k-120-100,delicious")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--rates", default="0.1,0.2,0.3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cutoff", type=float, default=1200.0, help="seconds for a rival's fit")
    args = parser.parse_args()
    runs = Runs("boosting-time-to-loss")
    for problem in args.problems.split(","):
        for method in args.methods:
            if find_spec(METHODS[method][0]) is None:
                print(f"{method} is not installed and left out.")
                continue
            for rate in map(float, args.rates.split(",")):
                key = {
                    "problem": problem,
                    "method": method,
                    "rate": rate,
                    "threads": args.threads,
                    "cutoff": args.cutoff,
                }
                runs.measure(key, lambda k=key: run(**k))  # type: ignore[misc]
    print(report(runs.rows))


if __name__ == "__main__":
    main()
