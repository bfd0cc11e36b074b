"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Targets = Annotated[
    str | None,
    typer.Option(
        "--targets", help="Names of the outputs, by commas; 'sensor *' is all that begin so."
    ),
]
NTargets = Annotated[
    int | None,
    typer.Option("--n-targets", help="How many of the last ARFF attributes are outputs."),
]
Xml = Annotated[Path | None, typer.Option("--xml", help="MULAN's file that names the labels.")]
Exclude = Annotated[
    str | None,
    typer.Option("--exclude", help="Columns of a table to leave out, by commas; 'id*', too."),
]
MaxBytes = Annotated[
    int, typer.Option("--max-bytes", help="Most bytes that a compressed file may grow to.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same results.")]
