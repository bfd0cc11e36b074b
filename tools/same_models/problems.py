"""Problems that the table of cases is made of; all data are drawn here, by NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

# Problems ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to fit and rows to predict.

    Attributes
    ----------
    name : str
    X, y : object
        In any form that `fit` takes.
    X_new, y_new : object
        Other rows, to predict, to stop early by, and to prune by.
    """

    name: str
    X: Any
    y: Any
    X_new: Any
    y_new: Any = None

    def but(self, note: str, **changed: Any) -> Problem:
        """Change some of it."""
        return Problem(**{**vars(self), "name": f"{self.name} {note}", **changed})


@cache
def _scores(n: int, p: int, d: int, seed: int) -> tuple[Any, Any]:
    """Draw features, and d smooth and stepped functions of them with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    parts = [X[:, 0] > 0, (X[:, 1] > 0.3) ^ (X[:, 2] < 0), np.sin(2 * X[:, 3]), X[:, 0] * X[:, 4]]
    factors = np.column_stack(parts).astype(float)
    factors = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    return X, factors @ rng.normal(size=(4, d)) + 0.3 * rng.normal(size=(n, d))


def _parts(name: str, X: Any, y: Any, n_train: int) -> Problem:
    return Problem(name, X[:n_train], y[:n_train], X[n_train:], y[n_train:])


@cache
def numbers(n: int = 240, p: int = 8, d: int = 6, seed: int = 0) -> Problem:
    """Make a regression problem, with targets of different sizes."""
    X, Y = _scores(n + 60, p, d, seed)
    Y = Y * np.logspace(0, 2, d) + np.arange(d)
    return _parts(f"numbers-{n}x{p}x{d}", X, Y[:, 0] if d == 1 else Y, n)


@cache
def labels(n: int = 240, p: int = 8, d: int = 7, seed: int = 1, share: float = 0.3) -> Problem:
    """Make a multi-label problem."""
    X, scores = _scores(n + 60, p, d, seed)
    Y = (scores > np.quantile(scores, 1 - share, axis=0)).astype(np.int64)
    return _parts(f"labels-{n}x{p}x{d}", X, Y, n)


@cache
def classes(n: int = 240, n_outputs: int = 1, n_classes: int = 4) -> Problem:
    """Make a problem of classes, whose names are text if there is one output."""
    X, scores = _scores(n + 60, 8, n_outputs * n_classes, 2)
    y = scores.reshape(len(X), n_outputs, n_classes).argmax(axis=2)
    y = np.array(["ash", "birch", "cedar", "fir"])[y[:, 0]] if n_outputs == 1 else y
    return _parts(f"classes-{n}x8x{n_outputs}x{n_classes}", X, y, n)


@cache
def counts() -> Problem:
    """Make targets for Poisson's loss."""
    X, scores = _scores(300, 8, 4, 3)
    return _parts("counts", X, np.random.default_rng(3).poisson(np.exp(scores / 3)) + 0.0, 240)


@cache
def words(n: int = 500, p: int = 300, d: int = 40, *, binary: bool = True) -> Problem:
    """Make many sparse features and sparse labels that depend on some of them."""
    rng = np.random.default_rng(4)
    X = sparse.random_array((n + 60, p), density=0.04, rng=rng, format="csr")
    if binary:
        X.data[:] = 1.0
    weights = sparse.random_array((p, d), density=0.05, rng=rng, data_sampler=rng.normal)
    scores = np.asarray((X @ weights).todense()) + 0.1 * rng.normal(size=(n + 60, d))
    Y = sparse.csr_array((scores > np.quantile(scores, 0.93, axis=0)).astype(np.int8))
    return _parts(f"{'words' if binary else 'frequencies'}-{n}x{p}x{d}", X, Y, n)


def with_gaps(problem: Problem, *, in_X: bool = True, in_y: bool = False) -> Problem:
    """Leave out a tenth of the values."""
    rng = np.random.default_rng(5)
    X, y, X_new = problem.X.copy(), problem.y, problem.X_new.copy()
    if in_X:
        X[rng.random(X.shape) < 0.1] = np.nan
        X_new[rng.random(X_new.shape) < 0.1] = np.nan
    if in_y:
        y = np.where(rng.random(y.shape) < 0.1, np.nan, y)
    note = "gaps in " + " and ".join(["X"] * in_X + ["y"] * in_y)
    return problem.but(note, X=X, y=y, X_new=X_new)


def with_categories(problem: Problem, *, n_codes: Sequence[int] = (4, 90)) -> Problem:
    """Turn features 1 and 2 into codes of categories, features 3 and 4 into mostly one code."""

    def changed(X: Any) -> Any:
        X = X.copy()
        for j, n in enumerate(n_codes, start=1):
            X[:, j] = np.floor(n / (1 + np.exp(-1.5 * X[:, j])))
        X[:, 3] = np.floor(np.maximum(5 * X[:, 3] - 4, 0))
        X[:, 4] = X[:, 4] > 1.2
        return X

    return problem.but(f"codes {n_codes}", X=changed(problem.X), X_new=changed(problem.X_new))


CODED = [1, 2, 3, 4]


def with_odd_columns(problem: Problem) -> Problem:
    """Add columns that are mostly 0, mostly missing, constant, rare flags, tied or endless."""

    def changed(X: Any) -> Any:
        rng = np.random.default_rng(9)
        sign = np.sign(X[:, 0])[:, None]
        few = rng.random((len(X), 14)) < 0.12
        thin = np.where(few, np.round(rng.normal(size=few.shape) + sign, 1), 0.0)
        thin[:, 7:10] = np.where(thin[:, 7:10] > 1.5, np.nan, thin[:, 7:10])
        thin[:, 10:] = np.where(thin[:, 10:] == 0, np.nan, thin[:, 10:])
        flags = rng.random((len(X), 4)) < 0.05 + 0.1 * (X[:, :4] > 1)
        tied = np.where(X[:, 1] > 0, 0.5, X[:, 1] + X[:, 2])
        endless = np.where(X[:, 3] > 1, np.inf, np.where(X[:, 3] < -1.5, -np.inf, X[:, 4]))
        return np.column_stack([X, thin, flags, tied, endless, np.full(len(X), 7.0)])

    return problem.but("odd columns", X=changed(problem.X), X_new=changed(problem.X_new))


def as_frame(problem: Problem, library: str = "pandas") -> Problem:
    """Turn X into a frame with columns of all kinds, some with missing values."""

    def frame(X: Any) -> Any:
        codes = np.floor(6 / (1 + np.exp(-X[:, 1]))).astype(int)
        many = np.floor(150 / (1 + np.exp(-X[:, 3]))).astype(int)
        names = np.array(["oak", "elm", "yew", "ash", "fir", "box"])[codes].astype(object)
        names[::17] = None
        dates = np.datetime64("2024-01-01") + (30 * X[:, 4]).astype("timedelta64[D]")
        columns = {
            "number": X[:, 0],
            "name": names,
            "code": [f"c{code}" for code in many],
            "flag": X[:, 2] > 0,
            "gaps": np.where(np.abs(X[:, 5]) > 1.5, np.nan, X[:, 5]),
            "when": dates,
            "whole": np.round(3 * X[:, 6]).astype(np.int64),
        }
        if library == "polars":
            return pl.DataFrame(columns, schema_overrides={"code": pl.Categorical}, strict=False)
        return pd.DataFrame(columns).astype({"code": "category"})

    return problem.but(f"as {library}", X=frame(problem.X), X_new=frame(problem.X_new))
