"""Write docs/benchmarks/auto.md from the results of `benchmarks.defaults`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
_PICTURED = ("r2", "lrap")
#: Measures of the Musts, whose ranks are also given over all sets.
_HEADLINES = ("r2", "arrmse", "lrap")
#: Of a picture that is no part of a page: its language, and lines that show.
_ALONE = '<svg xmlns="http://www.w3.org/2000/svg" stroke="#333" stroke-width="0.6" font-size="11" '
#: Ran on some sets only, as hours would not be enough: shown, but without a rank.
_SOMETIMES = ("mlrl-boomer",)
_OPENING = """# Defaults against defaults

AutoRegressor and AutoClassifier with their default budget, each family of polyleaf and other
libraries with their defaults (boosting also with 100 and 500 rounds), on public data that nothing
was tuned on (the judging half of `benchmarks/division.py`). Made by
`python -m benchmarks.defaults run{limit}` and `python -m benchmarks.defaults page{flags}`.

**What ran:** {ran}

Labels are chosen from the probabilities by the best decision for each measure, without tuning.
Times are processor time of one thread; the results, with the time by the clock, are in
`benchmarks/records/defaults.jsonl`, and a further run goes on with them.
A set with one division has no standard error: there, only ties count as at the best rival.

**Ranks** are given twice: over the sets on which every method finished, and over all sets, where
methods that did not finish share the last place. The critical difference diagrams show the former.
Few sets or divisions are a first look, not a verdict: other rows may change the order.
"""


def write_page(path: Path, left_out: Sequence[str] = (), seconds: int | None = None) -> None:
    """Read the results and write the page.

    `left_out` are sets that the page names instead of counting them, beside those that not all
    methods have been tried on yet; `seconds` is the limit of a fit in that run.
    """
    found = [json.loads(line) for line in path.read_text().splitlines() if line]
    lines = [line for line in found if line["set"] not in left_out]
    limit = "" if seconds is None else f" --seconds {seconds}"
    flags = limit + (f" --leave-out {' '.join(left_out)}" if left_out else "")
    counts = _counts(lines)
    unfinished = sorted({line["set"] for line in found} - set(counts))
    ran = _what_ran(lines, counts) + _what_did_not(found, unfinished, seconds)
    parts = [_OPENING.format(limit=limit, flags=flags, ran=ran)]
    by_task = {task: [x for x in lines if x["task"] == task] for task in MEASURES}
    for task, measures in MEASURES.items():
        if by_task[task]:
            parts += _task_part(task, measures, by_task[task])
    if all(by_task.values()):
        cost = _cost([Results.of(own) for own in by_task.values()])
        parts.append(f"\n## What Auto costs, over both tasks\n{cost}" if cost else "")
    PAGE.write_text("\n".join(parts) + "\n")
    print(f"{PAGE.name} written")


def _counts(lines: list[dict[str, Any]]) -> dict[str, int]:
    """Give the number of divisions of every set that counts."""
    counts: dict[str, int] = {}
    for task in MEASURES:
        own = Results.of([line for line in lines if line["task"] == task])
        counts |= {s: len(own.divisions[s]) for s in own.sets}
    return counts


def _what_ran(lines: list[dict[str, Any]], counts: dict[str, int]) -> str:
    sets = sorted(counts)
    listed = ", ".join(f"{s} ({counts[s]})" for s in sets)
    of = f" of the {len(JUDGING)} judging" if set(sets) <= set(JUDGING) else ""
    told = f"{len(sets)}{of} sets, with the number of divisions in brackets: {listed}."
    if set(counts.values()) == {1}:
        told = f"one division of {len(sets)}{of} sets: {', '.join(sets)}."
    failed: dict[str, list[str]] = {}
    for line in lines:
        if not line["scores"] and line["set"] in sets:
            named = failed.setdefault(line["method"], [])
            named += [line["set"]] * (line["set"] not in named)
    if failed:
        told += "\n\nNot finished within the limit of a fit: "
        told += "; ".join(f"{m} on {', '.join(s)}" for m, s in failed.items()) + "."
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
        without = f"no result of {', '.join(failed)}; " if failed else ""
        told += f"\n- {name}: {without}{n_absent} of {len(asked)} methods were not begun."
        delays = [line["waited"] / line["seconds"] for line in own if line["seconds"]]
        if delays:
            told += f" Fits that ended took {np.median(delays):.1f} times their processor time"
            told += " by the clock (median): other work shared the machine."
    if told:
        limit = f" (the limit of a fit is {seconds} seconds of processor time)"
        limit = "" if seconds is None else limit
        told = f"\n\nBegun and left out of all tables{limit}:\n{told}"
    never = [name for name in JUDGING if name not in {line["set"] for line in found}]
    if never and len(never) < len(JUDGING):
        told += f"\n\nJudging sets that were not begun: {', '.join(never)}."
    return told


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a task, of the divisions that all methods have been tried on.

    Attributes
    ----------
    sets, methods : list of str
        Methods that were tried on all of these sets, and others that ran on some.
    divisions : dict of str to list of int
        Of each set.
    lines : dict of (set, method, division) to dict
    """

    sets: list[str]
    methods: list[str]
    divisions: dict[str, list[int]]
    lines: dict[tuple[str, str, int], dict[str, Any]]

    @classmethod
    def of(cls, lines: Sequence[dict[str, Any]]) -> Results:
        """Sort the lines of a results file."""
        found = {(x["set"], x["method"], x["division"]): x for x in lines}
        methods = list(dict.fromkeys(x["method"] for x in lines))
        asked = [m for m in methods if m not in _SOMETIMES]
        divisions: dict[str, list[int]] = {}
        for s in sorted({x["set"] for x in lines}):
            begun = sorted({x["division"] for x in lines if x["set"] == s})
            whole = [k for k in begun if all((s, m, k) in found for m in asked)]
            if whole:
                divisions[s] = whole
        return cls(list(divisions), methods, divisions, found)

    def cell(self, s: str, method: str, key: Callable[[dict[str, Any]], Any]) -> list[Any] | None:
        """Give something of every division; None unless all of them finished."""
        lines = [self.lines.get((s, method, k)) for k in self.divisions[s]]
        found = [key(line) for line in lines if line is not None and line["scores"]]
        return found if len(found) == len(lines) else None

    def scores(self, measure: str) -> tuple[list[str], list[list[Any]]]:
        """Give the methods that have a rank, and their scores in every set."""
        ranked = [m for m in self.methods if all(self._is_tried(s, m) for s in self.sets)]
        table = [
            [self.cell(s, m, lambda x: x["scores"][measure]) for m in ranked] for s in self.sets
        ]
        return ranked, table

    def _is_tried(self, s: str, method: str) -> bool:
        return all((s, method, k) in self.lines for k in self.divisions[s])


