"""The value every reader returns: features, outputs and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.matrices import is_sparse, read_sparse
from polyleaf.checks.numbers import described, expect_count
from polyleaf.checks.optional import require
from polyleaf.hierarchy import Hierarchy

if TYPE_CHECKING:
    import pandas as pd

    Features = NDArray[np.float64] | sparse.csr_array | pd.DataFrame
Outputs = NDArray[Any] | sparse.csr_array


class NumberedNames(Sequence[str]):
    """Names such as x0, x1, ... for columns that have none, made when asked for.

    A list of them could be larger than the sparse matrix whose columns they name.

    Parameters
    ----------
    prefix : str
        What stands before the number.
    n_names : int
        How many names there are.

    Examples
    --------
    >>> from polyleaf.datasets import NumberedNames
    >>> names = NumberedNames("x", 10**9)
    >>> names[7], names[-2:], len(names)
    ('x7', ['x999999998', 'x999999999'], 1000000000)
    """

    def __init__(self, prefix: str, n_names: int) -> None:
        if not isinstance(prefix, str):
            raise TypeError(f"prefix must be a text; got {described(prefix)}.")
        self._prefix = prefix
        self._numbers = range(expect_count("n_names", n_names, least=0))

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [f"{self._prefix}{number}" for number in self._numbers[index]]
        return f"{self._prefix}{self._numbers[index]}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return (self._prefix, self._numbers) == (other._prefix, other._numbers)
        return isinstance(other, list) and len(self) == len(other) and list(self) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NumberedNames({self._prefix!r}, {len(self)})"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and outputs of a data set, with their names.

    Parameters
    ----------
    X : ndarray of shape (n, p), csr_array or pandas.DataFrame
        The features. float64 with NaN for missing values; a csr_array where the file is sparse;
        a DataFrame where there are nominal features (as ``category`` columns with the declared
        levels) or texts.
    Y : ndarray of shape (n, d) or csr_array
        The outputs. int8 0/1 for labels, a csr_array where the file lists labels sparsely;
        float64 for regression targets, and for labels of which some are unknown (NaN, always
        dense); strings for outputs with other levels.
    feature_names : sequence of str, length p
        The names of the columns of X.
    output_names : sequence of str, length d
        The names of the columns of Y.
    name : str
        The name of the data set.
    n_skipped : int, default=0
        Malformed lines that were skipped on request.
    hierarchy : Hierarchy or None, default=None
        Of the outputs, if the file declares one.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.datasets import Dataset
    >>> Dataset(np.zeros((4, 2)), np.eye(4), ["a", "b"], ["t0", "t1", "t2", "t3"], "toy")
    Dataset('toy': n=4, p=2, d=4; X dense, Y dense; nothing missing)
    """

    X: Features
    Y: Outputs
    feature_names: Sequence[str]
    output_names: Sequence[str]
    name: str
    n_skipped: int = 0
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        for part, what in ((self.X, "X"), (self.Y, "Y")):
            shape = getattr(part, "shape", None)
            is_frame = hasattr(part, "iloc")
            if shape is None or len(shape) != 2 or (is_frame and what == "Y"):
                kinds = "an array or" if what == "Y" else "an array, a frame or"
                raise ValueError(
                    f"{what} must be {kinds} a sparse matrix, of two dimensions; got "
                    f"{type(part).__name__}{'' if shape is None else f' of shape {shape}'}."
                )
        if self.X.shape[0] != self.Y.shape[0]:
            raise ValueError(
                f"X and Y must have the same number of rows; got {self.X.shape[0]} and "
                f"{self.Y.shape[0]}."
            )
        for names, columns, what in (
            (self.feature_names, self.X.shape[1], "feature_names"),
            (self.output_names, self.Y.shape[1], "output_names"),
        ):
            if len(names) != columns:
                raise ValueError(f"{what} must have {columns} names; got {len(names)}.")
        if self.hierarchy is None:
            return
        if not isinstance(self.hierarchy, Hierarchy):
            raise TypeError(
                f"hierarchy must be a Hierarchy or None; got {type(self.hierarchy).__name__}. Use "
                "polyleaf.hierarchy.as_hierarchy."
            )
        if self.hierarchy.n_outputs != self.Y.shape[1]:
            raise ValueError(
                f"hierarchy must be one of the {self.Y.shape[1]} outputs; got "
                f"{self.hierarchy.n_outputs}."
            )

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return int(self.Y.shape[1])

    @property
    def n_missing_features(self) -> int:
        """The number of missing values in X."""
        return _count_missing(self.X)

    @property
    def n_missing_outputs(self) -> int:
        """The number of unknown values in Y."""
        return _count_missing(self.Y)

    def take(self, rows: Any) -> Dataset:
        """Return some rows.

        Parameters
        ----------
        rows : array-like of int
            Their numbers, in the order wanted.

        Returns
        -------
        Dataset
        """
        idx = self._row_numbers(rows)
        X: Any = _checked(self.X, "X")
        Y: Any = _checked(self.Y, "Y")
        return Dataset(
            X.iloc[idx].reset_index(drop=True) if hasattr(X, "iloc") else X[idx],
            Y[idx],
            self.feature_names,
            self.output_names,
            self.name,
            self.n_skipped,
            self.hierarchy,
        )

    def _row_numbers(self, rows: Any) -> NDArray[np.intp]:
        idx = np.asarray(rows)
        if idx.ndim != 1 or (idx.dtype.kind not in "iu" and idx.size):
            raise ValueError(
                f"rows must be a list of row numbers; got {idx.dtype} values of shape {idx.shape}."
            )
        if idx.size and not -self.n_samples <= idx.min() <= idx.max() < self.n_samples:
            raise IndexError(
                f"rows must be numbers of rows, of which there are {self.n_samples}; got "
                f"{idx.min()} to {idx.max()}."
            )
        return idx.astype(np.intp)

    def sample(self, n_rows: int, *, random_state: int = 0) -> Dataset:
        """Return rows drawn at random, in their order; all of them if there are no more.

        Parameters
        ----------
        n_rows : int
            The most rows to keep.
        random_state : int, default=0

        Returns
        -------
        Dataset

        Examples
        --------
        >>> import numpy as np
        >>> from polyleaf.datasets import Dataset
        >>> data = Dataset(np.arange(6.0)[:, None], np.zeros((6, 1)), ["a"], ["t"], "toy")
        >>> data.sample(3).X.ravel()
        array([2., 3., 5.])
        """
        expect_count("n_rows", n_rows)
        if random_state is not None:
            expect_count("random_state", random_state, least=0)
        if n_rows >= self.n_samples:
            return self
        drawn = np.random.default_rng(random_state).permutation(self.n_samples)[:n_rows]
        return self.take(np.sort(drawn))

    def __repr__(self) -> str:
        missing = [
            f"{count} missing in {matrix}"
            for matrix, count in (("X", self.n_missing_features), ("Y", self.n_missing_outputs))
            if count
        ]
        parts = [
            f"n={self.n_samples}, p={self.n_features}, d={self.n_outputs}",
            f"X {_layout(self.X)}, Y {_layout(self.Y)}",
            ", ".join(missing) or "nothing missing",
        ]
        if self.n_skipped:
            parts.append(f"{self.n_skipped} lines skipped")
        return f"Dataset({self.name!r}: {'; '.join(parts)})"


