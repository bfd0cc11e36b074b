"""Thresholds that are tuned on rows the model was not trained on: one for all, or one per label.

A label with p positives of which t stand above a threshold, together with m rows above it, has
F1 = 2t / (m + p) and m + p - 2t errors. Every threshold between two neighbouring probabilities is
tried. Micro-F1 over all labels is the largest F for which the sum over labels of
max(2t - F m) - F p is not negative, found by Dinkelbach's iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.decoding._base import Decoder
from polyleaf.decoding._inputs import Floats, read_labels, read_probabilities

_N_CANDIDATES = 100
_FEW = 0.2  # of the entries of a matrix
_MOST_PER_POSITIVE = 9  # entries above the lowest threshold, before lower ones are looked at
_MOST_ROUNDS = 50
Bools = NDArray[np.bool_]


class TunedThreshold(Decoder):
    """One threshold for all labels, tuned for any score.

    Parameters
    ----------
    score : callable or None, default=None
        ``score(Y, predicted)``, higher is better; None is micro-F1. If it has an attribute
        `takes_sparse` that is true, it may get sparse matrices where those given are dense: most
        thresholds select few of many labels.

    Attributes
    ----------
    threshold_ : float

    Examples
    --------
    >>> from polyleaf.decoding import TunedThreshold
    >>> Y = [[1, 0], [1, 0], [0, 1]]
    >>> decoder = TunedThreshold().fit(Y, [[0.4, 0.1], [0.3, 0.2], [0.1, 0.3]])
    >>> decoder.threshold_
    0.25
    >>> decoder.decode([[0.3, 0.2]])
    array([[1, 0]])
    """

    needs_probabilities: ClassVar[bool] = True

    def __init__(self, score: Callable[[Any, Any], float] | None = None) -> None:
        self.score = score

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        if self.score is not None and not callable(self.score):
            raise ValueError(
                f"score must be None or a function of Y and predictions; got {shown(self.score)}."
            )

    def fit(self, Y: Any, probabilities: Any = None) -> TunedThreshold:
        """Find the threshold with the best score.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.
        probabilities : array-like or sparse matrix of shape (n, d)
            From a model that was not trained on these rows.

        Returns
        -------
        TunedThreshold
            Itself.
        """
        self.check_params()
        matrix = _read_pair(Y, probabilities, type(self).__name__)
        curve = _pooled_curve(Y, matrix, _MOST_PER_POSITIVE)
        if self.score is None:
            # Above further thresholds are so many entries that F1 is at most this.
            if not curve.is_whole and curve.f1.max() < 2.0 / (1.0 + _MOST_PER_POSITIVE):
                curve = _pooled_curve(Y, matrix)
            self.threshold_ = curve.best(curve.f1)
            return self
        candidates = _candidate_thresholds(curve)
        if getattr(self.score, "takes_sparse", False):
            Y, matrix = _without_unlikely(Y, matrix, candidates[0])
        scores = np.array([self.score(Y, _above(matrix, t)) for t in candidates])
        # Of equally good ones take the middle one: the least sensitive to small changes.
        best = np.flatnonzero(scores == np.nanmax(scores))
        self.threshold_ = float(candidates[best[best.size // 2]])
        return self

    def decode_rows(self, probabilities: Floats) -> Bools:
        """Choose label sets for a block of rows."""
        check_is_fitted(self)
        return np.asarray(probabilities > self.threshold_)


class LabelThresholds(Decoder):
    """One threshold per label, each tuned exactly.

    Parameters
    ----------
    objective : {"macro_f1", "micro_f1", "hamming_loss"}, default="macro_f1"
        What the thresholds together optimise.
    min_positives : int, default=5
        A label with fewer positive rows takes the threshold that is best for all labels together:
        its own would follow chance.

    Attributes
    ----------
    thresholds_ : ndarray of shape (d,)

    Examples
    --------
    >>> from polyleaf.decoding import LabelThresholds
    >>> Y = [[1, 0], [1, 0], [0, 1]]
    >>> decoder = LabelThresholds(min_positives=1)
    >>> decoder.fit(Y, [[0.4, 0.1], [0.3, 0.5], [0.1, 0.7]]).thresholds_
    array([0.2, 0.6])
    """

    needs_probabilities: ClassVar[bool] = True

    def __init__(
        self,
        objective: Literal["macro_f1", "micro_f1", "hamming_loss"] = "macro_f1",
        min_positives: int = 5,
    ) -> None:
        self.objective = objective
        self.min_positives = min_positives

    def check_params(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        if not is_one_of(self.objective, ("macro_f1", "micro_f1", "hamming_loss")):
            raise ValueError(
                "objective must be 'macro_f1', 'micro_f1' or 'hamming_loss'; got "
                f"{shown(self.objective)}."
            )
        if not isinstance(self.min_positives, (int, np.integer)) or self.min_positives < 0:
            raise ValueError(
                f"min_positives must be an integer >= 0; got {shown(self.min_positives)}."
            )

    def fit(self, Y: Any, probabilities: Any = None) -> LabelThresholds:
        """Find the best threshold of each label.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n, d)
            0 and 1; NaN is not observed.
        probabilities : array-like or sparse matrix of shape (n, d)
            From a model that was not trained on these rows.

        Returns
        -------
        LabelThresholds
            Itself.
        """
        self.check_params()
        matrix = _read_pair(Y, probabilities, type(self).__name__)
        curves = list(_curves(Y, matrix))
        is_rare = [curve.n_positives < self.min_positives for curve in curves]
        if self.objective == "hamming_loss":
            chosen = [curve.best(2.0 * curve.n_hits - curve.n_above) for curve in curves]
        elif self.objective == "macro_f1":
            chosen = [curve.best(curve.f1) for curve in curves]
        else:
            chosen = _micro_f1_thresholds(curves)
        common = 0.5
        if any(is_rare) and self.objective != "hamming_loss":
            common = TunedThreshold().fit(Y, probabilities).threshold_
        self.thresholds_ = np.where(is_rare, common, chosen)
        return self

    def decode_rows(self, probabilities: Floats) -> Bools:
        """Choose label sets for a block of rows."""
        check_is_fitted(self)
        if probabilities.shape[1] != self.thresholds_.size:
            raise ValueError(
                f"probabilities must have {self.thresholds_.size} columns, as Y in fit; got "
                f"{probabilities.shape[1]}."
            )
        return np.asarray(probabilities > self.thresholds_)


class _Curve:
    """What each threshold of one label selects, from the highest threshold down.

    Attributes
    ----------
    thresholds, n_above, n_hits : ndarray
        Thresholds, rows above them, and positive rows among those.
    n_positives : int
    is_whole : bool
        Whether there is a threshold below every probability.
    """

    def __init__(self, present: Bools, probabilities: Floats, most: int | None = None) -> None:
        """Look at thresholds that select up to `most` rows, and perhaps at lower ones."""
        self.n_positives = int(present.sum())
        self.is_whole = most is None or most >= probabilities.size
        if most is not None and not self.is_whole:
            lowest = np.partition(probabilities, -most - 1)[-most - 1]
            is_kept = probabilities >= lowest
            present, probabilities = present[is_kept], probabilities[is_kept]
        order = np.argsort(-probabilities)  # of tied ones any: no cut is among them
        values = np.append(probabilities[order], 0.0)
        hits = np.append(0, np.cumsum(present[order]))
        # A cut before place i takes the first i rows; it needs a step between places i-1 and i.
        is_cut = np.ones(values.size, dtype=np.bool_)
        is_cut[1:] = values[1:] < values[:-1]
        # What comes after the last value is not known if some were left out.
        above = np.flatnonzero(is_cut if self.is_whole else is_cut[:-1])
        upper = np.where(above > 0, values[above - 1], 1.0)
        self.thresholds = (upper + values[above]) / 2.0
        self.n_above = above.astype(np.float64)
        self.n_hits = hits[above].astype(np.float64)

    @property
    def f1(self) -> Floats:
        """F1 at each threshold; 0 where it is not defined."""
        sizes = self.n_above + self.n_positives
        return np.divide(2.0 * self.n_hits, sizes, out=np.zeros_like(sizes), where=sizes > 0)

    def best(self, values: Floats) -> float:
        """Return the threshold with the largest value, the highest if tied."""
        return float(self.thresholds[np.argmax(values)])


def _curves(Y: Any, probabilities: Any) -> Any:
    """Yield the curve of each label; sparse matrices are taken column by column."""
    present, observed = read_labels(Y)
    by_column = probabilities.tocsc() if is_sparse(probabilities) else probabilities
    present = present.tocsc() if is_sparse(present) else present
    for j in range(present.shape[1]):
        values, is_true = _column(by_column, j), _column(present, j).astype(np.bool_)
        if observed is not None:
            values, is_true = values[observed[:, j]], is_true[observed[:, j]]
        yield _Curve(is_true, np.clip(values, 0.0, 1.0))


def _micro_f1_thresholds(curves: list[_Curve]) -> list[float]:
    n_positives = float(sum(curve.n_positives for curve in curves))
    f1 = 0.0
    chosen = [0] * len(curves)
    for _ in range(_MOST_ROUNDS):
        chosen = [int(np.argmax(2.0 * c.n_hits - f1 * c.n_above)) for c in curves]
        hits = sum(c.n_hits[i] for c, i in zip(curves, chosen))
        above = sum(c.n_above[i] for c, i in zip(curves, chosen))
        improved = 2.0 * hits / (above + n_positives) if above + n_positives else 0.0
        if improved <= f1:
            break
        f1 = improved
    return [float(c.thresholds[i]) for c, i in zip(curves, chosen)]


def _pooled_curve(Y: Any, probabilities: Any, most_per_positive: int | None = None) -> _Curve:
    """Return the curve of all observed entries together; what is not stored is never chosen."""
    present, observed = read_labels(Y)
    if is_sparse(probabilities):
        stored = probabilities.tocoo()
        at, values = (stored.row, stored.col), stored.data
        is_true = np.asarray(present[at]).ravel()
        known = None if observed is None else observed[at]
    else:
        values, is_true = probabilities.ravel(), _whole(present).ravel()
        known = None if observed is None else observed.ravel()
    if known is not None:
        values, is_true = values[known], is_true[known]
    n_positives = int(present.sum())
    most = None if most_per_positive is None else most_per_positive * max(n_positives, 1)
    curve = _Curve(is_true, np.clip(values, 0.0, 1.0), most)
    curve.n_positives = n_positives
    return curve


def _candidate_thresholds(curve: _Curve) -> Floats:
    """Choose at most 100 thresholds that select up to four times as many labels as there are."""
    useful = curve.thresholds[curve.n_above <= max(4 * curve.n_positives, 1)]
    places = np.linspace(0, useful.size - 1, min(useful.size, _N_CANDIDATES)).round()
    return np.unique(np.append(useful[places.astype(np.intp)], 0.5))


def _without_unlikely(Y: Any, probabilities: Any, lowest: float) -> tuple[Any, Any]:
    """Make both matrices sparse, without probabilities that no threshold selects, if few are left.

    Labels that are not all observed stay as they are.
    """
    if is_sparse(probabilities):
        return Y, probabilities
    is_likely = probabilities > lowest
    if np.count_nonzero(is_likely) > _FEW * is_likely.size:
        return Y, probabilities
    present, observed = read_labels(Y)
    labels = Y if observed is not None else sparse.csr_array(present)
    return labels, sparse.csr_array(np.where(is_likely, probabilities, 0.0))


def _above(probabilities: Any, threshold: float) -> Any:
    """Decode as `decode_rows` does, whole; a sparse matrix stays sparse."""
    chosen = probabilities > threshold
    return chosen.astype(np.int8)


def _whole(matrix: Any) -> Any:
    return matrix.toarray() if is_sparse(matrix) else matrix


def _column(matrix: Any, j: int) -> Any:
    return matrix[:, [j]].toarray().ravel() if is_sparse(matrix) else matrix[:, j]


def _read_pair(Y: Any, probabilities: Any, name: str) -> Any:
    if probabilities is None:
        raise ValueError(
            f"{name} learns from probabilities of rows that the model was not trained on; got "
            "none. TunedDecoder makes them by cross-validation."
        )
    matrix = read_probabilities(probabilities)
    shape = Y.shape if hasattr(Y, "shape") else np.shape(Y)
    if matrix.shape != shape:
        raise ValueError(
            f"probabilities must have the shape of Y, {tuple(shape)}; got {matrix.shape}."
        )
    return matrix
