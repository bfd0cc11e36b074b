"""What users of CLUS could miss: ``python -m benchmarks.tree_wishes``.

Two things that CLUS or the future work of Breskvar et al. 2018 have and ours has not, beside what
ours does instead, with everything else alike; the difference of aRRMSE with its standard error
over folds, below 0 if it would help.

- *related subspaces*: a tree sees targets that go together (a target by chance, the others with
  chances proportional to the absolute correlation with it) or that do not (1 minus that), instead
  of any; random forests and extra trees with the settings of the paper.
- *fractions*: a row whose value is missing goes down both branches with weights in proportion to
  the rows there, instead of to the side that is better. Both ways are written here in NumPy, as
  random forests of their own.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.papers.forest_numbers import ENSEMBLES, errors, fold, fold_rows
from benchmarks.papers.runs import Runs, load, markdown
from benchmarks.papers.tables import paper
from polyleaf.projections import ProjectionContext, Subsample, View

Floats = NDArray[np.float64]


class RelatedSubspaces(Subsample):
    """Selections of targets that go together, or that do not.

    Parameters
    ----------
    n_components, replace, first_sees_all
        As of `Subsample`.
    related : bool
    """

    def __init__(
        self,
        n_components: Any = 0.75,
        *,
        replace: bool = False,
        first_sees_all: bool = True,
        related: bool = True,
    ) -> None:
        super().__init__(n_components, replace=replace, first_sees_all=first_sees_all)
        self.related = related

    def draw(self, context: ProjectionContext) -> View:
        """Draw a target by chance, then others by their correlation with it."""
        plain = super().draw(context)
        if plain.kind == "all":
            return plain
        size = len(plain.selected)
        outputs = np.flatnonzero(context.varying_outputs)
        known = np.abs(np.corrcoef(np.asarray(context.values)[:, outputs].T))
        first = int(context.rng.integers(len(outputs)))
        chances = known[first] if self.related else 1.0 - known[first]
        chances = np.maximum(chances, 1e-6)
        chances[first] = 0.0
        others = context.rng.choice(
            len(outputs), size - 1, replace=False, p=chances / chances.sum()
        )
        chosen = np.sort(outputs[[first, *others]]).astype(np.int32)
        return View.of_selection(chosen, context.n_channels, scale=plain.scale)


@dataclass
class Node:
    """A node of a tree in NumPy; `feature` is -1 at a leaf."""

    value: Floats
    weight: float
    feature: int = -1
    threshold: float = math.nan
    missing_left: bool = True
    children: list[Node] = field(default_factory=list)


def grow(
    X: Floats, Y: Floats, weights: Floats, by_fractions: bool, rng: np.random.Generator
) -> Node:
    """Grow a tree that sees √p features per node; two rows per leaf.

    Parameters
    ----------
    X, Y : ndarray
        Rows of positive weight; X may have NaN.
    weights : ndarray of shape (n_rows,)
    by_fractions : bool
        Whether rows with a missing value go both ways.
    rng : Generator
    """
    total = float(weights.sum())
    node = Node(weights @ Y / total, total)
    if total < 4.0 or len(weights) < 2 or np.ptp(Y, axis=0).max() == 0.0:
        return node
    best = (1e-12, -1, math.nan, True)
    for j in rng.choice(X.shape[1], math.isqrt(X.shape[1]), replace=False):
        gain, threshold, left = _best_cut(X[:, j], Y - node.value, weights, by_fractions)
        if gain > best[0]:
            best = gain, int(j), threshold, left
    _, node.feature, node.threshold, node.missing_left = best
    if node.feature < 0:
        return node
    column = X[:, node.feature]
    goes_left, missing = column <= node.threshold, np.isnan(column)
    if by_fractions:
        known = float(weights[~missing].sum())
        share = float(weights[goes_left].sum()) / known
        parts = (
            np.where(missing, share, goes_left) * weights,
            np.where(missing, 1 - share, ~goes_left) * weights,
        )
    else:
        goes_left = goes_left | (missing & node.missing_left)
        parts = goes_left * weights, ~goes_left * weights
    for part in parts:
        rows = part > 1e-6
        node.children.append(grow(X[rows], Y[rows], part[rows], by_fractions, rng))
    return node


def _best_cut(
    column: Floats, Y: Floats, weights: Floats, by_fractions: bool
) -> tuple[float, float, bool]:
    """Find the cut of a column with the largest reduction of variance, around a mean of 0."""
    missing = np.isnan(column)
    known = np.flatnonzero(~missing)
    order = known[np.argsort(column[known], kind="stable")]
    values = column[order]
    cuts = np.flatnonzero(values[1:] > values[:-1])
    if not cuts.size:
        return 0.0, math.nan, True
    w = np.cumsum(weights[order])
    sums = np.cumsum(weights[order, None] * Y[order], axis=0)
    w_left, left = w[cuts], sums[cuts]
    w_right, right = w[-1] - w_left, sums[-1] - left
    if by_fractions or not missing.any():
        # The mean of the known rows is not 0 where others are missing.
        base = (sums[-1] ** 2).sum() / w[-1]
        gains = (left**2).sum(1) / w_left + (right**2).sum(1) / w_right - base
        gains[(w_left < 2.0) | (w_right < 2.0)] = 0.0
        at = int(np.argmax(gains))
        return float(gains[at]), _between(values, cuts[at]), bool(w_left[at] >= w_right[at])
    w_off, off = weights[missing].sum(), weights[missing] @ Y[missing]
    found = (0.0, math.nan, True)
    for to_left in (True, False):
        a_w, a = (w_left + w_off, left + off) if to_left else (w_left, left)
        b_w, b = (w_right, right) if to_left else (w_right + w_off, right + off)
        gains = (a**2).sum(1) / a_w + (b**2).sum(1) / b_w
        gains[(a_w < 2.0) | (b_w < 2.0)] = 0.0
        at = int(np.argmax(gains))
        if gains[at] > found[0]:
            found = float(gains[at]), _between(values, cuts[at]), to_left
    return found


def _between(values: Floats, place: int) -> float:
    return float(values[place] + (values[place + 1] - values[place]) / 2)


def predict(node: Node, X: Floats, by_fractions: bool) -> Floats:
    """Send rows down a tree, those with missing values both ways if so."""
    if node.feature < 0 or not len(X):
        return np.tile(node.value, (len(X), 1))
    column = X[:, node.feature]
    missing, goes_left = np.isnan(column), column <= node.threshold
    first, second = node.children
    found = np.empty((len(X), node.value.size))
    if not by_fractions:
        goes_left = goes_left | (missing & node.missing_left)
        missing = np.zeros(len(X), dtype=bool)
    for child, rows in ((first, goes_left & ~missing), (second, ~goes_left & ~missing)):
        found[rows] = predict(child, X[rows], by_fractions)
    if missing.any():
        both = [child.weight * predict(child, X[missing], True) for child in node.children]
        found[missing] = (both[0] + both[1]) / (first.weight + second.weight)
    return found


def numbers(X: Any) -> Floats:
    """Turn features into numbers, categories into their places; NaN where missing."""
    if not isinstance(X, pd.DataFrame):
        return np.asarray(X, dtype=np.float64)
    columns = []
    for name in X.columns:
        if pd.api.types.is_numeric_dtype(X[name]):
            columns.append(X[name].to_numpy(dtype=np.float64))
        else:
            codes = pd.Categorical(X[name]).codes.astype(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
    return np.column_stack(columns)


def forest_error(
    name: str, by_fractions: bool, removed: float, n_trees: int, number: int
) -> float:
    """Measure a forest on one fold, after a share of the feature values was removed."""
    X, Y = load(name)
    X, Y = numbers(X), np.asarray(Y, dtype=np.float64)
    X = np.where(np.random.default_rng(0).random(X.shape) < removed, np.nan, X)
    train, test = fold_rows(len(Y), number)
    means, scales = Y[train].mean(axis=0), Y[train].std(axis=0)
    scaled = (Y[train] - means) / np.where(scales > 0, scales, 1.0)
    rng, found = np.random.default_rng(number), np.zeros((len(test), Y.shape[1]))
    for _ in range(n_trees):
        counts = np.bincount(rng.integers(len(train), size=len(train)), minlength=len(train))
        drawn = np.flatnonzero(counts)
        weights = counts[drawn].astype(np.float64)
        tree = grow(X[train[drawn]], scaled[drawn], weights, by_fractions, rng)
        found += predict(tree, X[test], by_fractions)
    return errors(Y[test], means + scales * found / n_trees, means)[0]


SUBSPACES = {"by chance": None, "related": True, "apart": False}
#: Data sets, and the share of the values that are removed from them first.
HOLES = {"collembola": 0.0, "osales": 0.0, "scpf": 0.0, "jura": 0.3, "wq": 0.3, "enb": 0.3}


def subspace_error(name: str, kind: str, way: str, number: int) -> float:
    """Measure an ensemble on one fold."""
    X, Y, X_test, Y_test = fold(name, number)
    changed = {}
    if SUBSPACES[way] is not None:
        changed["projection"] = RelatedSubspaces(
            0.5 if kind == "Bag" else 0.75, related=bool(SUBSPACES[way])
        )
    made = paper(ENSEMBLES[kind], "ros", random_state=number, n_jobs=1, **changed)
    predicted = made.estimator.fit(X, Y).predict(X_test)
    return errors(Y_test, predicted, np.mean(Y, axis=0))[0]


def show(runs: Runs, wish: str, by: tuple[str, ...], base: str) -> str:
    """Write means of the first way, and differences of the others from it, with errors."""
    settings = list(
        dict.fromkeys(tuple(row[b] for b in by) for row in runs.rows if row["wish"] == wish)
    )
    ways = list(dict.fromkeys(row["way"] for row in runs.rows if row["wish"] == wish))
    rows = []
    for setting in settings:
        key = {"wish": wish, **dict(zip(by, setting))}
        first = runs.values("aRRMSE", way=base, **key)
        cells = [*map(str, setting), f"{first.mean():.4f}"]
        for way in ways:
            if way == base:
                continue
            other = runs.values("aRRMSE", way=way, **key)
            n = min(len(first), len(other))
            gap = other[:n] - first[:n]
            error = gap.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
            cells.append(f"{gap.mean():+.4f} ± {error:.4f}" if n else "-")
        rows.append(cells)
    return markdown([*by, base, *(way for way in ways if way != base)], rows)


def main() -> None:
    """Measure what is missing, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", default=["wq", "osales", "atp1d", "eco-mite"])
    parser.add_argument("--holes", nargs="+", default=list(HOLES), choices=HOLES)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--folds-fractions", type=int, default=3)
    parser.add_argument("--trees", type=int, default=30, help="of forests in NumPy")
    options = parser.parse_args()
    runs = Runs("tree-wishes")
    for number in range(options.folds):
        for name in options.data:
            for kind in ("RF", "ET"):
                for way in SUBSPACES:
                    key = {"wish": "subspaces", "data": name, "ensemble": kind, "way": way}
                    runs.measure(
                        key | {"fold": number},
                        lambda: {"aRRMSE": subspace_error(name, kind, way, number)},  # noqa: B023
                    )
    for number in range(options.folds_fractions):
        for name in options.holes:
            for way in ("to a side", "fractions"):
                key = {"wish": "missing", "data": name, "way": way, "trees": options.trees}
                runs.measure(
                    key | {"removed": HOLES[name], "fold": number},
                    lambda: {
                        "aRRMSE": forest_error(
                            name,  # noqa: B023
                            way == "fractions",  # noqa: B023
                            HOLES[name],  # noqa: B023
                            options.trees,
                            number,  # noqa: B023
                        )
                    },
                )
    print(show(runs, "subspaces", ("data", "ensemble"), "by chance"), end="\n\n")
    print(show(runs, "missing", ("data", "removed"), "to a side"))


if __name__ == "__main__":
    main()
