"""Read data sets stored as MATLAB matrices or as R data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polyleaf.checks.optional import require
from polyleaf.checks.spelling import nearest_names
from polyleaf.datasets._dataset import Dataset, NumberedNames
from polyleaf.datasets._files import (
    MAX_BYTES,
    DataFormatError,
    FilePath,
    dataset_name,
    matching,
    read_bytes,
)
from polyleaf.datasets._mat5 import read_matrices

if TYPE_CHECKING:
    import pandas as pd

    from polyleaf.datasets._dataset import Features


def read_mat(
    path: FilePath,
    *,
    features: str = "data",
    targets: str = "target",
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    """Read two matrices of a MATLAB file (versions 5 to 7.2) as features and outputs.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    features : str, default="data"
        The name of the matrix of features, of shape (n, p).
    targets : str, default="target"
        The name of the matrix of outputs, of shape (n, d) or (d, n).
    max_bytes : int, default=2**30
        Most bytes that the compressed matrices of the file may grow to in all; a file that holds
        more is refused.

    Returns
    -------
    Dataset
        X float64, sparse if the matrix is. Outputs with only the values 0 and 1, or -1 and 1,
        are labels, and Y is 0/1 in int8.

    Raises
    ------
    DataFormatError
        If the file is damaged, lacks a matrix, or holds cells, structures or objects instead.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from polyleaf.datasets import read_mat
    >>> path = Path(tempfile.mkdtemp()) / "toy.mat"
    >>> savemat(path, {"data": np.ones((5, 3)), "target": np.ones((2, 5))})
    >>> read_mat(path)
    Dataset('toy': n=5, p=3, d=2; X dense, Y dense; nothing missing)
    """
    if features == targets:
        raise ValueError(f"features and targets must be two matrices; got {features!r} twice.")
    X, Y = read_matrices(path, {features: "features", targets: "targets"}, max_bytes)
    if Y.shape[0] != X.shape[0]:
        Y = Y.T.tocsr() if isinstance(Y, sparse.csr_array) else Y.T
    if Y.shape[0] != X.shape[0]:
        raise DataFormatError(
            f"expected {targets!r} of shape (n, d) or (d, n) with n = {X.shape[0]} rows of "
            f"{features!r}, got {Y.T.shape}",
            path=path,
        )
    if isinstance(X, sparse.csr_array):
        X = X.astype(np.float64)
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
    return Dataset(
        X,
        _as_outputs(Y),
        NumberedNames("x", X.shape[1]),
        NumberedNames("y", Y.shape[1]),
        dataset_name(path),
    )


def _as_outputs(Y: Any) -> Any:
    """Return labels (0/1 or -1/1) as int8, other outputs as float64."""
    is_sparse = isinstance(Y, sparse.csr_array)
    values = set(np.unique(Y.data if is_sparse else Y).tolist())
    if is_sparse:
        return Y.astype(np.int8 if values <= {0, 1} else np.float64)
    if values <= {0, 1}:
        return np.ascontiguousarray(Y, dtype=np.int8)
    if values <= {-1, 1}:
        return np.ascontiguousarray(Y > 0, dtype=np.int8)
    return np.ascontiguousarray(Y, dtype=np.float64)


def read_rda(
    path: FilePath,
    targets_path: FilePath | None = None,
    *,
    targets: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    """Read R data frames (.rda, .RData or .rds) as features and outputs.

    Parameters
    ----------
    path : str or os.PathLike
        The file with the features, and with the outputs too unless `targets_path` is given.
        It must hold exactly one data frame.
    targets_path : str or os.PathLike, optional
        A second file, all of whose columns are outputs.
    targets : sequence of str, optional
        The columns of the first file that are outputs, or patterns such as ``'Abies*'``; needed if
        `targets_path` is not given.
    exclude : sequence of str, default=()
        Columns of the first file to leave out, such as coordinates.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Dataset
        X is a DataFrame if there are factors, otherwise an array of float64; Y is int8 if all
        its values are 0 and 1, otherwise float64.

    Raises
    ------
    DataFormatError
        If a file is damaged, or the frames do not fit together.
    ImportError
        If pyreadr is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import pyreadr
    >>> from polyleaf.datasets import read_rda
    >>> path = Path(tempfile.mkdtemp()) / "toy.rda"
    >>> frame = pd.DataFrame({"depth": [1.5, 2.5], "pike": [0, 1], "perch": [1, 1]})
    >>> pyreadr.write_rdata(str(path), frame, df_name="toy")
    >>> read_rda(path, targets=["pike", "perch"])
    Dataset('toy': n=2, p=1, d=2; X dense, Y dense; nothing missing)
    """
    if (targets_path is None) == (targets is None):
        raise ValueError("read_rda needs either targets_path or targets, and not both.")
    frame = _load_rda(path, max_bytes)
    if targets_path is not None:
        outputs = _load_rda(targets_path, max_bytes)
        _check_same_rows(frame, outputs, path, targets_path)
    else:
        outputs = frame[_known_columns(frame, targets or (), "targets", path)]
        frame = frame.drop(columns=list(outputs.columns))
    frame = frame.drop(columns=_known_columns(frame, exclude, "exclude", path))
    if not frame.shape[1] or not outputs.shape[1]:
        raise DataFormatError("expected at least one feature and one output", path=path)
    for column, dtype in outputs.dtypes.items():
        if dtype.kind not in "biuf":
            raise DataFormatError(
                f"expected numeric outputs, but {column!r} has type {dtype}",
                path=path if targets_path is None else targets_path,
            )
    return Dataset(
        _as_features(frame),
        _as_outputs(outputs.to_numpy(dtype=np.float64)),
        [str(column) for column in frame.columns],
        [str(column) for column in outputs.columns],
        dataset_name(path if targets_path is None else targets_path),
    )


def _as_features(frame: pd.DataFrame) -> Features:
    if all(dtype.kind in "biuf" for dtype in frame.dtypes):
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
    return frame.reset_index(drop=True)


def _load_rda(path: FilePath, max_bytes: int) -> pd.DataFrame:
    pyreadr = require("pyreadr", f"reading {path}")
    # pyreadr decompresses without a bound, so that the size is found first. A missing file is an
    # OSError, as with the other readers.
    read_bytes(path, max_bytes)
    try:
        frames = pyreadr.read_r(str(path))
    except Exception as error:  # the parser raises many kinds on damaged files
        raise DataFormatError(
            f"expected an R data file with a data frame, but it cannot be read ({error})",
            path=path,
        ) from error
    if len(frames) != 1:
        raise DataFormatError(
            f"expected one data frame, found {len(frames)}: {', '.join(map(str, frames))}; save "
            "features and outputs to a file each, and call datasets.read_rda(features_file, "
            "targets_file)",
            path=path,
        )
    frame: pd.DataFrame = next(iter(frames.values()))
    if not frame.columns.is_unique:
        raise DataFormatError("expected distinct column names, got some twice", path=path)
    return frame


def _known_columns(
    frame: pd.DataFrame, columns: Sequence[str], parameter: str, path: FilePath
) -> list[str]:
    columns = matching(columns, [str(name) for name in frame.columns])
    for column in columns:
        if column not in frame.columns:
            known = ", ".join(map(repr, frame.columns[:10]))
            near = nearest_names([column], [str(name) for name in frame.columns])
            raise ValueError(
                f"{parameter} must be columns of {path} (such as {known}); got {column!r}{near}."
            )
    return list(columns)


def _check_same_rows(
    frame: pd.DataFrame, outputs: pd.DataFrame, path: FilePath, targets_path: FilePath
) -> None:
    """Raise unless both frames have the same number of rows, and the same row names if any."""
    if len(frame) != len(outputs):
        raise DataFormatError(
            f"expected as many rows as in {path} ({len(frame)}), got {len(outputs)}",
            path=targets_path,
        )
    has_names = all(part.index.name == "rownames" for part in (frame, outputs))
    if has_names and list(frame.index) != list(outputs.index):
        raise DataFormatError(
            f"expected the row names of {path} in the same order, got others", path=targets_path
        )
