"""Tell things apart that have the same name: functions, estimators, folds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def digest_of(value: Any) -> str:
    """Return a short digest of what a value is made of, the same in every process.

    A function counts by its code, its defaults and the variables that it encloses; an object by
    its kind and its parameters, or its attributes. What a function finds in its module does not
    count.

    Parameters
    ----------
    value : object

    Returns
    -------
    str
    """
    return hashlib.sha256(_text(value, ()).encode()).hexdigest()[:16]


def _text(value: Any, above: tuple[int, ...]) -> str:
    if id(value) in above:  # a function may enclose itself
        return "..."
    above = (*above, id(value))
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"array {value.dtype} {value.shape} {data}"
    if isinstance(value, type):
        return value.__qualname__
    parts = _parts(value)
    if parts is None:
        return _ADDRESS.sub("", repr(value))
    texts = [_text(part, above) for part in parts]
    if isinstance(value, (set, frozenset)):
        texts.sort()
    return f"{type(value).__qualname__}({', '.join(texts)})"


def _parts(value: Any) -> list[Any] | None:
    """Return what a value consists of; None if it is plain."""
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, CodeType):
        return [value.co_code, value.co_consts, value.co_names]
    if isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        return [value.__code__, value.__defaults__, value.__kwdefaults__, *map(_content, cells)]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if hasattr(value, "made_of"):
        return [value.made_of]
    if hasattr(value, "get_params"):
        return [value.get_params(deep=False)]
    own_text: Any = type(value).__repr__
    has_own_text = own_text is not object.__repr__
    return None if has_own_text or not hasattr(value, "__dict__") else [vars(value)]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
