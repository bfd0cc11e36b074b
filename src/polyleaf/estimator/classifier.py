"""Estimators of classes and labels, and how their probabilities become decisions."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from polyleaf import decoding, metrics
from polyleaf.checks.numbers import shown
from polyleaf.data import (
    Targets,
    TargetSchema,
    align_targets,
    codes_of,
    decode_classes,
    largest_entries,
    named_entries,
    read_classes,
)
from polyleaf.decoding import Decoder
from polyleaf.estimator.base import Estimator
from polyleaf.files.described import complete_parameters, registered
from polyleaf.files.parameters import Stored, parameter_to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyleaf.data.training import Task
    from polyleaf.hierarchy import Hierarchy


#: Decoders that take the first of labels that are equally likely.
TIED_BY_PLACE = (decoding.TopK, decoding.ExampleF1, decoding.Jaccard)
#: Names of the rules that need nothing from the training rows.
PLAIN_RULES = ("threshold", "subset", "f1", "jaccard", "top_k")


class Classifier(ClassifierMixin, Estimator):
    """An estimator whose outputs are classes or labels."""

    _task: ClassVar[Task] = "classification"
    #: Whether the model keeps the label sets of the training rows, for decoders that ask for them.
    _keeps_label_sets: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any, output_names: Any, **told: Any) -> Any:
        self._check_decoding()
        return super()._read(X, y, sample_weight, output_names, **told)

    @property
    def hierarchy_(self) -> Hierarchy:
        """The hierarchy of the labels: ``edges`` (m, 2), ``depth`` (d,); only if one was given."""
        check_is_fitted(self)
        hierarchy = self._targets.hierarchy
        if hierarchy is None:
            raise AttributeError(
                f"This {type(self).__name__} was fitted without a hierarchy of its labels."
            )
        return hierarchy

    def _check_decoding(self) -> None:
        """Raise a ValueError if `decoding` asks for what this model does not keep."""
        rule, name = self.decoding, type(self).__name__
        needs_sets = rule == "known_label_set" or isinstance(rule, decoding.KnownLabelSet)
        if needs_sets and not self._keeps_label_sets:
            raise ValueError(
                f"decoding of {name} must be 'auto', one of {', '.join(map(repr, PLAIN_RULES))} "
                f"or such a Decoder; got "
                f"{shown(rule)}, which needs the label sets of the training "
                f"rows. Use TunedDecoder({name}(...), decoding='known_label_set')."
            )

    @property
    def classes_(self) -> Any:
        """Classes of the output, or a list of the classes of each output."""
        check_is_fitted(self)
        return self._targets.classes_

    def _decode_channels(self, probabilities: Any) -> Any:
        """Choose classes or label sets, given probabilities of shape (n_rows, n_channels)."""
        return decode_channels(self.decoding, self._targets, probabilities)

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

    def predict_log_proba(self, X: Any) -> Any:
        """Predict logarithms of probabilities.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray or list of ndarray
            In the shape of `predict_proba`, always dense.
        """
        probabilities = self.predict_proba(X)
        if isinstance(probabilities, sparse.csr_array):
            probabilities = probabilities.toarray()
        with np.errstate(divide="ignore"):
            if isinstance(probabilities, list):
                return [np.log(p) for p in probabilities]
            return np.log(probabilities)

    def predict_topk(self, X: Any, k: int = 5, *, names: bool = False) -> Any:
        """Predict the likeliest labels of each row.

        Forests and boosting do so without an array of all labels of all rows.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        k : int, default=5
            Largest number of labels per row.
        names : bool, default=False
            Whether to list labels by their names, `output_names_`.

        Returns
        -------
        csr_array of shape (n, d), or list of n lists of tuples (str, float) with `names`
            Probabilities of at most k labels per row, those that are not 0; of labels that are
            equally likely, the first. Lists begin with the likeliest.
        """
        check_is_fitted(self)
        if self._targets.kind != "multilabel":
            raise ValueError(
                f"predict_topk is for multi-label problems; y was {self._targets.kind}. Use "
                "predict_proba."
            )
        if not isinstance(k, numbers.Integral) or k < 1:
            raise ValueError(f"k must be an integer >= 1; got {shown(k)}.")
        found = self._likeliest(X, int(k))
        return named_entries(found, self.output_names_) if names else found

    def _likeliest(self, X: Any, k: int) -> Any:
        """Give the k largest probabilities of every row, as a csr_array of shape (n, d)."""
        return largest_entries(self.predict_proba(X), k, self._targets.label_depth)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of rows in which all outputs that were observed are predicted rightly.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            NaN and None are not observed; a row without any observed output does not count.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
            From 0 to 1, the best.
        """
        predicted = self.predict(X)
        targets = read_classes(y, predicted.shape[0], estimator_name=type(self).__name__)
        is_vector = targets.schema.is_1d and self._targets.n_outputs == 1
        if self._targets.kind == "multilabel" and not is_vector:
            truth = align_targets(targets, self._targets, "y").with_gaps()
        else:  # each entry is the label 'wrong', which nobody predicts
            truth = _wrong_classes(targets, self._targets, predicted)
            predicted = np.zeros(truth.shape)
        return metrics.multilabel_accuracy_score(truth, predicted, sample_weight=sample_weight)


