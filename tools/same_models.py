"""Check that a refactoring leaves fitted models bit for bit the same.

``record`` fits a table of small models and writes hashes of what users see of each; ``compare``
lists the models whose hashes differ between two such files::

    python tools/same_models.py record before.json
    python tools/same_models.py record after.json
    python tools/same_models.py compare before.json after.json

A tree that is grown best-first (``max_leaf_nodes``) may split leaves of equal gain in another
order. Such models count as the same if their training losses agree to a relative 1e-6.

Only public names are used, so that the table outlives changes of the inside. All data are drawn
here by NumPy, but for 'extreme' and the cases of the library's own generators. Hashes hold for one
machine and one set of installed packages. The test group of pyproject.toml must be installed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import math
import platform
import re
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy
import sklearn
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

#: By how much training losses of trees grown best-first may differ, relative to their size.
_SAME_LOSS = 1e-6
#: Of staged predictions, the last so many are looked at.
_N_STAGES = 3

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
METHODS += ("apply", "decision_path", "covers")
STAGES = ("staged_predict", "staged_predict_proba", "staged_decision_function")
ATTRIBUTES = (
    "feature_importances_",
    "output_importances_",
    "output_map_",
    "n_estimators_",
    "best_iteration_",
    "history_",
    "projection_",
    "max_features_",
    "auto_results_",
    "pruning_level_",
    "oob_score_",
    "oob_prediction_",
    "oob_decision_function_",
    "n_rules_",
    "validation_losses_",
    "loss_",
    "full_loss_",
    "edges_",
    "edge_counts_",
    "objective_",
    "dual_gap_",
    "n_iter_",
    "diversity_",
    "coherence_",
    "results_",
)

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


# What users see ---------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Hash the bytes of arrays, and the text of all else, as deep as they are nested."""
    total = hashlib.sha256()
    for piece in _pieces(value):
        total.update(piece)
    return total.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        yield repr((rows.shape, rows.data.dtype.str)).encode()
        yield from (
            rows.indptr.astype(np.int64).tobytes(),
            rows.indices.astype(np.int64).tobytes(),
        )
        yield rows.data.tobytes()
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr((value.shape, value.dtype.str)).encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, dict):
        for name in sorted(value):
            yield repr(name).encode()
            yield from _pieces(value[name])
    elif isinstance(value, (list, tuple, deque)):
        yield f"{len(value)} pieces".encode()
        for part in value:
            yield from _pieces(part)
    elif isinstance(value, np.ndarray):
        yield from _pieces(value.tolist())
    else:
        yield repr(value.item() if isinstance(value, np.generic) else value).encode()


