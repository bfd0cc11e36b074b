"""What is compared on: a data set with its task, its folds and how rows are taken from it."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from polyleaf.checks.matrices import as_floats, is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import shown
from polyleaf.datasets import Dataset, MultiLabelKFold
from polyleaf.experiments._class_outputs import (
    outputs_like_classes,
    text_classes,
    with_labels_of_classes,
)
from polyleaf.hierarchy import Hierarchy

Task = Literal["regression", "multilabel", "classes"]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Problem:
    """A data set to compare methods on.

    Attributes
    ----------
    name : str
    X : array, frame or sparse matrix of shape (n, p)
    Y : ndarray or csr_array of shape (n, d)
    feature_names, output_names : list of str
    task : {"regression", "multilabel", "classes"}
        Classes: Y is an array of objects, texts or None where nothing was observed.
    hierarchy : Hierarchy or None
        Of the labels.
    """

    name: str
    X: Any
    Y: Any
    feature_names: list[str]
    output_names: list[str]
    task: Task
    hierarchy: Hierarchy | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, features and outputs."""
        return self.X.shape[0], self.X.shape[1], self.Y.shape[1]

    def rows(self, idx: NDArray[np.intp]) -> tuple[Any, Any]:
        """Return some rows of X and Y."""
        return _safe_indexing(self.X, idx), self.Y[idx]

    def folds(self, cv: Any, random_state: int) -> list[Fold]:
        """Return the rows of training and test of each fold, the same for every method."""
        if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
            if not 2 <= cv <= self.shape[0]:
                raise ValueError(
                    f"cv must be a number of folds from 2 up to the {self.shape[0]} rows of "
                    f"{self.name}; got {cv}."
                )
            if self.task == "multilabel":
                cv = MultiLabelKFold(int(cv), random_state=random_state)
            else:
                cv = KFold(int(cv), shuffle=True, random_state=random_state)
        if not hasattr(cv, "split") or isinstance(cv, str):
            raise ValueError(
                f"cv must be a number of folds or have a method split; got {shown(cv)}."
            )
        return [(np.asarray(a), np.asarray(b)) for a, b in cv.split(self.X, self.Y)]

    def fingerprint(self) -> str:
        """Return a digest of the data, to tell whether a results file is about them."""
        digest = hashlib.sha256(str((self.name, self.shape, self.task)).encode())
        digest.update(str((self.feature_names, self.output_names)).encode())
        if self.hierarchy is not None:
            digest.update(str(self.hierarchy.to_json()).encode())
        for part in (*_parts(self.X), *_parts(self.Y)):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]


def _parts(matrix: Any) -> list[Any]:
    """Return arrays of numbers that tell a matrix from others."""
    if is_sparse(matrix):
        rows = sparse.csr_array(matrix)
        return [rows.indptr, rows.indices, rows.data]
    if isinstance(matrix, np.ndarray) and matrix.dtype.kind in "biuf":
        return [matrix]
    try:
        from pandas import DataFrame
        from pandas.util import hash_pandas_object
    except ImportError:
        return []
    frame = matrix.to_pandas() if hasattr(matrix, "to_pandas") else DataFrame(matrix)
    return [hash_pandas_object(frame, index=False).to_numpy()]


def read_problems(data: Any, classes: Iterable[str] = (), y: Any = None) -> list[Problem]:
    """Read what `compare` was given: one or several of Dataset, (X, Y), or a mapping of names.

    Parameters
    ----------
    data : Dataset, X, tuple (X, Y), sequence of Dataset, or mapping of str to Dataset or (X, Y)
    classes : iterable of str
        Names of outputs of which each class becomes a label.
    y : array-like, frame, sparse matrix or None
        The outputs, where `data` is X.

    Returns
    -------
    list of Problem
        With distinct names.
    """
    if y is not None:
        data = (_checked_features(data, y), y)
    if isinstance(data, Dataset) or _is_pair(data):
        data = [data]
    if isinstance(data, Mapping):
        datasets = [_dataset(value, str(name)) for name, value in data.items()]
    elif isinstance(data, Sequence) and not isinstance(data, str):
        datasets = [_dataset(value, None) for value in data]
    elif hasattr(data, "shape"):
        raise TypeError("data is X, but there is no y: call compare(X, Y).")
    else:
        raise TypeError(
            "data must be a Dataset, X with y, a pair (X, Y), a list of Datasets or a dict of "
            f"names to those; got {type(data).__name__}."
        )
    names = [dataset.name for dataset in datasets]
    if not datasets or len(set(names)) != len(names):
        raise ValueError(
            f"data must hold at least one data set, each with a name of its own; got {names}."
        )
    return list(map(_problem, with_labels_of_classes(datasets, classes)))


