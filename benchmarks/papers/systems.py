"""The authors' own systems on the same folds: CLUS and mlrl-boomer.

CLUS (Breskvar et al. 2018) comes from the package `pyclus` and needs `java`; see
`benchmarks.clus`. Seconds are processor time, so that other work beside does not count: of the
whole process of CLUS, of `fit` alone for mlrl-boomer and ours; one thread on all sides.

`CopiedRows` learns with our trees what CLUS learns, where the two count differently: leaves hold
draws of the bootstrap sample instead of rows, and √p is rounded up.
"""

from __future__ import annotations

import math
import resource
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.clus import numeric_predictions, run_settings
from benchmarks.papers.forest_numbers import ENSEMBLES, errors, fold
from benchmarks.papers.rules_table import make_rules, read, row_losses
from benchmarks.papers.runs import take
from benchmarks.papers.tables import (
    Claim,
    Labels,
    Made,
    Measure,
    Outcome,
    Row,
    Table,
    fit_timed,
    grid,
    matches,
    mean_of,
    paper,
)
from polyleaf import TreeRegressor

DATA = ("atp1d", "wq", "osales", "collembola", "enb", "jura")
CLUS_KINDS = {"Bag": ("Bagging", "0"), "RF": ("RForest", "SQRT"), "ET": ("ExtraTrees", "0")}
CLUS_SETTINGS = """\
[General]
RandomSeed = {seed}
Verbose = 0
[Data]
File = train.arff
TestSet = test.arff
[Attributes]
Target = {first}-{last}
Clustering = {first}-{last}
Weights = Normalize
[Tree]
Heuristic = VarianceReduction
FTest = 1.0
PruningMethod = None
[Model]
MinimalWeight = 2.0
[Output]
WritePredictions = Test
TrainErrors = No
[Ensemble]
Iterations = 100
EnsembleMethod = {method}
SelectRandomSubspaces = {features}
NumberOfThreads = 1
"""
COUNTED = "polyleaf, draws counted"
Records = list[dict[str, Any]]


