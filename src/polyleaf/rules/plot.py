"""A picture of the rules with the largest gains."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.optional import require
from polyleaf.rules.reader import one_line
from polyleaf.rules.text import check_count, check_rules

#: Letters in a line of a body, and lines; what does not fit is cut off.
_LINE, _MAX_LINES = 58, 2
#: Letters in the name of an output; what is between its ends is cut out of a longer one.
_NAME = 28
#: Inches of height that each letter of the longest name takes.
_LETTER = 0.06


def plot_rules(model: Any, *, max_rules: int = 15, max_outputs: int = 20, ax: Any = None) -> Any:
    """Draw the scores of the rules with the largest gains as a table of colours.

    A line is a rule with the share of rows it covers and its body, a column an output; blue lowers
    its score, red raises it. Scores of targets are in standard deviations of each, so that targets
    in different units can be compared; in the units of Y with ``normalize_outputs=False``. Long
    names of outputs are cut.

    Parameters
    ----------
    model : RuleClassifier or RuleRegressor
        Fitted.
    max_rules : int, default=15
        Most rules to draw, beside the default rule, which is not drawn.
    max_outputs : int, default=20
        Most outputs to draw: those with the largest scores.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from polyleaf import RuleClassifier
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.inspection import plot_rules
    >>> X, Y = make_multilabel(200, 5, 4, random_state=0)
    >>> ax = plot_rules(RuleClassifier(n_rules=20, random_state=0).fit(X, Y), max_rules=5)
    """
    reader = check_rules(model)
    check_count(max_rules, "max_rules", 1)
    check_count(max_outputs, "max_outputs", 1)
    plt = require("matplotlib.pyplot", "plots")
    rules = reader.rules
    if rules.n_rules == 1:
        raise ValueError(
            "There is nothing to draw: the model has only its default rule, which covers every "
            "row. Learn more rules with n_rules."
        )
    order = np.argsort(-rules.gain[1:], kind="stable")[:max_rules] + 1
    unit = model._fitted.unit
    heads = rules.heads()[order] if unit is None else rules.heads()[order] / unit
    outputs = np.arange(heads.shape[1])
    if heads.shape[1] > max_outputs and order.size:
        outputs = np.sort(np.argsort(-np.abs(heads).max(axis=0), kind="stable")[:max_outputs])
    shown = heads[:, outputs]
    names = _short_names([one_line(reader.value_names[k]) for k in outputs.tolist()], outputs)
    if ax is None:
        height = 0.7 + _LETTER * max(8, *map(len, names)) + 0.4 * max(order.size, 1)
        size = (5.4 + 0.45 * outputs.size, height)
        _, ax = plt.subplots(figsize=size, layout="constrained")
    limit = float(np.abs(shown).max(initial=0.0)) or 1.0
    image = ax.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    support = reader.support()
    labels = []
    for t in order.tolist():
        text = f"{support[t]:.1%}: {reader.body(t)}"
        lines = textwrap.fill(text, _LINE, max_lines=_MAX_LINES, placeholder=" ...")
        labels.append(_plain(lines))
    ax.set_yticks(range(order.size), labels, fontsize="small")
    plain = [_plain(name) for name in names]
    ax.set_xticks(range(outputs.size), plain, rotation=60, ha="right", fontsize="small")
    ax.set_title("Scores of the rules with the largest gains", loc="right", fontsize="medium")
    in_deviations = unit is not None and bool(model.normalize_outputs)
    label = "score in standard deviations" if in_deviations else "score"
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def _short_names(names: list[str], outputs: NDArray[Any]) -> list[str]:
    """Cut long names, with the numbers of outputs in front where they come out alike."""
    short = [_shortened(name) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    return [_shortened(f"{k}: {name}") for k, name in zip(outputs.tolist(), names)]


def _shortened(name: str) -> str:
    """Cut out the middle of a long name: many begin alike."""
    if len(name) <= _NAME:
        return name
    n_last = (_NAME - 3) // 2
    return f"{name[: _NAME - 3 - n_last]}...{name[-n_last:]}"


def _plain(text: str) -> str:
    """Keep matplotlib from reading a formula between dollar signs."""
    return text.replace("$", r"\$")
