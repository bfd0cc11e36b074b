"""Rules in model files: they come back, and damaged ones do not."""

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf import RuleClassifier, RuleRegressor
from polyleaf.datasets import make_multilabel
from polyleaf.files.storage import ModelFileError, read_model, write_model
from polyleaf.rules.model import OPERATORS


@pytest.fixture(scope="module")
def labels():
    return make_multilabel(n_samples=200, n_labels=5, random_state=0)


@pytest.mark.parametrize("task", ["labels", "classes", "binary", "outputs", "numbers"])
def test_a_saved_model_comes_back(labels, task, tmp_path):
    X, Y = labels
    y = {
        "labels": Y,
        "classes": Y[:, 0] + Y[:, 1],
        "binary": np.where(Y[:, 0], "yes", "no"),
        "outputs": np.column_stack([Y[:, 0] + Y[:, 1], Y[:, 2]]),
        "numbers": Y * 3.0,
    }[task]
    cls = RuleRegressor if task == "numbers" else RuleClassifier
    loss = "huber" if task == "numbers" else "examplewise_logistic"
    model = cls(n_rules=15, loss=loss, random_state=0).fit(X, y)
    polyleaf.save(model, tmp_path / "rules")
    loaded = polyleaf.load(tmp_path / "rules")
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.rules_.equals(model.rules_)
    assert loaded.prune(X, y, n_rules=4).n_rules_ == 4


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", lambda a: a + 1000),
        ("operator", lambda a: a + 100),
        ("output", lambda a: a - 1000),
        ("score", lambda a: a * np.nan),
        ("body_offsets", lambda a: a[::-1].copy()),
        ("head_offsets", lambda a: a[:-1]),
        ("label_sets", lambda a: a + 7),
        ("coverage", lambda a: a[1:]),
    ],
)
def test_damaged_rules_are_refused(labels, name, change, tmp_path):

    model = RuleClassifier(n_rules=5, random_state=0).fit(*labels)
    polyleaf.save(model, tmp_path / "rules")
    arrays, metadata = read_model(tmp_path / "rules")
    write_model(tmp_path / "rules", {**arrays, name: change(arrays[name])}, metadata)
    with pytest.raises(ModelFileError):
        polyleaf.load(tmp_path / "rules")


@pytest.fixture(scope="module")
def mixed():
    """A model with conditions on a category and on a number."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": np.resize(list("abcd"), 120), "z": rng.normal(size=120)})
    Y = np.column_stack([X["c"] == "a", (X["z"] > 0) & (X["c"] != "b")]).astype(int)
    return RuleClassifier(n_rules=30, random_state=0).fit(X, Y)


def at_operator(arrays, *names):
    return np.isin(arrays["operator"], [OPERATORS.index(name) for name in names])


def with_value(arrays, value):
    is_category = at_operator(arrays, "=", "!=")
    return {"value": np.where(is_category, value(arrays["value"]), arrays["value"])}


def with_operator(arrays, changed, name):
    at = at_operator(arrays, *changed)
    assert at.any()
    operator = np.where(at, OPERATORS.index(name), arrays["operator"]).astype(np.uint8)
    return {"operator": operator, "value": np.where(at, 0.0, arrays["value"])}


@pytest.mark.parametrize(
    "damage",
    [
        lambda a: with_value(a, lambda v: v + 77),
        lambda a: with_value(a, lambda v: v - 5),
        lambda a: with_value(a, lambda v: v * 0 + 0.5),
        lambda a: with_operator(a, ("<=", ">"), "="),
        lambda a: with_operator(a, ("=", "!="), "<="),
        lambda a: {"coverage": a["coverage"] - 1000},
        lambda a: {"shape": np.array([*a["shape"][:2], 1])},
        lambda a: {"gain": a["gain"] * np.nan},
        lambda a: {"label_sets": a["label_sets"][:0]},
        lambda a: {"digits": a["digits"] * 0},
        lambda a: {"digits": a["digits"][1:]},
        lambda a: {"measured_losses": np.zeros(1)},
        lambda a: {"measured_losses": np.full(2, np.nan)},
    ],
)
def test_conditions_and_facts_that_cannot_be_are_refused(mixed, damage, tmp_path):
    polyleaf.save(mixed, tmp_path / "rules")
    arrays, metadata = read_model(tmp_path / "rules")
    write_model(tmp_path / "rules", {**arrays, **damage(arrays)}, metadata)
    with pytest.raises(ModelFileError):
        polyleaf.load(tmp_path / "rules")


def test_the_undamaged_model_of_categories_comes_back(mixed, tmp_path):
    polyleaf.save(mixed, tmp_path / "rules")
    assert polyleaf.load(tmp_path / "rules").rules_.equals(mixed.rules_)
