"""The methods that take part in a comparison: polyleaf's estimators, baselines and rivals.

A method makes an estimator for a problem, and has a small search space. Every estimator in
polyleaf's registry is a method by itself; SPACES says what is worth tuning about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from sklearn.base import clone, is_classifier, is_regressor

from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.experiments._encoding import encoded
from polyleaf.experiments._identity import digest_of
from polyleaf.experiments._problem import Problem
from polyleaf.experiments._settings import UnknownSettingError, full_name, set_by_name

Space = Mapping[str, tuple[Any, ...]]

#: What is worth tuning about polyleaf's estimators, by name; the others keep their defaults.
SPACES: dict[str, Space] = {
    "Tree": {"min_samples_leaf": (1, 5, 20)},
    "RandomForest": {"max_features": ("sqrt", 0.33)},
    "ExtraTrees": {"max_features": ("sqrt", 0.33)},
    "BaggedTrees": {"min_samples_leaf": (1, 5)},
    "Boosting": {"learning_rate": (0.05, 0.2)},
    "Rule": {"learning_rate": (0.1, 0.3)},
}


@dataclass(frozen=True)
class Method:
    """A way to learn, under a name.

    Parameters
    ----------
    name : str
        Under which results are shown.
    make : callable
        ``make(problem, random_state)``, which returns an unfitted estimator.
    tasks : tuple of str, default=("regression", "multilabel")
        What it can learn; also "classes", outputs with a class per row.
    space : mapping of str to tuple, default={}
        Parameters and the values to choose from.
    group : {"polyleaf", "baseline", "rival", "own"}, default="own"
        Where it comes from.

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.experiments import Method
    >>> stump = Method(
    ...     "Stump",
    ...     lambda problem, random_state: TreeRegressor(max_depth=1, random_state=random_state),
    ...     tasks=("regression",),
    ...     space={"splitter": ("best", "random")},
    ... )
    >>> stump.settings()
    [{'splitter': 'best'}, {'splitter': 'random'}]
    """

    name: str
    make: Callable[[Problem, int], Any]
    tasks: tuple[str, ...] = ("regression", "multilabel")
    space: Space = field(default_factory=dict)
    group: str = "own"

    def settings(self) -> list[dict[str, Any]]:
        """Return all combinations of the search space; one empty dict without a space."""
        return [dict(zip(self.space, values)) for values in product(*self.space.values())]

    def configuration(self) -> dict[str, Any]:
        """Return its name, and parameters that were set, as `compare` takes a method."""
        made = self.make
        if not isinstance(made, _WithSettings):
            return {"method": self.name}
        return {"method": made.base_name, "name": self.name} | made.settings

    def description(self) -> dict[str, Any]:
        """Return what distinguishes this method from others of its name, in JSON's types."""
        text = {name: [repr(v) for v in values] for name, values in self.space.items()}
        found = {"space": text, "digest": digest_of(self.make)}
        made_of = getattr(self.make, "made_of", None)
        return found if made_of is None else found | {"made_of": str(made_of)}


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in JSON's types; texts stand for other values."""
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)


def polyleaf_methods() -> Iterable[Method]:
    """Yield one method for each pair of regressor and classifier in polyleaf's registry."""
    kinds: dict[str, dict[str, Any]] = {}
    autos = {name: META_ESTIMATORS[name] for name in META_ESTIMATORS if name.startswith("Auto")}
    for class_name, cls in {**ESTIMATORS, **autos}.items():
        for suffix, task in (("Regressor", "regression"), ("Classifier", "multilabel")):
            if class_name.endswith(suffix):
                by_task = kinds.setdefault(class_name.removesuffix(suffix), {})
                by_task |= {task: cls} if task == "regression" else {task: cls, "classes": cls}
    for name, by_task in kinds.items():
        yield Method(name, _MakeByTask(by_task), tuple(by_task), SPACES.get(name, {}), "polyleaf")


def resolve_methods(
    methods: Sequence[Any] | Mapping[str, Any] | None, registry: Mapping[str, Method]
) -> list[Method]:
    """Return the methods that the parameter of `compare` names.

    Parameters
    ----------
    methods : None, sequence or mapping
        None: all of the registry but Auto, which races others itself. Otherwise names,
        estimators or instances of Method; a mapping gives names to any of these.
    registry : mapping of str to Method

    Returns
    -------
    list of Method
        With distinct names.
    """
    if methods is None:
        return [method for name, method in registry.items() if name != "Auto"]
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        found = [_method(value, registry, name=str(name)) for name, value in methods.items()]
    else:
        found = [_method(value, registry) for value in methods]
    names = [method.name for method in found]
    if not found or len(set(names)) != len(names):
        raise ValueError(
            f"methods must be at least one, each with a name of its own; got {names}. Give a dict "
            "of names to estimators."
        )
    return found


