"""Run the command line as ``python -m polyleaf.cli``."""

from polyleaf.cli._main import main

main()
