"""How much work each candidate asks for, in millions of additions, roughly.

It depends on the shape of the data alone, so that a budget gives the same model on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polyleaf.auto.problem import Problem


@dataclass(frozen=True)
class Shape:
    """What the work of a candidate depends on.

    Attributes
    ----------
    n_rows : int
    row_values : float
        Values of X in a row.
    n_features, n_channels : int
    """

    n_rows: int
    row_values: float
    n_features: int
    n_channels: int

    @classmethod
    def of(cls, problem: Problem) -> Shape:
        """Give the shape of a problem."""
        return cls(
            problem.n_rows,
            problem.row_values,
            problem.schema.n_features,
            problem.targets.n_channels,
        )


def forest_work(share: float, n_trees: int = 100) -> Callable[[Shape], float]:
    """Give the work of a forest that tries a share of the features at a node."""

    def work(shape: Shape) -> float:
        levels = np.log2(shape.n_rows + 2.0)
        per_row = 30.0 + share * shape.row_values * (2.0 + 0.3 * shape.n_channels**0.7)
        return float(1e-6 * n_trees * levels * shape.n_rows * per_row)

    return work


def boosting_work(shape: Shape, n_rounds: float = 400) -> float:
    """Count trees that serve all outputs, one a round."""
    per_row = 30.0 + shape.row_values * (2.0 + 0.5 * shape.n_channels**0.7)
    return float(1e-6 * n_rounds * 6.0 * (shape.n_rows + 200.0) * per_row)


def single_trees_work(shape: Shape, n_rounds: float) -> float:
    """Count trees that serve one output each, one of each a round."""
    per_row = 30.0 + 2.5 * shape.row_values
    return float(1e-6 * n_rounds * shape.n_channels * 6.0 * (shape.n_rows + 200.0) * per_row)


def rules_work(shape: Shape, n_rules: float = 500) -> float:
    """Count rules, each from a sample of the rows."""
    per_row = 50.0 + 3.0 * np.log2(shape.row_values + 2.0) * (1.0 + shape.n_channels**0.8)
    return float(1e-6 * n_rules * (shape.n_rows + 100.0) * per_row)


def squares_work(shape: Shape) -> float:
    """Count a decomposition of columns, or of rows where there are fewer."""
    small = min(shape.n_rows, shape.n_features)
    large = max(shape.n_rows, shape.n_features)
    return float(1e-9 * (small**2 * (large + 10.0 * small) + 15 * small * shape.n_rows))


def logistic_work(shape: Shape) -> float:
    """Count a logistic regression of every channel."""
    return float(1e-6 * 60.0 * shape.n_channels * (shape.n_rows * shape.row_values + 20_000))


def kernel_work(shape: Shape) -> float:
    """Count a kernel regression whose kernel and width are chosen on some rows."""
    some = min(shape.n_rows, 400)
    return float(2e-9 * (800.0 * some**3 + 150.0 * shape.n_rows**3))


def settled_kernel_work(shape: Shape) -> float:
    """Count one whose kernel and width are known."""
    return float(3e-7 * shape.n_rows**3)


def neighbours_work(shape: Shape) -> float:
    """Count distances between all rows."""
    return float(1e-6 * shape.n_rows**2 * (3.0 + 0.1 * shape.row_values))


def graphs_work(shape: Shape) -> float:
    """Count an ensemble of graphs."""
    return float(1e-6 * 400.0 * shape.n_rows * shape.n_channels * (20 + shape.row_values))
