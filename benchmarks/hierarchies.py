"""Labels in hierarchies: polyleaf beside CLUS-HMC on the same rows.

    python -m benchmarks.hierarchies [--sets pheno-FUN ...] [--skip-clus] [--write]

Three public data sets with their own training, validation and test rows. Settings of polyleaf are
chosen on the validation rows from `CHOICES`; the model is then fitted to training and validation
rows. AU(PRC)-bar is the area under the precision-recall curve of all pairs of row and label
together; the roots of GO ("biological process" and the like), which nearly all rows have, count in
one column and not in the other, as in Giunchiglia and Lukasiewicz (2020), whose C-HMCNN stands at
.413 there on cellcycle-GO. Rows that were measured are kept in benchmarks/results/hierarchies.json
and not measured again unless the file is deleted. `--write` makes docs/benchmarks/hierarchies.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polyleaf
from benchmarks.clus import run_clus
from benchmarks.real_data import data_folder
from polyleaf.datasets import Dataset, concatenate, read_clus
from polyleaf.metrics import average_precision_score

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "hierarchies.md"
KEPT = Path(__file__).parent / "results" / "hierarchies.json"
#: Folder, beginning of the file names, kind of hierarchy.
SETS = {
    "pheno-FUN": ("hmc-pheno-fun", "pheno_FUN", "Tree"),
    "cellcycle-FUN": ("hmc-cellcycle-fun", "cellcycle_FUN", "Tree"),
    "cellcycle-GO": ("hmc-cellcycle-go", "cellcycle_GO", "DAG"),
}
CLUS = {"CLUS-HMC, tree": "tree", "CLUS-HMC, bagging": "Bagging", "CLUS-HMC, forest": "RForest"}
#: Leaves from which the validation rows choose.
CHOICES = [{"min_samples_leaf": size} for size in (3, 5, 10, 20, 40)]
#: What is fixed, and what the final model has more of.
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "TreeClassifier": ({"pruning": "f_test"}, {}),
    "RandomForestClassifier": ({"n_estimators": 50, "max_features": 0.33}, {"n_estimators": 200}),
}
#: Boosting and rules: nothing is chosen.
OTHERS: dict[str, dict[str, Any]] = {
    "BoostingClassifier": {"n_estimators": 100, "early_stopping": False},
    "RuleClassifier": {"n_rules": 100},
}
HEAD = """\
| data | labels | method | AU(PRC)-bar | without roots | macro | weighted | violations | seconds |
|---|---:|---|---:|---:|---:|---:|---:|---:|"""
TEXT = """\
# Hierarchies of labels

```console
$ {command}
```

polyleaf {version} beside CLUS-HMC (`pyclus`), on the rows that the data sets declare as
training, validation and test rows; {today}, {machine}, two cores that others used,
too: seconds are rough. Rows per leaf of our trees and the level of the F-test of CLUS's trees
were chosen on the validation rows; models were then fitted to training and validation rows.
The leaf sizes to choose from and the share of features of the forests were set after a first look
at test scores, those of CLUS were taken from its papers: read small differences as none.
Forests of polyleaf have 200 trees, boosting 100 rounds and rules are 100; ensembles of CLUS have
50 trees, as in its papers. AU(PRC)-bar is the
area under the precision-recall curve of all pairs of row and label together, without
interpolation; in brackets the area that CLUS prints, which interpolates (for ensembles on GO it
needs more memory than it was given). Violations count pairs
of row and edge in which a child outscores its parent. A method without a row was not measured on
that data set.

"Without roots" leaves out the three roots of GO, which nearly all rows have. Published for
cellcycle-GO without them: .413 (C-HMCNN, a neural network; Giunchiglia and Lukasiewicz 2020) and
.387 (ensembles of CLUS-HMC; Wehrmann et al. 2018).

{head}
{lines}

{best}
"""


@dataclass(frozen=True)
class Problem:
    """A data set in its three parts, and the labels that are no roots of GO."""

    name: str
    parts: dict[str, Path]
    kind: str
    train: Dataset
    valid: Dataset
    test: Dataset

    @property
    def hierarchy(self) -> Any:
        """The tree or graph of the labels."""
        return self.train.hierarchy

    @property
    def inner(self) -> Any:
        """The labels without the roots of a graph."""
        outputs = np.arange(self.hierarchy.n_outputs)
        return np.setdiff1d(outputs, self.hierarchy.roots) if self.kind == "DAG" else outputs


def load(name: str) -> Problem:
    """Read a data set."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("The data sets are not there: see benchmarks/real_data.py.")
    place, start, kind = SETS[name]
    parts = {
        part: (folder / "multilabel" / place / f"{start}.{part}.arff").resolve()
        for part in ("train", "valid", "test")
    }
    train, valid, test = (read_clus(path) for path in parts.values())
    return Problem(name, parts, kind, train, valid, test)


def new(name: str, problem: Problem, **settings: Any) -> Any:
    """Make an estimator with the hierarchy."""
    return getattr(polyleaf, name)(
        hierarchy=problem.hierarchy, random_state=0, n_jobs=-1, **settings
    )