def _method(value: Any, registry: Mapping[str, Method], name: str | None = None) -> Method:
    if isinstance(value, Method):
        return value if name is None else replace(value, name=name)
    if isinstance(value, str):
        by_lower = {key.lower(): key for key in registry}
        if value.lower() in by_lower:
            return _method(registry[by_lower[value.lower()]], registry, name)
        hint = did_you_mean(value, registry)
        raise ValueError(
            f"methods must be among {', '.join(map(repr, registry))}, estimators or Methods; got "
            f"{shown(value)}.{hint}"
        )
    if isinstance(value, Mapping):
        return _configured(value, registry, name)
    if not hasattr(value, "fit") or not hasattr(value, "get_params"):
        raise TypeError(
            "A method must be a name, an estimator, a Method or a dict with 'method'; got "
            f"{type(value).__name__}."
        )
    tasks = tuple(
        task
        for task, fits in (
            ("regression", is_regressor(value)),
            ("multilabel", is_classifier(value)),
            ("classes", is_classifier(value)),
        )
        if fits
    )
    return Method(
        name or type(value).__name__, _Clone(value), tasks or ("regression", "multilabel")
    )


def _configured(
    config: Mapping[str, Any], registry: Mapping[str, Method], name: str | None
) -> Method:
    """Return a method with parameters set, and a search space of those that are lists."""
    if "method" not in config:
        raise ValueError(
            "A configuration must name its method, as {'method': 'RandomForest', 'max_depth': 5}; "
            f"got the keys {sorted(map(str, config))}."
        )
    base = _method(config["method"], registry)
    given = {str(key): value for key, value in config.items() if key not in ("method", "name")}
    lists = {k: tuple(v) for k, v in given.items() if isinstance(v, (list, tuple))}
    fixed = {k: v for k, v in given.items() if k not in lists}
    kept = {k: v for k, v in base.space.items() if not {k, k.rpartition("__")[2]} & set(given)}
    return Method(
        name or str(config.get("name", base.name)),
        _WithSettings(base, fixed),
        base.tasks,
        kept | lists,
        base.group,
    )


def check_settings(methods: Iterable[Method], problems: Iterable[Problem]) -> None:
    """Refuse settings that a method does not have, before anything is run.

    Parameters
    ----------
    methods : iterable of Method
    problems : iterable of Problem
        Each method is made once for each task.
    """
    by_task = {problem.task: problem for problem in problems}
    for method in methods:
        empty = [name for name, values in method.space.items() if not len(values)]
        if empty:
            raise ValueError(
                f"{method.name}: {empty[0]} must be a value, or a list of at least one to choose "
                "from; got an empty list."
            )
        if not method.space and not isinstance(method.make, _WithSettings):
            continue
        for task, problem in by_task.items():
            if task in method.tasks:
                _check_names(method, problem)


def _check_names(method: Method, problem: Problem) -> None:
    try:
        model = method.make(problem, 0)
        if hasattr(model, "get_params"):
            for name in method.space:
                full_name(model, name)
    except UnknownSettingError as error:
        raise ValueError(f"{method.name}: {error}") from None
    except Exception:  # its runs will fail, and are recorded
        return


class _WithSettings:
    """Makes an estimator with some parameters set."""

    def __init__(self, base: Method, settings: dict[str, Any]) -> None:
        self.make = base.make
        self.base_name = base.name
        self.settings = settings
        parts = (base.name, digest_of(base.make), digest_of(settings))
        self.made_of = f"{', '.join(parts)}: {sorted(settings.items())!r}"

    def __call__(self, problem: Problem, random_state: int) -> Any:
        return set_by_name(self.make(problem, random_state), self.settings)


class _MakeByTask:
    """Makes polyleaf's estimator for the task; a class, so that it can be sent to processes."""

    def __init__(self, by_task: Mapping[str, Any]) -> None:
        self.by_task = by_task

    def __call__(self, problem: Problem, random_state: int) -> Any:
        given = {} if problem.hierarchy is None else {"hierarchy": problem.hierarchy}
        model = self.by_task[problem.task](random_state=random_state, **given)
        if model.__sklearn_tags__().input_tags.allow_nan:
            return model
        # A model of numbers, all of them known; it scales them by itself.
        return encoded(problem.X, model)


class _Clone:
    """Makes copies of an estimator."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.made_of = f"{digest_of(estimator)}: {estimator!r}"

    def __call__(self, problem: Problem, random_state: int) -> Any:
        copy = clone(self.estimator)
        if "random_state" in copy.get_params() and copy.get_params()["random_state"] is None:
            copy.set_params(random_state=random_state)
        return copy
