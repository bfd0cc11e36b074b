"""The commands, with their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ramify import datasets, metrics
from ramify.cli._compare import compare
from ramify.cli._data import builtin_data, read_data, read_features, split_names
from ramify.cli._options import Exclude, Json, NTargets, Seed, Targets, Xml
from ramify.cli._output import console, show_json, show_table
from ramify.cli._values import parse_settings
from ramify.estimators import load, save
from ramify.estimators.label_scores import label_scores
from ramify.estimators.registry import ESTIMATORS

app = typer.Typer(
    help="Predict many outputs at once: compare methods, fit, predict, evaluate, inspect.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.command()(compare)


@app.command()
def fit(
    data: Annotated[str, typer.Argument(help="A file, or a name listed by `ramify datasets`.")],
    out: Annotated[Path, typer.Option(help="The model file to write.")],
    method: Annotated[
        str, typer.Option(help="RandomForest, Tree, ...: an estimator of ramify.")
    ] = "RandomForest",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as max_depth=5; repeatable.")
    ] = None,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train an estimator and write it to a model file."""
    dataset = read_data([data], targets, n_targets, xml, exclude)[0]
    cls = _estimator_class(method, dataset.Y)
    given = parse_settings(settings or [], cls)
    model = cls(**({"random_state": seed} | given)).fit(dataset.X, _named(dataset))
    save(model, out)
    size = out.stat().st_size
    if as_json:
        show_json({"model": str(out), "estimator": cls.__name__, "bytes": size})
    else:
        console.print(f"{cls.__name__} on {dataset!r}\nModel: {out} ({size / 1e6:.2f} MB)")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model file of `ramify fit`.")],
    data: Annotated[str, typer.Argument(help="A file with the features; outputs are left out.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    proba: Annotated[bool, typer.Option(help="Probabilities of labels, not label sets.")] = False,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
) -> None:
    """Predict, and write a CSV file with a column per output."""
    fitted = load(model)
    names = list(map(str, fitted.output_names_))
    X = read_features(data, names, targets=targets, n_targets=n_targets, xml=xml, exclude=exclude)
    predicted = label_scores(fitted, X, len(names)) if proba else fitted.predict(X)
    dense = predicted.toarray() if hasattr(predicted, "toarray") else np.asarray(predicted)
    rows = dense.reshape(dense.shape[0], -1)
    with out.open("w", encoding="utf-8") as file:
        file.write(",".join(f'"{name}"' for name in names) + "\n")
        np.savetxt(file, rows, fmt="%.10g", delimiter=",")
    console.print(f"{rows.shape[0]} rows of {rows.shape[1]} outputs: {out}")


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file of `ramify fit`.")],
    data: Annotated[str, typer.Argument(help="A file with features and outputs.")],
    metric: Annotated[str | None, typer.Option(help="Names of metrics, by commas.")] = None,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    as_json: Json = False,
) -> None:
    """Judge a model on data that it has not seen."""
    fitted = load(model)
    dataset = read_data([data], targets, n_targets, xml, exclude)[0]
    scores = _evaluation(fitted, dataset, split_names(metric))
    if as_json:
        show_json(scores)
    else:
        show_table(f"{type(fitted).__name__} on {dataset.name}", ["metric", "score"],
                   list(scores.items()))  # fmt: skip


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="A model file of `ramify fit`.")],
    top: Annotated[int, typer.Option(help="How many features are shown.")] = 10,
    as_json: Json = False,
) -> None:
    """Show what a model file holds, and which features matter."""
    fitted = load(model)
    names = getattr(fitted, "feature_names_in_", None)
    names = [f"x{j}" for j in range(fitted.n_features_in_)] if names is None else names
    importances = np.asarray(fitted.feature_importances_)
    order = np.argsort(-importances, kind="stable")[:top]
    facts = {
        "estimator": type(fitted).__name__,
        "features": int(fitted.n_features_in_),
        "outputs": [str(name) for name in fitted.output_names_],
        "parameters": fitted.get_params(deep=False),
        "importances": {str(names[j]): float(importances[j]) for j in order},
    }
    if as_json:
        show_json(facts)
        return
    outputs = facts["outputs"]
    shown = ", ".join(outputs[:8]) + (", ..." if len(outputs) > 8 else "")
    console.print(f"{facts['estimator']}: {facts['features']} features, {len(outputs)} outputs "
                  f"({shown})")  # fmt: skip
    show_table("Parameters", ["parameter", "value"], list(facts["parameters"].items()))
    show_table("What matters", ["feature", "importance"], list(facts["importances"].items()))


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
    by_lower = {name.lower(): cls for name, cls in ESTIMATORS.items()}
    for name in (method, method + suffix):
        if name.lower() in by_lower:
            return by_lower[name.lower()]
    kinds = sorted(
        {name.removesuffix("Regressor").removesuffix("Classifier") for name in ESTIMATORS}
    )
    raise ValueError(f"--method must be one of {', '.join(kinds)}; got {method!r}.")


def _named(dataset: datasets.Dataset) -> Any:
    """Return Y with the names of its columns, where a frame can hold it."""
    if hasattr(dataset.Y, "tocsr"):
        return dataset.Y
    try:
        import pandas
    except ImportError:
        return dataset.Y
    return pandas.DataFrame(dataset.Y, columns=list(dataset.output_names))


def _evaluation(
    fitted: Any, dataset: datasets.Dataset, names: list[str] | None
) -> dict[str, float]:
    task = "multilabel" if hasattr(fitted, "classes_") else "regression"
    if names is None:
        chosen = [m for m in metrics.METRICS.values() if m.task == task and not m.from_training]
    else:
        chosen = [metrics.resolve(name) for name in names]
    predicted = fitted.predict(dataset.X)
    scores = None
    values = {}
    for metric in chosen:
        if metric.task != task:
            raise ValueError(f"{metric.name} is for {metric.task}, but the model is for {task}.")
        if metric.needs == "scores" and scores is None:
            scores = label_scores(fitted, dataset.X, dataset.n_outputs)
        given = scores if metric.needs == "scores" else predicted
        given = given.reshape(len(given), -1) if isinstance(given, np.ndarray) else given
        values[metric.name] = metric.prepare()(dataset.Y, given)
    return values
