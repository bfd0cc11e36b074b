"""One output of a model, as an estimator of that output alone.

scikit-learn's displays know one output: they take the labels of a multi-label model for the two
classes of one output, and refuse several outputs with classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean


class _SingleOutput(BaseEstimator):  # type: ignore[misc]
    """Reads one output of a fitted model; it cannot be fitted itself.

    Parameters
    ----------
    model : estimator
        Fitted.
    output : str or int
    """

    def __init__(self, model: Any, output: str | int) -> None:
        self.model = model
        self.output = output

    def fit(self, X: Any, y: Any = None) -> Any:
        """Refuse: a single output is read off a fitted model."""
        raise TypeError(
            f"This reads {self.output!r} off a fitted {type(self.model).__name__}: fit that."
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name in ("n_features_in_", "feature_names_in_"):
            return getattr(self.model, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    @property
    def _number(self) -> int:
        return _number_of(self.model, self.output)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the one output, of shape (n,)."""
        return _column(self.model.predict(X), self._number)


class SingleOutputRegressor(RegressorMixin, _SingleOutput):  # type: ignore[misc]
    """One target of a fitted regressor; made by `single_output`.

    Parameters
    ----------
    model : estimator
        Fitted.
    output : str or int
    """


def _has_probabilities(one: Any) -> bool:
    return hasattr(one.model, "predict_proba")


class SingleOutputClassifier(ClassifierMixin, _SingleOutput):  # type: ignore[misc]
    """One label, or one output with classes, of a fitted classifier; made by `single_output`.

    Parameters
    ----------
    model : estimator
        Fitted.
    output : str or int
    """

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of this output, of shape (c,); 0 and 1 for a label."""
        classes = self.model.classes_
        if isinstance(classes, dict):  # a model of mixed kinds; labels have none there
            return np.asarray(classes.get(self.model.output_names_[self._number], [False, True]))
        return np.asarray(classes[self._number] if isinstance(classes, list) else classes)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of every class of the one output, of shape (n, c)."""
        found = self.model.predict_proba(X)
        if isinstance(found, dict):
            found = found[self.model.output_names_[self._number]]
            return found if found.ndim == 2 else np.column_stack([1.0 - found, found])
        if isinstance(found, list):
            return np.asarray(found[self._number])
        if len(self.model.output_names_) == 1 and found.shape[1] == self.classes_.size:
            return np.asarray(found)  # a column is a class
        share = _column(found, self._number)
        return np.column_stack([1.0 - share, share])


def single_output(model: Any, output: str | int) -> SingleOutputRegressor | SingleOutputClassifier:
    """Give one output of a fitted model as an estimator of that output alone.

    For scikit-learn's displays and for other tools that know one output: of a multi-label model
    ``PartialDependenceDisplay`` would silently show the wrong label, and it refuses several
    outputs with classes.

    Parameters
    ----------
    model : estimator of polyleaf
        Fitted.
    output : str or int
        Name or number of an output.

    Returns
    -------
    SingleOutputRegressor or SingleOutputClassifier
        With ``predict`` of shape (n,), and ``predict_proba`` of shape (n, c) if the model has it.

    Examples
    --------
    >>> from sklearn.inspection import partial_dependence
    >>> from polyleaf import RandomForestClassifier
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.inspection import single_output
    >>> X, Y = make_multilabel(n_samples=200, n_labels=5, random_state=0)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, Y)
    >>> one = single_output(forest, "y3")
    >>> one.predict_proba(X[:4]).shape, one.predict(X[:4]).shape
    ((4, 2), (4,))
    >>> partial_dependence(one, X, [0])["average"].shape
    (1, 100)
    """
    if not hasattr(type(model), "fit"):
        raise TypeError(f"Expected a fitted estimator of polyleaf; got {type(model).__name__}.")
    expect_fitted(model)
    if not hasattr(model, "output_names_"):
        raise TypeError(f"Expected a fitted estimator of polyleaf; got {type(model).__name__}.")
    number = _number_of(model, output)
    kinds = getattr(model, "target_types_", None)
    is_class = (
        hasattr(model, "classes_")
        if kinds is None
        else list(kinds.values())[number] in ("class", "label")
    )
    return SingleOutputClassifier(model, output) if is_class else SingleOutputRegressor(
        model, output
    )  # fmt: skip


def _number_of(model: Any, output: str | int) -> int:
    names = [str(name) for name in model.output_names_]
    if isinstance(output, str):
        if output not in names:
            raise ValueError(
                f"output must be the name or number of an output; got {shown(output)}."
                f"{did_you_mean(output, names)}"
            )
        return names.index(output)
    is_number = isinstance(output, int | np.integer) and not isinstance(output, bool)
    if not is_number or not -len(names) <= output < len(names):
        raise ValueError(
            f"output must be a name or a number below {len(names)}, the number of outputs; got "
            f"{shown(output)}."
        )
    return int(output) % len(names)


def _column(values: Any, number: int) -> NDArray[Any]:
    """Take a column of what a model gives: an array, a frame or a sparse matrix."""
    if hasattr(values, "tocsc"):
        return np.asarray(values.tocsc()[:, [number]].toarray()[:, 0])
    found = np.asarray(values)
    return found if found.ndim == 1 else np.asarray(found[:, number])
