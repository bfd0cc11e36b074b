"""How trees and forests are fitted to numbers, and to classes and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf.data import (
    BinnedData,
    Targets,
    class_weights,
    combine_weights,
    ingest_class_targets,
    ingest_regression_targets,
)
from polyleaf.estimator.base import MultiOutputEstimator
from polyleaf.estimator.label_decoding import LabelDecoding
from polyleaf.estimator.scores import ScoresClasses, ScoresNumbers


class _Grown(MultiOutputEstimator):
    if TYPE_CHECKING:  # another base has it

        def _fit(
            self, data: BinnedData, targets: Targets, weights: NDArray[Any] | None
        ) -> None: ...


class FitsNumbers(ScoresNumbers, _Grown):
    """Trees and forests whose outputs are numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            NaN is a target that was not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        self
        """
        data = self._read_features(X)
        targets = ingest_regression_targets(y, data.n_rows, estimator_name=type(self).__name__)
        weights = self._read_weights(sample_weight, targets)
        self._warn_unobserved(targets, "Their predictions are NaN.", weights)
        self._fit(data, targets, weights)
        return self


class FitsClasses(ScoresClasses, LabelDecoding, _Grown):
    """Trees and forests whose outputs are classes or labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Classes or labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        self
        """
        data = self._read_features(X)
        self._check_decoding()
        targets = ingest_class_targets(y, data.n_rows, estimator_name=type(self).__name__)
        weights = self._read_weights(sample_weight, targets)
        self._warn_unobserved(targets, "They are predicted as 0, with probability 0.", weights)
        counted = class_weights(self.class_weight, targets)
        self._fit(data, targets, combine_weights(weights, counted))
        return self

    def decision_function(self, X: Any) -> Any:
        """Score classes and labels, as scikit-learn's ranking measures ask for.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,), (n, c) or (n, d), or list of ndarray of shape (n, c_j)
            How much likelier the second class (binary) or the label 1 (multi-label) is than the
            other, from -1 to 1; else the probability of each class. Dense: a sparse Y is refused,
            because what is unlikely would be no 0.
        """
        check_is_fitted(self)
        if self._targets.is_sparse:
            raise ValueError(
                f"decision_function of {type(self).__name__} would be dense, but it was fitted to "
                "a sparse Y. Use predict_proba, which is sparse."
            )
        probabilities = self.predict_proba(X)
        if self._targets.kind == "binary":
            return probabilities[:, 1] - probabilities[:, 0]
        if self._targets.kind == "multilabel":
            return 2.0 * probabilities - 1.0
        return probabilities

    @property
    def classes_(self) -> Any:
        """Classes of the output, or a list of the classes of each output."""
        check_is_fitted(self)
        return self._targets.classes_
