"""AutoRegressor and AutoClassifier: one default that serves."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf.auto.base import AutoEstimator
from polyleaf.data import decode_classes, split_probabilities
from polyleaf.estimator.classifier import Classifier, decode_labels
from polyleaf.estimator.parameters import documented
from polyleaf.estimator.regressor import Regressor


@documented
class AutoRegressor(AutoEstimator, Regressor):
    """Compare several methods and blend the best, for any number of targets.

    Forests, boosting, rules and cheap baselines (ridge, kernel ridge, nearest neighbours) are
    compared on rows that each has not seen. The best are blended, with weights for each
    target that are shrunk towards common ones. Members of boosting and rules are means of the
    models of the folds; the others are trained on all rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    leaderboard_ : DataFrame
        What was tried, with score, its spread, work, seconds and weight.
    members_ : list of (str, estimator)
        What is blended.
    weights_ : ndarray of shape (n_outputs_, n_members)
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)

    See Also
    --------
    AutoClassifier : for labels and classes.

    Examples
    --------
    >>> from polyleaf import AutoRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> X, Y = make_correlated_targets(n_samples=150, random_state=0)
    >>> model = AutoRegressor(budget="small", cv=3, random_state=0).fit(X[:100], Y[:100])
    >>> model.leaderboard_.columns.tolist()
    ['name', 'score', 'score_std', 'work', 'seconds', 'weight']
    >>> model.predict(X[100:]).shape
    (50, 10)
    """

    def predict(self, X: Any) -> Any:
        """Predict all targets.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            As Y was given: one- or two-dimensional, dense or sparse.
        """
        channels = self._channels(X)
        if self._targets.is_1d:
            return channels[:, 0]
        return sparse.csr_array(channels) if self._targets.is_sparse else channels

    def explain(
        self,
        X: Any,
        *,
        outputs: Any = None,
        top_outputs: int = 3,
        top_features: int = 5,
    ) -> Any:
        """List which features moved the predictions of a few rows, and how far.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            A few rows.
        outputs : str, int, or sequence or mapping of these, optional
            What to explain, as in `polyleaf.inspection.shap_values`.
        top_outputs : int, default=3
            Without `outputs`: how many outputs of each row, those furthest from their
            expectation.
        top_features : int, default=5
            How many features of each row and output, those that add or take off most.

        Returns
        -------
        DataFrame
            A line per row, output and feature, in the columns ``row``, ``output``, ``feature``,
            ``value`` and ``contribution``: the exact Shapley value, in the units of the output.

        Raises
        ------
        TypeError
            If a member is neither trees nor rules: explain a single member of `members_`, or what
            `distil` makes of the blend.
        """
        from polyleaf.inspection import explain_rows

        return explain_rows(
            self, X, outputs=outputs, top_outputs=top_outputs, top_features=top_features
        )


@documented
class AutoClassifier(AutoEstimator, Classifier):
    """Compare several methods and blend the best, for classes and any number of labels.

    Forests, boosting, rules, graphs and cheap baselines (logistic regression, kernel ridge,
    nearest neighbours) are compared on rows that each has not seen. The probabilities of the best
    are blended, with weights for each output that are shrunk towards common ones, and sharpened by
    one factor. Members of boosting and rules are means of the models of the folds; the others are
    trained on all rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    leaderboard_ : DataFrame
        What was tried, with score, its spread, work, seconds and weight.
    members_ : list of (str, estimator)
        What is blended.
    weights_ : ndarray of shape (n_outputs_, n_members)
    decoder_ : Decoder or None
    calibrator_ : LabelCalibrator or None
        What a metric of label sets has chosen.
    classes_ : ndarray, or list of ndarray for multi-class multi-output problems
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)

    See Also
    --------
    AutoRegressor : for numbers.

    Examples
    --------
    >>> from polyleaf import AutoClassifier
    >>> from polyleaf.datasets import make_multilabel
    >>> X, Y = make_multilabel(150, 5, 4, random_state=0)
    >>> model = AutoClassifier(budget="small", cv=3, random_state=0).fit(X[:100], Y[:100])
    >>> model.predict_proba(X[100:]).shape
    (50, 4)
    """

    def _check_decoding(self) -> None:
        """There is no such parameter: the metric decides."""

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)

        Returns
        -------
        ndarray of shape (n, 2), (n, c) or (n, d), or list of ndarray
            Of the two classes (binary), of each class (multi-class), of label = 1 (multi-label),
            or one array of shape (n, c_j) per output.
        """
        probabilities = self._probabilities(X)
        return split_probabilities(self._targets, probabilities)

    def predict(self, X: Any) -> Any:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            The likeliest class; 0 or 1 for labels, as the metric asks for, sparse if Y was.
        """
        return self._decode_channels(self._probabilities(X))

    def _probabilities(self, X: Any) -> Any:
        channels = self._channels(X)
        calibrator = self._fitted.calibrator
        return channels if calibrator is None else calibrator.transform(channels)

    def _decode_channels(self, probabilities: Any) -> Any:
        decoder = self._fitted.decoder
        if decoder is None:
            return decode_classes(self._targets, probabilities)
        chosen: Any = decode_labels(decoder, self._targets.hierarchy, probabilities)
        if self._targets.is_sparse:
            return sparse.csr_array(chosen)
        return chosen.toarray() if hasattr(chosen, "toarray") else chosen

    @property
    def decoder_(self) -> Any:
        """The decoder that a metric of label sets has chosen; None: labels above 1/2."""
        check_is_fitted(self)
        return self._fitted.decoder

    @property
    def calibrator_(self) -> Any:
        """The calibrator that a metric of label sets has chosen; None: none."""
        check_is_fitted(self)
        return self._fitted.calibrator
