"""The file format of models: arrays in safetensors, everything else as JSON in its header.

The header has one entry, "polyleaf", with the version of the format, a digest and the JSON, put
apart by blanks. The same content always makes the same file.

Reading never runs code. A digest over the arrays and the JSON finds truncation and bit flips;
what a hostile writer with a fitting digest could do is caught by the checks of whoever rebuilds
the model from the arrays.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from polyleaf.checks.paths import is_special
from polyleaf.files.mapping import map_arrays

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT_VERSION = 1
_HEADER_KEY = "polyleaf"
#: What the library was called before its first release; nothing reads those files any more.
_OLD_HEADER_KEY = "ramify"


_DATA_SUFFIXES = (
    ".arff", ".csv", ".tsv", ".parquet", ".svm", ".svmlight", ".libsvm", ".txt", ".dat", ".mat",
    ".rda", ".rdata", ".rds",
)  # fmt: skip


class ModelFileError(ValueError):
    """A model file cannot be read: it is damaged, of another kind, or of a newer version."""


def write_model(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> None:
    """Write arrays and metadata to one file, whole or not at all.

    Parameters
    ----------
    path : path-like
        An existing file is replaced once the new one is complete on disk; its permissions stay.
        A symbolic link is followed: the file that it names is replaced.
    arrays : mapping of str to ndarray
    metadata : mapping
        Whatever JSON can express.

    Raises
    ------
    OSError
        If the folder does not exist, the path is a folder, pipe or device, or the disk is full.
    """
    target = Path(os.path.realpath(path))
    _check_writable(target)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(metadata, sort_keys=True, allow_nan=False)
    # One entry, because safetensors writes several in no certain order.
    header = f"{FORMAT_VERSION} {_digest(arrays, text)} {text}"
    blob = safetensors.numpy.save(arrays, metadata={_HEADER_KEY: header})
    _remove_stale(target)
    descriptor, temporary = _open_temporary(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            file.write(blob)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # under the lock: others would take the file for stale
                os.replace(temporary, target)
        if fcntl is None:  # Windows does not rename open files
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _open_temporary(target: Path) -> tuple[int, Path]:
    """Make a file beside the target, locked for as long as it is open."""
    while True:
        temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        # Another writer may take it for stale between the two lines, and remove it.
        is_locked = _lock(descriptor)
        if is_locked is None or (is_locked and temporary.exists()):
            return descriptor, temporary
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file unless somebody else has; None where the system cannot."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_stale(target: Path) -> None:
    """Remove what writers of this file left that were killed; those at work hold a lock."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.tmp")
    for entry in os.scandir(target.parent):
        if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                descriptor = os.open(entry.path, os.O_RDONLY)
                try:
                    is_stale = _lock(descriptor)
                    if is_stale:
                        os.unlink(entry.path)
                finally:
                    os.close(descriptor)


def _check_writable(target: Path) -> None:
    """Name the user's path, which an error about the temporary file would not."""
    if target.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "A model is saved to a file; got the path of a folder", str(target)
        )
    if target.exists() and is_special(target):
        raise OSError(
            errno.EINVAL, "A model is saved to a file; got a pipe, socket or device", str(target)
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "There is no such folder to save a model in", str(target.parent)
        )


def read_model(
    path: str | os.PathLike[str], mmap: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_model` wrote.

    Parameters
    ----------
    path : path-like
    mmap : bool
        Whether arrays are views of the file.

    Returns
    -------
    arrays : dict of str to ndarray
    metadata : dict

    Raises
    ------
    ModelFileError
        If the file is not a complete, undamaged model file of a version this release reads.
    OSError
        If there is no such file, or it cannot be opened.
    """
    path = os.fspath(path)  # an integer would be taken for an open file
    if is_special(path):
        raise ModelFileError(
            f"{path!r} is a pipe, socket or device; a model is loaded from a file."
        )
    with open(path, "rb"):
        pass  # a missing or forbidden file is an OSError, whatever the parser would call it
    try:
        with safetensors.safe_open(os.fspath(path), framework="numpy") as file:
            header = file.metadata() or {}
            names = [] if mmap else file.keys()
            arrays = {name: file.get_tensor(name) for name in names}
        if mmap:
            arrays = map_arrays(path)
    except Exception as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a model file, or is damaged: {error}{_advice(path)}"
        ) from error
    return arrays, _check_header(path, arrays, header)


def _advice(path: str | os.PathLike[str]) -> str:
    """Point to the function that was probably meant."""
    name = os.fspath(path).lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    if name.endswith(_DATA_SUFFIXES):
        return ". To read a data file, call polyleaf.datasets.load."
    return ""


def _check_header(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, str]
) -> dict[str, Any]:
    where = repr(os.fspath(path))
    if _OLD_HEADER_KEY in header:
        raise ModelFileError(
            f"{where} was written by ramify, as polyleaf was called before its first release. "
            "polyleaf does not read such files: fit the model again and save it."
        )
    if _HEADER_KEY not in header:
        raise ModelFileError(f"{where} is a safetensors file, but not one that polyleaf wrote.")
    version, digest, text = (*header[_HEADER_KEY].split(" ", 2), "", "")[:3]
    if version.isdecimal() and len(version) < 10 and int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"{where} was written by a newer release of polyleaf: it has format {version}, and "
            f"this release reads formats up to {FORMAT_VERSION}. Install a newer release."
        )
    if version != str(FORMAT_VERSION):
        raise ModelFileError(f"{where} is damaged: it has the format {version!r:.20}.")
    if digest != _digest(arrays, text):
        raise ModelFileError(
            f"{where} is damaged: its digest does not fit its content. Restore it from a copy."
        )
    try:
        metadata = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{where} is damaged: its metadata is no JSON.") from error
    if not isinstance(metadata, dict):
        raise ModelFileError(f"{where} is damaged: its metadata is no JSON object.")
    return metadata


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _digest(arrays: Mapping[str, NDArray[Any]], text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
