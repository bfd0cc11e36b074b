import csv
import re
import shutil

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from ramify.datasets import Dataset, make_correlated_targets, make_multilabel
from ramify.experiments import METHODS, compare
from ramify.experiments._charts import critical_difference_diagram, heatmap, lines, scatter
from ramify.experiments._report import _correlations
from ramify.experiments._report_words import summary


class Failing(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("<b>does not</b> work")


@pytest.fixture(scope="module")
def comparison():
    data = {f"set {i}": make_correlated_targets(80, 4, 3, random_state=i) for i in range(3)}
    X, Y = make_multilabel(80, 4, 3, random_state=0)
    data["labels"] = Dataset(X, Y, list("abcd"), ["<i>x</i>", "y&z", "w"], "labels")
    methods = {name: METHODS[name] for name in ("Mean", "Tree", "RandomForest", "Linear")}
    return compare(data, [*methods.values(), Failing()], cv=2)


@pytest.fixture(scope="module")
def page(comparison, tmp_path_factory):
    return comparison.report(tmp_path_factory.mktemp("report"))


def test_the_page_needs_no_network(page):
    text = page.read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert "<script src" not in text


def test_names_and_errors_are_escaped(page):
    text = page.read_text(encoding="utf-8")
    assert "<i>x</i>" not in text
    assert "&lt;i&gt;x&lt;/i&gt;" in text
    assert "<b>does not</b>" not in text
    assert "does not" in text


def test_words_name_the_best_method_and_how_sure_that_is(comparison):
    sentences = summary(comparison)
    text = " ".join(sentences)
    for metric in ("arrmse", "example_f1"):
        assert comparison.leaderboard(metric)[0].method in text
    assert "over the 3 data sets" in text
    assert "6 of 38 runs failed" in text


def test_markdown_and_csv_hold_every_method_and_run(comparison, page):
    markdown = page.with_name("report.md").read_text(encoding="utf-8")
    for name in ("Mean", "Tree", "RandomForest", "Linear", "Failing"):
        assert f"| {name} |" in markdown
    with page.with_name("results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    n_good = sum(len(row.get("scores", {})) for row in comparison.rows)
    assert len(rows) == n_good + len(comparison.failures)
    assert all(row["score"] or row["error"] for row in rows)


def test_correlations_are_those_of_numpy_and_skip_gaps():
    Y = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_allclose(_correlations(Y, 3), np.corrcoef(Y[:, :3].T))
    Y[10:, 0] = np.nan
    assert np.isfinite(_correlations(Y, 4)).all()
    constant = np.ones((5, 2))
    assert np.isnan(_correlations(constant, 2)).all()


def test_diagram_joins_what_is_not_told_apart():
    svg = critical_difference_diagram(["a", "b", "c"], [1.0, 1.4, 3.0], 0.5)
    assert svg.count('class="bar"') == 2  # the difference itself, and a with b
    assert ">a <" in svg


def test_labels_of_near_points_do_not_cover_each_other():
    svg = scatter([(name, 1.0, 0.5) for name in ("first", "second", "third")], "x", "y", "title")
    heights = re.findall(r'<text x="[\d.]+" y="([\d.]+)" text-anchor="start">', svg)
    assert len({float(height) for height in heights}) == 3


def test_charts_of_nothing_are_empty():
    assert scatter([("a", np.nan, 1.0)], "x", "y", "title") == ""
    assert lines([("a", [])], "x", "y", "title") == ""
    assert heatmap(np.array([[np.nan]]), ["a"], ["b"], "t", low=0, high=1).count("<rect") == 0


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("no chromium: install Debian's package of that name")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_works_in_a_browser(browser, page, width):
    errors = []
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark")
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    tab.goto(page.as_uri())
    board = tab.locator("#board-regression")

    def first_column():
        return board.locator("tbody tr:visible td:first-child").all_inner_texts()

    methods = first_column()
    assert methods[0].startswith("RandomForest")
    head = board.locator("thead button", has_text="method")
    head.focus()
    tab.keyboard.press("Enter")
    assert first_column() == sorted(methods)
    tab.keyboard.press("Enter")
    assert first_column() == sorted(methods, reverse=True)
    tab.locator("input[data-filter=board-regression]").fill("tree")
    assert [text.split()[0] for text in first_column()] == ["Tree"]
    boxes = [svg.bounding_box() for svg in tab.locator("svg").all()]
    assert len(boxes) >= 6
    assert all(box["width"] > 200 and box["height"] > 50 for box in boxes)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    tab.close()
