"""The command line: compare methods, fit, predict, evaluate and inspect, without Python."""

from ramify.cli._main import main

__all__ = ["main"]
