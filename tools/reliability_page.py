"""Write docs/benchmarks/reliability.md from the records of a soak (`make soak`)."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/hostile"))

import run_hostile  # noqa: E402
from hostile_outcomes import KINDS  # noqa: E402
from hostile_runner import Record  # noqa: E402

HEAD = """# Reliability

Written by `python tools/reliability_page.py FOLDER...` from the records of

```console
{commands}
```

{total:,} cases of {n_targets} targets, {minutes:.0f} minutes of processor time on a shared machine
with {n_cores} cores, CPython {python}: **{failed}**.
The runs went in pieces, and a target of which a case failed was run again from its first case once
that was mended; the records are of the commits {commits}.{missing}

A *case* is one call of a public callable with one or two arguments spoilt, or one damaged file,
interrupt, fork or kill. The tables are made from the registries, so that a new estimator, metric,
decoder, projection, loss, graph or golden file takes part by being registered. The columns:

- **targets**: callables (or files, or scenarios); **kinds**: classes of cases that each one meets;
- **least**: cases of the target that met the fewest, where a case is dear;
- **fine**: the call returned and changed none of its arguments; values in another memory layout
  gave the same answer;
- **refused**: polyleaf raised an error with a message of its own;
- **borrowed**: an error of an expected type, with the words of NumPy, SciPy, scikit-learn or the
  core;
- **failed**: everything else.
"""
TAIL = """
## Classes of cases

Arguments: {kinds}. The last six are memory layouts of the same values, which must give the same
answer; models must predict the same to the last bit. Arrays that a training loop hands to a
projection, a loss or a graph generator are spoilt in values and layout only, since their types are
part of that contract.

Files: bytes cut, flipped, replaced, inserted, deleted, blanked or repeated; headers changed;
arrays of models changed in value, type, shape or length, or left out; JSON changed. Changed bytes
of a model file must be found: a model that loads must predict as before.

Processes: SIGINT at a random moment of a fit, forks of processes that have used threads,
`kill -9` and a full disk during `save`, two processes that save to one path or compare into one
file, fits with little memory.
"""


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Read the records of a folder, one per target."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def command_of(known: list[dict[str, Any]]) -> str:
    """Give the command that made the records of a folder."""
    asked = known[0]["asked"]
    assert all(told["asked"] == asked for told in known), "records of different runs"
    return (
        f"$ python tests/hostile/run_hostile.py --seed {asked['seed']} --cases {asked['cases']} "
        f"--seconds-each {asked['seconds_each']:g} --record FOLDER"
    )


def _told_missing(by_layer: Counter[str], n_targets: int) -> str:
    if not by_layer:
        return ""
    listed = ", ".join(f"{layer} ({n})" for layer, n in by_layer.items())
    return (
        f"\n\n**The run is not whole**: it ended before {by_layer.total()} of {n_targets} "
        f"targets, namely {listed}. The same command goes on with them."
    )


def page_of(folders: list[list[dict[str, Any]]]) -> str:
    """Write the page from the records of some folders."""
    targets = run_hostile.all_targets()
    known = [told for folder in folders for told in folder if told["target"] in targets]
    found: dict[str, Counter[Any]] = defaultdict(Counter)
    for told in known:
        for kind, outcome, n in told["counts"]:
            found[told["target"]][kind, outcome] += n
    records = {name: Record(found[name]) for name in targets if name in found}
    lines, total = run_hostile.summary(targets, records)
    n_failed = sum(len(told["failures"]) for told in known)
    missed = [name for name in targets if name not in records]
    head = HEAD.format(
        commands="\n".join(command_of(folder) for folder in folders),
        total=total["cases"],
        n_targets=len(records),
        minutes=sum(told["processor_seconds"] for told in known) / 60,
        n_cores=max(told["n_cores"] for told in known),
        python=", ".join(sorted({told["python"] for told in known})),
        failed=f"{n_failed or 'no'} crashes, hangs, unclear errors or silent changes",
        commits=", ".join(sorted({told["commit"] for told in known})),
        missing=_told_missing(Counter(targets[name].layer for name in missed), len(targets)),
    )
    parts = [head, *lines, TAIL.format(kinds=", ".join(KINDS))]
    if n_failed:
        parts += ["## What failed", "", "| target | kind | case |", "|---|---|---:|"]
        parts += [
            f"| `{failure['target']}` | {failure['kind']} | {failure['case']} |"
            for told in known
            for failure in told["failures"]
        ]
        parts.append("")
    return "\n".join(parts)


def main() -> None:
    """Write the page from the records of some folders."""
    page = ROOT / "docs/benchmarks/reliability.md"
    page.write_text(page_of([read_records(Path(folder)) for folder in sys.argv[1:]]))


if __name__ == "__main__":
    main()
