"""Import the optional packages some files need, or say what to install."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str, purpose: str) -> ModuleType:
    """Import `module`, or raise an ImportError that says why and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module}, which is not installed; "
            "install it with: pip install 'ramify[readers]'"
        ) from error
