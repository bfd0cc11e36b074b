"""Methods to compare, collected from the adapters."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmarks.versus import adapters
from benchmarks.versus.tasks import Case


def call_predict(model: Any, X: Any) -> Any:
    """Predict as scikit-learn does."""
    return model.predict(X)


def applies_always(case: Case) -> bool:
    """Take part in every case."""
    return True


@dataclass(frozen=True)
class Method:
    """One estimator of one library.

    Parameters
    ----------
    name, task : str
    module : str
        What must be importable.
    make : callable
        Takes a `Case` and returns an unfitted estimator with ``fit(X, Y)``.
    predict : callable
        Takes the fitted estimator and X, and returns what the metrics of the task want.
    distribution : str
        The package whose version is recorded; `module` if empty.
    is_ours : bool
        Whether it is polyleaf's; all others are rivals.
    by_default : bool
        Whether it runs without being asked for.
    applies : callable
        Takes a `Case` and tells whether the method takes part in it.
    """

    name: str
    task: str
    module: str
    make: Callable[[Case], Any]
    predict: Callable[[Any, Any], Any] = call_predict
    distribution: str = ""
    is_ours: bool = False
    by_default: bool = True
    applies: Callable[[Case], bool] = applies_always

    @property
    def package(self) -> str:
        """The name of its library on the package index."""
        return self.distribution or self.module

    @property
    def is_installed(self) -> bool:
        """Whether its library is there."""
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # the package that it is part of
            return False


def methods_of(task: str) -> dict[str, Method]:
    """Return the methods of a task by name, in the order of their adapters' file names."""
    found: dict[str, Method] = {}
    for info in sorted(pkgutil.iter_modules(adapters.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{adapters.__name__}.{info.name}")
        for method in module.METHODS:
            if method.name in found:
                raise ValueError(
                    f"Each method needs a name of its own; {method.name!r} comes twice, "
                    f"the second time in {info.name}.py. Rename one."
                )
            if method.task == task:
                found[method.name] = method
    return found
