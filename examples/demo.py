"""A tour of ramify on generated data: `make demo` runs it and it takes less than a minute.

It fits one tree to many targets beside scikit-learn's, one tree to labels with gaps in X and Y,
prints the second tree, and writes pictures into `demo/`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.metrics import average_precision_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import ramify
from ramify import TreeClassifier, TreeRegressor
from ramify.datasets import make_correlated_targets, make_multilabel
from ramify.inspection import plot_output_importances, plot_tree, tree_text

FOLDER = Path("demo")
GENRES = ["rock", "jazz", "folk", "metal", "techno", "choral"]
SOUNDS = ["tempo", "loudness", "brightness", "rhythm", "strings", "voice"]

console = Console()


def main() -> None:
    """Run all parts."""
    FOLDER.mkdir(exist_ok=True)
    console.print(f"[bold]ramify {ramify.__version__}[/bold]: predict many outputs at once\n")
    compare_with_scikit_learn()
    tree = fit_labels_with_gaps()
    show_tree(tree)
    files = [*draw(tree), save(tree)]
    console.print("\nWritten: " + ", ".join(str(file) for file in files))


def compare_with_scikit_learn() -> None:
    """Fit the same trees with both libraries, and put time and accuracy side by side."""
    X, Y = make_correlated_targets(30_000, 120, 100, rank=5, noise=0.3, random_state=0)
    split = train_test_split(X, Y, test_size=0.3, random_state=0)
    console.print("[bold]One tree for 100 targets[/bold]: 21,000 rows, 120 features, one thread")
    table = Table()
    table.add_column("tree")
    table.add_column("fit", justify="right")
    table.add_column("test r2", justify="right")
    for depth in (8, None):
        name = "unlimited depth" if depth is None else f"depth {depth}"
        for library, tree in (
            ("scikit-learn", DecisionTreeRegressor(max_depth=depth, random_state=0)),
            ("ramify", TreeRegressor(max_depth=depth, random_state=0)),
        ):
            seconds, score = _time_and_r2(tree, *split)
            table.add_row(f"{library}, {name}", f"{seconds:.2f} s", f"{score:.3f}")
    console.print(table)


def _time_and_r2(tree: Any, X: Any, X_test: Any, Y: Any, Y_test: Any) -> tuple[float, float]:
    seconds = _seconds(lambda: tree.fit(X, Y))
    return seconds, float(r2_score(Y_test, tree.predict(X_test)))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fit_labels_with_gaps() -> TreeClassifier:
    """Fit labels where a tenth of X and a third of Y were never recorded."""
    X, Y = make_multilabel(4_000, 6, len(GENRES), cardinality=2.2, random_state=1)
    rng = np.random.default_rng(0)
    songs = pd.DataFrame(X, columns=SOUNDS).mask(rng.random(X.shape) < 0.1)
    songs["tempo"] = pd.cut(
        songs["tempo"], [-1, -0.5, 0, 0.5, 1], labels=["slow", "calm", "brisk", "fast"]
    )
    labels = pd.DataFrame(Y, columns=GENRES).astype(float)
    X_train, X_test, Y_train, Y_test = train_test_split(songs, labels, random_state=0)
    gaps = rng.random(Y_train.shape) < 1 / 3
    console.print("\n[bold]One tree for 6 labels[/bold]: gaps in a tenth of X, and in Y")
    table = Table()
    table.add_column("Y used for training")
    table.add_column("mean average precision on test rows", justify="right")
    for name, labels_seen in (("all of it", Y_train), ("two thirds of it", Y_train.mask(gaps))):
        tree = TreeClassifier(min_samples_leaf=20, random_state=0).fit(X_train, labels_seen)
        score = average_precision_score(Y_test, tree.predict_proba(X_test), average="macro")
        table.add_row(name, f"{score:.3f}")
    console.print(table)
    return tree


def show_tree(tree: TreeClassifier) -> None:
    """Print the first levels of the tree as text."""
    console.print("\n[bold]The tree, to depth 2[/bold] (ramify.inspection.tree_text)")
    text = tree_text(tree, max_depth=2, decimals=2, max_outputs=3)
    console.print(text, markup=False, highlight=False, no_wrap=True, overflow="ignore", crop=False)


def draw(tree: TreeClassifier) -> list[Path]:
    """Draw the tree and its importances."""
    files = [FOLDER / "tree.png", FOLDER / "importances.png"]
    plot_tree(tree).figure.savefig(files[0], dpi=120)
    plot_output_importances(tree).figure.savefig(files[1], dpi=120)
    return files


def save(tree: TreeClassifier) -> Path:
    """Store the tree, and load it again."""
    file = FOLDER / "tree.ramify"
    ramify.save(tree, file)
    assert ramify.load(file).get_n_leaves() == tree.get_n_leaves()
    return file


if __name__ == "__main__":
    main()
