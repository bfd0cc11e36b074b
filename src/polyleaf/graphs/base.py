"""What the single graph classifier and the ensemble have in common: fitting and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from polyleaf.checks import memory
from polyleaf.data import (
    NumericData,
    decode_classes,
    read_numeric,
    read_numeric_rows,
    respecting,
    split_probabilities,
)
from polyleaf.estimator.classifier import Classifier
from polyleaf.estimator.parameters import Parameter
from polyleaf.estimator.running import in_threads
from polyleaf.graphs.aggregation import Combination
from polyleaf.graphs.fitted import FittedGraphs
from polyleaf.graphs.kernels import EXPLICIT, check_sparse
from polyleaf.graphs.labels import channel_scores, is_one_hot, probabilities
from polyleaf.graphs.model import GraphModel
from polyleaf.graphs.parameters import GRAPH_PARAMETERS
from polyleaf.graphs.training import Run, train_graphs

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Rows: TypeAlias = NDArray[np.float64] | CSR


def _can_give_probabilities(estimator: Any) -> bool:
    if estimator.calibration_folds is None:
        raise AttributeError(
            f"predict_proba of {type(estimator).__name__} needs calibration_folds; got None. Set "
            "it to the number of folds, for example 3, and fit again."
        )
    return True


class GraphEstimator(Classifier):
    """A classifier that scores labellings by sums over the edges of graphs."""

    _declared: ClassVar[dict[str, Parameter]] = GRAPH_PARAMETERS
    _fitted_type = FittedGraphs
    _fitted: FittedGraphs
    #: Whether there are members to compare with each other.
    _is_ensemble: ClassVar[bool]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        tags.input_tags.sparse = isinstance(self.kernel, str) and self.kernel in (
            "auto",
            *EXPLICIT,
        )
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    # Fitting -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, output_names: Any = None) -> Self:
        """Draw the graphs and train on each.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            Numbers, none missing; with ``kernel='precomputed'`` of shape (n, n).
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Classes or labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
            Weights of rows, or costs of errors in single labels.
        output_names : sequence of str, of length d, optional
            Names of the outputs, if y has none: an array or a sparse matrix.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, output_names)

    def _read(
        self, X: Any, y: Any, sample_weight: Any, output_names: Any, **told: Any
    ) -> NumericData:
        self._check_memory(X, y)
        self._check_decoding()
        data = read_numeric(
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=self.class_weight,
            unobserved="They are predicted as 0.",
            output_names=output_names,
            hierarchy=self._given_hierarchy(),
            estimator_name=type(self).__name__,
        )
        self._check_probabilities(data)
        return data

    def _check_given(self, X: Any, data: NumericData) -> None:
        """Refuse data that do not fit, or whose decoding cannot be had, after they were read."""
        self._check_memory(X, data.targets.values)
        self._check_decoding()
        self._check_probabilities(data)

    def _check_probabilities(self, data: NumericData) -> None:
        needs_probabilities = (
            data.targets.schema.kind == "multilabel" and not self._is_auto_decoding()
        )
        if needs_probabilities and self.calibration_folds is None:
            raise ValueError(
                f"decoding={self.decoding!r:.60} needs probabilities, and calibration_folds=None "
                "gives none. Set calibration_folds to 3, for example, or decoding='auto'."
            )

    def _train(self, data: NumericData, run: Run = in_threads) -> FittedGraphs:
        seed, n_threads = int(self._rng().integers(2**63)), self._n_threads()
        return train_graphs(self, data, self._combination(), self._kept(), seed, n_threads, run)

    def _check_memory(self, X: Any, y: Any) -> None:
        """Refuse what does not fit: labels, kernel, dual variables and weights.

        Looks at shapes alone, before anything is read; what has none is judged as it comes.
        """
        shapes = [tuple(getattr(part, "shape", ())) for part in (X, y)]
        if len(shapes[0]) != 2 or len(shapes[1]) not in (1, 2):
            return
        (n_rows, n_features), n_labels = shapes[0], (*shapes[1], 1)[1]
        is_matrix = self.kernel not in ("auto", *EXPLICIT)  # "auto" makes small ones only
        n_columns = n_rows if is_matrix else n_features + 1
        n_scores = 2 * n_labels  # of a tree of labels with two classes
        n_members = self._combination().n_members
        n_running = min(self._n_threads(), n_members)
        n_numbers = 1.5 * n_rows * n_labels + 4 * n_running * n_rows * n_scores
        n_numbers += (n_members + n_running) * n_scores * n_columns
        if is_matrix or not hasattr(X, "nnz"):
            n_numbers += n_rows * n_columns
        needed = int(8 * n_numbers)
        if needed < memory.SMALL_BYTES:
            return
        memory.check_memory(
            needed,
            f"{n_members} graphs on {n_rows} rows and {n_labels} labels keep dual variables and "
            "weights of every label and edge:",
            "Fit fewer rows, labels, members or threads, or use a forest, whose leaves hold "
            "training rows.",
        )

    def _combination(self) -> Combination:
        """Tell how many members there are to be, and how they are combined."""
        raise NotImplementedError

    def _kept(self) -> FittedGraphs | None:
        """Give the fit whose members a warm start keeps."""
        return None

    # Predicting --------------------------------------------------------------------------------

    @property
    def _model(self) -> GraphModel:
        return self._fitted.model

    @property
    def edges_(self) -> NDArray[np.int32]:
        """Edges between labels that some graph has, of shape (n_edges, 2)."""
        check_is_fitted(self)
        return self._model.consensus.graph.edges

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        _, rows = read_numeric_rows(X, self._features, estimator_name=type(self).__name__)
        check_sparse(self._model.kernel_map.kernel, rows)
        return rows

    def _is_auto_decoding(self) -> bool:
        """Tell whether the labels of the best labelling are wanted."""
        return isinstance(self.decoding, str) and self.decoding == "auto"

    def predict(self, X: Any) -> Any:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            With a precomputed kernel, kernel values with the training rows.

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            0 or 1 for labels, sparse if Y was; else classes.
        """
        rows = self._rows(X)
        if self._targets.kind == "multilabel" and not self._is_auto_decoding():
            return self._decode_channels(self.predict_proba(X))
        return self._decode(self._model.outcome(rows, self._n_threads()).labels)

    def _decode(self, labels: NDArray[np.int32]) -> Any:
        if not is_one_hot(self._targets.kind):
            return decode_classes(self._targets, labels.astype(np.float64))
        n_states = self._model.members.n_states
        classes = np.concatenate([np.arange(n) for n in n_states])
        hot = np.repeat(labels, n_states, axis=1) == classes
        return decode_classes(self._targets, hot.astype(np.float64))

    def decision_function(self, X: Any) -> Any:
        """Score labels by their max-marginals.

        The score of a label is the best score of a labelling that has it, less the best of one
        that has it not; that of a class of several is relative to the best of the others. It is
        positive where `predict` gives the label. Averaged max-marginals (AMM) are the mean of the
        members' scores, majority votes (MVE) shares of votes.

        Both best scores are exact in graphs without cycles and with at most 2^14 labellings (14
        labels). In other graphs, as MAM has them, they are the best that was found: `predict`'s
        labelling for one, and for the other a local search with the label held.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,), (n, c) or (n, d), or list of ndarray of shape (n, c_j)
            For a binary, multi-class, multi-label or multi-class multi-output problem.
        """
        rows = self._rows(X)
        return self._arrange(self._model.outcome(rows, self._n_threads()).relative)

    def _arrange(self, relative: NDArray[np.float64]) -> Any:
        kind, n_states = self._targets.kind, self._model.members.n_states
        scores = channel_scores(relative, n_states, one_hot=is_one_hot(kind))
        if kind == "binary":
            return scores[:, 0]
        if kind == "multiclass-multioutput":
            return np.split(scores, np.cumsum(n_states)[:-1], axis=1)
        return respecting(self._targets, scores)

    def is_certified(self, X: Any) -> NDArray[np.bool_]:
        """Tell for which rows the labelling is proven to have the best score of all.

        That is so in graphs without cycles and with at most 2^14 labellings (14 labels), and
        where tree-reweighted message passing finds a bound that the labelling reaches. An
        ensemble by MAM has one graph, the union; by AMM or MVE, all members must be proven.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,), bool
        """
        return self._model.outcome(self._rows(X), self._n_threads()).certified

    @property
    def C_(self) -> float:  # noqa: N802
        """The number that `C` stood for."""
        check_is_fitted(self)
        return self._fitted.constant

    @property
    def kernel_(self) -> Any:
        """The kernel that was used: `kernel`, or what ``'auto'`` chose."""
        check_is_fitted(self)
        return self._model.kernel_map.kernel

    @property
    def certified_share_(self) -> float:
        """Share of (about 500 of) the training rows that `is_certified`; NaN if not known."""
        check_is_fitted(self)
        share = self._fitted.certified
        return float("nan") if share is None else float(share)

    @available_if(_can_give_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities, by sigmoids of the scores of `decision_function`.

        The sigmoids were fitted on scores of rows that the scoring model had not seen; see
        `calibration_folds`. They have a slope for scores above 0 and one below, so that a
        probability exceeds 1/2 where `predict` says 1.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, 2), (n, c) or (n, d), or list
            Of the two classes (binary), of each class (multi-class), of label = 1 (multi-label),
            or one array of shape (n, c_j) per output.
        """
        rows = self._rows(X)
        slopes = self._fitted.slopes
        if slopes is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted with calibration_folds=None. Fit it again "
                "to get probabilities."
            )
        relative = self._model.outcome(rows, self._n_threads()).relative
        chances = probabilities(
            relative,
            self._model.members.n_states,
            *slopes,
            one_hot=is_one_hot(self._targets.kind),
        )
        return split_probabilities(self._targets, chances)

    @available_if(_can_give_probabilities)  # type: ignore[untyped-decorator]
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
        return super().predict_log_proba(X)
