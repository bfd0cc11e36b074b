"""`polyleaf fit --from FOLDER`: the best method of a comparison."""

import json
import sys

import pytest

import polyleaf as pl
from polyleaf.cli import main
from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import compare


@pytest.fixture
def polyleaf(monkeypatch, capsys):
    """Return a function that runs a command and returns what it printed."""

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["polyleaf", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed, told = capsys.readouterr()
        assert (end.value.code or 0) == code, printed + told
        return printed if code == 0 else told

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    data = {name: make_correlated_targets(90, 4, 2, random_state=i) for i, name in enumerate("ab")}
    methods = ["Linear", {"method": "Tree", "name": "deep", "max_depth": [1, 5]}]
    compare(data, methods=methods, metrics=["r2"], cv=2).report(folder)
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, Y = make_correlated_targets(90, 4, 2, random_state=0)
    path = tmp_path_factory.mktemp("data") / "a.csv"
    rows = [",".join(map(str, (*x, *y))) for x, y in zip(X, Y)]
    path.write_text("\n".join(["p,q,r,s,u,v", *rows]))
    return path


def test_the_best_estimator_is_fitted_with_its_settings(polyleaf, folder, table, tmp_path):
    out = tmp_path / "model.polyleaf"
    told = json.loads(
        polyleaf("fit", table, "--targets", "u,v", "--from", folder, "--out", out, "--json")
    )
    assert (told["estimator"], told["method"]) == ("TreeRegressor", "deep")
    assert told["better"] in ([], ["Linear"])
    assert pl.load(out).max_depth == 5


def test_settings_on_the_command_line_come_last(polyleaf, folder, table, tmp_path):
    out = tmp_path / "model.polyleaf"
    polyleaf(
        "fit", table, "--targets", "u,v", "--from", folder, "--set", "max_depth=2", "--out", out
    )
    assert pl.load(out).max_depth == 2


def test_mistakes_are_told(polyleaf, folder, table, tmp_path):
    start = ("fit", table, "--targets", "u,v", "--out", tmp_path / "m")
    told = polyleaf(*start, "--from", tmp_path, code=2)
    assert "must be the folder of a comparison" in told
    told = polyleaf(*start, "--from", folder, "--method", "Tree", code=2)
    assert "exclude each other" in told
    other = tmp_path / "other.csv"
    other.write_text(table.read_text())
    told = polyleaf("fit", other, *start[2:], "--from", folder, code=2)
    assert "compares the data sets 'a', 'b'; got 'other'" in told
    for damage in ("{", "[]", '{"a": {}}', '{"a": {"methods": [{"method": "Ghost"}]}}'):
        (tmp_path / "best.json").write_text(damage)
        assert "is damaged" in polyleaf(*start, "--from", tmp_path, code=2)
