"""The commands, with their options."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from polyleaf import datasets
from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.cli._cluster import connected, fit_dataset, fit_files, is_pattern, some_targets
from polyleaf.cli._compare import compare
from polyleaf.cli._data import builtin_data, read_data, split_names
from polyleaf.cli._explain import explain
from polyleaf.cli._export import export
from polyleaf.cli._inspect import inspect
from polyleaf.cli._main import say_version
from polyleaf.cli._models import data_for, evaluation, features_for, predictions
from polyleaf.cli._options import Exclude, Json, MaxBytes, NTargets, Seed, Targets, Xml
from polyleaf.cli._output import console, show_json, show_table
from polyleaf.cli._values import parse_settings
from polyleaf.cli._write import writer_for
from polyleaf.datasets._files import MAX_BYTES
from polyleaf.experiments._best import fit_named, read_best
from polyleaf.files.saving import load, save

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.command()(compare)
app.command()(explain)
app.command()(export)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        say_version()
        raise typer.Exit


@app.callback()
def common(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    """Predict many outputs at once: compare methods, fit, predict, evaluate, inspect."""


@app.command()
def fit(
    data: Annotated[str, typer.Argument(help="A file, or a name listed by `polyleaf datasets`.")],
    out: Annotated[Path, typer.Option(help="The model file to write.")],
    method: Annotated[
        str | None,
        typer.Option(
            help="An estimator of polyleaf: Tree, Boosting, ...; else Auto, which races them."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--from", help="The folder of a comparison: its best method, with its settings."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as max_depth=5; repeatable.")
    ] = None,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = MAX_BYTES,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler, whose workers train; they read a pattern of files."
        ),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train an estimator and write it to a model file."""
    if dask is not None and method is None and report is None:
        raise ValueError("--dask needs --method: Auto races the estimators on one machine.")
    with nullcontext() if dask is None else connected(dask) as client:
        dataset, names = None, split_names(targets)
        if client is None or not is_pattern(data):
            dataset = read_data([data], targets, n_targets, xml, exclude, max_bytes)[0]
        name = data if dataset is None else dataset.name
        Y = some_targets(data, names) if dataset is None else dataset.Y
        cls, given, chosen = _chosen(method, report, settings or [], name, Y)
        model = cls(**({"random_state": seed} | given))
        if dataset is None:
            model = fit_files(model, data, names, split_names(exclude), client)
        elif client is not None:
            model = fit_dataset(model, dataset, client)
        else:
            own = dataset.feature_names, dataset.output_names
            fit_named(model, dataset.X, dataset.Y, *own)
    save(model, out)
    size = out.stat().st_size
    if as_json:
        show_json({"model": str(out), "estimator": cls.__name__, "bytes": size} | chosen)
        return
    told = f"{cls.__name__} on {data if dataset is None else repr(dataset)}\n"
    told += f"Model: {out} ({size / 1e6:.2f} MB)"
    if chosen.get("better"):
        better = ", ".join(chosen["better"])
        told += f"\nBetter in the comparison, but not of polyleaf: {better}"
    console.print(told, soft_wrap=True)


