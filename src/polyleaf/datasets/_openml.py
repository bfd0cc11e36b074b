"""Fetch benchmark data sets from OpenML by name, through scikit-learn's cache."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.datasets import fetch_openml

from polyleaf.checks.spelling import did_you_mean
from polyleaf.datasets._dataset import Dataset
from polyleaf.datasets._files import DataFormatError


@dataclass(frozen=True)
class OpenMLEntry:
    """Where a data set is on OpenML, and what it must look like.

    Attributes
    ----------
    n, d : int
        Rows and outputs.
    p : int or None
        Features; None if versions differ in them.
    task : {"multilabel", "regression"}
    data_id : int or None
        None: it is asked for by its name.
    """

    n: int
    p: int | None
    d: int
    task: Literal["multilabel", "regression"] = "multilabel"
    data_id: int | None = None


def _labels(data_id: int, n: int, p: int | None, d: int) -> OpenMLEntry:
    return OpenMLEntry(n, p, d, "multilabel", data_id)


def _targets(n: int, p: int, d: int) -> OpenMLEntry:
    return OpenMLEntry(n, p, d, "regression")


#: The multi-label data sets of the collection of Probst et al. (2017), with labels as targets,
#: and MULAN's multi-target regression data sets, whose last columns are the targets. Rows,
#: features and outputs are the published ones; a data set with others is refused.
OPENML: dict[str, OpenMLEntry] = {
    "birds": _labels(40588, 645, 260, 19),
    "emotions": _labels(40589, 593, 72, 6),
    "enron": _labels(40590, 1702, 1001, 53),
    "genbase": _labels(40591, 662, None, 27),
    "image": _labels(40592, 2000, None, 5),
    "langlog": _labels(40593, 1460, 1004, 75),
    "reuters": _labels(40594, 2000, None, 7),
    "scene": _labels(40595, 2407, 294, 6),
    "slashdot": _labels(40596, 3782, 1079, 22),
    "yeast": _labels(40597, 2417, 103, 14),
    "andro": _targets(49, 30, 6),
    "atp1d": _targets(337, 411, 6),
    "atp7d": _targets(296, 411, 6),
    "edm": _targets(154, 16, 2),
    "enb": _targets(768, 8, 2),
    "jura": _targets(359, 15, 3),
    "oes10": _targets(403, 298, 16),
    "oes97": _targets(334, 263, 16),
    "osales": _targets(639, 401, 12),
    "rf1": _targets(9125, 64, 8),
    "rf2": _targets(9125, 576, 8),
    "scm1d": _targets(9803, 280, 16),
    "scm20d": _targets(8966, 61, 16),
    "scpf": _targets(1137, 23, 3),
    "sf1": _targets(323, 10, 3),
    "sf2": _targets(1066, 10, 3),
    "slump": _targets(103, 7, 3),
    "wq": _targets(1060, 16, 14),
}


def fetch(name: str, *, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Fetch a benchmark data set from OpenML, or take it from the cache.

    Parameters
    ----------
    name : str
        A key of `OPENML`, such as "yeast" or "rf1".
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
        If what came does not have the published numbers of rows, features and outputs.

    Examples
    --------
    >>> from polyleaf.datasets import fetch
    >>> data = fetch("yeast")  # doctest: +SKIP
    """
    if name not in OPENML:
        hint = did_you_mean(name, OPENML)
        raise ValueError(
            f"name must be one of {', '.join(map(repr, OPENML))}; got {name!r}.{hint}"
        )
    entry = OPENML[name]
    X, Y = _asked(name, entry, data_home)
    got = (len(Y), X.shape[1], Y.shape[1])
    if any(want is not None and want != n for want, n in zip((entry.n, entry.p, entry.d), got)):
        features = "" if entry.p is None else f", {entry.p} features"
        what = "labels" if entry.task == "multilabel" else "targets"
        raise DataFormatError(
            f"expected {entry.n} rows{features} and {entry.d} {what} of {name!r} "
            f"({_address(name, entry)}), got {got[0]} rows, {got[1]} features and {got[2]}. Clear "
            "the cache and try again; if it stays so, OpenML holds another data set there: read a "
            "file of your own with datasets.load"
        )
    names = [str(column) for column in X.columns], [str(column) for column in Y.columns]
    if entry.task == "multilabel":
        texts = np.char.upper(Y.to_numpy().astype(str))
        outputs: Any = np.isin(texts, ("TRUE", "1", "1.0")).astype(np.int8)
    else:
        outputs = Y.to_numpy(dtype=np.float64)
    if all(kind.kind in "biuf" for kind in X.dtypes):
        X = X.to_numpy(dtype=np.float64)
    return Dataset(X, outputs, *names, name)


def _asked(name: str, entry: OpenMLEntry, data_home: Any) -> tuple[Any, Any]:
    """Return the frames of features and outputs."""
    # Without an id, the active version is asked for; what comes is checked.
    query: dict[str, Any] = (
        {"name": name, "version": "active"}
        if entry.data_id is None
        else {"data_id": entry.data_id}
    )
    if entry.task == "regression":
        query["target_column"] = None  # whatever is declared there, the last columns are targets
    try:
        with warnings.catch_warnings():  # of every attempt; the error says enough
            warnings.simplefilter("ignore", UserWarning)
            bunch = fetch_openml(**query, data_home=data_home, as_frame=True, parser="auto")
    except (OSError, ValueError) as error:
        # scikit-learn says with a ValueError that there is no such data set.
        kind: Any = ConnectionError if isinstance(error, OSError) else DataFormatError
        raise kind(
            f"Data set {name!r} ({_address(name, entry)}) is not in the cache, and OpenML "
            f"{'cannot be reached' if kind is ConnectionError else 'does not have it'}: {error}. "
            "Fetch it on a machine with a network, or read a file of your own with datasets.load."
        ) from error
    if entry.task == "multilabel":
        return bunch.data, bunch.target
    return bunch.data.iloc[:, : -entry.d], bunch.data.iloc[:, -entry.d :]


def _address(name: str, entry: OpenMLEntry) -> str:
    return f"OpenML {entry.data_id}" if entry.data_id is not None else f"OpenML's {name}"
