"""The comparison harness: what it reports, not how fast anything is."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.versus.__main__ import main
from benchmarks.versus.memory import peak, restart_peak
from benchmarks.versus.methods import Method, methods_of
from benchmarks.versus.problems import PROBLEMS
from benchmarks.versus.report import Comparison, as_markdown, columns
from benchmarks.versus.runner import Measurement, measure_apart, run
from benchmarks.versus.scores import METRICS
from benchmarks.versus.summary import summarise
from benchmarks.versus.tasks import TASKS, Case
from benchmarks.versus.worker import Cost, draw, measure

from polyleaf import _core

ROOT = Path(__file__).resolve().parents[2]
TINY = "dense-300-8-3"
TINY_LABELS = "labels-300-8-6"
CASE = Case("tree", TINY, "depth-8", "float64", 1)
OURS = Method("ours", "tree", module="polyleaf", make=lambda case: None, is_ours=True)
RIVAL = Method("rival", "tree", module="sklearn", make=lambda case: None)
SLOW_RIVAL = Method("slow", "tree", module="sklearn", make=lambda case: None)


def cost(fit: float, *, cpu: float | None = None, r2: float = 0.5, peak_bytes: int = 100) -> Cost:
    return Cost(
        fit_seconds=fit,
        fit_cpu_seconds=fit if cpu is None else cpu,
        predict_seconds=1.0,
        fit_peak_bytes=peak_bytes,
        predict_peak_bytes=peak_bytes,
        model_bytes=10,
        scores={"r2": r2},
    )


def measured(method: Method, *costs: Cost) -> list[Measurement]:
    return [Measurement(CASE, method.name, i, cost) for i, cost in enumerate(costs)]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the command prints, and the folder with the files that it wrote."""
    folder = tmp_path_factory.mktemp("versus")
    files = [str(folder / f"tree{suffix}") for suffix in (".json", ".csv", ".md")]
    arguments = ["--problems", TINY, "--settings", "depth-8", "--dtypes", "float64"]
    arguments += ["--repeats", "1", "--out", *files]
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks.versus", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout, folder


def test_command_prints_a_row_per_method_and_writes_every_column(smoke: tuple[str, Path]) -> None:
    printed, folder = smoke
    header, _, *body = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (folder / "tree.md").read_text().splitlines()
        if line.startswith("|")
    ]
    assert header == list(columns("tree"))
    assert [row[header.index("method")] for row in body] == ["polyleaf-tree", "sklearn-tree"]
    ours = dict(zip(header, body[0], strict=True))
    # So little memory is needed that the rival's peak may be 0.
    empty = {name for name, cell in ours.items() if not cell}
    assert empty <= {"peak ratio"}, f"empty cells: {ours}"
    for name in ("polyleaf-tree", "sklearn-tree", "fit s", "peak MB", TINY):
        assert name in printed


def test_json_holds_rows_measurements_and_machine_facts(smoke: tuple[str, Path]) -> None:
    document = json.loads((smoke[1] / "tree.json").read_text())
    assert document["machine"]["packages"].keys() >= {"numpy", "polyleaf", "scikit-learn", "scipy"}
    assert {"cpu", "cores", "instruction_set", "python"} <= document["machine"].keys()
    assert document["problems"][TINY]["n_outputs"] == 3
    assert len(document["measurements"]) == len(document["rows"]) == 2
    for measurement in document["measurements"]:
        assert measurement["cost"]["fit_seconds"] > 0
        assert measurement["cost"]["model_bytes"] > 0
    assert all(row["reference"] == "sklearn-tree" for row in document["rows"])


def test_kernels_are_those_of_the_instruction_set_that_was_asked_for(tmp_path: Path) -> None:
    found = tmp_path / "tree.json"
    arguments = ["--problems", TINY, "--settings", "depth-8", "--dtypes", "float64"]
    arguments += ["--repeats", "1", "--methods", "polyleaf-tree", "--out", str(found)]
    before = _core.instruction_set()
    try:
        assert main([*arguments, "--instruction-set", "baseline"]) == 0
    finally:
        _core.use_instruction_set(before)
    assert json.loads(found.read_text())["machine"]["instruction_set"] == "baseline"


