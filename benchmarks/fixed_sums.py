"""What sums in fixed point cost in accuracy: ``python -m benchmarks.fixed_sums``.

Boosts the same draws with ``sums="float"`` and ``sums="fixed"`` and prints the mean difference of
the test score with its standard error: r2 of normal, skewed and heavy-tailed targets, and the
area under the curve of labels of which one in fifty is positive.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

from polyleaf import BoostingClassifier, BoostingRegressor

Draw = tuple[Any, Any]


def _features(rng: np.random.Generator, n_rows: int) -> tuple[Any, Any]:
    X = rng.normal(size=(n_rows, 20))
    signal = np.sin(2.0 * X[:, :8]) @ rng.normal(size=(8, 4)) + 0.5 * X[:, [0]] * X[:, 1:5]
    return X, signal


def normal_targets(rng: np.random.Generator, n_rows: int) -> Draw:
    """Four targets with normal noise."""
    X, signal = _features(rng, n_rows)
    return X, signal + rng.normal(size=signal.shape)


def heavy_targets(rng: np.random.Generator, n_rows: int) -> Draw:
    """Four targets with noise of a t distribution of two and a half degrees of freedom."""
    X, signal = _features(rng, n_rows)
    return X, signal + rng.standard_t(2.5, size=signal.shape)


def skewed_targets(rng: np.random.Generator, n_rows: int) -> Draw:
    """Exponentials: a few large targets."""
    X, Y = normal_targets(rng, n_rows)
    return X, np.exp(0.5 * Y)


def rare_labels(rng: np.random.Generator, n_rows: int) -> Draw:
    """Four labels of which one in fifty is positive."""
    X, Y = normal_targets(rng, n_rows)
    threshold = np.quantile(Y, 0.98, axis=0)
    return X, (threshold < Y).astype(np.float64)


PROBLEMS: dict[str, Callable[[np.random.Generator, int], Draw]] = {
    "normal": normal_targets,
    "heavy tails": heavy_targets,
    "skewed": skewed_targets,
    "rare labels": rare_labels,
}


def score(name: str, sums: str, seed: int, n_rows: int, n_rounds: int, n_threads: int) -> float:
    """Fit one model and score it on as many rows as it was fitted to."""
    X, Y = PROBLEMS[name](np.random.default_rng(seed), 2 * n_rows)
    settings: dict[str, Any] = {
        "n_estimators": n_rounds,
        "projection": None,
        "sums": sums,
        "n_jobs": n_threads,
        "random_state": seed,
    }
    if name == "rare labels":
        labels = BoostingClassifier(**settings).fit(X[:n_rows], Y[:n_rows])
        return float(roc_auc_score(Y[n_rows:], labels.predict_proba(X[n_rows:])))
    model = BoostingRegressor(**settings).fit(X[:n_rows], Y[:n_rows])
    return float(r2_score(Y[n_rows:], model.predict(X[n_rows:])))


def main() -> None:
    """Print one line per problem."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fixed_sums", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{options.rows} rows, {options.rounds} rounds, {options.seeds} seeds\n")
    print("| problem | float | fixed | difference | standard error |")
    print("|---|---|---|---|---|")
    for name in PROBLEMS:
        found = np.array(
            [
                [
                    score(name, sums, seed, options.rows, options.rounds, options.threads)
                    for sums in ("float", "fixed")
                ]
                for seed in range(options.seeds)
            ]
        )
        gains = found[:, 1] - found[:, 0]
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
        means = found.mean(axis=0)
        print(f"| {name} | {means[0]:.4f} | {means[1]:.4f} | {gains.mean():+.5f} | {error:.5f} |")


if __name__ == "__main__":
    main()
