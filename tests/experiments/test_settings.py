"""Settings of methods by bare names, and mistakes in them."""

import sys

import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.experiments import METHODS, Method, compare
from polyleaf.experiments._methods import resolve_methods
from polyleaf.experiments._problem import read_problems

DATA = make_correlated_targets(80, 4, 2, random_state=0)
LABELS = make_multilabel(80, 4, 3, random_state=0)


def made(config, data=DATA):
    (method,) = resolve_methods([config], METHODS)
    return method, method.make(read_problems(data)[0], 0)


@pytest.mark.parametrize(
    ("config", "full", "value"),
    [
        ({"method": "Linear", "alpha": 3.0}, "model__estimator__alpha", 3.0),
        ({"method": "SVM", "C": 7.0}, "model__estimator__C", 7.0),
        ({"method": "SVM", "model__estimator__C": 7.0}, "model__estimator__C", 7.0),
        ({"method": "Tree", "max_depth": 3}, "max_depth", 3),
        ({"method": make_pipeline(StandardScaler(), Ridge()), "alpha": 2.0}, "ridge__alpha", 2.0),
    ],
)
def test_a_bare_name_means_the_innermost_parameter(config, full, value):
    method, model = made(config)
    assert model.get_params()[full] == value
    assert all(name.rpartition("__")[2] not in config for name in method.space)


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if m.group == "rival"])
def test_rivals_are_set_by_bare_names(name):
    depth, value = {"CatBoost": ("depth", 2), "Boomer": ("shrinkage", 0.2)}.get(
        name, ("max_depth", 2)
    )
    for data in (DATA, LABELS):
        _, model = made({"method": name, depth: value}, data)
        assert model.get_params()[f"model__estimator__{depth}"] == value


def test_lists_under_bare_names_are_tuned():
    config = {"method": "Linear", "alpha": [1.0, 1e6]}
    result = compare(DATA, methods=[config], metrics=["r2"], cv=2)
    assert result.failures == []
    assert all(row["settings"] == {"alpha": 1.0} for row in result.rows)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"method": "Tree", "max_dept": 3}, "no setting 'max_dept'. Did you mean 'max_depth'"),
        ({"method": "Tree", "max_dept": [3, 4]}, "Did you mean 'max_depth'"),
        ({"method": "Linear", "alfa": 3}, r"Linear: .*Did you mean 'alpha'.*alpha, copy_X"),
        ({"method": "Linear", "model__alpha": 3}, "no setting 'model__alpha'"),
        ({"method": "Tree", "max_depth": []}, "max_depth must be a value.*an empty list"),
        (Method("Own", lambda problem, seed: Ridge(), space={"alfa": (1,)}), "Own: .*'alpha'"),
    ],
)
def test_mistakes_are_refused_before_any_run(config, message, tmp_path):
    path = tmp_path / "results.jsonl"
    with pytest.raises(ValueError, match=message):
        compare(DATA, methods=["Mean", config], metrics=["r2"], cv=2, path=path)
    assert not path.exists()


def test_a_dict_gives_names_to_any_kind_of_method():
    own = Method("Own", lambda problem, seed: Ridge())
    result = compare(
        DATA, methods={"a": "Tree", "b": "tree", "c": own, "d": Ridge()}, metrics=["r2"], cv=2
    )
    assert result.methods("regression") == ["a", "b", "c", "d"]
    assert result.failures == []


def test_an_estimator_that_ends_the_process_is_a_failure():
    class Leaving(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            sys.exit("enough")

    result = compare(DATA, methods={"bad": Leaving(), "good": Ridge()}, metrics=["r2"], cv=2)
    assert [row["method"] for row in result.failures] == ["bad", "bad"]
    assert result.failures[0]["error"].startswith("SystemExit: enough")