def test_an_instruction_set_that_the_processor_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_core, "use_instruction_set", lambda name: False)
    with pytest.raises(SystemExit):
        main(["--instruction-set", "avx512"])
    assert "must be one that this processor has" in capsys.readouterr().err


def test_csv_has_the_rows_of_the_json(smoke: tuple[str, Path]) -> None:
    rows = json.loads((smoke[1] / "tree.json").read_text())["rows"]
    with (smoke[1] / "tree.csv").open() as file:
        records = list(csv.DictReader(file))
    assert [record["method"] for record in records] == [row["method"] for row in rows]
    assert [float(record["r2"]) for record in records] == [row["scores"]["r2"] for row in rows]


def test_files_name_neither_the_host_nor_a_path(smoke: tuple[str, Path]) -> None:
    for path in smoke[1].iterdir():
        text = path.read_text()
        assert str(ROOT) not in text
        assert str(smoke[1].parent) not in text
        assert not platform.node() or f'"{platform.node()}"' not in text


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_task_names_known_problems_and_metrics(task: Any) -> None:
    assert set(task.problems) <= PROBLEMS.keys()
    assert set(task.metrics) <= METRICS.keys()
    assert any(method.is_ours for method in methods_of(task.name).values())


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task in TASKS for name in methods_of(task)]
)
def test_every_method_fits_and_scores_in_every_setting(task: str, name: str) -> None:
    method = methods_of(task)[name]
    if not method.is_installed:
        pytest.skip(f"needs {method.package}")
    tiny = TINY if "r2" in TASKS[task].metrics else TINY_LABELS
    split = PROBLEMS[tiny].draw(0)
    for setting in TASKS[task].settings:
        case = Case(task, tiny, setting, "float32", 1)
        if not method.applies(case):
            continue
        found = measure(method, case, split)
        assert found.scores.keys() == set(TASKS[task].metrics)
        assert all(np.isfinite(score) for score in found.scores.values())
        assert found.fit_peak_bytes >= 0


@pytest.mark.parametrize("problem", [PROBLEMS[TINY]], ids=lambda problem: problem.name)
def test_draws_have_the_stated_sizes_and_repeat(problem: Any) -> None:
    first, again, second = problem.draw(0), problem.draw(0), problem.draw(1)
    assert first.X_train.shape == (problem.n_train, problem.n_features)
    assert first.Y_test.shape == (problem.n_test, problem.n_outputs)
    assert first.X_train.flags.c_contiguous
    assert first.X_train.base is None, "the data must not keep a larger array alive"
    np.testing.assert_array_equal(first.Y_train, again.Y_train)
    assert not np.array_equal(first.Y_train, second.Y_train)


@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="this system cannot restart the peak"
)
def test_peak_memory_counts_from_the_restart() -> None:
    large = np.ones(8_000_000)
    del large
    baseline = restart_peak()
    block = np.ones(4_000_000)
    risen = peak() - baseline
    assert risen >= 0.9 * block.nbytes
    assert risen < 1.5 * block.nbytes, "an earlier peak was counted"


def test_ratios_are_medians_of_the_ratios_draw_by_draw() -> None:
    runs = measured(OURS, cost(1.0), cost(2.0), cost(4.0))
    runs += measured(RIVAL, cost(10.0), cost(40.0), cost(60.0))
    row = summarise(runs, [OURS, RIVAL])[0]
    assert row.fit_speedup == 15.0
    assert (row.fit_seconds, row.fit_seconds_min, row.n_draws) == (2.0, 1.0, 3)


@pytest.mark.parametrize(("cpu", "is_disturbed"), [(1.99, False), (1.5, True)])
def test_report_warns_of_fits_that_waited_for_a_processor(cpu: float, is_disturbed: bool) -> None:
    runs = measured(OURS, cost(1.0)) + measured(RIVAL, cost(2.0, cpu=cpu))
    rows = summarise(runs, [OURS, RIVAL])
    assert (rows[0].fit_speedup, rows[0].fit_cpu_speedup) == (2.0, cpu)
    machine = {"cpu": "any", "cores": 1, "instruction_set": "baseline"}
    text = as_markdown(Comparison("tree", 1, machine, runs, rows))
    assert ("1 of 2 fits waited" in text) == is_disturbed