def _checked_features(data: Any, y: Any) -> Any:
    """Return X as an array or frame; say so if y was meant to be the methods."""
    is_x = hasattr(data, "shape") or (
        isinstance(data, list) and not any(isinstance(part, Dataset) for part in data)
    )
    X = np.asarray(data) if isinstance(data, list) else data
    is_y = hasattr(y, "shape") or (isinstance(y, (list, tuple)) and len(y) == len(data))
    if not (is_x and is_y):
        raise TypeError(
            "The second argument of compare is y, the outputs of X. Name the others: "
            "compare(data, methods=..., metrics=...)."
        )
    return X


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "shape")


def _dataset(value: Any, name: str | None) -> Dataset:
    if _is_pair(value):
        X, Y = value
        return Dataset(X, _labels_or_numbers(Y), _names(X, "x"), _names(Y, "y"), name or "data")
    if not isinstance(value, Dataset):
        raise TypeError(
            f"A data set must be a Dataset or a pair (X, Y); got {type(value).__name__}."
        )
    return value if name is None else replace(value, name=name)


def _problem(value: Dataset) -> Problem:
    X, Y = _checked(value.X, f"X of {value.name}"), _checked(value.Y, f"Y of {value.name}")
    names = list(value.feature_names), list(value.output_names)
    if not is_sparse(Y) and np.asarray(Y).dtype.kind in "USTO":
        return Problem(value.name, X, text_classes(value), *names, "classes")
    task = _task(Y)
    alike = outputs_like_classes(value) if task == "regression" else []
    if alike:
        warnings.warn(
            f"{value.name}: outputs of a few whole numbers ({', '.join(alike[:5])}"
            f"{', ...' if len(alike) > 5 else ''}) are compared as numbers, by regression. If "
            "they name classes, list them in `classes`: each class becomes a label.",
            UserWarning,
            stacklevel=4,
        )
    is_ordered = task == "multilabel" and value.hierarchy is not None
    hierarchy = value.hierarchy if is_ordered else None
    return Problem(value.name, X, Y, *names, task, hierarchy)


def _checked(matrix: Any, name: str) -> Any:
    """Return a matrix of at least one row and column; the indices of a sparse one are checked."""
    shape = tuple(matrix.shape)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{name} must be a matrix with at least one row and one column; got shape {shape}."
        )
    return read_sparse(matrix, name) if is_sparse(matrix) else matrix


def _task(Y: Any) -> Task:
    """Tell labels from numbers: all observed entries are 0 or 1."""
    values = Y.data if is_sparse(Y) else as_floats(np.asarray(Y), "Y")
    observed = values[~np.isnan(values)]
    return "multilabel" if np.isin(observed, (0, 1)).all() else "regression"


def _labels_or_numbers(Y: Any) -> Any:
    if is_sparse(Y):
        return read_sparse(Y, "Y")
    values = read_array(Y, "Y")
    return values[:, np.newaxis] if values.ndim == 1 else values


def _names(matrix: Any, prefix: str) -> list[str]:
    names = getattr(matrix, "columns", None)
    if names is not None:
        return [str(name) for name in names]
    shape = np.shape(matrix)
    n_columns = shape[1] if len(shape) > 1 else 1
    own = getattr(matrix, "name", None)  # of a series
    if n_columns == 1 and isinstance(own, str):
        return [own]
    return [f"{prefix}{j}" for j in range(n_columns)]
