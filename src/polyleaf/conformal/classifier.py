"""Label sets whose errors stay below a promised rate."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from polyleaf import metrics
from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import check_choice
from polyleaf.conformal.held_out import (
    METHODS,
    HeldOut,
    check_cv,
    names_for,
    train_held_out,
)
from polyleaf.conformal.label_models import (
    as_dense,
    check_delta,
    check_forest,
    hierarchy_of,
    threshold_levels,
)
from polyleaf.conformal.ranks import check_alpha
from polyleaf.conformal.reports import SetReport
from polyleaf.conformal.risks import (
    RISKS,
    Entries,
    controlled_threshold,
    false_negative_rate,
    losses_by_threshold,
    missed_entries,
    passing_threshold,
)
from polyleaf.conformal.wrapped import AroundModels
from polyleaf.data.wrapped_inputs import label_numbers, read_label_matrix, read_rows
from polyleaf.estimator.base import OneState
from polyleaf.estimator.label_scores import label_scores
from polyleaf.forests.out_of_bag import predict_out_of_bag


@dataclass(frozen=True, eq=False)
class FittedSets:
    """What a fit has learnt.

    Attributes
    ----------
    models : list of classifiers
    levels : tuple of Entries
        For the false-negative rate: of all labels, or of each level of the hierarchy.
    mean_losses : ndarray of shape (n_grid,), or None
        For the other risks: at every threshold that is tested.
    n_calibration : int
    n_outputs : int
    risk : str or callable
    by_level : bool
        As they were when it was fitted.
    """

    models: list[Any]
    levels: tuple[Entries, ...]
    mean_losses: NDArray[np.float64] | None
    n_calibration: int
    n_outputs: int
    risk: Any
    by_level: bool


class ConformalClassifier(
    OneState, AroundModels, MetaEstimatorMixin, ClassifierMixin, BaseEstimator
):
    """A multi-label classifier whose label sets err at most at a promised rate.

    The set of a row holds all labels whose probability reaches a threshold. Rows that the model
    was not trained on show which threshold keeps the promise, whatever the model and however bad
    its probabilities, as long as rows are exchangeable.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with `predict_proba`, scikit-learn's own too.
    method : {"split", "cross", "oob", "prefit"}, default="split"
        Which rows are not trained on. ``"split"``: one of `cv` folds. ``"cross"``: each fold
        once, by the model of the others; a set holds what any of the models puts into it, which
        errs on the safe side, though that is proven only for folds of one row. ``"oob"``: the
        rows that trees of a forest have not drawn; nothing is proven for few rows. ``"prefit"``:
        the estimator is fitted already, and `fit` gets other rows.
    risk : {"fnr", "fdr", "hamming", "jaccard"} or callable, default="fnr"
        What is promised to be at most alpha. ``"fnr"``: the expected share of a row's labels that
        its set lacks (conformal risk control). The others hold with probability 1 - delta
        (learn then test): ``"fdr"``, the share of a set that the row does not have;
        ``"hamming"``, the share of wrong labels; ``"jaccard"``, 1 less the Jaccard index; or your
        own losses, a function of labels (n, d) and sets (n, d) that gives (n,) in [0, 1].
    alpha : float, default=0.1
        The promised risk. `predict_set` takes another one.
    delta : float, default=0.1
        The probability with which the promise of a risk other than ``"fnr"`` may fail.
    by_level : bool, default=False
        Whether the false-negative rate is promised for each level of the estimator's hierarchy,
        with a threshold per level. Sets hold the ancestors of their labels.
    cv : int or splitter, default=5
        Number of random folds, or an object with `split`. ``"split"`` calibrates on the first.
    random_state : int, RandomState or None, default=None
        Draws the folds.

    Attributes
    ----------
    estimators_ : list of classifiers
        One, or with ``"cross"`` one per fold.
    classes_ : ndarray of shape (2,)
        0 and 1.
    n_calibration_ : int
        Number of calibration rows.
    n_outputs_, n_features_in_ : int
    output_names_ : ndarray of shape (n_outputs_,)
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.

    See Also
    --------
    ConformalRegressor : regions for numbers.
    TunedDecoder : the best label sets for a metric, without a promise.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei and Schuster (2024), Conformal risk control. Angelopoulos,
    Bates, Candes, Jordan and Lei (2021), Learn then test.

    Examples
    --------
    >>> from polyleaf import ConformalClassifier, RandomForestClassifier
    >>> from polyleaf.datasets import make_multilabel
    >>> X, Y = make_multilabel(1500, 8, 6, random_state=0)
    >>> forest = RandomForestClassifier(n_estimators=50, random_state=0)
    >>> model = ConformalClassifier(forest, alpha=0.1, random_state=0).fit(X[:1000], Y[:1000])
    >>> model.predict_set(X[1000:]).shape
    (500, 6)
    >>> report = model.evaluate(X[1000:], Y[1000:])
    >>> bool(report.risk < 0.13)
    True
    """

    _fitted: FittedSets

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "split",
        risk: Any = "fnr",
        alpha: float = 0.1,
        delta: float = 0.1,
        by_level: bool = False,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.risk = risk
        self.alpha = alpha
        self.delta = delta
        self.by_level = by_level
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        self._take_input_tags(tags)
        return tags

    def fit(self, X: Any, y: Any, *, output_names: Any = None) -> ConformalClassifier:
        """Train, and find thresholds on rows that were not trained on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed, if the estimator takes it.
        output_names : sequence of str, of length d, optional
            Names of the labels, if y has none and the estimator takes names.

        Returns
        -------
        ConformalClassifier
            Itself.
        """
        self._check()
        labels = read_label_matrix(y, type(self).__name__)
        X, y = read_rows(X, labels.shape[0]), label_numbers(y, labels)
        named = names_for(self.estimator, output_names, labels.shape[1])
        held_out = train_held_out(self, lambda: clone(self.estimator), X, y, named)
        probabilities, rows = self._held_out_probabilities(held_out, X, labels.shape[1])
        fitted = self._calibrate(held_out.models, labels[rows], probabilities)
        # All at once: an error above leaves an earlier fit as it was.
        self.__dict__.update(
            _fitted=fitted, _fit_facts=(time.time(), int(labels.shape[0])), _card=None
        )
        return self

    def _check(self) -> None:
        """Look at the parameters before anything is trained."""
        check_choice("method", self.method, METHODS)
        check_cv(self.cv)
        check_alpha(self.alpha)
        if not callable(self.risk):
            check_choice("risk", self.risk, tuple(RISKS))
        check_delta(self.delta)
        if not isinstance(self.by_level, (bool, np.bool_)):
            raise ValueError(f"by_level must be True or False; got {shown(self.by_level, 60)}.")
        if self.by_level and self.risk != "fnr":
            raise ValueError(
                "by_level=True is for risk='fnr', which ancestors of a set's labels cannot "
                f"harm; got risk={shown(self.risk, 60)}."
            )
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                "ConformalClassifier needs a classifier with predict_proba; "
                f"{type(self.estimator).__name__} has none."
            )
        if self.method == "oob":
            check_forest(self.estimator)

    def _held_out_probabilities(
        self, held_out: HeldOut, X: Any, n_labels: int
    ) -> tuple[Any, NDArray[np.intp]]:
        """Give probabilities by models that have not seen a row, and the rows they are of."""
        found = []
        for model, rows in zip(held_out.models, held_out.rows, strict=True):
            if self.method == "oob":
                outside = predict_out_of_bag(model._forest, model._encode(X), model._n_threads())
                kept = np.flatnonzero(outside.n_trees > 0)
                return outside.values[kept], kept
            part = X if self.method == "prefit" else _safe_indexing(X, rows)
            found.append(label_scores(model, part, n_labels))
        stacked = (
            sparse.csr_array(sparse.vstack(found, format="csr"))
            if is_sparse(found[0])
            else np.concatenate(found)
        )
        return stacked, np.concatenate(held_out.rows)

    def _calibrate(self, models: list[Any], labels: Any, probabilities: Any) -> FittedSets:
        """Keep what thresholds follow from, for every alpha."""
        hierarchy = hierarchy_of(models[0])
        if hierarchy is not None:
            labels = hierarchy.close(labels)
        n_rows, n_labels = labels.shape
        levels: tuple[Entries, ...] = ()
        means = None
        if isinstance(self.risk, str) and self.risk == "fnr":
            levels = tuple(
                missed_entries(labels, probabilities, chosen)
                for chosen in threshold_levels(models[0], n_labels, self.by_level)
            )
        else:
            loss = RISKS[self.risk] if isinstance(self.risk, str) else self.risk
            means = losses_by_threshold(as_dense(labels), as_dense(probabilities), loss)
        return FittedSets(
            models, levels, means, int(n_rows), int(n_labels), self.risk, bool(self.by_level)
        )

    @property
    def classes_(self) -> NDArray[np.int64]:
        """0 and 1."""
        self._fit_or_raise()
        return np.array([0, 1])

    @property
    def n_calibration_(self) -> int:
        """Number of calibration rows."""
        return int(self._fit_or_raise().n_calibration)

    # Predictions -------------------------------------------------------------------------------

    def thresholds(self, alpha: float | None = None) -> NDArray[np.float64]:
        """Give the probability from which on each label belongs to a set.

        Parameters
        ----------
        alpha : float, optional
            None: that of the constructor.

        Returns
        -------
        ndarray of shape (d,), float64
            Above 1 if sets are empty.

        Raises
        ------
        ValueError
            If no threshold keeps a risk other than ``"fnr"`` below alpha.
        """
        check_is_fitted(self)
        alpha = check_alpha(self.alpha if alpha is None else alpha)
        fitted = self._fitted
        if fitted.mean_losses is not None:
            delta = check_delta(self.delta)
            found = passing_threshold(
                fitted.mean_losses, fitted.n_calibration, alpha, delta, fitted.risk
            )
            if found is None:
                raise ValueError(
                    f"No threshold keeps the risk {fitted.risk!r:.60} at most {alpha:g} with "
                    f"probability {1 - delta:g}: on {fitted.n_calibration} calibration rows the "
                    f"smallest mean is {fitted.mean_losses.min():.3g}. Take a larger alpha or "
                    "delta, more calibration rows, or a better estimator."
                )
            return np.full(fitted.n_outputs, found)
        thresholds = np.empty(fitted.n_outputs)
        chosen = threshold_levels(fitted.models[0], fitted.n_outputs, fitted.by_level)
        for entries, level in zip(fitted.levels, chosen, strict=True):
            thresholds[level] = controlled_threshold(entries, alpha)
        return thresholds

    def predict_set(self, X: Any, alpha: float | None = None) -> Any:
        """Predict label sets that keep the promise.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        alpha : float, optional
            None: that of the constructor.

        Returns
        -------
        ndarray of shape (n, d), int64, or csr_array
            1 for the labels in the set; sparse if the probabilities are and no threshold is 0.
        """
        thresholds = self.thresholds(alpha)
        probabilities = self.predict_proba(X)
        if is_sparse(probabilities) and (thresholds > 0).all():
            held = probabilities.tocsr(copy=True)
            held.data = (held.data >= thresholds[held.indices]).astype(np.int64)
            held.eliminate_zeros()
            sets: Any = held.astype(np.int64)
        else:
            sets = (as_dense(probabilities) >= thresholds).astype(np.int64)
        hierarchy = hierarchy_of(self._fitted.models[0])
        return sets if hierarchy is None else hierarchy.close(sets)

    def predict(self, X: Any) -> Any:
        """Predict label sets that keep the promise, as `predict_set`.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, d), int64, or csr_array
        """
        return self.predict_set(X)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probabilities that thresholds are compared with.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, d) or csr_array
            Those of the model; of several models the largest.
        """
        check_is_fitted(self)
        X, n_labels = read_rows(X), self._fitted.n_outputs
        found = [label_scores(model, X, n_labels) for model in self._fitted.models]
        largest = found[0]
        for other in found[1:]:
            both_dense = not is_sparse(largest) and not is_sparse(other)
            largest = np.maximum(largest, other) if both_dense else largest.maximum(other)
        return largest

    # Scores ------------------------------------------------------------------------------------

    def evaluate(self, X: Any, y: Any, *, alpha: float | None = None) -> SetReport:
        """Measure the risk and the size of sets on rows that were not trained on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.
        alpha : float, optional
            None: that of the constructor.

        Returns
        -------
        SetReport
        """
        sets = as_dense(self.predict_set(X, alpha))
        labels = as_dense(read_label_matrix(y, type(self).__name__))
        if labels.shape != sets.shape:
            raise ValueError(f"y must have the shape {sets.shape}; got {labels.shape}.")
        fitted = self._fitted
        loss = RISKS[fitted.risk] if isinstance(fitted.risk, str) else fitted.risk
        hierarchy = hierarchy_of(fitted.models[0])
        labels = labels if hierarchy is None else hierarchy.close(labels)
        there = labels == 1
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = (there & (sets == 1)).sum(axis=0) / there.sum(axis=0)
        by_level = None
        if hierarchy is not None:
            chosen = threshold_levels(fitted.models[0], fitted.n_outputs, True)
            by_level = np.array(
                [false_negative_rate(labels[:, c], sets[:, c]).mean() for c in chosen]
            )
        return SetReport(
            risk_name=fitted.risk if isinstance(fitted.risk, str) else "risk",
            alpha=check_alpha(self.alpha if alpha is None else alpha),
            risk=float(np.mean(loss(labels, sets))),
            set_size=float(sets.sum(axis=1).mean()),
            n_labels=float(there.sum(axis=1).mean()),
            recall_by_label=recall,
            risk_by_level=by_level,
            label_names=tuple(self.output_names_.tolist()),
            is_by_level=bool(fitted.by_level),
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the mean F1 score of the sets, row by row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n, d)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        return float(metrics.example_f1_score(y, self.predict(X), sample_weight=sample_weight))

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        from polyleaf.conformal.storage import classifier_to_file

        return classifier_to_file(self)

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        from polyleaf.conformal.storage import classifier_from_file

        return classifier_from_file(arrays, metadata)
