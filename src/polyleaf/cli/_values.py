"""Read times and parameters as they are typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from inspect import signature
from typing import Any

from polyleaf.checks.spelling import did_you_mean

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?", re.ASCII)
_SECONDS = {None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_time(text: str) -> float:
    """Return seconds of a time such as 90, 90s, 10m or 2h."""
    match = _TIME.fullmatch(text.strip().lower())
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"A time must be like 90s, 10m or 2h; got {text!r}.")
    return float(match[1]) * _SECONDS[match[2]]


def parse_tuning(text: str) -> float | int:
    """Return a share such as 0.25, or a number of inner folds."""
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        raise ValueError(
            f"--tuning must be a share such as 0.25, or a number of inner folds; got {text!r}."
        ) from None


def parse_settings(texts: Sequence[str], cls: Any) -> dict[str, Any]:
    """Return parameters typed as name=value; values are Python's literals, or else strings."""
    known = list(signature(cls).parameters)
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set must be name=value; got {text!r}.")
        name = name.strip()
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(
                f"{cls.__name__} has no parameter {name!r}.{hint} Its parameters are "
                f"{', '.join(known)}."
            )
        try:
            settings[name] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            settings[name] = value.strip()
    return settings