def _checked(matrix: Any, name: str) -> Any:
    """Look at the indices of a sparse matrix, which somebody may have changed meanwhile."""
    return read_sparse(matrix, name) if is_sparse(matrix) else matrix


def _layout(matrix: Features | Outputs) -> str:
    if sparse.issparse(matrix):
        return "sparse"
    return "dense" if isinstance(matrix, np.ndarray) else "frame"


def _count_missing(matrix: Features | Outputs) -> int:
    if sparse.issparse(matrix):
        matrix = np.asarray(read_sparse(matrix, "matrix").data)
    if isinstance(matrix, np.ma.MaskedArray):  # what is masked is missing
        hidden = np.ma.getmaskarray(matrix)
        return int(hidden.sum()) + _count_missing(matrix.data[~hidden])
    if not isinstance(matrix, np.ndarray):
        return int(matrix.isna().to_numpy().sum())
    if matrix.dtype.kind == "O":
        return int((matrix != matrix).sum())  # only NaN differs from itself
    return int(np.isnan(matrix).sum()) if matrix.dtype.kind == "f" else 0


def concatenate(datasets: Sequence[Dataset], *, name: str | None = None) -> Dataset:
    """Stack the rows of data sets with the same columns, such as published train and test files.

    Parameters
    ----------
    datasets : sequence of Dataset
        At least one; all with the same feature and output names in the same order.
    name : str, optional
        The name of the result; by default that of the first data set.

    Returns
    -------
    Dataset
        Of all rows, in order. X and Y are sparse only if all parts are.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.datasets import Dataset, concatenate
    >>> part = Dataset(np.zeros((4, 2)), np.ones((4, 1)), ["a", "b"], ["t"], "train")
    >>> concatenate([part, part], name="all")
    Dataset('all': n=8, p=2, d=1; X dense, Y dense; nothing missing)
    """
    datasets = [] if hasattr(datasets, "tocsr") else list(datasets)
    if not datasets or not all(isinstance(part, Dataset) for part in datasets):
        found = ", ".join(type(part).__name__ for part in datasets[:3])
        raise ValueError(f"datasets must hold at least one Dataset; got {found or 'none'}.")
    first = datasets[0]
    for other in datasets[1:]:
        for what in ("feature_names", "output_names"):
            if list(getattr(first, what)) != list(getattr(other, what)):
                raise ValueError(
                    f"datasets must have the same {what} in the same order; "
                    f"{first.name!r} and {other.name!r} differ."
                )
    return Dataset(
        _stack([_checked(dataset.X, "X") for dataset in datasets]),
        _stack([_checked(dataset.Y, "Y") for dataset in datasets]),
        first.feature_names,
        first.output_names,
        first.name if name is None else name,
        sum(dataset.n_skipped for dataset in datasets),
        first.hierarchy if all(d.hierarchy == first.hierarchy for d in datasets) else None,
    )


def _stack(parts: Sequence[Any]) -> Any:
    """Stack matrices of one kind, or dense and sparse ones densely."""
    is_sparse = [isinstance(part, sparse.csr_array) for part in parts]
    is_array = [isinstance(part, np.ndarray | sparse.csr_array) for part in parts]
    if all(is_sparse):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    if all(is_array):
        return np.vstack([p.toarray() if isinstance(p, sparse.csr_array) else p for p in parts])
    if any(is_array) or any((part.dtypes != parts[0].dtypes).any() for part in parts):
        raise ValueError(
            "datasets must have features of the same types (and nominal features the same "
            "levels); they differ."
        )
    return require("pandas", "stacking frames").concat(parts, ignore_index=True)
