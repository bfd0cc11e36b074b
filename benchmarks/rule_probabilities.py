"""Which form of the probabilities of label sets suits example-wise rules, on public data sets.

``python -m benchmarks.rule_probabilities`` prints a table: label ranking average precision of
scores and of probabilities by exp(-loss) and by the chain rule; example F1 (in per cent) of the
label set of least loss and of ``decoding="f1"`` with either form; and what the hold-out chose.
Two thirds of the rows are learnt from, one third is measured, over two divisions.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import label_ranking_average_precision_score as lrap

from benchmarks.papers.runs import take
from benchmarks.real_data import REAL_DATA, data_folder
from polyleaf import RuleClassifier
from polyleaf.metrics import example_f1_score
from polyleaf.rules.label_sets import SetProbabilities

NAMES = [
    "birds",
    "cal500",
    "emotions",
    "enron",
    "flags",
    "genbase",
    "langlog",
    "medical",
    "scene",
    "yeast",
]
FORMS: tuple[SetProbabilities, ...] = ("loss", "chain_rule")
HEADER = "| | LRAP scores | loss | chain | F1 best set | f1, loss | f1, chain | chosen |"


def measure(X: Any, Y: Any, seed: int, n_rules: int) -> tuple[list[float], str]:
    """Fit once, and measure both forms."""
    order = np.random.default_rng(seed).permutation(len(Y))
    test, train = np.sort(order[: len(Y) // 3]), np.sort(order[len(Y) // 3 :])
    model = RuleClassifier(n_rules=n_rules, loss="examplewise_logistic", random_state=0)
    model.fit(take(X, train), Y[train])
    chosen, rows, truth = model.set_probabilities_, take(X, test), Y[test]
    ranks = [lrap(truth, model.decision_function(rows))]
    sets = [100 * example_f1_score(truth, model.predict(rows))]
    model.decoding = "f1"
    for form in FORMS:
        model._fitted = replace(model._fitted, set_probabilities=form)
        ranks.append(lrap(truth, model.predict_proba(rows)))
        sets.append(100 * example_f1_score(truth, model.predict(rows)))
    return [*ranks, *sets], chosen


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--rules", type=int, default=500)
    options = parser.parse_args()
    folder = data_folder()
    if folder is None:
        raise SystemExit("No public data sets: set POLYLEAF_DATA or add ../shared/data.")
    lines = []
    for name in options.data:
        data = REAL_DATA[name].load(folder)
        Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y).astype(int)
        found = [measure(data.X, Y, seed, options.rules) for seed in (0, 1)]
        means = np.mean([numbers for numbers, _ in found], axis=0)
        chosen = " / ".join(dict.fromkeys(form for _, form in found))
        texts = [f"{v:.3f}" for v in means[:3]] + [f"{v:.1f}" for v in means[3:]]
        lines.append([name, *texts, chosen])
        print(*lines[-1], flush=True)
    print(HEADER, "|---" * 8 + "|", *("| " + " | ".join(line) + " |" for line in lines), sep="\n")


if __name__ == "__main__":
    main()
