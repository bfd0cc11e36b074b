"""The command that explains rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polyleaf.cli._data import split_names
from polyleaf.cli._models import features_for
from polyleaf.cli._options import Exclude, Json, MaxBytes, NTargets, Targets, Xml
from polyleaf.cli._output import console, show_json
from polyleaf.datasets._files import MAX_BYTES
from polyleaf.files.saving import load
from polyleaf.inspection import explanation_text


def explain(
    model: Annotated[Path, typer.Argument(help="A model file of `polyleaf fit`.")],
    data: Annotated[str, typer.Argument(help="A file with the features; outputs are left out.")],
    row: Annotated[
        list[int] | None, typer.Option(help="Number of a row, from 0; repeatable.")
    ] = None,
    outputs: Annotated[
        str | None, typer.Option(help="Names of outputs, by commas; by default the top ones.")
    ] = None,
    top_outputs: Annotated[int, typer.Option(help="How many outputs of each row.")] = 3,
    top_features: Annotated[int, typer.Option(help="How many features of each output.")] = 5,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = MAX_BYTES,
    as_json: Json = False,
) -> None:
    """Tell why rows got their predictions: what each feature added to which output."""
    fitted = load(model)
    if not hasattr(fitted, "explain"):
        raise ValueError(f"A {type(fitted).__name__} does not explain rows.")
    X = features_for(
        fitted,
        data,
        targets=targets,
        n_targets=n_targets,
        xml=xml,
        exclude=exclude,
        max_bytes=max_bytes,
    )
    numbers = row or [0]
    n_rows = int(X.shape[0])
    for number in numbers:
        if not 0 <= number < n_rows:
            raise ValueError(f"--row must be from 0 to {n_rows - 1}; got {number}.")
    chosen = X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]
    table = _explained(fitted, chosen, outputs, top_outputs, top_features)
    table["row"] = [numbers[i] for i in table["row"]]
    if as_json:
        show_json(table.to_dict(orient="records"))
    elif "feature" in table:
        console.print(explanation_text(table), soft_wrap=True, markup=False, highlight=False)
    else:
        console.print(table.to_string(index=False), soft_wrap=True, markup=False, highlight=False)


def _explained(
    fitted: Any, X: Any, outputs: str | None, top_outputs: int, top_features: int
) -> Any:
    names = split_names(outputs)
    if not hasattr(fitted, "_additive") or hasattr(fitted, "rules_"):
        table = fitted.explain(X)
        return table if names is None else table[["row", "rule", "body", *names]]
    return fitted.explain(X, outputs=names, top_outputs=top_outputs, top_features=top_features)
