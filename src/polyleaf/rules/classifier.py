"""Boosted rules for classes and labels (BOOMER, Rapp et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf import decoding
from polyleaf.data import (
    Targets,
    TrainingData,
    align_targets,
    decode_classes,
    read_classes,
    respecting,
    split_probabilities,
    whole_rows,
)
from polyleaf.estimator.classifier import Classifier, decode_labels
from polyleaf.estimator.parameters import (
    InvalidParameterError,
    Parameter,
    documented,
    is_int,
    parameter_names,
)
from polyleaf.estimator.published import Variants, settings_of
from polyleaf.losses import LossTargets, MarginLoss, resolve_margin_loss
from polyleaf.rules import papers
from polyleaf.rules.base import RuleEstimator
from polyleaf.rules.fitted import FittedRules
from polyleaf.rules.label_sets import KnownLabelSets, SetProbabilities, normalised
from polyleaf.rules.parameters import rule_declarations
from polyleaf.rules.set_probabilities import choose_set_probabilities
from polyleaf.rules.statistics import dense_labels, training_label_sets
from polyleaf.rules.training import check_memory_of_rules, train_rules

#: Fewer rows or rules hardly tell which form of the probabilities of label sets is better.
_FEWEST_ROWS, _FEWEST_RULES = 30, 20


@documented
class RuleClassifier(RuleEstimator, Classifier):
    """Boosted rules for labels and classes.

    A rule is a conjunction of conditions and a head of scores that it adds to the labels of the
    rows it covers. Rules are learnt one after the other, each to lower the loss that the others
    leave: label by label for the Hamming loss, or of all labels of a row together, with their
    dependence, for the subset 0/1 loss.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray for multi-class multi-output problems
    rules_ : DataFrame
        Body, head, coverage, support and gain of every rule, the default rule first.
    n_rules_ : int
        Fewer than asked for if some found neither a condition nor anything to add.
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    set_probabilities_ : {"chain_rule", "loss"}
        The form of the probabilities of label sets; only with a loss of whole rows.
    validation_losses_ : ndarray
        Mean loss of the held-out rows after every rule; empty without ``early_stopping``.

    See Also
    --------
    RuleRegressor : for numbers.
    polyleaf.inspection.rules_text, polyleaf.inspection.plot_rules : to read rules.

    Notes
    -----
    Weights of single labels (``sample_weight`` of shape (n, d)) are for losses that treat labels
    one by one.

    Derivatives are kept in 64 bits, as dense arrays of rows by labels, also for a sparse Y; a
    loss of whole rows takes one more number per row.

    Losses of whole rows choose among the label sets of the training rows, which the model holds.
    A row with labels that were not observed counts as the label set that the model chooses for
    it among those that agree with the observed ones.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import RuleClassifier
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> Y = np.column_stack([X[:, 0] > 5, X[:, 0] > 13]).astype(int)
    >>> model = RuleClassifier(n_rules=20, loss="examplewise_logistic", random_state=0).fit(X, Y)
    >>> model.predict([[2.0], [9.0], [17.0]])
    array([[0, 0],
           [1, 0],
           [1, 1]])
    >>> model.explain([[17.0]]).columns.tolist()
    ['row', 'rule', 'body', 'y0', 'y1']
    """

    _unobserved = "Their scores are 0."
    _keeps_label_sets = True
    _declared: ClassVar[dict[str, Parameter]] = rule_declarations(
        "multilabel",
        "What the rules minimise: ``'logistic'``, each label for itself (for the Hamming loss);\n"
        "``'examplewise_logistic'``, all labels of a row together (for the subset 0/1 loss);\n"
        "``'squared_hinge'`` and ``'squared_error'`` likewise, each in both forms.",
    )

    _published: ClassVar[Variants] = papers.CLASSIFIERS

    def __init__(
        self,
        *,
        n_rules: int = 500,
        loss: Any = "logistic",
        learning_rate: float = 0.3,
        head: str = "complete",
        head_size: int | float = 0.5,
        projection: Any = None,
        step: str = "guarded",
        label_bins: int | None = None,
        max_conditions: int | None = None,
        min_coverage: int | float = 1,
        max_features: int | float | str | None = "log2+1",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        bootstrap: bool = True,
        l2_regularization: float = 1.0,
        l1_regularization: float = 0.0,
        class_weight: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 50,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        set_probabilities: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    @classmethod
    def paper(
        cls,
        variant: str | None = None,
        *,
        loss: Any = None,
        head: str | None = None,
        **changed: Any,
    ) -> RuleClassifier:
        """Make a learner set up as in section 5 of Rapp et al. (2020).

        Every threshold between two values, bootstrap samples, floor(log2(p - 1) + 1) features
        per refinement, no limit but the objective, exact systems in 64 bits, label sets chosen by
        (19) or by signs as the loss asks. The paper tunes `n_rules` (up to 10,000),
        `learning_rate` in {0.1, 0.3, 0.5} and `l2_regularization` in {0, 0.25, 1, 4, 16, 64};
        here they are 1000, 0.3 and 1 unless given.

        Parameters
        ----------
        variant : {'ew-multi', 'ew-single', 'lw-multi', 'lw-single'}, optional
            The loss of whole rows (ew) or of single labels (lw), with complete heads or heads of
            one label; the first one by default.
        loss : {'examplewise_logistic', 'logistic'}, optional
        head : {'complete', 'single'}, optional
            Instead of those of the variant.
        **changed : object
            Other parameters.

        Returns
        -------
        RuleClassifier

        Examples
        --------
        >>> from polyleaf import RuleClassifier
        >>> RuleClassifier.paper("ew-single", l2_regularization=4.0).max_bins is None
        True
        >>> RuleClassifier.paper(loss="logistic").head
        'complete'
        """
        known = parameter_names(RuleClassifier)
        given = {"loss": loss, "head": head}
        changed |= {name: value for name, value in given.items() if value is not None}
        return cls(**settings_of("RuleClassifier", papers.CLASSIFIERS, known, variant, changed))

    # Fitting -----------------------------------------------------------------------------------

    def _train(self, data: TrainingData) -> FittedRules:
        loss, targets = self._loss(), data.targets
        self._check_label_bins(loss)
        if _by_entry(targets) and not loss.decomposable:
            raise ValueError(
                f"loss={self.loss!r} has one weight per row; got weights per row and label (a "
                "sample_weight of shape (n, d), or class_weight for several labels). Use "
                "loss='logistic', or weights of shape (n,)."
            )
        check_memory_of_rules(self, targets, loss)
        labels = dense_labels(targets)
        rules, losses = train_rules(self, data, loss, labels, size=1.0)
        label_sets = training_label_sets(
            labels, targets, lambda: rules.scores(whole_rows(data.encoded), self._n_threads())
        )
        return FittedRules(
            data.schema,
            targets.schema,
            rules,
            losses,
            label_sets=label_sets,
            set_probabilities=self._choose_form(data, loss, labels),
        )

    def _choose_form(
        self, data: TrainingData, loss: MarginLoss, labels: NDArray[np.int8]
    ) -> SetProbabilities:
        """Give the form of the probabilities of label sets; any where labels have their own."""
        if self.set_probabilities == "loss" and not loss.decomposable:
            return "loss"
        # For a single label both forms are the same.
        can_tell = labels.shape[1] > 1 and data.weighted_rows.size >= _FEWEST_ROWS
        can_tell = can_tell and not loss.decomposable and self.n_rules >= _FEWEST_RULES
        if self.set_probabilities == "chain_rule" or not can_tell:
            return "chain_rule"
        return choose_set_probabilities(self, data, loss, labels)

    def _check_label_bins(self, loss: MarginLoss) -> None:
        if self.label_bins is None:
            return
        cause = None
        if loss.hessian != "diagonal minus rank one":
            cause = f"loss={self.loss!r}; only loss='examplewise_logistic' has systems of labels"
        elif self.head == "single" or (self.head == "partial" and is_int(self.head_size, 1, 1)):
            cause = f"head={self.head!r}, that is, heads of a single output"
        if cause is not None:
            raise InvalidParameterError(
                "label_bins of RuleClassifier must be None where no systems of labels are solved; "
                f"got {self.label_bins} with {cause}."
            )

    def _loss(self) -> MarginLoss:
        return resolve_margin_loss(self.loss)

    @property
    def _label_sets(self) -> NDArray[np.bool_]:
        label_sets = self._fitted.label_sets
        assert label_sets is not None
        return label_sets

    @property
    def set_probabilities_(self) -> str:
        """The form of the probabilities of label sets."""
        check_is_fitted(self)
        if not self._has_joint():
            raise AttributeError(
                "Only a loss of whole rows gives label sets probabilities of their own."
            )
        return self._fitted.set_probabilities

    # Prediction --------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Sum the scores of the rules that cover each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, n_channels)
            One column per label, or per class of each output.
        """
        scores: NDArray[np.float64] = self._scores(X)
        scores = respecting(self._targets, scores)
        return scores[:, 0] if self._targets.kind == "binary" else scores

    def predict(self, X: Any) -> Any:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            The likeliest class; 0 or 1 for labels, sparse if Y was.
        """
        return self._decode(self._scores(X))

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities.

        With a loss of whole rows, those of the known label sets are added up for each label (see
        `set_probabilities`); otherwise each label's score gives its own.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, 2), (n, c) or (n, d), or list
            Of the two classes (binary), of each class (multi-class), of label = 1 (multi-label),
            or one array of shape (n, c_j) per output.
        """
        channels = self._probabilities(self._scores(X))
        return split_probabilities(self._targets, channels)

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
            yield self._decode(scores)

    def _decode(self, scores: NDArray[np.float64]) -> Any:
        targets = self._targets
        rule = self.decoding
        if rule == "auto":
            rule = "known_label_set" if self._has_joint() else "threshold"
        if isinstance(rule, decoding.KnownLabelSet) and not hasattr(rule, "label_sets_"):
            rule = "known_label_set"  # of those that fit has seen
        if targets.kind != "multilabel" or rule == "threshold":
            return decode_classes(targets, self._probabilities(scores, by_label=True))
        if rule == "known_label_set":
            chosen = self._known().best(scores)
        elif self._has_joint() and not isinstance(rule, decoding.Threshold):
            decoder = decoding.resolve(rule)
            parts = [
                decoder.decode_joint(p, self._label_sets)
                for p in self._known().probabilities(scores)
            ]
            chosen = np.concatenate(parts)
        else:
            probabilities = self._probabilities(scores, by_label=True)
            chosen = decode_labels(decoding.resolve(rule), targets.hierarchy, probabilities)
        if targets.hierarchy is not None:
            chosen = targets.hierarchy.close(chosen)
        return sparse.csr_array(chosen) if targets.is_sparse else chosen

    def _has_joint(self) -> bool:
        """Whether whole label sets have probabilities, rather than labels."""
        return not self._loss().decomposable

    def _known(self) -> KnownLabelSets:
        return KnownLabelSets(self._loss(), self._label_sets, self._fitted.set_probabilities)

    def _probabilities(
        self, scores: NDArray[np.float64], by_label: bool = False
    ) -> NDArray[np.float64]:
        """Give the probability of every channel, by its own score if `by_label`."""
        is_labels = self._targets.kind == "multilabel"
        if self._has_joint() and not (by_label and is_labels):
            return self._known().marginals(scores)
        probabilities = self._loss().probabilities(scores)
        if self._targets.kind in ("multiclass", "multiclass-multioutput"):
            return normalised(probabilities, self._targets.channel_offsets)
        return probabilities

    def _read_targets(self, y: Any, n_rows: int) -> LossTargets:
        targets = read_classes(y, n_rows, estimator_name=type(self).__name__)
        targets = align_targets(targets, self._targets, "y")
        labels = dense_labels(targets)
        return LossTargets(labels, targets.observed, targets.schema.channel_offsets)


def _by_entry(targets: Targets) -> bool:
    """Whether weights are those of single labels."""
    return targets.weights is not None and targets.weights.ndim == 2
