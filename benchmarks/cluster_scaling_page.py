"""The page on several machines: what was measured, the cost model, and what it says."""
# ruff: noqa: E501 (lines of the page are as long as they are)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.cluster_scaling import payload, reduce_terms, tree_terms

_DASK = Path(__file__).resolve().parent / "results" / "dask.json"
#: The problem that the model is asked about.
_ROWS, _FEATURES, _OUTPUTS, _Q, _WORKERS = 1e9, 500, 10_000, 5, 100
#: Assumed of its workers: threads; seconds per message and per byte (10 Gbit/s).
_THREADS, _LATENCY, _PER_BYTE = 16, 5e-5, 8e-10
#: Bytes that a worker keeps per number of X (as given and as a code), and of Y (as read, and its
#: residual).
_X_BYTES, _Y_BYTES = 4 + 1, 8 + 4


def page(found: dict[str, Any], model: dict[str, Any]) -> str:
    """Write the page."""
    parts = [_head(found), _reduced(found), _trees(found, model), _scaling(found)]
    return "\n".join([*parts, _rivals(), _prediction(model), _breaks()])


def _head(found: dict[str, Any]) -> str:
    return f"""# Several machines

How long boosting takes on several workers, what they send, and where it ends. All figures were written by
`python -m benchmarks.cluster_scaling --write docs/benchmarks/scaling.md`; workers are processes of one
thread on a machine with {found["cores"]} cores, whose load was {found["load"]:.0f} when they started.{_warning(found)} Trees have depth 6
and 64 leaves, features 255 bins; sums are in fixed point. How it works stands in
[More than one machine](../guide/distributed.md).
"""


def _warning(found: dict[str, Any]) -> str:
    if found["load"] <= 1.5:
        return ""
    return """ **The machine was
busy: read times by the clock (sums, strong and weak scaling) as upper bounds, to be measured again.** What trees
take is processor time, which a busy machine changes little."""


def _reduced(found: dict[str, Any]) -> str:
    sizes = list(found["reduce"]["2"])
    columns = [(f"{world} workers", times) for world, times in found["reduce"].items()]
    columns += [(f"2, {rate} Mbit/s", each["reduce"]) for rate, each in found["shaped"].items()]
    lines = [
        "## Sums of all workers",
        "",
        "Milliseconds of one `allreduce`, the quickest of several.",
        "",
    ]
    lines += ["| bytes | " + " | ".join(name for name, _ in columns) + " |"]
    lines += ["|---|" + "---|" * len(columns)]
    for size in sizes:
        cells = " | ".join(f"{1e3 * times[size]:.2f}" for _, times in columns)
        lines.append(f"| {int(size):,} | {cells} |")
    note = (
        "Columns with a rate: two network namespaces and a cable that `tc` limits (token bucket)."
        if found["shaped"]
        else "No limited cable: that needs root, `ip` and `tc`."
    )
    return "\n".join([*lines, "", note, ""])


def _trees(found: dict[str, Any], model: dict[str, Any]) -> str:
    hist, scan, update, row = model["tree"]
    message, sent, added = model["network"]
    low, high = model["tree_range"]
    below, above = model["network_range"]
    lines = ["## The cost model", ""]
    lines += ["A tree takes on a worker with n rows (p features, d outputs, q components)", ""]
    lines += ["| part | number | cost of one, fitted |", "|---|---|---|"]
    lines += [f"| histograms | 3.5 n p (q + 1) | {hist * 1e9:.3f} ns |"]
    lines += [f"| scans of bins | 64 leaves x p x 255 (q + 1) | {scan * 1e9:.3f} ns |"]
    lines += [f"| leaf sums and residuals | n d | {update * 1e9:.3f} ns |"]
    lines += [f"| rows | n | {row * 1e9:.3f} ns |"]
    lines += [f"| messages on a loopback | see below | {message * 1e6:.1f} us |"]
    lines += [f"| bytes sent | see below | {sent * 1e9:.3f} ns |"]
    lines += [f"| bytes added up | those reduced | {added * 1e9:.3f} ns |", ""]
    lines += [
        "W workers send W - 1 messages per sum of up to 64 KB (or if there are two), else 2 (W - 1), and "
        "2 (W - 1) / W of its bytes. A tree has about 14 sums. Model over measured: "
        f"{low:.2f} to {high:.2f} for the trees below (processor time), {below:.2f} to {above:.2f} for sums.",
        "",
        "| rows | features | outputs | components | ms a tree | model |",
        "|---|---|---|---|---|---|",
    ]
    for job in found["trees"]:
        predicted = sum(c * t for c, t in zip(model["tree"], tree_terms(job)))
        lines.append(
            f"| {job['rows']:,} | {job['features']} | {job['outputs']} | {job['components']} | "
            f"{1e3 * job['cpu']:.1f} | {1e3 * predicted:.1f} |"
        )
    return "\n".join([*lines, ""])


