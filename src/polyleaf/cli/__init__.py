"""The command line: compare methods, fit, predict, evaluate and inspect, without Python."""

from polyleaf.cli._main import main

__all__ = ["main"]