def _chosen(
    method: str | None, report: Path | None, settings: list[str], name: str, Y: Any
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Find the estimator that is asked for, its parameters, and what a comparison says of it."""
    if report is not None and method is not None:
        raise ValueError("--method and --from exclude each other: the folder names the method.")
    best: dict[str, Any] = {}
    chosen: dict[str, Any] = {}
    if report is None:
        if method is None and settings:
            raise ValueError(
                f"--set {settings[0]} needs --method: without one, Auto races the estimators. "
                "Name one, as --method RandomForest, or --method Auto to set budget or metric."
            )
        cls = _estimator_class(method or "Auto", Y)
    else:
        cls, best, chosen = read_best(report, name)
    return cls, best | parse_settings(settings, cls), chosen


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model file of `polyleaf fit`.")],
    data: Annotated[str, typer.Argument(help="A file with the features; outputs are left out.")],
    out: Annotated[
        Path, typer.Option(help="The file to write: .csv, .tsv, .parquet, .arrow or .jsonl.")
    ],
    proba: Annotated[bool, typer.Option(help="Probabilities of labels, not label sets.")] = False,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = MAX_BYTES,
    as_json: Json = False,
) -> None:
    """Predict, and write a table with a column per output, in the format of its ending."""
    write = writer_for(out)
    fitted = load(model)
    X = features_for(
        fitted,
        data,
        targets=targets,
        n_targets=n_targets,
        xml=xml,
        exclude=exclude,
        max_bytes=max_bytes,
    )
    names, rows = predictions(fitted, X, proba=proba)
    write(out, names, rows)
    n_rows, n_columns = rows.shape
    if as_json:
        show_json({"predictions": str(out), "rows": n_rows, "columns": n_columns})
    else:
        console.print(f"{n_rows} rows of {n_columns} columns: {out}", soft_wrap=True)


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file of `polyleaf fit`.")],
    data: Annotated[str, typer.Argument(help="A file with features and outputs.")],
    metric: Annotated[str | None, typer.Option(help="Names of metrics, by commas.")] = None,
    per_output: Annotated[
        bool, typer.Option("--per-output", help="Also the scores of each output.")
    ] = False,
    train: Annotated[
        str | None, typer.Option(help="The data it was trained on, for metrics relative to them.")
    ] = None,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = MAX_BYTES,
    as_json: Json = False,
) -> None:
    """Judge a model on data that it has not seen."""
    fitted = load(model)
    options = {
        "targets": targets,
        "n_targets": n_targets,
        "xml": xml,
        "exclude": exclude,
        "max_bytes": max_bytes,
    }
    dataset = data_for(fitted, data, **options)
    trained_on = None if train is None else data_for(fitted, train, **options)
    found = evaluation(fitted, dataset, split_names(metric), trained_on)
    by_output = found.by_output()
    if as_json:
        show_json(found.scores | ({"outputs": by_output} if per_output else {}))
        return
    title = f"{type(fitted).__name__} on {dataset.name}"
    show_table(title, ["metric", "score"], list(found.scores.items()))
    if per_output:
        rows = [[name, *scores.values()] for name, scores in by_output.items()]
        show_table("Each output", ["output", *found.per_output], rows)


app.command()(inspect)


@app.command("datasets")
def list_datasets(as_json: Json = False) -> None:
    """List the data sets that have a name, and the files that can be read."""
    rows = [[d.name, "built in", *_sizes(d)] for d in builtin_data().values()]
    rows += [[name, "OpenML", e.n, e.p or "", e.d] for name, e in datasets.OPENML.items()]
    if as_json:
        show_json([dict(zip(("name", "from", "n", "p", "d"), row)) for row in rows])
        return
    show_table("Data sets", ["name", "from", "rows", "features", "outputs"], rows)
    console.print("Files: .arff (MULAN, MEKA, CLUS), .csv, .tsv, .parquet, .svm, .txt (svmlight "
                  "and extreme classification), .mat, .rda")  # fmt: skip


def _sizes(dataset: datasets.Dataset) -> tuple[int, int, int]:
    return dataset.n_samples, dataset.n_features, dataset.n_outputs


def _estimator_class(method: str, Y: Any) -> Any:
    is_label = hasattr(Y, "tocsr") or np.asarray(Y).dtype.kind in "biuUO" or np.isin(
        Y[~np.isnan(Y)], (0, 1)
    ).all()  # fmt: skip
    suffix = "Classifier" if is_label else "Regressor"
    autos = [name for name in META_ESTIMATORS if name.startswith("Auto")]
    by_lower = {name.lower(): name for name in (*ESTIMATORS, *autos)}
    for name in (method, method + suffix):
        if name.lower() in by_lower:
            known = by_lower[name.lower()]
            return META_ESTIMATORS[known] if known in autos else ESTIMATORS[known]
    kinds = sorted(n.removesuffix(suffix) for n in by_lower.values() if n.endswith(suffix))
    data = "labels or classes" if is_label else "numbers"
    raise ValueError(
        f"--method must be one of {', '.join(kinds)} for outputs that are {data}; got {method!r}."
    )
