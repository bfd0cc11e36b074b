"""Max-margin labelling on one graph over the labels (paper 003)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf.estimator.parameters import documented
from polyleaf.graphs.base import GraphEstimator
from polyleaf.graphs.model import GraphModel
from polyleaf.graphs.training import Combination


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

    See Also
    --------
    GraphEnsembleClassifier : many random graphs, combined.
    polyleaf.graphs : ways to draw a graph.

    Notes
    -----
    Features should be of like size: scale them first, for example with
    ``sklearn.preprocessing.StandardScaler``. Categories and missing values in X are refused;
    labels that were not observed (NaN in Y) are left free in training.

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

    def __init__(
        self,
        *,
        graph: Any = "spanning_tree",
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
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphClassifier:
        """Draw the graph and train on it.

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
        GraphClassifier
            Itself.
        """
        fit = self._prepare(X, y, sample_weight)
        combination = Combination("mam", is_completed=False)
        members, _ = self._train(fit, [fit.task.draw_graph(0)], 0, combination)
        model = GraphModel(members, fit.kernel_map, combination.aggregation)
        self._finish(fit, model, combination)
        return self

    @property
    def edges_(self) -> NDArray[np.int32]:
        """Edges between labels, of shape (n_edges, 2)."""
        check_is_fitted(self)
        return self._model.consensus.graph.edges

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
