"""Warn users at the line of their own code, however deep the cause is."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parents[1])
#: scikit-learn 1.9 and later wrap `fit` in a decorator of this folder.
_WRAPPER = str(Path("sklearn") / "callback")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost frame that is neither polyleaf's nor a wrapper of its methods.

    Parameters
    ----------
    message : str
    category : type of Warning

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("mind the gap")
    >>> str(caught[0].message)
    'mind the gap'
    """
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(path: str) -> bool:
    return path.startswith(_PACKAGE) or _WRAPPER in path
