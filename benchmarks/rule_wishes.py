"""What users of mlrl-boomer could miss: ``python -m benchmarks.rule_wishes``.

Ways to learn a rule that its program has and ours does not, written here in Python on our search,
with everything else as published: other samples of the rows (all of them, a half or two thirds
without replacement, a half stratified by label sets), a half of the labels per rule, IREP (a body
loses its last conditions where rows that were not drawn want it to), the best of three bodies
(in the place of a beam of three) and sequential post-optimisation (every rule is learnt once more
beside all others). Losses of a third of the rows, beside those of bootstrap samples: the
difference with its standard error over divisions.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.rules_table import make_rules, read, row_losses
from benchmarks.papers.runs import Runs, markdown, take
from polyleaf import _core
from polyleaf.rules import training
from polyleaf.rules.learner import RuleLearner
from polyleaf.rules.model import OPERATORS, Rule, RuleSet

MEASURES = ("subset 0/1", "Hamming", "example F1")
DATA = ("emotions", "birds", "scene", "yeast")


class WishedLearner(RuleLearner):
    """A learner whose rules are learnt one by one, in one of the ways.

    Parameters
    ----------
    way : str
    X : ndarray of shape (n_rows, n_features)
        For IREP, which looks at shorter bodies.
    labels : ndarray of shape (n_rows, n_labels)
        For strata.
    """

    def __init__(
        self, *arguments: Any, way: str, X: NDArray[Any], labels: NDArray[Any], **more: Any
    ) -> None:
        super().__init__(*arguments, **more)
        self._way, self._X = way, X
        self._covered: list[NDArray[np.int32]] = []
        sets = np.unique(labels, axis=0, return_inverse=True)[1].ravel()
        self._strata = np.argsort(sets, kind="stable")

    @property
    def _is_plain(self) -> bool:
        return False

    def _sample(self, seed: int) -> NDArray[np.int32]:
        rng, n_rows = np.random.default_rng(seed), self.scores.shape[0]
        if self._way in ("all rows", "half", "two thirds", "half, stratified"):
            counts = np.zeros(n_rows, np.int32)
            if self._way == "half, stratified":
                # Every second row of those in order of their label sets, from pairs at random.
                pairs = self._strata[: n_rows // 2 * 2].reshape(-1, 2)
                counts[pairs[np.arange(len(pairs)), rng.integers(2, size=len(pairs))]] = 1
                return counts
            share = {"all rows": 1.0, "half": 0.5, "two thirds": 2 / 3}[self._way]
            counts[rng.choice(n_rows, round(share * n_rows), replace=False)] = 1
            return counts
        return super()._sample(seed)

    def _next_rule(self, seed: int, *more: Any) -> Rule:
        rng = np.random.default_rng(seed)
        found = [self._body(seed, rng)]
        if self._way == "best of three":
            found += [self._body(int(rng.integers(2**62)), rng) for _ in range(2)]
        feature, operator, value, rows, chosen, counts = max(found, key=self._gain)
        if self._way == "IREP":
            n_kept, rows = self._pruned(feature, operator, value, rows, chosen, counts)
            feature, operator, value = feature[:n_kept], operator[:n_kept], value[:n_kept]
        training_rows = rows[self._usable[rows]]
        head, gain = self._find_head(self._statistics, training_rows, chosen)
        head *= self._settings.learning_rate
        outputs = np.arange(head.size, dtype=np.int32) if chosen is None else chosen
        self._add(rows, outputs, head)
        self._covered.append(rows)
        return Rule(feature, operator, value, outputs, head, training_rows.size, gain)

    def _body(self, seed: int, rng: np.random.Generator) -> tuple[Any, ...]:
        known, counts = self._statistics, self._sample(seed)
        self._params.seed = seed % 2**63
        values = known.values
        if self._way == "half of the labels":
            values = values.copy()
            left_out = rng.permutation(known.n_channels)[: known.n_channels // 2]
            values[:, left_out] = 0.0
        induced = _core.induce_rule(
            self.columns, values, known.n_channels, known.coupling, counts, self._params
        )
        n_conditions = induced.n_conditions
        feature = np.empty(n_conditions, np.int32)
        operator = np.empty(n_conditions, np.uint8)
        value = np.empty(n_conditions)
        induced.write_conditions(feature, operator, value)
        rows = np.empty(induced.n_rows, np.int32)
        induced.write_rows(rows)
        chosen = np.array(induced.outputs, np.int32) if induced.outputs else None
        return feature, operator, value, rows, chosen, counts

    def _gain(self, body: tuple[Any, ...]) -> float:
        _, _, _, rows, chosen, counts = body
        drawn = np.repeat(rows, counts[rows]).astype(np.int32)
        return self._find_head(self._statistics, drawn, chosen)[1] if drawn.size else 0.0

    def _pruned(
        self,
        feature: NDArray[np.int32],
        operator: NDArray[np.uint8],
        value: NDArray[np.float64],
        rows: NDArray[np.int32],
        chosen: NDArray[np.int32] | None,
        counts: NDArray[np.int32],
    ) -> tuple[int, NDArray[np.int32]]:
        """Keep the prefix with the most gain on rows that were not drawn."""
        covers = np.ones(len(self._X), np.bool_)
        best = (-np.inf, len(feature), rows)
        for n_kept, (j, code, threshold) in enumerate(
            zip(feature, operator, value, strict=True), start=1
        ):
            column, said = self._X[:, j], OPERATORS[code]
            with np.errstate(invalid="ignore"):
                covers &= column <= threshold if said == "<=" else column > threshold
            aside = np.flatnonzero(covers & (counts == 0)).astype(np.int32)
            gain = self._find_head(self._statistics, aside, chosen)[1] if aside.size else 0.0
            if gain > best[0]:
                best = gain, n_kept, np.flatnonzero(covers).astype(np.int32)
        return best[1], best[2]

    def learn(self, n_features: int, rng: np.random.Generator, *more: Any) -> RuleSet:
        """Learn rules, and each of them once more if that is the way."""
        if self._way != "post-optimised":
            return super().learn(n_features, rng, *more)
        rules = [self._default_rule()]
        rules += [
            self._next_rule(int(rng.integers(2**62))) for _ in range(self._settings.n_rules - 1)
        ]
        for t in range(1, len(rules)):
            old = rules[t]
            self._add(self._covered[t - 1], old.output, -old.score)
            rules[t] = self._next_rule(int(rng.integers(2**62)))
            self._covered[t - 1] = self._covered.pop()
        return RuleSet.build(rules, n_features, self.scores.shape[1], int(self._usable.sum()))


WAYS = (
    "bootstrap",
    "all rows",
    "half",
    "two thirds",
    "half, stratified",
    "half of the labels",
    "IREP",
    "best of three",
    "post-optimised",
)


def fitted(
    X: NDArray[Any], Y: NDArray[Any], variant: str, way: str, n_rules: int, seed: int
) -> Any:
    """Fit published rules in one of the ways."""
    plain = training.RuleLearner

    def wished(*arguments: Any, **more: Any) -> WishedLearner:
        return WishedLearner(*arguments, way=way, X=X, labels=Y, **more)

    training.RuleLearner = wished  # type: ignore[assignment, misc]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = make_rules(variant, n_rules, 0.3, 1.0, seed)
            return made.estimator.set_params(n_jobs=1).fit(X, Y)
    finally:
        training.RuleLearner = plain  # type: ignore[misc]


def measure(name: str, variant: str, way: str, n_rules: int, number: int) -> dict[str, Any]:
    """Learn in one way on two thirds of the rows, and measure the others."""
    X, Y = read(name)
    if hasattr(X, "iloc"):
        raise SystemExit(f"{name} has categories, which IREP here does not know.")
    X = np.asarray(X, dtype=np.float64)
    order = np.random.default_rng(number).permutation(len(Y))
    train, test = np.sort(order[: 2 * len(Y) // 3]), np.sort(order[2 * len(Y) // 3 :])
    X_train, X_test = take(X, train), take(X, test)
    start = time.process_time()
    model = fitted(X_train, Y[train].astype(int), variant, way, n_rules, number)
    seconds = time.process_time() - start
    losses = 100 * row_losses(model.predict(X_test), Y[test]).mean(axis=1)
    return {**dict(zip(MEASURES, losses.tolist(), strict=True)), "cpu_s": seconds}


def show(runs: Runs, names: list[str], variants: list[str], n_rules: int) -> str:
    """Write the differences from bootstrap samples, averaged over the data sets."""
    rows = []
    for variant in variants:
        for way in WAYS:
            cells = [variant, way]
            for field in (*MEASURES, "cpu_s"):
                key = {"variant": variant, "rules": n_rules}
                ours = [runs.values(field, data=n, way=way, **key) for n in names]
                base = [runs.values(field, data=n, way="bootstrap", **key) for n in names]
                n = min(min(map(len, ours)), min(map(len, base)))
                if n < 1:
                    cells.append("-")
                    continue
                if field == "cpu_s":
                    ratio = np.mean([a[:n].mean() / b[:n].mean() for a, b in zip(ours, base)])
                    cells.append(f"{ratio:.1f}")
                    continue
                if way == "bootstrap":
                    cells.append(f"{np.mean([a[:n] for a in ours]):.2f}")
                    continue
                gaps = np.array([a[:n] - b[:n] for a, b in zip(ours, base)])
                error = np.sqrt((gaps.var(axis=1, ddof=1) / n).sum()) / len(gaps) if n > 1 else 0
                cells.append(f"{gaps.mean():+.2f} ± {error:.2f}")
            rows.append(cells)
    return markdown(["", "", *(f"{m}, %" for m in MEASURES), "CPU time"], rows)


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", default=["emotions", "scene", "yeast"])
    parser.add_argument("--variants", nargs="+", default=["ew multi", "lw single"])
    parser.add_argument("--rules", type=int, default=300)
    parser.add_argument("--divisions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=np.inf, help="start no run after this")
    options = parser.parse_args()
    runs, end = Runs("rule-wishes"), time.monotonic() + options.seconds
    for number in range(options.divisions):
        for name in options.data:
            for variant in options.variants:
                for way in WAYS:
                    if time.monotonic() > end:
                        break
                    key = {"data": name, "variant": variant, "way": way, "rules": options.rules}
                    runs.measure(
                        key | {"division": number},
                        lambda: measure(name, variant, way, options.rules, number),  # noqa: B023
                    )
    print(show(runs, options.data, options.variants, options.rules))


if __name__ == "__main__":
    main()
