"""Write docs/benchmarks/papers.md from the records: published values, ours and a verdict by rule.

A value is *within* if it differs from the published one by no more than one standard deviation,
the larger of the two, or half a unit of the last published digit; else *better* or *worse*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.records import FOLDER, QUICK, Records, repeats_of
from benchmarks.papers.registry import TABLES
from benchmarks.papers.runs import markdown
from benchmarks.papers.tables import (
    Figure,
    Measure,
    Row,
    Table,
    deviation_of,
    matches,
    mean_of,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "papers.md"
SIGNS = {"within": "=", "better": "+", "worse": "-"}
HEAD = """\
# The papers' tables

Every table and figure of the five papers that our data allow, the published value beside ours.
`make papers` measures the quick row of every table, then what is missing, for an hour;
`python -m benchmarks.papers list` names the entries, `run NAME` measures one in full. This page is
written from the records in `benchmarks/papers/records`, one line per row: the values of every
repeat, the call that made the estimator, processor time, date, versions and command.

A value is *within* (=) if it differs from the published one by no more than one standard
deviation, the larger of the two, or by half a unit of the last digit shown; else it is *better*
(+) or *worse* (-), with the reason below: what we think it is, unless a measurement is named.
Published values stand in brackets, also those on data that are not at hand. Methods have the
settings of {doc}`/guide/papers`. A † marks what an earlier version measured, before its repeats
were recorded one by one: those scripts spelt out what the tables name and left the rest to the
defaults of their day, such as thresholds from 255 bins.
"""


def verdict(ours: float, deviation: float | None, published: Figure, measure: Measure) -> str:
    """Compare a mean with a published value.

    Examples
    --------
    >>> lrap = Measure("LRAP")
    >>> verdict(0.80, 0.01, Figure(0.805, 0.002), lrap)
    'within'
    >>> verdict(0.80, None, Figure(0.82), lrap), verdict(0.84, None, Figure(0.82), lrap)
    ('worse', 'better')
    """
    allowed = max(deviation or 0.0, published.deviation or 0.0, 0.5 * 10.0**-measure.digits)
    difference = ours - published.mean
    if abs(difference) <= allowed * (1 + 1e-9):
        return "within"
    return "better" if (difference > 0) == measure.greater_is_better else "worse"


def _shown(mean: float, deviation: float | None, digits: int) -> str:
    spread = "" if deviation is None else f" ± {deviation:.{digits}f}"
    return f"{mean:,.{digits}f}{spread}"


def _cell(line: Mapping[str, Any] | None, row: Row, measure: Measure) -> str:
    published = row.published.get(measure.name)
    theirs = (
        "" if published is None else _shown(published.mean, published.deviation, measure.digits)
    )
    ours = np.nan if line is None else mean_of(line, measure.name)
    if line is None or np.isnan(ours):
        return f"({theirs})" if theirs else "-"
    deviation = deviation_of(line, measure.name)
    cell = _shown(ours, deviation, measure.digits) + ("" if "values" in line else " †")
    if published is None:
        return cell
    return f"{cell} ({theirs}) {SIGNS[verdict(ours, deviation, published, measure)]}"


def _label(value: Any) -> str:
    return str(value)


def _matrix(table: Table, lines: dict[int, dict[str, Any]], measure: Measure) -> str:
    """Write one measure: the label `across` in columns, the other labels in rows."""
    columns = list(dict.fromkeys(row.labels[table.across] for row in table.rows))
    cells: dict[tuple[str, ...], dict[Any, str]] = {}
    for place, row in enumerate(table.rows):
        if measure.name not in row.published and place not in lines:
            continue
        key = tuple(_label(v) for k, v in row.labels.items() if k != table.across)
        shown = _cell(lines.get(place), row, measure)
        cells.setdefault(key, {})[row.labels[table.across]] = shown
    for row in table.elsewhere:
        if measure.name in row.published:
            key = tuple(_label(v) for k, v in row.labels.items() if k != table.across)
            cells.setdefault(key, {})[row.labels[table.across]] = _cell(None, row, measure)
    names = [name for name in table.rows[0].labels if name != table.across]
    body = [[*key, *(found.get(c, "") for c in columns)] for key, found in cells.items()]
    header = [*names, *map(_label, columns)]
    header[0] = f"{measure.name}: {header[0]}" if names else measure.name
    return markdown(header, body)


def _why(table: Table, row: Row, found: str) -> str:
    """Give the reason for a verdict: of the first entry that fits its row (and "verdict")."""
    known = {**row.labels, "verdict": found}
    reasons = (reason for labels, reason in table.why if matches(known, labels))
    return next(reasons, "open: we do not know" if found == "worse" else "another division")


def _verdicts(table: Table, lines: dict[int, dict[str, Any]]) -> str:
    """Count the verdicts, and give the reasons of those that are not within."""
    counts: Counter[str] = Counter()
    reasons: dict[tuple[str, str], list[str]] = {}
    for place, line in lines.items():
        row = table.rows[place]
        for measure in table.measures:
            published = row.published.get(measure.name)
            ours = mean_of(line, measure.name)
            if published is None or np.isnan(ours):
                continue
            found = verdict(ours, deviation_of(line, measure.name), published, measure)
            counts[found] += 1
            if found != "within":
                named = " ".join(_label(value) for value in row.labels.values())
                shown = named if len(table.measures) == 1 else f"{named} ({measure.name})"
                reasons.setdefault((found, _why(table, row, found)), []).append(shown)
    n_published = sum(len(row.published) for row in table.rows)
    if not n_published:
        return ""
    said = ", ".join(f"{counts[name]} {name}" for name in SIGNS)
    text = f"**Verdict:** {said}; {n_published - sum(counts.values())} not measured"
    n_elsewhere = sum(len(row.published) for row in table.elsewhere)
    text += f", {n_elsewhere} on data that are not at hand." if n_elsewhere else "."
    for (found, reason), names in sorted(reasons.items(), reverse=True):
        text += f"\n- *{found}*: {'; '.join(names)}. {_sentence(reason)}"
    return text


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def _claims(table: Table, lines: dict[int, dict[str, Any]]) -> str:
    said = []
    for claim in table.claims:
        holds, seen = claim.check(list(lines.values()))
        word = {True: "holds", False: "does not hold", None: "cannot be told"}[holds]
        said.append([claim.text, word, seen])
    return markdown(["the paper says", "verdict", "ours"], said) if said else ""


def section(table: Table, folder: Path = FOLDER) -> str:
    """Write the section of a table."""
    records = Records(table.name, folder)
    lines = {
        place: line
        for place, row in enumerate(table.rows)
        if (line := records.find(table.name, row.labels)) is not None
    }
    parts = [f"### {table.title}", f"{table.protocol} {table.differs}"]
    if table.earlier and any("values" not in line for line in lines.values()):
        parts[-1] += f" †: {table.earlier}"
    parts.append(_provenance(table, lines))
    parts += [_matrix(table, lines, measure) for measure in table.measures]
    parts.append(_verdicts(table, lines))
    if table.summary is not None and lines:
        parts.append(table.summary(list(lines.values())))
    parts.append(_claims(table, lines))
    if table.draw is not None and len(lines) == len(table.rows):
        parts.append(f"![{table.title}](figures/papers-{table.name}.png)")
    return "\n\n".join(part.strip() for part in parts if part)


def _provenance(table: Table, lines: dict[int, dict[str, Any]]) -> str:
    if not lines:
        return f"`python -m benchmarks.papers run {table.name}`; not measured yet."
    dates = sorted({line["date"] for line in lines.values()})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    repeats = sorted({repeats_of(line) for line in lines.values()})
    count = str(repeats[0]) if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    said = (
        f"`python -m benchmarks.papers run {table.name}`; {when}, {len(lines)} of "
        f"{len(table.rows)} rows, {count} repeat{'' if count == '1' else 's'}"
    )
    return f"{said}{_versions(list(lines.values()))}."


#: Programs whose versions a line has, as they are called in text.
_PROGRAMS = {
    "python": "Python",
    "polyleaf": "polyleaf",
    "numpy": "NumPy",
    "scikit-learn": "scikit-learn",
}


def _versions(lines: list[dict[str, Any]]) -> str:
    """Name the versions that lines were measured with; rows of earlier scripts have none."""
    said = []
    for key, name in _PROGRAMS.items():
        found = sorted({line["versions"][key] for line in lines if "versions" in line})
        if found:
            said.append(f"{name} {' and '.join(found)}")
    return f"; {', '.join(said)}" if said else ""


def _curve_measures(line: Mapping[str, Any]) -> tuple[Measure, ...]:
    """Name the score of a figure's row."""
    known = ("score", "LRAP", "accuracy", "aRRMSE")
    return tuple(Measure(name) for name in known if name in line["values"])


