"""Each finder by its name: the plan names it, it serves the node, and its split is the best."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from agreement import assert_agrees, assert_identical
from core_tree import Tree, make_params
from problems import Problem, make_problem, make_values, mixed_problem, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

#: Finders that make lists, and ways to score a list.
LISTS = ("sorted_list", "presorted_list", "whole_list")
LIST_WALKS = ("list_table", "list_groups", "list_pairs", "list_rows")


def categories_problem(n_categories: int, n_channels: int) -> Problem:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(n_categories, size=600), rng.integers(3, size=600)])
    effects = rng.normal(size=(n_categories, n_channels))
    values = effects[X[:, 0]] + 0.1 * rng.normal(size=(600, n_channels))
    return make_problem(X.astype(float), values, n_categories=[n_categories, 3])


def flags_problem(n_rows: int, n_channels: int = 3, n_flags: int = 18) -> Problem:
    rng = np.random.default_rng(2)
    X = (rng.random((n_rows, n_flags)) < 0.1).astype(float)
    problem = make_problem(X, make_values(X + 0.2 * rng.normal(size=X.shape), n_channels, 3))
    assert problem.binned.sparse_features.size == n_flags
    return problem


def few_values_problem() -> Problem:
    X = np.random.default_rng(4).integers(5, size=(300, 3)).astype(float)
    return make_problem(X, make_values(X, 3, 5))


def rare_numbers_problem() -> Problem:
    """Sparse features with more than two values, beside a dense one."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.15)
    X[:, 0] = rng.normal(size=300)
    return make_problem(X, make_values(X, 2, 7))


@dataclass(frozen=True)
class Case:
    """A tree whose nodes are served by a finder, and what the plan says of one of them.

    `node` and `feature` are the question, `splits` whether the reference knows the best split.
    """

    problem: Callable[[], Problem]
    node: str
    feature: str
    settings: Mapping[str, Any] = field(default_factory=lambda: {"max_depth": 1})
    splits: bool = True
    ordered: bool = False
    question: Mapping[str, int] = field(default_factory=dict)
    agreement: Mapping[str, Any] = field(default_factory=dict)


SORTED = {"max_depth": 1, "max_features": 5, "max_leaf_nodes": 2}
DRAWN = {"max_depth": 3, "max_features": 2, "seed": 1}
CUTS = {"max_depth": 1, "random_cuts": True}
FIXED = {"max_depth": 1, "fixed_sums": True}
COARSE = {"tolerance": (2e-2, 1e-3), "statistics": 1e-2}  # numbers of 15 bits
CASES = {
    "histogram": Case(lambda: numeric_problem(5_000, missing=True), "large", "numeric"),
    "subtracted_histogram": Case(
        lambda: numeric_problem(12_000, missing=True), "sibling", "numeric", {"max_depth": 2}
    ),
    "sorted_list": Case(lambda: numeric_problem(300), "large", "numeric", SORTED),
    "presorted_list": Case(lambda: numeric_problem(300, missing=True), "listed", "numeric"),
    "whole_list": Case(
        lambda: numeric_problem(300, missing=True), "listed", "numeric", ordered=True
    ),
    "list_table": Case(lambda: numeric_problem(7, 40), "listed", "list", question={"n_lists": 40}),
    "list_groups": Case(few_values_problem, "listed", "list", question={"n_codes": 5}),
    "list_pairs": Case(
        lambda: numeric_problem(300),
        "listed",
        "list",
        question={"n_codes": 255, "has_partner": True},
    ),
    "list_rows": Case(
        lambda: numeric_problem(300, n_channels=40), "listed", "list", question={"n_codes": 255}
    ),
    "random_cuts": Case(
        lambda: numeric_problem(300, missing=True), "subtree", "numeric", CUTS, splits=False
    ),
    "walk": Case(lambda: numeric_problem(300, max_bins=None), "subtree", "numeric"),
    "walk_cut": Case(
        lambda: numeric_problem(300, max_bins=None), "subtree", "numeric", CUTS, splits=False
    ),
    "greedy_categories": Case(
        lambda: categories_problem(20, 3), "subtree", "category", question={"n_categories": 20}
    ),
    "ordered_categories": Case(
        lambda: categories_problem(20, 1), "subtree", "category", question={"n_categories": 20}
    ),
    "random_categories": Case(
        lambda: categories_problem(20, 3), "subtree", "category", CUTS, splits=False
    ),
    "flags": Case(lambda: flags_problem(300, n_channels=20), "subtree", "flag"),
    "flag_sums": Case(lambda: flags_problem(300), "subtree", "flag"),
    "small_sorted": Case(lambda: numeric_problem(12), "small", "numeric", DRAWN, splits=False),
    "small_cuts": Case(
        lambda: numeric_problem(12),
        "small",
        "numeric",
        {"max_depth": 3, "random_cuts": True},
        splits=False,
    ),
    "small_flags": Case(lambda: flags_problem(60), "small", "flag", {"max_depth": 12}),
    "fixed_histogram": Case(
        lambda: numeric_problem(300, missing=True), "large", "numeric", FIXED, agreement=COARSE
    ),
    "fixed_difference": Case(
        lambda: numeric_problem(300, missing=True),
        "sibling",
        "numeric",
        FIXED | {"max_depth": 2},
        agreement=COARSE,
    ),
    "fixed_categories": Case(
        lambda: categories_problem(20, 3), "large", "category", FIXED, agreement=COARSE
    ),
}


