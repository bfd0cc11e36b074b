"""A results file is taken up by the same comparison alone."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import ShuffleSplit

from polyleaf import TreeRegressor
from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import Method, ResultsFileError, compare
from polyleaf.experiments import _compare as module
from polyleaf.experiments._identity import digest_of
from polyleaf.metrics import METRICS

DATA = make_correlated_targets(80, 4, 2, random_state=0)


def closing_over(value):
    return lambda problem, random_state: Ridge(value)


def own_metric(function, **changes):
    return replace(METRICS["r2"], name="own", function=function, from_training={}, **changes)


def total(y_true, y_pred, *, sample_weight=None):
    return float(np.sum(y_pred))


def size(y_true, y_pred, *, sample_weight=None):
    return float(np.size(y_pred))


LINEAR = {"methods": ["Linear"], "metrics": ["r2"]}


@pytest.mark.parametrize(
    ("first", "second", "differing"),
    [
        (
            {"methods": {"mine": {"method": "Tree", "max_depth": 2}}},
            {"methods": {"mine": {"method": "BaggedTrees", "max_depth": 2}}},
            "methods",
        ),
        (
            {"methods": {"mine": {"method": Ridge(1.0), "tol": 0.1}}},
            {"methods": {"mine": {"method": Ridge(2.0), "tol": 0.1}}},
            "methods",
        ),
        (
            {"cv": ShuffleSplit(3, random_state=0)},
            {"cv": ShuffleSplit(3, random_state=1)},
            "rows_of_folds",
        ),
        (
            {"methods": [Method("M", lambda problem, random_state: Ridge(1.0))]},
            {"methods": [Method("M", lambda problem, random_state: Ridge(2.0))]},
            "methods",
        ),
        (
            {"methods": [Method("M", closing_over(1.0))]},
            {"methods": [Method("M", closing_over(2.0))]},
            "methods",
        ),
        ({"metrics": [own_metric(total)]}, {"metrics": [own_metric(size)]}, "metrics"),
        (
            {"metrics": [own_metric(total)]},
            {"metrics": [own_metric(total, greater_is_better=False)]},
            "metrics",
        ),
    ],
)
def test_what_differs_is_refused_and_what_is_the_same_goes_on(tmp_path, first, second, differing):
    path = tmp_path / "results.jsonl"
    done = compare(DATA, **(LINEAR | {"cv": 2} | first), path=path)
    assert done.failures == []
    assert compare(DATA, **(LINEAR | {"cv": 2} | first), path=path).rows == done.rows
    with pytest.raises(ResultsFileError, match=f"another comparison: {differing} differ"):
        compare(DATA, **(LINEAR | {"cv": 2} | second), path=path)


def test_results_of_another_version_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    compare(DATA, **LINEAR, cv=2, path=path)
    monkeypatch.setattr(module, "version", lambda package: "99.0")
    with pytest.raises(ResultsFileError, match=r"versions differ \(polyleaf was .* and is 99.0\)"):
        compare(DATA, **LINEAR, cv=2, path=path)


def test_digests_tell_functions_and_objects_apart():
    things = [
        total,
        size,
        partial(total, sample_weight=1),
        partial(total, sample_weight=2),
        closing_over(1),
        closing_over(2),
        closing_over(np.array([1.0])),
        closing_over(np.array([2.0])),
        TreeRegressor(),
        TreeRegressor(max_depth=3),
        {1: "a"},
        {1: "b"},
    ]
    digests = [digest_of(thing) for thing in things]
    assert len(set(digests)) == len(things)
    assert digest_of(closing_over(1)) == digest_of(closing_over(1))
    assert digest_of({"b", "a"}) == digest_of({"a", "b"})

    def again(n):
        return again(n - 1)

    assert digest_of(again) == digest_of(again)
