"""Cases of single trees and of forests."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Table, each, fit_more, views
from problems import CODED, classes, labels, numbers, with_categories, with_gaps, words
from scipy import sparse


def tree_settings(n_leaves: int) -> list[dict[str, Any]]:
    """Give settings of how trees grow."""
    return [
        {},
        *each("max_depth", 1, 3),
        *each("max_leaf_nodes", 2, n_leaves),
        {"max_leaf_nodes": n_leaves, "max_features": 3, "min_samples_leaf": 4},
        *each("min_samples_split", 20, 0.1),
        *each("min_samples_leaf", 7, 0.05),
        *each("min_impurity_decrease", 0.01),
        *each("max_features", None, "sqrt", "log2", "log2+1", 3, 0.7),
        *each("max_bins", 2, 8, 254, None),
    ]


def add_trees(table: Table) -> None:
    """Add single trees: growth, views, pruning, decoding."""
    for problem in (numbers(), numbers(d=1), numbers(n=700, d=20)):
        for splitter in ("best", "random"):
            table.add("TreeRegressor", problem, splitter=splitter)
    table.add_each("TreeRegressor", numbers(), *tree_settings(10)[1:])
    table.add_each(
        "TreeRegressor",
        numbers(),
        *({**more, "splitter": "random"} for more in tree_settings(10)[1:]),
        {"normalize_outputs": False},
        *({"pruning": "f_test", "pruning_level": level} for level in ("cv", 0.05)),
        *each("projection", *views(table.library)),
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
        *each("projection", *views(table.library)),
    )
    by_class = each("class_weight", "balanced", BY_CLASS)
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
    table.add_each("TreeClassifier", labels(), *decodings())


BY_CLASS = {"ash": 2.0, "birch": 0.5, "cedar": 1.0, "fir": 3.0}
PLAIN_DECODERS = ("threshold", "top_k", "subset", "f1", "jaccard")


def decodings() -> list[dict[str, Any]]:
    """Give settings with each decoder by name."""
    return [{"decoding": name, "max_depth": 4} for name in PLAIN_DECODERS]


def half_mean(truth: Any, guess: Any) -> float:
    """Score of a user: half of the accuracy."""
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
            *each("projection", *views(table.library)),
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
            *each("max_features", None, 1, "log2+1"),
            {"min_impurity_decrease": 0.01},
        )
    for problem in (classes(), classes(n_outputs=3, n_classes=3), classes(n_classes=2)):
        for name in ("RandomForestClassifier", "ExtraTreesClassifier"):
            table.add(name, problem, bootstrap=True, oob_score=True, n_estimators=15)
            table.add(name, problem, class_weight="balanced", projection="gaussian")
    table.add("RandomForestClassifier", labels(), oob_score=half_mean, n_estimators=15)
    table.add("RandomForestClassifier", labels(), projection="auto", n_estimators=14)
    table.add("RandomForestRegressor", numbers(), projection="pca", projection_scope="node")
    table.add("RandomForestRegressor", numbers(d=1), oob_score=True, n_estimators=15)
    table.add("RandomForestRegressor", numbers(), normalize_outputs=False)
    table.add_each("RandomForestClassifier", labels(), *decodings())
    for name, problem in (
        ("RandomForestRegressor", numbers()),
        ("ExtraTreesClassifier", labels()),
    ):
        table.add(name, problem, "more trees", finish=fit_more(9), warm_start=True)
        table.add(
            name,
            problem,
            "round robin, more",
            finish=fit_more(4),
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
            *each("projection", *views),
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
    table.add_each("RandomForestClassifier", several, *each("projection", *views))
    table.add("RandomForestRegressor", numbers(n=150, d=120), projection="pca")
    table.add("RandomForestClassifier", words(150, 60, 120), projection="pca")
    table.add(
        "RandomForestRegressor",
        numbers(),
        "more of auto",
        finish=fit_more(18),
        projection="auto",
        n_estimators=14,
        warm_start=True,
    )
