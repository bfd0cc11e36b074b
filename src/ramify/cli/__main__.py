"""Run the command line as ``python -m ramify.cli``."""

from ramify.cli._main import main

main()
