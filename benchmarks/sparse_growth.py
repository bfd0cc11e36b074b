"""One tree on sparse features and labels: ``python -m benchmarks.sparse_growth``.

Grows trees of a random forest in the core, without binning, views or leaves, and prints the CPU
time of one thread per tree: drawn features (the square root of their number), bootstrap, fully
grown.

- ``delicious`` (500 binary features, 983 labels; skipped where the data are not there): on all
  labels exactly, and on Gaussian components of them, beside scikit-learn's tree on the same dense
  targets.
- ``large``: 100,000 rows, 10,000 features of a tf-idf kind and 100,000 labels by a power law, on
  all labels exactly and on 12 components. As a dense matrix these labels would take 40 GB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

from benchmarks.real_data import data_folder
from polyleaf import _core
from polyleaf.data import bin_features
from polyleaf.datasets import read_mulan

_COLUMNS = ("problem", "targets", "nodes", "ms per tree", "scikit-learn ms", "ratio", "peak MB")


@dataclass(frozen=True, eq=False)
class Problem:
    """Binned features and sparse labels."""

    X: Any
    Y: Any
    binned: _core.Binned

    @classmethod
    def of(cls, X: Any, Y: Any) -> Problem:
        """Bin X, a CSR matrix of numbers; Y is a CSR matrix of labels."""
        categories = np.zeros(X.shape[1], np.int32)
        f = bin_features(X, categories > 0, categories, 255)
        binned = _core.Binned(
            n_rows=f.n_rows,
            is_categorical=f.is_categorical,
            bin_offsets=f.bin_offsets,
            bin_low=f.bin_low,
            bin_high=f.bin_high,
            dense_features=f.dense_features,
            codes_u8=f.dense_codes.view(np.uint8),
            codes_u32=None,
            sparse_features=f.sparse_features,
            sparse_default=f.sparse_default,
            sparse_indptr=f.sparse_indptr,
            sparse_slot=f.sparse_slot,
            sparse_code=f.sparse_code,
        )
        return cls(X, Y, binned)

    def bootstrap(self, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Draw rows: how often each was drawn, and the distinct ones."""
        n = self.X.shape[0]
        counts = np.bincount(np.random.default_rng(seed).integers(n, size=n), minlength=n)
        return counts.astype(np.float32), np.flatnonzero(counts).astype(np.int32)

    def components(self, n_components: int) -> NDArray[np.float64]:
        """Project the labels on random directions."""
        directions = np.random.default_rng(0).normal(size=(self.Y.shape[1], n_components))
        values = np.asarray(self.Y @ directions)
        return np.asarray(values - values.mean(0))

    def grow(self, targets: NDArray[np.float64] | None, seed: int) -> tuple[float, int]:
        """Grow a tree on dense targets, or on the labels; give CPU seconds and nodes."""
        weights, rows = self.bootstrap(seed)
        params = _core.GrowParams()
        params.max_features = round(self.X.shape[1] ** 0.5)
        params.seed = seed
        labels = self.Y
        indptr, indices = labels.indptr.astype(np.int64), labels.indices.astype(np.int32)
        data = labels.data.astype(np.float32)
        gradient = None if targets is None else (targets * weights[:, None]).astype(np.float32)
        start = time.process_time()
        if gradient is None:
            channels = _core.Channels.of_labels(labels.shape[1], indptr, indices, data, weights)
        else:
            channels = _core.Channels.of_gradients(gradient, weights)
        tree = _core.grow_tree(self.binned, channels, rows, params)
        return time.process_time() - start, tree.n_nodes


def grow_with_scikit_learn(problem: Problem, targets: NDArray[np.float64], seed: int) -> float:
    """Grow a tree of a random forest; give CPU seconds."""
    weights, _ = problem.bootstrap(seed)
    X = problem.X.toarray().astype(np.float32)
    tree = DecisionTreeRegressor(max_features="sqrt", random_state=seed)
    start = time.process_time()
    tree.fit(X, targets, sample_weight=weights)
    return time.process_time() - start


