"""Write docs/benchmarks/auto.md from the results of `benchmarks.defaults`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.defaults_methods import KINDS, OURS
from benchmarks.division import JUDGING
from polyleaf.experiments import average_ranks, friedman_test
from polyleaf.experiments._rank_diagram import critical_difference_diagram

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "auto.md"
#: Measures, and whether more is better.
MEASURES = {
    "regression": {"r2": True, "arrmse": False},
    "multilabel": {
        "lrap": True,
        "log_loss": False,
        "example_f1": True,
        "subset_zero_one_loss": False,
    },
}
#: Of a picture that is no part of a page: its language, and lines that show.
_ALONE = '<svg xmlns="http://www.w3.org/2000/svg" stroke="#333" stroke-width="0.6" font-size="11" '
_OPENING = """# Defaults against defaults

AutoRegressor and AutoClassifier with their default budget, each family of polyleaf and other
libraries with their defaults (boosting also with 100 and 500 rounds), on public data that nothing
was tuned on (the judging half of `benchmarks/division.py`). Made by
`python -m benchmarks.defaults run{limit}` and `python -m benchmarks.defaults page{flags}`.

**What ran:** {ran}

Methods without a result on one of a task's sets are left out of its tables.
Labels are chosen from the probabilities by the best decision for each measure, without tuning.
Times are processor time of one thread; the results, with the time by the clock, are in
`benchmarks/records/defaults.jsonl`, and a further run goes on with them.
A set with one division has no standard error: there, only ties count as at the best rival.
Few sets or divisions are a first look, not a verdict: other rows may change the order.
"""


def write_page(path: Path, left_out: Sequence[str] = (), seconds: int | None = None) -> None:
    """Read the results and write the page.

    `left_out` are sets that were begun, and that the page names instead of counting them;
    `seconds` is the limit of a fit in that run.
    """
    found = [json.loads(line) for line in path.read_text().splitlines() if line]
    lines = [line for line in found if line["set"] not in left_out]
    limit = "" if seconds is None else f" --seconds {seconds}"
    flags = limit + (f" --leave-out {' '.join(left_out)}" if left_out else "")
    ran = _what_ran(lines) + _what_did_not(found, left_out, seconds)
    parts = [_OPENING.format(limit=limit, flags=flags, ran=ran)]
    for task, measures in MEASURES.items():
        own = [line for line in lines if line["task"] == task and line["scores"]]
        if own:
            parts += _task_part(task, measures, own)
    PAGE.write_text("\n".join(parts) + "\n")
    print(f"{PAGE.name} written")


def _what_ran(lines: list[dict[str, Any]]) -> str:
    sets = sorted({line["set"] for line in lines})
    counts = {s: 1 + max(x["division"] for x in lines if x["set"] == s) for s in sets}
    listed = ", ".join(f"{s} ({counts[s]})" for s in sets)
    failed = sorted({(x["method"], x["set"]) for x in lines if not x["scores"]})
    of = f" of the {len(JUDGING)} judging" if set(sets) <= set(JUDGING) else ""
    told = f"{len(sets)}{of} sets, with the number of divisions in brackets: {listed}."
    if set(counts.values()) == {1}:
        told = f"one division of {len(sets)}{of} sets: {', '.join(sets)}."
    if failed:
        told += " Without a result: " + ", ".join(f"{m} on {s}" for m, s in failed) + "."
    return told


def _what_did_not(
    found: list[dict[str, Any]], left_out: Sequence[str], seconds: int | None
) -> str:
    """Name the sets that were begun and left out, with the reason, and those never begun."""
    told = ""
    for name in left_out:
        own = [line for line in found if line["set"] == name]
        task = {line["task"] for line in own}
        asked = {line["method"] for line in found if line["task"] in task}
        failed = [line["method"] for line in own if not line["scores"]]
        n_absent = len(asked - {line["method"] for line in own})
        told += f"\n- {name}: no result of {', '.join(failed) or 'none of those begun'}"
        told += f"; {n_absent} of {len(asked)} methods were not begun."
        delays = [line["waited"] / line["seconds"] for line in own if line["seconds"]]
        if delays:
            told += f" Fits that ended took {np.median(delays):.1f} times their processor time"
            told += " by the clock (median): other work shared the machine."
    if told:
        limit = f", by the limit of {seconds} seconds (processor time) for a fit"
        limit = "" if seconds is None else limit
        told = f"\n\nBegun and left out of all tables{limit}:\n{told}"
    never = [name for name in JUDGING if name not in {line["set"] for line in found}]
    if never and len(never) < len(JUDGING):
        told += f"\n\nJudging sets that were not begun: {', '.join(never)}."
    return told


def _table(lines: list[dict[str, Any]], measure: str) -> tuple[list[str], list[str], Any]:
    """Give sets, methods and scores of shape (n_sets, n_methods, n_divisions)."""
    sets = sorted({line["set"] for line in lines})
    found: dict[tuple[str, str], dict[int, float]] = {}
    for line in lines:
        by_division = found.setdefault((line["set"], line["method"]), {})
        by_division[line["division"]] = line["scores"][measure]
    methods = [m for m in _methods(lines) if all((s, m) in found for s in sets)]
    table = []
    for s in sets:
        shared = sorted(set.intersection(*(set(found[s, m]) for m in methods)))
        table.append([[found[s, m][k] for k in shared] for m in methods])
    return sets, methods, table


def _methods(lines: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(line["method"] for line in lines))


def _task_part(task: str, measures: dict[str, bool], lines: list[dict[str, Any]]) -> list[str]:
    parts = [f"\n## {'Numbers' if task == 'regression' else 'Labels'}\n"]
    ranks: dict[str, dict[str, float]] = {}
    told = []
    for measure, greater in measures.items():
        sets, methods, table = _table(lines, measure)
        if "Auto" not in methods:
            continue
        means = np.array([[np.mean(cell) for cell in row] for row in table])
        ranks[measure] = dict(zip(methods, average_ranks(means, greater_is_better=greater)))
        told.append(_verdict(measure, greater, sets, methods, table))
        if measure in ("r2", "lrap"):
            parts.append(_scores(measure, sets, methods, means))
            if len(sets) >= 2:
                result = friedman_test(means, greater_is_better=greater)
                drawn = critical_difference_diagram(
                    methods, list(result.ranks), result.critical_difference
                )
                name = f"auto_{measure}.svg"
                (PAGE.parent / name).write_text(drawn.replace("<svg ", _ALONE, 1))
                parts.append(f"\n![Mean ranks by {measure}]({name})\n")
    parts.append(_rank_table(ranks, lines))
    parts.append(_cost(lines))
    parts += told
    return parts


def _scores(measure: str, sets: list[str], methods: list[str], means: Any) -> str:
    lines = [f"Mean {measure}; the best in bold.\n", "| method | " + " | ".join(sets) + " |"]
    lines.append("|---" * (len(sets) + 1) + "|")
    best = means.max(axis=1)
    for j, method in enumerate(methods):
        cells = [
            f"**{v:.3f}**" if v >= top - 5e-4 else f"{v:.3f}" for v, top in zip(means[:, j], best)
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rank_table(ranks: dict[str, dict[str, float]], lines: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(m for by_method in ranks.values() for m in by_method))
    seconds = {m: [x["seconds"] for x in lines if x["method"] == m] for m in names}
    sizes = {m: [x["bytes"] for x in lines if x["method"] == m and x["bytes"]] for m in names}
    first = next(iter(ranks))
    names.sort(key=lambda m: ranks[first].get(m, np.inf))
    told = ["\nAverage ranks (1 is best), median processor time of a fit, median size.\n"]
    told.append("| method | " + " | ".join(ranks) + " | seconds | MB |")
    told.append("|---" * (len(ranks) + 3) + "|")
    for m in names:
        cells = [f"{ranks[k][m]:.1f}" if m in ranks[k] else "" for k in ranks]
        size = f"{np.median(sizes[m]) / 1e6:.2f}" if sizes[m] else ""
        told.append(f"| {m} | " + " | ".join(cells) + f" | {np.median(seconds[m]):.2f} | {size} |")
    return "\n".join(told)


def _cost(lines: list[dict[str, Any]]) -> str:
    """Compare the processor time of Auto with that of CatBoost, set by set."""
    ratios = []
    for name in sorted({line["set"] for line in lines}):
        times = {
            method: [x["seconds"] for x in lines if (x["set"], x["method"]) == (name, method)]
            for method in ("Auto", "CatBoost 500")
        }
        if all(times.values()):
            ratios.append(np.median(times["Auto"]) / np.median(times["CatBoost 500"]))
    if not ratios:
        return ""
    return (
        "\nAuto takes "
        f"{np.median(ratios):.1f} times the processor time of CatBoost with 500 rounds (median "
        f"over {len(ratios)} sets, {min(ratios):.1f} to {max(ratios):.1f})."
    )


def _verdict(measure: str, greater: bool, sets: list[str], methods: list[str], table: Any) -> str:
    """Say whether Auto has the best rank, and where it is at or above the best rival."""
    sign = 1.0 if greater else -1.0
    means = np.array([[np.mean(cell) for cell in row] for row in table])
    ranks = average_ranks(means, greater_is_better=greater)
    order = [methods[i] for i in np.argsort(ranks, kind="stable")]
    rivals = [j for j, m in enumerate(methods) if m not in OURS]
    auto = methods.index("Auto")
    at_or_above = 0
    for row in table:
        best = max(rivals, key=lambda j: sign * np.mean(row[j]))
        gaps = sign * (np.array(row[auto]) - np.array(row[best]))
        error = gaps.std(ddof=1) / np.sqrt(gaps.size) if gaps.size > 1 else 0.0
        at_or_above += bool(gaps.mean() >= -error)
    told = (
        f"\n**{measure}**: Auto has average rank {ranks[auto]:.1f}, place "
        f"{order.index('Auto') + 1} of {len(order)}; at or above the best rival, chosen per set "
        f"in hindsight, within one standard error on {at_or_above} of {len(sets)} sets."
    )
    for ours, kind in (
        ("Boosting", "boosting"),
        ("RandomForest", "forest"),
        ("ExtraTrees", "forest"),
    ):
        others = [j for j in rivals if KINDS.get(methods[j]) == kind]
        if ours in methods and others:
            own, best = ranks[methods.index(ours)], min(others, key=lambda j: ranks[j])
            told += (
                f" {ours}: {own:.1f}, best rival of its kind {methods[best]}: {ranks[best]:.1f}."
            )
    return told
