"""Run hostile cases: `python tests/hostile/run_hostile.py --help`; `make fuzz` and `make soak`.

Every target of the tables meets every class of cases. A failure is printed and kept in the corpus,
which every later run replays first.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

if __name__ == "__main__":  # before NumPy is imported: forked children start no second team
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "Agg")

import hostile_answers
import hostile_callables
import hostile_commands
import hostile_estimators
import hostile_files
import hostile_inspection
import hostile_parts
import hostile_processes
from hostile_outcomes import BORROWED, FAILED, FINE, IMPOSSIBLE, REFUSED, judge
from hostile_runner import run

CORPUS = Path(__file__).with_name("corpus")
TABLES = (
    hostile_estimators,
    hostile_parts,
    hostile_callables,
    hostile_inspection,
    hostile_answers,
    hostile_files,
    hostile_commands,
    hostile_processes,
)


def all_targets():
    """Return every target of the tables, by name."""
    return {target.name: target for table in TABLES for target in table.targets()}


def keep(failures, targets, folder=CORPUS):
    """Write failures into the corpus: the bytes of damaged files, the seed of all others."""
    folder.mkdir(exist_ok=True)
    if not failures:
        return
    os.chdir(tempfile.mkdtemp())
    for failure in failures[:100]:
        stem = f"{failure.target}-{failure.seed}-{failure.case}"
        stem = "".join(sign if sign.isalnum() or sign in "-._" else "_" for sign in stem)
        why = failure.why[-2000:].replace(f"{CORPUS.parents[2]}/", "")
        known = {"target": failure.target, "kind": failure.kind, "why": why}
        known |= {"seed": failure.seed, "case": failure.case}
        (folder / f"{stem}.json").write_text(json.dumps(known, indent=1) + "\n")
        arguments = targets[failure.target].arguments(failure.seed, failure.case) or {}
        if isinstance(arguments.get("content"), bytes):
            (folder / f"{stem}.bin").write_bytes(arguments["content"])


def replay(path, targets):
    """Run a case of the corpus again; return how it ended, and why."""
    known = json.loads(path.read_text())
    os.chdir(tempfile.mkdtemp())
    target = targets.get(known["target"])
    if target is None:  # renamed or gone since
        return IMPOSSIBLE, ""
    arguments = None
    content = path.with_suffix(".bin")
    if content.exists():
        arguments = dict(target.harmless) | {"content": content.read_bytes()}
        if "kind" in target.fixed:
            arguments["kind"] = known["kind"]
    return judge(target, known["seed"], known["case"], arguments)


def summary(targets, records):
    """Return lines of a table: layers, their callables and how their cases ended."""
    layers = defaultdict(Counter)
    for name, record in records.items():
        layer = layers[targets[name].layer]
        layer["targets"] += 1
        layer["kinds"] = max(layer["kinds"], len(targets[name].kinds))
        layer["cases"] += record.n_cases
        for outcome in (FINE, REFUSED, BORROWED, FAILED):
            layer[outcome] += record.of(outcome)
        layer["least"] = min(layer["least"] or 10**9, record.n_cases)
    columns = ("targets", "kinds", "cases", "least", FINE, REFUSED, BORROWED, FAILED)
    lines = ["| layer | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    total = Counter()
    for layer, counts in layers.items():
        lines.append(f"| {layer} | " + " | ".join(f"{counts[c]:,}" for c in columns) + " |")
        total.update(counts)
    total["kinds"] = total["least"] = 0
    sums = [f"{total[c]:,}" if c not in ("kinds", "least") else "" for c in columns]
    return [*lines, "| **all** | " + " | ".join(sums) + " |"], total


def say(begun, target, record, failures):
    """Print that a target is done, and at once what of it failed."""
    print(f"{time.time() - begun:7.0f} s  {target.name}: {record.n_cases}", flush=True)
    for failure in failures:
        if failure.target == target.name:
            print(f"FAILED {failure.kind}, case {failure.case}: {failure.why}", flush=True)


class Recording:
    """A folder with one file per target that is done, so that a long run can go on later."""

    def __init__(self, folder, **asked):
        self.folder, self.asked = folder, asked
        self.commit = _commit()
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, target):
        name = "".join(sign if sign.isalnum() or sign in "-._" else "_" for sign in target.name)
        return self.folder / f"{name}.json"

    def holds(self, target):
        """Whether a target was run as asked, and nothing of it failed."""
        path = self._path(target)
        known = json.loads(path.read_text()) if path.exists() else {}
        return bool(known) and known["asked"] == self.asked and not known["failures"]

    def write(self, target, record, failures):
        told = {
            "target": target.name,
            "asked": self.asked,
            "counts": [[kind, outcome, n] for (kind, outcome), n in record.counts.items()],
            "failures": [vars(f) for f in failures if f.target == target.name],
            "processor_seconds": round(record.seconds, 3),
            "commit": self.commit,
            "python": platform.python_version(),
            "n_cores": os.cpu_count(),
        }
        path = self._path(target)
        path.with_suffix(".new").write_text(json.dumps(told))
        path.with_suffix(".new").replace(path)


def _commit():
    command = ["git", "-C", str(CORPUS.parent), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="cases of every target")
    parser.add_argument("--seconds-each", type=float, default=20.0, help="and of a target at most")
    parser.add_argument("--seconds", type=float, help="of the whole run")
    parser.add_argument("--seed", type=int, help="default: from the date")
    parser.add_argument("--layers", help="names of layers, divided by commas")
    parser.add_argument("--targets", help="part of the names of targets")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--record",
        type=Path,
        help="folder of records, one per target; a run goes on with those that it lacks",
    )
    options = parser.parse_args()
    seed = options.seed
    if seed is None:
        seed = int(datetime.date.today().strftime("%Y%m%d"))
    targets = all_targets()
    chosen = [
        target
        for target in targets.values()
        if (not options.layers or target.layer in options.layers.split(","))
        and (not options.targets or options.targets in target.name)
    ]
    recording = None
    if options.record:
        asked = {"seed": seed, "cases": options.cases, "seconds_each": options.seconds_each}
        recording = Recording(options.record, **asked)
        chosen = [target for target in chosen if not recording.holds(target)]
    begun = time.time()

    def tell(target, record, failures):
        say(begun, target, record, failures)
        if recording is not None:
            recording.write(target, record, failures)

    end = begun + options.seconds if options.seconds else None
    records, failures = run(
        chosen,
        seed=seed,
        cases=options.cases,
        seconds=options.seconds_each,
        workers=options.workers,
        before_end=end,
        say=tell,
    )
    lines, total = summary(targets, records)
    print("\n".join(lines))
    for failure in failures:
        print(f"\nFAILED {failure.target}, {failure.kind}, seed {seed}, case {failure.case}")
        print(failure.why)
    print(f"\n{total['cases']} cases, {len(failures)} failures, seed {seed}")
    keep(failures, targets)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
