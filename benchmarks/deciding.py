"""Defaults weighed on the deciding sets: ``python -m benchmarks.deciding {forests,graphs,...}``.

Every question has settings to choose from; the first one is the default before. Each is fitted on
two thirds of the rows of every deciding set of its task (`benchmarks.division`), in divisions that
all settings share, and scored on the others: macro-r2 of numbers, LRAP of labels.
Finished runs are kept; a second call goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.division import DECIDING
from benchmarks.papers.runs import Runs, load, markdown, take
from benchmarks.real_data import REAL_DATA
from polyleaf import (
    BaggedTreesRegressor,
    BoostingClassifier,
    BoostingRegressor,
    ExtraTreesRegressor,
    GraphEnsembleClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RuleClassifier,
    RuleRegressor,
)
from polyleaf.metrics import label_ranking_average_precision_score, macro_r2_score


@dataclass(frozen=True)
class Question:
    """What is to be decided: settings by name, on the deciding sets of a task up to a size."""

    task: str
    settings: Mapping[str, Callable[..., Any]]
    most_values: int = 2_000_000

    @property
    def sets(self) -> list[str]:
        """The deciding sets of the task that are not too large, small ones first."""
        entries = [REAL_DATA[name] for name in DECIDING]
        fitting = [
            e for e in entries if e.task == self.task and self._n_values(e) <= self.most_values
        ]
        return [entry.name for entry in sorted(fitting, key=self._n_values)]

    @staticmethod
    def _n_values(entry: Any) -> int:
        return int(entry.n * (entry.p + entry.d))


def _aggregations(make: Any) -> dict[str, Callable[..., Any]]:
    return {
        "total": partial(make, projection="subsample", aggregation="total"),
        "subspace": partial(make, projection="subsample", aggregation="subspace"),
        "mixed": partial(make, projection="subsample", aggregation="mixed"),
        "all targets": partial(make, projection=None),
    }


def _exactness(make: Any) -> dict[str, Callable[..., Any]]:
    return {"255 bins": partial(make, max_bins=255), "exact": partial(make, max_bins=None)}


def _rules(make: Any) -> dict[str, Callable[..., Any]]:
    return {
        "500 rules, 0.3": partial(make, n_rules=500, learning_rate=0.3),
        "500 rules, 0.1": partial(make, n_rules=500, learning_rate=0.1),
        "1000 rules, 0.1": partial(make, n_rules=1000, learning_rate=0.1),
        "stopped, 0.1": partial(make, n_rules=2000, learning_rate=0.1, early_stopping=True),
    }


def _rule_views(make: Any) -> dict[str, Callable[..., Any]]:
    return {
        "all outputs": partial(make),
        "half of them": partial(make, projection="subsample"),
        "combinations": partial(make, projection="gaussian"),
        "in turn": partial(make, projection="round_robin"),
    }


def _boosting(make: Any) -> dict[str, Callable[..., Any]]:
    return {
        "default": partial(make),
        "subsample 0.7": partial(make, subsample=0.7),
        "features 0.5": partial(make, max_features=0.5),
        "both": partial(make, subsample=0.7, max_features=0.5),
        "step 0.05": partial(make, learning_rate=0.05),
        "5 rows a leaf": partial(make, min_samples_leaf=5),
        "all three": partial(make, subsample=0.7, max_features=0.5, min_samples_leaf=3),
    }


_GRAPHS = partial(GraphEnsembleClassifier, n_estimators=5, calibration_folds=None)

QUESTIONS = {
    "random-forests": Question("regression", _aggregations(RandomForestRegressor)),
    "extra-trees": Question("regression", _aggregations(ExtraTreesRegressor)),
    "bagged-trees": Question("regression", _aggregations(BaggedTreesRegressor)),
    "bins": Question("regression", _exactness(RandomForestRegressor)),
    "bins-labels": Question("multilabel", _exactness(RandomForestClassifier)),
    "rules": Question("regression", _rules(RuleRegressor), most_values=30_000),
    "rules-labels": Question("multilabel", _rules(RuleClassifier), most_values=100_000),
    "boosting": Question("regression", _boosting(BoostingRegressor), most_values=150_000),
    "boosting-labels": Question("multilabel", _boosting(BoostingClassifier), most_values=150_000),
    "rule-views": Question("regression", _rule_views(RuleRegressor), most_values=30_000),
    "rule-views-labels": Question("multilabel", _rule_views(RuleClassifier), most_values=100_000),
    "graphs": Question(
        "multilabel",
        {
            "linear": partial(_GRAPHS, kernel="linear", C="scale"),
            "rbf": partial(_GRAPHS, kernel="rbf", C="scale"),
            "auto": partial(_GRAPHS, kernel="auto", C="auto"),
        },
        most_values=200_000,
    ),
}


def score(model: Any, X: Any, Y: Any) -> float:
    """Score predictions as the module says."""
    if not hasattr(model, "decision_function") and not hasattr(model, "predict_proba"):
        return float(macro_r2_score(Y, model.predict(X)))
    name = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    ranked = getattr(model, name)(X)
    return float(label_ranking_average_precision_score(Y, ranked, empty_rows="drop"))


def fit_and_score(model: Any, X: Any, Y: Any, X_test: Any, Y_test: Any) -> dict[str, Any]:
    """Fit a model; give its score and the processor time that the fit took."""
    start = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - start
    return {"score": score(model, X_test, Y_test), "cpu": seconds}


def run(name: str, sets: Sequence[str], n_divisions: int) -> Runs:
    """Fit and score what the results lack."""
    question, runs = QUESTIONS[name], Runs(f"deciding-{name}")
    for number in range(n_divisions):
        for data in sets:
            X, Y = load(data)
            order = np.random.default_rng(number).permutation(Y.shape[0])
            train, test = np.split(order, [Y.shape[0] * 2 // 3])
            parts = take(X, train), take(Y, train), take(X, test), take(Y, test)
            for setting, make in question.settings.items():
                model = make(random_state=number, n_jobs=1)
                key = {"data": data, "setting": setting, "division": number}
                runs.measure(key, partial(fit_and_score, model, *parts))
    return runs


def show(name: str, sets: Sequence[str], runs: Runs) -> str:
    """Write mean scores per set, and the mean difference from the first setting."""
    settings = list(QUESTIONS[name].settings)
    table = np.array(
        [[runs.values("score", data=d, setting=s).mean() for s in settings] for d in sets]
    )
    costs = np.array(
        [[runs.values("cpu", data=d, setting=s).mean() for s in settings] for d in sets]
    )
    rows = [[d, *(f"{v:.3f}" for v in line)] for d, line in zip(sets, table)]
    gains = table - table[:, :1]
    ranks = (table[:, None, :] > table[:, :, None]).sum(axis=2) + 1.0
    rows.append(["mean difference", *(f"{v:+.4f}" for v in gains.mean(axis=0))])
    rows.append(["largest loss", *(f"{v:+.3f}" for v in gains.min(axis=0))])
    rows.append(["mean rank", *(f"{v:.2f}" for v in ranks.mean(axis=0))])
    rows.append(["CPU time", *(f"{v:.1f}" for v in np.median(costs / costs[:, :1], axis=0))])
    return markdown([name, *settings], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run and show."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deciding", description=__doc__)
    parser.add_argument("question", choices=list(QUESTIONS))
    parser.add_argument("--data", nargs="+", metavar="NAME")
    parser.add_argument("--divisions", type=int, default=2)
    options = parser.parse_args(argv)
    sets = options.data or QUESTIONS[options.question].sets
    warnings.simplefilter("ignore")
    print(show(options.question, sets, run(options.question, sets, options.divisions)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
