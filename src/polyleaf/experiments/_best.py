"""From a comparison to a model: the best method on a data set, with the settings it was given.

A method may have chosen other settings in other folds. The ones that most folds chose are taken;
of equally frequent ones, those with the better mean score.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.checks.numbers import shown
from polyleaf.experiments._methods import Method, plain_settings
from polyleaf.experiments._problem import Problem
from polyleaf.experiments._settings import set_by_name
from polyleaf.metrics import Metric

if TYPE_CHECKING:
    from polyleaf.experiments._comparison import Comparison


@dataclass(frozen=True)
class Choice:
    """A method with settings, on one data set.

    Attributes
    ----------
    problem : Problem
    method : Method
    settings : dict
        What tuning chose.
    score : float
        The mean over folds.
    """

    problem: Problem
    method: Method
    settings: dict[str, Any]
    score: float

    def estimator(self, random_state: int) -> Any:
        """Make the estimator, unfitted."""
        return set_by_name(self.method.make(self.problem, random_state), self.settings)

    def configuration(self) -> dict[str, Any]:
        """Return method and settings as `compare` takes them."""
        return self.method.configuration() | self.settings


def choices(comparison: Comparison, problem: Problem, metric: Metric) -> Iterator[Choice]:
    """Yield the methods from the best to the worst on one data set; failures are left out.

    Parameters
    ----------
    comparison : Comparison
    problem : Problem
    metric : Metric

    Yields
    ------
    Choice
    """
    methods = {method.name: method for method in comparison.method_objects}
    scores = {
        name: comparison.fold_scores(problem.name, name, metric.name).mean()
        for name in comparison.methods(problem.task)
        if name in methods
    }
    sign = -1.0 if metric.greater_is_better else 1.0
    known = [name for name, score in scores.items() if np.isfinite(score)]
    for name in sorted(known, key=lambda name: sign * scores[name]):
        settings = _most_chosen(comparison, problem.name, methods[name], metric)
        yield Choice(problem, methods[name], settings, float(scores[name]))


def _most_chosen(
    comparison: Comparison, dataset: str, method: Method, metric: Metric
) -> dict[str, Any]:
    """Return the settings that most folds chose, with the values of the search space."""
    by_text: dict[str, list[float]] = {}
    for row in comparison.rows:
        if (row["dataset"], row["method"]) == (dataset, method.name) and "settings" in row:
            score = row["scores"].get(metric.name)
            by_text.setdefault(json.dumps(row["settings"]), []).append(
                np.nan if score is None else score
            )
    sign = 1.0 if metric.greater_is_better else -1.0
    text = max(by_text, key=lambda t: (len(by_text[t]), sign * float(np.nanmean(by_text[t]))))
    chosen = json.loads(text)
    for settings in method.settings():
        if json.loads(json.dumps(plain_settings(settings))) == chosen:
            return settings
    return dict(chosen)


def fitted(choice: Choice, random_state: int) -> Any:
    """Train the estimator of a choice on all rows of its data set."""
    problem = choice.problem
    names = _own(problem.feature_names, "x"), _own(problem.output_names, "y")
    return fit_named(choice.estimator(random_state), problem.X, problem.Y, *names)


def _own(names: list[str], prefix: str) -> list[str] | None:
    """Return names of columns, unless they only count them."""
    return None if names == [f"{prefix}{j}" for j in range(len(names))] else names


def fit_named(model: Any, X: Any, Y: Any, feature_names: Any, output_names: Any) -> Any:
    """Train a model that knows the names of features and outputs, of sparse ones too."""
    takes_names = output_names is not None and has_fit_parameter(model, "output_names")
    given = {"output_names": output_names} if takes_names else {}
    return model.fit(named(X, feature_names), named(Y, output_names), **given)


def named(matrix: Any, names: Any) -> Any:
    """Return a frame with names of a dense matrix, where pandas is installed.

    A model remembers the names, and refuses features in another order.
    """
    if not isinstance(matrix, np.ndarray) or names is None:
        return matrix
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return matrix
    return pandas.DataFrame(matrix, columns=list(names))


#: The file of a report's folder that `polyleaf fit --from` reads.
_BEST_FILE = "best.json"


def write_best(comparison: Comparison, folder: Path) -> None:
    """Write the methods of each data set, from the best to the worst, with their settings."""
    seed = int(comparison.plan.get("random_state", 0))
    found = {}
    for problem in comparison.problems:
        metric = comparison.metrics[problem.task][0]
        ranked = [described(choice, seed) for choice in choices(comparison, problem, metric)]
        found[problem.name] = {"metric": metric.name, "methods": ranked}
    text = json.dumps(found, indent=1)
    (folder / _BEST_FILE).write_text(text + "\n", encoding="utf-8")


def read_best(folder: Path, dataset: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Find the best estimator of polyleaf in a comparison's folder.

    Parameters
    ----------
    folder : Path
        That `polyleaf compare` or `Comparison.report` wrote.
    dataset : str
        The data set to fit; if the comparison was on a single one, any name.

    Returns
    -------
    cls : type
        An estimator of polyleaf.
    parameters : dict
        Those that are not the default.
    chosen : dict
        What the folder says of it: "method", "score", and so on, and "better", the names of
        methods with a better score that are not polyleaf's.

    Raises
    ------
    ValueError
        If the folder has no such file, or no such data set, or it is damaged.
    """
    path = folder / _BEST_FILE
    if not path.is_file():
        raise ValueError(
            f"{folder} must be the folder of a comparison, with a file {_BEST_FILE}; there is "
            "none. Write it with `polyleaf compare DATA --out FOLDER`."
        )
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        ranked = {name: entry["methods"] for name, entry in found.items()}
        name = dataset if len(ranked) > 1 else next(iter(ranked), dataset)
        if name not in ranked:
            raise _OtherDataError
        is_usable = [_known(entry["estimator"]) is not None for entry in ranked[name]]
        place = is_usable.index(True) if any(is_usable) else None
        chosen = None if place is None else dict(ranked[name][place])
        better = [entry["method"] for entry in ranked[name][:place]]
    except _OtherDataError:
        raise ValueError(
            f"{folder} compares the data sets {', '.join(map(repr, ranked))}; got "
            f"{shown(dataset)}. "
            "Name one of them, or compare on this one."
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if chosen is None:
        raise ValueError(
            f"{folder} has no estimator of polyleaf with a score on {name!r} whose parameters a "
            "file can hold. Compare with methods=['RandomForest', 'Boosting'], for example."
        )
    cls, parameters = _known(chosen["estimator"]), dict(chosen["parameters"])
    return cls, parameters, chosen | {"better": better}


def _known(name: Any) -> Any:
    """Give the estimator of that name that can be made of parameters alone, if there is one."""
    if not isinstance(name, str):
        return None
    return META_ESTIMATORS[name] if name in _AUTOS else ESTIMATORS.get(name)


_AUTOS = ("AutoRegressor", "AutoClassifier")


class _OtherDataError(Exception):
    """The folder is about other data sets."""


def described(choice: Choice, random_state: int) -> dict[str, Any]:
    """Describe a choice in JSON's types, for `polyleaf fit --from`.

    An estimator of polyleaf whose parameters JSON can express is named with those that are not
    the default; "estimator" is None for others.
    """
    found = {
        "method": choice.method.name,
        "group": choice.method.group,
        "score": choice.score,
        "settings": plain_settings(choice.settings),
        "estimator": None,
        "parameters": {},
    }
    model = choice.estimator(random_state)
    name = type(model).__name__
    if _known(name) is not type(model):
        return found
    defaults = type(model)().get_params(deep=False)
    given = {
        key: value
        for key, value in model.get_params(deep=False).items()
        if key != "random_state" and repr(value) != repr(defaults[key])
    }
    try:
        is_kept = json.loads(json.dumps(given)) == given
    except TypeError:
        is_kept = False
    return found | {"estimator": name, "parameters": given} if is_kept else found