def read_delicious() -> Problem | None:
    """Read the training rows of delicious; None where they are not there."""
    folder = data_folder()
    folder = None if folder is None else folder / "multilabel" / "delicious"
    if folder is None or not folder.is_dir():
        return None
    data = read_mulan(folder / "delicious-train.arff", folder / "delicious.xml")
    return Problem.of(
        sparse.csr_array(data.X, dtype=np.float64), sparse.csr_array(data.Y, dtype=np.float32)
    )


def make_large(n: int = 100_000, p: int = 10_000, d: int = 100_000, seed: int = 0) -> Problem:
    """Draw documents of two topics each; words and labels follow power laws, with noise."""
    rng = np.random.default_rng(seed)

    def draw(size: tuple[int, ...], n_items: int, power: float) -> NDArray[np.int64]:
        shares = np.arange(1, n_items + 1) ** -power
        return rng.choice(n_items, size=size, p=shares / shares.sum())

    def mix(of_topic: NDArray[np.int64], n_draws: int, noise: float, power: float, n: int) -> Any:
        chosen = np.take_along_axis(topics, rng.integers(2, size=(len(topics), n_draws)), 1)
        items = of_topic[chosen, rng.integers(of_topic.shape[1], size=chosen.shape)]
        items = np.where(rng.random(items.shape) < noise, draw(items.shape, n, power), items)
        matrix = sparse.csr_array(
            (np.ones(items.size), items.ravel(), np.arange(0, items.size + 1, n_draws)),
            shape=(len(topics), n),
        )
        matrix.sum_duplicates()
        return matrix

    n_topics = 2000
    topics = draw((n, 2), n_topics, 0.7)
    X = mix(draw((n_topics, 40), p, 0.9), 60, 0.4, 0.9, p)
    frequency = np.bincount(X.indices, minlength=p)
    X.data = (1 + np.log(X.data)) * np.log(n / np.maximum(frequency, 1))[X.indices]
    Y = mix(draw((n_topics, 6), d, 0.8), 6, 0.2, 0.8, d)
    Y.data = np.ones(Y.data.size, np.float32)
    return Problem.of(X, Y)


def measure(
    name: str, problem: Problem, sizes: Sequence[int], repeats: int, *, with_rival: bool
) -> Iterator[tuple[str, ...]]:
    """Give the rows of the table: the labels themselves, then components of them."""
    for size in (None, *sizes):
        targets = None if size is None else problem.components(size)
        seconds, n_nodes = min(problem.grow(targets, seed) for seed in range(repeats))
        rival = None
        if with_rival:
            dense = problem.Y.toarray().astype(np.float64) if targets is None else targets
            rival = min(grow_with_scikit_learn(problem, dense, seed) for seed in range(2))
        yield (
            name,
            f"all {problem.Y.shape[1]}" if size is None else f"{size} components",
            str(n_nodes),
            f"{1e3 * seconds:.1f}",
            "" if rival is None else f"{1e3 * rival:.1f}",
            "" if rival is None else f"{rival / seconds:.1f}",
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}",
        )


PROBLEMS: dict[str, Callable[[], Problem | None]] = {
    "delicious": read_delicious,
    "large": make_large,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the problems and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sparse_growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(argv)
    table = Table(title=f"{_core.instruction_set()}, one thread, CPU time")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    for name in options.problems:
        problem = PROBLEMS[name]()
        if problem is None:
            print(f"{name}: the data are not there; see benchmarks/real_data.py", file=sys.stderr)
            continue
        is_small = name == "delicious"
        for row in measure(
            name,
            problem,
            (7, 25) if is_small else (12,),
            options.repeats if is_small else 1,
            with_rival=is_small,
        ):
            table.add_row(*row)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 110)
    console.print(table)


if __name__ == "__main__":
    main()
