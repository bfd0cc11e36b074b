"""The command line: files in the format of their ending, models that are shown, help texts."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

import polyleaf as library

PLANTS = "rain,soil,yield,height\n" + "".join(
    f"{i % 17},{'clay' if i % 3 else 'sand'},{(i % 17) * 2},{i % 3}.5\n" for i in range(60)
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "plants.csv"
    path.write_text(PLANTS)
    return path


@pytest.fixture
def fitted(polyleaf, table, tmp_path):
    """Return a function that fits a method to the table and returns the model file."""

    def fit(method, *settings, targets="yield,height"):
        path = tmp_path / f"{method}.polyleaf"
        options = [part for setting in settings for part in ("--set", setting)]
        polyleaf("fit", table, "--method", method, "--targets", targets, "--out", path, *options)
        return path

    return fit


READERS = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "parquet": pd.read_parquet,
    "arrow": pd.read_feather,
    "feather": pd.read_feather,
    "jsonl": lambda path: pd.read_json(path, lines=True),
    "ndjson": lambda path: pd.read_json(path, lines=True),
}


@pytest.mark.parametrize("ending", READERS)
def test_predictions_are_what_the_ending_says(polyleaf, fitted, table, tmp_path, ending):
    model, out = fitted("Tree"), tmp_path / f"out.{ending}"
    polyleaf("predict", model, table, "--out", out)
    found = READERS[ending](out)
    assert list(found.columns) == ["yield", "height"]
    rows = library.load(model).predict(pd.read_csv(table)[["rain", "soil"]])
    np.testing.assert_allclose(found.to_numpy(), rows, rtol=1e-9)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "jsonl"])
def test_classes_are_written_as_texts(polyleaf, fitted, table, tmp_path, ending):
    model, out = fitted("Tree", targets="soil"), tmp_path / f"out.{ending}"
    polyleaf("predict", model, table, "--out", out)
    assert set(READERS[ending](out)["soil"]) == {"clay", "sand"}


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.csv.zip"])
def test_other_endings_are_refused_before_anything_is_read(polyleaf, tmp_path, name):
    told = polyleaf("predict", "no.polyleaf", "no.csv", "--out", tmp_path / name, code=2)
    assert "--out must end in .csv, .tsv, .parquet" in told
    assert repr(name) in told
    assert not (tmp_path / name).exists()


def test_inspect_shows_the_tree(polyleaf, fitted):
    told = polyleaf("inspect", fitted("Tree", "max_depth=2"))
    assert "rain <= " in told
    assert "TreeRegressor: 2 outputs" in told


def test_inspect_shows_the_rules(polyleaf, fitted):
    told = polyleaf("inspect", fitted("Rule", "n_rules=60"), "--lines", "5")
    assert "0: always -> " in told
    assert "more lines: --lines -1 shows all" in told
    assert "59: " in polyleaf("inspect", fitted("Rule", "n_rules=60"), "--lines", "-1")


def test_inspect_shows_the_card(polyleaf, fitted, tmp_path):
    path = fitted("Boosting", "n_estimators=2")
    library.save(library.load(path), path, scores={"r2": 0.125})
    told = polyleaf("inspect", path)
    assert re.search(r"Fitted \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC on 60 rows", told)
    assert f"polyleaf {library.__version__}" in told
    assert "0.125" in told
    card = json.loads(polyleaf("inspect", path, "--json"))["card"]
    assert (card["rows"], card["scores"]) == (60, {"r2": 0.125})


def test_pipelines_are_inspected_and_used(polyleaf, table, tmp_path):
    pytest.importorskip("skops")
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    data = pd.read_csv(table)
    model = make_pipeline(SimpleImputer(), library.TreeRegressor(max_depth=2))
    path, out = tmp_path / "pipe.polyleaf", tmp_path / "out.csv"
    library.save(model.fit(data[["rain"]], data[["yield", "height"]]), path)
    assert "Pipeline with TreeRegressor: 1 features" in polyleaf("inspect", path)
    polyleaf("predict", path, table, "--out", out)
    with out.open() as file:
        assert next(csv.reader(file)) == ["yield", "height"]


def test_a_wrong_target_shows_the_nearest_columns(polyleaf, table, tmp_path):
    out = tmp_path / "model.polyleaf"
    told = polyleaf("fit", table, "--targets", "hieght", "--out", out, code=2)
    assert "the nearest is 'height' for 'hieght'" in told


def test_help_shows_square_brackets(polyleaf):
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", polyleaf("compare", "--help")).split())
    assert "[name] with method" in told


@pytest.mark.parametrize("command", ["compare", "fit", "predict", "evaluate", "inspect"])
def test_no_help_text_loses_a_word_to_markup(command):
    import typer.main

    from polyleaf.cli._app import app

    found = typer.main.get_command(app).commands[command]
    for text in (found.help, *(getattr(option, "help", None) for option in found.params)):
        assert not re.search(r"(?<!\\)\[[a-z]", text or ""), text
