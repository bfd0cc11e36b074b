"""Targets that read fitted models: every function of `inspection` and of `export`."""

import inspect
from functools import cache, partial

from hostile_estimators import LABELS, NUMBERS, X, fitted
from hostile_outcomes import Target
from hostile_parts import defaults_of

from polyleaf import export, inspection
from polyleaf.hierarchy import as_hierarchy

#: Models that functions read, by the name of the function; a tree for all others.
_MODELS = {
    "consensus_edges": "GraphEnsembleClassifier",
    "plot_consensus_graph": "GraphEnsembleClassifier",
    "score_variance": "GraphEnsembleClassifier",
    "plot_learning_curve": "RandomForestClassifier",
    "plot_output_map": "BoostingRegressor",
    "plot_rules": "RuleClassifier",
    "rules_json": "RuleClassifier",
    "rules_text": "RuleClassifier",
    "rules_to_python": "RuleClassifier",
    "rules_to_sql": "RuleClassifier",
    "shap_values": "BoostingRegressor",
    "to_treelite": "BoostingRegressor",
}
#: Sizes that make a call quick.
_SMALL = {
    "n_repeats": 1,
    "n_resamples": 2,
    "n_walks": 2,
    "random_state": 0,
    "grid_resolution": 5,
    "n_intervals": 5,
}


@cache
def shap_values():
    return inspection.shap_values(fitted("TreeRegressor"), X)


@cache
def dependence():
    return inspection.partial_dependence(fitted("TreeRegressor"), X, [0])


@cache
def stability():
    return inspection.ranking_stability(fitted("TreeRegressor"), X, NUMBERS, n_resamples=2)


@cache
def explained():
    return inspection.explain_rows(fitted("TreeRegressor"), X[:3])


def arguments_of(name, function):
    """Return harmless arguments of a function, made when they are first needed."""
    parameters = inspect.signature(function).parameters
    model = _MODELS.get(name, "TreeClassifier")
    is_table = name == "explanation_text"
    known = {
        "model": lambda: fitted(model),
        "estimator": lambda: fitted(model),
        "before": lambda: X,
        "now": lambda: X,
        "found": stability if name == "plot_ranking_stability" else shap_values,
        "dependence": dependence,
        "table": explained if is_table else lambda: "rows",
        "X": lambda: X,
        "background": lambda: X[:4],
        "y": lambda: LABELS,
        "Y": lambda: NUMBERS if model.endswith("Regressor") else LABELS,
        "features": lambda: [0, 1],
        "feature": lambda: 0,
        "pairs": lambda: [(0, 1)],
        "a": lambda: 0,
        "b": lambda: 1,
        "output": lambda: 0,
        "hierarchy": lambda: as_hierarchy([(0, 1)], 3),
        "scores": lambda: [0.9, 0.5, 0.1],
        "labels": lambda: [1, 0, 0],
    }
    given = defaults_of(function) | {p: v for p, v in _SMALL.items() if p in parameters}
    return given | {p: known[p]() for p in parameters if p in known}


def seen(function, **given):
    """Call a function; pictures are closed, and not compared."""
    answer = function(**given)
    if any("matplotlib" in type(part).__module__ for part in (answer, *_items(answer))):
        import matplotlib.pyplot as plt

        plt.close("all")
        return None
    return answer


def _items(answer):
    return answer.ravel() if hasattr(answer, "ravel") and answer.dtype == object else ()


def targets():
    for room, layer in ((inspection, "inspection"), (export, "export")):
        for name in room.__all__:
            function = getattr(room, name)
            if not inspect.isfunction(function) or not inspect.signature(function).parameters:
                continue
            yield Target(
                f"{layer}.{name}",
                layer,
                partial(arguments_of, name, function),
                partial(seen, function),
                fixed=("ax", "score"),
                expected=(ImportError, OSError),
            )
