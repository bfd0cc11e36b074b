"""Boosting for classes and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf.boosting.base import BoostingEstimator
from polyleaf.boosting.checks import Callback
from polyleaf.data import (
    Targets,
    class_weights,
    combine_weights,
    decode_classes,
    read_classes,
    split_probabilities,
)
from polyleaf.estimator.classifier import LabelDecoding
from polyleaf.estimator.log_probabilities import LogProbabilities
from polyleaf.estimator.parameters import documented
from polyleaf.estimator.scores import ScoresClasses

#: Probabilities that are held at a time where labels are sparse.
_BLOCK_ENTRIES = 2**21


@documented
class BoostingClassifier(ScoresClasses, LogProbabilities, LabelDecoding, BoostingEstimator):
    """Gradient boosting of trees for one or many class outputs or labels.

    Every round grows one tree on the gradients of all labels, or on a few random combinations of
    them, and gives its leaves values in all labels: the cost of a round hardly grows with the
    number of labels. Y decides the task: binary, multi-class, multi-label (sparse matrices
    welcome) or multi-class multi-output.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray for multi-class multi-output problems
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    n_estimators_, best_iteration_ : int
        Number of rounds that are kept.
    projection_ : Projection or None
        The view of the outputs that was used; None: all of them.
    history_ : dict of str to ndarray of shape (n_rounds,)
        Mean loss after every round: "train_loss", "validation_loss" if there are validation
        rows, "validation_score" if there is an `eval_metric` (larger is better).
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_map_ : ndarray of shape (n_outputs_, n_outputs_)
        Which labels share structure.

    See Also
    --------
    BoostingRegressor : for numbers.
    RandomForestClassifier : trees that do not build on each other.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import BoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 1] > X[:, 2]]).astype(int)
    >>> model = BoostingClassifier(n_estimators=30, random_state=0).fit(X, Y)
    >>> model.predict([[2.0, 1.0, -1.0], [-2.0, -1.0, 1.0]])
    array([[1, 1],
           [0, 0]])
    """

    def __init__(
        self,
        *,
        n_estimators: int = 400,
        loss: Any = "auto",
        learning_rate: float = 0.1,
        projection: Any = "auto",
        leaf_fit: str = "relabel",
        leaf_values: str = "auto",
        max_depth: int | None = 6,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        monotonic_cst: Any = None,
        estimator: Any = None,
        class_weight: Any = None,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        eval_metric: str | Callable[..., float] | None = None,
        decoding: Any = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: tuple[Any, ...] | None = None,
        callbacks: Callback | Sequence[Callback] = (),
    ) -> BoostingClassifier:
        """Boost the model.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Classes or labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
        eval_set : tuple (X, y) or (X, y, sample_weight), optional
            Validation rows, for `history_` and early stopping.
        callbacks : callable or sequence of callable
            Called after every round with a progress that has `n_estimators`, `train_loss`,
            `validation_loss` and `validation_score`; one that returns True ends the fit.

        Returns
        -------
        BoostingClassifier
            Itself.
        """
        data = self._read_features(X)
        self._check_decoding()
        targets = self._ingest_targets(y, data.n_rows)
        weights = self._read_weights(sample_weight, targets)
        self._warn_unobserved(targets, "They are predicted as 0, with probability 0.", weights)
        self._fit(data, targets, weights, eval_set, callbacks)
        return self

    def _ingest_targets(self, y: Any, n_rows: int) -> Targets:
        return read_classes(y, n_rows, estimator_name=type(self).__name__)

    def _loss_weights(
        self, sample_weight: NDArray[np.float64] | None, targets: Targets, counted: Targets
    ) -> NDArray[np.float64] | None:
        return combine_weights(sample_weight, class_weights(self.class_weight, targets, counted))

    @property
    def classes_(self) -> Any:
        """Classes of the output, or a list of the classes of each output."""
        check_is_fitted(self)
        return self._targets.classes_

    def _probabilities(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probabilities of all channels; 0 for a label that was never observed."""
        offsets = self._targets.channel_offsets
        shares = np.nan_to_num(self._loss.predictions(raw, offsets), copy=False)
        if "regression" not in self._loss.tasks:
            return shares
        np.clip(shares, 0.0, 1.0, out=shares)
        if self._targets.kind in ("multiclass", "multiclass-multioutput"):
            totals = np.repeat(np.add.reduceat(shares, offsets[:-1], axis=1), np.diff(offsets), 1)
            shares /= np.where(totals > 0, totals, 1.0)
        return shares

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give raw predictions: log-odds of labels, or scores of classes.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) for a binary problem, else (n, n_channels)
        """
        raw = self._raw(X).astype(np.float64)
        return raw[:, 0] if self._targets.kind == "binary" else raw

    def predict(self, X: Any) -> Any:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            The likeliest class; 0 or 1 for labels, sparse if Y was: then never dense, whatever
            the number of labels.
        """
        if not self._targets_are_sparse:
            return self._decode_channels(self._probabilities(self._raw(X)))
        encoded, n_threads = self._encode(X), self._n_threads()
        step = max(1, _BLOCK_ENTRIES // self._model.n_channels)
        parts = [
            self._decode_channels(
                self._probabilities(self._model.predict(encoded[start : start + step], n_threads))
            )
            for start in range(0, encoded.shape[0], step)
        ]
        return sparse.vstack(parts, format="csr")

    @property
    def _targets_are_sparse(self) -> bool:
        check_is_fitted(self)
        return self._targets.is_sparse

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, 2), (n, c) or (n, d), or list of ndarray
            Of the two classes (binary), of each class (multi-class), of label = 1 (multi-label),
            or one array of shape (n, c_j) per output.
        """
        probabilities = self._probabilities(self._raw(X))
        return split_probabilities(self._targets, probabilities)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict by the first round, the first two rounds, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
        """
        for raw in self._staged_raw(X):
            yield self._decode_channels(self._probabilities(raw))

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict probabilities by the first round, the first two rounds, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray or list
            In the shape of `predict_proba`.
        """
        for raw in self._staged_raw(X):
            yield split_probabilities(self._targets, self._probabilities(raw))

    def _truth(self, targets: Targets) -> Any:
        if targets.schema.kind != "multilabel":
            return decode_classes(targets.schema, targets.values)
        values: Any = targets.values
        if isinstance(values, np.ndarray) and targets.observed is not None:
            values = np.where(targets.observed, values, np.nan)
        return values

    def _shown(self, raw: NDArray[np.float32], needs: str) -> Any:
        probabilities = self._probabilities(raw)
        if needs == "labels":
            return self._decode_channels(probabilities)
        if needs == "probabilities":
            return split_probabilities(self._targets, probabilities)
        return probabilities[:, 0] if self._targets.kind == "binary" else probabilities
