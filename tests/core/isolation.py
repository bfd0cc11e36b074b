"""Runs code that may crash the interpreter in one of its own."""

import subprocess
import sys
from textwrap import indent


def run_isolated(code: str) -> str:
    """Return what the code printed, 'refused' if it raised, or the exit code of a crash."""
    script = (
        "import numpy as np\nfrom polyleaf import _core\ntry:\n"
        + indent(code.strip(), "    ")
        + "\nexcept (TypeError, ValueError):\n    print('refused')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    return result.stdout.strip() or f"exit code {result.returncode}"
