"""Train models so that every calibration row is predicted by one that has not seen it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from polyleaf.checks.numbers import shown
from polyleaf.checks.randomness import read_random_state
from polyleaf.data.read_targets import check_output_names

METHODS = ("split", "cross", "oob", "prefit")

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Models, and which rows each of them is calibrated on.

    Attributes
    ----------
    models : list of estimators
        Fitted.
    rows : list of ndarray of int
        The calibration rows of each; for ``"oob"`` and ``"prefit"`` all.
    train : list of ndarray of int
        The rows that each was trained on; for ``"prefit"`` none.
    """

    models: list[Any]
    rows: list[Rows]
    train: list[Rows]


def check_cv(cv: Any) -> None:
    """Raise a ValueError unless cv is a number of folds or a splitter."""
    is_count = isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) and cv >= 2
    if not is_count and (isinstance(cv, (str, type)) or not hasattr(cv, "split")):
        raise ValueError(
            f"cv must be an integer >= 2 or an object with split; got {shown(cv, 60)}."
        )


def names_for(estimator: Any, output_names: Any, n_outputs: int) -> dict[str, Any]:
    """Give the argument by which an estimator's `fit` is told names of outputs, if any."""
    if output_names is None:
        return {}
    if not has_fit_parameter(estimator, "output_names"):
        raise ValueError(
            f"output_names needs an estimator whose fit takes names; {estimator!r:.60} does not. "
            "Give y as a data frame, or leave output_names out."
        )
    return {"output_names": check_output_names(output_names, n_outputs)}


def train_held_out(
    wrapper: Any, new_model: Callable[[], Any], X: Any, y: Any, named: dict[str, Any]
) -> HeldOut:
    """Train by the method of an estimator around another one.

    Parameters
    ----------
    wrapper : ConformalRegressor or ConformalClassifier
        Its estimator, method, cv and random_state.
    new_model : callable
        Makes a model to be trained.
    X, y : of which rows can be taken
    named : dict
        More for `fit` of the models.
    """
    n_rows = len(X) if isinstance(X, (list, tuple)) else int(X.shape[0])
    everything = np.arange(n_rows)
    if wrapper.method == "prefit":
        check_is_fitted(wrapper.estimator)
        return HeldOut([wrapper.estimator], [everything], [everything[:0]])
    if wrapper.method == "oob":
        return HeldOut([new_model().fit(X, y, **named)], [everything], [everything])
    pairs = _folds(wrapper.cv, wrapper.random_state, X, y, n_rows, wrapper.method == "split")
    models = [
        new_model().fit(_safe_indexing(X, train), _safe_indexing(y, train), **named)
        for train, _ in pairs
    ]
    return HeldOut(models, [test for _, test in pairs], [train for train, _ in pairs])


def _folds(
    cv: Any, random_state: Any, X: Any, y: Any, n_rows: int, only_first: bool
) -> list[tuple[Rows, Rows]]:
    """Find training and calibration rows: of all folds, or of the first."""
    if isinstance(cv, (int, np.integer)):
        if n_rows < cv:
            raise ValueError(
                f"cv={int(cv)} needs at least as many rows; got n_samples={n_rows}. Use a smaller "
                "cv."
            )
        state = random_state
        if isinstance(state, np.random.Generator):
            state = int(state.integers(2**31))
        cv = KFold(int(cv), shuffle=True, random_state=read_random_state(state))
        pairs = cv.split(np.zeros(n_rows))
    else:
        pairs = cv.split(X, y)
    found = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    found = found[:1] if only_first else found
    tested = np.concatenate([test for _, test in found]) if found else np.empty(0)
    if not found or any(not train.size or not test.size for train, test in found):
        raise ValueError("cv must give rows to train on and rows to calibrate on; it gave none.")
    if np.unique(tested).size < tested.size:
        raise ValueError(
            "cv must test a row at most once, so that calibration rows count alike; it tested "
            f"{tested.size - np.unique(tested).size} again. Use KFold or another partition."
        )
    return found
