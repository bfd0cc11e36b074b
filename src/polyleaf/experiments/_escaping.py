"""Names of data sets, methods and errors, written so that they stay names in other programs."""

from __future__ import annotations

from typing import Any

_FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> Any:
    """Return a value for a CSV file, with an apostrophe before what a spreadsheet would run.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell(-0.5)
    ("'=1+1", -0.5)
    """
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_MARKS)
    return f"'{value}" if is_formula else value


def markdown_cell(value: Any) -> str:
    r"""Return a value for a cell of a Markdown table: one line, without marks of its own.

    Examples
    --------
    >>> print(markdown_cell("a|b\n<b>"))
    a\|b &lt;b&gt;
    """
    text = " ".join(str(value).split())
    text = text.replace("\\", "\\\\").replace("|", "\\|")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
