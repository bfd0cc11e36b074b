"""Fitted models for other programs: ONNX, treelite, SQL, Python, JSON."""

from polyleaf.export._onnx import to_onnx
from polyleaf.export._rules_code import rules_to_python, rules_to_sql
from polyleaf.export._skl2onnx import register_skl2onnx
from polyleaf.export._sums import CannotExportError
from polyleaf.export._text import to_json, to_python, to_sql
from polyleaf.export._treelite import to_treelite

__all__ = [
    "CannotExportError",
    "register_skl2onnx",
    "rules_to_python",
    "rules_to_sql",
    "to_json",
    "to_onnx",
    "to_python",
    "to_sql",
    "to_treelite",
]
