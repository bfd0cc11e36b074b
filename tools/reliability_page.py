"""Write docs/benchmarks/reliability.md from the records of a soak (`make soak`)."""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/hostile"))

import run_hostile  # noqa: E402
from hostile_outcomes import KINDS  # noqa: E402
from hostile_runner import Record  # noqa: E402

HEAD = """# Reliability

Written by `python tools/reliability_page.py` from the records of

```console
$ {command}
```

{total:,} cases in {minutes:.0f} minutes of a shared machine with {n_cores} cores, seed {seed},
CPython {python}: **{failed} crashes, hangs, unclear errors or silent changes**.

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


def main() -> None:
    """Write the page."""
    runs = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    targets = run_hostile.all_targets()
    records = {}
    for run in runs:
        for name, counts in run["counts"].items():
            if name in targets:
                record = records.setdefault(name, Record())
                record.counts.update(Counter({(kind, outcome): n for kind, outcome, n in counts}))
    lines, total = run_hostile.summary(targets, records)
    page = ROOT / "docs/benchmarks/reliability.md"
    page.parent.mkdir(exist_ok=True)
    head = HEAD.format(
        command="\n$ ".join(run["command"] for run in runs),
        total=total["cases"],
        minutes=sum(run["seconds"] for run in runs) / 60,
        seed=runs[0]["seed"],
        n_cores=runs[0]["n_cores"],
        python=platform.python_version(),
        failed=sum(len(run["failures"]) for run in runs),
    )
    page.write_text("\n".join([head, *lines, TAIL.format(kinds=", ".join(KINDS))]))


if __name__ == "__main__":
    main()