def decode_channels(rule: Any, targets: TargetSchema, probabilities: Any) -> Any:
    """Choose classes or label sets by the parameter `decoding`.

    Parameters
    ----------
    rule : str or Decoder
    targets : TargetSchema
    probabilities : ndarray or csr_array of shape (n_rows, n_channels)
    """
    is_plain = isinstance(rule, str) and rule in ("auto", "threshold")
    if is_plain or targets.kind != "multilabel":
        return decode_classes(targets, probabilities)
    chosen = decode_labels(decoding.resolve(rule), targets.hierarchy, probabilities)
    if targets.is_sparse:
        return sparse.csr_array(chosen)
    return chosen.toarray() if hasattr(chosen, "toarray") else chosen


def decode_labels(decoder: Decoder, hierarchy: Hierarchy | None, probabilities: Any) -> Any:
    """Choose label sets, which respect the hierarchy if there is one.

    Of labels that are equally likely, decoders take the first: ancestors are shown to them before
    their descendants. What they leave out all the same, such as parents with higher thresholds, is
    added.

    Parameters
    ----------
    decoder : Decoder
    hierarchy : Hierarchy or None
    probabilities : ndarray or csr_array of shape (n_rows, n_labels)
    """
    if hierarchy is None:
        return decoder.decode(probabilities)
    probabilities = hierarchy.raise_ancestors(probabilities)
    if isinstance(decoder, TIED_BY_PLACE):
        order = np.argsort(hierarchy.depth, kind="stable")
        chosen = decoder.decode(probabilities[:, order])[:, np.argsort(order)]
    else:
        chosen = decoder.decode(probabilities)
    return hierarchy.close(chosen)


def _wrong_classes(
    targets: Targets, schema: TargetSchema, predicted: NDArray[Any]
) -> NDArray[np.float64]:
    """Tell which classes differ, NaN where they are not observed; of shape (n_rows, n_outputs)."""
    found = targets.schema
    if found.n_outputs != schema.n_outputs:
        raise ValueError(
            f"y must have {schema.n_outputs} outputs, like the training y; got {found.n_outputs}."
        )
    wrong = np.full((predicted.shape[0], schema.n_outputs), np.nan)
    columns = predicted.reshape(wrong.shape)
    for j in range(schema.n_outputs):
        codes, classes = codes_of(targets, j)
        rows = np.flatnonzero(codes >= 0)
        wrong[rows, j] = classes.astype(object)[codes[rows]] != columns[rows, j]
    return wrong


# The parameter `decoding` -----------------------------------------------------------------------


def is_decoding(value: Any) -> bool:
    """Whether a value can be the parameter `decoding` of a classifier.

    Raises
    ------
    ValueError, TypeError
        With a message of its own, if it is neither "auto" nor a decoder that works without
        probabilities of held-out rows.
    """
    if isinstance(value, str) and value == "auto":
        return True
    rule = decoding.resolve(value)
    if rule.needs_probabilities:
        raise ValueError(
            f"decoding must be a rule that needs no held-out rows; got {shown(value)}. Wrap the "
            f"classifier: TunedDecoder(classifier, decoding={value!r})."
        )
    rule.check_params()
    return True


def decoding_to_json(value: Any) -> Any:
    """Turn a `decoding` parameter into JSON's types, for model files."""
    if not isinstance(value, Decoder):
        return value
    names = {cls: name for name, cls in decoding.DECODERS.items()}
    if type(value) not in names:
        raise TypeError(
            f"A model file can hold polyleaf's own decoders; got "
            f"{shown(value, 80)}. Change it with "
            "set_params, or pickle the model."
        )
    parameters = value.get_params(deep=False)
    stored = {
        key: parameter_to_json(f"decoding's {key}", item) for key, item in parameters.items()
    }
    return {"decoder": names[type(value)], "parameters": stored}


def decoding_from_json(stored: Any) -> Any:
    """Undo `decoding_to_json`.

    Raises
    ------
    ValueError
        If it is not of that form.
    """
    if isinstance(stored, str):
        return stored
    if not isinstance(stored, dict) or set(stored) != {"decoder", "parameters"}:
        raise ValueError(f"Expected a decoder; got {shown(stored, 80)}.")
    name, parameters = stored["decoder"], stored["parameters"]
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise ValueError(f"Expected a decoder; got {shown(stored, 80)}.")
    cls = registered(name, decoding.DECODERS, "decoder", "polyleaf.decoding.DECODERS")
    return cls(**complete_parameters(cls(), parameters, f"A stored {name!r} decoder"))


#: How model files hold it.
STORED_DECODING = Stored(lambda name, value: decoding_to_json(value), decoding_from_json)
