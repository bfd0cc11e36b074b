"""What estimators around fitted models tell of them."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted


class NameAndMethod:
    """A parameter that is a name, under which scikit-learn also expects a method.

    ``model.score`` is the name that the constructor was given, and can be called.

    Parameters
    ----------
    name : str
    method : callable
        Of the class.
    """

    def __init__(self, name: str, method: Callable[..., Any]) -> None:
        self._name = name
        self._method = method

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        value = vars(instance)[self._name]
        if type(value) is not str:
            return value
        called = _CalledName(value)
        called.method = self._method.__get__(instance)
        called.__signature__ = signature(called.method)
        return called


class _CalledName(str):
    """A text that can be called."""

    method: Callable[..., Any]
    __signature__: Signature

    def __call__(self, *args: Any, **given: Any) -> Any:
        return self.method(*args, **given)


class AroundModels:
    """Base of the estimators that keep fitted models and what they were calibrated by."""

    _fitted: Any

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def _fit_or_raise(self) -> Any:
        if not hasattr(self, "_fitted"):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet.")
        return self._fitted

    def _take_input_tags(self, tags: Any) -> None:
        """Take any X that the estimator inside takes."""
        inner = getattr(vars(self).get("estimator"), "__sklearn_tags__", None)
        if inner is not None:
            tags.input_tags = inner().input_tags

    @property
    def estimators_(self) -> list[Any]:
        """The fitted models: one, or one per fold."""
        return list(self._fit_or_raise().models)

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the models tell."""
        return int(self._fit_or_raise().models[0].n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of X's columns; only if it had some."""
        return np.asarray(self._fit_or_raise().models[0].feature_names_in_)

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        return int(self._fit_or_raise().n_outputs)

    @property
    def output_names_(self) -> NDArray[Any]:
        """Names of the outputs, else y0, y1, ...; of shape (d,)."""
        check_is_fitted(self)
        names = getattr(self._fitted.models[0], "output_names_", None)
        if names is None:
            names = [f"y{j}" for j in range(self._fitted.n_outputs)]
        return np.asarray(names, dtype=object)
