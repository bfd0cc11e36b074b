"""Sampled Shapley values of any fitted estimator, with their standard errors.

Exact values need trees whose outputs add up. Probabilities of a blend do not: they are walked to,
from a background row z to the explained row x, one feature after the other in a random order and
in the reverse of it. What each step adds, averaged over the walks, is an unbiased estimate of the
interventional value (Castro, Gomez and Tejada 2009; pairs of reversed orders: Mitchell et al.
2022), and the spread over the pairs tells its error. Every pair adds up exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import described, expect_count
from polyleaf.checks.randomness import read_random_state
from polyleaf.data import BinnedData, whole_rows
from polyleaf.estimator.wording import feature_names_of
from polyleaf.inspection._channels import NamedChannels
from polyleaf.inspection._shap_values import ShapValues
from polyleaf.trees.additive import ChannelChoice

Floats = NDArray[np.float64]

#: Values of X that are predicted at a time.
_BLOCK_VALUES = 2**22
#: Outputs of them at a time.
_BLOCK_OUTPUTS = 2**23
#: Each is a prediction of every row for every feature, twice.
_MOST_WALKS = 1_000_000


@dataclass(frozen=True, eq=False)
class SampledShapValues(ShapValues):
    """What every feature adds to every output, by sampling; made by `sampled_shap_values`.

    All that `ShapValues` has, and how far the values may be off.

    Attributes
    ----------
    errors : ndarray of shape (n, p, k), float32
        Standard error of each value; NaN with one walk.

    Examples
    --------
    >>> from polyleaf import RandomForestClassifier
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.inspection import sampled_shap_values
    >>> X, Y = make_multilabel(80, 5, 3, random_state=0)
    >>> model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, Y)
    >>> found = sampled_shap_values(model, X[:2], X, n_walks=4, random_state=0)
    >>> found.errors.shape == found.values.shape
    True
    """

    errors: NDArray[np.float32] | None = None


def sampled_shap_values(
    model: Any,
    X: Any,
    background: Any,
    *,
    outputs: Any = None,
    n_walks: int = 32,
    random_state: Any = None,
) -> SampledShapValues:
    """Explain predictions of any fitted estimator: what each feature adds to each output.

    Interventional Shapley values of predicted numbers or probabilities, estimated by walks from
    background rows to the explained ones. Use it where `shap_values` refuses: for blends that
    predict probabilities, or that hold a linear model or neighbours. Trees and rules alone have
    exact values.

    Parameters
    ----------
    model : estimator of polyleaf
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
        A few rows.
    background : array-like, frame or sparse matrix of shape (n_background, p)
        Rows whose values absent features take, such as some training rows. Each walk starts at
        one of them.
    outputs : optional
        As in `shap_values`.
    n_walks : int, default=32
        Pairs of walks; four times as many halve the errors. A pair asks for 2 p predictions of
        every row.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    SampledShapValues
        ``base_values + values.sum(axis=1)`` is the prediction, exactly; `errors` are the standard
        errors of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import AutoClassifier
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.inspection import sampled_shap_values
    >>> X, Y = make_multilabel(100, 4, 2, random_state=0)
    >>> model = AutoClassifier(budget="small", cv=2, random_state=0).fit(X, Y)
    >>> found = sampled_shap_values(model, X[:3], X, n_walks=8, random_state=0)
    >>> whole = found.base_values + found.values.sum(axis=1)
    >>> np.allclose(whole, model.predict_proba(X[:3]), atol=1e-5)
    True
    """
    expect_fitted(model)
    if not hasattr(model, "_targets") or not hasattr(model, "_encode"):
        raise TypeError(
            f"model must be a fitted estimator of polyleaf; got {described(model)}. Of a wrapper, "
            "explain its estimator_."
        )
    n_walks = expect_count("n_walks", n_walks, 1)
    if n_walks > _MOST_WALKS:
        raise ValueError(
            f"n_walks must be an integer, at most {_MOST_WALKS:,}; got {n_walks}. Errors fall "
            "with its square root: fewer walks are enough."
        )
    targets, features = model._targets, model._features
    if targets.kind == "mixed":
        raise TypeError("Sampled values need outputs of one kind; explain with shap_values.")
    channels = NamedChannels.of(model, targets.n_channels)
    choice, names, numbers = channels.choose(outputs)
    rows, starts = (_dense(model._encode(each)) for each in (X, background))
    rng = np.random.default_rng(read_random_state(random_state).randint(2**31 - 1))
    walker = _Walker(model, features, targets, choice, rows)
    start_at = rng.permutation(max(n_walks, starts.shape[0]))[:n_walks] % starts.shape[0]
    shape = (rows.shape[0], rows.shape[1], choice.n_columns)
    sums, squares = np.zeros(shape), np.zeros(shape)
    for start in start_at:
        order = rng.permutation(rows.shape[1])
        pair = 0.5 * (walker.walk(starts[start], order) + walker.walk(starts[start], order[::-1]))
        sums += pair
        squares += pair**2
    values = sums / n_walks
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(squares / n_walks - values**2, 0.0) / (n_walks - 1.0)
    errors = np.full(shape, np.nan) if n_walks == 1 else np.sqrt(spread)
    base = walker.predict(starts[start_at]).mean(axis=0)
    return SampledShapValues(
        values.astype(np.float32),
        base,
        numbers,
        feature_names_of(model),
        names,
        rows,
        errors=errors.astype(np.float32),
    )


class _Walker:
    """Walks from a background row to all explained rows, feature by feature.

    Parameters
    ----------
    model : estimator
    features : FeatureSchema
    targets : TargetSchema
    choice : ChannelChoice
    rows : ndarray of shape (n, p)
        The explained rows, encoded.
    """

    def __init__(
        self, model: Any, features: Any, targets: Any, choice: ChannelChoice, rows: Any
    ) -> None:
        self._model, self._features, self._targets = model, features, targets
        self._choice, self._rows = choice, rows

    def walk(self, start: NDArray[Any], order: NDArray[np.intp]) -> Floats:
        """Give what each feature adds on the way, of shape (n, p, k)."""
        n_rows, n_features = self._rows.shape
        moves = np.empty((n_rows, n_features, self._choice.n_columns))
        now = np.tile(start, (n_rows, 1))
        before = np.repeat(self.predict(start[None]), n_rows, axis=0)
        largest = max(1, n_features * n_rows), max(1, self._targets.n_channels * n_rows)
        n_steps = max(1, min(_BLOCK_VALUES // largest[0], _BLOCK_OUTPUTS // largest[1]))
        for first in range(0, n_features, n_steps):
            steps = order[first : first + n_steps]
            stages = []
            for feature in steps:
                now[:, feature] = self._rows[:, feature]
                stages.append(now.copy())
            after = self.predict(np.concatenate(stages)).reshape(len(steps), n_rows, -1)
            path = np.concatenate([before[None], after])
            moves[:, steps] = np.diff(path, axis=0).transpose(1, 0, 2)
            before = after[-1]
        return moves

    def predict(self, rows: NDArray[Any]) -> Floats:
        """Predict the chosen channels of encoded rows, of shape (n, k)."""
        X = BinnedData.of_encoded(self._features, rows)
        is_regression = self._targets.kind == "regression"
        if not is_regression and not hasattr(self._model, "predict_proba"):
            raise TypeError(
                f"Sampled values need predicted probabilities; {type(self._model).__name__} has "
                "none."
            )
        found: Any = self._model.predict(X) if is_regression else self._model.predict_proba(X)
        if isinstance(found, list):
            found = np.concatenate(found, axis=1)
        found = np.asarray(found.toarray() if hasattr(found, "toarray") else found, np.float64)
        if self._targets.kind == "binary":
            found = found[:, 1]
        found = found.reshape(rows.shape[0], -1)
        if found.shape[1] != self._targets.n_channels:
            raise TypeError("Sampled values need one number per output: explain quantiles alone.")
        return np.asarray(self._choice(found))


def _dense(encoded: Any) -> NDArray[Any]:
    rows: Any = whole_rows(encoded)
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
