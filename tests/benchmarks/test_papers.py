"""The runner of the papers' tables: resumed runs, verdicts by rule, settings, the page."""

import ast
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.clus import numeric_predictions
from benchmarks.papers import __main__ as runner
from benchmarks.papers import forest_numbers, page, records, registry, systems, tables

from benchmarks import rule_wishes
from polyleaf._registry import ESTIMATORS
from polyleaf.datasets import make_linear_labels

FOLDER = Path(page.__file__).parent
TABLES = list(registry.TABLES.values())
LRAP = tables.Measure("LRAP")


def small_table(**changed):
    """Make a table of two rows whose work counts its calls."""
    calls = []

    def work(labels, repeat):
        calls.append((labels["data"], repeat))
        return tables.Outcome({"LRAP": 0.5 + 0.01 * repeat}, "Tree.paper('rp')")

    rows = tuple(
        tables.Row({"data": name, "method": "ours"}, {"LRAP": tables.Figure(0.5, 0.02)})
        for name in ("a", "b")
    )
    given = {
        "name": "small",
        "paper": "Nobody 1900",
        "title": "Table 1",
        "protocol": "None.",
        "differs": "",
        "measures": (LRAP,),
        "rows": rows,
        "work": work,
        "repeats": 2,
        "across": "method",
        "quick": ({"data": "b"},),
        "needs": (),
    }
    return tables.Table(**(given | changed)), calls


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Leave the repository's records and page alone; there is one small table."""
    table, calls = small_table()
    monkeypatch.setattr(registry, "TABLES", {"small": table})
    for module in (runner, page):
        monkeypatch.setattr(module, "TABLES", {"small": table})
    defaults = records.Records.__init__.__defaults__
    monkeypatch.setattr(records.Records.__init__, "__defaults__", (tmp_path, *defaults[1:]))
    monkeypatch.setattr(runner, "write_page", lambda: None)
    return table, calls, tmp_path


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_has_distinct_rows_and_a_quick_one(table):
    labels = [json.dumps(dict(row.labels)) for row in table.rows]
    assert len(set(labels)) == len(labels)
    assert any(table.is_quick(row) for row in table.rows)
    for wanted in table.quick:
        assert any(tables.matches(row.labels, wanted) for row in table.rows), wanted
    for row in table.rows:
        assert table.across in row.labels
        assert set(row.published) <= {measure.name for measure in table.measures}
    assert table.protocol.endswith(".")


def test_all_five_papers_have_entries():
    assert len({table.paper for table in TABLES} - {"The authors' systems"}) == 5


@pytest.mark.parametrize(
    ("ours", "deviation", "published", "greater", "verdict"),
    [
        (0.80, 0.01, (0.81, None), True, "within"),
        (0.80, None, (0.81, 0.01), True, "within"),
        (0.80, 0.005, (0.81, 0.002), True, "worse"),
        (0.80, 0.005, (0.81, 0.002), False, "better"),
        (0.82, 0.005, (0.81, 0.002), True, "better"),
        (0.8104, None, (0.81, None), True, "within"),
    ],
)
def test_verdicts_follow_the_rule(ours, deviation, published, greater, verdict):
    measure = tables.Measure("any", greater)
    assert page.verdict(ours, deviation, tables.Figure(*published), measure) == verdict


def test_a_stopped_run_goes_on_where_it_was(alone):
    _, calls, folder = alone
    runner.main(["run", "small", "--rows", "data=a", "--repeats", "1"])
    assert calls == [("a", 0)]
    runner.main(["run", "small"])
    assert calls == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    runner.main(["run", "small"])
    assert len(calls) == 4
    lines = [json.loads(line) for line in (folder / "small.jsonl").read_text().splitlines()]
    assert [line["row"]["data"] for line in lines] == ["a", "b"]
    assert lines[0]["values"] == {"LRAP": [0.5, 0.51]}
    assert lines[0]["command"] == "python -m benchmarks.papers run small"
    assert {"date", "versions", "settings", "cpu_s"} <= set(lines[0])


def test_again_measures_what_is_recorded(alone):
    _, calls, _ = alone
    runner.main(["run", "small", "--repeats", "1"])
    runner.main(["run", "small", "--repeats", "1", "--again", "--rows", "data=b"])
    assert calls == [("a", 0), ("b", 0), ("b", 0)]


