"""Fitted models for other programs: ONNX, SQL, Python, JSON, treelite."""

from polyleaf.export._onnx import to_onnx
from polyleaf.export._sums import CannotExportError

__all__ = ["CannotExportError", "to_onnx"]
