"""Tell files from what only looks like one."""

from __future__ import annotations

import os
import stat


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a pipe, socket or device: to open one may wait for ever.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     is_special(file.name)
    False
    """
    mode = os.stat(path).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