def facts_of(model: Any, problem: Problem) -> dict[str, Any]:
    """Ask a fitted model for all that it tells."""
    X_new = problem.X_new
    seen = {name: _ask(model, name, X_new) for name in METHODS if hasattr(model, name)}
    for name in STAGES:
        if hasattr(model, name):
            seen[name] = _ask(model, name, X_new, deque, maxlen=_N_STAGES)
    seen |= {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    seen["predict, training rows"] = model.predict(problem.X)
    if hasattr(model, "get_n_leaves"):
        seen["size"] = (model.get_n_leaves(), model.get_depth())
    if hasattr(model, "estimators_"):
        seen["size"] = [tree.get_n_leaves() for tree in model.estimators_]
        seen["first tree"] = model.estimators_[0].feature_importances_
    if hasattr(model, "rules_"):
        seen["rules_"] = model.rules_.to_dict("list")
    if hasattr(model, "predict_quantiles"):
        seen["predict_quantiles"] = model.predict_quantiles(X_new, [0.1, 0.5, 0.9])
    if hasattr(model, "sample_predictions"):
        seen["predict_weights"] = model.predict_weights(X_new)
        seen["predict_weights, output 0"] = model.predict_weights(X_new, output=0)
        seen["sample_predictions"] = model.sample_predictions(X_new, 2, random_state=0)
    if hasattr(model, "predict_topk") and _are_labels(model):
        seen["predict_topk"] = model.predict_topk(X_new, k=3)
    return seen


def _ask(model: Any, method: str, X: Any, read: Any = lambda answer: answer, **how: Any) -> Any:
    """Call a method that some models refuse, such as dense scores after a sparse y."""
    try:
        return read(getattr(model, method)(X), **how)
    except (ValueError, AttributeError) as error:
        return type(error).__name__


def _are_labels(model: Any) -> bool:
    is_list = isinstance(model.classes_, list)
    return model.n_outputs_ > 1 and not is_list and list(model.classes_) == [0, 1]


def numbers_of(model: Any, problem: Problem, seen: dict[str, Any]) -> dict[str, float | None]:
    """Summarise a model in a few numbers, to tell a rounding error from another model."""
    try:
        score = float(model.score(problem.X, problem.y))
    except (ValueError, AttributeError):  # several quantiles have no score
        score = None
    asked = [seen.get(name) for name in ("decision_function", "predict_proba", "predict")]
    values = next(answer for answer in asked if answer is not None and not isinstance(answer, str))
    parts = [_dense(part).ravel() for part in (values if isinstance(values, list) else [values])]
    flat = np.concatenate(parts)
    return {
        "train_score": score,
        "train_loss": training_loss(model, problem),
        "mean_size": float(np.nanmean(np.abs(flat))) if flat.dtype.kind in "biuf" else None,
    }


def training_loss(model: Any, problem: Problem) -> float | None:
    """Give the loss that boosting tells, else the mean squared error of what is predicted."""
    if hasattr(model, "history_"):
        return float(model.history_["train_loss"][-1])
    y = _dense(problem.y)
    if is_regressor(model):
        return float(np.nanmean((_dense(model.predict(problem.X)) - y) ** 2))
    if not hasattr(model, "predict_proba"):
        return None
    shares = model.predict_proba(problem.X)
    if isinstance(shares, list):
        truth = [column[:, None] == known for column, known in zip(y.T, model.classes_)]
        shares, y = np.hstack(shares), np.hstack(truth)
    elif y.ndim == 1:
        y = y[:, None] == model.classes_
    return float(np.nanmean((_dense(shares) - y) ** 2))


def _dense(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


# Cases ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """One model.

    Attributes
    ----------
    name : str
    look : callable
        Fits it; gives what users see, and the numbers that summarise it.
    by_gain : bool
        Whether the tree is grown best-first, so that only its training loss is compared.
    """

    name: str
    look: Callable[[], tuple[dict[str, Any], dict[str, float | None]]]
    by_gain: bool = False


#: What keeps the models of a case small, unless it says otherwise.
SMALL: dict[str, dict[str, Any]] = {
    "Boosting": {"n_estimators": 12, "projection": None, "max_depth": 4},
    "Forest": {"n_estimators": 6},
    "ExtraTrees": {"n_estimators": 6},
    "BaggedTrees": {"n_estimators": 5},
    "Rule": {"n_rules": 15},
    "GraphEnsemble": {"n_estimators": 4, "calibration_folds": None},
    "GraphClassifier": {"calibration_folds": None},
}
REGRESSORS = ("TreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor")
REGRESSORS += ("BaggedTreesRegressor", "BoostingRegressor", "RuleRegressor")
CLASSIFIERS = tuple(name.replace("Regressor", "Classifier") for name in REGRESSORS)


class Table:
    """All cases.

    Parameters
    ----------
    library : module
    n_jobs : int, optional
        Overrides that of all cases.
    """

    def __init__(self, library: Any, n_jobs: int | None) -> None:
        self.library, self.n_jobs = library, n_jobs
        self.cases: list[Case] = []
        self._names: set[str] = set()

    def add(
        self,
        estimator: str,
        problem: Problem,
        note: str = "",
        /,
        *,
        fit: dict[str, Any] | None = None,
        finish: Callable[[Any, Problem], Any] | None = None,
        **parameters: Any,
    ) -> None:
        """Add an estimator on a problem; `finish` makes another model of the fitted one."""
        given = ", ".join(f"{name}={_short(value)}" for name, value in parameters.items())
        name = f"{estimator}({given}) on {problem.name}{note and ': '}{note}"
        if name in self._names and fit is None and finish is None:
            return  # tables of settings may overlap
        assert name not in self._names, name
        self._names.add(name)
        small = [values for part, values in SMALL.items() if part in estimator]
        used = {**(small[0] if small else {}), "random_state": 0, **parameters}
        if self.n_jobs is not None:
            used["n_jobs"] = self.n_jobs

        def look() -> tuple[dict[str, Any], dict[str, float | None]]:
            model = getattr(self.library, estimator)(**used)
            model.fit(problem.X, problem.y, **(fit or {}))
            model = model if finish is None else finish(model, problem)
            seen = facts_of(model, problem)
            return seen, numbers_of(model, problem, seen)

        self.cases.append(Case(name, look, "max_leaf_nodes" in parameters))

    def add_each(self, estimator: str, problem: Problem, *settings: dict[str, Any]) -> None:
        """Add a case for each of some settings."""
        for parameters in settings:
            self.add(estimator, problem, **parameters)

    def add_value(self, name: str, make: Callable[[], Any]) -> None:
        """Add something that is no estimator."""
        self.cases.append(Case(name, lambda: ({"value": make()}, {})))


def _short(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return " ".join(re.sub(" at 0x[0-9A-Fa-f]+", "", repr(value)).split())


def _each(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


def _views(library: Any) -> list[Any]:
    """Give all projections, most by name and some with parameters."""
    of = library.projections
    return [
        *(name for name in of.PROJECTIONS if name != "identity"),
        of.Identity(),
        of.Gaussian(1),
        of.Gaussian("sqrt"),
        of.Rademacher(2, density=0.5),
        of.Subsample(0.4, replace=True, first_sees_all=False),
        of.PCA(2),
        of.TopOutputs(2),
        of.Adaptive([of.Gaussian(2), of.Subsample(1)]),
        TruncatedSVD(2, random_state=0),
    ]


def _tree_settings(n_leaves: int) -> list[dict[str, Any]]:
    return [
        {},
        *_each("max_depth", 1, 3),
        *_each("max_leaf_nodes", 2, n_leaves),
        {"max_leaf_nodes": n_leaves, "max_features": 3, "min_samples_leaf": 4},
        *_each("min_samples_split", 20, 0.1),
        *_each("min_samples_leaf", 7, 0.05),
        *_each("min_impurity_decrease", 0.01),
        *_each("max_features", None, "sqrt", "log2", "log2+1", 3, 0.7),
        *_each("max_bins", 2, 8, 254, None),
    ]


def add_trees(table: Table) -> None:
    """Add single trees: growth, views, pruning, decoding."""
    for problem in (numbers(), numbers(d=1), numbers(n=700, d=20)):
        for splitter in ("best", "random"):
            table.add("TreeRegressor", problem, splitter=splitter)
    table.add_each("TreeRegressor", numbers(), *_tree_settings(10)[1:])
    table.add_each(
        "TreeRegressor",
        numbers(),
        *({**more, "splitter": "random"} for more in _tree_settings(10)[1:]),
        {"normalize_outputs": False},
        *({"pruning": "f_test", "pruning_level": level} for level in ("cv", 0.05)),
        *_each("projection", *_views(table.library)),
    )
    kinds = (labels(), classes(), classes(n_outputs=3, n_classes=3), classes(n_classes=2))
    for problem in (*kinds, labels(d=60)):
        for parameters in ({}, {"splitter": "random"}, {"max_features": "sqrt"}, {"max_bins": 8}):
            table.add("TreeClassifier", problem, **parameters)
    table.add_each(
        "TreeClassifier",
        labels(),
        {"max_leaf_nodes": 9},
        {"class_weight": "balanced"},
        {"class_weight": [{0: 1.0, 1: 1.0 + j} for j in range(7)]},
        {"pruning": "f_test"},
        *_each("projection", *_views(table.library)),
    )
    by_class = _each("class_weight", "balanced", BY_CLASS)
    table.add_each("TreeClassifier", classes(), *by_class)
    table.add("TreeRegressor", with_gaps(numbers(), in_y=True), pruning="f_test")
    table.add("TreeClassifier", words(200, 60, 12), pruning="f_test")
    weights = {"sample_weight": np.linspace(0.0, 1.0, 240)}
    table.add("TreeRegressor", numbers(), "weighted", fit=weights, pruning="f_test")
    for number, chance in enumerate((np.random.default_rng, np.random.RandomState)):
        table.add(
            "TreeRegressor",
            numbers(),
            f"drawn {number}",
            fit={},
            projection="gaussian",
            random_state=chance(3),
        )
    table.add_each("TreeClassifier", labels(), *_decodings())


BY_CLASS = {"ash": 2.0, "birch": 0.5, "cedar": 1.0, "fir": 3.0}
_PLAIN_DECODERS = ("threshold", "top_k", "subset", "f1", "jaccard")


def _decodings() -> list[dict[str, Any]]:
    return [{"decoding": name, "max_depth": 4} for name in _PLAIN_DECODERS]


def _half_mean(truth: Any, guess: Any) -> float:
    return float(np.mean(np.asarray(truth) == np.asarray(guess)) / 2)


def add_forests(table: Table) -> None:
    """Add forests: bootstraps, views and their scopes, aggregation, out-of-bag scores."""
    for kind in ("RandomForest", "ExtraTrees", "BaggedTrees"):
        for name, problem in (("Regressor", numbers()), ("Classifier", labels())):
            table.add_each(
                kind + name,
                problem,
                {},
                {"bootstrap": True, "oob_score": True, "aggregation": "oob", "n_estimators": 20},
                {"bootstrap": False},
                {"bootstrap": True, "max_samples": 0.4},
                {"projection": "gaussian", "max_features": "sqrt"},
                {"max_leaf_nodes": 12},
                {"max_bins": None},
                {"max_bins": 16, "min_samples_leaf": 5},
            )
    of = table.library.projections
    for problem, name in (
        (numbers(), "RandomForestRegressor"),
        (labels(), "ExtraTreesClassifier"),
    ):
        table.add_each(
            name,
            problem,
            *_each("projection", *_views(table.library)),
            *(
                {"projection": of.Subsample(2), "aggregation": how}
                for how in ("total", "subspace")
            ),
            *(
                {"projection": view, "projection_scope": scope, "n_estimators": 3}
                for scope in ("forest", "node")
                for view in ("gaussian", "subsample", "pca")
            ),
            {"projection": "auto", "n_estimators": 14},
            *_each("max_features", None, 1, "log2+1"),
            {"min_impurity_decrease": 0.01},
        )
    for problem in (classes(), classes(n_outputs=3, n_classes=3), classes(n_classes=2)):
        for name in ("RandomForestClassifier", "ExtraTreesClassifier"):
            table.add(name, problem, bootstrap=True, oob_score=True, n_estimators=15)
            table.add(name, problem, class_weight="balanced", projection="gaussian")
    table.add("RandomForestClassifier", labels(), oob_score=_half_mean, n_estimators=15)
    table.add("RandomForestClassifier", labels(), projection="auto", n_estimators=14)
    table.add("RandomForestRegressor", numbers(), projection="pca", projection_scope="node")
    table.add("RandomForestRegressor", numbers(d=1), oob_score=True, n_estimators=15)
    table.add("RandomForestRegressor", numbers(), normalize_outputs=False)
    table.add_each("RandomForestClassifier", labels(), *_decodings())
    for name, problem in (
        ("RandomForestRegressor", numbers()),
        ("ExtraTreesClassifier", labels()),
    ):
        table.add(name, problem, "more trees", finish=_fit_more(9), warm_start=True)
        table.add(
            name,
            problem,
            "round robin, more",
            finish=_fit_more(4),
            n_estimators=2,
            warm_start=True,
            projection="round_robin",
        )


def add_forest_corners(table: Table) -> None:
    """Add forests on sparse and incomplete outputs, with views and weights of all kinds."""
    gaps, thin = with_gaps(numbers(), in_y=True), words(200, 60, 12)
    thin_numbers = numbers().but("sparse y", y=sparse.csr_array(np.maximum(numbers().y, 0)))
    drawn = {"oob_score": True, "n_estimators": 15}
    views = ("pca", "top_outputs", "gradient_sampling", "subsample", "hadamard", "round_robin")
    table.add_each("RandomForestRegressor", gaps, drawn, {**drawn, "aggregation": "oob"})
    table.add_each("RandomForestClassifier", with_gaps(labels(), in_y=True), drawn)
    for name, problem in (
        ("RandomForestClassifier", thin),
        ("RandomForestRegressor", thin_numbers),
    ):
        table.add_each(
            name,
            problem,
            drawn,
            {**drawn, "aggregation": "oob"},
            {"projection": "auto", "n_estimators": 14},
            {"projection": "subsample", "aggregation": "subspace"},
            {"projection": "gaussian", "projection_scope": "node", "n_estimators": 2},
            {"projection": "subsample", "projection_scope": "node", "n_estimators": 2},
            *_each("projection", *views),
        )
    weights = {"sample_weight": np.linspace(0.1, 1.0, 240)}
    entries = {"sample_weight": weights["sample_weight"][:, None] + np.linspace(0, 1, 6)}
    for fit in (weights, entries):
        note = "weighted rows" if fit is weights else "weighted entries"
        table.add("RandomForestRegressor", gaps, note, fit=fit, projection="auto", n_estimators=14)
        for view in views:
            table.add("RandomForestRegressor", numbers(), note, fit=fit, projection=view)
        table.add(
            "RandomForestRegressor",
            gaps,
            note,
            fit=fit,
            projection="subsample",
            projection_scope="node",
            n_estimators=2,
        )
    table.add(
        "RandomForestRegressor",
        with_categories(numbers()),
        categorical_features=CODED,
        projection="gaussian",
        projection_scope="node",
        n_estimators=2,
    )
    several = classes(n_outputs=3, n_classes=3)
    table.add_each("RandomForestClassifier", several, *_each("projection", *views))
    table.add("RandomForestRegressor", numbers(n=150, d=120), projection="pca")
    table.add("RandomForestClassifier", words(150, 60, 120), projection="pca")
    table.add(
        "RandomForestRegressor",
        numbers(),
        "more of auto",
        finish=_fit_more(18),
        projection="auto",
        n_estimators=14,
        warm_start=True,
    )


def _fit_more(n_estimators: int) -> Callable[[Any, Problem], Any]:
    def finish(model: Any, problem: Problem) -> Any:
        return model.set_params(n_estimators=n_estimators).fit(problem.X, problem.y)

    return finish


def add_boosting(table: Table) -> None:
    """Add boosting: losses, leaves, views, early stopping, constraints, weak models."""
    of, losses = table.library.projections, table.library.losses
    values = ("gradient", "newton", "exact")
    for loss in ("squared_error", "absolute_error", "huber", losses.Huber(0.3), "quantile"):
        steps = values if loss in ("squared_error", "huber") else ("gradient", "exact")
        table.add_each(
            "BoostingRegressor", numbers(), *({"loss": loss, "leaf_values": s} for s in steps)
        )
    table.add("BoostingRegressor", numbers(), loss=losses.Quantile([0.1, 0.5, 0.9]))
    table.add("BoostingRegressor", numbers(d=1), loss=losses.Quantile(0.8))
    for step in values:
        table.add("BoostingRegressor", counts(), loss="poisson", leaf_values=step)
        table.add("BoostingClassifier", labels(), loss="logistic", leaf_values=step)
    for step in ("gradient", "newton"):
        table.add("BoostingClassifier", labels(), loss="examplewise_logistic", leaf_values=step)
        table.add("BoostingClassifier", classes(), loss="softmax", leaf_values=step)
    several = classes(n_outputs=3, n_classes=3)
    for problem in (labels(), classes(), several, classes(n_classes=2)):
        table.add("BoostingClassifier", problem, loss="squared_error")
        table.add("BoostingClassifier", problem)
        table.add("BoostingClassifier", problem, projection="gaussian", max_features=3)
    for name, problem in (("BoostingRegressor", numbers()), ("BoostingClassifier", labels())):
        table.add_each(
            name,
            problem,
            *_each("projection", "auto", *_views(table.library)[:-1]),
            *_tree_settings(9),
            *(
                {"leaf_fit": "linear", "projection": view, "leaf_values": step}
                for view in (of.Gaussian(1), of.Subsample(1, first_sees_all=False))
                for step in ("gradient", "newton", "exact")
            ),
            *_each("l2_regularization", 0.0, 10.0),
            *_each("subsample", 0.6),
            *_each("learning_rate", 1.0),
            *_each("monotonic_cst", [1, -1, 0, 0, 0, 0, 0, 0]),
            {"monotonic_cst": [1, 0, 0, -1, 0, 0, 0, 0], "projection": "gaussian"},
            *_each("early_stopping", True),
            *_each("estimator", Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0)),
            {"estimator": Ridge(), "projection": of.Gaussian(1), "leaf_fit": "linear"},
        )
        table.add(name, problem, "more rounds", finish=_fit_more(20), warm_start=True)
        table.add(
            name,
            problem,
            "more, linear",
            finish=_fit_more(20),
            warm_start=True,
            projection=of.Gaussian(1),
            leaf_fit="linear",
        )
        held = {"eval_set": (problem.X_new, problem.y_new)}
        metric = "r2" if name == "BoostingRegressor" else "lrap"
        for wanted in (None, metric, _half_mean):
            table.add(
                name,
                problem,
                "held out",
                fit=held,
                early_stopping=True,
                eval_metric=wanted,
                learning_rate=1.0,
                n_iter_no_change=3,
            )
        table.add(name, problem, "callback", fit={"callbacks": lambda at: at.n_estimators == 5})
    table.add("BoostingRegressor", numbers(), normalize_outputs=False)
    table.add("BoostingClassifier", labels(), class_weight="balanced")
    table.add("BoostingClassifier", several, class_weight="balanced")
    table.add_each("BoostingClassifier", labels(), *_decodings())
    table.add("BoostingClassifier", words(), max_depth=6)
    rng = np.random.default_rng(6)
    many = sparse.random_array((3000, 200_000), density=1e-5, rng=rng, format="csr")
    factored = Problem("numbers-3000x8x200000", numbers(n=3000).X, many, numbers().X_new[:3])
    table.add_value(  # beyond 2 GiB, raw predictions are kept in factored form
        "BoostingRegressor, factored",
        lambda: (
            table.library.BoostingRegressor(
                n_estimators=3, leaf_fit="linear", projection=of.Gaussian(1), random_state=0
            )
            .fit(factored.X, factored.y)
            .predict(factored.X_new)
        ),
    )


def add_boosting_corners(table: Table) -> None:
    """Add boosting with weights, gaps, several quantiles, scorers and one output at a time."""
    of, losses = table.library.projections, table.library.losses
    several, gaps = classes(n_outputs=3, n_classes=3), with_gaps(numbers(), in_y=True)
    weights = {"sample_weight": np.linspace(0.1, 1.0, 240)}
    entries = {"sample_weight": weights["sample_weight"][:, None] + np.linspace(0, 1, 6)}
    one = {"leaf_fit": "linear", "projection": of.Gaussian(1)}
    table.add("BoostingRegressor", numbers(), projection="auto", leaf_fit="linear")
    table.add("BoostingRegressor", numbers(d=1), projection="auto")
    table.add("BoostingRegressor", numbers(p=6, d=2), projection="auto", n_estimators=60)
    table.add("BoostingRegressor", as_frame(numbers()), monotonic_cst={"number": 1, "gaps": -1})
    table.add("BoostingClassifier", several, projection="round_robin")
    table.add("BoostingClassifier", classes(), projection=of.Subsample(1, first_sees_all=False))
    quantiles = losses.Quantile([0.2, 0.8])
    table.add("BoostingRegressor", numbers(), loss=quantiles, projection="round_robin")
    table.add("BoostingRegressor", gaps, "weighted", fit=entries, loss=quantiles)
    for more in ({}, {"leaf_values": "gradient"}, {"projection": "round_robin"}, one):
        for problem in (numbers(), gaps):
            for fit in (weights, entries):
                note = "weighted rows" if fit is weights else "weighted entries"
                table.add("BoostingRegressor", problem, f"{note}, corner", fit=fit, **more)
    weak = DecisionTreeRegressor(max_depth=2, random_state=0)
    for more in ({}, one):
        table.add("BoostingRegressor", gaps, estimator=weak, **more)
        table.add("BoostingRegressor", numbers(), "weighted", fit=entries, estimator=weak, **more)
    table.add("BoostingRegressor", gaps, projection="round_robin", leaf_values="gradient")
    table.add("BoostingRegressor", gaps, "more", finish=_fit_more(20), warm_start=True)
    table.add("BoostingRegressor", gaps, "weighted", fit=weights, early_stopping=True)
    stop = {"early_stopping": True, "learning_rate": 1.0, "n_iter_no_change": 3}
    scorers = (
        ("BoostingRegressor", numbers(d=1), ("neg_mean_absolute_error", "arrmse")),
        ("BoostingRegressor", numbers(), ("r2", "neg_mean_squared_error")),
        ("BoostingClassifier", classes(), ("accuracy", "neg_log_loss", _half_mean)),
        ("BoostingClassifier", classes(n_classes=2), ("roc_auc", "neg_log_loss", "f1_macro")),
        ("BoostingClassifier", several, (_half_mean,)),
        ("BoostingClassifier", labels(), ("example_f1", "precision_at_1", "hamming_loss")),
        ("BoostingClassifier", words(200, 60, 12), ("lrap", "micro_f1")),
    )
    for name, problem, names in scorers:
        held = {"eval_set": (problem.X_new, problem.y_new)}
        for metric in names:
            table.add(name, problem, "scored", fit=held, eval_metric=metric, **stop)
        table.add(name, problem, "stopped", fit=held, **stop)
    binned = table.library.BinnedData(numbers().X)
    held = {"eval_set": (binned, numbers().y, weights["sample_weight"])}
    table.add("BoostingRegressor", numbers().but("binned", X=binned), "stopped", fit=held, **stop)


def add_inputs(table: Table) -> None:
    """Add every tree, forest, boosting and rule estimator on every kind of X, y and weights."""
    rng = np.random.default_rng(7)
    by_row, by_entry = rng.exponential(size=240), rng.exponential(size=(240, 7))
    by_row[::10] = 0.0
    names = zip(REGRESSORS, CLASSIFIERS)
    for name, plain in ((n, p) for pair in names for n, p in zip(pair, (numbers(), labels()))):
        thin = plain.X * (rng.random(plain.X.shape) < 0.5)
        problems = [
            with_gaps(plain),
            with_gaps(plain, in_X=False, in_y=True),
            with_gaps(plain, in_X=True, in_y=True),
            plain.but("float32", X=plain.X.astype(np.float32), X_new=np.float32(plain.X_new)),
            plain.but("columns first", X=np.asfortranarray(plain.X)),
            plain.but("sparse X", X=sparse.csr_matrix(thin), X_new=sparse.csc_array(plain.X_new)),
            plain.but("sparse y", y=sparse.csr_array(np.maximum(plain.y, 0))),
            as_frame(plain),
            as_frame(plain, "polars"),
            plain.but("binned once", X=table.library.BinnedData(plain.X)),
        ]
        for problem in problems:
            table.add(name, problem)
        coded = with_categories(plain)
        table.add(name, coded, categorical_features=CODED)
        table.add(name, with_gaps(coded), categorical_features=CODED, max_bins=16)
        table.add(name, with_gaps(coded, in_X=False, in_y=True), categorical_features=CODED)
        for more in ({}, {"max_bins": 8}, {"max_bins": None}):
            table.add(name, with_odd_columns(plain), **more)
        table.add(name, with_gaps(with_odd_columns(plain), in_y=True))
        table.add(name, plain, "weighted rows", fit={"sample_weight": by_row})
        entries = by_entry[:, : plain.y.shape[1]]
        table.add(name, plain, "weighted entries", fit={"sample_weight": entries})
        table.add(name, plain, n_jobs=2)
        if "Rule" not in name:
            table.add(name, with_gaps(plain, in_y=True), max_leaf_nodes=6)
            table.add(
                name,
                with_gaps(plain, in_y=True),
                "weighted",
                fit={"sample_weight": by_row},
                projection="gaussian",
            )


def add_finders(table: Table) -> None:
    """Add wide sparse features and many labels, for which the core has searches of its own."""
    of = table.library.projections
    dense_y = words().but("dense y", y=words().y.toarray())
    few = words(d=5).but("dense y", y=words(d=5).y.toarray())
    dense_X = words().but("dense X", X=words().X.toarray(), X_new=words().X_new.toarray())
    mixed_X = sparse.csr_array(sparse.hstack([words().X, numbers(n=500).X]))
    mixed_new = sparse.csr_array(sparse.hstack([words().X_new, numbers(n=500).X_new]))
    mixed = words().but("and numbers", X=mixed_X, X_new=mixed_new)
    mostly = words().X.toarray()
    mostly[:, :3] = 1 - mostly[:, :3]
    inverted = words().but("some mostly 1", X=sparse.csr_array(mostly))
    frequencies = words(binary=False)
    counted = frequencies.but("dense y", y=frequencies.y.toarray())
    for problem in (words(), dense_y, few, dense_X, mixed, inverted, frequencies, counted):
        table.add("TreeClassifier", problem)
        table.add("RandomForestClassifier", problem, n_jobs=2)
        table.add("ExtraTreesClassifier", problem, max_features=None)
    for problem in (words(), dense_y, few, counted):
        table.add("RandomForestClassifier", problem, max_features=None, max_bins=None)
        table.add("TreeClassifier", problem, max_leaf_nodes=20)
        table.add("BoostingClassifier", problem, projection=of.Gaussian(2))
        table.add("RandomForestClassifier", problem, projection="gaussian", max_features=None)
        table.add(
            "RandomForestClassifier",
            problem,
            "weighted",
            fit={"sample_weight": np.linspace(0.5, 2, 500)},
        )
    half = np.random.default_rng(10).integers(2, size=(560, 30))
    halves = words().but("half of X 1", X=half[:500], X_new=half[500:])
    flags = with_odd_columns(labels(n=500)).but("sparse y", y=sparse.csr_array(labels(n=500).y))
    coded = with_categories(labels(n=900), n_codes=(4, 400))
    thin = coded.but("sparse y", y=sparse.csr_array(coded.y))
    for name in ("TreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"):
        table.add(name, halves)
        table.add(name, halves.but("sparse", X=sparse.csr_array(halves.X)))
        table.add(name, flags)
        table.add(name, coded, categorical_features=CODED)
        table.add(name, thin, categorical_features=CODED)
        table.add(name, dense_X, categorical_features=[0, 1, 2, 3])
    table.add("BoostingRegressor", few, projection=None, n_jobs=2)
    table.add("RuleClassifier", frequencies, n_rules=8)
    table.add("RuleClassifier", few)
    table.add("RuleClassifier", few, loss="examplewise_logistic")
    wide = numbers(n=400, p=60, d=30)
    for name in ("RandomForestRegressor", "ExtraTreesRegressor", "BaggedTreesRegressor"):
        table.add(name, wide, max_features="sqrt")
    wide_labels = labels(n=400, p=60, d=30)
    for name in ("RandomForestClassifier", "ExtraTreesClassifier"):
        table.add(name, wide_labels, max_features="sqrt", min_samples_leaf=2)
        table.add(name, wide_labels, max_features=5, bootstrap=False)
    wide_X = words(36_000, 60, 6)
    for problem in (wide_X, wide_X.but("dense y", y=wide_X.y.toarray())):
        table.add("TreeClassifier", problem, max_depth=5, n_jobs=2)
        table.add("TreeClassifier", problem, max_depth=4, max_features=20, n_jobs=2)
    table.add("BoostingClassifier", wide_X, n_estimators=2, projection=of.Gaussian(1), n_jobs=2)
    extreme = table.library.datasets.make_extreme_labels(700, 500, 800, random_state=0)
    tagged = Problem("extreme", extreme[0][:640], extreme[1][:640], extreme[0][640:])
    for name in ("RandomForestClassifier", "ExtraTreesClassifier", "TreeClassifier"):
        table.add(name, tagged, projection=of.Gaussian("log"))
        table.add(name, tagged, projection=of.SparseRademacher("log"))


def add_large(table: Table) -> None:
    """Add 20000 rows, which all threads search together, by histograms and by sorted lists."""
    of = table.library.projections
    for d in (1, 4, 16):
        problem = numbers(20_000, 20, d)
        table.add("BoostingRegressor", problem, n_estimators=5, max_depth=6, n_jobs=1)
        table.add_each(
            "BoostingRegressor",
            problem,
            *(
                {"n_estimators": 4, "max_depth": 6, "n_jobs": 2, **more}
                for more in ({}, {"subsample": 0.6}, {"max_leaf_nodes": 31}, {"max_features": 6})
            ),
        )
        single = problem.but("float32", X=problem.X.astype(np.float32))
        table.add("BoostingRegressor", single, n_estimators=3, n_jobs=2)
        table.add("RandomForestRegressor", problem, n_estimators=2, max_depth=9, n_jobs=2)
        table.add("TreeRegressor", problem, max_depth=10, n_jobs=2)
        table.add("TreeRegressor", problem, max_leaf_nodes=60, n_jobs=2)
        table.add("ExtraTreesRegressor", problem, n_estimators=2, max_depth=12, n_jobs=2)
        table.add("TreeRegressor", problem, splitter="random", max_depth=12, n_jobs=2)
        table.add("TreeRegressor", with_gaps(problem), max_depth=7, n_jobs=2)
        table.add("TreeRegressor", with_gaps(problem), max_depth=7, max_bins=None, n_jobs=2)
    four, many = numbers(20_000, 20, 4), numbers(20_000, 20, 16)
    table.add("TreeRegressor", with_gaps(four, in_y=True), max_depth=7, n_jobs=2)
    coded = with_categories(four)
    for name in ("TreeRegressor", "BoostingRegressor", "ExtraTreesRegressor"):
        table.add(name, coded, categorical_features=CODED, max_depth=6, n_jobs=2)
        table.add(name, with_odd_columns(four), max_depth=6, n_jobs=2)
    table.add("BoostingRegressor", numbers(40_000, 8, 1), n_estimators=3, n_jobs=2)
    table.add("BoostingRegressor", many, projection=of.Gaussian(2), n_jobs=2)
    table.add("BoostingRegressor", many, n_estimators=3, loss="absolute_error", n_jobs=2)
    table.add("RandomForestRegressor", many, projection="gaussian", n_estimators=2, n_jobs=2)
    crowd = labels(20_000, 20, 40)
    table.add("BoostingClassifier", crowd, n_estimators=2, n_jobs=2)
    table.add("BoostingClassifier", crowd, n_estimators=2, loss="examplewise_logistic", n_jobs=2)
    table.add("TreeClassifier", crowd, max_depth=8, n_jobs=2)
    table.add("RandomForestClassifier", crowd, max_depth=8, n_estimators=2, n_jobs=2)
    table.add("RuleClassifier", labels(20_000, 20, 6), n_rules=4, n_jobs=2)
    table.add(
        "RuleClassifier", labels(20_000, 20, 6), n_rules=4, n_jobs=2, loss="examplewise_logistic"
    )


def add_rules(table: Table) -> None:
    """Add rules: losses, heads, bins of labels, conditions, pruning."""
    forms = ("logistic", "squared_hinge", "squared_error")
    heads = [{"head": "complete"}, {"head": "single"}, {"head": "partial"}]
    heads += [{"head": "partial", "head_size": 3}, {"head": "partial", "head_size": 0.2}]
    for loss in (*forms, *(f"examplewise_{form}" for form in forms)):
        for head in heads:
            table.add("RuleClassifier", labels(), loss=loss, **head)
    for loss in ("logistic", "examplewise_logistic"):
        for problem in (classes(), classes(n_outputs=3, n_classes=3), classes(n_classes=2)):
            table.add("RuleClassifier", problem, loss=loss)
        table.add("RuleClassifier", labels(d=45), loss=loss, n_rules=8)
        table.add("RuleClassifier", labels(d=45), loss=loss, n_rules=8, n_jobs=2)
        table.add("RuleClassifier", words(), loss=loss, n_rules=8)
        table.add_each(
            "RuleClassifier",
            labels(),
            *({"loss": loss, **more} for more in _rule_settings()),
            *({"loss": loss, "decoding": how} for how in (*_PLAIN_DECODERS, "known_label_set")),
        )
    coupled: dict[str, Any] = {"loss": "examplewise_logistic", "n_rules": 8}
    for problem in (labels(), labels(d=45)):
        table.add("RuleClassifier", with_gaps(problem), **coupled)
        table.add("RuleClassifier", with_odd_columns(problem), **coupled)
    table.add("RuleClassifier", labels(d=150), **coupled)
    table.add("RuleClassifier", labels(d=45), head="partial", head_size=40, **coupled)
    table.add("RuleClassifier", labels().but("constant X", X=np.ones((240, 8))), head="partial")
    for problem in (labels(), labels(d=45)):
        for head in ({"head": "complete"}, {"head": "partial", "head_size": 6}):
            table.add(
                "RuleClassifier",
                problem,
                loss="examplewise_logistic",
                label_bins=3,
                n_rules=8,
                **head,
            )
    for loss in ("squared_error", "absolute_error", "huber"):
        for head in heads:
            table.add("RuleRegressor", numbers(), loss=loss, **head)
    table.add_each("RuleRegressor", numbers(), *_rule_settings(), {"normalize_outputs": False})
    table.add("RuleRegressor", numbers(d=1), loss="huber", huber_delta=0.5)
    for name, problem in (("RuleRegressor", numbers()), ("RuleClassifier", labels())):
        table.add(name, problem, "pruned", n_rules=40, finish=_prune())
        table.add(name, problem, "pruned to 9", n_rules=40, finish=_prune(n_rules=9))
        table.add(name, problem, "selected", finish=lambda model, _: model.select([1, 4, 5]))
    for loss in (*forms, *(f"examplewise_{form}" for form in forms)):
        table.add("RuleClassifier", labels(), "pruned", loss=loss, finish=_prune(n_rules=6))
        table.add("RuleClassifier", with_gaps(labels(), in_y=True), loss=loss)
        table.add("RuleClassifier", with_gaps(labels(), in_y=True), loss=loss, early_stopping=True)
    for loss in ("absolute_error", "huber"):
        table.add("RuleRegressor", numbers(), "pruned", loss=loss, finish=_prune(n_rules=6))
        table.add("RuleRegressor", with_gaps(numbers(), in_y=True), loss=loss, early_stopping=True)
    weights = {"sample_weight": np.linspace(0.1, 1.0, 240)}
    for loss in ("logistic", "examplewise_logistic"):
        table.add(
            "RuleClassifier", labels(), "weighted", fit=weights, loss=loss, early_stopping=True
        )
    own = table.library.losses
    table.add("RuleRegressor", numbers(), loss=own.Huber(0.3))
    table.add("RuleClassifier", labels(), loss=own.ExamplewiseLogistic())
    table.add("RuleClassifier", labels(), class_weight="balanced")
    table.add_value(
        "RuleClassifier as in the paper",
        lambda: (
            table.library.RuleClassifier.paper(n_rules=12, random_state=0)
            .fit(labels().X, labels().y)
            .decision_function(labels().X_new)
        ),
    )


def _rule_settings() -> list[dict[str, Any]]:
    return [
        {},
        *_each("step", "guarded"),
        *_each("max_conditions", 1, 2),
        *_each("min_coverage", 20, 0.2),
        *_each("max_features", None, 3, "sqrt"),
        *_each("max_bins", 8, None),
        *_each("bootstrap", False),
        {"l2_regularization": 4.0, "l1_regularization": 0.5},
        {"learning_rate": 1.0, "l2_regularization": 0.0},
        {"learning_rate": 1.0, "l2_regularization": 0.0, "step": "guarded"},
        {"early_stopping": True, "n_iter_no_change": 3, "n_rules": 40},
    ]


def _prune(**parameters: Any) -> Callable[[Any, Problem], Any]:
    return lambda model, problem: model.prune(problem.X_new, problem.y_new, **parameters)


def _laplacian(A: Any, B: Any) -> Any:
    return np.exp(-0.3 * np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


def add_graphs(table: Table) -> None:
    """Add graph classifiers and their ensembles: graphs, kernels, margins, combinations."""
    of = table.library.graphs
    ring = [(j, (j + 1) % 7) for j in range(7)]
    graphs = ["spanning_tree", "recursive_tree", "random_pairs", "chow_liu", of.ChowLiu(0.5)]
    kernels = ("linear", "cosine", "rbf", "poly", _laplacian)
    gram = labels().but(
        "as kernel", X=labels().X @ labels().X.T, X_new=labels().X_new @ labels().X.T
    )
    several, two = classes(n_outputs=3, n_classes=3), classes(n_classes=2)
    for name in ("GraphClassifier", "GraphEnsembleClassifier"):
        table.add_each(
            name,
            labels(),
            *_each("graph", *graphs, ring, of.Edges([(0, 1), (1, 2), (4, 5)])),
            *_each("kernel", *kernels),
            {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
            *_each("margin_loss", "node", "hamming"),
            *_each("C", 0.01, 10.0),
            *_each("intercept_scaling", 0.0),
            {"tol": 0.2, "max_iter": 3},
            *_each("class_weight", "balanced"),
            *_each("calibration_folds", 3),
            {"calibration_folds": 2, "decoding": "f1"},
            {"n_jobs": 2},
        )
        table.add(name, gram, kernel="precomputed")
        table.add(name, with_gaps(labels(), in_X=False, in_y=True))
        weights = np.linspace(0.2, 2, 240)
        table.add(name, labels(), "weighted rows", fit={"sample_weight": weights})
        entries = weights[:, None] * np.linspace(1, 2, 7)
        table.add(name, labels(), "weighted entries", fit={"sample_weight": entries})
        table.add(name, words(200, 60, 12))
        for problem in (classes(), several, two):
            table.add(name, problem)
            table.add(name, problem, calibration_folds=2)
    for how in ("mam", "amm", "mve"):
        for problem in (labels(), several):
            table.add("GraphEnsembleClassifier", problem, aggregation=how, graph="recursive_tree")
            table.add("GraphEnsembleClassifier", problem, aggregation=how, graph="random_pairs")
    table.add("GraphEnsembleClassifier", labels(), aggregation="mve", calibration_folds=2)
    table.add("GraphEnsembleClassifier", labels(), completion="consistent", C=0.01)
    table.add(
        "GraphEnsembleClassifier", labels(), completion="consistent", C=0.01, calibration_folds=2
    )
    for name in ("GraphClassifier", "GraphEnsembleClassifier"):
        table.add(name, labels(), kernel="rbf", calibration_folds=2)
        table.add(name, words(200, 300, 12), calibration_folds=2)
        zero = np.where(np.arange(240) % 9, np.linspace(0.2, 2, 240), 0.0)
        table.add(
            name,
            with_gaps(labels(), in_X=False, in_y=True),
            "some rows weigh 0",
            fit={"sample_weight": zero},
            calibration_folds=2,
        )
        named = pd.DataFrame(labels().y, columns=list("abcdefg"))
        edges = of.Edges([("a", "b"), ("b", "g")])
        table.add(name, labels().but("named", y=named), graph=edges)
    table.add("GraphEnsembleClassifier", labels(), "more", finish=_fit_more(7), warm_start=True)


def add_decoders(table: Table) -> None:
    """Add decoders, calibrators and the estimator that chooses among them."""
    decoding, problem = table.library.decoding, labels(n=400)
    rng = np.random.default_rng(8)
    shares = np.clip(problem.y * 0.4 + 0.6 * rng.random(problem.y.shape), 0.01, 0.99)
    weights = rng.random((20, len(problem.y)))
    for name, kind in decoding.DECODERS.items():
        for note, given in (("", shares), (", sparse", sparse.csr_array(shares * (shares > 0.3)))):
            table.add_value(
                f"decoder {name}{note}",
                lambda kind=kind, given=given: kind().fit(problem.y, given).decode(given),
            )
        table.add_value(
            f"decoder {name}, joint",
            lambda kind=kind: kind().fit(problem.y, shares).decode_joint(weights, problem.y),
        )
    others = (
        decoding.TopK(3),
        decoding.Threshold(0.4),
        decoding.Threshold(np.linspace(0.3, 0.6, 7)),
        decoding.LabelThresholds(objective="micro_f1"),
        decoding.LabelThresholds(objective="hamming_loss", min_positives=2),
        decoding.TunedThreshold(score=_half_mean),
    )
    for number, decoder in enumerate(others):
        table.add_value(
            f"decoder number {number}",
            lambda decoder=decoder: decoder.fit(problem.y, shares).decode(shares),
        )
    many = labels(n=100, d=25).y
    incomplete = np.where(rng.random(many.shape) < 0.02, np.nan, many)
    for name in ("jaccard", "known_label_set", "tuned_threshold", "label_thresholds"):
        kind = decoding.DECODERS[name]
        table.add_value(
            f"decoder {name}, 25 labels",
            lambda kind=kind: (
                kind()
                .fit(incomplete, np.clip(many, 0.2, 0.7))
                .decode_joint(*decoding.draws_to_joint(np.stack([many[:40], many[1:41]], axis=1)))
            ),
        )
    for method in ("sigmoid", "isotonic"):
        thin = sparse.csr_array(shares * (shares > 0.5))
        calibrator = decoding.LabelCalibrator(method, min_positives=10)
        table.add_value(
            f"calibrator {method} of sparse probabilities",
            lambda calibrator=calibrator, thin=thin: calibrator.fit(thin, problem.y).transform(
                thin
            ),
        )
        for inputs, given in (("probability", shares), ("score", 5 * shares)):
            calibrator = decoding.LabelCalibrator(method, inputs=inputs, min_positives=10)
            table.add_value(
                f"calibrator {method} of {inputs}",
                lambda calibrator=calibrator, given=given: calibrator.fit(
                    given, problem.y
                ).transform(given),
            )
    forest = table.library.RandomForestClassifier(n_estimators=5, random_state=0)
    boosted = table.library.BoostingClassifier(n_estimators=5, projection=None, random_state=0)
    graph = table.library.GraphClassifier(calibration_folds=None, random_state=0)
    for estimator in (forest, boosted, graph, KNeighborsClassifier(15)):
        table.add("TunedDecoder", problem, estimator=estimator, cv=3)
    table.add("TunedDecoder", problem, estimator=forest, cv=2, metric="subset_zero_one_loss")
    table.add("TunedDecoder", problem, estimator=forest, cv=2, decoding=["f1", "label_thresholds"])
    table.add("TunedDecoder", problem, estimator=boosted, cv=2, calibration="isotonic", n_jobs=1)
    table.add("TunedDecoder", words(), estimator=forest, cv=2)
    table.add("TunedDecoder", with_gaps(problem, in_X=False, in_y=True), estimator=forest, cv=2)
    finish = _through_file(table.library)
    for name in decoding.DECODERS:
        calibration = "isotonic" if name == "f1" else "sigmoid"
        table.add(
            "TunedDecoder",
            problem,
            "from a file",
            finish=finish,
            estimator=forest,
            cv=2,
            decoding=name,
            calibration=calibration,
        )


def _through_file(library: Any) -> Callable[[Any, Problem], Any]:
    def finish(model: Any, problem: Problem) -> Any:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            library.save(model, path)
            return library.load(path)

    return finish


def add_files(table: Table) -> None:
    """Add models that were written to a file and read again."""
    of, finish = table.library.projections, _through_file(table.library)
    kinds = (labels(), classes(), classes(n_outputs=3, n_classes=3), words(300, 100, 20))
    regression = (numbers(), numbers(d=1), with_gaps(numbers(), in_y=True), as_frame(numbers()))
    for names, problems in ((REGRESSORS, regression), (CLASSIFIERS, (*kinds, as_frame(labels())))):
        for name in names:
            for problem in problems:
                table.add(name, problem, "from a file", finish=finish)
    for name in ("GraphClassifier", "GraphEnsembleClassifier"):
        for problem in (labels(), classes()):
            table.add(name, problem, "from a file", finish=finish, calibration_folds=2)
        table.add(name, labels(), "from a file", finish=finish, kernel="rbf")
    for name in ("BoostingRegressor", "RandomForestRegressor"):
        table.add(name, numbers(), "from a file", finish=finish, projection=of.Subsample(2))
    table.add(
        "BoostingRegressor",
        numbers(),
        "from a file",
        finish=finish,
        leaf_fit="linear",
        projection=of.Gaussian(1),
    )
    for view in ("auto", "round_robin", of.Adaptive([of.Gaussian(2), of.Subsample(1)])):
        for name in ("BoostingRegressor", "RandomForestRegressor"):
            table.add(name, numbers(), "from a file", finish=finish, projection=view)
    for by_class in (BY_CLASS, "balanced"):
        table.add("TreeClassifier", classes(), "from a file", finish=finish, class_weight=by_class)
    by_label = [{0: 1.0, 1: 1.0 + j} for j in range(7)]
    table.add("TreeClassifier", labels(), "from a file", finish=finish, class_weight=by_label)
    table.add(
        "BoostingRegressor",
        with_categories(numbers()),
        "from a file",
        finish=finish,
        categorical_features=CODED,
        monotonic_cst=[1, 0, 0, 0, 0, 0, 0, -1],
    )
    named = pd.DataFrame(numbers().y, columns=list("abcdef"))
    table.add("RuleRegressor", numbers().but("named", y=named), "from a file", finish=finish)
    table.add(
        "RandomForestRegressor",
        numbers(),
        "from a file",
        finish=finish,
        aggregation="oob",
        oob_score=True,
    )


def add_generators(table: Table) -> None:
    """Add the library's own problems."""
    make = table.library.datasets
    table.add_value("make_multilabel", lambda: make.make_multilabel(200, random_state=0))
    table.add_value(
        "make_multilabel, sparse",
        lambda: make.make_multilabel(200, n_labels=40, sparse_output=True, random_state=0),
    )
    table.add_value(
        "make_correlated_targets", lambda: make.make_correlated_targets(200, random_state=0)
    )
    table.add_value(
        "make_extreme_labels", lambda: make.make_extreme_labels(200, 300, 400, random_state=0)
    )
    table.add_value("make_circle_labels", lambda: make.make_circle_labels(200, random_state=0))
    for structure in ("chain", "group", "ind"):
        table.add_value(
            f"make_friedman1_targets, {structure}",
            lambda how=structure: make.make_friedman1_targets(200, structure=how, random_state=0),
        )
    for dependence in ("independent", "marginal", "conditional"):
        table.add_value(
            f"make_linear_labels, {dependence}",
            lambda how=dependence: make.make_linear_labels(200, dependence=how, random_state=0),
        )
    folds, problem = make.MultiLabelKFold(4, random_state=0), labels()
    table.add_value("MultiLabelKFold", lambda: list(folds.split(problem.X, problem.y)))


ALL = (
    add_trees,
    add_forests,
    add_forest_corners,
    add_boosting,
    add_boosting_corners,
    add_inputs,
    add_finders,
    add_large,
    add_rules,
    add_graphs,
    add_decoders,
    add_files,
    add_generators,
)

# Recording and comparing ------------------------------------------------------------------------


def record(package: str, only: str, n_jobs: int | None) -> dict[str, Any]:
    """Fit all cases whose name matches, and give what a file of them holds."""
    table = Table(importlib.import_module(package), n_jobs)
    for add in ALL:
        add(table)
    chosen = [case for case in table.cases if fnmatch(case.name, f"*{only}*")]
    recorded: dict[str, Any] = {}
    with threadpool_limits(1), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in chosen:
            recorded[case.name] = _record_case(case)
    return {"environment": _environment(), "cases": recorded}


def _record_case(case: Case) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        seen, summary = case.look()
    except Exception as error:
        print(f"{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return {"by_gain": case.by_gain, "error": f"{type(error).__name__}: {error}"}
    finally:
        if (seconds := time.perf_counter() - start) > 1.0:
            print(f"{seconds:.1f} s: {case.name}", file=sys.stderr)
    facts = {name: digest(value) for name, value in sorted(seen.items())}
    return {"by_gain": case.by_gain, "facts": facts, "numbers": summary}


def _environment() -> dict[str, str]:
    versions = {module.__name__: module.__version__ for module in (np, scipy, sklearn, pd, pl)}
    return {"python": platform.python_version(), "machine": platform.machine(), **versions}


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Say of every case that differs what differs, and by how much its numbers do."""
    lines = []
    old, new = before["cases"], after["cases"]
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in old or name not in new:
            lines.append(f"{name}: only {'before' if name in old else 'after'}")
        elif difference := _difference(old[name], new[name]):
            lines.append(f"{name}: {difference}")
    return lines


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    if "error" in old or "error" in new:
        told = [f"{side.get('error', 'no error')}" for side in (old, new)]
        return "" if told[0] == told[1] else f"{told[0]} before, {told[1]} after"
    gaps = {
        name: _relative_gap(old["numbers"].get(name), new["numbers"].get(name))
        for name in old["numbers"] | new["numbers"]
    }
    if old["by_gain"] and new["by_gain"]:
        gap = gaps["train_loss"]
        return "" if gap <= _SAME_LOSS else f"train_loss differs by {gap:.1e}"
    facts = old["facts"] | new["facts"]
    differ = [name for name in facts if old["facts"].get(name) != new["facts"].get(name)]
    if not differ:
        return ""
    largest = max(gaps, key=gaps.__getitem__, default=None)
    told = "" if largest is None else f"; numbers by up to {gaps[largest]:.1e} ({largest})"
    return f"{', '.join(differ)}{told}"


def _relative_gap(old: float | None, new: float | None) -> float:
    if old == new or (old is not None and new is not None and math.isnan(old) and math.isnan(new)):
        return 0.0
    if old is None or new is None or not math.isfinite(old) or not math.isfinite(new):
        return math.inf
    return abs(old - new) / max(abs(old), abs(new))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="fit all models and write a file")
    recording.add_argument("file", type=Path)
    recording.add_argument("--package", default="polyleaf", help="what to import")
    recording.add_argument("--only", default="*", help="cases whose name has this pattern in it")
    recording.add_argument("--n-jobs", type=int, help="overrides n_jobs of all cases")
    comparing = commands.add_parser("compare", help="list the models that differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Record or compare; 1 if models differ or a case fails."""
    options = _parser().parse_args(argv)
    if options.command == "record":
        start = time.perf_counter()
        recorded = record(options.package, options.only, options.n_jobs)
        options.file.write_text(json.dumps(recorded, indent=1) + "\n")
        cases = recorded["cases"].values()
        n_failed = sum("error" in case for case in cases)
        seconds = time.perf_counter() - start
        print(f"{len(cases)} cases in {seconds:.0f} s, {n_failed} failed: {options.file}")
        return int(n_failed > 0)
    before, after = (json.loads(path.read_text()) for path in (options.before, options.after))
    if before["environment"] != after["environment"]:
        print(f"Other packages: {before['environment']} before, {after['environment']} after")
    lines = compare(before, after)
    print("\n".join([*lines, f"{len(lines)} of {len(before['cases'])} cases differ"]))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
