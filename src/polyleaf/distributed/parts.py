"""What `fit` and `predict` are given on a cluster, as parts that stay on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyleaf.checks.optional import require
from polyleaf.checks.spelling import did_you_mean
from polyleaf.distributed.reading import Rows

_PURPOSE = "training on a cluster (pip install 'polyleaf[dask]')"
_EXPECTED = (
    "a dask array, a dask data frame, a list of delayed objects or futures of parts, or a pattern "
    "of Parquet or CSV files"
)


def need_dask() -> tuple[Any, Any]:
    """Import dask and distributed, or say what to install."""
    return require("dask", _PURPOSE), require("distributed", _PURPOSE)


def is_dask_frame(values: Any) -> bool:
    """Tell whether something is a data frame or series of dask."""
    return type(values).__module__.startswith("dask.dataframe") or (
        type(values).__module__.startswith("dask_expr")
    )


def is_dask_array(values: Any) -> bool:
    """Tell whether something is an array of dask."""
    return type(values).__module__.startswith("dask.array")


def is_parts(values: Any) -> bool:
    """Tell whether something is a list of delayed objects or futures."""
    if not isinstance(values, list | tuple) or not values:
        return False
    return all(type(item).__name__ in ("Delayed", "DelayedLeaf", "Future") for item in values)


def read_files(pattern: str | Path) -> Any:
    """Read Parquet or CSV files, on the workers, as a data frame of dask.

    Parameters
    ----------
    pattern : str or Path
        Such as ``"data/*.parquet"``; all workers must see the files.
    """
    frames = require("dask.dataframe", _PURPOSE)
    text = str(pattern)
    bare = text.removesuffix(".gz")
    if bare.endswith((".parquet", ".pq")):
        return frames.read_parquet(text)
    if bare.endswith(".csv"):
        return frames.read_csv(text, blocksize=None if bare != text else "default")
    raise ValueError(f"X must be {_EXPECTED}; got the pattern {text!r}.")


def split_targets(X: Any, Y: Any, targets: Any) -> tuple[Any, Any]:
    """Take the columns that are outputs out of a data frame or of files.

    Parameters
    ----------
    X : object
    Y : object
        Must be None if there are targets.
    targets : str, sequence of str or None
    """
    if isinstance(X, str | Path):
        if targets is None:
            raise ValueError(
                "targets must name the columns that are outputs if X is a pattern of files; got "
                "None."
            )
        X = read_files(X)
    if targets is None:
        return X, Y
    if Y is not None:
        raise ValueError("targets are columns of X, so that Y must be None; got both.")
    if not is_dask_frame(X):
        raise ValueError("targets needs an X with named columns: a dask data frame, or files.")
    names = [targets] if isinstance(targets, str) else list(targets)
    for name in names:
        if name not in X.columns:
            hint = did_you_mean(str(name), [str(column) for column in X.columns])
            raise ValueError(f"targets must name columns of X; got {name!r}.{hint}")
    return X.drop(columns=names), X[targets if isinstance(targets, str) else names]


def make_parts(X: Any, Y: Any, sample_weight: Any, what: str = "") -> list[Any]:
    """Cut rows into parts: delayed `Rows`, none of which is computed yet.

    Parameters
    ----------
    X, Y, sample_weight
        What `fit` was given; the weights may be None.
    what : str
        What they belong to, for error messages.
    """
    dask, _ = need_dask()
    if Y is None:
        raise ValueError(f"fit needs Y{what}; got None. Name columns of a frame by targets=.")
    if is_dask_array(X):
        X = _whole_columns(X)
    columns = [("X", X), ("Y", Y), ("sample_weight", sample_weight)]
    blocks = [
        _blocks(values, X, f"{name}{what}") for name, values in columns if values is not None
    ]
    sizes = {len(found) for found in blocks}
    if len(sizes) > 1:
        shown = ", ".join(f"{name} {len(found)}" for (name, _), found in zip(columns, blocks))
        raise ValueError(
            f"X, Y and sample_weight{what} must have as many parts; got {shown}. Cut them alike, "
            "for example with repartition."
        )
    make = dask.delayed(Rows, pure=False)
    return [make(position, *found) for position, found in enumerate(zip(*blocks))]


def _whole_columns(array: Any) -> Any:
    """Give an array of dask whose blocks hold whole rows."""
    return array.rechunk({1: -1}) if array.ndim == 2 and array.numblocks[1] > 1 else array


def _blocks(values: Any, X: Any, name: str) -> list[Any]:
    """Give the parts of something, each as a delayed object or future."""
    if is_dask_array(values):
        if values.ndim not in (1, 2):
            raise ValueError(f"{name} must have one or two dimensions; got {values.ndim}.")
        values = _whole_columns(values)
        if is_dask_array(X) and values.chunks[0] != X.chunks[0]:
            known = not any(np.isnan([*values.chunks[0], *X.chunks[0]]))
            if known and values.shape[0] != X.shape[0]:
                raise ValueError(
                    "Found input variables with inconsistent numbers of samples: "
                    f"[{X.shape[0]}, {values.shape[0]}]. X and {name} must have one row per "
                    "example each."
                )
            if known:
                values = values.rechunk({0: X.chunks[0]})
        return list(values.to_delayed().ravel())
    if is_dask_frame(values):
        return list(values.to_delayed())
    if is_parts(values):
        return list(values)
    raise TypeError(
        f"{name} must be {_EXPECTED}; got {type(values).__name__}. What fits one machine is given "
        "to the estimator's own fit, or cut by dask.array.from_array."
    )


def check_eval_set(eval_set: Any) -> tuple[Any, Any, Any] | None:
    """Raise a ValueError unless validation rows are one tuple (X, Y) or (X, Y, sample_weight)."""
    if eval_set is None:
        return None
    if isinstance(eval_set, Sequence) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
        raise ValueError(
            "eval_set must be one pair (X, Y), or (X, Y, sample_weight), of the same kinds as X "
            f"and Y; got {type(eval_set).__name__}."
        )
    return eval_set[0], eval_set[1], eval_set[2] if len(eval_set) == 3 else None
