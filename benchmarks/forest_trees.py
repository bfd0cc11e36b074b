"""Trees as forests grow them, beside scikit-learn's: ``python -m benchmarks.forest_trees``.

Every kind of tree is fully grown some times on the same data: with a bootstrap (rows with integer
weights) or on all rows with random cuts, looking at all features or at the square root of them at
each node. Times are processor seconds of one thread, the fastest of the trees, without binning and
without reading or checking the data, which a forest does once for all of its trees; leaf values
are included. Both libraries see the same bootstraps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from benchmarks.versus.problems import PROBLEMS, Problem
from polyleaf import _core
from polyleaf.data import bin_features

_LEAST_WIDTH = 100
_COLUMNS = ("problem", "tree", "features", "polyleaf, ms", "scikit-learn, ms", "ratio")


@dataclass(frozen=True)
class Kind:
    """One kind of tree.

    Parameters
    ----------
    name : str
    has_bootstrap, has_random_cuts, draws_features : bool
    """

    name: str
    has_bootstrap: bool = False
    has_random_cuts: bool = False
    draws_features: bool = False

    def max_features(self, n_features: int) -> int:
        """Features that a node looks at."""
        return max(1, int(np.sqrt(n_features))) if self.draws_features else n_features


KINDS = (
    Kind("random-forest", has_bootstrap=True),
    Kind("random-forest-sqrt", has_bootstrap=True, draws_features=True),
    Kind("extra-trees", has_random_cuts=True),
    Kind("extra-trees-sqrt", has_random_cuts=True, draws_features=True),
)


def draw_weights(kind: Kind, n_rows: int, seed: int) -> NDArray[np.float64] | None:
    """Count how often a bootstrap takes each row; None without a bootstrap."""
    if not kind.has_bootstrap:
        return None
    drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows)
    return np.bincount(drawn, minlength=n_rows).astype(np.float64)


class PolyleafTrees:
    """Grows trees of the core, with leaf values, on data that were binned once."""

    def __init__(self, X: NDArray[np.float64], Y: NDArray[np.float64]) -> None:
        n_rows, n_features = X.shape
        numeric = np.zeros(n_features, dtype=np.int32)
        features = bin_features(X, numeric.astype(np.bool_), numeric, 255)
        self.Y = Y
        self.n_features = n_features
        self.columns = np.arange(Y.shape[1], dtype=np.int32)
        self.shift, self.factor = Y.mean(axis=0), 1.0 / Y.std(axis=0)
        self.binned = _core.Binned(
            n_rows=n_rows,
            is_categorical=features.is_categorical,
            bin_offsets=features.bin_offsets,
            bin_low=features.bin_low,
            bin_high=features.bin_high,
            dense_features=features.dense_features,
            codes_u8=features.dense_codes,
            codes_u32=None,
            sparse_features=features.sparse_features,
            sparse_default=features.sparse_default,
            sparse_indptr=features.sparse_indptr,
            sparse_slot=features.sparse_slot,
            sparse_code=features.sparse_code,
        )

    def grow(self, kind: Kind, seed: int) -> NDArray[np.float64]:
        """Grow one tree; returns its leaf values."""
        params = _core.GrowParams()
        params.max_features = kind.max_features(self.n_features)
        params.random_cuts = kind.has_random_cuts
        params.seed = seed
        weights = draw_weights(kind, len(self.Y), seed)
        rows = np.arange(len(self.Y)) if weights is None else np.flatnonzero(weights)
        by_row = None if weights is None else weights.astype(np.float32)
        channels = _core.Channels.of_targets(self.Y, self.columns, self.shift, self.factor, by_row)
        tree = _core.grow_tree(self.binned, channels, rows.astype(np.int32), params)
        return self._leaf_values(tree, weights)

    def _leaf_values(
        self, tree: _core.GrownTree, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        feature, right = (np.empty(tree.n_nodes, np.int32) for _ in range(2))
        category_offset, n_samples = (np.empty(tree.n_nodes, np.int64) for _ in range(2))
        threshold, weight, impurity, gain = (np.empty(tree.n_nodes) for _ in range(4))
        tree.write_nodes(
            feature=feature,
            threshold=threshold,
            right=right,
            missing_left=np.empty(tree.n_nodes, np.uint8),
            category_offset=category_offset,
            n_samples=n_samples,
            weight=weight,
            impurity=impurity,
            gain=gain,
        )
        rows = np.empty(tree.n_rows, np.int32)
        tree.write_rows(rows)
        is_leaf = feature < 0
        means = np.empty((int(is_leaf.sum()), self.Y.shape[1]))
        _core.leaf_means(
            self.Y,
            None,
            weights,
            None,
            rows,
            np.concatenate([[0], np.cumsum(n_samples[is_leaf])]),
            right,
            np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32),
            means,
            1,
        )
        return means


def grow_rival(X: NDArray[np.float32], Y: NDArray[np.float64], kind: Kind, seed: int) -> None:
    """Grow one of scikit-learn's trees on data that are in its format already."""
    estimator = ExtraTreeRegressor if kind.has_random_cuts else DecisionTreeRegressor
    tree = estimator(max_features=kind.max_features(X.shape[1]), random_state=seed)
    tree.fit(X, Y, sample_weight=draw_weights(kind, len(X), seed), check_input=False)


def fastest(grow: Callable[[int], object], repeats: int) -> float:
    """Processor seconds of the fastest of some trees with different seeds."""
    times = []
    for seed in range(repeats):
        start = time.process_time()
        grow(seed)
        times.append(time.process_time() - start)
    return min(times)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all kinds of trees on all problems, and print a table."""
    options = _parser().parse_args(argv)
    table = Table(title=f"{_core.instruction_set()}, one thread")
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in _COLUMNS[:3] else "right")
    for name in options.problems:
        _add_rows(table, PROBLEMS[name], options)
        table.add_section()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _LEAST_WIDTH)
    console.print(table)


def _add_rows(table: Table, problem: Problem, options: argparse.Namespace) -> None:
    data = problem.draw(0)
    X, Y = data.X_train, data.Y_train
    X_float = X.astype(np.float32)
    ours = PolyleafTrees(X, Y)
    for kind in KINDS:
        if kind.name not in options.kinds:
            continue
        own = fastest(lambda seed, kind=kind: ours.grow(kind, seed), options.repeats)
        rival = fastest(
            lambda seed, kind=kind: grow_rival(X_float, Y, kind, seed), options.rival_repeats
        )
        table.add_row(
            problem.name,
            kind.name,
            str(kind.max_features(problem.n_features)),
            f"{1e3 * own:.1f}",
            f"{1e3 * rival:.1f}",
            f"{rival / own:.1f}",
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.forest_trees",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--problems",
        nargs="+",
        choices=list(PROBLEMS),
        default=["dense-9k-61-16", "dense-30k-120-100"],
    )
    kinds = [kind.name for kind in KINDS]
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--rival-repeats", type=int, default=2)
    return parser


if __name__ == "__main__":
    main()