def write_arff(path: Path, X: Any, Y: Any, levels: dict[int, list[Any]]) -> None:
    """Write features, then targets; missing values are '?'."""
    table = pd.DataFrame(X)
    lines = ["@relation rows"]
    columns = []
    for j in range(table.shape[1]):
        values = table.iloc[:, j]
        if j in levels:
            places = {level: f"v{i}" for i, level in enumerate(levels[j])}
            lines.append(f"@attribute x{j} {{{','.join(places.values())}}}")
            columns.append([places.get(value, "?") for value in values])
        else:
            lines.append(f"@attribute x{j} numeric")
            numbers = pd.to_numeric(values).to_numpy(dtype=float)
            columns.append(["?" if np.isnan(v) else repr(float(v)) for v in numbers])
    Y = np.asarray(Y, dtype=float)
    for j in range(Y.shape[1]):
        lines.append(f"@attribute y{j} numeric")
        columns.append(["?" if np.isnan(v) else repr(float(v)) for v in Y[:, j]])
    lines.append("@data")
    lines += [",".join(row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def levels_of(X: Any) -> dict[int, list[Any]]:
    """Give the levels of the categorical columns, by place."""
    if not isinstance(X, pd.DataFrame):
        return {}
    numeric = pd.api.types.is_numeric_dtype
    return {
        j: sorted(X.iloc[:, j].dropna().unique(), key=str)
        for j in range(X.shape[1])
        if not numeric(X.dtypes.iloc[j])
    }


def clus(parts: tuple[Any, ...], kind: str, seed: int) -> tuple[Any, float]:
    """Give CLUS's predictions of the test rows, and its processor time."""
    X, Y, X_test, Y_test = parts
    both = pd.concat([X, X_test]) if isinstance(X, pd.DataFrame) else X
    levels = levels_of(both)
    n_features, n_targets = X.shape[1], Y.shape[1]
    method, features = CLUS_KINDS[kind]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_arff(folder / "train.arff", X, Y, levels)
        write_arff(folder / "test.arff", X_test, Y_test, levels)
        settings = CLUS_SETTINGS.format(
            seed=seed + 1,
            first=n_features + 1,
            last=n_features + n_targets,
            method=method,
            features=features,
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run_settings(settings, folder, "model", ["-forest"])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        names = [f"y{j}" for j in range(n_targets)]
        return numeric_predictions(folder / "model.test.pred.arff", names), seconds


class CopiedRows:
    """Bagged trees and random forests of ours that count as CLUS does.

    A row that was drawn twice is there twice, so that two draws of one row may be a leaf; √p is
    rounded up.

    Parameters
    ----------
    kind : {"Bag", "RF"}
    seed : int
    """

    N_TREES = 100

    def __init__(self, kind: str, seed: int) -> None:
        self._kind, self._seed = kind, seed

    def make(self, n_features: int, seed: int) -> Made:
        """Make one of the trees."""
        size = math.ceil(math.sqrt(n_features)) if self._kind == "RF" else None
        return paper(TreeRegressor, "pct", pruning=None, max_features=size, random_state=seed)

    def fit(self, X: Any, Y: Any) -> CopiedRows:
        """Learn every tree from copies of the rows that were drawn."""
        rng, n_rows = np.random.default_rng(self._seed), Y.shape[0]
        self.trees_ = []
        for _ in range(self.N_TREES):
            rows = rng.integers(n_rows, size=n_rows)
            tree = self.make(X.shape[1], int(rng.integers(2**31))).estimator
            self.trees_.append(tree.fit(take(X, rows), take(Y, rows)))
        return self

    def predict(self, X: Any) -> Any:
        """Average the trees."""
        return np.mean([tree.predict(X) for tree in self.trees_], axis=0)


def clus_row(labels: Labels, repeat: int) -> Outcome:
    """Measure one system on one fold."""
    kind, system = labels["ensemble"], labels["system"]
    parts = fold(labels["data"], repeat)
    X, Y, X_test, Y_test = parts
    means = np.nanmean(np.asarray(Y, dtype=float), axis=0)
    if system == "CLUS":
        predicted, seconds = clus(parts, kind, repeat)
        said = f"rival: CLUS, {CLUS_KINDS[kind]}, MinimalWeight 2, 100 trees"
        found = errors(Y_test, predicted, means)[0]
        return Outcome({"aRRMSE": found, "CPU s": seconds}, said)
    if system == COUNTED:
        copied = CopiedRows(kind, repeat)
        made = Made(copied, f"{copied.make(X.shape[1], 0).settings} on drawn rows, 100 times")
    else:
        made = paper(ENSEMBLES[kind], "multi-target", random_state=repeat, n_jobs=1)
    seconds = fit_timed(made.estimator, X, Y)
    found = errors(Y_test, made.estimator.predict(X_test), means)[0]
    return Outcome({"aRRMSE": found, "CPU s": seconds}, made.settings)


def _pairs(records: Records, ours: Labels, theirs: Labels) -> list[tuple[Any, Any, Any]]:
    """Pair the lines that differ in the labels of the systems alone."""
    found = []
    for line in records:
        if matches(line["row"], ours):
            wanted = {**line["row"], **theirs}
            other = next((r for r in records if r["row"] == wanted), None)
            if other is not None:
                found.append((line["row"], line, other))
    return found


def _errors_beside(measure: str, ours: Labels, theirs: Labels) -> Any:
    def check(records: Records) -> tuple[bool | None, str]:
        seen, n_good = [], 0
        for row, line, other in _pairs(records, ours, theirs):
            a, b = (np.array(entry["values"][measure]) for entry in (line, other))
            n = min(len(a), len(b))
            difference = a[:n] - b[:n]
            error = difference.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
            n_good += bool(difference.mean() <= (0 if np.isnan(error) else error))
            named = " ".join(str(row[key]) for key in row if key not in ours)
            seen.append(f"{named} {difference.mean():+.3f} ± {error:.3f}")
        if not seen:
            return None, "not measured"
        return n_good == len(seen), f"ours minus theirs: {'; '.join(seen)}"

    return check


def _times_beside(ours: Labels, theirs: Labels) -> Any:
    def check(records: Records) -> tuple[bool | None, str]:
        ratios = {
            " ".join(str(row[key]) for key in row if key not in ours): mean_of(other, "CPU s")
            / mean_of(line, "CPU s")
            for row, line, other in _pairs(records, ours, theirs)
        }
        if not ratios:
            return None, "not measured"
        shown = "; ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
        return min(ratios.values()) > 1, f"theirs divided by ours: {shown}"

    return check


RULE_DATA = ("emotions", "yeast", "enron", "medical")
VARIANTS = ("lw-single", "lw-multi", "ew-single", "ew-multi")
N_RULES = 300


def rules_row(labels: Labels, repeat: int) -> Outcome:
    """Measure one system on one division into two thirds and one third."""
    X, Y = read(labels["data"])
    order = np.random.default_rng(repeat).permutation(len(Y))
    train, test = np.sort(order[: 2 * len(Y) // 3]), np.sort(order[2 * len(Y) // 3 :])
    X_train, X_test = take(X, train), take(X, test)
    variant = labels["variant"]
    if labels["system"] == "mlrl-boomer":
        from benchmarks.versus.adapters.boomer import Boomer

        loss, head = variant.split("-")
        options = {
            "loss": "logistic" if loss == "lw" else "examplewise_logistic",
            "head": "complete" if head == "multi" else "single",
            "n_rules": N_RULES,
            "learning_rate": 0.3,
            "l2": 1.0,
        }
        case: Any = SimpleNamespace(options=options, threads=1)
        model, said = Boomer("none", case, repeat + 1), f"rival: mlrl-boomer, {options}"
    else:
        made = make_rules(variant.replace("-", " "), N_RULES, 0.3, 1.0, repeat)
        model, said = made.estimator.set_params(max_bins=None, n_jobs=1), made.settings
    seconds = fit_timed(model, X_train, Y[train].astype(int))
    subset, hamming, f1 = 100 * row_losses(model.predict(X_test), Y[test]).mean(axis=1)
    return Outcome(
        {"subset 0/1": subset, "Hamming": hamming, "example F1": f1, "CPU s": seconds}, said
    )


_CLUS = {"system": "CLUS"}
_COUNTED = {"system": COUNTED}
_OURS = {"system": "polyleaf"}
_BOOMER = {"system": "mlrl-boomer"}

TABLES = (
    Table(
        name="systems-clus",
        paper="The authors' systems",
        title="CLUS, the system of Breskvar et al. 2018",
        protocol=(
            "aRRMSE of 100 trees on all targets, two rows per leaf, on the same folds, and "
            "processor seconds with one thread: of the whole process of CLUS, which reads files "
            "and starts Java, and of our `fit`."
        ),
        differs=(
            "No published values: this is a comparison of programs. CLUS rounds √p up, ours down, "
            "and counts a row that was drawn twice as two in a leaf, ours as one, so that its "
            "trees are deeper; 'draws counted' are our trees with both as in CLUS. This tells "
            "where features are few: {ref}`clus-counts` has it part by part. Extra trees draw no "
            "rows and try all features: there is no such difference."
        ),
        measures=(Measure("aRRMSE", False), Measure("CPU s", False, 2)),
        rows=tuple(
            Row(labels)
            for labels in grid(
                data=DATA, ensemble=tuple(ENSEMBLES), system=("CLUS", "polyleaf", COUNTED)
            )
            if labels["system"] != COUNTED or labels["ensemble"] != "ET"
        ),
        work=clus_row,
        repeats=10,
        across="system",
        quick=({"data": "wq", "ensemble": "RF"},),
        claims=(
            Claim(
                "our errors are no larger (standard error)", _errors_beside("aRRMSE", _OURS, _CLUS)
            ),
            Claim(
                "nor are they where leaves hold draws and √p is rounded up, as in CLUS",
                _errors_beside("aRRMSE", _COUNTED, _CLUS),
            ),
            Claim("we take less time", _times_beside(_OURS, _CLUS)),
        ),
        needs=("data", "java", "clus"),
    ),
    Table(
        name="systems-boomer",
        paper="The authors' systems",
        title="mlrl-boomer, the system of Rapp et al. 2020",
        protocol=(
            f"{N_RULES} rules, bootstrap samples, shrinkage 0.3, L2 of 1, no label binning, exact "
            "thresholds, one thread; losses in per cent on a third of the rows, nominal features "
            "declared."
        ),
        differs="No published values: this is a comparison of programs.",
        measures=(
            Measure("subset 0/1", False, 2),
            Measure("Hamming", False, 2),
            Measure("example F1", True, 2),
            Measure("CPU s", False, 2),
        ),
        rows=tuple(
            Row(labels)
            for labels in grid(
                data=RULE_DATA, variant=VARIANTS, system=("mlrl-boomer", "polyleaf")
            )
        ),
        work=rules_row,
        repeats=5,
        across="system",
        quick=({"data": "emotions", "variant": "ew-multi"},),
        quick_repeats=2,
        claims=(
            Claim(
                "our subset losses are no larger (standard error)",
                _errors_beside("subset 0/1", _OURS, _BOOMER),
            ),
            Claim("we take less time", _times_beside(_OURS, _BOOMER)),
        ),
        needs=("data", "mlrl"),
    ),
)
