"""The seam between probabilities of labels and label sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from polyleaf.checks.matrices import is_sparse, read_array
from polyleaf.decoding._inputs import Floats, read_joint, read_probabilities

_BLOCK_ENTRIES = 1 << 20  # of a buffer of rows times labels


class Decoder(BaseEstimator, ABC):
    """A rule that turns probabilities of labels into label sets.

    To write one, subclass this, take the parameters in ``__init__`` as scikit-learn's estimators
    do, and write :meth:`decode_rows`. A rule that learns from the training labels also writes
    :meth:`fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.decoding import Decoder
    >>> class Everything(Decoder):
    ...     def decode_rows(self, probabilities):
    ...         return np.ones(probabilities.shape, dtype=bool)
    >>> Everything().decode([[0.2, 0.7]])
    array([[1, 1]])
    """

    #: Whether `fit` needs probabilities of rows that the model was not trained on.
    needs_probabilities: ClassVar[bool] = False

    def fit(self, Y: Any, probabilities: Any = None) -> Decoder:
        """Learn what the rule needs from label sets; most rules need nothing.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.
        probabilities : array-like or sparse matrix of shape (n, d), optional
            What a model that was not trained on these rows says about them. Only rules with
            `needs_probabilities` use it.

        Returns
        -------
        Decoder
            Itself.
        """
        return self

    @abstractmethod
    def decode_rows(self, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Choose label sets for a block of rows.

        Parameters
        ----------
        probabilities : ndarray of shape (rows, d), float64

        Returns
        -------
        ndarray of shape (rows, d), bool
        """

    def decode(self, probabilities: Any) -> Any:
        """Choose a label set for each row, given the probability of each label.

        Parameters
        ----------
        probabilities : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d), int64, or csr_array
            1 for the labels in the set; sparse if the probabilities were.
        """
        self.check_params()
        matrix = read_probabilities(probabilities)
        n_rows, n_labels = matrix.shape
        step = max(1, _BLOCK_ENTRIES // n_labels)
        decoded: list[Any] = []
        for start in range(0, n_rows, step):
            block = matrix[start : start + step]
            chosen = self.decode_rows(_dense(block))
            decoded.append(sparse.csr_array(chosen) if is_sparse(block) else chosen)
        if is_sparse(matrix):
            return sparse.csr_array(sparse.vstack(decoded)).astype(np.int64)
        return np.concatenate(decoded).astype(np.int64)

    def decode_joint(self, weights: Any, label_sets: Any) -> Any:
        """Choose a label set for each row, given a distribution over whole label sets.

        Parameters
        ----------
        weights : array-like or sparse matrix of shape (n, s)
            The probability of each label set in each row, up to a factor per row. A forest gives
            such weights to its training rows.
        label_sets : array-like or sparse matrix of shape (s, d)
            0 and 1.

        Returns
        -------
        ndarray of shape (n, d), int64
            1 for the labels in the set.
        """
        self.check_params()
        shares, sets = read_joint(weights, label_sets)
        return self.decode_shares(shares, sets).astype(np.int64)

    def decode_shares(self, shares: sparse.csr_array, sets: sparse.csr_array) -> NDArray[np.bool_]:
        """Choose label sets from normalised weights; by default only the marginals matter."""
        return self.decode_rows(np.clip((shares @ sets).toarray(), 0.0, 1.0))

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return bool(self.get_params() == other.get_params())

    # Parameters can be set, so that a hash of them would not last.
    __hash__ = None  # type: ignore[assignment]


def draws_to_joint(draws: Any) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """Turn drawn label sets into weights and label sets for :meth:`Decoder.decode_joint`.

    Parameters
    ----------
    draws : array-like of shape (n, m, d)
        m label sets drawn for each of n rows.

    Returns
    -------
    weights : csr_array of shape (n, n * m)
    label_sets : ndarray of shape (n * m, d), bool

    Examples
    --------
    >>> from polyleaf.decoding import Subset, draws_to_joint
    >>> draws = [[[1, 0], [0, 1], [0, 1]]]  # three draws for one row
    >>> Subset().decode_joint(*draws_to_joint(draws))
    array([[0, 1]])
    """
    values = read_array(draws, "draws")
    if values.ndim != 3 or 0 in values.shape:
        raise ValueError(
            f"draws must have shape (rows, draws, labels), at least one of each; got "
            f"{values.shape}."
        )
    n_rows, n_draws, n_labels = values.shape
    indptr = np.arange(n_rows + 1) * n_draws
    shares = np.full(n_rows * n_draws, 1.0 / n_draws)
    weights = sparse.csr_array(
        (shares, np.arange(n_rows * n_draws), indptr), shape=(n_rows, n_rows * n_draws)
    )
    is_label = values.astype(np.bool_)
    if not (values == is_label).all():
        raise ValueError("draws must hold 0 and 1 only; got other values.")
    return weights, is_label.reshape(-1, n_labels)


def _dense(block: Any) -> Floats:
    matrix = block.toarray() if is_sparse(block) else block
    return np.asarray(np.clip(matrix, 0.0, 1.0))
