import csv
import os
import re
import shutil

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from polyleaf.datasets import Dataset, make_correlated_targets, make_multilabel
from polyleaf.experiments import METHODS, compare
from polyleaf.experiments._charts import heatmap, lines, round_steps, scatter
from polyleaf.experiments._compare import _versions
from polyleaf.experiments._rank_diagram import critical_difference_diagram
from polyleaf.experiments._report_figures import _curve_figure, correlations, rank_figures
from polyleaf.experiments._report_tables import (
    corrected_table,
    dataset_table,
    example_table,
    leaderboard,
    verdict_table,
)
from polyleaf.experiments._report_words import (
    METHOD_NOTES,
    _division,
    _share,
    settings_words,
    summary,
)
from polyleaf.metrics import METRICS


class Failing(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("<b>does not</b> work")


@pytest.fixture(scope="module")
def comparison():
    data = {f"set {i}": make_correlated_targets(80, 4, 3, random_state=i) for i in range(3)}
    X, Y = make_multilabel(80, 4, 3, random_state=0)
    data["labels"] = Dataset(X, Y, list("abcd"), ["<i>x</i>", "y&z", "w"], "labels")
    methods = {name: METHODS[name] for name in ("Mean", "Tree", "RandomForest", "Linear")}
    return compare(data, methods=[*methods.values(), Failing()], cv=3, bootstraps=5)


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
    assert "three data sets" in text
    assert "9 of 57 runs failed" in text


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
    np.testing.assert_allclose(correlations(Y, 3), np.corrcoef(Y[:, :3].T))
    Y[10:, 0] = np.nan
    assert np.isfinite(correlations(Y, 4)).all()
    constant = np.ones((5, 2))
    assert np.isnan(correlations(constant, 2)).all()


def test_words_count_what_they_need_not_name():
    others = [f"method {i}" for i in range(12)]
    nobody = dict.fromkeys(others, False)
    assert _division(nobody, "three data sets", "test") == (
        "But three data sets cannot tell it from any other method (test)."
    )
    some = nobody | {"method 0": True, "method 1": True}
    assert _division(some, "four data sets", "test") == (
        "It is better than method 0 and method 1; four data sets cannot tell it from the 10 "
        "others (test)."
    )
    everybody = dict.fromkeys(others, True)
    assert "better than all others over 12 data sets" in _division(everybody, "12 data sets", "t")


def test_the_page_explains_its_methods(comparison, page):
    text = page.read_text(encoding="utf-8")
    for name in ("Mean", "Tree", "RandomForest", "Linear"):
        assert f"<dt>{name}</dt>" in text
    assert "<dt>Failing</dt>" not in text
    assert set(METHODS) <= set(METHOD_NOTES)


def test_versions_are_those_of_what_ran(comparison):
    versions = comparison.plan["versions"]
    assert {"polyleaf", "python", "numpy", "scikit-learn"} <= set(versions)
    assert not {"xgboost", "lightgbm", "catboost", "mlrl-boomer"} & set(versions)
    rivals = [method for method in METHODS.values() if method.group == "rival"]
    assert len(_versions(rivals)) == len(_versions([])) + len(rivals)


@pytest.mark.parametrize("n_methods", [2, 8, 16, 30])
def test_numbers_of_the_rank_axis_do_not_collide(n_methods):
    names = [f"m{i}" for i in range(n_methods)]
    svg = critical_difference_diagram(names, list(range(1, n_methods + 1)), 1.5)
    ticks = re.findall(r'x="([\d.]+)" y="42" text-anchor="middle">(\d+)<', svg)
    places = np.array([float(x) for x, _ in ticks])
    assert len(ticks) >= 2
    assert np.diff(places).min() >= 20


def test_diagram_joins_what_is_not_told_apart():
    svg = critical_difference_diagram(["a", "b", "c"], [1.0, 1.4, 3.0], 0.5)
    assert svg.count('class="bar"') == 1  # a with b
    assert ">a <" in svg


def test_diagram_of_a_control_marks_what_is_told_from_it():
    svg = critical_difference_diagram(["a", "b", "c"], [1.0, 1.4, 3.0], 0.5, control="a")
    assert svg.count('class="stretch"') == 1
    assert svg.count('class="bar"') == 0
    assert svg.count('<g class="far">') == 1  # c
    assert svg.count('<g class="control">') == 1


def test_ranks_are_drawn_over_data_sets_against_the_best_and_over_outputs(comparison):
    titles = [figure["title"] for figure in rank_figures(comparison, METRICS["arrmse"])]
    assert titles == [
        "Mean ranks over 3 data sets, by aRRMSE",
        "All against RandomForest, over 3 data sets, by aRRMSE",
        "Mean ranks over 9 outputs, by r²",
    ]
    # One data set of labels has no ranks over data sets, but has outputs.
    assert [f["title"] for f in rank_figures(comparison, METRICS["example_f1"])] == [
        "Mean ranks over 3 outputs, by F1"
    ]


def test_leaderboard_table_marks_the_best_of_each_metric(comparison):
    table = leaderboard(comparison, comparison.metrics["regression"])
    assert [row["method"] for row in table["rows"]][-1] == "Failing"
    for column in (1, 2):
        best = [row["method"] for row in table["rows"] if row["cells"][column]["best"]]
        assert best == ["RandomForest"]
    failed = table["rows"][-1]["cells"]
    assert [cell["text"] for cell in failed] == ["5.00", *["–"] * 6, "9 of 9"]
    assert table["groups"] == ["polyleaf", "baseline", "own"]


def test_tables_tell_each_data_set_and_how_sure(comparison):
    scores = dataset_table(comparison, METRICS["arrmse"])
    assert [column["name"] for column in scores["columns"]] == [
        "method",
        *(f"set {i}" for i in range(3)),
    ]
    assert scores["rows"][0][0]["text"] == "RandomForest"
    assert all(cell["faint"] for cell in scores["rows"][3][1:])  # the mean
    sure = verdict_table(comparison, METRICS["arrmse"])
    assert sure["title"] == "How sure: all against RandomForest"
    assert [row[0]["text"] for row in sure["rows"]][-1] == "Mean"
    assert [cell["text"] for cell in sure["rows"][-1][-3:]] == ["0", "0", "3"]
    corrected = corrected_table(comparison, METRICS["arrmse"])
    assert len(corrected["rows"]) == 3 * 4
    assert dataset_table(comparison, METRICS["example_f1"]) is None


def test_examples_name_the_labels_that_are_right_missed_and_wrong(comparison):
    labels = next(problem for problem in comparison.problems if problem.name == "labels")
    table = example_table(comparison, labels, METRICS["example_f1"])
    assert len(table["label_sets"]) == 5
    for example in table["label_sets"]:
        row = labels.Y[example["row"]]
        truth = {name for name, value in zip(labels.output_names, row) if value}
        assert {*example["right"], *example["missed"]} == truth
        assert not truth & set(example["wrong"])


def test_settings_are_told_without_the_steps_around_a_model():
    assert settings_words({"model__estimator__C": 1.0, "depth": 3}) == "C = 1.0, depth = 3"
    assert settings_words({}) == "none to choose"


def test_saturation_is_told_from_five_folds_on():
    data = make_correlated_targets(80, 4, 2, random_state=0)
    methods = [{"method": "BaggedTrees", "n_estimators": 3}]
    captions = []
    for cv in (4, 5):
        result = compare(data, methods=methods, metrics=["r2"], cv=cv)
        figure = _curve_figure(result, result.problems[0], METRICS["r2"])
        captions.append(figure["caption"])
    assert "too few folds" in captions[0]
    assert "Saturation" not in captions[0]
    assert re.search(r"Saturation, .*: BaggedTrees [123]\.$", captions[1])


def test_labels_of_near_points_do_not_cover_each_other():
    names = ("first", "second", "third", "fourth", "fifth", "sixth")
    svg = scatter([(name, "polyleaf", 1.0, 0.5) for name in names], "x", "y", "title")
    places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="middle">(\w+)<', svg)
    boxes = [(float(x) - 4 * len(n), float(y), float(x) + 4 * len(n)) for x, y, n in places]
    assert len(boxes) == 6
    for i, (left, y, right) in enumerate(boxes):
        for other_left, other_y, other_right in boxes[:i]:
            assert abs(y - other_y) >= 15.9 or right <= other_left or other_right <= left


def test_steps_of_an_axis_are_round_and_inside():
    assert round_steps(0.38, 0.86) == [0.4, 0.5, 0.6, 0.7, 0.8]
    assert round_steps(-1.0, 1.0) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert round_steps(1234.0, 1236.0)[0] == 1234.0


def test_charts_of_nothing_are_empty():
    assert scatter([("a", "own", np.nan, 1.0)], "x", "y", "title") == ""
    assert lines([("a", [])], "x", "y", "title") == ""
    assert heatmap(np.array([[np.nan]]), ["a"], ["b"], "t", low=0, high=1).count("<rect") == 0


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("no chromium: install Debian's package of that name")
    with playwright.sync_playwright() as driver:
        # A browser does not start with the address sanitizer, which `make sanitize` preloads.
        own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        started = driver.chromium.launch(
            executable_path=executable, args=["--no-sandbox"], env=own
        )
        yield started
        started.close()


@pytest.mark.parametrize("width", [1200, 700, 390])
def test_the_page_works_in_a_browser(browser, page, width):
    errors = []
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark")
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    tab.goto(page.as_uri())
    board = tab.locator("#board-regression")

    def first_column():
        cells = board.locator("tbody tr:visible > :first-child").all_inner_texts()
        return [text.split()[0] for text in cells]

    methods = first_column()
    assert methods[0] == "RandomForest"
    head = board.locator("thead button", has_text="method")
    head.focus()
    tab.keyboard.press("Enter")
    assert first_column() == sorted(methods)
    tab.keyboard.press("Enter")
    assert first_column() == sorted(methods, reverse=True)
    board.locator("thead button", has_text="r²").click()  # the best first, failures last
    assert first_column()[0] == "RandomForest"
    assert first_column()[-1] == "Failing"
    tab.locator("input[data-filter=board-regression]").fill("tree")
    assert first_column() == ["Tree"]
    tab.locator("input[data-filter=board-regression]").fill("")
    box = tab.locator("[data-groups=board-regression] input[value=polyleaf]")
    box.focus()
    tab.keyboard.press("Space")
    assert set(first_column()) == {"Mean", "Linear", "Failing"}
    assert tab.locator("[data-count=board-regression]").inner_text() == "3 of 5 methods"
    boxes = [svg.bounding_box() for svg in tab.locator("svg:visible").all()]
    assert len(boxes) >= 6
    assert all(box["width"] > 200 and box["height"] > 50 for box in boxes)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    scrolls = "box => box.scrollWidth > box.clientWidth"
    for figure in tab.locator("figure:visible").all():  # a chart that is cut off says so
        is_cut = figure.locator(".scroll").evaluate(scrolls)
        assert figure.locator(".hint").is_visible() == is_cut == (width < 500)
    closed = tab.locator("details.dataset:not([open]) summary").first
    closed.focus()
    tab.keyboard.press("Enter")
    assert tab.locator("details.dataset[open]").count() >= 2
    assert errors == []
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_background(browser, page, scheme):
    """Contrasts of at least 4.5 to 1 (WCAG AA) for the colours of text."""
    tab = browser.new_page(color_scheme=scheme)
    tab.goto(page.as_uri())
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    colours = {
        name: tab.evaluate(f"{style}('--{name}')").strip()
        for name in ("bg", "card", "fg", "soft", "accent", "good", "bad", "g-rival", "g-baseline")
    }
    for name in set(colours) - {"bg", "card"}:
        for under in ("bg", "card"):
            assert contrast(colours[name], colours[under]) >= 4.5, (name, under)
    tab.close()


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    text = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(text[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("part", "text"), [(0.003, "less than 1%"), (0.011, "1%"), (0.5, "50%")])
def test_a_small_share_is_not_written_as_none(part, text):
    assert _share(part) == text


def test_long_numbers_of_an_axis_leave_room_for_its_label():
    points = [("a", "own", 0.5, 0.94521), ("b", "own", 20.0, 0.94545)]
    picture = scatter(points, "seconds", "example F1", "title")
    ticks = re.findall(r'class="tick" x="([\d.]+)" y="[\d.]+" text-anchor="end">([^<]*)<', picture)
    assert max(len(text) for _, text in ticks) >= 6
    label_ends = 14 + 4  # the baseline of the turned text, and what hangs below it
    assert all(float(x) - 8 * len(text) > label_ends for x, text in ticks)
