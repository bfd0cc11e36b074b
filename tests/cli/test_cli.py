import csv
import gzip
import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from polyleaf.cli import main
from polyleaf.cli._values import parse_settings, parse_time
from polyleaf.forests.regressors import RandomForestRegressor

PLANTS = "rain,soil,yield,height\n" + "".join(
    f"{i % 17},{'clay' if i % 3 else 'sand'},{(i % 17) * 2},{i % 3}.5\n" for i in range(60)
)


def test_the_version_needs_no_optional_package(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["polyleaf", "--version"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert re.fullmatch(r"polyleaf \d+\.\d+.*\n", capsys.readouterr().out)


def test_without_typer_commands_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["polyleaf", "compare"])
    with pytest.raises(SystemExit, match="pip install typer"):
        main()


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "plants.csv"
    path.write_text(PLANTS)
    return path


TREE = ("fit", "tags", "--out", "x", "--method", "Tree")


def test_a_model_is_fitted_evaluated_inspected_and_used(polyleaf, table, tmp_path):
    model, targets = tmp_path / "m.polyleaf", ("--targets", "yield,height")
    told = json.loads(
        polyleaf(
            "fit", table, *targets, "--out", model, "--method", "RandomForest",
            "--set", "n_estimators=5", "--json",
        )
    )  # fmt: skip
    assert told["estimator"] == "RandomForestRegressor"
    scores = json.loads(polyleaf("evaluate", model, table, *targets, "--metric", "r2", "--json"))
    assert scores["r2"] > 0.8
    facts = json.loads(polyleaf("inspect", model, "--json"))
    assert facts["outputs"] == ["yield", "height"]
    assert facts["parameters"]["n_estimators"] == 5
    assert set(facts["importances"]) == {"rain", "soil"}
    folder = tmp_path / "pictures"
    told = polyleaf("inspect", model, "--pictures", folder, "--data", table)
    names = ["importances.png", "shap_0.png", "shap_1.png", "shap_map.png"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert "shap_map.png written" in told.replace("\n", "")
    new = tmp_path / "new.csv"
    new.write_text("rain,soil\n3,clay\n16,sand\n")
    told = json.loads(polyleaf("predict", model, new, "--out", tmp_path / "out.csv", "--json"))
    assert (told["rows"], told["columns"]) == (2, 2)
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["yield", "height"]
    assert float(rows[1]["yield"]) > float(rows[0]["yield"]) + 10
    polyleaf("predict", model, table, "--out", tmp_path / "same.csv")  # with the outputs in it
    assert len((tmp_path / "same.csv").read_text().splitlines()) == 61


def test_columns_are_found_by_name_in_any_order(polyleaf, table, tmp_path):
    model = tmp_path / "m.polyleaf"
    polyleaf("fit", table, "--targets", "yield,height", "--method", "Tree", "--out", model)
    one, other, short = (tmp_path / f"{name}.csv" for name in ("one", "other", "short"))
    one.write_text("rain,soil\n3,clay\n16,sand\n")
    other.write_text("id,soil,rain\n7,clay,3\n8,sand,16\n")
    short.write_text("soil\nclay\n")
    for path in (one, other):
        polyleaf("predict", model, path, "--out", path.with_suffix(".tsv"))
    assert one.with_suffix(".tsv").read_text() == other.with_suffix(".tsv").read_text()
    told = polyleaf("predict", model, short, "--out", tmp_path / "x.csv", code=2)
    assert "it lacks 'rain'" in told
    assert (
        json.loads(polyleaf("evaluate", model, table, "--json"))["r2"] > 0.8
    )  # knows its outputs


def test_metrics_relative_to_the_training_rows_need_them(polyleaf, table, tmp_path):
    model = tmp_path / "m.polyleaf"
    fitted = polyleaf("fit", table, "--targets", "yield,height", "--out", model)
    assert "AutoRegressor" in fitted
    told = polyleaf("evaluate", model, table, "--metric", "arrmse", code=2)
    assert "--train" in told
    scores = json.loads(polyleaf("evaluate", model, table, "--train", table, "--json"))
    assert 0 < scores["arrmse"] < 0.6


def test_classes_are_fitted_judged_and_written(polyleaf, tmp_path):
    path, model = tmp_path / "kinds.csv", tmp_path / "m.polyleaf"
    rows = [f"{i},{'low' if i < 30 else 'high'},{'a' if i % 2 else 'b'}" for i in range(60)]
    path.write_text("x,size,letter\n" + "\n".join(rows) + "\n")
    polyleaf("fit", path, "--targets", "size,letter", "--method", "Tree", "--out", model)
    scores = json.loads(polyleaf("evaluate", model, path, "--json"))
    assert scores["accuracy"] == scores["exact_match"] == 1.0
    polyleaf("predict", model, path, "--out", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().splitlines()[:2] == ["size,letter", "low,b"]
    polyleaf("predict", model, path, "--proba", "--out", tmp_path / "p.csv")
    header = (tmp_path / "p.csv").read_text().splitlines()[0]
    assert header == "size=high,size=low,letter=a,letter=b"
    assert "accuracy" in polyleaf("evaluate", model, path, "--metric", "r2", code=2)
    compared = ("--methods", "Tree,Mean", "--out", tmp_path / "report")
    assert "accuracy" in polyleaf("compare", path, "--targets", "size,letter", *compared)


def test_names_of_sparse_labels_are_kept(polyleaf, tmp_path):
    (tmp_path / "t.arff").write_text(
        "@relation t\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute funny {0,1}\n"
        "@attribute 'with, comma' {0,1}\n@data\n" + "{0 1, 2 1}\n{1 1, 3 1}\n{}\n" * 10
    )
    (tmp_path / "t.xml").write_text(
        '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="funny"/>'
        '<label name="with, comma"/></labels>'
    )
    model = tmp_path / "m.polyleaf"
    polyleaf("fit", tmp_path / "t.arff", "--method", "Tree", "--out", model)
    assert json.loads(polyleaf("inspect", model, "--json"))["outputs"] == ["funny", "with, comma"]
    polyleaf("predict", model, tmp_path / "t.arff", "--out", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[1] == {"funny": "0", "with, comma": "1"}


def test_models_without_importances_are_inspected(polyleaf, tmp_path):
    model = tmp_path / "g.polyleaf"
    polyleaf("fit", "tags", "--method", "Graph", "--out", model)
    assert "does not say which features matter" in polyleaf("inspect", model)


def test_methods_of_a_configuration_file_take_part(polyleaf, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[stump]\nmethod = 'Tree'\nmax_depth = 1\nmin_samples_leaf = [1, 5]\n")
    arguments = ("compare", "tags", "--rows", 120, "--cv", 2, "--methods", "Mean")
    board = json.loads(polyleaf(*arguments, "--config", path, "--out", tmp_path / "r", "--json"))
    assert {row["method"] for row in board["example_f1"]} == {"Mean", "stump"}
    path.write_text("x = 1\n")
    assert "one table per method" in polyleaf(*arguments, "--config", path, code=2)


def test_outputs_of_an_arff_file_are_counted_after_its_name(polyleaf, tmp_path):
    path = tmp_path / "n.arff"
    rows = "\n".join(f"{i},{2 * i},{-i}" for i in range(30))
    path.write_text(
        "@relation n\n@attribute x numeric\n@attribute y numeric\n@attribute z numeric\n"
        f"@data\n{rows}\n"
    )
    told = json.loads(
        polyleaf("compare", f"{path}:2", "--methods", "Mean,Tree", "--cv", 2, "--tuning", 2,
               "--settings", 2, "--limit", "60s", "--out", tmp_path / "r", "--json")
    )  # fmt: skip
    assert [row["method"] for row in told["r2"]] == ["Tree", "Mean"]


def test_version_is_told(polyleaf):
    assert re.fullmatch(r"polyleaf \d\S+\n", polyleaf("--version"))


def test_label_data_make_a_classifier_with_probabilities(polyleaf, tmp_path):
    model = tmp_path / "m.polyleaf"
    polyleaf("fit", "tags", "--method", "tree", "--set", "max_depth=3", "--out", model)
    scores = json.loads(polyleaf("evaluate", model, "tags", "--json"))
    assert 0 < scores["example_f1"] < 1
    assert {"lrap", "hamming_loss", "ndcg_at_5"} <= set(scores)
    polyleaf("predict", model, "tags", "--proba", "--out", tmp_path / "p.csv")
    values = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    assert values.shape == (300, 8)
    assert ((values > 0) & (values < 1)).any()


def test_compare_writes_a_report_and_names_it(polyleaf, table, tmp_path):
    arguments = ("compare", table, "--targets", "yield,height", "--methods", "Mean,Tree")
    printed = polyleaf(*arguments, "--cv", 2, "--out", tmp_path / "r")
    assert re.search(r"Tree .*\n.*Mean", printed)
    assert "report.html" in printed
    for name in ("report.html", "report.md", "results.csv", "results.jsonl"):
        assert (tmp_path / "r" / name).stat().st_size > 0
    board = json.loads(polyleaf(*arguments, "--cv", 2, "--out", tmp_path / "r", "--json"))
    assert [row["method"] for row in board["arrmse"]] == ["Tree", "Mean"]


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    out = tmp_path / "r"
    # All methods: there must be much left to do when the signal comes.
    command = [sys.executable, "-m", "polyleaf.cli", "compare"]
    process = subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    results = out / "results.jsonl"
    deadline = time.monotonic() + 300
    while not (results.exists() and len(results.read_text().splitlines()) > 2):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "The same command goes on" in " ".join(told.split())
    assert "Traceback" not in told
    assert len(results.read_text().splitlines()) > 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "tagss", "--out", "x"), "Did you mean 'tags'?"),
        (("fit", "tags", "--out", "x", "--method", "Forest"), "--method must be one of"),
        (("fit", "tags", "--out", "x", "--method", "Forest"), "Tree for outputs that are labels"),
        (("fit", "tags", "--out", "x", "--set", "max_depth=3"), "needs --method"),
        ((*TREE, "--set", "max_dept=3"), "Did you mean 'max_depth'?"),
        ((*TREE, "--set", "max_depth"), "--set must be name=value"),
        ((*TREE, "--set", "max_depth=0"), "max_depth of"),
        (("evaluate", "none.polyleaf", "tags"), "none.polyleaf"),
        (("compare", "tags", "--methods", "Trees"), "Did you mean 'Tree'"),
        (("compare", "tags", "--budget", "soon"), "90s, 10m or 2h"),
        (("compare", "tags", "--cv", "0"), "cv must be a number of folds from 2"),
        (("compare", "tags", "--rows", "0"), "must be an integer, 1 or more"),
        (("compare", "tags", "--tuning", "much"), "--tuning must be a share"),
        (("compare", "tags", "--limit", "0"), "90s, 10m or 2h"),
        (("compare", "tags", "--jobs", "0"), "n_jobs must be None or an integer other than 0"),
        (("compare", "."), "is a folder"),
        (("compare", "tags", "--config", "none.toml"), "none.toml: No such file"),
        (("bogus",), "No such command"),
        (("fit", "tags"), "--out"),
    ],
)
def test_mistakes_are_told_in_words_with_exit_code_2(
    polyleaf, arguments, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert message in " ".join(polyleaf(*arguments, code=2).split())


def test_datasets_are_listed(polyleaf):
    listed = json.loads(polyleaf("datasets", "--json"))
    assert {"tags", "friedman1-group", "yeast"} <= {row["name"] for row in listed}
    assert "Files:" in polyleaf("datasets")


def test_help_lists_every_command(polyleaf):
    text = polyleaf("--help")
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


def test_classes_are_compared_as_labels_if_they_are_named(
    polyleaf, monkeypatch, capsys, table, tmp_path
):
    table.write_text("rain,kind\n" + "".join(f"{i},{i // 15 + 1}\n" for i in range(60)))
    options = ("--targets", "kind", "--methods", "Mean", "--cv", "2", "--json")
    boards = json.loads(
        polyleaf("compare", table, *options, "--classes", "kind", "--out", tmp_path / "labels")
    )
    assert "example_f1" in boards
    arguments = ["polyleaf", "compare", str(table), *options, "--out", str(tmp_path / "r")]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr().err
    assert told.startswith("warning: plants: outputs of a few whole numbers (kind) are compared")
    assert ".py" not in told


def test_failures_are_told_once_and_nothing_else_is_an_error(polyleaf, tmp_path):
    config = tmp_path / "own.toml"
    config.write_text("[mine]\nmethod = 'Tree'\nmax_depth = -3\n")
    told = polyleaf(
        "compare", "tags", "--rows", 60, "--cv", 2, "--methods", "mean", "--config", config,
        "--out", tmp_path / "some", "--metric", "macro_f1", "--json",
    )  # fmt: skip
    assert {row["method"] for row in json.loads(told)["macro_f1"]} == {"Mean", "mine"}
    config.write_text("[Mean]\nmethod = 'Tree'\nmax_depth = -3\n")
    told = polyleaf(
        "compare", "tags", "--rows", 60, "--cv", 3, "--methods", "mean", "--config", config,
        "--out", tmp_path / "none", "--metric", "macro_f1", code=1,
    )  # fmt: skip
    assert told.count("failed (") == 1
    assert "failed (3 runs, on tags): Mean: Invalid" in told
    assert "no run succeeded" in told
    config.write_text("[mine]\nmethod = 'Tree'\nmax_dept = 3\n")
    told = polyleaf("compare", "tags", "--config", config, "--out", tmp_path / "typo", code=2)
    assert "mine: there is no setting 'max_dept'. Did you mean 'max_depth'?" in told
    assert not (tmp_path / "typo").exists()


def test_compressed_tables_are_read_by_every_command(polyleaf, table, tmp_path):
    packed, model = tmp_path / "plants.csv.gz", tmp_path / "m.polyleaf"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    polyleaf("fit", packed, "--targets", "yield,height", "--method", "Tree", "--out", model)
    scores = [json.loads(polyleaf("evaluate", model, f, "--json")) for f in (table, packed)]
    assert scores[0] == scores[1]
    for file, out in ((table, "a.csv"), (packed, "b.csv")):
        polyleaf("predict", model, file, "--out", tmp_path / out)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_an_output_is_named_once(polyleaf, table, tmp_path):
    told = polyleaf("fit", table, "--targets", "yield,yield", "--out", tmp_path / "m", code=2)
    assert told == "error: targets must name each output once; got 'yield' twice.\n"


def test_no_error_shows_a_traceback_unless_asked_for(polyleaf, monkeypatch, tmp_path):
    def broken(*arguments):
        raise KeyError("a surprise\nof two lines")

    monkeypatch.setattr("polyleaf.cli._app.read_data", broken)
    told = polyleaf("fit", "tags", "--out", tmp_path / "m", code=1)
    assert told.startswith("error: KeyError: ")
    assert "a surprise" in told
    assert len(told.splitlines()) == 1
    monkeypatch.setenv("POLYLEAF_TRACEBACK", "1")
    assert "Traceback" in polyleaf("fit", "tags", "--out", tmp_path / "m", code=1)