def _task_part(task: str, measures: dict[str, bool], lines: list[dict[str, Any]]) -> list[str]:
    results = Results.of(lines)
    if "Auto" not in results.methods or not results.sets:
        return []
    parts = [f"\n## {'Numbers' if task == 'regression' else 'Labels'}\n"]
    ranks: dict[str, dict[str, float]] = {}
    told = []
    for measure, greater in measures.items():
        methods, table = results.scores(measure)
        means = _means(table, greater)
        is_whole = [not any(cell is None for cell in row) for row in table]
        if any(is_whole):
            found = average_ranks(means[is_whole], greater_is_better=greater)
            ranks[measure] = dict(zip(methods, found))
        if not all(is_whole) and measure in _HEADLINES:
            found = average_ranks(means, greater_is_better=greater)
            ranks[f"{measure}, all sets"] = dict(zip(methods, found))
        told.append(_verdict(measure, greater, methods, table))
        if measure in _PICTURED:
            parts.append(_scores(measure, results))
            if sum(is_whole) >= 2:
                result = friedman_test(means[is_whole], greater_is_better=greater)
                drawn = critical_difference_diagram(
                    methods, list(result.ranks), result.critical_difference
                )
                name = f"auto_{measure}.svg"
                (PAGE.parent / name).write_text(drawn.replace("<svg ", _ALONE, 1))
                parts.append(f"\n![Mean ranks by {measure}]({name})\n")
    parts.append(_rank_table(ranks, results, sum(is_whole)))
    parts.append(_cost([results]))
    parts += told
    return parts


def _means(table: list[list[Any]], greater: bool) -> Any:
    """Give means over divisions; what did not finish is worse than everything that did."""
    sign = 1.0 if greater else -1.0
    means = np.array(
        [[np.nan if cell is None else np.mean(cell) for cell in row] for row in table]
    )
    worst = np.nanmin(sign * means, axis=1, keepdims=True) - 1.0
    return np.where(np.isnan(means), sign * worst, means)


def _scores(measure: str, results: Results) -> str:
    sets = results.sets
    means = []
    for method in results.methods:
        cells = [results.cell(s, method, lambda x: x["scores"][measure]) for s in sets]
        means.append([np.nan if cell is None else float(np.mean(cell)) for cell in cells])
    best = np.nanmax(means, axis=0)
    lines = [f"Mean {measure}; the best in bold, nothing where a method did not finish or run.\n"]
    lines += ["| method | " + " | ".join(sets) + " |", "|---" * (len(sets) + 1) + "|"]
    for method, row in zip(results.methods, means):
        if np.isnan(row).all():
            continue
        cells = []
        for value, top in zip(row, best):
            shown = "" if np.isnan(value) else f"{value:.3f}"
            cells.append(f"**{shown}**" if value >= top - 5e-4 else shown)
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rank_table(ranks: dict[str, dict[str, float]], results: Results, n_whole: int) -> str:
    names = list(dict.fromkeys(m for by_method in ranks.values() for m in by_method))
    first = next(iter(ranks))
    names.sort(key=lambda m: ranks[first].get(m, np.inf))
    told = ["\nAverage ranks (1 is best), median processor time of a fit, median size."]
    if n_whole < len(results.sets):
        told.append(f"Every method finished on {n_whole} of {len(results.sets)} sets.")
    told.append("\n| method | " + " | ".join(ranks) + " | seconds | MB |")
    told.append("|---" * (len(ranks) + 3) + "|")
    for m in names:
        own = [line for (_, method, _), line in results.lines.items() if method == m]
        seconds = [line["seconds"] for line in own if line["scores"]]
        sizes = [line["bytes"] for line in own if line["bytes"]]
        cells = [f"{ranks[k][m]:.1f}" if m in ranks[k] else "" for k in ranks]
        size = f"{np.median(sizes) / 1e6:.2f}" if sizes else ""
        time = f"{np.median(seconds):.2f}" if seconds else ""
        told.append(f"| {m} | " + " | ".join(cells) + f" | {time} | {size} |")
    return "\n".join(told)


