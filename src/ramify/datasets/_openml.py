"""Fetch benchmark data sets from OpenML by name, through scikit-learn's cache."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import fetch_openml

from ramify.datasets._dataset import Dataset
from ramify.datasets._files import DataFormatError


@dataclass(frozen=True)
class OpenMLEntry:
    """Where a data set is on OpenML, and what it must look like.

    Attributes
    ----------
    data_id : int
    n, d : int
        Rows and labels.
    """

    data_id: int
    n: int
    d: int


#: The multi-label data sets of the collection of Probst et al. (2017), with labels as targets.
OPENML: dict[str, OpenMLEntry] = {
    "birds": OpenMLEntry(40588, 645, 19),
    "emotions": OpenMLEntry(40589, 593, 6),
    "enron": OpenMLEntry(40590, 1702, 53),
    "genbase": OpenMLEntry(40591, 662, 27),
    "image": OpenMLEntry(40592, 2000, 5),
    "langlog": OpenMLEntry(40593, 1460, 75),
    "reuters": OpenMLEntry(40594, 2000, 7),
    "scene": OpenMLEntry(40595, 2407, 6),
    "slashdot": OpenMLEntry(40596, 3782, 22),
    "yeast": OpenMLEntry(40597, 2417, 14),
}


def fetch(name: str, *, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Fetch a benchmark data set from OpenML, or take it from the cache.

    Parameters
    ----------
    name : {"birds", "emotions", "enron", "genbase", "image", "langlog", "reuters", "scene", \
"slashdot", "yeast"}
    data_home : str or os.PathLike, optional
        The folder of the cache; by default that of scikit-learn.

    Returns
    -------
    Dataset

    Raises
    ------
    ConnectionError
        If the data set is not in the cache and OpenML cannot be reached.
    DataFormatError
        If what came does not have the published numbers of rows and labels.

    Examples
    --------
    >>> from ramify.datasets import fetch
    >>> data = fetch("yeast")  # doctest: +SKIP
    """
    if name not in OPENML:
        near = difflib.get_close_matches(str(name).lower(), OPENML, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"name must be one of {', '.join(map(repr, OPENML))}; got {name!r}.{hint}"
        )
    entry = OPENML[name]
    try:
        bunch = fetch_openml(
            data_id=entry.data_id, data_home=data_home, as_frame=True, parser="auto"
        )
    except OSError as error:
        raise ConnectionError(
            f"Data set {name!r} is not in the cache, and OpenML cannot be reached: {error}. Fetch "
            "it on a machine with a network, or read a file of your own with datasets.load."
        ) from error
    labels = bunch.target.to_numpy().astype(str)
    Y = np.isin(np.char.upper(labels), ("TRUE", "1", "1.0")).astype(np.int8)
    X = bunch.data
    if all(kind.kind in "biuf" for kind in X.dtypes):
        X = X.to_numpy(dtype=np.float64)
    if Y.shape != (entry.n, entry.d):
        raise DataFormatError(
            f"expected {entry.n} rows and {entry.d} labels of {name!r} (OpenML {entry.data_id}), "
            f"got {Y.shape[0]} and {Y.shape[1]}; clear the cache and try again"
        )
    return Dataset(X, Y, list(bunch.data.columns), list(bunch.target.columns), name)
