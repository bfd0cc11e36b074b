"""The page about nodes says what the plan of the core says."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from core_tree import make_params
from problems import make_problem, numeric_problem

from polyleaf import _core

TOOL = Path(__file__).parents[2] / "tools" / "plan_tables.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("plan_tables", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(tool):
    return tool.PAGE.read_text()


def names(cell):
    return tuple(re.findall(r"`(\w+)`", cell))


def table_rows(page, name):
    """Read a table of the page as it stands there."""
    text = re.search(rf"<!-- plan: {name} -->\n(.*?)<!-- end -->", page, re.DOTALL)[1]
    lines = [line.strip("|").split("|") for line in text.strip().splitlines()]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def test_the_rules_of_the_page_are_those_of_the_plan(page):
    written = [
        (names(nodes), *(names(cell)[0] if cell else default for cell, default in cells))
        for _, nodes, *rest in table_rows(page, "rules")
        for cells in [zip(rest, (None, "always", "none", None), strict=True)]
    ]
    assert written == _core.plan_rules()


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("nodes", _core.node_kinds()),
        ("features", _core.feature_kinds()),
        ("conditions", _core.plan_conditions()),
        ("limits", _core.plan_limits()),
        ("finders", _core.finders()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_page_describes_every_name(page, name, texts):
    written = {names(cell)[0]: text for cell, text in table_rows(page, name)}
    assert written == {key: text for key, text in texts.items() if text}


def test_the_page_is_what_the_tool_makes_of_it(tool, page):
    assert tool.filled(page) == page, "the page is out of date: run `make plan-tables`"


def test_texts_of_limits_state_the_numbers_of_the_core():
    limits, plan = _core.plan_limits(), numeric_problem(20).grow().plan
    assert str(plan.sorted_rows) in limits["below_sorted_rows"]
    assert str(_core.HISTOGRAM_MIN_ROWS) in limits["from_histogram_rows"]
    assert f"rows <= {_core.SMALL_ROWS}" in limits["table_pays"]
    assert f"at most {_core.MAX_GREEDY_CATEGORIES} categories" in limits["few_categories"]
    assert f"at most {_core.SMALL_ROWS} rows" in _core.node_kinds()["small"]


def served(problem, **settings):
    return set(problem.grow(**settings).finder_counts)


def test_the_examples_of_the_page_are_true():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 20))
    values = np.sin(X[:, :5]) + 0.5 * rng.normal(size=(10_000, 5))
    problem = make_problem(X, values)
    lists = {"list_table", "list_groups", "list_pairs", "list_rows"}
    assert served(problem, ordered=True) <= {"whole_list"} | lists
    drawn = served(problem, max_features=4)
    assert {"histogram", "sorted_list", "small_sorted"} <= drawn
    assert served(problem, random_cuts=True) == {"random_cuts", "small_cuts"}
    exact = make_problem(X[:2_000], values[:2_000], max_bins=None)
    assert served(exact) == {"walk"}
    masked = make_problem(X[:2_000], values[:2_000], weights="masked")
    assert served(masked) == {"histogram", "walk"}
    words = make_problem((rng.random((300, 40)) < 0.05).astype(float), rng.random((300, 3)) > 0.8)
    assert set(words.grow_sparse().finder_counts) == {"flags", "small_flags"}


def test_boosting_of_the_first_example_gives_rows_in_order():
    assert _core.uses_row_orders(10_000, 5)
    facts = _core.TreeFacts()
    facts.n_rows, facts.n_features, facts.n_dense_numeric = 10_000, 20, 20
    facts.has_byte_codes = facts.has_row_orders = True
    facts.n_channels = 5
    assert _core.SearchPlan(facts, make_params(20)).conditions["whole_lists"]
