"""Targets for the other public functions: data sets, splitters, statistics, files."""

import inspect
from functools import partial
from pathlib import Path

import numpy as np
from hostile_estimators import LABELS, NUMBERS, WEIGHTS, X, fitted, new
from hostile_outcomes import SilentChangeError, Target
from hostile_parts import defaults_of

import polyleaf
from polyleaf import datasets, experiments, hierarchy

_GOLDEN = Path(__file__).parents[1] / "golden/format1"
SCORES = np.random.default_rng(3).random((6, 4))
#: Ends of a call that are answers for whoever gives a path.
OF_PATHS = (OSError, ImportError)
#: What plain functions take, by the names of their parameters.
KNOWN = {
    "X": X,
    "y": LABELS,
    "Y": LABELS,
    "sizes": (0.5, 0.5),
    "n_samples": 20,
    "n_features": 20,
    "n_targets": 4,
    "n_labels": 4,
    "random_state": 0,
    "scores": SCORES,
    "greater_is_better": True,
    "X_test": X[:9],
    "y_test": NUMBERS[:9],
    "n_bootstraps": 20,
}
#: Further layers by name of the function, if its parameters do not say it all.
OTHER = {
    "bias_variance": {
        "estimator": polyleaf.TreeRegressor(max_depth=2, max_features=1),
        "y": NUMBERS,
        "n_samples": 2,
        "n_repeats": 2,
    },
    "make_friedman1_targets": {"n_targets": 8},
    "make_extreme_labels": {"cardinality": 2.0},
    "saturation_size": {"sizes": np.array([1.0, 2.0, 4.0, 8.0])},
}


def arguments_of(name, function):
    parameters = inspect.signature(function).parameters
    found = defaults_of(function) | {p: KNOWN[p] for p in parameters if p in KNOWN}
    return found | OTHER.get(name, {})


def function_targets():
    names = [n for n in datasets.__all__ if n.startswith("make_")]
    for module, layer, chosen in (
        (datasets, "generators", names),
        (datasets, "splitters", ["stratified_parts"]),
        (
            experiments,
            "statistics",
            [
                "average_ranks",
                "bias_variance",
                "bootstrap_corrected_score",
                "friedman_test",
                "pairwise_tests",
                "saturation_size",
            ],
        ),
    ):
        for name in chosen:
            function = getattr(module, name)
            target = f"{module.__name__.removeprefix('polyleaf.')}.{name}"
            yield Target(target, layer, partial(arguments_of, name, function), function)


def split(X, y, groups, **settings):
    return list(datasets.MultiLabelKFold(**settings).split(X, y, groups))


def build_dataset(X, Y, feature_names, output_names, name, n_rows, rows, seed):
    data = datasets.Dataset(X, Y, feature_names, output_names, name)
    taken, drawn = data.take(rows), data.sample(n_rows, random_state=seed)
    joined = datasets.concatenate([taken, drawn])
    return taken.X, drawn.Y, joined.Y, data.n_missing_outputs, data.n_missing_features


def bin_data(X, categorical_features, max_bins, n_threads):
    data = polyleaf.BinnedData(X, categorical_features)
    data.binned(max_bins, n_threads)
    return data.shape


def data_targets():
    folds = {"X": X, "y": LABELS, "groups": None, "n_splits": 2, "by": "label", "random_state": 0}
    yield Target("datasets.MultiLabelKFold", "splitters", partial(dict, folds), split)
    whole = {
        "X": X,
        "Y": NUMBERS,
        "feature_names": ["a", "b", "c"],
        "output_names": ["d", "e", "f"],
        "name": "toy",
        "n_rows": 5,
        "rows": np.arange(4),
        "seed": 0,
    }
    yield Target(
        "datasets.Dataset",
        "data sets",
        partial(dict, whole),
        build_dataset,
        expected=(IndexError,),
    )
    part = datasets.Dataset(X, NUMBERS, ["a", "b", "c"], ["d", "e", "f"], "toy")
    joined = {"datasets": [part, part], "name": None}
    yield Target("datasets.concatenate", "data sets", partial(dict, joined), datasets.concatenate)
    names = {"prefix": "x", "n_names": 3}
    yield Target(
        "datasets.NumberedNames",
        "data sets",
        partial(dict, names),
        lambda **given: list(datasets.NumberedNames(**given)[:5]),
    )
    binned = {"X": X, "categorical_features": None, "max_bins": 255, "n_threads": 1}
    yield Target("polyleaf.BinnedData", "data sets", partial(dict, binned), bin_data)


def read_hierarchy(given, n_outputs, names):
    return hierarchy.as_hierarchy(given, n_outputs, names).depth


def use_hierarchy(edges, n_outputs, names, w0, Y, scores):
    labels = hierarchy.Hierarchy(edges, n_outputs, names=names, w0=w0)
    closed, raised = labels.close(Y), labels.raise_ancestors(scores)
    return closed, raised, labels.weights, labels.n_violations(scores)


