"""Save an estimator to one file, and load it without running code from it."""

from __future__ import annotations

import os
import re
from typing import Any

from sklearn.utils.validation import check_is_fitted

from polyleaf._registry import ESTIMATORS, META_ESTIMATORS, LazyClasses
from polyleaf._version import __version__
from polyleaf.files.storage import ModelFileError, read_model, write_model

_NAMES = ", ".join([*ESTIMATORS, *META_ESTIMATORS])


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file, whole or not at all.

    The file holds the parameters, too. A `random_state` that is no integer is stored as None.

    Parameters
    ----------
    model : estimator
        A fitted estimator of polyleaf, or a fitted `TunedDecoder` around one.
    path : path-like
        An existing file is replaced.

    Examples
    --------
    >>> import tempfile, pathlib, polyleaf
    >>> tree = polyleaf.TreeRegressor(max_depth=2).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tree.polyleaf"
    ...     polyleaf.save(tree, path)
    ...     loaded = polyleaf.load(path)
    >>> loaded.predict([[0.0], [2.0]])
    array([1., 3.])
    """
    name = type(model).__name__
    if _known(name).get(name) is not type(model):
        raise TypeError(
            f"save takes a fitted estimator of polyleaf ({_NAMES}); got {name}. Use joblib.dump, "
            "whose files run code when they are loaded."
        )
    check_is_fitted(model)
    arrays, metadata = model._to_file()
    write_model(path, arrays, metadata | {"polyleaf": __version__})


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote.

    Loading runs no code from the file, and checks everything that the compiled core relies on.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, of another kind or of a newer version. A ValueError.

    Examples
    --------
    >>> import tempfile, pathlib, polyleaf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "notes.txt"
    ...     _ = path.write_text("no model")
    ...     polyleaf.load(path)
    Traceback (most recent call last):
        ...
    polyleaf.files.storage.ModelFileError: ... is not a model file, or is damaged: ...
    """
    arrays, metadata = read_model(path)
    where = repr(os.fspath(path))
    # Nothing but what is listed is ever constructed.
    name = str(metadata.get("estimator"))
    try:
        if name not in _known(name):
            raise ValueError(
                f"it holds a {metadata.get('estimator')!r:.60}; this release knows {_NAMES}."
            )
        return _known(name)[name]._from_file(arrays, metadata)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        written_by = str(metadata.get("polyleaf"))[:40]
        if _is_newer(written_by):
            raise ModelFileError(
                f"{where} was written by polyleaf {written_by}, which is newer than this release "
                f"({__version__}), and holds what this release does not know: {error} "
                "Install a newer release."
            ) from error
        raise ModelFileError(f"{where} is damaged: {error}") from error


def _known(name: str) -> LazyClasses:
    return ESTIMATORS if name in ESTIMATORS else META_ESTIMATORS


def _is_newer(written_by: str) -> bool:
    """Tell whether a version is newer than this release, by its numbers."""
    theirs, ours = (
        [int(number) for number in re.findall(r"\d{1,9}", release)[:3]]
        for release in (written_by, __version__)
    )
    return theirs > ours
