"""Targets for methods of what polyleaf gives back, and for training on a worker of a cluster."""

from functools import cache, partial

from hostile_estimators import LABELS, NUMBERS, WEIGHTS, X_NEW, X, fitted, new
from hostile_inspection import seen, shap_values, stability
from hostile_outcomes import Target
from hostile_parts import defaults_of

import polyleaf
from polyleaf import conformal, distributed, experiments, inspection, metrics
from polyleaf.hierarchy import Hierarchy

#: Methods that take a path may say that it is none.
OF_PATHS = (OSError, ImportError)


@cache
def region():
    return fitted("ConformalRegressor").predict_region(X_NEW)


@cache
def comparison():
    methods, scores = ["Mean", "Tree"], ["r2", "rmse"]
    return experiments.compare(X, NUMBERS, methods=methods, metrics=scores, cv=2, verbose=0)


@cache
def importances():
    return inspection.permutation_importances(fitted("TreeRegressor"), X, NUMBERS, n_repeats=2)


@cache
def sampled():
    model = fitted("TreeRegressor")
    return inspection.sampled_shap_values(model, X[:2], X, n_walks=2, random_state=0)


@cache
def edges():
    return inspection.consensus_edges(fitted("GraphEnsembleClassifier"), X)


@cache
def tree_of_labels():
    return Hierarchy([(0, 1), (0, 2)], 3, names=["all", "left", "right"])


def of_one_output(kind):
    return inspection.single_output(fitted(f"Tree{kind}"), 0)


_COMPARED = {"dataset": "data", "method": "Tree", "metric": "r2"}
#: What gives an answer, and harmless arguments of its methods.
ANSWERS = {
    "conformal.Region": (region, {"contains": {"Y": NUMBERS[: len(X_NEW)]}}),
    "inspection.ShapValues": (shap_values, {"difference": {"a": 0, "b": 1}}),
    "inspection.SampledShapValues": (sampled, {"difference": {"a": 0, "b": 1}}),
    "inspection.PermutationImportances": (
        importances,
        {"interval": {"level": 0.9}, "to_frame": {"level": 0.9}},
    ),
    "inspection.RankingStability": (stability, {"to_frame": {"level": 0.9}}),
    "inspection.ConsensusEdges": (edges, {"strongest": {"n_edges": 1}}),
    "inspection.SingleOutputRegressor": (
        partial(of_one_output, "Regressor"),
        {"predict": {"X": X}},
    ),
    "inspection.SingleOutputClassifier": (
        partial(of_one_output, "Classifier"),
        {"predict": {"X": X}, "predict_proba": {"X": X}},
    ),
    "experiments.BiasVariance": (
        lambda: experiments.BiasVariance(1.0, 0.5, 0.25, 0.125, 0.125),
        {"of_ensemble": {"n_estimators": 5, "projection_scope": "tree"}},
    ),
    "experiments.Comparison": (
        comparison,
        {
            "best_estimator": {"dataset": "data", "metric": "r2", "refit": True},
            "corrected": {"dataset": "data", "method": "Tree"},
            "datasets": {"task": "regression"},
            "fold_scores": _COMPARED,
            "friedman": {"metric": "r2", "alpha": 0.05},
            "leaderboard": {"metric": "r2"},
            "level_scores": {"dataset": "data"},
            "methods": {"task": "regression"},
            "output_scores": {"dataset": "data"},
            "report": {"path": "report"},
            "score_matrix": {"metric": "r2"},
            "tested_methods": {"metric": "r2"},
            "to_csv": {"path": "results.csv"},
            "verdicts": {"metric": "r2", "control": "Mean"},
        },
    ),
    "hierarchy.Hierarchy": (
        tree_of_labels,
        {
            "ancestors": {"label": "left"},
            "children": {"label": 0},
            "descendants": {"label": 0},
            "from_json": {"stored": Hierarchy([(0, 1)], 2).to_json()},
            "is_closed": {"Y": LABELS},
            "parents": {"label": 1},
            "restrict": {"names": ["left", "all"]},
            "with_w0": {"w0": 0.5},
        },
    ),
    "metrics.Metric": (
        lambda: metrics.METRICS["r2"],
        {"is_better": {"score": 0.5, "other": 0.25}},
    ),
}


def answered(make, method, /, **arguments):
    return getattr(make(), method)(**arguments)


def answer_targets():
    for name, (make, methods) in ANSWERS.items():
        for method, arguments in methods.items():
            yield Target(
                f"{name}.{method}",
                "answers",
                partial(dict, arguments),
                partial(answered, make, method),
                expected=OF_PATHS if "path" in arguments else (),
            )


def picture_targets():
    for name in ("plot_region", "plot_outputs"):
        function = getattr(conformal, name)
        arguments = defaults_of(function) | {"Y": NUMBERS[: len(X_NEW)]}
        yield Target(
            f"conformal.{name}",
            "answers",
            lambda given=arguments: given | {"region": region()},
            partial(seen, function),
            fixed=("ax",),
            expected=(ImportError,),
        )


def bin_batches(batches, **settings):
    data = polyleaf.BinnedData.from_batches(batches, **settings)
    return data.shape, data.Y


def batch_targets():
    settings = defaults_of(polyleaf.BinnedData.from_batches)
    batches = [(X[:10], NUMBERS[:10]), (X[10:], NUMBERS[10:])]
    yield Target(
        "polyleaf.BinnedData.from_batches",
        "answers",
        partial(dict, settings, batches=batches),
        bin_batches,
        fixed=("estimator_name",),
        expected=OF_PATHS,
    )


def train_on_worker(name, X, Y, sample_weight, position, output_names):
    rows = distributed.Rows(position, X, Y, sample_weight)
    settings = distributed.Settings(new(name), output_names=output_names)
    trained = distributed.train_on_worker(
        distributed.LocalCollective(), distributed.Part([rows]), settings
    )
    return trained.n_rows


def worker_targets():
    for name in ("BoostingRegressor", "RandomForestClassifier", "GraphClassifier"):
        rows = {
            "X": X,
            "Y": LABELS if name.endswith("Classifier") else NUMBERS,
            "sample_weight": WEIGHTS,
            "position": 0,
            "output_names": ["a", "b", "c"],
        }
        yield Target(
            f"distributed.train_on_worker.{name}",
            "answers",
            partial(dict, rows),
            partial(train_on_worker, name),
            fixed=("position",),
        )


def targets():
    yield from answer_targets()
    yield from picture_targets()
    yield from batch_targets()
    yield from worker_targets()