def _scaling(found: dict[str, Any]) -> str:
    given = dict(found["scaling"])
    for rate, each in found["shaped"].items():
        given[f"two workers, all rows, {rate} Mbit/s"] = each["tree"]
    one, half = (found["scaling"][f"one worker, {n}"] for n in ("all rows", "half of the rows"))
    two = found["scaling"]["two workers, all rows"]
    lines = [
        "## Strong and weak scaling",
        "",
        "100,000 rows, 50 features, 10 outputs, 5 components.",
        "",
    ]
    lines += ["| | ms a tree | of them in sums | MB reduced |", "|---|---|---|---|"]
    for name, each in given.items():
        lines.append(
            f"| {name} | {1e3 * each['seconds']:.0f} | {1e3 * each['waited']:.0f} | "
            f"{each['reduced'] / 1e6:.2f} |"
        )
    lines += ["", f"Two workers take {two['seconds'] / one['seconds']:.2f} of the time of one (strong scaling; 0.5 "
              f"is ideal), and {two['seconds'] / half['seconds']:.2f} times that of one with half of the rows (weak "
              "scaling; 1 is ideal)."]  # fmt: skip
    return "\n".join([*lines, ""])


def _rivals() -> str:
    lines = ["## Beside others", ""]
    lines += ["`python -m benchmarks.versus --task dask`: two Dask workers of one thread, milliseconds a "
              "tree; XGBoost's vector leaf, and LightGBM with a model per output, a round."]  # fmt: skip
    if not _DASK.exists():
        return "\n".join([*lines, "", "Not measured yet.", ""])
    known = json.loads(_DASK.read_text())
    sizes = known["sizes"]
    lines += ["", f"{sizes['rows']:,} rows, {sizes['features']} features, Gaussian views of "
              f"{sizes['components']} components (of one for one output).", ""]  # fmt: skip
    lines += [
        "| outputs | two workers | one process, two threads | XGBoost | LightGBM | payload / expected |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    for row in known["rows"]:
        cells = [f"{row['n_outputs']}", f"{1e3 * row['two_workers']:.0f}"]
        ratio = row["two_workers"] / row["one_process"]
        cells.append(f"{1e3 * row['one_process']:.0f} ({ratio:.2f})")
        for name in ("xgboost", "lightgbm"):
            seconds = row[name]
            times = "" if seconds is None else f" ({seconds / row['two_workers']:.1f} times)"
            cells.append("-" if seconds is None else f"{1e3 * seconds:.0f}{times}")
        cells.append(f"{row['payload_share']:.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _prediction(model: dict[str, Any]) -> str:
    n = _ROWS / _WORKERS
    job = {"rows": n, "features": _FEATURES, "outputs": _OUTPUTS, "components": _Q}
    parts = [c * t / _THREADS for c, t in zip(model["tree"], tree_terms(job))]
    histograms, leaves = payload(_FEATURES, _Q, _OUTPUTS)
    messages, sent, added = reduce_terms(_WORKERS, histograms + leaves)
    sums = 14 * messages * _LATENCY + sent * _PER_BYTE + added * model["network"][2]
    every = payload(_FEATURES, _OUTPUTS, _OUTPUTS)[0]
    needed = n * (_FEATURES * _X_BYTES + _OUTPUTS * _Y_BYTES)
    workers = _ROWS * (_FEATURES * _X_BYTES + _OUTPUTS * _Y_BYTES) / 200e9
    return f"""## 10^9 rows, 500 features, 10^4 outputs on 100 workers

Assumed: {_THREADS} threads a worker that share the work evenly, {_LATENCY * 1e6:.0f} us a message, 10 Gbit/s. With
views of {_Q} components the model says, per tree:

| part | seconds |
|---|---|
| histograms, scans | {parts[0] + parts[1]:.1f} |
| leaf sums and residuals of 10^4 outputs | {parts[2] + parts[3]:.1f} |
| sums of all workers: {histograms / 1e6:.0f} MB of histograms, {leaves / 1e6:.0f} MB of leaves | {sums:.2f} |
| in all | {sum(parts) + sums:.1f} |

100 trees take {100 * (sum(parts) + sums) / 60:.0f} minutes. The network is {100 * sums / (sum(parts) + sums):.0f}% of
it. With a histogram per output a tree would send {every / 1e9:,.0f} GB instead of {histograms / 1e6:.0f} MB.

**Memory decides.** A worker keeps {_X_BYTES} bytes per number of X and {_Y_BYTES} per number of Y (squared error; other
losses 8 more): {needed / 1e12:.2f} TB on each of 100 workers, nearly all of it Y and residuals. With 200 GB a worker that
is {workers:,.0f} workers, or {_OUTPUTS * 200e9 / needed:,.0f} outputs on 100.
"""


def _breaks() -> str:
    return """## Where it breaks

- **Y and residuals** are dense numbers of every row and output on its worker. Beyond their memory
  the fit ends with an error; on a cluster they have no factored form.
- **Connections**: every two workers have one, 4,950 for 100 workers. More than five workers were
  never tried.
- **Few rows, many features**: what is sent does not depend on the rows, so that small problems are
  slower on two workers than on one.
- **Slow networks**: 10 MB a tree, as 50 features take, are most of a second at 100 Mbit/s.
- **Forests** hold Y of all rows on every worker, and their codes, too, unless `sums="fixed"` lets these stay where
  they are: then each tree sends codes of its rows once, and all workers wait for the slowest in every tree. **Graphs**
  hold the numbers of all rows on every worker.
- **Sparse X** is gathered by every worker while it is binned.
"""
