"""Surrogates of F1 and of Jaccard for rules: ``python -m benchmarks.rule_surrogates``.

Rapp et al. 2020 name them as future work. Three are tried here as losses of one's own, beside the
published losses, whose probabilities of label sets are decided for the highest expected F1 or
Jaccard index (`decoding=`), which needs no loss for it:

- *flips*: the example-wise logistic loss in which each label weighs what F1 (or Jaccard) loses if
  it alone is wrong: with n labels in a row, 1 / (2 n - 1) for one that is left out and
  1 / (2 n + 1) for one too many (1 / n and 1 / (n + 1)); convex, a Hessian as before;
- *flips by label*: the logistic loss of single labels with the same weights;
- *soft*: 1 - F1 (or Jaccard) with probabilities in the place of labels; not convex, so that steps
  are guarded.

Complete heads, other settings as published; measured on a third of the rows. Weights below 1 make
an L2 penalty heavier, so that every way has several penalties, of which the best counts for each
data set, chosen on the rows that measure it, for all ways alike.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.papers.rules_table import read
from benchmarks.papers.runs import Runs, markdown, take
from benchmarks.papers.tables import paper
from polyleaf import RuleClassifier
from polyleaf.losses import ExamplewiseLogistic, LossTargets, MarginLoss, Quadratic
from polyleaf.losses._examplewise import ExamplewiseLoss

Floats = NDArray[np.float64]
MEASURES = ("example F1", "Jaccard", "subset 0/1")
#: Added to both sides of the fraction, so that rows without labels have one.
SOFTENER = 1.0
LARGEST = 30.0


def flip_costs(n_labels: Any, is_jaccard: bool) -> tuple[Floats, Floats]:
    """Give what is lost by a label left out and by one too many, of rows with so many labels.

    Examples
    --------
    >>> left_out, too_many = flip_costs(np.array([0, 1, 2]), is_jaccard=False)
    >>> left_out.round(2).tolist(), too_many.round(2).tolist()
    ([1.0, 1.0, 0.33], [1.0, 0.33, 0.2])
    """
    n = np.asarray(n_labels, dtype=np.float64)
    if is_jaccard:
        return 1 / np.maximum(n, 1), 1 / (n + 1)
    return 1 / np.maximum(2 * n - 1, 1), 1 / (2 * n + 1)


def entry_costs(values: NDArray[Any], is_jaccard: bool) -> Floats:
    """Give what is lost if one label alone is wrong, for every entry of 0 and 1."""
    left_out, too_many = flip_costs(values.sum(axis=1, keepdims=True), is_jaccard)
    return np.asarray(np.where(values > 0, left_out, too_many))


class Flips(ExamplewiseLogistic):
    """log(1 + sum_k c_k exp(-m_k)), c_k being what the measure loses if label k is wrong."""

    is_jaccard: ClassVar[bool] = False

    def _shares(
        self, targets: LossTargets, raw: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        signs = np.where(targets.values > 0, -1.0, 1.0)
        terms = signs * raw + np.log(entry_costs(targets.values, self.is_jaccard))
        largest = np.maximum(terms.max(axis=1, keepdims=True), 0.0)
        powers = np.exp(terms - largest)
        total = np.exp(-largest) + powers.sum(axis=1, keepdims=True)
        return signs, powers / total, (largest + np.log(total))[:, 0]

    def set_losses(self, scores: Floats, label_sets: NDArray[np.bool_]) -> Floats:
        """Compute the loss of each label set for each row, by the costs of its own size."""
        left_out, too_many = flip_costs(label_sets.sum(axis=1), self.is_jaccard)
        bounded = np.clip(scores, -LARGEST, LARGEST)
        sets = label_sets.astype(np.float64)
        sums = (np.exp(-bounded) @ sets.T) * left_out + (np.exp(bounded) @ (1 - sets.T)) * too_many
        return np.asarray(np.log1p(sums))


class JaccardFlips(Flips):
    """The same for the Jaccard index."""

    is_jaccard: ClassVar[bool] = True


class LabelFlips(MarginLoss):
    """The logistic loss of every label, times what the measure loses if it alone is wrong."""

    is_jaccard: ClassVar[bool] = False

    def costs(self, margins: Floats) -> Floats:
        """Compute log(1 + exp(-m)), not weighted: what labels cost when they are decided."""
        return np.asarray(np.logaddexp(0.0, -margins))

    def losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every entry."""
        margin = np.where(targets.values > 0, raw, -raw)
        return entry_costs(targets.values, self.is_jaccard) * self.costs(margin)

    def row_losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Sum the losses of every row."""
        return np.asarray(self.losses(targets, raw).sum(axis=1))

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Differentiate."""
        return self.quadratic(targets, raw).gradient

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Give gradient and curvature."""
        weights, p = entry_costs(targets.values, self.is_jaccard), expit(raw)
        return Quadratic(weights * (p - targets.values), weights * p * (1 - p), None)

    def probabilities(self, scores: Floats) -> Floats:
        """Give 1 / (1 + exp(-f))."""
        return np.asarray(expit(scores))


class JaccardLabelFlips(LabelFlips):
    """The same for the Jaccard index."""

    is_jaccard: ClassVar[bool] = True


class Soft(ExamplewiseLoss):
    """1 - F1 of probabilities; its diagonal is that of the logistic loss, scaled."""

    is_jaccard: ClassVar[bool] = False

    def _parts(self, values: NDArray[Any], p: Floats) -> tuple[Floats, Floats, Floats]:
        """Numerator, denominator and the derivative of the measure by every probability."""
        both = (values * p).sum(axis=1, keepdims=True)
        either = values.sum(axis=1, keepdims=True) + p.sum(axis=1, keepdims=True)
        if self.is_jaccard:
            top, bottom = both + SOFTENER, either - both + SOFTENER
            slope = (values * bottom - top * (1 - values)) / bottom**2
        else:
            top, bottom = 2 * both + SOFTENER, either + SOFTENER
            slope = (2 * values * bottom - top) / bottom**2
        return top, bottom, slope

    def row_losses(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Compute the loss of every row."""
        top, bottom, _ = self._parts(targets.values, expit(raw))
        return np.asarray((1 - top / bottom)[:, 0])

    def gradient(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Differentiate by the raw predictions."""
        return self.quadratic(targets, raw).gradient

    def curvature(self, targets: LossTargets, raw: NDArray[Any]) -> NDArray[Any]:
        """Give what stands for the diagonal."""
        return self.quadratic(targets, raw).diagonal

    def quadratic(self, targets: LossTargets, raw: NDArray[Any]) -> Quadratic:
        """Give the gradient, and a diagonal that is positive where the loss bends down, too."""
        p = expit(raw)
        slope = self._parts(targets.values, p)[2]
        width = p * (1 - p)
        return Quadratic(-slope * width, np.abs(slope) * width, None)

    def largest_constant(self, targets: LossTargets) -> float:
        """Bound the default rule."""
        return 4.0

    def costs(self, margins: Floats) -> Floats:
        """Compute log(1 + exp(-m)); `set_losses` does not ask for it."""
        return np.asarray(np.logaddexp(0.0, -margins))

    def probabilities(self, scores: Floats) -> Floats:
        """Give 1 / (1 + exp(-f))."""
        return np.asarray(expit(scores))

    def set_losses(self, scores: Floats, label_sets: NDArray[np.bool_]) -> Floats:
        """Compute the loss of each label set for each row."""
        p, sets = expit(scores), label_sets.astype(np.float64)
        both, either = p @ sets.T, p.sum(axis=1, keepdims=True) + sets.sum(axis=1)
        if self.is_jaccard:
            return np.asarray(1 - (both + SOFTENER) / (either - both + SOFTENER))
        return np.asarray(1 - (2 * both + SOFTENER) / (either + SOFTENER))


class SoftJaccard(Soft):
    """1 - Jaccard index of probabilities."""

    is_jaccard: ClassVar[bool] = True


#: Loss, decoding and step, by name; the first is what the others are compared with.
WAYS: dict[str, tuple[Any, str, str]] = {
    "examplewise, expected F1": ("examplewise_logistic", "f1", "newton"),
    "examplewise, known set": ("examplewise_logistic", "auto", "newton"),
    "examplewise, expected Jaccard": ("examplewise_logistic", "jaccard", "newton"),
    "logistic, expected F1": ("logistic", "f1", "newton"),
    "logistic, expected Jaccard": ("logistic", "jaccard", "newton"),
    "flips of F1, known set": (Flips(), "auto", "newton"),
    "flips of F1, expected F1": (Flips(), "f1", "newton"),
    "flips of Jaccard, known set": (JaccardFlips(), "auto", "newton"),
    "flips of F1 by label, expected F1": (LabelFlips(), "f1", "newton"),
    "flips of Jaccard by label, expected Jaccard": (JaccardLabelFlips(), "jaccard", "newton"),
    "soft F1, known set": (Soft(), "auto", "guarded"),
    "soft Jaccard, known set": (SoftJaccard(), "auto", "guarded"),
}


def scores_of(predicted: Any, truth: NDArray[np.bool_]) -> list[float]:
    """Give example F1, Jaccard index and subset loss, in per cent; two empty sets agree."""
    found = np.asarray(predicted) == 1
    both, either = (found & truth).sum(axis=1), (found | truth).sum(axis=1)
    jaccard = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    f1 = 2 * jaccard / (1 + jaccard)
    wrong = (found != truth).any(axis=1)
    return [100 * float(values.mean()) for values in (f1, jaccard, wrong)]


def fitted(X: Any, Y: Any, way: str, n_rules: int, seed: int, penalty: float = 1.0) -> Any:
    """Learn complete rules by one of the losses."""
    loss, decoding, step = WAYS[way]
    made = paper(
        RuleClassifier,
        "ew-multi",
        loss=loss,
        decoding=decoding,
        step=step,
        l2_regularization=penalty,
        n_rules=n_rules,
        max_bins=255,
        random_state=seed,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.estimator.fit(X, Y)


def measure(name: str, way: str, n_rules: int, number: int, penalty: float) -> dict[str, float]:
    """Learn on two thirds of the rows and measure the others."""
    X, Y = read(name)
    order = np.random.default_rng(number).permutation(len(Y))
    train, test = np.sort(order[: 2 * len(Y) // 3]), np.sort(order[2 * len(Y) // 3 :])
    start = time.process_time()
    model = fitted(take(X, train), Y[train].astype(int), way, n_rules, number, penalty)
    seconds = time.process_time() - start
    found = scores_of(model.predict(take(X, test)), Y[test])
    return {**dict(zip(MEASURES, found, strict=True)), "cpu_s": seconds}


def show(runs: Runs, names: list[str], n_rules: int, penalties: list[float]) -> str:
    """Write means by penalty, and the difference of the best ones from the first way."""
    base_way, rows = next(iter(WAYS)), []

    def by_penalty(field: str, way: str, name: str) -> list[Any]:
        key = {"data": name, "way": way, "rules": n_rules}
        return [runs.values(field, penalty=penalty, **key) for penalty in penalties]

    for way in WAYS:
        cells = [way]
        f1 = [by_penalty("example F1", way, name) for name in names]
        n = min(len(values) for each in f1 for values in each)
        if n < 2:
            continue
        cells += [f"{np.mean([each[i][:n] for each in f1]):.2f}" for i in range(len(penalties))]
        for field in MEASURES:
            sign = -1.0 if field == "subset 0/1" else 1.0
            gaps = []
            for name in names:
                ours, base = (
                    max((v[:n] for v in by_penalty(field, w, name)), key=lambda v: sign * v.mean())
                    for w in (way, base_way)
                )
                gaps.append(ours - base)
            if way == base_way:
                cells.append("0")
                continue
            error = np.sqrt((np.var(gaps, axis=1, ddof=1) / n).sum()) / len(gaps)
            cells.append(f"{np.mean(gaps):+.2f} ± {error:.2f}")
        rows.append(cells)
    head = ["", *(f"F1, L2 {penalty:g}" for penalty in penalties), *(f"{m}, %" for m in MEASURES)]
    return markdown(head, rows)


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", default=["emotions", "scene", "yeast", "enron"])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), metavar="WAY")
    parser.add_argument("--rules", type=int, default=300)
    parser.add_argument("--divisions", type=int, default=3)
    parser.add_argument("--penalties", type=float, nargs="+", default=[1.0, 4.0, 16.0])
    options = parser.parse_args()
    runs = Runs("rule-surrogates")
    for number in range(options.divisions):
        for name in options.data:
            for way in options.ways:
                for penalty in options.penalties:
                    key = {"data": name, "way": way, "rules": options.rules, "division": number}
                    runs.measure(
                        key | {"penalty": penalty},
                        lambda: measure(name, way, options.rules, number, penalty),  # noqa: B023
                    )
    print(show(runs, options.data, options.rules, options.penalties))


if __name__ == "__main__":
    main()
