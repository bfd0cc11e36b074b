"""The command that writes a model for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polyleaf.cli._output import console
from polyleaf.export import to_json, to_onnx, to_python, to_sql, to_treelite
from polyleaf.files.saving import load


class Format(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    treelite = "treelite"
    sql = "sql"
    python = "python"
    json = "json"


def export(
    model: Annotated[Path, typer.Argument(help="A model file of `polyleaf fit`.")],
    to: Annotated[Format, typer.Option(help="The format.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    exact: Annotated[
        bool, typer.Option(help="ONNX in float64, with scores equal to the last bit.")
    ] = False,
    table: Annotated[str, typer.Option(help="SQL: the table to select from.")] = "data",
    key: Annotated[
        list[str] | None,
        typer.Option(help="SQL: a column that identifies rows and is kept; may be repeated."),
    ] = None,
) -> None:
    """Write a model for programs without polyleaf: ONNX, treelite, SQL, Python or JSON."""
    if exact and to is not Format.onnx:
        raise ValueError(f"--exact is for --to onnx; got --to {to.value}.")
    if key and to is not Format.sql:
        raise ValueError(f"--key is for --to sql; got --to {to.value}.")
    fitted = load(model)
    if to is Format.onnx:
        to_onnx(fitted, out, exact=exact)
    elif to is Format.treelite:
        to_treelite(fitted).serialize(str(out))
    else:
        text = {
            Format.sql: lambda: to_sql(fitted, table, key=key or None),
            Format.python: lambda: to_python(fitted),
            Format.json: lambda: to_json(fitted),
        }[to]()
        out.write_text(text, encoding="utf-8")
    console.print(f"Wrote {out} ({out.stat().st_size:,} bytes).", markup=False, highlight=False)
