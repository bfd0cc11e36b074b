"""Max-margin labelling on one graph over the labels, or on many (Su and Rousu 2013)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf.estimator.parameters import documented
from polyleaf.estimator.published import Variants
from polyleaf.graphs import papers
from polyleaf.graphs.aggregation import Combination
from polyleaf.graphs.base import GraphEstimator
from polyleaf.graphs.fitted import FittedGraphs


@documented
class GraphClassifier(GraphEstimator):
    """A max-margin classifier of label sets on one graph over the labels (MMCRF).

    A labelling is scored by a sum over the edges of the graph, each edge by a linear (or kernel)
    function of x for each pair of its labels. Training seeks scores that put the true labelling
    of every row ahead of all others, by a margin that grows with how wrong they are. On a graph
    without cycles the best labelling is found exactly.

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
        The graph. A label without neighbours has no edge.
    dual_gap_ : float
        Primal less dual objective at the end of training: how far from the optimum the model is
        at most. In a graph with cycles, where inference is approximate, it is an estimate.
    objective_ : float
        The primal objective.
    n_iter_ : int
        Passes over the training rows.
    kernel_ : str or callable
    C_ : float
        The kernel and the number that `kernel` and `C` stood for.
    certified_share_ : float
        Share of (about 500 of) the training rows whose labelling is proven to be the best; 1 in a
        graph without cycles. See `is_certified`.

    See Also
    --------
    GraphEnsembleClassifier : many random graphs, combined.
    polyleaf.graphs : ways to draw a graph.

    Notes
    -----
    X may be raw numbers: see `scale_features` and `C`. Categories and missing values in X are
    refused; labels that were not observed (NaN in Y) are left free in training.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import GraphClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> Y = np.column_stack([X[:, 0] > 0, X.sum(axis=1) > 0, X[:, 1] > 0]).astype(int)
    >>> model = GraphClassifier(graph=[(0, 1), (1, 2)], random_state=0).fit(X, Y)
    >>> model.predict([[1.0, 1.0], [-2.0, 1.0]])
    array([[1, 1, 1],
           [0, 0, 1]])
    >>> model.edges_
    array([[0, 1],
           [1, 2]], dtype=int32)
    >>> bool(model.dual_gap_ <= 0.01 * model.objective_)
    True
    """

    _is_ensemble = False
    _published: ClassVar[Variants] = papers.SINGLE

    def __init__(
        self,
        *,
        graph: Any = "spanning_tree",
        kernel: Any = "auto",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        intercept_scaling: float = 1.0,
        C: str | float = "auto",
        scale_features: bool = True,
        margin_loss: str = "edge",
        tol: float = 0.01,
        max_iter: int = 200,
        class_weight: Any = None,
        calibration_folds: int | None = 3,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def _combination(self) -> Combination:
        return Combination()

    @property
    def dual_gap_(self) -> float:
        """Primal less dual objective at the end of training."""
        check_is_fitted(self)
        return float(self._model.members.dual_gap[0])

    @property
    def objective_(self) -> float:
        """The primal objective."""
        check_is_fitted(self)
        return float(self._model.members.objective[0])

    @property
    def n_iter_(self) -> int:
        """Passes over the training rows."""
        check_is_fitted(self)
        return int(self._model.members.n_iter[0])


@documented
class GraphEnsembleClassifier(GraphEstimator):
    """An ensemble of max-margin classifiers on random graphs over the labels.

    You need not know how labels depend on each other: each member is a `GraphClassifier` on its
    own random graph, and different graphs make different errors, which cancel.

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
    kernel_ : str or callable
    C_ : float
        The kernel and the number that `kernel` and `C` stood for.
    certified_share_ : float
        Share of (about 500 of) the training rows whose labelling is proven to be the best; 1 with
        up to 14 labels. See `is_certified`.
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

    _is_ensemble = True
    _published: ClassVar[Variants] = papers.ENSEMBLES

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        graph: Any = "spanning_tree",
        aggregation: str = "mam",
        completion: str = "zero",
        kernel: Any = "auto",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        intercept_scaling: float = 1.0,
        C: str | float = "auto",
        scale_features: bool = True,
        margin_loss: str = "edge",
        tol: float = 0.01,
        max_iter: int = 200,
        class_weight: Any = None,
        calibration_folds: int | None = 3,
        decoding: Any = "auto",
        hierarchy: Any = None,
        on_violation: str = "close",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def _combination(self) -> Combination:
        is_completed = self.aggregation == "mam" and self.completion == "consistent"
        return Combination(int(self.n_estimators), self.aggregation, is_completed)

    def _kept(self) -> FittedGraphs | None:
        return self._fitted if self.warm_start and hasattr(self, "_fitted") else None

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
        for outcome in self._model.staged_outcomes(rows, self._n_threads()):
            yield self._decode(outcome.labels)

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
        for outcome in self._model.staged_outcomes(rows, self._n_threads()):
            yield self._arrange(outcome.relative)

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
    def _terms(self) -> tuple[float, float]:
        check_is_fitted(self)
        terms = self._fitted.variance_terms
        assert terms is not None
        return terms

    @property
    def diversity_(self) -> float:
        """Mean variance over members of the labels' own scores."""
        return self._terms[0]

    @property
    def coherence_(self) -> float:
        """Mean covariance over members of the scores of pairs of labels."""
        return self._terms[1]
