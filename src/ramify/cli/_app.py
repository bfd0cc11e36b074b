"""The commands, with their options."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ramify import datasets, metrics
from ramify.cli._data import builtin_data, read_data, read_features, split_names
from ramify.cli._output import console, messages, show_json, show_table
from ramify.cli._values import parse_settings, parse_time
from ramify.estimators import load, save
from ramify.estimators.label_scores import label_scores
from ramify.estimators.registry import ESTIMATORS
from ramify.experiments import METHODS, Comparison
from ramify.experiments import compare as compare_methods

#: The exit code after Ctrl-C.
STOPPED = 130

app = typer.Typer(
    help="Predict many outputs at once: compare methods, fit, predict, evaluate, inspect.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Targets = Annotated[
    str | None, typer.Option("--targets", help="Names of the outputs, separated by commas.")
]
NTargets = Annotated[
    int | None,
    typer.Option("--n-targets", help="How many of the last ARFF attributes are outputs."),
]
Xml = Annotated[Path | None, typer.Option("--xml", help="MULAN's file that names the labels.")]
Exclude = Annotated[
    str | None, typer.Option("--exclude", help="Columns of a table to leave out, by commas.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same results.")]


@app.command()
def compare(
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Files, or names listed by `ramify datasets`; built-in data if none."),
    ] = None,
    targets: Targets = None,
    n_targets: NTargets = None,
    xml: Xml = None,
    exclude: Exclude = None,
    methods: Annotated[
        str | None, typer.Option(help=f"Of {', '.join(METHODS)}; by commas. All by default.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Names of metrics, by commas; the first one is tuned for.")
    ] = None,
    cv: Annotated[
        int | None, typer.Option(help="Number of folds; 5 by default, 3 for built-in data.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time for tuning in all, such as 90s, 10m or 2h.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results and report.")] = Path("report"),
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1: one per processor.")] = 1,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare methods on data sets, and write a report.

    The same command goes on where it was stopped: results are in results.jsonl in the folder.
    """
    if data:
        problems: Any = read_data(data, targets, n_targets, xml, exclude)
    else:
        problems = builtin_data(seed)
    cv = cv or (5 if data else 3)
    chosen = split_names(methods)
    n_runs = len(problems) * cv * len(chosen or METHODS)
    try:
        result = compare_methods(
            problems,
            chosen,
            split_names(metric),
            cv=cv,
            budget=None if budget is None else parse_time(budget) / n_runs,
            path=out / "results.jsonl",
            random_state=seed,
            n_jobs=jobs,
            verbose=0 if as_json else 1,
        )
    except KeyboardInterrupt:
        messages.print(f"Stopped; what is finished is in {out}. The same command goes on.")
        raise typer.Exit(STOPPED) from None
    page = result.report(out)
    if as_json:
        show_json(_boards(result) | {"report": str(page)})
        return
    _show_boards(result)
    for row in result.failures[:5]:
        messages.print(f"failed: {row['method']} on {row['dataset']}: {row['error']}")
    console.print(f"Report: {page}", soft_wrap=True)


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
    rows += [[name, "OpenML", e.n, "", e.d] for name, e in datasets.OPENML.items()]
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


def _boards(result: Comparison) -> dict[str, Any]:
    return {
        metric.name: [asdict(standing) for standing in result.leaderboard(metric.name)]
        for found in result.metrics.values()
        for metric in found
    }


def _show_boards(result: Comparison) -> None:
    for task, found in result.metrics.items():
        boards = {m.name: {s.method: s for s in result.leaderboard(m.name)} for m in found}
        first = boards[found[0].name]
        arrows = [f"{m.name} {'↑' if m.greater_is_better else '↓'}" for m in found]
        rows = [
            [s.method, s.rank, *(boards[m.name][s.method].score for m in found), s.fit_seconds]
            for s in first.values()
        ]
        show_table(task, ["method", "mean rank", *arrows, "fit, s"], rows)
