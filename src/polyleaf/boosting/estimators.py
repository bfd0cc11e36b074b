"""Gradient boosting for numbers, and for classes and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf.boosting import papers
from polyleaf.boosting.base import Boosting
from polyleaf.boosting.parameters import boosting_parameters
from polyleaf.data import decode_classes, largest_entries, respecting, split_probabilities
from polyleaf.estimator.classifier import Classifier, decode_channels
from polyleaf.estimator.parameters import Parameter, documented
from polyleaf.estimator.published import Variants
from polyleaf.estimator.regressor import Regressor

if TYPE_CHECKING:
    from polyleaf.boosting.fitted import RawReader
    from polyleaf.data import Targets

#: Probabilities that are held at a time where labels are sparse.
_BLOCK_ENTRIES = 2**21


@documented
class BoostingRegressor(Boosting, Regressor):
    """Gradient boosting of trees for any number of targets.

    Every round grows one tree on the gradients of all targets, or on a few random combinations of
    them; its leaves have a value for every target. The cost of a round hardly grows with the
    number of targets.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    n_estimators_, best_iteration_ : int
        Number of rounds that are kept.
    projection_ : Projection or None
        The view of the outputs that was used; None: all of them.
    history_ : dict of str to ndarray of shape (n_rounds,) or (n_rounds, n_outputs_)
        Mean loss after every round: "train_loss", "validation_loss" if there are validation
        rows, "validation_score" if there is an `eval_metric` (larger is better), and the last
        two of every output, "validation_loss_per_output" and "validation_score_per_output". With
        a list as `eval_set` also "validation_0_loss" and so on.
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_map_ : ndarray of shape (n_outputs_, n_outputs_)
        Which targets share structure.

    See Also
    --------
    BoostingClassifier : for classes and labels.
    RandomForestRegressor : trees that do not build on each other.

    Examples
    --------
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(n_samples=400, random_state=0)
    >>> model = BoostingRegressor(n_estimators=50, random_state=0).fit(X[:300], Y[:300])
    >>> model.predict(X[300:]).shape
    (100, 10)
    >>> bool(model.score(X[300:], Y[300:]) > 0.5)
    True
    """

    _declared: ClassVar[dict[str, Parameter]] = boosting_parameters("regression")
    _published: ClassVar[Variants] = papers.REGRESSORS

    def __init__(
        self,
        *,
        n_estimators: int = 400,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        projection: Any = "auto",
        leaf_fit: str = "relabel",
        leaf_values: str = "auto",
        max_depth: int | str | None = "auto",
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        row_sampling: str = "uniform",
        monotonic_cst: Any = None,
        estimator: Any = None,
        normalize_outputs: bool = True,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        eval_metric: str | Callable[..., float] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict all targets.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d)
            One-dimensional if Y was. With several quantiles as the loss, (n, n_quantiles) or
            (n, d, n_quantiles).
        """
        raw = self._raw(X)
        return self._fitted.reader.numbers(raw)

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict by the first round, the first two rounds, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray of shape (n,) or (n, d)
        """
        for raw in self._staged_raw(X):
            yield self._fitted.reader.numbers(raw)

    def _truth(self, targets: Targets) -> Any:
        values = targets.dense_values()
        if targets.observed is not None:
            values = np.where(targets.observed, values, np.nan)
        return values[:, 0] if targets.schema.is_1d else values

    def _shown(self, reader: RawReader, raw: NDArray[np.float32], needs: str) -> Any:
        return reader.numbers(raw)


@documented
class BoostingClassifier(Boosting, Classifier):
    """Gradient boosting of trees for one or many class outputs or labels.

    Every round grows one tree on the gradients of all labels, or on a few random combinations of
    them; its leaves have a value for every label. The cost of a round hardly grows with the
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
    history_ : dict of str to ndarray of shape (n_rounds,) or (n_rounds, n_outputs_)
        Mean loss after every round: "train_loss", "validation_loss" if there are validation
        rows, "validation_score" if there is an `eval_metric` (larger is better), and the last
        two of every output, "validation_loss_per_output" and "validation_score_per_output". With
        a list as `eval_set` also "validation_0_loss" and so on.
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

    _declared: ClassVar[dict[str, Parameter]] = boosting_parameters("multilabel")
    _published: ClassVar[Variants] = papers.CLASSIFIERS

    def __init__(
        self,
        *,
        n_estimators: int = 400,
        loss: Any = "auto",
        learning_rate: float = 0.1,
        projection: Any = "auto",
        leaf_fit: str = "relabel",
        leaf_values: str = "auto",
        max_depth: int | str | None = "auto",
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        row_sampling: str = "uniform",
        monotonic_cst: Any = None,
        estimator: Any = None,
        class_weight: Any = None,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        eval_metric: str | Callable[..., float] | None = None,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give raw predictions: log-odds of labels, or scores of classes.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) for a binary problem, else (n, n_channels)
        """
        raw: NDArray[np.float64] = self._raw(X).astype(np.float64)
        raw = respecting(self._targets, raw)
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
        check_is_fitted(self)
        if not self._targets.is_sparse:
            return self._decode_channels(self._probabilities(self._raw(X)))
        parts = [self._decode_channels(block) for block in self._blocks(X)]
        return sparse.vstack(parts, format="csr")

    def _likeliest(self, X: Any, k: int) -> Any:
        depth = self._targets.label_depth
        parts = [largest_entries(block, k, depth) for block in self._blocks(X)]
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def _blocks(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Give probabilities of all channels for some rows at a time."""
        encoded, n_threads, model = self._encode(X), self._n_threads(), self._fitted.model
        step = max(1, _BLOCK_ENTRIES // model.n_channels)
        for start in range(0, encoded.shape[0], step):
            yield self._probabilities(model.predict(encoded[start : start + step], n_threads))

    def _probabilities(self, raw: NDArray[np.float32]) -> Any:
        return respecting(self._targets, self._fitted.reader.probabilities(raw))

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
        raw = self._raw(X)
        return split_probabilities(self._targets, self._probabilities(raw))

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
        return targets.values if targets.is_sparse else targets.with_gaps()

    def _shown(self, reader: RawReader, raw: NDArray[np.float32], needs: str) -> Any:
        probabilities, schema = reader.probabilities(raw), reader.schema
        if needs == "labels":
            return decode_channels(self.decoding, schema, probabilities)
        if needs == "probabilities":
            return split_probabilities(schema, probabilities)
        return probabilities[:, 0] if schema.kind == "binary" else probabilities
