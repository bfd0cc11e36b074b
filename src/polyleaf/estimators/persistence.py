"""Save an estimator to one file, and load it without running code from it."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from polyleaf.estimators.registry import ESTIMATORS
from polyleaf.estimators.tuned_decoder import TunedDecoder
from polyleaf.estimators.tuned_decoder_storage import tuned_from_file, tuned_to_file
from polyleaf.model import ModelFileError, read_model, write_model


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
    is_tuned = type(model) is TunedDecoder
    if is_tuned:
        check_is_fitted(model)
    _check_kind(model.estimator_ if is_tuned else model)
    check_is_fitted(model)
    arrays, metadata = tuned_to_file(model) if is_tuned else model._to_file()
    write_model(path, arrays, metadata)


def _check_kind(model: Any) -> None:
    name = type(model).__name__
    if ESTIMATORS.get(name) is not type(model):
        raise TypeError(
            f"save takes a fitted estimator of polyleaf ({', '.join(ESTIMATORS)}) or a "
            f"TunedDecoder around one; got {name}. Use joblib.dump, whose files run code "
            "when they are loaded."
        )


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
    polyleaf.model.storage.ModelFileError: ... is not a model file, or is damaged: ...
    """
    arrays, metadata = read_model(path)
    # Nothing but what is listed is ever constructed.
    name = str(metadata.get("estimator"))
    is_tuned = name == TunedDecoder.__name__
    read = tuned_from_file if is_tuned else getattr(ESTIMATORS.get(name), "_from_file", None)
    if read is None:
        raise ModelFileError(
            f"{os.fspath(path)!r} holds a {metadata.get('estimator')!r:.60}; this release knows "
            f"{', '.join(ESTIMATORS)}."
        )
    try:
        return read(arrays, metadata)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{os.fspath(path)!r} is damaged: {error}") from error
