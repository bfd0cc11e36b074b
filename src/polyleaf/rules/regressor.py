"""Boosted rules for numbers: the rules of Rapp et al. 2020 with losses of regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.data import TrainingData, align_targets, read_numbers
from polyleaf.estimator.parameters import Parameter, documented
from polyleaf.estimator.regressor import Regressor
from polyleaf.losses import Huber, Loss, LossTargets, resolve
from polyleaf.rules.base import RuleEstimator
from polyleaf.rules.fitted import FittedRules
from polyleaf.rules.model import RuleSet
from polyleaf.rules.parameters import rule_declarations
from polyleaf.rules.training import check_memory_of_rules, train_rules

#: Its square is a number; and sums of the other are.
_LARGEST_VALUE, _LARGEST_NORMALIZED = 1e150, 1e300


@documented
class RuleRegressor(RuleEstimator, Regressor):
    """Boosted rules for one or many targets.

    A rule is a conjunction of conditions and a head of numbers that it adds to the predictions of
    the rows it covers. The default rule predicts the best constant.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    rules_ : DataFrame
        Body, head, coverage, support and gain of every rule, the default rule first.
    n_rules_ : int
        Fewer than asked for if some found neither a condition nor anything to add.
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    validation_losses_ : ndarray
        Mean loss of the held-out rows after every rule; empty without ``early_stopping``.

    See Also
    --------
    RuleClassifier : for labels and classes.
    polyleaf.inspection.rules_text, polyleaf.inspection.plot_rules : to read rules.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import RuleRegressor
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> Y = np.column_stack([X[:, 0] > 5, 10 * (X[:, 0] > 13)]).astype(float)
    >>> model = RuleRegressor(n_rules=200, random_state=0).fit(X, Y)
    >>> model.predict([[2.0], [9.0], [17.0]]).round() + 0.0
    array([[ 0.,  0.],
           [ 1.,  0.],
           [ 1., 10.]])
    """

    _unobserved = "They are predicted as 0."
    _declared: ClassVar[dict[str, Parameter]] = rule_declarations(
        "regression",
        "What the rules minimise: the squared or absolute error, or Huber's loss between them.",
    )

    def __init__(
        self,
        *,
        n_rules: int = 500,
        loss: Any = "squared_error",
        huber_delta: float = 1.0,
        learning_rate: float = 0.1,
        head: str = "complete",
        head_size: int | float = 0.5,
        projection: Any = None,
        step: str = "guarded",
        max_conditions: int | None = None,
        min_coverage: int | float = 1,
        max_features: int | float | str | None = "log2+1",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        bootstrap: bool = True,
        l2_regularization: float = 1.0,
        l1_regularization: float = 0.0,
        normalize_outputs: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def _train(self, data: TrainingData) -> FittedRules:
        targets = data.targets
        check_memory_of_rules(self, targets, self._loss())
        values = targets.dense_values()
        centre, unit = _standard_units(
            values, targets.observed, targets.weights, bool(self.normalize_outputs)
        )
        values = (values - centre) / unit
        size = float(max(values.max(), -values.min()))
        rules, losses = train_rules(
            self, data, self._loss(), values, size, starts_at_baseline=True
        )
        rules = _in_units(rules, centre, unit)
        return FittedRules(data.schema, targets.schema, rules, losses, centre=centre, unit=unit)

    def _loss(self) -> Loss:
        return Huber(float(self.huber_delta)) if self.loss == "huber" else resolve(self.loss)

    def predict(self, X: Any) -> Any:
        """Predict all targets.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            As Y was given: one- or two-dimensional, dense or sparse.
        """
        return self._shaped(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict by the default rule, the first two rules, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
        """
        for scores in self._staged_scores(X):
            yield self._shaped(scores.copy())

    def _shaped(self, scores: NDArray[np.float64]) -> Any:
        if self._targets.is_1d:
            return scores[:, 0]
        return sparse.csr_array(scores) if self._targets.is_sparse else scores

    def _read_targets(self, y: Any, n_rows: int) -> LossTargets:
        targets = read_numbers(y, n_rows, estimator_name=type(self).__name__)
        targets = align_targets(targets, self._targets, "y")
        values = self._unit_scores(targets.dense_values())
        return LossTargets(values, targets.observed, targets.schema.channel_offsets)

    @property
    def _units(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        centre, unit = self._fitted.centre, self._fitted.unit
        assert centre is not None
        assert unit is not None
        return centre, unit

    def _unit_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        centre, unit = self._units
        return np.asarray((scores - centre) / unit)

    def _unit_rules(self) -> NDArray[np.float64]:
        heads = self._rules.heads()
        centre, unit = self._units
        heads[0] -= centre
        return np.asarray(heads / unit)


def _standard_units(
    values: NDArray[np.float64],
    observed: NDArray[np.bool_] | None,
    weights: NDArray[np.float64] | None,
    normalize: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the mean of every output, and its standard deviation (1 if it is 0).

    They are computed of values below 1, so that no square is too large or too small a number.
    """
    largest = np.abs(values).max(axis=0)
    limit = _LARGEST_NORMALIZED if normalize else _LARGEST_VALUE
    if largest.max() > limit:
        raise ValueError(
            f"y must have no number beyond {limit:.0e} with normalize_outputs={normalize}; got "
            f"{largest.max():.3g}. Give it in another unit."
        )
    scale = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)
    values = values / scale
    shares = np.ones(values.shape)
    if weights is not None:
        shares *= weights[:, None] if weights.ndim == 1 else weights
    if observed is not None:
        shares *= observed
    totals = shares.sum(axis=0)
    shares /= np.where(totals > 0, totals, 1.0)
    centre = (shares * values).sum(axis=0)
    if not normalize:
        return centre * scale, np.ones_like(centre)
    spread = np.sqrt((shares * (values - centre) ** 2).sum(axis=0))
    is_constant = spread <= 1e-12 * np.maximum(np.abs(centre), 1e-300)
    return centre * scale, np.where(is_constant, 1.0, spread * scale)


def _in_units(rules: RuleSet, centre: NDArray[np.float64], unit: NDArray[np.float64]) -> RuleSet:
    """Turn heads into the units of Y; the default rule starts from the centre."""
    score = rules.score * unit[rules.output]
    first = slice(0, int(rules.head_offsets[1]))
    score[first] += centre[rules.output[first]]
    return replace(rules, score=score)
