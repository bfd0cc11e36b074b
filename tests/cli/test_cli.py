import csv
import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ramify.cli import main
from ramify.cli._values import parse_settings, parse_time
from ramify.estimators import RandomForestRegressor

PLANTS = "rain,soil,yield,height\n" + "".join(
    f"{i % 17},{'clay' if i % 3 else 'sand'},{(i % 17) * 2},{i % 3}.5\n" for i in range(60)
)


@pytest.fixture
def ramify(monkeypatch, capsys):
    """Return a function that runs a command and returns what it printed."""

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["ramify", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        printed, told = capsys.readouterr()
        assert (end.value.code or 0) == code, printed + told
        return printed if code == 0 else told

    return run


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "plants.csv"
    path.write_text(PLANTS)
    return path


def test_a_model_is_fitted_evaluated_inspected_and_used(ramify, table, tmp_path):
    model, targets = tmp_path / "m.ramify", ("--targets", "yield,height")
    told = json.loads(
        ramify("fit", table, *targets, "--out", model, "--set", "n_estimators=5", "--json")
    )
    assert told["estimator"] == "RandomForestRegressor"
    scores = json.loads(ramify("evaluate", model, table, *targets, "--metric", "r2", "--json"))
    assert scores["r2"] > 0.8
    facts = json.loads(ramify("inspect", model, "--json"))
    assert facts["outputs"] == ["yield", "height"]
    assert facts["parameters"]["n_estimators"] == 5
    assert set(facts["importances"]) == {"rain", "soil"}
    new = tmp_path / "new.csv"
    new.write_text("rain,soil\n3,clay\n16,sand\n")
    ramify("predict", model, new, "--out", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["yield", "height"]
    assert float(rows[1]["yield"]) > float(rows[0]["yield"]) + 10
    ramify("predict", model, table, "--out", tmp_path / "same.csv")  # with the outputs in it
    assert len((tmp_path / "same.csv").read_text().splitlines()) == 61


def test_label_data_make_a_classifier_with_probabilities(ramify, tmp_path):
    model = tmp_path / "m.ramify"
    ramify("fit", "tags", "--method", "tree", "--set", "max_depth=3", "--out", model)
    scores = json.loads(ramify("evaluate", model, "tags", "--json"))
    assert 0 < scores["example_f1"] < 1
    assert {"lrap", "hamming_loss", "ndcg_at_5"} <= set(scores)
    ramify("predict", model, "tags", "--proba", "--out", tmp_path / "p.csv")
    values = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    assert values.shape == (500, 8)
    assert ((values > 0) & (values < 1)).any()


def test_compare_writes_a_report_and_names_it(ramify, table, tmp_path):
    arguments = ("compare", table, "--targets", "yield,height", "--methods", "Mean,Tree")
    printed = ramify(*arguments, "--cv", 2, "--out", tmp_path / "r")
    assert re.search(r"Tree .*\n.*Mean", printed)
    assert "report.html" in printed
    for name in ("report.html", "report.md", "results.csv", "results.jsonl"):
        assert (tmp_path / "r" / name).stat().st_size > 0
    board = json.loads(ramify(*arguments, "--cv", 2, "--out", tmp_path / "r", "--json"))
    assert [row["method"] for row in board["arrmse"]] == ["Tree", "Mean"]


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    out = tmp_path / "r"
    # All methods: there must be much left to do when the signal comes.
    command = [sys.executable, "-m", "ramify.cli", "compare"]
    process = subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    results = out / "results.jsonl"
    deadline = time.monotonic() + 120
    while not (results.exists() and len(results.read_text().splitlines()) > 2):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "The same command goes on" in " ".join(told.split())
    assert "Traceback" not in told
    assert len(results.read_text().splitlines()) > 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "tagss", "--out", "x"), "Did you mean tags?"),
        (("fit", "tags", "--out", "x", "--method", "Forest"), "--method must be one of"),
        (("fit", "tags", "--out", "x", "--set", "max_dept=3"), "Did you mean max_depth?"),
        (("fit", "tags", "--out", "x", "--set", "max_depth"), "--set must be name=value"),
        (("fit", "tags", "--out", "x", "--set", "max_depth=0"), "max_depth of"),
        (("evaluate", "none.ramify", "tags"), "none.ramify"),
        (("compare", "tags", "--methods", "Trees"), "Did you mean 'Tree'"),
        (("compare", "tags", "--budget", "soon"), "90s, 10m or 2h"),
        (("bogus",), "No such command"),
        (("fit", "tags"), "--out"),
    ],
)
def test_mistakes_are_told_in_words_with_exit_code_2(
    ramify, arguments, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert message in " ".join(ramify(*arguments, code=2).split())


def test_datasets_are_listed(ramify):
    listed = json.loads(ramify("datasets", "--json"))
    assert {"tags", "friedman1-group", "yeast"} <= {row["name"] for row in listed}
    assert "Files:" in ramify("datasets")


def test_help_lists_every_command(ramify):
    text = ramify("--help")
    for command in ("compare", "fit", "predict", "evaluate", "inspect", "datasets"):
        assert command in text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), (" 3 M ", 180)]
)
def test_times_are_read(text, seconds):
    assert parse_time(text) == seconds


def test_settings_are_literals_or_strings():
    given = parse_settings(
        ["max_depth=5", "max_features=sqrt", "max_bins=None"], RandomForestRegressor
    )
    assert given == {"max_depth": 5, "max_features": "sqrt", "max_bins": None}
