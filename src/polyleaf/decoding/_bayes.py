"""Bayes-optimal label sets: the highest expected F1, Jaccard index or subset accuracy.

Given only the probability of each label, labels count as independent. Given a distribution over
whole label sets, F1 and subset accuracy are maximised exactly for any dependence: F1 by the
general F-measure maximiser (Dembczynski, Waegeman, Cheng and Hüllermeier, NIPS 2011).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf.decoding._base import Decoder
from polyleaf.decoding._expected_size import (
    Floats,
    f1_by_size,
    jaccard_by_size,
    most_f1_sizes,
    most_jaccard_sizes,
    most_true_labels,
)
from polyleaf.decoding._inputs import log_odds_of, read_labels
from polyleaf.decoding._jaccard_search import best_jaccard_set
from polyleaf.decoding._rules import first_labels

_BLOCK_ENTRIES = 1 << 20  # of a working array
_SIZE_ENTRIES = 1 << 22  # of the distributions of numbers of true labels
Bools = NDArray[np.bool_]


class Subset(Decoder):
    """The likeliest label set: the least expected subset 0/1 loss.

    Given the probability of each label, these are the labels above 0.5. Given a distribution over
    label sets, it is the likeliest of them, the first one if tied.

    Examples
    --------
    >>> from polyleaf.decoding import Subset
    >>> Subset().decode([[0.2, 0.7, 0.9]])
    array([[0, 1, 1]])
    >>> label_sets = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> Subset().decode_joint([[0.3, 0.4, 0.3]], label_sets)  # no label is likelier than 0.5
    array([[0, 1, 0]])
    """

    def decode_rows(self, probabilities: Floats) -> Bools:
        """Choose label sets for a block of rows."""
        return np.asarray(probabilities > 0.5)

    def decode_shares(self, shares: sparse.csr_array, sets: sparse.csr_array) -> Bools:
        """Choose the label set with the largest share."""
        distinct, group_of = distinct_rows(sets)
        to_groups = sparse.csr_array(
            (np.ones(group_of.size), (np.arange(group_of.size), group_of)),
            shape=(group_of.size, distinct.shape[0]),
        )
        likeliest = np.asarray((shares @ to_groups).argmax(axis=1)).ravel()
        return np.asarray(distinct[likeliest].toarray() > 0)


class ExampleF1(Decoder):
    """The highest expected F1 of a row's label set.

    Exact given a distribution over label sets, and exact for independent labels given the
    probability of each. A row without true labels scores 1 for the empty set.

    Examples
    --------
    >>> from polyleaf.decoding import ExampleF1
    >>> ExampleF1().decode([[0.4, 0.3, 0.1], [0.05, 0.02, 0.02]])
    array([[1, 1, 0],
           [0, 0, 0]])
    """

    def decode_rows(self, probabilities: Floats) -> Bools:
        """Choose label sets for a block of rows."""
        width = most_true_labels(probabilities) + 1
        return _best_first_labels(f1_by_size, most_f1_sizes, probabilities, width)

    def decode_shares(self, shares: sparse.csr_array, sets: sparse.csr_array) -> Bools:
        """Maximise the expected F1 over all label sets."""
        n_rows, n_labels = shares.shape[0], sets.shape[1]
        step = max(1, _BLOCK_ENTRIES // n_labels)
        blocks = [_general_f1(shares[i : i + step], sets) for i in range(0, n_rows, step)]
        return np.concatenate(blocks)


class Jaccard(Decoder):
    """The highest expected Jaccard index of a row's label set.

    Exact for independent labels given the probability of each. Given a distribution over label
    sets the problem is NP-hard: exact for rows in which at most 10 labels can occur, a local
    search for others. A row without true labels scores 1 for the empty set.

    Examples
    --------
    >>> from polyleaf.decoding import Jaccard
    >>> Jaccard().decode([[0.6, 0.3, 0.1], [0.05, 0.02, 0.02]])
    array([[1, 0, 0],
           [0, 0, 0]])
    """

    def decode_rows(self, probabilities: Floats) -> Bools:
        """Choose label sets for a block of rows."""
        return _best_first_labels(jaccard_by_size, most_jaccard_sizes, probabilities, 1)

    def decode_shares(self, shares: sparse.csr_array, sets: sparse.csr_array) -> Bools:
        """Search the label set with the highest expected Jaccard index."""
        chosen = np.zeros((shares.shape[0], sets.shape[1]), dtype=np.bool_)
        for row in range(shares.shape[0]):
            span = slice(shares.indptr[row], shares.indptr[row + 1])
            support = sets[shares.indices[span]]
            labels = np.unique(support.indices)
            dense = support[:, labels].toarray() > 0
            chosen[row, labels] = best_jaccard_set(np.asarray(shares.data[span]), dense)
        return chosen


class KnownLabelSet(Decoder):
    """The likeliest among the label sets that were seen in training.

    Labels count as independent: the set maximises the sum of log(p / (1 - p)) over its labels.

    Attributes
    ----------
    label_sets_ : csr_array of shape (s, d)
        The distinct label sets of the training rows.

    Examples
    --------
    >>> from polyleaf.decoding import KnownLabelSet
    >>> decoder = KnownLabelSet().fit([[1, 0, 0], [0, 1, 1]])
    >>> decoder.decode([[0.4, 0.6, 0.3]])  # the second and the third label come together
    array([[1, 0, 0]])
    """

    def fit(self, Y: object, probabilities: object = None) -> KnownLabelSet:
        """Collect the label sets of the rows that are fully observed.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.
        probabilities : None
            Not used.

        Returns
        -------
        KnownLabelSet
            Itself.
        """
        present, observed = read_labels(Y)
        if observed is not None:
            present = present[observed.all(axis=1)]
            if present.shape[0] == 0:
                raise ValueError(
                    "KnownLabelSet needs rows with every label observed; got none. Take another "
                    "decoder, such as ExampleF1()."
                )
        self.label_sets_, _ = distinct_rows(sparse.csr_array(present))
        return self

    def decode_rows(self, probabilities: Floats) -> Bools:
        """Choose label sets for a block of rows."""
        check_is_fitted(self)
        sets = self.label_sets_
        if probabilities.shape[1] != sets.shape[1]:
            raise ValueError(
                f"probabilities must have {sets.shape[1]} columns, as Y in fit; got "
                f"{probabilities.shape[1]}."
            )
        log_odds = log_odds_of(probabilities)
        step = max(1, _BLOCK_ENTRIES // sets.shape[0])
        likeliest = [
            np.argmax((sets @ log_odds[i : i + step].T), axis=0)
            for i in range(0, len(log_odds), step)
        ]
        return np.asarray(sets[np.concatenate(likeliest)].toarray() > 0)


def distinct_rows(matrix: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """Return the distinct rows, in order of first appearance, and which of them each row is.

    Parameters
    ----------
    matrix : csr_array of shape (s, d)
        Without stored zeros.

    Returns
    -------
    distinct : csr_array of shape (g, d)
    group_of : ndarray of shape (s,)
    """
    matrix.sort_indices()
    seen: dict[bytes, int] = {}
    first: list[int] = []
    group_of = np.empty(matrix.shape[0], dtype=np.intp)
    for row in range(matrix.shape[0]):
        key = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tobytes()
        if key not in seen:
            seen[key] = len(first)
            first.append(row)
        group_of[row] = seen[key]
    return sparse.csr_array(matrix[np.array(first)]), group_of


def _best_first_labels(
    by_size: Callable[[Floats, int], Floats],
    most_sizes: Callable[[Floats], NDArray[np.intp]],
    probabilities: Floats,
    width: int,
) -> Bools:
    """Choose the best number of likeliest labels for each row.

    Rows are taken together by how many labels can occur in them and by how large their best set
    may be, so that the work follows those.
    """
    descending = -np.sort(-probabilities, axis=1)
    n_possible = (descending > 0).sum(axis=1)
    most = np.minimum(most_sizes(descending), n_possible)
    order = np.lexsort((-most, -np.ceil(np.log2(n_possible + 1.0))))
    order = order[most[order] > 0]
    sizes = np.zeros(len(probabilities), dtype=np.intp)
    start = 0
    while start < order.size:
        fitting = max(1, _SIZE_ENTRIES // (int(most[order[start]] + 1) * width))
        n_sizes = int(most[order[start : start + fitting]].max())
        fitting = max(1, _SIZE_ENTRIES // ((n_sizes + 1) * width))
        rows = order[start : start + fitting]
        values = by_size(descending[rows, : n_possible[rows].max()], n_sizes)
        sizes[rows] = values.argmax(axis=1)
        start += rows.size
    return first_labels(probabilities, sizes)


def _general_f1(shares: sparse.csr_array, sets: sparse.csr_array) -> Bools:
    """Maximise over k the sum of the k largest E[2 y_j / (k + |y|)]; exact for any dependence."""
    n_rows, n_labels = shares.shape[0], sets.shape[1]
    set_sizes = np.asarray(sets.sum(axis=1))
    best = np.asarray(shares @ (set_sizes == 0).astype(np.float64))  # of the empty set
    chosen = np.zeros((n_rows, n_labels), dtype=np.bool_)
    for k in range(1, n_labels + 1):
        gains = (shares @ sets.multiply((2.0 / (set_sizes + k))[:, np.newaxis]).tocsr()).toarray()
        values = -np.partition(-gains, k - 1, axis=1)[:, :k].sum(axis=1)
        better = np.flatnonzero(values > best)
        best[better] = values[better]
        chosen[better] = first_labels(gains[better], np.full(better.size, k))
    return chosen
