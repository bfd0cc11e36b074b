"""What AutoRegressor and AutoClassifier have in common: fit, and what was learnt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf.auto.additive import blend_as_trees
from polyleaf.auto.candidates import candidates_for
from polyleaf.auto.fitted import FittedBlend
from polyleaf.auto.judging import resolve_metric
from polyleaf.auto.lighter import imitating, pruned
from polyleaf.auto.parameters import AUTO_PARAMETERS
from polyleaf.auto.problem import Problem, limited
from polyleaf.auto.race import Clock, count_steps
from polyleaf.auto.training import train_alone, train_blend
from polyleaf.checks.numbers import shown
from polyleaf.checks.optional import require
from polyleaf.data import BinnedData, TrainingData, read_features, read_targets
from polyleaf.estimator.base import Estimator
from polyleaf.estimator.parameters import Parameter, is_int, is_real
from polyleaf.estimator.running import progress_bar
from polyleaf.tuning.held_out import make_folds

if TYPE_CHECKING:
    from polyleaf.data import Targets
    from polyleaf.trees.additive import AdditiveTrees

#: Fewer rows tell nothing about which candidate is better.
_FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class AutoData:
    """What `fit` was given, read.

    Attributes
    ----------
    binned : BinnedData
    targets : Targets
    given : ndarray or None
        Weights as they were given.
    """

    binned: BinnedData
    targets: Targets
    given: NDArray[np.float64] | None


class AutoEstimator(Estimator):
    """Base of the two."""

    _declared: ClassVar[dict[str, Parameter]] = AUTO_PARAMETERS
    _fitted_type = FittedBlend
    _fitted: FittedBlend

    def __init__(
        self,
        *,
        budget: str = "medium",
        metric: Any = None,
        time_limit: float | None = None,
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        output_names: Any = None,
    ) -> Self:
        """Race the families, blend the winners and train them on all rows.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Numbers, or classes and labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
        groups : array-like of shape (n,), optional
            Rows of a group stay in one fold.
        output_names : sequence of str, of length d, optional
            Names of the outputs, if y has none: an array or a sparse matrix.

        Returns
        -------
        self
        """
        told = {"X": X, "y": y, "groups": groups}
        return self._fit(X, y, sample_weight, output_names, told=told)

    def _read(
        self, X: Any, y: Any, sample_weight: Any, output_names: Any, **told: Any
    ) -> AutoData:
        resolve_metric(self.metric, self._task)
        name = type(self).__name__
        binned = read_features(X, None, name)
        targets, given = read_targets(
            y,
            sample_weight,
            binned.n_rows,
            task=self._task,
            output_names=output_names,
            estimator_name=name,
        )
        return AutoData(binned, targets, given)

    def _train(self, data: AutoData, told: dict[str, Any] | None = None) -> FittedBlend:
        told = told or {}
        clock, rng = Clock(self.time_limit), self._rng()
        metric = resolve_metric(self.metric, self._task)
        problem = Problem(data.binned, data.targets, data.given, [], self._n_threads())
        everything = problem.training(_MaxBins())  # checks the weights
        folds = self._folds(told, everything, int(rng.integers(2**31)))
        if folds is None:
            return train_alone(problem, self.n_jobs, rng)
        problem = replace(
            problem,
            folds=limited(folds, data.targets.n_channels),
            is_divided_at_random=is_int(self.cv, 2) and told.get("groups") is None,
        )
        taking_part = candidates_for(problem, self.budget)
        n_steps = sum(count_steps(candidate, problem) for candidate in taking_part)
        with progress_bar("racing", n_steps, self.verbose) as advance:
            return train_blend(
                problem,
                metric,
                budget=self.budget,
                clock=clock,
                rng=rng,
                n_jobs=self.n_jobs,
                advance=advance,
            )

    def _folds(self, told: dict[str, Any], data: TrainingData, seed: int) -> Any:
        """Divide the rows that count; None if there are too few to compare anything."""
        rows, groups, cv = data.weighted_rows.astype(np.intp), told.get("groups"), self.cv
        if groups is not None:
            groups = _read_groups(groups, data.n_rows)
        if not is_int(cv, 2):
            targets = data.targets
            pairs = make_folds(cv, told["X"], told["y"], targets, groups, seed)
            counts = np.zeros(data.n_rows, bool)
            counts[rows] = True
            return [(train[counts[train]], test[counts[test]]) for train, test in pairs]
        n_units = rows.size if groups is None else np.unique(groups[rows]).size
        if rows.size < _FEWEST_ROWS or n_units < 2:
            return None
        targets = data.targets.at(rows)
        own = None if groups is None else groups[rows]
        n_folds = min(int(cv), n_units)
        pairs = make_folds(n_folds, np.zeros((rows.size, 1)), None, targets, own, seed)
        return [(rows[train], rows[test]) for train, test in pairs if test.size]

    # What was learnt ---------------------------------------------------------------------------

    @property
    def members_(self) -> list[tuple[str, Any]]:
        """The members of the blend, as (name, fitted estimator)."""
        check_is_fitted(self)
        return list(zip(self._fitted.names, self._fitted.members))

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weight of each member in each output, of shape (n_outputs_, n_members)."""
        check_is_fitted(self)
        return self._fitted.weights.copy()

    @property
    def leaderboard_(self) -> Any:
        """What was tried, best first, as a pandas DataFrame.

        Columns are name; score, the mean of the metric over folds of held-out rows; score_std,
        its standard deviation over the folds; work, in millions of additions; seconds; and
        weight, the mean weight in the blend. A candidate that the budget or the time did not
        allow to finish has weight 0, one that was never begun has no score.
        """
        check_is_fitted(self)
        pandas = require("pandas", "leaderboard_")
        return pandas.DataFrame(list(self._fitted.leaderboard))

    # Lighter models ----------------------------------------------------------------------------

    def prune(self, X: Any, *, max_ms_per_row: float) -> Any:
        """Make a blend of fewer members that predicts a row in so many milliseconds.

        Members are timed on the rows; those that bring least are left out, and the others weighed
        again by their errors on held-out rows, which the model keeps.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            Rows as they will be predicted: a batch as large as those to come.
        max_ms_per_row : float
            One member is kept, however long it takes.

        Returns
        -------
        AutoRegressor or AutoClassifier
            A fitted copy; its attributes `loss_` and `full_loss_` are the mean squared error of
            held-out rows with those members, and with all: of numbers relative to the variance.
        """
        encoded = self._encode(X)
        if not is_real(max_ms_per_row, 0.0) or max_ms_per_row <= 0:
            raise ValueError(
                f"max_ms_per_row must be a number above 0; got {shown(max_ms_per_row)}."
            )
        rows = BinnedData.of_encoded(self._features, encoded)
        lighter = type(self)(**self.get_params(deep=False))
        lighter._fitted = pruned(self._fitted, rows, float(max_ms_per_row))
        return lighter

    def distil(self, family: Any, X: Any) -> Any:
        """Train one model on what the blend predicts for X, labelled or not.

        Numbers are learnt as they are; classes and labels are drawn by their probabilities.

        Parameters
        ----------
        family : str or estimator
            ``'Boosting'``, ``'RandomForest'``, ``'Rule'``, ``'Tree'`` and so on, or an estimator
            of polyleaf with parameters of your own, of which a copy is fitted.
        X : array-like, frame or sparse matrix of shape (n, p)
            The more rows, the better the imitation.

        Returns
        -------
        estimator
            Fitted; its attribute `loss_` is how far its predictions are from those of the blend
            (root mean square) on a fifth of the rows, when trained on the others.
        """
        check_is_fitted(self)
        return imitating(self, family, X)

    @property
    def loss_(self) -> float:
        """Mean squared error of held-out rows with the members that `prune` has kept."""
        return self._measured[0]

    @property
    def full_loss_(self) -> float:
        """Mean squared error of held-out rows with all members, of a model that was pruned."""
        return self._measured[1]

    @property
    def _measured(self) -> tuple[float, float]:
        check_is_fitted(self)
        losses = self._fitted.losses
        if losses is None:
            raise AttributeError("loss_ and full_loss_ exist only for models that prune has made.")
        return losses

    # Explanations ------------------------------------------------------------------------------

    def _additive(self) -> AdditiveTrees:
        """Give the blend as a sum of trees, if it is one."""
        check_is_fitted(self)
        return blend_as_trees(self._fitted)

    def _channels(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers or probabilities of every channel."""
        encoded = self._encode(X)
        return self._fitted.channels(BinnedData.of_encoded(self._features, encoded))


class _MaxBins:
    """Asks for the bins that nearly all candidates share."""

    max_bins = 255


def _read_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    found = np.asarray(groups)
    if found.shape != (n_rows,):
        raise ValueError(
            f"groups must have one entry for each of the {n_rows} rows; got shape {found.shape}."
        )
    return found
