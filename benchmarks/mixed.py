"""One model of mixed kinds beside a model per output, on the same rows.

    python -m benchmarks.mixed            # births2, if it is there, and generated data
    python -m benchmarks.mixed --folds 3 --rows 1000 --write  # docs/benchmarks/mixed.md, too

A model per output is the regressor or classifier of its kind (`BoostingMixed` of one column is
`BoostingRegressor` or `BoostingClassifier`, bit by bit). The score of an output is what takes off
the squared error of the trivial prediction: r2 for numbers and counts, the Brier skill score for
classes and labels. Related outputs are noisy views of three hidden numbers, which trees find in
ten features; unrelated ones depend on features of their own.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

import polyleaf
from benchmarks.real_data import REAL_DATA, data_folder

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "mixed.md"
TEXT = """\
# One model of mixed kinds beside a model per output

```console
$ {command}
```

polyleaf {version}, {today}, {machine}. Mean scores of all outputs: what the predictions take off
the squared error of the best constant (r2 of numbers and counts, the Brier skill score of classes
and labels). A model per output is the regressor or classifier of its kind, with the same settings;
boosting stops early in both ways, on a tenth of the training rows. "Related" and "unrelated" are
generated: {rows} rows, eight outputs of four kinds, which depend on three hidden numbers or on
features of their own; means over {seeds} draws and {folds} folds. births2 has {births} rows and
four outputs. Seconds are those of one model and of all models of single outputs, of a machine that
others used, too.

{lines}

Where outputs are related, one model is better on average; where they have nothing in common, a
model per output may be better, and is for forests.
"""
MODELS: dict[str, Any] = {
    "RandomForestMixed": {"n_estimators": 100},
    "ExtraTreesMixed": {"n_estimators": 100},
    "BoostingMixed": {"n_estimators": 200, "early_stopping": True},
}


def generated(n_rows: int, related: bool, seed: int) -> tuple[Any, pd.DataFrame, dict[str, str]]:
    """Make eight outputs of four kinds: X, Y and the kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    hidden = np.column_stack(
        [X[:, 0] * X[:, 1], np.sin(2 * X[:, 2]) + X[:, 0], np.abs(X[:, 3]) - X[:, 1]]
    )
    columns = {}
    for j, kind in enumerate(
        ("number", "number", "count", "count", "class", "class", "label", "label")
    ):
        if related:
            signal = hidden @ rng.normal(size=3)
        else:
            signal = X[:, j + 1] * X[:, (j + 5) % 10] + X[:, j + 2]
        signal = signal / signal.std() + rng.normal(size=n_rows)
        name = f"{kind}{j}"
        if kind == "number":
            columns[name] = 100 * signal
        elif kind == "count":
            columns[name] = rng.poisson(np.exp(0.8 * signal.clip(-3, 3)))
        elif kind == "class":
            columns[name] = np.array(["low", "middle", "high"])[np.digitize(signal, [-0.7, 0.7])]
        else:
            columns[name] = signal > 1.0
    Y = pd.DataFrame(columns)
    return X, Y, {name: name[:-1] for name in Y}


def births2(n_rows: int, seed: int) -> tuple[Any, pd.DataFrame, dict[str, str]]:
    """Read birth weight, a score of health, and two conditions of children."""
    data = REAL_DATA["births2"].load(data_folder())
    rows = np.random.default_rng(seed).permutation(data.X.shape[0])[:n_rows]
    Y = pd.DataFrame(np.asarray(data.Y)[rows], columns=list(data.output_names))
    kinds = ["number", "number", "label", "label"]
    return np.asarray(data.X)[rows], Y, dict(zip(Y, kinds))


def scores(
    name: str, data: tuple[Any, pd.DataFrame, dict[str, str]], folds: int
) -> dict[str, tuple[pd.Series, float]]:
    """Give the mean score of each output, and seconds, for one model and for one per output."""
    X, Y, kinds = data
    found: dict[str, list[Any]] = {"mixed": [], "separate": []}
    seconds = dict.fromkeys(found, 0.0)
    cls = getattr(polyleaf, name)
    for train, test in KFold(folds, shuffle=True, random_state=0).split(X):
        for way, groups in (("mixed", [list(Y)]), ("separate", [[c] for c in Y])):
            start, row = time.perf_counter(), {}
            for columns in groups:
                model = cls(random_state=0, n_jobs=-1, **MODELS[name])
                told = {column: kinds[column] for column in columns}
                model.fit(X[train], Y[columns].iloc[train], target_types=told)
                measured = model.output_scores(X[test], Y[columns].iloc[test])
                row |= {column: each["score"] for column, each in measured.items()}
            seconds[way] += time.perf_counter() - start
            found[way].append(row)
    return {way: (pd.DataFrame(rows).mean(), seconds[way]) for way, rows in found.items()}


def problems(n_rows: int, seeds: int) -> Iterator[tuple[str, Any]]:
    """Yield names and data."""
    try:
        yield "births2", births2(4 * n_rows, 0)
    except (FileNotFoundError, OSError, KeyError, ValueError) as error:
        print(f"births2 is not there ({error:.60}).")
    for related in (True, False):
        for seed in range(seeds):
            word = "related" if related else "unrelated"
            yield f"{word} {seed}", generated(n_rows, related, seed)


def rows_of(n_rows: int, seeds: int, folds: int) -> Iterator[dict[str, Any]]:
    """Yield what was measured for every problem and model."""
    for title, data in problems(n_rows, seeds):
        for name in MODELS:
            both = scores(name, data, folds)
            one, own = both["mixed"][0], both["separate"][0]
            yield {
                "problem": title.split()[0],
                "model": name,
                "mixed": float(one.mean()),
                "separate": float(own.mean()),
                "won": int((one > own).sum()),
                "n": one.size,
                "seconds": (both["mixed"][1], both["separate"][1]),
            }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Make lines of a table, means over the seeds of a problem."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["problem"], row["model"]), []).append(row)
    lines = [
        "| outputs | model | one model | a model per output | better together | seconds |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (problem, model), found in groups.items():
        mixed, separate = (np.mean([row[way] for row in found]) for way in ("mixed", "separate"))
        won = f"{sum(r['won'] for r in found)} of {sum(r['n'] for r in found)}"
        spent = [np.mean([row["seconds"][i] for row in found]) for i in (0, 1)]
        cells = [problem, f"`{model}`", f"{mixed:.3f}", f"{separate:.3f}", won]
        lines.append("| " + " | ".join([*cells, f"{spent[0]:.1f} / {spent[1]:.1f}"]) + " |")
    return lines


def main() -> None:
    """Print a table; write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/mixed.md")
    arguments = parser.parse_args()
    rows = []
    for row in rows_of(arguments.rows, arguments.seeds, arguments.folds):
        rows.append(row)
        print(row, flush=True)
    lines = table(rows)
    print("\n".join(lines))
    if arguments.write:
        text = TEXT.format(
            command=" ".join(["python -m benchmarks.mixed", *sys.argv[1:]]),
            version=polyleaf.__version__,
            today=datetime.date.today().isoformat(),
            machine=platform.machine(),
            rows=arguments.rows,
            seeds=arguments.seeds,
            folds=arguments.folds,
            births=4 * arguments.rows,
            lines="\n".join(lines),
        )
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
