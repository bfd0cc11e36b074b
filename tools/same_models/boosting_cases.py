"""Cases of boosting."""

from __future__ import annotations

import numpy as np
from cases import Table, each, fit_more, views
from problems import Problem, as_frame, classes, counts, labels, numbers, with_gaps, words
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor
from tree_cases import decodings, half_mean, tree_settings


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
            *each("projection", "auto", *views(table.library)[:-1]),
            *tree_settings(9),
            *(
                {"leaf_fit": "linear", "projection": view, "leaf_values": step}
                for view in (of.Gaussian(1), of.Subsample(1, first_sees_all=False))
                for step in ("gradient", "newton", "exact")
            ),
            *each("l2_regularization", 0.0, 10.0),
            *each("subsample", 0.6),
            *each("learning_rate", 1.0),
            *each("monotonic_cst", [1, -1, 0, 0, 0, 0, 0, 0]),
            {"monotonic_cst": [1, 0, 0, -1, 0, 0, 0, 0], "projection": "gaussian"},
            *each("early_stopping", True),
            *each("estimator", Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0)),
            {"estimator": Ridge(), "projection": of.Gaussian(1), "leaf_fit": "linear"},
        )
        table.add(name, problem, "more rounds", finish=fit_more(20), warm_start=True)
        table.add(
            name,
            problem,
            "more, linear",
            finish=fit_more(20),
            warm_start=True,
            projection=of.Gaussian(1),
            leaf_fit="linear",
        )
        held = {"eval_set": (problem.X_new, problem.y_new)}
        metric = "r2" if name == "BoostingRegressor" else "lrap"
        for wanted in (None, metric, half_mean):
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
    table.add_each("BoostingClassifier", labels(), *decodings())
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
    table.add("BoostingRegressor", gaps, "more", finish=fit_more(20), warm_start=True)
    table.add("BoostingRegressor", gaps, "weighted", fit=weights, early_stopping=True)
    stop = {"early_stopping": True, "learning_rate": 1.0, "n_iter_no_change": 3}
    scorers = (
        ("BoostingRegressor", numbers(d=1), ("neg_mean_absolute_error", "arrmse")),
        ("BoostingRegressor", numbers(), ("r2", "neg_mean_squared_error")),
        ("BoostingClassifier", classes(), ("accuracy", "neg_log_loss", half_mean)),
        ("BoostingClassifier", classes(n_classes=2), ("roc_auc", "neg_log_loss", "f1_macro")),
        ("BoostingClassifier", several, (half_mean,)),
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
