"""Targets for the command line and for the results file of a comparison."""

import contextlib
import io
import json
import os
import sys
from functools import cache
from pathlib import Path
from unittest import mock

from hostile_estimators import NUMBERS, X
from hostile_files import CSV, GOLDEN, OF_BYTES, damage_bytes
from hostile_outcomes import SilentChangeError, Target, same
from hostile_values import TEXTS, pick

from polyleaf.cli import main
from polyleaf.experiments import ResultsFileError, compare

MODEL = str(GOLDEN / "tree-numbers.polyleaf")
#: Rows for this model, outputs last.
ROWS = b"a,b,c,yield,height,rain\n0.1,0.5,0.3,1,2,3\n0.7,,0.2,2,1,-1\n.3,1e-3,0.9,0,0.5,2\n"
OUTPUTS = "yield,height,rain"
FIT = ["fit", "toy.csv", "--targets", "t", "--method", "Tree"]
COMPARE = ["compare", "toy.csv", "--targets", "t", "--methods", "Mean"]
COMMANDS = {
    "fit": [*FIT, "--out", "m.polyleaf"],
    "fit --set": [*FIT, "--set", "max_depth=2", "--out", "m"],
    "predict": ["predict", MODEL, "toy.csv", "--targets", OUTPUTS, "--out", "p.csv"],
    "evaluate": ["evaluate", MODEL, "toy.csv", "--targets", OUTPUTS],
    "inspect": ["inspect", MODEL],
    "explain": ["explain", MODEL, "toy.csv", "--row", "1", "--outputs", "yield"],
    "export": ["export", MODEL, "--to", "sql", "--out", "m.sql"],
    "datasets": ["datasets", "--json"],
    "compare": [*COMPARE, "--cv", "2", "--out", "r"],
}
WORDS = [*TEXTS, "--out", "--targets", "--json", "--help", "--seed", "-1", "toy.csv", "/dev/null"]
WORDS += ["a,b", "t,t", "=", "max_depth=", "max_depth=x", "n_estimators=1e9", ".", "1e400", "[[["]
OF_WORDS = ("other word", "word gone", "word more", "words swapped", "damaged data")


def damage_words(value, kind, rng):
    """Spoil a command, or the file that it reads."""
    if kind == "damaged data":
        return damage_bytes(value, "tokens", rng) if isinstance(value, bytes) else value
    if isinstance(value, bytes):
        return value
    words, at = list(value), int(rng.integers(1, len(value))) if len(value) > 1 else 0
    if kind == "other word":
        words[at] = pick(WORDS, rng)
    elif kind == "word gone":
        del words[at]
    elif kind == "word more":
        words.insert(at, pick(WORDS, rng))
    else:
        other = int(rng.integers(len(words)))
        words[at], words[other] = words[other], words[at]
    return [word.replace("\x00", "").encode("utf-8", "ignore").decode() for word in words]


def run_command(words, content):
    """Run a command; its exit code, which is returned, must say that it or the call is fine."""
    Path("toy.csv").write_bytes(content)
    said = io.StringIO()
    code = 0
    with (
        mock.patch.object(sys, "argv", ["polyleaf", *words]),
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            main()
        except SystemExit as error:
            code = error.code
    if code not in (0, None, 2):
        raise RuntimeError(f"{words} ended with {code}: {said.getvalue()[-500:]}")
    if code == 2 and not said.getvalue().strip():
        raise RuntimeError(f"{words} was refused without a word")
    return code or 0


def command_targets():
    for name, words in COMMANDS.items():
        yield Target(
            f"cli {name}",
            "command line",
            lambda words=words: {"words": words, "content": ROWS if MODEL in words else CSV},
            run_command,
            kinds=OF_WORDS,
            hostile=damage_words,
        )


# Results ----------------------------------------------------------------------------------------

#: Damage to whole lines: what can be read of them is read, the rest is run again.
OF_LINES = ("line gone", "line twice", "lines swapped", "cut", "foreign line", "deep line")
OF_LINES += ("second header", "key gone", "key of another type")


def damage_lines(content, kind, rng):
    lines = content.splitlines(keepends=True)
    at = int(rng.integers(1, len(lines)))
    if kind == "line gone":
        del lines[at]
    elif kind == "line twice":
        lines.append(lines[at])
    elif kind == "lines swapped":
        lines[1:] = lines[:0:-1]
    elif kind == "cut":
        return content[: int(rng.integers(len(content)))]
    elif kind == "foreign line":
        lines.insert(at, pick([b"{}\n", b"[1]\n", b"null\n", b"\xff\xfe\n", b"no\n", b"\n"], rng))
    elif kind == "deep line":
        lines.insert(at, b"[" * 100_000 + b"\n")
    elif kind == "second header":
        lines.insert(at, lines[0])
    elif kind in ("key gone", "key of another type"):
        row = json.loads(lines[at])
        key = pick(sorted(row), rng)
        if kind == "key gone":
            del row[key]
        else:
            row[key] = pick([None, [], {}, "x", {"a": []}, [[1]], True, -1, 1.5], rng)
        lines[at] = json.dumps(row).encode() + b"\n"
    else:
        return damage_bytes(content, kind, rng)
    return b"".join(lines)


def resumed():
    return compare(X, NUMBERS, methods=["Mean"], metrics=["r2"], cv=2, path="results.jsonl")


@cache
def whole_results():
    Path("results.jsonl").unlink(missing_ok=True)
    scores = resumed().score_matrix()
    return Path("results.jsonl").read_bytes(), scores


def resume(content, kind):
    whole_results()
    Path("results.jsonl").write_bytes(content)
    found = resumed()
    is_structural = kind in OF_LINES and kind != "key of another type"
    if is_structural and not same(found.score_matrix(), whole_results()[1], 1e-12):
        raise SilentChangeError("damaged results gave another table")
    return


def results_target():
    return Target(
        "results of compare",
        "results files",
        lambda: {"content": whole_results()[0], "kind": ""},
        resume,
        kinds=(*OF_LINES, *(kind for kind in OF_BYTES if kind != "cut")),
        hostile=damage_lines,
        fixed=("kind",),
        expected=(ResultsFileError, OSError),
    )


def targets():
    os.environ["COLUMNS"] = "100"
    yield from command_targets()
    yield results_target()
