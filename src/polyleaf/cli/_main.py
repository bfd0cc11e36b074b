"""Start the command line; turn warnings and errors into one line, and these into an exit code."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Any, NoReturn

from polyleaf._version import __version__
from polyleaf.checks.optional import require

#: The exit code of a mistake in the call or in the data.
WRONG = 2
#: The exit code of an error that nobody expected.
BROKEN = 1
#: The variable of the environment that asks for tracebacks.
TRACEBACK = "POLYLEAF_TRACEBACK"


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1:] == ["--version"]:  # answered without typer, which is optional
        say_version()
        sys.exit()
    try:
        require("typer", "the command line")
    except ImportError as error:
        sys.exit(f"error: {error}")
    from polyleaf.cli._app import app

    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            app()
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is not None:
            said = f"{error.filename}: {error.strerror}"
        _end(said, WRONG)
    except Exception as error:  # any error: users want one line
        first_line = (str(error).splitlines() or [""])[0]
        _end(f"{type(error).__name__}: {first_line} ({TRACEBACK}=1 shows where)", BROKEN)


def say_version() -> None:
    """Print the installed version."""
    print(f"polyleaf {__version__}")


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Say what to look at; where in the code it was said is of no use to a user."""
    print(f"warning: {message}", file=sys.stderr)


def _end(said: str, code: int) -> NoReturn:
    """Say what is wrong; where, if a variable of the environment asks for it."""
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    print(f"error: {said}", file=sys.stderr)
    sys.exit(code)