def test_reference_is_the_quickest_rival_unless_one_is_named() -> None:
    runs = measured(OURS, cost(1.0)) + measured(RIVAL, cost(10.0))
    runs += measured(SLOW_RIVAL, cost(30.0))
    methods = [OURS, RIVAL, SLOW_RIVAL]
    assert [row.fit_speedup for row in summarise(runs, methods)] == [10.0, 1.0, 10.0 / 30.0]
    assert summarise(runs, methods, reference="slow")[0].fit_speedup == 30.0


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [(0.004, "equal"), (-0.004, "equal"), (0.01, "better"), (-0.01, "worse")],
)
def test_scores_within_tolerance_are_called_equal(difference: float, verdict: str) -> None:
    runs = measured(OURS, cost(1.0, r2=0.5 + difference)) + measured(RIVAL, cost(1.0, r2=0.5))
    row = summarise(runs, [OURS, RIVAL])[0]
    assert row.score_difference == pytest.approx(difference)
    assert row.verdict == verdict


def test_memory_ratio_is_to_the_reference() -> None:
    runs = measured(OURS, cost(1.0, peak_bytes=50)) + measured(RIVAL, cost(1.0, peak_bytes=200))
    assert summarise(runs, [OURS, RIVAL])[0].memory_ratio == 0.25


def test_failed_rival_is_no_reference_and_has_no_figures() -> None:
    runs = measured(OURS, cost(1.0)) + [Measurement(CASE, "rival", 0, None, "cut off after 1 s")]
    ours, rival = summarise(runs, [OURS, RIVAL])
    assert ours.reference is None
    assert ours.fit_speedup is None
    assert rival.failure == "cut off after 1 s"
    assert rival.fit_seconds is None
    assert columns("tree")["fit s"](rival) == "cut off after 1 s"


def test_slow_method_is_cut_off_and_not_tried_again() -> None:
    method = methods_of("tree")["sklearn-tree"]
    started: list[int] = []
    found = run(
        [CASE],
        [method],
        repeats=2,
        timeout=0.01,
        on_start=lambda case, name, number: started.append(number),
    )
    assert [measurement.failure for measurement in found] == ["cut off after 0.01 s"]
    assert started == [0]


def test_error_in_a_method_is_reported_by_its_last_line(tmp_path: Path) -> None:
    data = tmp_path / "data.joblib"
    draw(TINY, 0, "float64", data)
    unknown = replace(RIVAL, name="no-such-method")
    found = measure_apart(unknown, CASE, 0, data, timeout=60.0)
    assert found.cost is None
    assert found.failure == "KeyError: 'no-such-method'"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problems", "dense-300-8-4"], "Did you mean 'dense-300-8-3'?"),
        (["--methods", "sklearn-trees"], "Did you mean 'sklearn-tree'?"),
        (["--settings", "shallow"], "must be one of 'unlimited', 'depth-8'; got 'shallow'"),
        (["--reference", "polyleaf"], "--reference must be one of"),
        (["--out", "tree.txt"], "--out must end in .json, .csv, .md; got 'tree.txt'"),
        (["--repeats", "0"], "must be 1 or more; got 0"),
    ],
)
def test_wrong_arguments_name_the_choices(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_list_shows_methods_problems_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    printed = capsys.readouterr().out
    for name in [*PROBLEMS, *methods_of("tree"), *TASKS["tree"].settings]:
        assert name in printed


def test_threads_of_all_libraries_are_pinned_in_the_worker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: dict[str, str] = {}

    def fake_run(*args: Any, env: dict[str, str], **kwargs: Any) -> Any:
        seen.update(env)
        return subprocess.CompletedProcess(args, 1, stdout="", stderr="stopped")

    monkeypatch.setattr(subprocess, "run", fake_run)
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "7")
    case = replace(CASE, threads=2)
    found = measure_apart(RIVAL, case, 0, tmp_path / "data.joblib", timeout=1.0)
    assert found.failure == "stopped"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        assert seen[name] == "2"
