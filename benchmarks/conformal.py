"""Coverage and volume of conformal regions over many draws, beside Bonferroni's boxes.

    python -m benchmarks.conformal                      # 200 draws, prints the tables
    python -m benchmarks.conformal --write              # and writes docs/benchmarks/conformal.md
    python -m benchmarks.conformal --draws 10 --data made enb
    python -m benchmarks.conformal --parts promise --write  # this part of the page alone

A draw takes 200 rows to fit a forest of 8 trees and to calibrate it, and 40 others to count how
often regions hold them. Rows of a draw are exchangeable, so that the mean over draws is what was
promised, whatever the data. 'off' is the distance of joint coverage from the promise, in standard
errors of that mean: the promise of 'split' is k / (n + 1) with k = ceil((1 - alpha) (n + 1)) for
n calibration rows, that of 'cross' and 'oob' is 1 - alpha or more. The last two columns are the
box of one interval per output at alpha / d, of the same method and score: how often it holds all
outputs, and the ratio of median volumes, region to box (0: the box has no bounds, as alpha / d
needs more calibration rows than there are).

The promise of 'split' is exact, and 200 draws of 40 rows judge it poorly: it is measured once more
on many draws and up to 400 other rows of each (of real data, the first draws are those of the
tables). 'On the edge' are rows whose score ties with that of the calibration row that sets the
size; they lie inside, so that the promise may be exceeded by their share.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import KFold

from benchmarks.real_data import REAL_DATA, data_folder
from polyleaf import (
    ConformalClassifier,
    ConformalRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from polyleaf.conformal import Region
from polyleaf.conformal.ranks import promised_rank

ALPHA, N_FIT, N_NEW = 0.1, 200, 40
#: New rows and draws that measure the promise of 'split', and what counts as a tie.
N_MANY, N_PROMISE, TIE = 400, 1000, 1e-9
SCORES = ("max", "mahalanobis", "local", "quantile")
METHODS: dict[str, dict[str, Any]] = {
    "split": {"method": "split", "cv": 2},
    "cross": {"method": "cross", "cv": 3},
    "oob": {"method": "oob"},
}
REGRESSION = ("enb", "jura", "atp1d", "rf1", "wq")
LABELS = ("emotions", "flags")
#: Parts of the page, and how their headings begin.
PARTS = {"regions": "Regions\n", "promise": "The promise of split", "labels": "Label sets\n"}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "conformal.md"


def made(seed: int, n_new: int = N_NEW) -> tuple[Any, Any]:
    """Make four outputs with correlated noise that grows with a feature."""
    rng = np.random.default_rng([seed, 7])
    n = N_FIT + n_new
    X = rng.normal(size=(n, 6))
    mix = np.tril(rng.uniform(0.3, 1.0, size=(4, 4))) * [1.0, 0.8, 0.6, 0.5]
    noise = rng.normal(size=(n, 4)) @ mix.T * np.exp(0.6 * X[:, :1])
    signal = np.column_stack(
        [X[:, 0] + X[:, 1], np.abs(X[:, 1]), X[:, 2] * X[:, 3], np.sin(2 * X[:, 4])]
    )
    return X, (signal + noise) * [1.0, 10.0, 100.0, 0.1]


def rows_of(name: str) -> Callable[..., tuple[Any, Any]]:
    """Give a function that draws rows of a data set, as many new ones as there are at most."""
    if name == "made":
        return made
    data = REAL_DATA[name].load(data_folder())
    X, Y = data.X, data.Y

    def draw(seed: int, n_new: int = N_NEW) -> tuple[Any, Any]:
        rows = np.random.default_rng([seed, 11]).permutation(Y.shape[0])[: N_FIT + n_new]
        picked = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        return picked, np.asarray(Y.iloc[rows] if hasattr(Y, "iloc") else Y[rows])

    return draw


def one_draw(X: Any, Y: Any, seed: int) -> dict[tuple[str, str], list[float]]:
    """Fit all methods: joint, given one output, marginal and Bonferroni's coverage; volumes."""
    n_outputs = Y.shape[1]
    new_X, new_Y = X[N_FIT:], Y[N_FIT:]
    given = np.where(np.arange(n_outputs) == 0, new_Y, np.nan)
    found = {}
    for method, settings in METHODS.items():
        for score in SCORES:
            forest = RandomForestRegressor(n_estimators=8, min_samples_leaf=3, random_state=seed)
            model = ConformalRegressor(
                forest, score=score, alpha=ALPHA, random_state=seed, **settings
            ).fit(X[:N_FIT], Y[:N_FIT])
            report = model.evaluate(new_X, new_Y)
            region = model.predict_region(new_X, given=given)
            found[method, score] = [
                report.coverage,
                float(region.contains(new_Y).mean()),
                float(report.interval_coverage.mean()),
                report.bonferroni_coverage,
                report.log_volume - report.bonferroni_log_volume,
            ]
    return found