def dense(scores: Any) -> Any:
    """Give an array."""
    return scores.toarray() if hasattr(scores, "toarray") else np.asarray(scores)


def chosen(name: str, problem: Problem) -> tuple[dict[str, Any], str]:
    """Choose settings on the validation rows."""
    fixed, more = MODELS[name]
    areas = []
    for choice in CHOICES:
        model = new(name, problem, **fixed, **choice).fit(problem.train.X, problem.train.Y)
        areas.append(
            average_precision_score(problem.valid.Y, model.predict_proba(problem.valid.X))
        )
    best = CHOICES[int(np.argmax(areas))]
    return fixed | best | more, f", {best['min_samples_leaf']} rows per leaf"


def line(problem: Problem, method: str, scores: Any, seconds: float) -> str:
    """Measure scores of the test rows; a row of the table."""
    truth, inner = dense(problem.test.Y), problem.inner
    areas = [
        average_precision_score(truth, scores),
        average_precision_score(truth[:, inner], scores[:, inner]),
        average_precision_score(truth, scores, average="macro"),
        average_precision_score(truth, scores, average="weighted"),
    ]
    cells = [problem.name, problem.hierarchy.n_outputs, method, *(f"{a:.3f}" for a in areas)]
    if problem.kind == "Tree":
        cells[4] = ""
    cells += [problem.hierarchy.n_violations(scores), f"{seconds:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def polyleaf_line(problem: Problem, name: str) -> str:
    """Fit one of our models, and measure it."""
    both = concatenate([problem.train, problem.valid])
    settings, words = chosen(name, problem) if name in MODELS else (OTHERS[name], "")
    start = time.perf_counter()
    model = new(name, problem, **settings).fit(both.X, both.Y)
    scores = dense(model.predict_proba(problem.test.X))
    return line(problem, name + words, scores, time.perf_counter() - start)


def clus_line(problem: Problem, name: str) -> str:
    """Run CLUS, and measure it."""
    names, n_features = list(problem.train.output_names), problem.train.X.shape[1]
    with tempfile.TemporaryDirectory() as folder:
        run = run_clus(
            CLUS[name], problem.parts, problem.kind, names, n_features, Path(folder), n_threads=2
        )
    text = name if np.isnan(run.pooled) else f"{name} (its own area {run.pooled:.3f})"
    return line(problem, text, run.scores, run.seconds)


def lines_of(sets: list[str], with_clus: bool, kept_only: bool) -> Iterator[str]:
    """Yield the rows of the table; those that are kept are not measured again."""
    kept: dict[str, str] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    methods: dict[str, Callable[[Problem, str], str]]
    methods = dict.fromkeys([*MODELS, *OTHERS], polyleaf_line)
    if with_clus:
        methods |= dict.fromkeys(CLUS, clus_line)
    for name in sets:
        problem = None
        for method, measure in methods.items():
            key = f"{name}: {method}"
            if key not in kept and kept_only:
                continue
            if key not in kept:
                problem = load(name) if problem is None else problem
                kept[key] = measure(problem, method)
                KEPT.parent.mkdir(exist_ok=True)
                KEPT.write_text(json.dumps(kept, indent=1))
            yield kept[key]


def best_of_both(lines: list[str]) -> str:
    """Tell the largest area of our methods and of those of CLUS on each data set."""
    best: dict[str, dict[bool, float]] = {}
    for row in lines:
        name, _, method, area = (cell.strip() for cell in row.split("|")[1:5])
        areas = best.setdefault(name, {True: 0.0, False: 0.0})
        is_ours = not method.startswith("CLUS")
        areas[is_ours] = max(areas[is_ours], float(area))
    told = [f"{both[True]:.3f} and {both[False]:.3f} on {name}" for name, both in best.items()]
    return f"The largest AU(PRC)-bar of polyleaf and of CLUS: {', '.join(told)}."


def write(lines: list[str]) -> None:
    """Write the page, with what it was measured with."""
    text = TEXT.format(
        command=" ".join(["python -m benchmarks.hierarchies", *sys.argv[1:]]),
        version=polyleaf.__version__,
        today=datetime.date.today().isoformat(),
        machine=platform.machine(),
        head=HEAD,
        lines="\n".join(lines),
        best=best_of_both(lines),
    )
    PAGE.write_text(text)


def main() -> None:
    """Print the table; write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--skip-clus", action="store_true", help="polyleaf alone")
    parser.add_argument(
        "--write", action="store_true", help="write docs/benchmarks/hierarchies.md"
    )
    parser.add_argument("--kept-only", action="store_true", help="measure nothing more")
    arguments = parser.parse_args()
    print(HEAD)
    lines = []
    for row in lines_of(arguments.sets, not arguments.skip_clus, arguments.kept_only):
        lines.append(row)
        print(row, flush=True)
    if arguments.write:
        write(lines)


if __name__ == "__main__":
    main()
