"""Start the command line; turn errors into one line and an exit code."""

from __future__ import annotations

import sys

#: The exit code of a mistake in the call or in the data.
WRONG = 2


def main() -> None:
    """Run the command that the arguments name."""
    try:
        from ramify.cli._app import app
    except ImportError as error:
        if error.name != "typer":
            raise
        sys.exit("error: the command line needs typer; install it with: pip install 'ramify[cli]'")
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is not None:
            said = f"{error.filename}: {error.strerror}"
        print(f"error: {said}", file=sys.stderr)
        sys.exit(WRONG)
