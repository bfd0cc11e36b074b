"""Names in results.csv are no formulas, and names in report.md break no table."""

import csv

import numpy as np
from sklearn.dummy import DummyRegressor

from polyleaf.experiments import compare


def test_names_stay_names_in_spreadsheets_and_tables(tmp_path):
    rng = np.random.default_rng(0)
    methods = {"=1+1": DummyRegressor(), "a|b\n# c": DummyRegressor(strategy="median")}
    result = compare(rng.random((30, 2)), rng.random((30, 2)), methods=methods, cv=2)
    result.to_csv(tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {"'=1+1", "a|b\n# c"}
    assert all(float(row["score"]) == float(row["score"]) for row in rows)
    table = [line for line in result.to_markdown().splitlines() if line.startswith("| ")]
    assert any(r"a\|b # c" in line for line in table)
    assert {line.replace(r"\|", "").count("|") for line in table} == {7}
