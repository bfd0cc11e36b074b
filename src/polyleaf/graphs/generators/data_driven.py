"""Trees learnt from the training labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyleaf.graphs.generators.base import GraphContext, GraphGenerator
from polyleaf.graphs.generators.random import maximum_spanning_tree


class ChowLiu(GraphGenerator):
    """The tree whose edges carry the most mutual information between labels (Chow and Liu, 1968).

    Parameters
    ----------
    row_share : float, default=1.0
        Share of the training rows, drawn anew for each graph, in (0, 1]. With less than 1 the
        members of an ensemble get different trees; with 1 they are all alike.

    Notes
    -----
    Mutual information of two labels is estimated on the rows where both are observed, with half
    a row added to each of their pairs of classes, so that chance agreements of rare labels count
    less.

    Examples
    --------
    >>> import numpy as np
    >>> import polyleaf
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> Y = X[:, [0, 1, 0]] > [[0.0, 0.0, 0.3]]  # the third label follows the first
    >>> model = polyleaf.GraphClassifier(graph=polyleaf.graphs.ChowLiu()).fit(X, Y.astype(int))
    >>> [0, 2] in model.edges_.tolist()
    True
    """

    def __init__(self, row_share: float = 1.0) -> None:
        self.row_share = row_share

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        share = self.row_share
        is_number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        if not is_number or not 0.0 < float(share) <= 1.0:
            raise ValueError(f"row_share of ChowLiu must be a number in (0, 1]; got {share!r}.")

    def draw(self, context: GraphContext) -> NDArray[np.int64]:
        """Find the tree; see `GraphGenerator.draw`."""
        self.check_params()
        rows = np.arange(context.labels.shape[0])
        if self.row_share < 1.0:
            n_drawn = max(1, round(self.row_share * rows.size))
            rows = np.sort(context.rng.choice(rows, n_drawn, replace=False))
        observed = None if context.observed is None else context.observed[rows]
        information = mutual_information(context.labels[rows], context.n_states, observed)
        return maximum_spanning_tree(information)


def mutual_information(
    labels: NDArray[np.int32], n_states: NDArray[np.int32], observed: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Estimate the mutual information of all pairs of labels, in nats.

    Parameters
    ----------
    labels : ndarray of shape (n_rows, n_labels), int32
    n_states : ndarray of shape (n_labels,), int32
    observed : ndarray of shape (n_rows, n_labels), bool, or None

    Returns
    -------
    ndarray of shape (n_labels, n_labels), float64
        Symmetric.
    """
    n_labels = n_states.size
    offsets = np.concatenate([[0], np.cumsum(n_states)])
    one_hot = np.zeros((labels.shape[0], offsets[-1]))
    for j in range(n_labels):
        rows = slice(None) if observed is None else observed[:, j]
        one_hot[np.arange(labels.shape[0])[rows], offsets[j] + labels[rows, j]] = 1.0
    joint = one_hot.T @ one_hot + 0.5
    group = np.repeat(np.arange(n_labels), n_states)
    totals = _sum_groups(_sum_groups(joint, offsets, 0), offsets, 1)
    joint /= totals[group][:, group]
    rows_sum = _sum_groups(joint, offsets, 1)[:, group]
    columns_sum = _sum_groups(joint, offsets, 0)[group]
    terms = joint * np.log(joint / (rows_sum * columns_sum))
    return _sum_groups(_sum_groups(terms, offsets, 0), offsets, 1)


def _sum_groups(
    values: NDArray[np.float64], offsets: NDArray[np.int64], axis: int
) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.add.reduceat(values, offsets[:-1], axis=axis)
    return sums
