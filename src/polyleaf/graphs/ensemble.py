"""Max-margin labelling on many random graphs over the labels, combined (paper 003)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf.estimator.parameters import documented
from polyleaf.graphs.base import GraphEstimator
from polyleaf.graphs.model import GraphModel
from polyleaf.graphs.training import Combination


@documented
class GraphEnsembleClassifier(GraphEstimator):
    """An ensemble of max-margin classifiers on random graphs over the labels.

    No structure of the labels needs to be known: each member is a `GraphClassifier` on a random
    graph of its own, and different graphs lead to different errors, which cancel.

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
    edges_ : ndarray of shape (n_edges, 2), int32
        The consensus graph: all edges that a member has.
    edge_counts_ : ndarray of shape (n_edges,), int64
        How many members have each.
    dual_gap_, objective_ : ndarray of shape (n_members,), float64
        Of each member: primal less dual objective, and the primal one.
    n_iter_ : ndarray of shape (n_members,), int64
        Passes over the training rows.
    diversity_, coherence_ : float
        Averages over the training rows of the two terms of theorem 1, at the true labelling: the
        variance over members of each label's score, and the covariance of pairs of them. Their
        sum is what averaging the members takes off their mean squared error.

    See Also
    --------
    GraphClassifier : a single graph.
    polyleaf.inspection.plot_consensus_graph : a drawing of the consensus graph.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import GraphEnsembleClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> angles = np.linspace(0, np.pi, 8, endpoint=False)
    >>> Y = (X @ [np.cos(angles), np.sin(angles)] > 0).astype(int)
    >>> model = GraphEnsembleClassifier(n_estimators=10, random_state=0).fit(X, Y)
    >>> model.predict([[1.0, 0.5]])
    array([[1, 1, 1, 1, 1, 1, 0, 0]])
    >>> model.diversity_ > 0
    True
    """

    _variance_terms: tuple[float, ...]

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        graph: Any = "spanning_tree",
        aggregation: str = "mam",
        completion: str = "zero",
        kernel: Any = "linear",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        intercept_scaling: float = 1.0,
        C: float = 1.0,
        margin_loss: str = "edge",
        tol: float = 0.01,
        max_iter: int = 200,
        class_weight: Any = None,
        calibration_folds: int | None = 3,
        decoding: Any = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.graph = graph
        self.aggregation = aggregation
        self.completion = completion
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.intercept_scaling = intercept_scaling
        self.C = C
        self.margin_loss = margin_loss
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.calibration_folds = calibration_folds
        self.decoding = decoding
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphEnsembleClassifier:
        """Draw the graphs and train on each.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            Numbers, none missing; with ``kernel='precomputed'`` of shape (n, n).
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Classes or labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
            Weights of rows, or costs of errors in single labels.

        Returns
        -------
        GraphEnsembleClassifier
            Itself.
        """
        fit = self._prepare(X, y, sample_weight)
        is_completed = self.aggregation == "mam" and self.completion == "consistent"
        combination = Combination(self.aggregation, is_completed)
        first = self._n_kept(fit)
        drawn = [fit.task.draw_graph(t) for t in range(first, self.n_estimators)]
        members, completed = None if first == 0 else self._model.members, None
        if drawn:
            more, completed = self._train(fit, drawn, first, combination)
            members = more if members is None else members.extended(more)
        assert members is not None
        model = GraphModel(members, fit.kernel_map, self.aggregation, completed)
        terms = model.variance_terms(fit.design, fit.task.data.labels)
        self._finish(fit, model, combination)
        self._variance_terms = tuple(float(term.mean()) for term in terms)
        return self

    def _n_kept(self, fit: Any) -> int:
        """Count the members that a warm start keeps, after checks that they can be kept."""
        if not self.warm_start or not hasattr(self, "_model"):
            return 0
        model = self._model
        if self.aggregation == "mam" and self.completion == "consistent":
            raise ValueError(
                "warm_start is not available with completion='consistent', which needs the dual "
                "variables of all members at once. Use completion='zero' or warm_start=False."
            )
        fits = np.array_equal(model.members.n_states, fit.task.data.n_states)
        if not fits or not model.kernel_map.is_like(fit.kernel_map):
            raise ValueError(
                "warm_start must be called with the data of the first fit and with its kernel; "
                "got X or y of another shape, other classes, another kernel or other parameters "
                "of it, or other rows for it. Set warm_start=False to fit anew."
            )
        if self.n_estimators < model.members.n_members:
            raise ValueError(
                f"n_estimators must be at least the {model.members.n_members} members there are "
                f"when warm_start is on; got {self.n_estimators}."
            )
        return model.members.n_members

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict with the first member, the first two, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            As `predict` gives it with ``decoding='auto'``.
        """
        rows = self._rows(X)
        for labels, _ in self._model.staged_outcomes(rows, self._n_threads()):
            yield self._decode(labels)

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Score labels with the first member, the first two, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        ndarray or list of ndarray
            As `decision_function` gives it.
        """
        rows = self._rows(X)
        for _, relative in self._model.staged_outcomes(rows, self._n_threads()):
            yield self._arrange(relative)

    @property
    def edges_(self) -> NDArray[np.int32]:
        """Edges of the consensus graph, of shape (n_edges, 2)."""
        check_is_fitted(self)
        return self._model.consensus.graph.edges

    @property
    def edge_counts_(self) -> NDArray[np.int64]:
        """How many members have each edge, of shape (n_edges,)."""
        check_is_fitted(self)
        return self._model.consensus.counts

    @property
    def dual_gap_(self) -> NDArray[np.float64]:
        """Primal less dual objective of each member, of shape (n_members,)."""
        check_is_fitted(self)
        return self._model.members.dual_gap

    @property
    def objective_(self) -> NDArray[np.float64]:
        """The primal objective of each member, of shape (n_members,)."""
        check_is_fitted(self)
        return self._model.members.objective

    @property
    def n_iter_(self) -> NDArray[np.int64]:
        """Passes over the training rows of each member, of shape (n_members,)."""
        check_is_fitted(self)
        return self._model.members.n_iter

    @property
    def diversity_(self) -> float:
        """Mean variance over members of the labels' own scores."""
        check_is_fitted(self)
        return self._variance_terms[0]

    @property
    def coherence_(self) -> float:
        """Mean covariance over members of the scores of pairs of labels."""
        check_is_fitted(self)
        return self._variance_terms[1]

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, metadata = super()._to_file()
        metadata["variance_terms"] = list(self._variance_terms)
        return arrays, metadata

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        estimator = super()._from_file(arrays, metadata)
        diversity, coherence = map(float, metadata["variance_terms"])
        estimator._variance_terms = diversity, coherence
        return estimator
