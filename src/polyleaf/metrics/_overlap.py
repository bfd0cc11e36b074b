"""Count what true and predicted label sets have in common, per row or per label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from polyleaf.metrics._inputs import Bools, Floats, Labels

Matrix = Bools | sparse.csr_array


@dataclass(frozen=True)
class Overlap:
    """Sizes of label sets, of shape (n,) per row or (d,) per label; only observed entries count.

    Attributes
    ----------
    n_true, n_pred, n_both : ndarray
        Labels that are present, that are predicted, and that are both.
    n_observed : ndarray
        Entries that are observed.
    """

    n_true: Floats
    n_pred: Floats
    n_both: Floats
    n_observed: Floats

    @property
    def n_wrong(self) -> Floats:
        """Entries where truth and prediction differ."""
        return self.n_true + self.n_pred - 2.0 * self.n_both


def row_overlap(true: Labels, pred: Labels) -> Overlap:
    """Count the labels of each row."""
    shown = _observed_part(pred, true)
    present = true.present
    ones = np.ones(true.shape[1])
    n_both = _intersection(present, shown) @ ones
    return Overlap(present @ ones, shown @ ones, n_both, true.n_observed())


def label_overlap(true: Labels, pred: Labels, weights: Floats) -> Overlap:
    """Count the rows of each label, every row as much as it weighs."""
    shown = _observed_part(pred, true)
    present = true.present
    n_both = weights @ _intersection(present, shown)
    if true.observed is None:
        n_observed = np.full(true.shape[1], weights.sum())
    else:
        n_observed = weights @ true.observed
    return Overlap(weights @ present, weights @ shown, n_both, n_observed)


def _observed_part(pred: Labels, true: Labels) -> Any:
    """Drop the predictions of entries that are not observed."""
    if true.observed is None:
        return pred.present
    return _intersection(pred.present, true.observed)


def _intersection(a: Matrix, b: Matrix) -> Any:
    """Entries that are set in both; sparse as soon as one of them is."""
    if isinstance(a, sparse.csr_array):
        return sparse.csr_array(a.multiply(b))
    if isinstance(b, sparse.csr_array):
        return sparse.csr_array(b.multiply(a))
    return a & b
