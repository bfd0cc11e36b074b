"""Predictions of what is spread over a cluster: lazy, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyleaf.checks.optional import require
from polyleaf.checks.spelling import did_you_mean
from polyleaf.distributed.parts import (
    is_dask_array,
    is_dask_frame,
    is_parts,
    need_dask,
    read_files,
)


def predict(model: Any, X: Any, *, method: str = "predict", client: Any = None) -> Any:
    """Predict rows that are spread over a cluster, lazily.

    Parameters
    ----------
    model : estimator
        Fitted, wherever that was.
    X : dask array, dask data frame, list of delayed or futures, or str
        As for `fit`.
    method : str
        Any method of the model that takes X, such as ``"predict_proba"``.
    client : distributed.Client, optional
        Whose workers are given the model at once; otherwise it travels with the tasks.

    Returns
    -------
    dask array, dask data frame or series, or list
        An array for an array, a frame with the names of the outputs for a frame, a list of
        delayed parts for a list; a list of arrays where the method gives several.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.distributed import predict
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = BoostingRegressor(n_estimators=3).fit(X, X[:, :2])
    >>> lazy = predict(model, da.from_array(X, chunks=(20, 3)))
    >>> lazy.chunks
    ((20, 20, 20), (2,))
    >>> bool(np.array_equal(lazy.compute(), model.predict(X)))
    True
    """
    dask, _ = need_dask()
    if not callable(getattr(model, method, None)) or method.startswith("_"):
        known = [name for name in dir(model) if not name.startswith("_")]
        raise ValueError(
            f"method must be a method of {type(model).__name__}; got {method!r}."
            f"{did_you_mean(method, known)}"
        )
    if isinstance(X, str):
        X = read_files(X)
    sent = model if client is None else client.scatter(model, broadcast=True, hash=False)
    lazy = dask.delayed(sent, pure=False) if client is None else sent
    if is_dask_array(X):
        return _of_array(model, lazy, X, method)
    if is_dask_frame(X):
        return _of_frame(model, lazy, X, method)
    if is_parts(X):
        call = dask.delayed(_call, pure=False)
        return [call(lazy, part, method, None) for part in X]
    raise TypeError(
        "X must be a dask array, a dask data frame, a list of delayed objects or futures, or a "
        f"pattern of files; got {type(X).__name__}. Give other rows to the model itself."
    )


def _call(model: Any, X: Any, method: str, empty: Any) -> Any:
    """Call the method on a part; parts without rows get what `empty` says."""
    if X.shape[0] == 0 and empty is not None:
        return empty
    return getattr(model, method)(X)


def _of_array(model: Any, lazy: Any, X: Any, method: str) -> Any:
    dask, _ = need_dask()
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    shown = getattr(model, method)(np.zeros((1, X.shape[1]), X.dtype))
    blocks = list(X.to_delayed().ravel())
    call = dask.delayed(_call, pure=False)
    if isinstance(shown, list):
        empty: Any = [part[:0] for part in shown]
        found = [call(lazy, block, method, empty) for block in blocks]
        pick = dask.delayed(lambda several, i: several[i], pure=False)
        return [
            _joined([pick(part, i) for part in found], shown[i], X.chunks[0])
            for i in range(len(shown))
        ]
    if not isinstance(shown, np.ndarray):  # sparse labels
        return [call(lazy, block, method, shown[:0]) for block in blocks]
    found = [call(lazy, block, method, shown[:0]) for block in blocks]
    return _joined(found, shown, X.chunks[0])


def _joined(parts: list[Any], shown: Any, sizes: Any) -> Any:
    da = require("dask.array", "arrays of predictions")
    arrays = [
        da.from_delayed(part, shape=(size, *shown.shape[1:]), dtype=shown.dtype, meta=shown[:0])
        for part, size in zip(parts, sizes)
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _of_frame(model: Any, lazy: Any, X: Any, method: str) -> Any:
    dask, _ = need_dask()
    dd = require("dask.dataframe", "frames of predictions")
    shown = _as_frame(model, getattr(model, method)(X._meta_nonempty), X._meta_nonempty.index)
    call = dask.delayed(_call_on_frame, pure=False)
    parts = [call(lazy, part, method, shown.iloc[:0]) for part in X.to_delayed()]
    return dd.from_delayed(parts, meta=shown.iloc[:0], divisions=X.divisions, verify_meta=False)


def _call_on_frame(model: Any, X: Any, method: str, empty: Any) -> Any:
    if not len(X):
        return empty
    return _as_frame(model, getattr(model, method)(X), X.index)


def _as_frame(model: Any, found: Any, index: Any) -> Any:
    """Give predictions as a series or frame, with the names of the outputs where they fit."""
    import pandas as pd

    if isinstance(found, pd.DataFrame | pd.Series):
        return found.set_axis(index)
    if isinstance(found, list):  # classes of several outputs, side by side
        found = np.hstack(found)
    if not isinstance(found, np.ndarray):
        found = found.toarray()
    if found.ndim == 1:
        return pd.Series(found, index=index)
    found = found.reshape(len(found), -1)
    names = list(getattr(model, "output_names_", []))
    classes = getattr(model, "classes_", None)
    if len(names) != found.shape[1]:
        names = [str(j) for j in range(found.shape[1])]
        if isinstance(classes, np.ndarray) and classes.size == found.shape[1]:
            names = [str(one) for one in classes.tolist()]
    return pd.DataFrame(found, index=index, columns=names)
