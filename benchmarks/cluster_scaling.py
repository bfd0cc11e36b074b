"""Fit a cost model of boosting on several workers to measurements, and write what it says.

    python -m benchmarks.cluster_scaling --write docs/benchmarks/scaling.md

Workers are processes of one thread that reach each other by sockets, without Dask. Measured are
collectives by size and number of workers, trees by rows, features, components and outputs (in
processor time), and strong and weak scaling. With root and the programs ip and tc, two workers in
network namespaces do the same over a cable whose rate `tc` limits.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_RESULT = Path(__file__).resolve().parent / "results" / "cluster_scaling.json"
_BINS, _DEPTH, _LEAVES = 255, 6, 64
#: Rates that the cable is limited to, in Mbit/s.
_RATES = (1000, 100)


# What a worker does ------------------------------------------------------------------------------


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Join the others and do a job: "reduce" numbers, or "boost"."""
    from polyleaf.distributed import Listener, LocalCollective, SocketCollective

    if job["world"] == 1:
        collective: Any = LocalCollective()
    else:
        listener = Listener(job["host"])
        print(json.dumps(listener.address), flush=True)
        addresses = [tuple(address) for address in json.loads(sys.stdin.readline())]
        collective = SocketCollective(job["rank"], addresses, b"a benchmark's secret", listener)
    found = reduce_numbers(collective, job) if job["kind"] == "reduce" else boost(collective, job)
    collective.close()
    return found


