"""Split the rows of a multi-label data set so that every part has its share of every trait.

A trait of a row is a label, a pair of labels, the whole label set, or the number of labels. Traits
are dealt out from the rarest up: each row with the trait goes to the part that lacks most of it,
and takes its other traits along (iterative stratification, Sechidis et al. 2011; pairs as traits
are the second order of Szymański and Kajdanowicz 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.checks.randomness import read_random_state

Trait = Literal["label", "label_pair", "label_set", "cardinality"]
_TRAITS = ("label", "label_pair", "label_set", "cardinality")
_MOST_PARTS = 1_000_000  # more are surely a mistake, and would take their own memory


class MultiLabelKFold:
    """K folds in which labels are equally frequent; a splitter for scikit-learn's functions.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    by : {"label", "label_pair", "label_set", "cardinality"}, default="label"
        What is spread evenly over the folds: each label (iterative stratification), each label
        and pair of labels (of second order), each label set, or each number of labels.
    random_state : int, RandomState or None, default=None
        Which row goes where; an integer gives the same folds every time.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.datasets import MultiLabelKFold
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [1, 1]])
    >>> for train, test in MultiLabelKFold(2, random_state=0).split(Y, Y):
    ...     print(Y[test].sum(axis=0))
    [2 2]
    [2 2]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        by: Trait = "label",
        random_state: int | RandomState | None = None,
    ) -> None:
        self.n_splits = n_splits
        self.by = by
        self.random_state = random_state

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows of training and test of each fold.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Not used.
        y : array-like or sparse matrix of shape (n, d)
            0 and 1; what is not observed (NaN) counts as 0.
        groups : None
            Not used.

        Yields
        ------
        train, test : ndarray of row numbers, ascending
        """
        n_splits = self.n_splits
        if not isinstance(n_splits, (int, np.integer)) or not 2 <= n_splits <= _MOST_PARTS:
            raise ValueError(
                f"n_splits must be an integer from 2 to {_MOST_PARTS}; got {shown(n_splits, 80)}."
            )
        part_of = stratified_parts(
            y, [1.0 / n_splits] * n_splits, by=self.by, random_state=self.random_state
        )
        for part in range(n_splits):
            yield np.flatnonzero(part_of != part), np.flatnonzero(part_of == part)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def __repr__(self) -> str:
        return (
            f"MultiLabelKFold({self.n_splits}, by={self.by!r}, random_state={self.random_state!r})"
        )


def stratified_parts(
    Y: Any,
    sizes: Sequence[float],
    *,
    by: Trait = "label",
    random_state: int | RandomState | None = None,
) -> NDArray[np.intp]:
    """Divide rows into parts of given sizes in which labels are equally frequent.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, d)
        0 and 1; what is not observed (NaN) counts as 0.
    sizes : sequence of float
        The share of the rows in each part, such as (0.8, 0.2); scaled to the sum 1.
    by : {"label", "label_pair", "label_set", "cardinality"}, default="label"
        What is spread evenly, as for :class:`MultiLabelKFold`.
    random_state : int, RandomState or None, default=None
        Which row goes where; an integer gives the same parts every time.

    Returns
    -------
    ndarray of shape (n,)
        The number of each row's part.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.datasets import stratified_parts
    >>> Y = np.zeros((8, 2))
    >>> Y[:4, 0] = 1
    >>> part_of = stratified_parts(Y, (0.75, 0.25), random_state=0)
    >>> Y[part_of == 0].sum(axis=0), Y[part_of == 1].sum(axis=0)
    (array([3., 0.]), array([1., 0.]))
    """
    shares = np.asarray(sizes, dtype=np.float64)
    if shares.ndim != 1 or shares.size < 2 or not (shares > 0).all():
        raise ValueError(f"sizes must be at least two numbers above 0; got {shown(sizes)}.")
    labels = _read_labels(Y)
    if labels.shape[0] < shares.size:
        raise ValueError(
            f"Y must have at least as many rows as there are parts, {shares.size}; got "
            f"{labels.shape[0]}."
        )
    rng = read_random_state(random_state)
    return _deal(_traits(labels, by), shares / shares.sum(), rng)


def _read_labels(Y: Any) -> sparse.csr_array:
    """Read the label matrix as a canonical csr_array of ones."""
    if is_sparse(Y):
        labels = read_sparse(Y, "Y", copy=True)
    else:
        values = as_floats(read_array(Y, "Y"), "Y")
        if values.ndim != 2:
            raise ValueError(
                "Y must be a label matrix with a row per sample and a column per label; got shape "
                f"{values.shape}. For one column of classes take scikit-learn's StratifiedKFold."
            )
        labels = sparse.csr_array(np.nan_to_num(values))
    labels.eliminate_zeros()
    if not (labels.data == 1).all():
        raise ValueError("Y must hold 0 and 1 only; got other values.")
    return labels


def _traits(labels: sparse.csr_array, by: str) -> sparse.csr_array:
    """Return which traits each row has, of shape (n, number of traits)."""
    if by == "label":
        return labels
    if by == "label_pair":
        return _label_pairs(labels)
    if not is_one_of(by, _TRAITS):
        raise ValueError(f"by must be one of {', '.join(map(repr, _TRAITS))}; got {shown(by)}.")
    n_rows = labels.shape[0]
    if by == "cardinality":
        group_of = np.diff(labels.indptr)
    else:
        numbers: dict[bytes, int] = {}
        starts = labels.indptr
        keys = (labels.indices[starts[i] : starts[i + 1]].tobytes() for i in range(n_rows))
        group_of = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    groups, column = np.unique(group_of, return_inverse=True)
    return sparse.csr_array(
        (np.ones(n_rows), column, np.arange(n_rows + 1)), shape=(n_rows, groups.size)
    )


def _label_pairs(labels: sparse.csr_array) -> sparse.csr_array:
    """Return the labels of each row and their pairs; a column for each that occurs."""
    n_rows, n_labels = labels.shape
    counts = np.diff(labels.indptr).astype(np.int64)
    # Entry e of a row is paired with itself and the entries after it.
    ends = np.repeat(labels.indptr[1:], counts)
    n_partners = ends - np.arange(labels.nnz)
    first = np.repeat(np.arange(labels.nnz), n_partners)
    offsets = np.arange(first.size) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    indices = labels.indices.astype(np.int64)
    codes = indices[first] * n_labels + indices[first + offsets]
    _, columns = np.unique(codes, return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(counts * (counts + 1) // 2)])
    return sparse.csr_array(
        (np.ones(columns.size), columns, indptr), shape=(n_rows, int(columns.max(initial=0)) + 1)
    )


#: Of sums of shares of rows.
_ROUNDING = 1e-9


def _deal(
    traits: sparse.csr_array, shares: NDArray[np.float64], rng: RandomState
) -> NDArray[np.intp]:
    """Deal out the rows, the rarest trait first."""
    n_rows = traits.shape[0]
    by_trait = traits.tocsc()
    if (np.diff(traits.indptr) == 1).all():
        return _deal_groups(by_trait, shares, rng)
    part_of = np.full(n_rows, -1, dtype=np.intp)
    n_left = np.diff(by_trait.indptr).astype(np.int64)
    lacks = shares[:, np.newaxis] * n_left  # of each trait, in each part
    room = shares * n_rows
    done = np.iinfo(np.int64).max
    n_left[n_left == 0] = done
    while n_left.min() < done:
        trait = int(n_left.argmin())
        rows = by_trait.indices[by_trait.indptr[trait] : by_trait.indptr[trait + 1]]
        rows = rng.permutation(rows[part_of[rows] < 0])
        parts = _greedy_parts(rows.size, lacks[:, trait], room, rng)
        part_of[rows] = parts
        room -= np.bincount(parts, minlength=shares.size)
        taken = traits[rows]
        owner = np.repeat(parts, np.diff(taken.indptr))
        np.subtract.at(lacks, (owner, taken.indices), 1.0)
        n_left -= np.bincount(taken.indices, minlength=n_left.size)
        n_left[(n_left == 0) | (n_left > n_rows)] = done
    rest = rng.permutation(np.flatnonzero(part_of < 0))
    part_of[rest] = _greedy_parts(rest.size, room, room, rng)
    return part_of


def _deal_groups(
    by_trait: sparse.csc_array, shares: NDArray[np.float64], rng: RandomState
) -> NDArray[np.intp]:
    """Deal out rows with one trait each: the traits keep their sizes, and so their order."""
    part_of = np.empty(by_trait.shape[0], dtype=np.intp)
    sizes = np.diff(by_trait.indptr)
    room = shares * by_trait.shape[0]
    for trait in np.argsort(sizes, kind="stable"):
        rows = by_trait.indices[by_trait.indptr[trait] : by_trait.indptr[trait + 1]]
        rows = rng.permutation(rows)
        parts = _greedy_parts(rows.size, shares * rows.size, room, rng)
        part_of[rows] = parts
        room -= np.bincount(parts, minlength=shares.size)
    return part_of


def _greedy_parts(
    n_rows: int, lacks: NDArray[np.float64], room: NDArray[np.float64], rng: RandomState
) -> NDArray[np.intp]:
    """Give each row to the part with room that lacks most of the trait, and has most room.

    Where sizes are no whole numbers, only as many parts are rounded up as there are rows for.
    """
    lack, space = lacks.tolist(), room.tolist()
    n_extra = round(sum(space)) - sum(int(max(s, 0.0) + _ROUNDING) for s in space)
    chance = rng.permutation(len(lack)).tolist()  # between parts that are alike
    parts = np.empty(n_rows, dtype=np.intp)
    numbers = range(len(lack))
    for i in range(n_rows):
        least = _ROUNDING if n_extra > 0 else 1.0 - _ROUNDING
        best = max(numbers, key=lambda p: (space[p] > least, lack[p], space[p], chance[p]))
        n_extra -= space[best] < 1.0 - _ROUNDING
        parts[i] = best
        lack[best] -= 1.0
        space[best] -= 1.0
    return parts
