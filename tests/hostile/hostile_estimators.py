"""Targets made from the registry of estimators: every fit, every method of a fitted model."""

import copy
import inspect
from functools import cache, partial
from unittest import mock

import numpy as np
from hostile_outcomes import SilentChangeError, Target

from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.auto import candidates

N_ROWS, N_FEATURES, N_OUTPUTS = 24, 3, 3
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(N_ROWS, N_FEATURES))
NUMBERS = np.column_stack([X[:, 0] + X[:, 1], X[:, 1] * X[:, 2], _RNG.normal(size=N_ROWS)])
LABELS = (NUMBERS > 0).astype(np.int64)
PROBABILITIES = _RNG.random(LABELS.shape)
WEIGHTS = _RNG.uniform(0.5, 2.0, N_ROWS)
X_NEW = _RNG.normal(size=(10, N_FEATURES))
#: Sizes that make a fit quick.
SMALL = {"n_estimators": 2, "n_rules": 3, "random_state": 0, "max_iter": 20, "cv": 2}
#: Arguments of methods, by name.
ARGUMENTS = {
    "quantiles": (0.1, 0.5),
    "k": 2,
    "n_draws": 2,
    "random_state": 0,
    "output": 0,
    "n_rules": 2,
    "tolerance": 0.01,
    "rules": [0, 1],
    "sample_weight": None,
    "alpha": 0.3,
    "given": None,
    "family": "Tree",
    "max_ms_per_row": 100.0,
    "variant": None,
}
#: First arguments of the methods that are asked.
_FIRST = ("X", "rules", "family", "alpha", "variant")
_NO_TREES = ("ridge", "kernel_ridge", "neighbours")


def outputs_for(name):
    return NUMBERS if name.endswith(("Regressor", "Mixed")) else LABELS


def new(name):
    """Make an estimator with sizes that are quick to fit."""
    cls = ESTIMATORS[name] if name in ESTIMATORS else META_ESTIMATORS[name]
    if name.startswith("Auto"):
        return cls(budget="small", cv=2, random_state=0)
    if name in META_ESTIMATORS:
        inner = "TreeRegressor" if name.endswith("Regressor") else "TreeClassifier"
        return cls(ESTIMATORS[inner](max_depth=2, random_state=0), cv=2, random_state=0)
    model = cls()
    known = model.get_params(deep=False)
    return model.set_params(**{k: v for k, v in SMALL.items() if k in known})


@cache
def fitted(name):
    # A blend of trees and rules alone, which `AutoRegressor.explain` asks for.
    trees = [c for c in candidates._REGRESSORS if c.name not in _NO_TREES]
    with mock.patch.object(candidates, "_REGRESSORS", trees):
        return new(name).fit(X, outputs_for(name))


def fit_arguments(name):
    settings = new(name).get_params(deep=False)
    data = {"X": X, "Y": outputs_for(name), "X_new": X_NEW}
    if name not in META_ESTIMATORS:
        data["sample_weight"] = WEIGHTS
    return data | {f"set_{key}": value for key, value in settings.items()}


def fit_again(name, X, Y, X_new, sample_weight=None, **settings):
    """Fit a fitted model again; if that fails, the model must be as it was."""
    model = copy.copy(fitted(name))
    model.set_params(**{key.removeprefix("set_"): value for key, value in settings.items()})
    before = dict(vars(model))
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        model.fit(X, Y, **weights)
    except BaseException as error:
        after = vars(model)
        if before.keys() != after.keys() or any(after[key] is not before[key] for key in before):
            raise SilentChangeError("a failed fit changed the model") from error
        raise
    kept = model.get_params(deep=False)
    for key, value in settings.items():
        if kept[key.removeprefix("set_")] is not value:
            raise SilentChangeError(f"fit changed the parameter {key}")
    answer = model.predict(X_new)
    if answer.shape[0] != np.shape(X_new)[0]:
        raise SilentChangeError(f"{np.shape(X_new)[0]} rows gave {answer.shape[0]} predictions")
    return answer


def call_method(name, method, **arguments):
    answer = getattr(fitted(name), method)(**arguments)
    return list(answer) if inspect.isgenerator(answer) else answer


def methods_of(name):
    """Yield the public methods but `fit` that take something, with harmless arguments."""
    cls = type(new(name))
    for method, function in inspect.getmembers(cls, callable):
        if method.startswith("_") or method == "fit" or not hasattr(fitted(name), method):
            continue
        if method == "paper" and not cls.paper_variants():
            continue
        parameters = dict(inspect.signature(function).parameters)
        parameters.pop("self", None)
        if next(iter(parameters), None) not in _FIRST:
            continue
        known = ARGUMENTS | {"X": X, "y": outputs_for(name)}
        usable = {
            parameter: known.get(parameter, about.default)
            for parameter, about in parameters.items()
            if about.kind not in (about.VAR_POSITIONAL, about.VAR_KEYWORD)
        }
        if all(value is not inspect.Parameter.empty for value in usable.values()):
            yield method, usable


def targets():
    for name in (*ESTIMATORS, *META_ESTIMATORS):
        yield Target(
            f"polyleaf.{name}.fit",
            "estimators" if name in ESTIMATORS else "meta-estimators",
            partial(fit_arguments, name),
            partial(fit_again, name),
            tolerance=0.0,
        )
        for method, arguments in methods_of(name):
            yield Target(
                f"polyleaf.{name}.{method}",
                "predictions",
                partial(dict, arguments),
                partial(call_method, name, method),
                tolerance=0.0 if method != "score" else 1e-9,
            )