def test_repeats_take_the_place_of_an_earlier_mean_that_has_fewer(alone):
    _, calls, folder = alone
    earlier = {"table": "small", "row": {"data": "a", "method": "ours"}, "repeats": 1}
    (folder / "small.jsonl").write_text(json.dumps(earlier | {"mean": {"LRAP": 0.4}}) + "\n")
    runner.main(["run", "small", "--rows", "data=a", "--repeats", "1"])
    assert calls == []
    runner.main(["run", "small", "--rows", "data=a"])
    assert calls == [("a", 0), ("a", 1)]
    assert len((folder / "small.jsonl").read_text().splitlines()) == 1


def test_all_begins_with_quick_rows_and_ends_with_the_budget(alone, capsys):
    _, calls, folder = alone
    runner.main(["all", "--quick"])
    assert calls == [("b", 0)]
    runner.main(["all", "--budget", "0s"])
    assert calls == [("b", 0)]
    assert "goes on from here" in capsys.readouterr().out
    runner.main(["all"])
    assert calls[1:] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert len((folder / "quick.jsonl").read_text().splitlines()) == 1


def test_the_quick_rows_of_one_table_can_be_measured_alone(alone):
    _, calls, folder = alone
    runner.main(["run", "small", "--quick"])
    assert calls == [("b", 0)]
    assert (folder / "quick.jsonl").exists()
    assert not (folder / "small.jsonl").exists()


def test_quick_rows_are_measured_again_on_another_day(alone, monkeypatch):
    _, calls, _ = alone
    runner.main(["all", "--quick"])
    monkeypatch.setattr(runner, "today", lambda: "2100-01-01")
    runner.main(["all", "--quick"])
    assert calls == [("b", 0), ("b", 0)]


def test_what_is_missing_to_run_is_named(alone, monkeypatch, capsys):
    table, _ = small_table(needs=("java",))
    monkeypatch.setattr(runner, "TABLES", {"small": table})
    monkeypatch.setattr(runner.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match=r"needs java.*17 or newer"):
        runner.main(["run", "small"])
    with pytest.raises(SystemExit):
        runner.main(["run", "unknown"])
    with pytest.raises(SystemExit, match="nothing to measure"):
        runner.main(["all", "--quick"])
    assert "Left out: small. What is missing: java on the path" in capsys.readouterr().out


@pytest.mark.parametrize("is_empty", [True, False])
def test_everything_else_is_measured_where_data_are_missing(alone, monkeypatch, capsys, is_empty):
    table, calls, folder = alone
    other, others = small_table(name="other", needs=("data",))
    monkeypatch.setattr(runner, "TABLES", {"other": other, "small": table})
    monkeypatch.setattr(runner, "data_folder", lambda: folder if is_empty else None)
    runner.main(["all", "--quick"])
    assert calls == [("b", 0)]
    assert others == []
    assert "POLYLEAF_DATA" in capsys.readouterr().out


def test_every_need_has_a_hint():
    for table in TABLES:
        assert set(table.needs) <= set(runner.HINTS), table.name


def test_a_table_that_fails_does_not_cost_the_others(alone, monkeypatch):
    table, calls, folder = alone

    def work(labels, repeat):
        raise FileNotFoundError("no yeast.arff")

    broken, _ = small_table(name="broken", work=work)
    monkeypatch.setattr(runner, "TABLES", {"broken": broken, "small": table})
    with pytest.raises(SystemExit, match=r"(?s)failed.*broken: FileNotFoundError: no yeast\.arff"):
        runner.main(["all"])
    assert len(calls) == 5
    assert (folder / "small.jsonl").exists()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(alone, monkeypatch, capsys):
    table, calls, folder = alone
    plain = table.work

    def work(labels, repeat):
        if labels["data"] == "b":
            raise KeyboardInterrupt
        return plain(labels, repeat)

    stopped, _ = small_table(work=work)
    pages = []
    monkeypatch.setattr(runner, "TABLES", {"small": stopped})
    monkeypatch.setattr(runner, "write_page", lambda: pages.append(1))
    with pytest.raises(SystemExit) as caught:
        runner.main(["run", "small"])
    assert caught.value.code == 130
    assert pages == [1]
    assert "goes on from here" in capsys.readouterr().out
    monkeypatch.setattr(runner, "TABLES", {"small": table})
    runner.main(["run", "small"])
    assert calls == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert len((folder / "small.jsonl").read_text().splitlines()) == 2


