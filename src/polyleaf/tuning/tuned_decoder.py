"""Choose by cross-validation how a multi-label classifier turns probabilities into label sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from polyleaf import decoding, metrics
from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.data.read_targets import check_output_names
from polyleaf.data.wrapped_inputs import label_numbers, read_label_matrix, read_rows
from polyleaf.datasets import MultiLabelKFold
from polyleaf.decoding import Decoder, LabelCalibrator
from polyleaf.estimator.base import OneState
from polyleaf.estimator.classifier import decode_labels
from polyleaf.estimator.label_scores import ScoreKind, label_scores, score_kind
from polyleaf.hierarchy import Hierarchy

_MOST_ROWS = 4000  # on which candidates are compared
_FEWEST_KNOWN = 20  # fully observed rows, to choose among their label sets


class TunedDecoder(OneState, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A multi-label classifier whose label sets are tuned for a metric.

    Cross-validation gives probabilities for rows that a model was not trained on. On those, ways
    to calibrate the probabilities and to turn them into label sets are compared, each one fitted
    on some folds and scored on another. The best pair is kept, and the estimator is trained on
    all rows.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with `predict_proba` or `decision_function`, scikit-learn's
        own too.
    metric : str or Metric, default="example_f1"
        One of `metrics.METRICS` that compares label sets, such as ``"subset_zero_one_loss"``.
    decoding : "auto", str, Decoder, or list of those, default="auto"
        The decoders to choose from: names of `decoding.DECODERS` or instances. ``"auto"``: all.
    calibration : "auto", "sigmoid", "isotonic" or None, default="auto"
        How probabilities are calibrated; None: not at all. ``"auto"`` chooses.
    cv : int or splitter, default=5
        The folds: their number, or an object with `split`. A number means folds in which all
        labels are about equally frequent, :class:`~polyleaf.datasets.MultiLabelKFold`.
    random_state : int, RandomState or None, default=None
        Draws the folds.
    n_jobs : int or None, default=None
        Number of folds that are trained at a time.

    Attributes
    ----------
    estimator_ : classifier
        Trained on all rows.
    decoder_ : Decoder
        The chosen one, fitted.
    calibrator_ : LabelCalibrator or None
        The chosen one, fitted.
    results_ : list of dict
        What was tried, best first, with the keys "decoder", "calibration" and "score".
    classes_ : ndarray of shape (2,)
        0 and 1.

    See Also
    --------
    polyleaf.decoding : the decoders.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from polyleaf import TunedDecoder
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.metrics import example_f1_score
    >>> X, Y = make_multilabel(600, 5, 6, random_state=0)
    >>> plain = KNeighborsClassifier(20).fit(X[:400], Y[:400])
    >>> tuned = TunedDecoder(KNeighborsClassifier(20), random_state=0).fit(X[:400], Y[:400])
    >>> round(example_f1_score(Y[400:], plain.predict(X[400:])), 2)
    0.59
    >>> round(example_f1_score(Y[400:], tuned.predict(X[400:])), 2)
    0.67
    """

    def __init__(
        self,
        estimator: Any,
        *,
        metric: Any = "example_f1",
        decoding: Any = "auto",
        calibration: str | None = "auto",
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.decoding = decoding
        self.calibration = calibration
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        inner = getattr(self.estimator, "__sklearn_tags__", None)
        if inner is not None:
            tags.input_tags = inner().input_tags
        return tags

    def fit(self, X: Any, y: Any, *, output_names: Any = None) -> TunedDecoder:
        """Choose calibration and decoder by cross-validation, and train on all rows.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed, if the estimator takes it.
        output_names : sequence of str, of length d, optional
            Names of the labels, if y has none and the estimator takes names.

        Returns
        -------
        TunedDecoder
            Itself.
        """
        labels = read_label_matrix(y, type(self).__name__)
        X, y = read_rows(X, labels.shape[0]), label_numbers(y, labels)
        if output_names is not None:
            output_names = self._check_names(output_names, labels.shape[1])
        metric = self._resolve_metric()
        kind = score_kind(self.estimator)
        calibrators = self._calibrators(kind)
        candidates = list(product(calibrators, _decoders(self.decoding, metric, labels)))
        named = {} if output_names is None else {"output_names": output_names}
        estimator = clone(self.estimator).fit(X, y, **named)
        hierarchy = hierarchy_of(estimator)
        if hierarchy is not None:
            labels = hierarchy.close(labels)
        folds = self._folds(X, y if hierarchy is None else labels)
        scores = self._scores_by_fold(X, y, folds, labels.shape[1], named)
        held_out = [labels[test] for _, test in folds]
        chosen, decoder, results = _choose(candidates, scores, held_out, metric, hierarchy)
        calibrator = _fit_calibrator(chosen, _stack(scores), _stack(held_out))
        decoder = clone(decoder).fit(_stack(held_out), _calibrate(calibrator, _stack(scores)))
        # All at once: an error above leaves an earlier fit as it was.
        self.__dict__.update(
            estimator_=estimator, decoder_=decoder, calibrator_=calibrator, results_=results
        )
        self._take_shape(labels.shape[1])
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each label, calibrated if that was chosen.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, d) or csr_array
        """
        check_is_fitted(self)
        scores = label_scores(self.estimator_, read_rows(X), self.n_outputs_)
        probabilities = _calibrate(self.calibrator_, scores)
        hierarchy = hierarchy_of(self.estimator_)
        return probabilities if hierarchy is None else hierarchy.raise_ancestors(probabilities)

    def predict(self, X: Any) -> Any:
        """Predict label sets.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, d) or csr_array
            0 and 1; sparse if the estimator's probabilities are.
        """
        probabilities = self.predict_proba(X)
        return decode_labels(self.decoder_, hierarchy_of(self.estimator_), probabilities)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score predicted label sets by the metric that they were tuned for.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n, d)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
            The metric; its negative if lower is better, as scikit-learn's scorers do.
        """
        metric = self._resolve_metric()
        value = float(metric.prepare(y)(y, self.predict(X), sample_weight=sample_weight))
        return value if metric.greater_is_better else -value

    def _check_names(self, output_names: Any, n_labels: int) -> tuple[str, ...]:
        """Look at the names before hours of cross-validation."""
        if not has_fit_parameter(self.estimator, "output_names"):
            raise ValueError(
                f"output_names needs an estimator whose fit takes names; {self.estimator!r:.60} "
                "does not. Give y as a data frame, or leave output_names out."
            )
        return check_output_names(output_names, n_labels)

    def _take_shape(self, n_labels: int) -> None:
        """Say what the estimator was trained on."""
        self.classes_ = np.array([0, 1])
        self.n_outputs_ = n_labels
        for name in ("n_features_in_", "feature_names_in_", "output_names_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        from polyleaf.tuning.storage import tuned_to_file

        return tuned_to_file(self)

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        from polyleaf.tuning.storage import tuned_from_file

        return tuned_from_file(arrays, metadata)

    def _resolve_metric(self) -> metrics.Metric:
        metric = metrics.resolve(self.metric)
        if metric.needs != "labels":
            names = ", ".join(repr(n) for n, m in metrics.METRICS.items() if m.needs == "labels")
            raise ValueError(
                f"metric of TunedDecoder must compare label sets: one of {names} or such a "
                f"Metric; got {shown(metric.name)}, which compares {metric.needs}."
            )
        return metric

    def _calibrators(self, kind: ScoreKind) -> list[LabelCalibrator | None]:
        methods = self.calibration
        if not is_one_of(methods, ("auto", "sigmoid", "isotonic", None)):
            raise ValueError(
                f"calibration must be 'auto', 'sigmoid', 'isotonic' or None; got {shown(methods)}."
            )
        if kind == "score" and methods is None:
            raise ValueError(
                f"calibration must not be None with {type(self.estimator).__name__}, which has no "
                "predict_proba: its scores must become probabilities. Take 'auto'."
            )
        chosen: list[Any] = ["sigmoid", "isotonic"] if methods == "auto" else [methods]
        if methods == "auto" and kind == "probability":
            chosen.insert(0, None)
        return [m if m is None else LabelCalibrator(m, inputs=kind) for m in chosen]

    def _folds(self, X: Any, y: Any) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        cv = self.cv
        if isinstance(cv, (int, np.integer)) and cv >= 2:
            cv = MultiLabelKFold(int(cv), random_state=self.random_state)
        elif not hasattr(cv, "split"):
            raise ValueError(
                f"cv must be an integer >= 2 or an object with split; got {shown(self.cv)}."
            )
        return [(np.asarray(train), np.asarray(test)) for train, test in cv.split(X, y)]

    def _scores_by_fold(
        self, X: Any, y: Any, folds: Any, n_labels: int, named: dict[str, Any]
    ) -> list[Any]:
        n_jobs = self.n_jobs
        if n_jobs is not None:
            if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
                raise ValueError(
                    f"n_jobs must be None or an integer other than 0; got {shown(n_jobs, 80)}."
                )
            n_jobs = max(-(2**31), min(int(n_jobs), len(folds)))
        scores: list[Any] = Parallel(n_jobs=n_jobs)(
            delayed(_fit_and_score)(clone(self.estimator), X, y, train, test, n_labels, named)
            for train, test in folds
        )
        return scores


def tuned_decision(
    scores: list[Any], labels: list[Any], metric: metrics.Metric
) -> tuple[LabelCalibrator | None, Decoder]:
    """Choose calibration and decoder for a metric, and fit them, given folds of held-out rows.

    Parameters
    ----------
    scores : list of ndarray of shape (n_fold, d)
        Probabilities of rows that the model has not seen, of each fold.
    labels : list of ndarray or csr_array of shape (n_fold, d)
        Labels of the same rows; NaN is not observed.
    metric : Metric
        One that compares label sets.
    """
    calibrators = [None, LabelCalibrator("sigmoid"), LabelCalibrator("isotonic")]
    candidates = list(product(calibrators, _decoders("auto", metric, _stack(labels))))
    chosen, decoder, _ = _choose(candidates, scores, labels, metric, None)
    calibrator = _fit_calibrator(chosen, _stack(scores), _stack(labels))
    fitted = clone(decoder).fit(_stack(labels), _calibrate(calibrator, _stack(scores)))
    return calibrator, fitted


def _decoders(choice: Any, metric: metrics.Metric, labels: Any) -> list[Decoder]:
    """Return the decoders to choose from, those that tune a threshold set to the metric."""
    if isinstance(choice, str) and choice == "auto":
        names: Sequence[Any] = list(decoding.DECODERS)
        if not is_sparse(labels) and (~np.isnan(labels).any(axis=1)).sum() < _FEWEST_KNOWN:
            names = [name for name in names if name != "known_label_set"]
    else:
        names = choice if isinstance(choice, (list, tuple)) else [choice]
    if not names:
        raise ValueError("decoding must name at least one decoder; got none.")
    decoders = [decoding.resolve(name) for name in names]
    sign = 1.0 if metric.greater_is_better else -1.0
    takes_sparse = metrics.METRICS.get(metric.name) is metric
    signed = _Signed(metric.prepare(labels), sign, metric.name, takes_sparse)
    return [
        decoding.TunedThreshold(score=signed)
        if isinstance(decoder, decoding.TunedThreshold) and decoder.score is None
        else decoder
        for decoder in decoders
    ]


class _Signed:
    """A score of which more is better; a class, so that it can be pickled."""

    def __init__(
        self, score: Callable[..., float], sign: float, name: str, takes_sparse: bool
    ) -> None:
        self.name = name
        self.score = score
        self.sign = sign
        self.takes_sparse = takes_sparse

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        return self.sign * self.score(y_true, y_pred)

    def __repr__(self) -> str:
        return self.name if self.sign > 0 else f"-{self.name}"


def is_of_metric(score: Any) -> bool:
    """Whether the score of a decoder is the metric that all of them are tuned for."""
    return isinstance(score, _Signed)


def hierarchy_of(estimator: Any) -> Hierarchy | None:
    """Give the hierarchy that a fitted classifier, or the last step of a pipeline, respects."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    return getattr(last, "hierarchy_", None)


def _fit_and_score(
    estimator: Any,
    X: Any,
    y: Any,
    train: Any,
    test: Any,
    n_labels: int,
    named: dict[str, Any],
) -> Any:
    estimator.fit(_safe_indexing(X, train), _safe_indexing(y, train), **named)
    return label_scores(estimator, _safe_indexing(X, test), n_labels)


def _choose(
    candidates: list[tuple[LabelCalibrator | None, Decoder]],
    scores: list[Any],
    labels: list[Any],
    metric: metrics.Metric,
    hierarchy: Hierarchy | None = None,
) -> tuple[LabelCalibrator | None, Decoder, list[dict[str, Any]]]:
    """Fit every candidate on all folds but one and score it there; return the best one.

    Parameters
    ----------
    candidates : list of (LabelCalibrator or None, Decoder)
    scores, labels : list
        Of each fold.
    metric : Metric
    hierarchy : Hierarchy or None
        Which label sets respect.

    Returns
    -------
    calibrator : LabelCalibrator or None
    decoder : Decoder
    results : list of dict
    """
    predicted: list[list[Any]] = [[] for _ in candidates]
    compared: list[Any] = []
    for fold in range(len(scores)):
        others = [i for i in range(len(scores)) if i != fold]
        known_scores, known_labels = (_stack([m[i] for i in others]) for m in (scores, labels))
        rows = _spread(labels[fold].shape[0], _MOST_ROWS // len(scores))
        compared.append(labels[fold][rows])
        calibrated: dict[int, tuple[Any, Any]] = {}
        for number, (calibrator, decoder) in enumerate(candidates):
            if id(calibrator) not in calibrated:
                fitted = _fit_calibrator(calibrator, known_scores, known_labels)
                calibrated[id(calibrator)] = (
                    _calibrate(fitted, known_scores),
                    _calibrate(fitted, scores[fold][rows]),
                )
            known, new = calibrated[id(calibrator)]
            fitted_decoder = clone(decoder).fit(known_labels, known)
            predicted[number].append(decode_labels(fitted_decoder, hierarchy, new))
    score = metric.prepare(_stack(labels))
    values = [score(_stack(compared), _stack(parts)) for parts in predicted]
    sign = -1.0 if metric.greater_is_better else 1.0
    ranked = sorted(
        range(len(values)), key=lambda i: (bool(np.isnan(values[i])), sign * values[i])
    )
    results = []
    for i in ranked:
        calibrator, decoder = candidates[i]
        method = None if calibrator is None else calibrator.method
        results.append({"decoder": decoder, "calibration": method, "score": values[i]})
    return *candidates[ranked[0]], results


def _fit_calibrator(calibrator: LabelCalibrator | None, scores: Any, labels: Any) -> Any:
    return None if calibrator is None else clone(calibrator).fit(scores, labels)


def _calibrate(calibrator: LabelCalibrator | None, scores: Any) -> Any:
    return scores if calibrator is None else calibrator.transform(scores)


def _spread(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return at most that many rows, evenly spread."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(np.intp))


def _stack(parts: list[Any]) -> Any:
    if is_sparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)
