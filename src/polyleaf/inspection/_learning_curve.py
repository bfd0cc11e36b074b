"""The learning curve of an ensemble over its members."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.matrices import is_sparse, read_sparse
from polyleaf.checks.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_learning_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    score: Callable[[Any, Any], float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of an ensemble's first member, its first two, and so on.

    Parameters
    ----------
    model : estimator
        Fitted, with `staged_predict`.
    X : array-like, frame or sparse matrix of shape (n, p)
        Rows that the model has not seen.
    y : array-like of shape (n,) or (n, d)
        What is true of them.
    score : callable, optional
        Takes y and predictions, and gives a number; by default the share of correct labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf import GraphEnsembleClassifier
    >>> from polyleaf.datasets import make_circle_labels
    >>> from polyleaf.inspection import plot_learning_curve
    >>> X, Y = make_circle_labels(150, 8, random_state=0)
    >>> model = GraphEnsembleClassifier(n_estimators=5, random_state=0).fit(X[:100], Y[:100])
    >>> ax = plot_learning_curve(model, X[100:], Y[100:])
    """
    plt = require("matplotlib.pyplot", "plots")
    if not hasattr(model, "staged_predict"):
        raise TypeError(
            f"Expected an ensemble with staged_predict; got {type(model).__name__}, which has "
            "none."
        )
    measure = _share_correct if score is None else score
    curve = [measure(y, predicted) for predicted in model.staged_predict(X)]
    if ax is None:
        _, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    ax.plot(np.arange(1, len(curve) + 1), curve, label=type(model).__name__)
    name = "share of correct labels" if score is None else getattr(score, "__name__", "score")
    ax.set(xlabel="members", ylabel=str(name).replace("_", " "))
    return ax


def _share_correct(y: Any, predicted: Any) -> float:
    return float(np.mean(_dense(y) == _dense(predicted)))


def _dense(labels: Any) -> NDArray[Any]:
    if is_sparse(labels):
        return np.asarray(read_sparse(labels, "y").toarray())
    return np.asarray(labels)
