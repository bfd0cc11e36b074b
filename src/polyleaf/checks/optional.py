"""Import the optional packages that some features need, or say what to install."""

from __future__ import annotations

import importlib
from types import ModuleType

#: Modules whose package has another name on the package index.
_PACKAGES = {
    "scikit_posthocs": "scikit-posthocs",
    "matplotlib.pyplot": "matplotlib",
    "skops.io": "skops",
}


def require(module: str, purpose: str) -> ModuleType:
    """Import an optional module.

    Parameters
    ----------
    module : str
    purpose : str
        What it is needed for, such as 'plots' or 'the report'.

    Raises
    ------
    ImportError
        If it is not installed; it says what to install.

    Examples
    --------
    >>> require("json", "the example").__name__
    'json'
    >>> require("no_such_package", "the example")
    Traceback (most recent call last):
        ...
    ImportError: no_such_package, which is needed for the example, is not installed. ...
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = _PACKAGES.get(module, module)
        raise ImportError(
            f"{package}, which is needed for {purpose}, is not installed. "
            f"Install it with: pip install {package}"
        ) from error
