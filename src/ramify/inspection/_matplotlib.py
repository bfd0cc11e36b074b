"""The one place that imports matplotlib, which is optional."""

from __future__ import annotations

from typing import Any


def require_pyplot() -> Any:
    """Import matplotlib.pyplot.

    Raises
    ------
    ImportError
        If matplotlib is not installed; it says how to install it.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which is not installed. Install it with "
            "`pip install 'ramify[plot]'`."
        ) from error
    return plt
