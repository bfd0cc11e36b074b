"""The default view of boosting beside fixed ones: ``python -m benchmarks.boosting_views``.

Generated and public data, at most ``--rows`` rows of each, half of them for training, default
settings but for ``projection``: is the view that the default chooses, without a look at the test
rows, as good as the best fixed one is in hindsight? Macro-r2 for numbers, LRAP for labels; means
and standard deviations over divisions. The last lines tell what the choice costs: processor time
of the fit over that of a fit with the chosen view alone, with all rounds, and with as many rounds
and as deep trees as the choice led to. ``--views auto`` measures that alone. Every finished run is
kept; a second call goes on where the first was stopped.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import ttest_rel
from sklearn.metrics import label_ranking_average_precision_score

from benchmarks.papers.runs import Runs, load, markdown, take
from benchmarks.real_data import REAL_DATA
from polyleaf import BoostingClassifier, BoostingRegressor, datasets, projections
from polyleaf.metrics import macro_r2_score

FRIEDMAN = ("chain", "group", "ind")
REAL = ("atp1d", "wq", "osales", "emotions", "yeast", "scene", "medical", "enron")
#: One output at a time is left out where there are more labels.
MOST_SINGLE_OUTPUTS = 20
VIEWS: dict[str, Any] = {
    "auto": "auto",
    "all outputs": None,
    "Gaussian(1)": projections.Gaussian(n_components=1),
    "Gaussian(5)": projections.Gaussian(n_components=5),
    "Subsample(1)": projections.Subsample(n_components=1),
    "TopOutputs(5)": projections.TopOutputs(n_components=5),
    "Adaptive": projections.Adaptive(),
    "RoundRobin": projections.RoundRobin(),
}


def read(name: str, division: int, n_rows: int) -> tuple[Any, Any, Any, Any]:
    """Draw a problem, or rows of a data set, and halve them."""
    rng = np.random.default_rng(division)
    if name.startswith("friedman1-"):
        X, Y = datasets.make_friedman1_targets(
            n_rows, structure=name.removeprefix("friedman1-"), random_state=division
        )
        order = np.arange(n_rows)
    else:
        X, Y = load(name)
        order = rng.permutation(Y.shape[0])[:n_rows]
    half = order.size // 2
    train, test = order[:half], order[half:]
    return take(X, train), take(Y, train), take(X, test), take(Y, test)


def run(data: str, view: str, division: int, rows: int) -> dict[str, Any]:
    """Fit and score one view on one division."""
    X, Y, X_test, Y_test = read(data, division, rows)
    is_labels = data in REAL_DATA and REAL_DATA[data].task == "multilabel"
    cls = BoostingClassifier if is_labels else BoostingRegressor
    start = time.process_time()
    model = cls(projection=VIEWS[view], random_state=division, n_jobs=1).fit(X, Y)
    seconds = time.process_time() - start
    if is_labels:
        truth = Y_test.toarray() if sparse.issparse(Y_test) else np.asarray(Y_test)
        proba = np.asarray(model.predict_proba(X_test))
        has_labels = truth.any(axis=1)
        score = label_ranking_average_precision_score(truth[has_labels], proba[has_labels])
    else:
        score = macro_r2_score(Y_test, model.predict(X_test))
    row = {"score": float(score), "seconds": seconds, "chosen": str(model.projection_)}
    if view == "auto":
        depth = int(model._fitted.max_depth or 6)
        for name, n_estimators, max_depth in (
            ("alone", model.n_estimators, 6),
            ("alone_same", model.n_estimators_, depth),
        ):
            alone = cls(
                projection=model.projection_,
                n_estimators=n_estimators,
                max_depth=max_depth,
                random_state=division,
                n_jobs=1,
            )
            start = time.process_time()
            alone.fit(X, Y)
            row[name] = time.process_time() - start
    return row


def costs(runs: Runs) -> str:
    """Tell how much longer than the chosen view alone a fit takes."""
    lines = []
    for name in dict.fromkeys(row["data"] for row in runs.rows):
        seconds = runs.values("seconds", data=name, view="auto")
        alone, same = (
            runs.values(of, data=name, view="auto").sum() for of in ("alone", "alone_same")
        )
        total = seconds.sum()
        lines.append(
            [name, f"{total / seconds.size:.2f}", f"{total / alone:.1f}", f"{total / same:.1f}"]
        )
    head = ["data", "auto, s", "over the view alone", "with as many rounds as it chose"]
    return markdown(head, lines)


def report(runs: Runs) -> str:
    """Write the table: scores, and how far the default is behind the best fixed view."""
    lines, n_good, n_worse = [], 0, 0
    names = list(dict.fromkeys(row["data"] for row in runs.rows))
    for name in names:
        scores = {view: runs.values("score", data=name, view=view) for view in VIEWS}
        fixed = {view: s.mean() for view, s in scores.items() if s.size and view != "auto"}
        best = max(fixed, key=lambda view: fixed[view])
        behind = fixed[best] - scores["auto"].mean()
        spread = (scores[best] - scores["auto"]).std(ddof=1) if scores["auto"].size > 1 else np.nan
        n_good += bool(behind <= spread or behind <= 0)
        n_worse += bool(behind > 0 and ttest_rel(scores[best], scores["auto"]).pvalue < 0.05)
        cells = [
            "-" if not s.size else f"{'**' * (view == best)}{s.mean():.3f}{'**' * (view == best)}"
            for view, s in scores.items()
        ]
        lines.append([name, *cells, f"{behind:+.3f} ± {spread:.3f}"])
    table = markdown(["data", *VIEWS, "best fixed less auto"], lines)
    said = "Behind the best fixed view by at most one deviation of the difference"
    return (
        f"{table}\n\n{said}: {n_good} of {len(names)}; by more than chance (Student's paired "
        f"t-test, 5 %): {n_worse}."
    )


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--divisions", type=int, default=3)
    parser.add_argument("--views", nargs="+", choices=list(VIEWS), default=list(VIEWS))
    parser.add_argument(
        "--data", nargs="+", default=[*(f"friedman1-{k}" for k in FRIEDMAN), *REAL]
    )
    args = parser.parse_args()
    runs = Runs("boosting-views")
    for division in range(args.divisions):
        for name in args.data:
            for view in args.views:
                wide = name in REAL_DATA and REAL_DATA[name].d > MOST_SINGLE_OUTPUTS
                if view == "RoundRobin" and wide:
                    continue
                key = {"data": name, "view": view, "division": division, "rows": args.rows}
                runs.measure(key, lambda k=key: run(**k))  # type: ignore[misc]
    if len(args.views) == len(VIEWS):
        print(report(runs), end="\n\n")
    print(costs(runs))


if __name__ == "__main__":
    main()