def ask(**question: int) -> _core.NodeQuestion:
    asked = _core.NodeQuestion()
    for name, value in question.items():
        setattr(asked, name, value)
    return asked


def test_every_finder_has_a_case():
    assert set(CASES) == set(_core.finders())


@pytest.mark.parametrize("finder", CASES)
def test_a_finder_serves_the_nodes_that_the_plan_gives_it(finder):
    case = CASES[finder]
    problem = case.problem()
    tree = problem.grow(ordered=case.ordered, **case.settings)
    n_rows = int(tree.n_samples[0]) if case.node != "small" else _core.SMALL_ROWS
    question = ask(n_rows=n_rows, **case.question)
    assert tree.plan.finder(case.node, case.feature, question) == finder
    assert tree.finder_counts.get(finder, 0) >= 1
    if case.settings.get("max_depth") == 1:
        assert tree.finder_counts[finder] == 1, "the root alone was searched"
    assert not tree.is_leaf[0]
    assert_agrees(tree, problem, is_best=case.splits, **case.agreement, **case.settings)
    assert_identical(tree, problem.grow(ordered=case.ordered, n_threads=3, **case.settings))


def made_up_facts(rng: np.random.Generator) -> tuple[_core.TreeFacts, _core.GrowParams]:
    """Any tree; facts need not fit together, the plan is a function of all of them."""
    facts = _core.TreeFacts()
    facts.n_rows = int(10 ** rng.uniform(0, 7))
    facts.n_dense_numeric = int(rng.choice([0, 1, 7, 7, 300, 40_000]))
    facts.n_dense_category, facts.n_sparse = rng.choice([0, 0, 0, 1, 7, 40_000], size=2).tolist()
    facts.n_features = facts.n_dense_numeric + facts.n_dense_category + facts.n_sparse
    facts.n_code_bytes = facts.n_rows * (facts.n_dense_numeric + facts.n_dense_category)
    facts.has_byte_codes = bool(rng.random() < 0.8)
    facts.has_wide_codes = not facts.has_byte_codes
    facts.has_categories = facts.n_dense_category > 0 or bool(rng.random() < 0.2)
    facts.are_sparse_flags = bool(rng.random() < 0.5)
    facts.are_flags = facts.are_sparse_flags and bool(rng.random() < 0.5)
    facts.entries_per_row = float(rng.uniform(0, 50))
    facts.n_channels = int(rng.choice([1, 4, 16, 20, 40]))
    for name in ("has_row_orders", "has_sparse_labels", "has_entry_weights"):
        setattr(facts, name, bool(rng.random() < 0.3))
    n_candidates = max(1, facts.n_features if rng.random() < 0.6 else facts.n_features // 3)
    params = make_params(n_candidates)
    params.max_leaf_nodes = 30 if rng.random() < 0.3 else -1
    params.random_cuts = bool(rng.random() < 0.3)
    params.double_precision = bool(rng.random() < 0.2)
    params.fixed_sums = bool(rng.random() < 0.2)
    params.l2_regularization = float(rng.choice([0.0, 0.0, 1.0]))
    params.histogram_min_rows = int(rng.choice([0, 0, 0, 1, 10**9]))
    params.n_threads = int(rng.choice([1, 4]))
    return facts, params


def first_rule(
    plan: _core.SearchPlan, node: str, feature: str, question: _core.NodeQuestion
) -> str | None:
    """What the table says, read from top to bottom."""
    conditions = plan.conditions
    for nodes, of, condition, limit, finder in _core.plan_rules():
        is_meant = node in nodes and of == feature and conditions[condition]
        if is_meant and plan.holds(limit, question):
            return finder
    return None


def test_the_plan_is_the_first_rule_of_its_table_that_holds():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        plan = _core.SearchPlan(*made_up_facts(rng))
        for node, feature in product(_core.node_kinds(), _core.feature_kinds()):
            question = ask(
                n_rows=int(rng.choice([2, 8, 9, 300, 383, 384, 1023, 1024, 5000])),
                n_lists=int(rng.integers(1, 40)),
                n_codes=int(rng.integers(2, 256)),
                n_categories=int(rng.choice([2, 64, 65])),
            )
            question.has_missing, question.has_partner = (rng.random(2) < 0.3).tolist()
            finder = first_rule(plan, node, feature, question)
            assert plan.finder(node, feature, question) == finder
            seen.add(finder)
    assert seen == {*_core.finders(), None}


def test_conditions_name_what_they_say():
    """The parameters and facts that turn a way of searching on or off, one by one."""

    def plan_of(facts: Mapping[str, Any] | None = None, **settings: Any) -> _core.SearchPlan:
        given = {"n_rows": 20_000, "n_features": 10, "n_dense_numeric": 10, "has_byte_codes": True}
        made_up = _core.TreeFacts()
        for name, value in {**given, **(facts or {})}.items():
            setattr(made_up, name, value)
        return _core.SearchPlan(made_up, make_params(10, **settings))

    plain = {name for name, holds in plan_of().conditions.items() if holds}
    plain -= {"always", "best_cuts", "few_blocks"}
    assert plain == {"sorted_lists", "presorted_lists", "histograms", "subtraction"}
    assert plan_of().loads_lazily
    assert plan_of().subtree_rows == 20_000 // 8
    assert plan_of().histogram_rows == _core.HISTOGRAM_MIN_ROWS
    assert plan_of().subtraction_rows == 2 * plan_of().subtree_rows + 1
    assert plan_of().presorted_rows == _core.MAX_LIST_ROWS
    assert plan_of().small_rows == 0
    assert plan_of(max_features=3).small_rows == _core.SMALL_ROWS
    assert not plan_of(max_features=3).conditions["presorted_lists"]
    ordered = {"has_row_orders": True}
    assert plan_of(ordered).conditions["whole_lists"]
    assert not plan_of(ordered).conditions["histograms"]
    assert not plan_of({**ordered, "n_channels": 40}).conditions["whole_lists"]
    assert not plan_of(ordered, max_features=3).conditions["whole_lists"]
    assert plan_of({"n_sparse": 80}).is_incremental
    assert not plan_of({"n_sparse": 79}).is_incremental
    assert not plan_of({"n_sparse": 80, "has_entry_weights": True}).is_incremental
    assert plan_of({"has_sparse_labels": True}).is_incremental
    for turned_off in ({"l2_regularization": 1.0}, {"double_precision": True}):
        assert not plan_of(**turned_off).has_plain_gains
    assert not plan_of(double_precision=True).conditions["histograms"]
    assert plan_of(random_cuts=True).conditions["batched_cuts"]
    assert not plan_of(random_cuts=True, histogram_min_rows=1).conditions["batched_cuts"]


def by_plan(tree: Tree, node: str) -> Counter[str]:
    """Finders of the nodes that were split, by what the plan says of their rows."""
    counts: Counter[str] = Counter()
    for n_rows in tree.n_samples[~tree.is_leaf]:
        finder = tree.plan.finder(node, "numeric", ask(n_rows=int(n_rows)))
        assert finder is not None
        counts[finder] += 1
    return counts


@pytest.mark.parametrize(
    ("node", "settings"),
    [
        ("listed", {}),
        ("large", {"max_leaf_nodes": 60}),
        ("large", {"max_leaf_nodes": 60, "histogram_min_rows": 100}),
        ("subtree", {"histogram_min_rows": 100, "min_samples_leaf": 4}),
        ("subtree", {"histogram_min_rows": 10**9, "min_samples_leaf": 4}),
    ],
    ids=str,
)
def test_every_split_was_found_by_the_finder_of_its_node(node, settings):
    tree = numeric_problem(2_000, 6, 3, missing=True).grow(**settings)
    sources = Counter(tree.finder_counts)
    for walk in LIST_WALKS:
        sources.pop(walk, None)
    planned = by_plan(tree, node)
    assert set(planned) == set(sources)
    assert all(planned[name] <= sources[name] for name in planned)
    assert sources.total() <= tree.n_nodes


def test_a_leaf_that_cannot_be_split_is_not_searched():
    problem = numeric_problem(50)
    assert problem.grow(max_depth=0).finder_counts == {}
    assert problem.grow(min_samples_leaf=26).finder_counts == {}
    constant = replace(problem, gradient=np.ones_like(problem.gradient))
    assert constant.grow().finder_counts == {}


@pytest.mark.parametrize("settings", [{}, {"max_features": 4}, {"random_cuts": True}], ids=str)
def test_counts_do_not_depend_on_threads(settings):
    for problem in (mixed_problem(9_000), numeric_problem(9_000, missing=True)):
        one = problem.grow(min_samples_leaf=5, **settings)
        many = problem.grow(min_samples_leaf=5, n_threads=3, **settings)
        assert one.finder_counts == many.finder_counts
        assert sum(one.finder_counts.values()) >= np.count_nonzero(~one.is_leaf)


@pytest.mark.parametrize(
    ("problem", "finders"),
    [
        (mixed_problem, {"walk", "greedy_categories"}),
        (rare_numbers_problem, {"walk"}),
    ],
)
def test_a_node_is_counted_for_each_finder_that_took_part(problem, finders):
    tree = problem().grow(max_depth=1)
    assert finders | {"presorted_list"} <= set(tree.finder_counts)
    assert all(n == 1 for n in tree.finder_counts.values())


def test_unknown_kinds_are_refused_with_the_known_ones():
    plan = numeric_problem(10).grow().plan
    with pytest.raises(ValueError, match=r"node must be one of large, .*; got huge"):
        plan.finder("huge", "numeric", ask())
    with pytest.raises(ValueError, match=r"feature must be one of numeric, .*; got list_of_rows"):
        plan.finder("large", "list_of_rows", ask())
    with pytest.raises(ValueError, match=r"limit must be one of none, .*; got few_rows"):
        plan.holds("few_rows", ask())