def test_published_values_on_other_data_are_named_but_not_counted_as_missing(alone):
    folder = alone[-1]
    other = tables.Row({"data": "far", "method": "ours"}, {"LRAP": tables.Figure(0.25, 0.01)})
    far, _ = small_table(elsewhere=(other,))
    runner.main(["run", "small"])
    shown = page.section(far, folder)
    assert "| far | (0.250 ± 0.010) |" in shown
    assert "0 not measured, 1 on data that are not at hand" in shown


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_values_on_other_data_fit_their_tables(table):
    known = {table_row.labels["data"] for table_row in table.rows if "data" in table_row.labels}
    for row in table.elsewhere:
        assert list(row.labels) == list(table.rows[0].labels)
        assert row.labels["data"] not in known
        assert set(row.published) <= {measure.name for measure in table.measures}
        columns = {table_row.labels[table.across] for table_row in table.rows}
        assert row.labels[table.across] in columns


def test_the_page_names_versions_and_the_reasons_of_quick_rows(alone, monkeypatch):
    table, _, folder = alone
    runner.main(["run", "small"])
    assert f"polyleaf {records.versions()['polyleaf']}" in page.section(table, folder)
    far = tuple(tables.Row(row.labels, {"LRAP": tables.Figure(0.9)}) for row in table.rows)
    worse, _ = small_table(rows=far, why=(({"data": "b"}, "because of b"),))
    monkeypatch.setattr(page, "TABLES", {"small": worse})
    runner.main(["all", "--quick"])
    shown = page.quick_section(folder)
    assert "- *worse*: Because of b. small b, ours (LRAP)." in shown
    # One repeat is 0.5, both together are 0.505 ± 0.007.
    near = tuple(tables.Row(row.labels, {"LRAP": tables.Figure(0.508)}) for row in table.rows)
    few, _ = small_table(rows=near)
    monkeypatch.setattr(page, "TABLES", {"small": few})
    assert "- *worse*: Too few repeats: the full row is within." in page.quick_section(folder)


def _friedman_lines(better, worse, spread=0.01):
    """Give the records of two methods on the chain, five repeats each."""
    rng = np.random.default_rng(0)
    lines = []
    for method, mean in (("gbrt-rpo", better), ("st-gbrt", worse)):
        row = {"problem": "chain", "features": 5, "method": method}
        values = mean + spread * rng.normal(size=5)
        lines.append({"row": row, "values": {"macro-r2": values.tolist()}})
    return lines


def test_published_tests_are_repeated_on_our_repeats():
    claims = {claim.text: claim for claim in registry.TABLES["joly2019-table4"].claims}
    differs = claims["chain: gbrt-rpo > st-gbrt (p = 0.03)"]
    assert differs.check(_friedman_lines(0.7, 0.6))[0] is True
    assert differs.check(_friedman_lines(0.6, 0.7))[0] is False
    assert differs.check(_friedman_lines(0.6, 0.6))[0] is False
    assert differs.check([])[0] is None
    alike = "chain: gbmort and st-gbrt do not differ (p = 0.11)"
    lines = _friedman_lines(0.7, 0.6)
    lines[0]["row"]["method"] = "gbmort"
    assert claims[alike].check(lines)[0] is False


def test_means_without_pairs_are_compared_by_a_test_that_finds_less():
    claims = {claim.text: claim for claim in registry.TABLES["joly2019-table4"].claims}
    claim = claims["chain: gbrt-rpo > st-gbrt (p = 0.03)"]

    def earlier(better, worse):
        rows = ({"problem": "chain", "features": 5, "method": m} for m in ("gbrt-rpo", "st-gbrt"))
        return [
            {"row": r, "repeats": 5, "mean": {"macro-r2": m}, "deviation": {"macro-r2": 0.01}}
            for r, m in zip(rows, (better, worse))
        ]

    assert claim.check(earlier(0.7, 0.6))[0] is True
    assert claim.check(earlier(0.6, 0.7))[0] is False
    holds, shown = claim.check(earlier(0.605, 0.6))
    assert holds is None
    assert "Welch" in shown


def test_saturation_points_stand_beside_the_published_ones():
    rng = np.random.default_rng(0)
    falling = 0.5 + np.array([0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]) + 1e-4 * rng.normal(size=(10, 7))
    line = {
        "row": {"data": "wq", "ensemble": "ET", "share": "all", "aggregation": "total"},
        "values": {"aRRMSE": falling.tolist()},
    }
    shown = forest_numbers.saturation_table([line])
    assert "| ET | total | 50 (50) = | (75) |" in shown
    assert "1 within, 0 better, 0 worse" in shown


