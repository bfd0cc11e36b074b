"""How far the losses of rules differ from seed to seed, ours and mlrl-boomer's.

    python -m benchmarks.rule_seeds --problem medical-sparse --setting logistic-single-300

Few rules leave most labels undecided: which rows are right then depends on the features that were
drawn. `benchmarks.versus` has one seed for all divisions, so that its standard errors do not show
this.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.versus.adapters.boomer import Boomer
from benchmarks.versus.adapters.polyleaf_rules import make_binned
from benchmarks.versus.problems import PROBLEMS, Split
from benchmarks.versus.tasks import Case

_NAMES = ("polyleaf", "boomer")


def main() -> None:
    """Print the shares of rows and labels right over all seeds, for each division and in all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", default="medical-sparse")
    parser.add_argument("--setting", default="logistic-single-300")
    parser.add_argument("--divisions", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    case = Case("rules", options.problem, options.setting, "float64", 1)
    shape = (options.divisions, options.seeds, len(_NAMES), 3)
    found = np.empty(shape)
    print(
        "| division | model | rows right: mean, deviation, least, most | labels right | labels |"
    )
    print("| --- | --- | --- | --- | --- |")
    for division in range(options.divisions):
        split = PROBLEMS[options.problem].draw(division)
        for seed in range(options.seeds):
            found[division, seed] = [_measure(name, case, seed, split) for name in _NAMES]
        _print(str(division), found[division])
    _print("all", found.reshape(-1, *shape[2:]))


def _measure(name: str, case: Case, seed: int, split: Split) -> tuple[float, float, float]:
    """Give the share of rows right, that of labels right, and the labels predicted per row."""
    model: Any
    if name == "boomer":
        model = Boomer("none", case, seed + 1)
    else:
        model = make_binned(case).set_params(random_state=seed)
    model.fit(split.X_train, split.Y_train)
    predicted = _dense(model.predict(split.X_test))
    is_right = predicted == _dense(split.Y_test)
    n_predicted = float(predicted.sum(axis=1).mean())
    return float(is_right.all(axis=1).mean()), float(is_right.mean()), n_predicted


def _dense(labels: Any) -> NDArray[np.float64]:
    array = labels.toarray() if sparse.issparse(labels) else labels
    return np.asarray(array, dtype=np.float64)


def _print(division: str, found: NDArray[np.float64]) -> None:
    """Print a line per model for results of shape (n, n_models, 3)."""
    for i, name in enumerate(_NAMES):
        rows, labels, n_predicted = found[:, i].T
        print(
            f"| {division} | {name} | {rows.mean():.3f}, {rows.std(ddof=1):.3f}, "
            f"{rows.min():.3f}, {rows.max():.3f} | {labels.mean():.4f} | "
            f"{n_predicted.mean():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