def _cost(of_tasks: Sequence[Results], rival: str = "CatBoost 500") -> str:
    """Compare the processor time of Auto with that of CatBoost, set by set."""
    ratios, n_unfinished, n_lost = [], 0, 0
    for results, s in [(own, s) for own in of_tasks for s in own.sets]:
        times = {m: results.cell(s, m, lambda x: x["seconds"]) for m in ("Auto", rival)}
        if times["Auto"] and times[rival]:
            ratios.append(float(np.median(times["Auto"]) / np.median(times[rival])))
        elif times["Auto"] and (s, rival, results.divisions[s][0]) in results.lines:
            n_unfinished += 1
        else:
            n_lost += 1
    if not ratios:
        return ""
    told = (
        f"\nAuto takes {np.median(ratios):.1f} times the processor time of CatBoost with 500 "
        f"rounds (median over {len(ratios)} sets, {min(ratios):.1f} to {max(ratios):.1f})."
    )
    if n_unfinished:
        # Less than 1, as Auto kept the limit that the other did not.
        every = np.median(ratios + [0.0] * n_unfinished + [np.inf] * n_lost)
        told += (
            f" On {n_unfinished} more, Auto finished and CatBoost did not; with these, the median "
            f"is {'at most ' if every < 1 else ''}{every:.1f}."
        )
    return told


def _verdict(measure: str, greater: bool, methods: list[str], table: list[list[Any]]) -> str:
    """Say whether Auto has the best rank, and where it is at or above the best rival."""
    sign = 1.0 if greater else -1.0
    means = _means(table, greater)
    is_whole = [not any(cell is None for cell in row) for row in table]
    auto = methods.index("Auto")
    told = f"\n**{measure}**:"
    for which, of in ((is_whole, "on which all finished"), ([True] * len(table), "in all")):
        if any(which) and not (of == "in all" and all(is_whole)):
            ranks = average_ranks(means[which], greater_is_better=greater)
            place = 1 + int((ranks < ranks[auto] - 1e-9).sum())
            level = [
                m for m, r in zip(methods, ranks) if m != "Auto" and abs(r - ranks[auto]) < 1e-9
            ]
            shared = f" (with {' and '.join(level)})" if level else ""
            told += (
                f" Auto has average rank {ranks[auto]:.1f}, place {place}{shared} of "
                f"{len(methods)}, over {sum(which)} sets {of};"
            )
            told += _kinds(ranks, methods)
    rivals = [j for j, m in enumerate(methods) if m not in OURS]
    n_at = 0
    for row in table:
        finished = [j for j in rivals if row[j] is not None]
        if row[auto] is None or not finished:
            n_at += row[auto] is not None
            continue
        best = max(finished, key=lambda j: sign * np.mean(row[j]))
        gaps = sign * (np.array(row[auto]) - np.array(row[best]))
        error = gaps.std(ddof=1) / np.sqrt(gaps.size) if gaps.size > 1 else 0.0
        n_at += bool(gaps.mean() >= -error)
    return (
        f"{told.rstrip(';')} Auto is at or above the best rival, chosen per set in hindsight, "
        f"within one standard error on {n_at} of {len(table)} sets."
    )


def _kinds(ranks: Any, methods: list[str]) -> str:
    """Compare the families with rivals of their kind."""
    rivals = [j for j, m in enumerate(methods) if m not in OURS]
    told = []
    for kind, ours in (("boosting", ("Boosting",)), ("forest", ("RandomForest", "ExtraTrees"))):
        others = [j for j in rivals if KINDS.get(methods[j]) == kind]
        own = [m for m in ours if m in methods]
        if own and others:
            best = min(others, key=lambda j: ranks[j])
            named = ", ".join(f"{m} {ranks[methods.index(m)]:.1f}" for m in own)
            told.append(f"{named} (best rival of the kind: {methods[best]} {ranks[best]:.1f})")
    return " " + ", ".join(told) + "." if told else ""
