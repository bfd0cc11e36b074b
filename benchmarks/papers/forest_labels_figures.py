"""Figures 1 to 4 of Joly et al. 2014: LRAP against the size of the view, features and kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polyleaf
from benchmarks.papers.boosting_figures import picture
from benchmarks.papers.forest_labels import PAPER, lrap, random_split
from benchmarks.papers.forest_published import TABLE_1
from benchmarks.papers.tables import (
    Claim,
    Labels,
    Outcome,
    Row,
    Table,
    fit_timed,
    grid,
    matches,
    mean_of,
    paper,
)
from benchmarks.real_data import REAL_DATA
from polyleaf import projections

#: Sizes of Figure 1; 0 stands for all labels.
SIZES = (0, 1, 2, 4, 7, 15, 25, 50, 100, 200, 300)
FEATURES = {"bibtex": (1, 10, 43, 150, 500, 1836), "delicious": (1, 5, 22, 50, 100, 250, 500)}
KINDS: dict[str, Callable[[int], projections.Projection]] = {
    "Gaussian": projections.Gaussian,
    "Rademacher": projections.Rademacher,
    "Hadamard": projections.Hadamard,
    "Achlioptas": projections.Achlioptas,
    "sparse Rademacher": projections.SparseRademacher,
    "sub-sampled labels": lambda size: projections.Subsample(
        size, replace=True, first_sees_all=False
    ),
    "PCA": projections.PCA,
}
KIND_SIZES = (1, 4, 7, 25, 100)
MODELS = ("one tree", "a view per tree", "one view")
Records = list[dict[str, Any]]


def _forest(name: str, repeat: int, variant: str, **changed: Any) -> Outcome:
    X, Y, X_test, Y_test = random_split(name, TABLE_1[name]["n_train"], repeat)
    make: Any = polyleaf.RandomForestClassifier
    if variant == "tree":
        make, variant = polyleaf.TreeClassifier, "rp"
    else:
        changed["n_jobs"] = 1
    made = paper(make, variant, random_state=repeat, **changed)
    seconds = fit_timed(made.estimator, X, Y)
    return Outcome({"LRAP": lrap(made.estimator, X_test, Y_test), "cpu_s": seconds}, made.settings)


def _gaussian(size: int) -> projections.Projection | None:
    return projections.Gaussian(size) if size else None


def size_row(labels: Labels, repeat: int) -> Outcome:
    """Measure a point of Figure 1."""
    variant = {"one tree": "tree", "a view per tree": "rp", "one view": "rp-shared"}
    view = _gaussian(labels["m"])
    return _forest("delicious", repeat, variant[labels["model"]], projection=view)


def feature_row(labels: Labels, repeat: int) -> Outcome:
    """Measure a point of Figures 2 and 4."""
    view, k = _gaussian(labels["m"]), labels["k"]
    return _forest(labels["data"], repeat, "rp", projection=view, max_features=k)


def kind_row(labels: Labels, repeat: int) -> Outcome:
    """Measure a point of Figure 3."""
    kind = labels["kind"]
    view = None if kind == "all labels" else KINDS[kind](labels["m"])
    return _forest("delicious", repeat, "rp", projection=view)


def _small_sizes(name: str) -> tuple[int, ...]:
    """All labels, and 1, ln d and 2 ln d combinations of them."""
    log = round(np.log(REAL_DATA[name].d))
    return 0, 1, log, 2 * log


def _found(records: Records, **labels: Any) -> float:
    values = [mean_of(line, "LRAP") for line in records if matches(line["row"], labels)]
    return float(np.mean(values)) if values else float("nan")


def _own_views(records: Records) -> tuple[bool | None, str]:
    pairs = {
        m: (_found(records, model="a view per tree", m=m), _found(records, model="one view", m=m))
        for m in SIZES[1:]
    }
    both = {m: pair for m, pair in pairs.items() if not np.isnan(pair).any()}
    if not both:
        return None, "not measured"
    shown = "; ".join(f"m = {m}: {a:.3f} and {b:.3f}" for m, (a, b) in both.items())
    return all(a >= b - 0.002 for a, b in both.values()), shown


def _kind_claims() -> tuple[Claim, ...]:
    def worst(records: Records) -> tuple[bool | None, str]:
        found = {kind: _found(records, kind=kind, m=1) for kind in KINDS}
        if np.isnan(list(found.values())).any():
            return None, "not all kinds are measured with m = 1"
        shown = ", ".join(f"{kind} {value:.3f}" for kind, value in found.items())
        return min(found, key=lambda kind: found[kind]) == "PCA", f"m = 1: {shown}"

    def sparsest(records: Records) -> tuple[bool | None, str]:
        one, everything = (
            _found(records, kind="sparse Rademacher", m=1),
            _found(records, kind="all labels"),
        )
        if np.isnan([one, everything]).any():
            return None, "not measured"
        return one > everything, f"{one:.4f} and {everything:.4f}"

    return (
        Claim("PCA is far less effective than random projections", worst),
        Claim("the sparsest projection improves over all labels with m = 1", sparsest),
    )


def _immune(records: Records) -> tuple[bool | None, str]:
    falls = {}
    for m in _small_sizes("bibtex"):
        curve = [_found(records, data="bibtex", m=m, k=k) for k in FEATURES["bibtex"]]
        if np.isnan(curve).any():
            return None, "not all of bibtex is measured"
        falls[m] = max(curve) - curve[-1]
    shown = ", ".join(
        f"{'all labels' if m == 0 else f'm = {m}'}: {f:.3f}" for m, f in falls.items()
    )
    return max(list(falls.values())[1:]) < falls[0], f"lost between the best k and k = p: {shown}"


def draw_size(records: Records, axes: Any) -> None:
    """Draw Figure 1."""
    sizes = SIZES[1:]
    for axis, models in zip(axes, (MODELS[:1], MODELS[1:]), strict=True):
        everything = _found(records, model=models[0], m=0)
        axis.axhline(everything, color="0.4", ls="--", label="all labels")
        for model in models:
            axis.plot(sizes, [_found(records, model=model, m=m) for m in sizes], "o-", label=model)
        title = "one tree" if len(models) == 1 else "100 trees"
        axis.set(title=f"delicious, {title}", xlabel="size m of the view", xscale="log")
        axis.legend(fontsize="small")
    axes[0].set_ylabel("LRAP")


def draw_features(records: Records, axes: Any) -> None:
    """Draw Figures 2 and 4."""
    for axis, (name, widths) in zip(axes, FEATURES.items(), strict=True):
        for m in _small_sizes(name):
            shown = [_found(records, data=name, m=m, k=k) for k in widths]
            axis.plot(widths, shown, "o-", label="all labels" if m == 0 else f"m = {m}")
        axis.set(title=f"{name}, 100 trees", xlabel="features tried per node", xscale="log")
        axis.legend(fontsize="small")
    axes[0].set_ylabel("LRAP")


def draw_kinds(records: Records, axis: Any) -> None:
    """Draw Figure 3."""
    axis.axhline(_found(records, kind="all labels"), color="0.4", ls="--", label="all labels")
    for kind in KINDS:
        shown = [_found(records, kind=kind, m=m) for m in KIND_SIZES]
        axis.plot(KIND_SIZES, shown, "o-", label=kind)
    axis.set(
        title="delicious, 100 trees", xlabel="size m of the view", ylabel="LRAP", xscale="log"
    )
    axis.legend(fontsize="x-small")


_PROTOCOL = "LRAP on one random division{}; fully grown trees."

TABLES = (
    Table(
        name="joly2014-figure1",
        paper=PAPER,
        title="Figure 1: the size of the view, on delicious",
        protocol=_PROTOCOL.format(", single trees of all features and forests of 100 of √p"),
        differs="The paper repeats the algorithms ten times on one division.",
        measures=(),
        rows=tuple(
            Row(labels)
            for labels in grid(model=MODELS, m=SIZES)
            if labels["m"] or labels["model"] != "one view"
        ),
        work=size_row,
        repeats=1,
        across="m",
        quick=({"model": "a view per tree", "m": 1}, {"model": "one view", "m": 1}),
        claims=(Claim("a view per tree is never worse than one view for all", _own_views),),
        draw=picture(draw_size, (1, 2)),
    ),
    Table(
        name="joly2014-figures2-4",
        paper=PAPER,
        title="Figures 2 and 4: features tried per node",
        protocol=_PROTOCOL.format(", 100 trees"),
        differs="Figure 2 is on drug-interaction, which is not public: bibtex takes its place.",
        measures=(),
        rows=tuple(
            Row({"data": name, "m": m, "k": k})
            for name, widths in FEATURES.items()
            for m in _small_sizes(name)
            for k in widths
        ),
        work=feature_row,
        repeats=1,
        across="k",
        quick=({"data": "delicious", "m": 1, "k": 22},),
        claims=(Claim("small views do not overfit when many features are tried", _immune),),
        draw=picture(draw_features, (1, 2)),
    ),
    Table(
        name="joly2014-figure3",
        paper=PAPER,
        title="Figure 3: kinds of projections, on delicious",
        protocol=_PROTOCOL.format(", 100 trees"),
        differs="",
        measures=(),
        rows=(
            Row({"kind": "all labels", "m": 0}),
            *(Row(labels) for labels in grid(kind=tuple(KINDS), m=KIND_SIZES)),
        ),
        work=kind_row,
        repeats=1,
        across="m",
        quick=({"kind": "sparse Rademacher", "m": 1}, {"kind": "all labels"}),
        claims=_kind_claims(),
        draw=picture(draw_kinds, (1, 1)),
    ),
)