def reduce_numbers(collective: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Time sums of numbers, by their bytes; the quickest of some."""
    seconds = {}
    for size in job["sizes"]:
        numbers = np.ones(size // 4, np.int32)
        times = []
        for _ in range(job["repeats"]):
            start = time.perf_counter()
            collective.allreduce(numbers)
            times.append(time.perf_counter() - start)
        seconds[str(size)] = min(times)
    return {"seconds": seconds}


def boost(collective: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Boost some trees on rows of this worker; the first does not count."""
    from polyleaf import BoostingRegressor, projections
    from polyleaf.distributed import Part, Rows, Settings, train_on_worker

    n, p, d, q = (job[name] for name in ("rows", "features", "outputs", "components"))
    rng = np.random.default_rng(job["rank"])
    X = rng.normal(size=(n, p)).astype(np.float32)
    mixing = np.random.default_rng(99).normal(size=(5, d))
    Y = (np.sin(X[:, :5]) @ mixing + 0.1 * rng.normal(size=(n, d))).astype(np.float32)
    model = BoostingRegressor(
        n_estimators=job["rounds"],
        projection=projections.Gaussian(n_components=q),
        max_depth=_DEPTH,
        max_bins=_BINS,
        sums="fixed",
        random_state=0,
        n_jobs=1,
    )
    marks: list[tuple[float, float]] = []

    def tell(progress: Any, traffic: Any) -> bool:
        marks.append((time.process_time(), time.perf_counter()))
        return False

    # Every worker keeps time; whoever asks nobody sends a few bytes more per tree.
    trained = train_on_worker(collective, Part([Rows(job["rank"], X, Y)]), Settings(model, tell))
    rounds = trained.rounds[1:]
    cpu = float(np.median(np.diff([mark[0] for mark in marks]))) if len(marks) > 1 else None
    return {
        "cpu": cpu,
        "seconds": float(np.median([r.seconds for r in rounds])),
        "waited": float(np.median([r.seconds_waited for r in rounds])),
        "reduced": float(np.mean([r.bytes_reduced for r in rounds])),
        "collectives": float(np.mean([r.n_collectives for r in rounds])),
    }


# Starting workers --------------------------------------------------------------------------------


def run_job(job: dict[str, Any], hosts: Sequence[str], prefixes: Sequence[list[str]]) -> Any:
    """Run one job on workers at some addresses, and give what each found."""
    world = len(hosts)
    command = [sys.executable, "-m", "benchmarks.cluster_scaling", "--job"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    workers = []
    for rank, (host, prefix) in enumerate(zip(hosts, prefixes)):
        told = json.dumps(job | {"rank": rank, "world": world, "host": host})
        workers.append(
            subprocess.Popen(
                [*prefix, *command, told],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
    try:
        if world > 1:
            addresses = [json.loads(_stream(worker.stdout).readline()) for worker in workers]
            for worker in workers:
                _stream(worker.stdin).write(json.dumps(addresses) + "\n")
                _stream(worker.stdin).flush()
        return [
            json.loads(worker.communicate(timeout=300)[0].splitlines()[-1]) for worker in workers
        ]
    finally:
        for worker in workers:
            worker.kill()


def _stream(stream: Any) -> Any:
    assert stream is not None
    return stream


def here(job: dict[str, Any], world: int) -> Any:
    """Run a job on workers of this machine, over its loopback."""
    return run_job(job, ["127.0.0.1"] * world, [[]] * world)


@contextmanager
def cable(rate: int) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Connect two namespaces by a cable with a rate in Mbit/s."""
    spaces, hosts = ["plfs0", "plfs1"], ["10.213.78.1", "10.213.78.2"]

    def run(text: str, *, check: bool = True) -> None:
        subprocess.run(text.split(), check=check, capture_output=True)

    for space in spaces:
        run(f"ip netns del {space}", check=False)
    try:
        for space in spaces:
            run(f"ip netns add {space}")
        run("ip link add plfc0 netns plfs0 type veth peer name plfc1 netns plfs1")
        for number, (space, host) in enumerate(zip(spaces, hosts)):
            run(f"ip -n {space} addr add {host}/24 dev plfc{number}")
            run(f"ip -n {space} link set plfc{number} up")
            run(f"ip -n {space} link set lo up")
            shape = f"root tbf rate {rate}mbit burst 256kbit latency 50ms"
            run(f"ip netns exec {space} tc qdisc add dev plfc{number} {shape}")
        yield hosts, [["ip", "netns", "exec", space] for space in spaces]
    finally:
        for space in spaces:
            run(f"ip netns del {space}", check=False)


def can_shape() -> bool:
    """Tell whether this machine lets us limit a cable."""
    if (
        not hasattr(os, "geteuid")
        or os.geteuid()
        or not (shutil.which("tc") and shutil.which("ip"))
    ):
        return False
    try:
        with cable(1000):
            return True
    except subprocess.CalledProcessError:
        return False


# Measuring ---------------------------------------------------------------------------------------


def tree_job(**changed: Any) -> dict[str, Any]:
    """Describe a boosting job."""
    given: dict[str, Any] = {"kind": "boost", "rows": 40_000, "features": 20, "outputs": 10}
    return given | {"components": 5, "rounds": 6} | changed


def measure() -> dict[str, Any]:
    """Measure all."""
    sizes = [1_000, 60_000, 1_000_000, 10_000_000]
    reduce_job = {"kind": "reduce", "sizes": sizes, "repeats": 15}
    found: dict[str, Any] = {"cores": os.cpu_count(), "reduce": {}, "trees": []}
    found["load"] = os.getloadavg()[0]
    for world in (2, 3, 4):
        found["reduce"][str(world)] = here(reduce_job, world)[0]["seconds"]
    cases = [{}, {"rows": 80_000}, {"features": 60}, {"components": 1}, {"outputs": 200}]
    cases += [{"rows": 80_000, "outputs": 100}, {"features": 40, "components": 8}]
    cases += [{"rows": 300_000, "features": 60}]  # tells histograms from scans
    for case in cases:
        job = tree_job(**case)
        found["trees"].append(job | here(job, 1)[0])
    alone, whole = tree_job(rows=50_000, features=50), tree_job(rows=100_000, features=50)
    found["scaling"] = {
        "one worker, all rows": here(whole, 1)[0],
        "one worker, half of the rows": here(alone, 1)[0],
        "two workers, all rows": here(alone, 2)[0],
    }
    found["shaped"] = {}
    if can_shape():
        for rate in _RATES:
            with cable(rate) as (hosts, prefixes):
                reduced = run_job(reduce_job | {"repeats": 3}, hosts, prefixes)[0]["seconds"]
                grown = run_job(alone, hosts, prefixes)[0]
            found["shaped"][str(rate)] = {"reduce": reduced, "tree": grown}
    return found


# The model ---------------------------------------------------------------------------------------


def fit_positive(rows: Any, seconds: Any) -> np.ndarray[Any, Any]:
    """Fit costs, none negative, so that relative errors are small."""
    from scipy.optimize import nnls

    rows, seconds = np.asarray(rows, np.float64), np.asarray(seconds, np.float64)
    return np.asarray(nnls(rows / seconds[:, None], np.ones(len(seconds)))[0])


def reduce_terms(world: int, n_bytes: float) -> list[float]:
    """Give messages sent, bytes sent and bytes added up by one worker in a sum of all."""
    if world == 1:
        return [0.0, 0.0, 0.0]
    if world == 2 or n_bytes <= 1 << 16:
        return [world - 1.0, (world - 1) * n_bytes, world * n_bytes]
    return [2 * (world - 1.0), 2 * n_bytes * (world - 1) / world, n_bytes]


def tree_terms(job: dict[str, Any]) -> list[float]:
    """Give what a tree takes on one worker: histograms, scans of bins, updates of outputs."""
    n, p, d, q = (job[name] for name in ("rows", "features", "outputs", "components"))
    # Of two children the smaller one is built: half of the rows per level, all at the root.
    passes = 1 + (_DEPTH - 1) / 2
    return [n * passes * p * (q + 1), _LEAVES * p * _BINS * (q + 1), n * d, n]


def payload(p: float, q: float, d: float) -> tuple[float, float]:
    """Give bytes of a tree's histograms and of its leaf sums."""
    built = 1 + (_LEAVES - 2) / 2  # the root, and the smaller child of each split but the last
    return built * p * _BINS * (q + 1) * 4, _LEAVES * d * 16


def fitted(found: dict[str, Any]) -> dict[str, Any]:
    """Fit the costs to the measurements."""
    rows, seconds = [], []
    for world, times in found["reduce"].items():
        # More workers than processors take turns: only the bytes of all of them count then.
        crowd = max(1.0, int(world) / found["cores"])
        for size, time_taken in times.items():
            rows.append([crowd * term for term in reduce_terms(int(world), float(size))])
            seconds.append(time_taken)
    network = fit_positive(rows, seconds)
    trees = [tree_terms(job) for job in found["trees"]]
    measured = [job["cpu"] for job in found["trees"]]
    costs = fit_positive(trees, measured)
    errors = np.asarray(trees) @ costs / np.asarray(measured)
    fits = np.asarray(rows) @ network / np.asarray(seconds)
    return {
        "network": network.tolist(),
        "tree": costs.tolist(),
        "tree_range": [float(errors.min()), float(errors.max())],
        "network_range": [float(fits.min()), float(fits.max())],
    }


def main() -> None:
    """Measure, or write a page of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--from-results", action="store_true", help="do not measure again")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job is not None:
        print(json.dumps(work(json.loads(given.job))), flush=True)
        return
    if not given.from_results:
        found = measure()
        _RESULT.parent.mkdir(exist_ok=True)
        _RESULT.write_text(json.dumps(found, indent=1) + "\n")
    found = json.loads(_RESULT.read_text())
    from benchmarks.cluster_scaling_page import page

    text = page(found, fitted(found))
    if given.write is not None:
        given.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