def table(name: str, n_draws: int, n_jobs: int) -> list[str]:
    """Make the lines of the table of one data set."""
    draw = rows_of(name)
    draws = Parallel(n_jobs=n_jobs)(
        delayed(one_draw)(*draw(seed), seed) for seed in range(n_draws)
    )
    n_outputs = draw(0)[1].shape[1]
    lines = [
        f"### {name}, {n_outputs} outputs\n",
        "| method | score | joint | off | given one | marginal | Bonferroni | volume ratio |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    n_calibration = N_FIT // 2
    for method in METHODS:
        for score in SCORES:
            values = np.array([found[method, score] for found in draws])
            joint, given, marginal, bonferroni, _ = values.mean(axis=0)
            promised = 1 - ALPHA
            if method == "split":
                promised = promised_rank(ALPHA, n_calibration) / (n_calibration + 1)
            error = values[:, 0].std(ddof=1) / np.sqrt(n_draws)
            ratio = np.exp(np.median(values[:, 4]))
            lines.append(
                f"| {method} | {score} | {joint:.3f} | {(joint - promised) / error:+.1f} | "
                f"{given:.3f} | {marginal:.3f} | {bonferroni:.3f} | {ratio:.2g} |"
            )
    return [*lines, ""]


def one_promise(X: Any, Y: Any, seed: int) -> list[float]:
    """Coverage by 'split' and the share of rows on the edge, for every score."""
    new_X, new_Y = X[N_FIT:], Y[N_FIT:]
    found = []
    for score in SCORES:
        forest = RandomForestRegressor(n_estimators=8, min_samples_leaf=3, random_state=seed)
        model = ConformalRegressor(
            forest, score=score, alpha=ALPHA, random_state=seed, **METHODS["split"]
        ).fit(X[:N_FIT], Y[:N_FIT])
        region = model.predict_region(new_X)
        wider, tighter = (resized(region, 1.0 + sign * TIE) for sign in (1, -1))
        tied = wider.contains(new_Y) & ~tighter.contains(new_Y)
        found += [float(region.contains(new_Y).mean()), float(tied.mean())]
    return found


def resized(region: Region, factor: float) -> Region:
    """Scale regions around their centers."""
    if region.is_box:
        assert region.lower is not None
        assert region.upper is not None
        below, above = region.center - region.lower, region.upper - region.center
        return replace(
            region, lower=region.center - factor * below, upper=region.center + factor * above
        )
    return replace(region, radius=factor * np.asarray(region.radius))


def promise_table(names: list[str], n_draws: int, n_jobs: int) -> list[str]:
    """Make the lines of the table of the promise of 'split'."""
    n_calibration = N_FIT // 2
    promised = promised_rank(ALPHA, n_calibration) / (n_calibration + 1)
    lines = [
        "## The promise of split, over more draws\n",
        f"{n_draws:,} draws; promised is {promised:.4f}.\n",
        "| data | new rows of a draw | score | joint | standard error | off | on the edge |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    for name in names:
        draw = rows_of(name)
        values = np.array(
            Parallel(n_jobs=n_jobs)(
                delayed(one_promise)(*draw(seed, N_MANY), seed) for seed in range(n_draws)
            )
        )
        error = values.std(axis=0, ddof=1) / np.sqrt(n_draws)
        n_new = draw(0, N_MANY)[1].shape[0] - N_FIT
        for k, score in enumerate(SCORES):
            mean, tied = values[:, 2 * k : 2 * k + 2].mean(axis=0)
            lines.append(
                f"| {name} | {n_new} | {score} | {mean:.4f} | {error[2 * k]:.4f} | "
                f"{(mean - promised) / error[2 * k]:+.1f} | {tied:.4f} |"
            )
        print("\n".join(lines[-len(SCORES) :]), flush=True)
    return lines


def one_control(Y: Any, seed: int, center: Any, scale: Any) -> float:
    """Coverage of the draw where a row's score is how unusual it is, without any model."""
    noise = TIE * np.random.default_rng([seed, 17]).random(Y.shape[0])  # breaks ties
    scores = (np.abs(Y - center) / scale).max(axis=1) + noise
    _, rows = next(KFold(2, shuffle=True, random_state=seed).split(Y[:N_FIT]))
    limit = np.sort(scores[rows])[promised_rank(ALPHA, rows.size) - 1]
    return float((scores[N_FIT:] <= limit).mean())


def control_table(names: list[str], n_draws: int) -> list[str]:
    """Make the lines of the control: what the draws do without any model."""
    n_calibration = N_FIT // 2
    promised = promised_rank(ALPHA, n_calibration) / (n_calibration + 1)
    lines = [
        "The same draws without any model: the score of a row is the largest deviation of its",
        "outputs from their means, a fixed number. What is off here is off by chance.\n",
        "| data | coverage | standard error | off |",
        "|---|---:|---:|---:|",
    ]
    for name in names:
        draw = rows_of(name)
        usual = draw(n_draws, N_MANY)[1]
        center, scale = usual.mean(axis=0), usual.std(axis=0)
        found = [one_control(draw(k, N_MANY)[1], k, center, scale) for k in range(n_draws)]
        error = np.std(found, ddof=1) / np.sqrt(n_draws)
        off = (np.mean(found) - promised) / error
        lines.append(f"| {name} | {np.mean(found):.4f} | {error:.4f} | {off:+.1f} |")
        print(lines[-1], flush=True)
    return lines


def one_label_draw(X: Any, Y: Any, seed: int) -> list[float]:
    """False-negative rate and size of sets by split and out of bag."""
    n = int(0.5 * Y.shape[0])
    found = []
    for settings in (
        {"method": "split", "cv": 2},
        {"method": "cross", "cv": 3},
        {"method": "oob"},
    ):
        forest = RandomForestClassifier(n_estimators=20, min_samples_leaf=3, random_state=seed)
        model = ConformalClassifier(forest, alpha=ALPHA, random_state=seed, **settings)
        report = model.fit(X[:n], Y[:n]).evaluate(X[n:], Y[n:])
        found += [report.risk, report.set_size]
    return found


def label_table(names: list[str], n_draws: int, n_jobs: int) -> list[str]:
    """Make the lines of the table of label sets."""
    lines = [
        "## Label sets\n",
        f"Half of the rows; the promised false-negative rate is {ALPHA}.\n",
        "| data | rows have | split: rate, labels | cross: rate, labels | oob: rate, labels |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in names:
        data = REAL_DATA[name].load(data_folder())
        X, Y = data.X, np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y)
        orders = [np.random.default_rng([s, 13]).permutation(Y.shape[0]) for s in range(n_draws)]
        take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
        values = Parallel(n_jobs=n_jobs)(
            delayed(one_label_draw)(take(order), Y[order], seed)
            for seed, order in enumerate(orders)
        )
        mean = np.mean(values, axis=0)
        cells = " | ".join(f"{mean[k]:.3f}, {mean[k + 1]:.2f}" for k in (0, 2, 4))
        lines.append(f"| {name} | {Y.sum(axis=1).mean():.2f} | {cells} |")
    return [*lines, ""]


def main() -> None:
    """Run the draws and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--promise-draws", type=int, default=N_PROMISE)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", nargs="*", default=["made", *REGRESSION])
    parser.add_argument("--labels", nargs="*", default=list(LABELS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for part in given.parts:
        if part == "regions":
            lines = ["## Regions\n"]
            for name in given.data:
                lines += table(name, given.draws, given.jobs)
                print("\n".join(lines[-16:]), flush=True)
        elif part == "promise":
            lines = promise_table(given.data, given.promise_draws, given.jobs)
            lines += ["", *control_table(given.data, given.promise_draws)]
        else:
            lines = label_table(given.labels, given.draws, given.jobs)
            print("\n".join(lines), flush=True)
        if given.write:
            write(part, lines, given.draws)


def write(part: str, lines: list[str], n_draws: int) -> None:
    """Write a part of the page; the other parts stay as they are."""
    opening = [
        "# Regions and label sets with a promise\n",
        f"`python -m benchmarks.conformal --draws {n_draws} --write` writes this page: "
        f"{n_draws} draws, {N_FIT} rows to fit and calibrate, "
        f"{N_NEW} to count, alpha = {ALPHA}.\n",
        __doc__[__doc__.index("A draw takes") :].strip(),
    ]
    kept = PAGE.read_text(encoding="utf-8").split("\n## ")[1:] if PAGE.exists() else []
    parts = {name: f"## {text}".strip() for text in kept for name in PARTS if PARTS[name] in text}
    parts[part] = "\n".join(lines).strip()
    page = ["\n".join(opening), *(parts[name] for name in PARTS if name in parts)]
    PAGE.write_text("\n\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
