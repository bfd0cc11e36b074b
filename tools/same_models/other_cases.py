"""Cases of rules, graphs, decoders, model files and generators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from cases import CLASSIFIERS, REGRESSORS, Table, each, fit_more
from problems import (
    CODED,
    Problem,
    as_frame,
    classes,
    labels,
    numbers,
    with_categories,
    with_gaps,
    with_odd_columns,
    words,
)
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier
from tree_cases import BY_CLASS, PLAIN_DECODERS, half_mean


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
            *({"loss": loss, "decoding": how} for how in (*PLAIN_DECODERS, "known_label_set")),
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
        *each("step", "guarded"),
        *each("max_conditions", 1, 2),
        *each("min_coverage", 20, 0.2),
        *each("max_features", None, 3, "sqrt"),
        *each("max_bins", 8, None),
        *each("bootstrap", False),
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
            *each("graph", *graphs, ring, of.Edges([(0, 1), (1, 2), (4, 5)])),
            *each("kernel", *kernels),
            {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
            *each("margin_loss", "node", "hamming"),
            *each("C", 0.01, 10.0),
            *each("intercept_scaling", 0.0),
            {"tol": 0.2, "max_iter": 3},
            *each("class_weight", "balanced"),
            *each("calibration_folds", 3),
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
    table.add("GraphEnsembleClassifier", labels(), "more", finish=fit_more(7), warm_start=True)


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
        decoding.TunedThreshold(score=half_mean),
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
