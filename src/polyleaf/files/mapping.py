"""Arrays of a model file as views of the file itself, shared by all processes that load it."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Types of safetensors that model files use.
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip


def map_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Map the arrays of a safetensors file whose header was checked.

    Memory is taken when it is read, once for all processes. What a process writes to an array
    becomes a copy of its own.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict of str to ndarray
    """
    content = np.memmap(path, dtype=np.uint8, mode="c")
    size = int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8 : 8 + size].tobytes())
    header.pop("__metadata__", None)
    arrays = {}
    for name, tensor in header.items():
        first, last = (8 + size + int(offset) for offset in tensor["data_offsets"])
        dtype = np.dtype(_DTYPES[tensor["dtype"]])
        view = np.asarray(content[first:last])
        is_aligned = view.ctypes.data % dtype.itemsize == 0
        arrays[name] = (view if is_aligned else view.copy()).view(dtype).reshape(tensor["shape"])
    return arrays
