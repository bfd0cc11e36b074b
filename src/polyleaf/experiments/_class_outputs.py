"""Outputs whose values name classes: distinguish them from numbers, and make labels of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.matrices import is_sparse
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.datasets import Dataset

#: As many whole numbers as may well be classes.
_MOST_CLASSES = 10


def with_labels_of_classes(datasets: Sequence[Dataset], names: Iterable[str]) -> list[Dataset]:
    """Make a label of each class of the named outputs, wherever they occur.

    An output of two classes becomes one label, that of its second class in sorted order; a value
    that is missing is unobserved in all its labels.

    Parameters
    ----------
    datasets : sequence of Dataset
    names : iterable of str

    Returns
    -------
    list of Dataset

    Examples
    --------
    >>> import numpy as np
    >>> wine = Dataset(np.zeros((4, 1)), np.array([[3.0], [5], [4], [5]]), ["x"], ["q"], "wine")
    >>> [labelled] = with_labels_of_classes([wine], ["q"])
    >>> labelled.output_names
    ['q=3', 'q=4', 'q=5']
    >>> labelled.Y[:, 2]
    array([0., 1., 0., 1.])
    """
    if isinstance(names, str):
        names = [names]
    wanted = list(names)
    known = {str(name) for dataset in datasets for name in dataset.output_names}
    for name in wanted:
        if name not in known:
            some = ", ".join(map(repr, sorted(known)[:10]))
            raise ValueError(
                f"classes must name outputs, such as {some}; got {shown(name)}."
                f"{did_you_mean(name, known)}"
            )
    return [_labelled(dataset, wanted) for dataset in datasets]


def outputs_like_classes(dataset: Dataset) -> list[str]:
    """Name the outputs of a few whole numbers, which may be codes of classes.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1.5, 0.0, 0.0], [2.0, 1.0, 2.0], [3.0, 1.0, 1.0]])
    >>> outputs_like_classes(Dataset(np.zeros((3, 1)), Y, ["x"], ["a", "b", "c"], "toy"))
    ['c']
    """
    if is_sparse(dataset.Y):
        return []
    found = []
    for name, column in zip(dataset.output_names, np.asarray(dataset.Y, dtype=np.float64).T):
        values = np.unique(column[~np.isnan(column)])
        is_code = values.size <= _MOST_CLASSES and np.array_equal(values, np.round(values))
        if is_code and not np.isin(values, (0, 1)).all():
            found.append(str(name))
    return found


def text_classes(dataset: Dataset) -> NDArray[Any]:
    """Give outputs whose values are texts as an array of objects, None where one is missing.

    Raises
    ------
    ValueError
        If some values are no texts, or texts are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([["a"], [None], ["b"]], dtype=object)
    >>> text_classes(Dataset(np.zeros((3, 1)), Y, ["x"], ["kind"], "toy")).ravel()
    array(['a', None, 'b'], dtype=object)
    """
    found = np.asarray(dataset.Y).astype(object)
    for name, column in zip(dataset.output_names, found.T):
        known = [value for value in column if value is not None and value == value]
        other = next((value for value in known if not isinstance(value, str)), None)
        if other is not None or not known:
            raise ValueError(
                f"{dataset.name}: compare takes numbers (regression), labels 0 and 1, or classes "
                f"named by texts; got outputs with classes beside {name!r}, which holds "
                f"{'nothing' if other is None else repr(other)}. Name outputs with classes in "
                "`classes` to make a label of each class, or fit a model of mixed kinds."
            )
        if len(set(known)) > _MOST_CLASSES and all(map(_is_number, known)):
            raise ValueError(
                f"{dataset.name}: got outputs with classes: {name!r} holds texts that are "
                f"numbers, such as {known[0]!r}. Turn them into numbers first."
            )
        column[:] = [value if isinstance(value, str) else None for value in column]
    return found


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False


def _labelled(dataset: Dataset, wanted: list[str]) -> Dataset:
    if not set(wanted) & set(map(str, dataset.output_names)):
        return dataset
    if is_sparse(dataset.Y):
        raise ValueError(f"classes are for dense outputs; those of {dataset.name} are sparse.")
    columns: list[NDArray[Any]] = []
    names: list[str] = []
    for name, column in zip(map(str, dataset.output_names), np.asarray(dataset.Y).T):
        if name not in wanted:
            columns.append(column)
            names.append(name)
            continue
        is_known = np.array([value is not None and value == value for value in column])
        present = _sorted(set(column[is_known].tolist()))
        for value in present[-1:] if len(present) <= 2 else present:
            label = (column == value).astype(np.float64)
            columns.append(np.where(is_known, label, np.nan))
            names.append(f"{name}={_text(value)}")
    Y = np.column_stack(columns)
    with suppress(ValueError):  # numbers beside texts, which are labels by now
        Y = Y.astype(np.float64)
    return replace(dataset, Y=Y, output_names=names, hierarchy=None)


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # texts among numbers
        return sorted(values, key=str)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