def _ends(line: Mapping[str, Any]) -> dict[str, Any]:
    """Replace curves by their last points."""
    ends = {
        name: [entry[-1] if isinstance(entry, list) else entry for entry in values]
        for name, values in line["values"].items()
    }
    return {**line, "values": ends}


def _quick_why(
    table: Table,
    row: Row,
    measure: Measure,
    line: Mapping[str, Any],
    found: str,
    folder: Path,
) -> str:
    """Give the reason of a quick verdict: few repeats, if that of the full row is another."""
    full = Records(table.name, folder).find(table.name, row.labels)
    if full is not None and repeats_of(full) > repeats_of(line):
        ours, deviation = mean_of(full, measure.name), deviation_of(full, measure.name)
        if not np.isnan(ours):
            whole = verdict(ours, deviation, row.published[measure.name], measure)
            if whole != found:
                return f"too few repeats: the full row is {whole}"
    return _why(table, row, found)


def quick_section(folder: Path = FOLDER) -> str:
    """Write the quick rows, as `make papers` last measured them."""
    records = Records(QUICK, folder)
    rows = []
    counts: Counter[str] = Counter()
    reasons: dict[str, list[str]] = {}
    for table in TABLES.values():
        for row in table.rows:
            line = records.find(table.name, row.labels) if table.is_quick(row) else None
            if line is None:
                continue
            named = ", ".join(_label(value) for value in row.labels.values())
            for measure in table.measures or _curve_measures(line):
                if measure.name not in line["values"]:
                    continue
                if not table.measures:
                    line = _ends(line)
                deviation, ours = deviation_of(line, measure.name), mean_of(line, measure.name)
                published = row.published.get(measure.name)
                found = "" if published is None else verdict(ours, deviation, published, measure)
                counts[found] += bool(found)
                if found in ("better", "worse"):
                    reason = _quick_why(table, row, measure, line, found, folder)
                    shown = f"{table.name} {named} ({measure.name})"
                    reasons.setdefault(f"*{found}*: {_sentence(reason)}", []).append(shown)
                theirs = (
                    "-"
                    if published is None
                    else _shown(published.mean, published.deviation, measure.digits)
                )
                rows.append(
                    [
                        table.name,
                        named,
                        measure.name,
                        theirs,
                        _shown(ours, deviation, measure.digits),
                        found,
                        str(repeats_of(line)),
                        f"{line['cpu_s']:.1f}",
                        line["date"],
                    ]
                )
    if not rows:
        return ""
    header = [
        "entry",
        "row",
        "measure",
        "published",
        "ours",
        "verdict",
        "repeats",
        "CPU s",
        "date",
    ]
    said = ", ".join(f"{counts[name]} {name}" for name in SIGNS)
    parts = ["## Quick rows", f"{said}{_versions(records.lines)}.", markdown(header, rows)]
    parts.append("\n".join(f"- {why} {'; '.join(names)}." for why, names in reasons.items()))
    return "\n\n".join(part for part in parts if part)


def page_text(folder: Path = FOLDER) -> str:
    """Write the page from the records."""
    parts = [HEAD.strip(), quick_section(folder)]
    for paper in dict.fromkeys(table.paper for table in TABLES.values()):
        parts.append(f"## {paper}")
        parts += [section(table, folder) for table in TABLES.values() if table.paper == paper]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_page(path: Path = PAGE, folder: Path = FOLDER) -> None:
    """Write the page, and the pictures of figures whose rows are all recorded."""
    path.write_text(page_text(folder), encoding="utf-8")
    for table in TABLES.values():
        lines = Records(table.name, folder).of(table.name)
        if table.draw is not None and len(lines) == len(table.rows):
            table.draw(lines, path.parent / "figures" / f"papers-{table.name}.png")
