"""What sparse or 32-bit statistics could bring to rules: ``python -m benchmarks.rule_statistics``.

Derivatives of rules are 64-bit numbers for every row and label. Three looks at what less would
bring where labels are many, before anybody writes kernels for it:

- *half the bytes*: our time for half as many labels, whose statistics are as large as all in 32
  bits, over that for all of them. 32 bits cannot save more.
- *mlrl-boomer*, the authors' program, which has both: its own time and losses with 32-bit and
  with sparse statistics, over those with 64-bit and dense ones. Sparse ones need the squared
  hinge, single heads and no default rule.
- *zeros*: which share of the derivatives of the squared hinge is not 0 when our rules are learnt,
  and how the model compares with the logistic loss, which has no zeros.

Processor time, one thread, a third of the rows for test.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.papers.rules_table import read, row_losses
from benchmarks.papers.runs import Runs, markdown, take
from benchmarks.papers.tables import paper
from polyleaf import RuleClassifier
from polyleaf.losses import LossTargets, SquaredHinge

#: Loss and head of ours, and what mlrl-boomer calls the loss.
VARIANTS = {
    "lw-single": ("logistic", "single", "logistic-decomposable"),
    "lw-multi": ("logistic", "complete", "logistic-decomposable"),
    "ew-multi": ("examplewise_logistic", "complete", "logistic-non-decomposable"),
}


def divide(name: str, number: int) -> tuple[Any, ...]:
    """Divide a data set into two thirds and one third."""
    X, Y = read(name)
    order = np.random.default_rng(number).permutation(len(Y))
    train, test = np.sort(order[: 2 * len(Y) // 3]), np.sort(order[2 * len(Y) // 3 :])
    return take(X, train), Y[train].astype(int), take(X, test), Y[test]


def losses_of(predicted: Any, truth: Any) -> dict[str, float]:
    """Give the three losses, in per cent."""
    found = 100 * row_losses(predicted, truth).mean(axis=1)
    return dict(zip(("subset 0/1", "Hamming", "example F1"), found.tolist(), strict=True))


def ours(parts: tuple[Any, ...], variant: str, n_rules: int, **changed: Any) -> tuple[Any, float]:
    """Learn rules of ours; give the model and the processor time."""
    made = paper(
        RuleClassifier, variant, n_rules=n_rules, random_state=0, n_jobs=1, **changed
    ).estimator
    start = time.process_time()
    made.fit(parts[0], parts[1])
    return made, time.process_time() - start


def halves(parts: tuple[Any, ...], variant: str, n_rules: int) -> dict[str, float]:
    """Time all labels, and every second one; the shorter of two fits each."""
    X, Y, *_ = parts
    whole = min(ours(parts, variant, n_rules)[1] for _ in range(2))
    half = min(ours((X, Y[:, ::2]), variant, n_rules)[1] for _ in range(2))
    return {"all_s": whole, "half_s": half, "ratio": half / whole}


def boomer(parts: tuple[Any, ...], n_rules: int, **options: Any) -> dict[str, float]:
    """Learn with mlrl-boomer."""
    from mlrl.boosting import BoomerClassifier

    X, Y, X_test, Y_test = parts
    model = BoomerClassifier(
        random_state=1,
        max_rules=n_rules,
        instance_sampling="with-replacement",
        feature_sampling="without-replacement",
        label_binning="none",
        shrinkage=0.3,
        l2_regularization_weight=1.0,
        parallel_rule_refinement="false",
        parallel_statistic_update="false",
        **options,
    )
    start = time.process_time()
    model.fit(X, Y.astype(np.uint8))
    seconds = time.process_time() - start
    predicted = model.predict(X_test)
    predicted = predicted.toarray() if hasattr(predicted, "toarray") else np.asarray(predicted)
    return {"cpu_s": seconds, **losses_of(predicted, Y_test)}


def zeros(parts: tuple[Any, ...], n_rules: int, loss: str) -> dict[str, float]:
    """Learn single heads with a loss; tell its losses and, of the hinge, what is not 0."""
    X, Y, X_test, Y_test = parts
    model, seconds = ours(parts, "lw-single", n_rules, loss=loss)
    found = {"cpu_s": seconds, **losses_of(model.predict(X_test), Y_test)}
    if loss == "squared_hinge":
        for label, count in (("first", 1), ("last", n_rules)):
            scores = model.select(range(count)).decision_function(X)
            gradient = SquaredHinge().gradient(LossTargets.of(Y.astype(float)), scores)
            found[f"not 0, {label}"] = 100 * float(np.mean(gradient != 0))
    return found


def show(runs: Runs, names: list[str]) -> str:
    """Write one line per look, variant and data set."""
    rows = []
    for row in runs.rows:
        if row["data"] not in names:
            continue
        shown = ("ratio", "all_s", "half_s", "cpu_s", "subset 0/1", "Hamming", "example F1")
        shown += ("not 0, first", "not 0, last")
        values = [f"{row[key]:.3g}" if key in row else "" for key in shown]
        rows.append([row["look"], row["data"], row["way"], str(row["rules"]), *values])
    head = ["", "data", "", "rules", "ratio", "all, s", "half, s", "CPU s", "subset 0/1, %"]
    head += ["Hamming, %", "example F1, %", "not 0 at first, %", "at the end, %"]
    return markdown(head, sorted(rows))


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", default=["bibtex", "corel5k"])
    parser.add_argument("--rules", type=int, default=100)
    parser.add_argument("--skip-boomer", action="store_true")
    options = parser.parse_args()
    runs, n_rules = Runs("rule-statistics"), options.rules
    for name in options.data:
        parts = divide(name, 0)
        for variant, (_, head, loss) in VARIANTS.items():
            size = min(n_rules, 20) if variant == "ew-multi" else n_rules
            key = {"data": name, "rules": size}
            runs.measure(
                {"look": "half the bytes", "way": variant, **key},
                lambda: halves(parts, variant, size),  # noqa: B023
            )
            if options.skip_boomer or variant == "ew-multi":
                continue
            for bits in ("64-bit", "32-bit"):
                runs.measure(
                    {"look": "mlrl-boomer", "way": f"{variant}, {bits}", **key},
                    lambda: boomer(parts, size, loss=loss, head_type=head, statistic_type=bits),  # noqa: B023
                )
        for kind in () if options.skip_boomer else ("dense", "sparse"):
            runs.measure(
                {"look": "mlrl-boomer", "way": f"hinge, {kind}", "data": name, "rules": n_rules},
                lambda: boomer(
                    parts,  # noqa: B023
                    n_rules,
                    loss="squared-hinge-decomposable",
                    head_type="single",
                    default_rule="false",
                    statistic_format=kind,  # noqa: B023
                ),
            )
        for loss in ("logistic", "squared_hinge"):
            runs.measure(
                {"look": "zeros", "way": loss, "data": name, "rules": n_rules},
                lambda: zeros(parts, n_rules, loss),  # noqa: B023
            )
    print(show(runs, options.data))


if __name__ == "__main__":
    main()
