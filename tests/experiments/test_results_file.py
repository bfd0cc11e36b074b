"""A results file has one writer, and every row in it is checked before it is believed."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import slow_comparison

from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.experiments import Comparison, ResultsFileError, compare
from polyleaf.metrics import METRICS

REGRESSION = make_correlated_targets(60, 4, 2, random_state=0)
LABELS = make_multilabel(60, 4, 3, random_state=0)
SCRIPT = Path(slow_comparison.__file__)


def compared(path, data=REGRESSION, **options):
    metrics = ["r2"] if data is REGRESSION else ["hamming_loss"]
    return compare(data, methods=["Mean", "Tree"], metrics=metrics, cv=2, path=path, **options)


def without_times(result):
    names = ("dataset", "method", "fold", "scores", "settings", "per_output", "curve", "examples")
    return [{name: row.get(name) for name in names} for row in result.rows]


def wait_for(folder, n_waiting, is_running=lambda: True):
    """Wait until so many processes wait in the middle of a run."""
    for _ in range(1200):
        if len(list(folder.glob("waiting-*"))) == n_waiting:
            return
        assert is_running(), "it ended before it began"
        time.sleep(0.1)
    raise AssertionError("the comparison did not begin")


@pytest.fixture
def running(tmp_path):
    """Start a comparison that waits in the middle of a run; end it whatever happens."""
    started = []

    def start(n_jobs, limit):
        command = [sys.executable, str(SCRIPT), str(tmp_path), str(n_jobs), str(limit)]
        started.append(subprocess.Popen(command))
        wait_for(tmp_path, n_jobs, lambda: started[-1].poll() is None)
        return started[-1]

    yield start
    (tmp_path / "go").touch()
    for process in started:
        process.kill()
        process.wait()


def test_a_second_process_is_refused_and_the_first_one_is_not_disturbed(tmp_path, running):
    first = running(1, None)
    before = (tmp_path / "results.jsonl").read_bytes()
    with pytest.raises(ResultsFileError, match=r"results.jsonl is in use by another comparison"):
        slow_comparison.result_of(tmp_path)
    assert (tmp_path / "results.jsonl").read_bytes() == before
    (tmp_path / "go").touch()
    assert first.wait(60) == 0
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 4
    resumed = slow_comparison.result_of(tmp_path)
    assert len(resumed.rows) == 4
    assert (tmp_path / "results.jsonl").read_text().splitlines() == lines


def test_a_second_thread_is_refused(tmp_path):
    caught = []

    def second():
        wait_for(tmp_path, 1)
        try:
            slow_comparison.result_of(tmp_path)
        except ResultsFileError as error:
            caught.append(str(error))
        (tmp_path / "go").touch()

    thread = threading.Thread(target=second)
    thread.start()
    result = slow_comparison.result_of(tmp_path)
    thread.join()
    assert len(caught) == 1
    assert result.failures == []


def test_a_killed_process_leaves_no_lock(tmp_path, running):
    killed = running(1, None)
    killed.kill()
    killed.wait()
    (tmp_path / "go").touch()
    assert len(slow_comparison.result_of(tmp_path).rows) == 4


def children_of(pid):
    """List a process and all below it."""
    table = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            table.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for known in found:
        found += table.get(known, [])
    return found


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize(("n_jobs", "limit"), [(1, 600), (2, None), (2, 600)])
def test_workers_whose_parent_is_killed_end_by_themselves(tmp_path, running, n_jobs, limit):
    parent = running(n_jobs, limit)
    family = children_of(parent.pid)
    assert len(family) > 1
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    for _ in range(300):
        left = [pid for pid in family if is_running(pid)]
        if not left:
            break
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def changed(row, **changes):
    return json.dumps({k: v for k, v in (row | changes).items() if v is not ...})


FAULTS = {
    "of another comparison": (lambda r: changed(r, run="0" * 16), "does not say that it belongs"),
    "of an older version": (lambda r: changed(r, run=...), "does not say that it belongs"),
    "of another data set": (lambda r: changed(r, dataset="other"), "of no data set, method and"),
    "of another fold": (lambda r: changed(r, fold=7), "of no data set, method and fold"),
    "without a key": (lambda r: changed(r, method=...), "of no data set, method and fold"),
    "with a list as key": (lambda r: changed(r, method=[[]]), "of no data set, method and fold"),
    "true for fold 1": (lambda r: changed(r, fold=bool(r["fold"])), "'fold' must be"),
    "of another task": (lambda r: changed(r, task="other"), "'task' must be"),
    "without scores": (lambda r: changed(r, scores=...), "'scores' is missing"),
    "with other scores": (lambda r: changed(r, scores={"f1": 1.0}), "'scores' has a value"),
    "with a text as score": (lambda r: changed(r, scores={"r2": "1"}), "'scores' has a value"),
    "with NaN as score": (lambda r: changed(r, scores={"r2": float("nan")}), "'scores' has"),
    "with a huge score": (lambda r: changed(r, scores={"r2": 10**400}), "'scores' has a value"),
    "with an error and scores": (lambda r: changed(r, error="x"), "'scores' is unknown"),
    "with a deep value": (lambda r: changed(r, curve=[[[[1]]]]), "'curve' has a value"),
    "with too many outputs": (lambda r: changed(r, per_output=[1.0] * 9), "'per_output' has"),
    "with a negative time": (lambda r: changed(r, fit_seconds=-1), "'fit_seconds' has a value"),
    "with a wrong example": (lambda r: changed(r, examples=[{"row": 1}]), "'examples' has"),
    "with wrong importances": (lambda r: changed(r, importances=[[1]]), "'importances' has"),
    "with bootstraps": (lambda r: changed(r, bootstraps=[{}]), "'bootstraps' has a value"),
    "with something more": (lambda r: changed(r, more=1), "'more' is unknown"),
    "deeper than JSON reads": (lambda r: "[" * 100_000, "is not JSON"),
    "with 5,000 digits": (lambda r: changed(r)[:-1] + ', "n": ' + "1" * 5000 + "}", "is not JSON"),
    "half a line": (lambda r: changed(r)[:30], "is not JSON"),
    "bytes of no text": (lambda r: "\udcff\udcfe", "is not JSON"),
    "a list": (lambda r: "[1, 2]", "is not a JSON object"),
    "nothing": (lambda r: "", "is not JSON"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_line_that_is_no_row_of_the_comparison_is_reported_and_left_out(tmp_path, fault):
    damage, message = FAULTS[fault]
    path = tmp_path / "results.jsonl"
    undisturbed = compared(path)
    header, *lines = path.read_text().splitlines()
    victim = len(lines) - 1  # fold 1 of Tree
    lines[victim] = damage(json.loads(lines[victim]))
    path.write_text("\n".join([header, *lines]) + "\n", errors="surrogateescape")
    with pytest.warns(UserWarning, match=f"line {victim + 2} .*{message}"):
        resumed = compared(path)
    assert without_times(resumed) == without_times(undisturbed)
    assert isinstance(resumed, Comparison)
    with pytest.warns(UserWarning, match=message):  # the line is still there, and still no row
        assert without_times(compared(path)) == without_times(undisturbed)


def test_a_second_row_of_a_run_does_not_count(tmp_path):
    path = tmp_path / "results.jsonl"
    undisturbed = compared(path)
    header, first, *rest = path.read_text().splitlines()
    second = changed(json.loads(first), scores={"r2": 0.99})
    path.write_text("\n".join([header, first, second, *rest]) + "\n")
    with pytest.warns(UserWarning, match="line 3 repeats the run of line 2"):
        resumed = compared(path)
    assert without_times(resumed) == without_times(undisturbed)
    assert len(resumed.rows) == 4


def test_a_second_header_is_left_out(tmp_path):
    path = tmp_path / "results.jsonl"
    undisturbed = compared(path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], lines[0], *lines[2:]]) + "\n")
    with pytest.warns(UserWarning, match="line 3 is a second first line"):
        assert without_times(compared(path)) == without_times(undisturbed)


@pytest.mark.parametrize("n_bytes", [1, 10, 100])
def test_a_file_that_was_cut_in_its_first_line_begins_again(tmp_path, n_bytes):
    path = tmp_path / "results.jsonl"
    undisturbed = compared(path)
    path.write_bytes(path.read_bytes()[:n_bytes])
    assert without_times(compared(path)) == without_times(undisturbed)
    assert len(path.read_text().splitlines()) == 1 + 4


@pytest.mark.parametrize("text", ["notes of mine", "{\n", "\n", '{"format": 1, "plan": {}}\n'])
def test_a_file_of_somebody_else_is_refused_and_stays_as_it_is(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(ResultsFileError, match="expected"):
        compared(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "header",
    ['{"format": 2, "plan": 3}', '{"format": 2, "plan": {"versions": []}}', '{"format": 2}'],
)
def test_a_strange_first_line_is_of_another_comparison(tmp_path, header):
    path = tmp_path / "results.jsonl"
    path.write_text(header + "\n")
    with pytest.raises(ResultsFileError, match="another comparison"):
        compared(path)


def test_all_that_runs_write_is_read_again(tmp_path, recwarn):
    for number, data in enumerate((REGRESSION, LABELS)):
        path = tmp_path / f"{number}.jsonl"
        first = compared(path, data, bootstraps=3)
        assert first.failures == []
        lines = path.read_bytes()
        assert compared(path, data, bootstraps=3).rows == first.rows
        assert path.read_bytes() == lines
    assert [str(w.message) for w in recwarn if "are ignored" in str(w.message)] == []


def test_a_full_disk_leaves_whole_lines(tmp_path):
    path = tmp_path / "results.jsonl"
    undisturbed = compared(path)
    whole = path.read_bytes()
    n_header = whole.index(b"\n") + 1
    for n_bytes in (n_header - 5, n_header, n_header + 50, len(whole) - 100):
        path.unlink()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
        try:
            with pytest.raises(OSError, match=r"results.jsonl"):
                compared(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        left = path.read_bytes()
        assert left == b"" or left.endswith(b"\n")
        assert without_times(compared(path)) == without_times(undisturbed)


def test_a_file_that_is_removed_meanwhile_is_written_again(tmp_path):
    path = tmp_path / "results.jsonl"

    def removing(y_true, y_pred, *, sample_weight=None):
        path.unlink(missing_ok=True)
        return 0.5

    metric = replace(METRICS["r2"], name="own", function=removing, from_training={})
    result = compare(REGRESSION, methods=["Mean"], metrics=[metric], cv=2, path=path)
    assert len(result.rows) == 2
    assert len(path.read_text().splitlines()) == 1 + 2


def test_a_file_that_is_replaced_meanwhile_is_not_touched(tmp_path):
    path = tmp_path / "results.jsonl"

    def replacing(y_true, y_pred, *, sample_weight=None):
        path.unlink()
        path.write_text("other\n")
        return 0.5

    metric = replace(METRICS["r2"], name="own", function=replacing, from_training={})
    with pytest.raises(ResultsFileError, match="was replaced by another file"):
        compare(REGRESSION, methods=["Mean"], metrics=[metric], cv=2, path=path)
    assert path.read_text() == "other\n"


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ResultsFileError, match="must be a file"):
        compared(tmp_path / "pipe")
    with pytest.raises(OSError, match="directory"):
        compared(tmp_path)