def hierarchy_targets():
    names = ["a", "b", "c", "d"]
    for form, given in {
        "parents": np.array([-1, 0, 0, 1]),
        "edges": [(0, 1), (0, 2), (1, 3)],
        "names": [("a", "b"), ("b", "d")],
        "paths": ["a", "a/b", "a/c", "a/b/d"],
    }.items():
        whole = {"given": given, "n_outputs": 4, "names": names}
        target = f"hierarchy.as_hierarchy:{form}"
        yield Target(target, "hierarchies", partial(dict, whole), read_hierarchy)
    whole = {
        "edges": np.array([[0, 1], [1, 2]]),
        "n_outputs": 4,
        "names": names,
        "w0": 0.5,
        "Y": np.eye(4),
        "scores": SCORES,
    }
    yield Target("hierarchy.Hierarchy", "hierarchies", partial(dict, whole), use_hierarchy)


def save_and_load(path, name):
    model = fitted(name)
    polyleaf.save(model, path)
    answer = polyleaf.load(path).predict(X)
    if not np.array_equal(answer, model.predict(X)):
        raise SilentChangeError("the loaded model predicts something else")
    return answer


def judge_model(name, **arguments):
    return polyleaf.evaluate(fitted(name), **arguments).scores


def file_targets():
    yield Target(
        "polyleaf.save",
        "files",
        lambda: {"path": "model.polyleaf", "name": "TreeRegressor"},
        save_and_load,
        fixed=("name",),
        expected=OF_PATHS,
    )
    yield Target(
        "polyleaf.load",
        "files",
        lambda: {"path": str(_GOLDEN / "tree-numbers.polyleaf")},
        lambda path: polyleaf.load(path).n_outputs_,
        expected=OF_PATHS,
    )
    for name in ("RandomForestClassifier", "TreeRegressor"):
        Y = LABELS if name.endswith("Classifier") else NUMBERS
        judged = {"X": X, "Y": Y, "metrics": None, "y_train": Y, "sample_weight": WEIGHTS}
        yield Target(
            f"polyleaf.evaluate.{name}",
            "evaluate",
            partial(dict, judged),
            partial(judge_model, name),
        )


def held_out(name, X, y, **settings):
    return polyleaf.cross_val_proba(new(name), X, y, **settings)


def other_model_targets():
    name = "TreeClassifier"
    arguments = {"X": X, "y": LABELS, "cv": 2, "random_state": 0}
    yield Target(
        "polyleaf.cross_val_proba",
        "meta-estimators",
        partial(dict, arguments),
        partial(held_out, name),
    )
    yield Target(
        "polyleaf.read_card",
        "files",
        lambda: {"path": str(_GOLDEN / "tree-numbers.polyleaf")},
        lambda path: repr(polyleaf.read_card(path)),
        expected=OF_PATHS,
    )


def compare_once(data_X, data_y, **arguments):
    return experiments.compare(data_X, data_y, methods=["Mean"], **arguments).score_matrix()


def comparison_targets():
    arguments = defaults_of(experiments.compare)
    kept = ("metrics", "classes", "cv", "tuning", "max_settings", "budget", "bootstraps", "n_jobs")
    arguments = {name: arguments[name] for name in (*kept, "random_state", "verbose", "path")}
    arguments |= {"data_X": X, "data_y": NUMBERS, "cv": 2, "metrics": ["r2"]}
    yield Target(
        "experiments.compare",
        "compare",
        partial(dict, arguments),
        compare_once,
        expected=OF_PATHS,
        fixed=("n_jobs",),
    )


#: Estimators around others, for comparisons: the arguments of their fits.
_BASELINES = ("OneModelPerTarget", "AllTargets", "RandomLinearCombinations")
_LABEL_BASELINES = (
    "AdaBoostMH",
    "BestChain",
    "LabelPowerset",
    "LabelsByRegression",
    "OneModelPerLabel",
)


def fit_baseline(cls, X, Y, X_new, **settings):
    return cls(**settings).fit(X, Y).predict(X_new)


def baseline_targets():
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeClassifier

    for name in (*_BASELINES, *_LABEL_BASELINES):
        cls = getattr(experiments, name)
        numbers = name in (*_BASELINES, "LabelsByRegression")
        inner = LinearRegression() if numbers else DecisionTreeClassifier(random_state=0)
        arguments = {"X": X, "Y": NUMBERS if name in _BASELINES else LABELS, "X_new": X}
        settings = defaults_of(cls) | {"random_state": 0, "n_estimators": 2, "estimator": inner}
        known = inspect.signature(cls).parameters
        settings = {name: value for name, value in settings.items() if name in known}
        yield Target(
            f"experiments.{name}",
            "baselines",
            partial(dict, arguments, **settings),
            partial(fit_baseline, cls),
            fixed=tuple(settings),
        )


def targets():
    yield from function_targets()
    yield from data_targets()
    yield from hierarchy_targets()
    yield from file_targets()
    yield from comparison_targets()
    yield from other_model_targets()
    yield from baseline_targets()
