"""The command that shows what a model file holds: card, structure, importances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from polyleaf.checks.optional import require
from polyleaf.cli._models import features_for, last_step
from polyleaf.cli._options import Json
from polyleaf.cli._output import console, show_json, show_table
from polyleaf.datasets._files import MAX_BYTES
from polyleaf.files.saving import load, read_card
from polyleaf.inspection import (
    plot_output_importances,
    plot_shap_map,
    plot_shap_swarm,
    rules_text,
    shap_values,
    tree_text,
)

#: Lines of a tree or of rules that are shown unless more are asked for.
_MOST_LINES = 40
#: Outputs that get a picture of their own, and rows in it.
_MOST_SWARMS, _SWARM_ROWS = 4, 500


def inspect(
    model: Annotated[Path, typer.Argument(help="A model file of `polyleaf fit`.")],
    top: Annotated[int, typer.Option(help="How many features are shown.")] = 10,
    lines: Annotated[
        int, typer.Option(help="How many lines of the tree or the rules are shown; -1: all.")
    ] = _MOST_LINES,
    pictures: Annotated[
        Path | None, typer.Option(help="A folder for pictures of what matters for which output.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="A file with features, whose rows the pictures explain."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a model file holds: its card, its tree or rules, and which features matter."""
    fitted, card = load(model), read_card(model)
    last = last_step(fitted)
    facts = {
        "estimator": card.pop("estimator"),
        "features": _n_features(fitted),
        "outputs": [str(name) for name in last.output_names_],
        "parameters": last.get_params(deep=False),
        "card": {name: value for name, value in card.items() if name != "parameters"},
        "importances": _importances(last, top),
        "text": _structure(last),
    }
    if as_json:
        show_json(facts)
        return
    outputs = facts["outputs"]
    shown = ", ".join(outputs[:8]) + (", ..." if len(outputs) > 8 else "")
    told = f"{facts['estimator']}: {facts['features']} features, {len(outputs)} outputs ({shown})"
    console.print(told, markup=False)
    _show_card(facts["card"])
    show_table("Parameters", ["parameter", "value"], list(facts["parameters"].items()))
    if facts["importances"]:
        show_table("What matters", ["feature", "importance"], list(facts["importances"].items()))
    else:
        console.print("This kind of model does not say which features matter.")
    _show_lines(facts["text"], lines)
    if pictures is not None:
        for path in _draw(fitted, pictures, data):
            console.print(f"{path} written", markup=False, highlight=False, soft_wrap=True)


def _draw(fitted: Any, folder: Path, data: str | None) -> list[Path]:
    """Draw importances per output; with rows, also how far features move outputs, and where to."""
    plt = require("matplotlib.pyplot", "--pictures")
    last = last_step(fitted)
    tree = getattr(last, "estimator_", last)  # inside a TunedDecoder
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {"importances.png": plot_output_importances(tree)}
    if data is not None:
        if last is not fitted:
            raise ValueError("--data explains rows of models without a pipeline around them.")
        X = features_for(
            fitted, data, targets=None, n_targets=None, xml=None, exclude=None, max_bytes=MAX_BYTES
        )
        sizes = shap_values(tree, X, reduce="mean_abs")
        drawn["shap_map.png"] = plot_shap_map(sizes)
        few = X[:_SWARM_ROWS]
        for number, name in enumerate(sizes.output_names[:_MOST_SWARMS]):
            found = shap_values(tree, few, outputs=name)
            drawn[f"shap_{number}.png"] = plot_shap_swarm(found, name)
    for name, ax in drawn.items():
        figure: Any = ax.figure
        figure.savefig(folder / name, dpi=150)
        plt.close(figure)
    return [folder / name for name in drawn]


def _n_features(fitted: Any) -> int:
    try:
        return int(fitted.n_features_in_)
    except AttributeError:  # steps that read texts do not count them
        return int(last_step(fitted).n_features_in_)


def _importances(fitted: Any, top: int) -> dict[str, float]:
    """Give the features that matter most."""
    names = getattr(fitted, "feature_names_in_", None)
    names = [f"x{j}" for j in range(fitted.n_features_in_)] if names is None else names
    importances = np.asarray(getattr(fitted, "feature_importances_", []))
    order = np.argsort(-importances, kind="stable")[:top]
    return {str(names[j]): float(importances[j]) for j in order}


def _structure(fitted: Any) -> str:
    """Give the tree or the rules as text; nothing for models of hundreds of trees."""
    fitted = getattr(fitted, "estimator_", fitted)  # inside a TunedDecoder
    kind = type(fitted).__name__
    if kind.startswith("Tree"):
        return tree_text(fitted)
    return rules_text(fitted) if kind.startswith("Rule") else ""


def _show_card(card: dict[str, Any]) -> None:
    if "fitted" in card:
        when = card["fitted"].replace("T", " ").replace("+00:00", " UTC")
        versions = ", ".join(f"{name} {number}" for name, number in card["versions"].items())
        console.print(f"Fitted {when} on {card['rows']} rows, with {versions}", soft_wrap=True)
    if card.get("scores"):
        show_table("Scores", ["metric", "score"], list(card["scores"].items()))


def _show_lines(text: str, most: int) -> None:
    found = text.splitlines()
    kept = found if most < 0 else found[:most]
    for line in kept:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(kept) < len(found):
        console.print(f"... {len(found) - len(kept)} more lines: --lines -1 shows all.")
