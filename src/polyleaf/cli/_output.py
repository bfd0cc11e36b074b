"""Show results: as tables for people, as JSON for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

console = Console()
#: For what is not the result: progress, warnings.
messages = Console(stderr=True)


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; the first column is left-aligned, the others are numbers."""
    console.print(title, style="italic", soft_wrap=True)
    table = Table()
    for number, name in enumerate(header):
        is_first = number == 0
        table.add_column(
            name, justify="left" if is_first else "right", no_wrap=is_first, overflow="fold"
        )
    for row in rows:
        table.add_row(*(shown(value) for value in row))
    console.print(table)


def show_json(value: Any) -> None:
    """Print one JSON document; numbers that JSON does not have become null."""
    print(json.dumps(_plain(value), indent=2))


def shown(value: Any) -> str:
    """Return a value as it stands in a table."""
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def short(value: float) -> str:
    """Return a number of three digits, for tables with many columns."""
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if 0.01 <= abs(value) < 100 else f"{value:.2g}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