def test_draws_that_count_make_the_trees_of_copied_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    Y = X[:, :2] + 0.1 * rng.normal(size=(60, 2))
    forest = systems.CopiedRows("RF", 0)
    forest.N_TREES = 10
    assert forest.make(5, 0).estimator.max_features == 3
    assert forest.make(5, 0).estimator.pruning is None
    predicted = forest.fit(X, Y).predict(X)
    assert predicted.shape == Y.shape
    assert np.corrcoef(predicted[:, 0], Y[:, 0])[0, 1] > 0.9
    # Leaves of one row that was drawn twice: single trees reach some training rows exactly.
    assert np.any(np.isclose(forest.trees_[0].predict(X), Y))


def test_an_unknown_label_is_named(alone):
    with pytest.raises(SystemExit, match="data, method"):
        runner.main(["run", "small", "--rows", "set=a"])


def test_a_section_has_both_values_the_verdict_and_the_reason(alone):
    table, _, folder = alone
    runner.main(["run", "small"])
    shown = page.section(table, folder)
    assert "0.505 ± 0.007 (0.500 ± 0.020) =" in shown
    assert "2 within, 0 better, 0 worse; 0 not measured" in shown
    other, _ = small_table(
        rows=tuple(
            tables.Row(row.labels, {"LRAP": tables.Figure(0.9, 0.02)}) for row in table.rows
        ),
        why=(({"data": "a"}, "because"),),
    )
    shown = page.section(other, folder)
    assert "2 worse" in shown
    assert "*worse*: a ours. Because." in shown
    assert "we do not know" in shown


def test_the_page_is_what_the_records_say():
    assert page.PAGE.read_text(encoding="utf-8") == page.page_text()


def _scripts():
    return sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", _scripts(), ids=lambda path: path.name)
def test_estimators_of_the_papers_have_published_settings(path):
    """Only `.paper(...)`, or the helper that calls it, makes an estimator of polyleaf."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        assert name not in ESTIMATORS, f"line {node.lineno}: write {name}.paper(...)"


def _lines():
    for path in sorted((FOLDER / "records").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield path.name, json.loads(line)


def test_records_say_how_they_came_about():
    for name, line in _lines():
        assert {"table", "row", "date", "command"} <= set(line), name
        assert line["table"] in registry.TABLES, line["table"]
        known = [dict(row.labels) for row in registry.TABLES[line["table"]].rows]
        assert line["row"] in known, (name, line["row"])
        if "values" not in line:
            assert line["note"], line
            continue
        assert line["versions"], line
        assert ".paper(" in line["settings"] or line["settings"].startswith("rival: "), line


def test_records_are_small_and_hold_no_paths():
    total = 0
    for path in (FOLDER / "records").glob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        total += len(text)
        assert "/work" not in text, path.name
        assert "/home" not in text, path.name
    assert total < 2_000_000


def test_clus_gets_categories_and_gives_numbers(tmp_path):
    X = pd.DataFrame({"size": [1.5, None], "kind": pd.Categorical(["b", "a"])})
    levels = systems.levels_of(X)
    assert levels == {1: ["a", "b"]}
    systems.write_arff(tmp_path / "rows.arff", X, [[1.0, 2.0], [3.0, float("nan")]], levels)
    lines = (tmp_path / "rows.arff").read_text().splitlines()
    assert lines[1:5] == [
        "@attribute x0 numeric",
        "@attribute x1 {v0,v1}",
        "@attribute y0 numeric",
        "@attribute y1 numeric",
    ]
    assert lines[-2:] == ["1.5,v1,1.0,2.0", "?,v0,3.0,?"]
    names = ("y0", "y1", "Forest with 100 trees-p-y0", "Forest with 100 trees-p-y1")
    head = "".join(f"@ATTRIBUTE {name}   numeric\n" for name in names)
    (tmp_path / "found.arff").write_text(f"@RELATION r\n{head}\n@DATA\n1,2,1.5,2.5\n3,4,3.5,4.5\n")
    found = numeric_predictions(tmp_path / "found.arff", ["y1", "y0"])
    assert found.tolist() == [[2.5, 1.5], [4.5, 3.5]]


def test_every_way_of_the_wishes_learns():
    X, Y = make_linear_labels(120, 4, random_state=0)
    for way in rule_wishes.WAYS:
        model = rule_wishes.fitted(X, Y.astype(int), "ew multi", way, 10, 0)
        assert (model.predict(X) == Y).mean() > 0.7, way
