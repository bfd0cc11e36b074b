"""What holds for every estimator: a new one is tested by being listed in ESTIMATORS."""

import inspect
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import polyleaf
from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.estimator.parameters import (
    Added,
    Parameter,
    declaration_of,
    documented,
    parameters_from_json,
    parameters_to_json,
)
from polyleaf.estimator.shared_parameters import SHARED_PARAMETERS

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, :2] > 0).astype(float)
#: A value that no estimator takes, per parameter. X checks categorical_features.
WRONG_VALUES = {
    "n_estimators": 0,
    "graph": "spaning_tree",
    "completion": "zeros",
    "kernel": "liner",
    "degree": 0,
    "gamma": "scales",
    "coef0": -1.0,
    "intercept_scaling": -1.0,
    "C": 0.0,
    "scale_features": "yes",
    "margin_loss": "edges",
    "tol": 0.0,
    "max_iter": 0,
    "loss": "hubber",
    "learning_rate": 0.0,
    "projection": "gausian",
    "projection_scope": "trees",
    "aggregation": "subspce",
    "n_rules": 0,
    "huber_delta": 0.0,
    "head": "completed",
    "head_size": 0,
    "step": "newtn",
    "label_bins": 0,
    "set_probabilities": "chain",
    "max_conditions": 0,
    "min_coverage": 0,
    "l1_regularization": -2.0,
    "decoding": "thresholds",
    "hierarchy": "tree",
    "on_violation": "closed",
    "leaf_fit": "relable",
    "leaf_values": "newtn",
    "sums": "fix",
    "max_depth": 0,
    "max_leaf_nodes": 1,
    "min_samples_split": 1,
    "min_samples_leaf": 0.0,
    "min_impurity_decrease": -1.0,
    "max_features": "sqr",
    "splitter": "bst",
    "max_bins": 256,
    "categorical_features": [3],
    "category_penalty": -1.0,
    "bootstrap": "yes",
    "max_samples": 0.0,
    "l2_regularization": -1.0,
    "subsample": 1.5,
    "row_sampling": "gradients",
    "monotonic_cst": [2, 0, 0],
    "estimator": "tree",
    "normalize_outputs": "yes",
    "pruning": "ftest",
    "pruning_level": "cvv",
    "class_weight": "balance",
    "oob_score": "r2",
    "calibration_folds": 1,
    "early_stopping": "yes",
    "validation_fraction": 1.0,
    "n_iter_no_change": 0,
    "eval_metric": "r22",
    "warm_start": "yes",
    "random_state": -1,
    "n_jobs": 0,
    "verbose": -1,
}
#: Parameters whose best default depends on the kind of ensemble; see docs/guide/forests.md.
DEFAULTS_DIFFER = {
    "learning_rate",
    "early_stopping",
    "n_iter_no_change",
    "aggregation",
    "bootstrap",
    "loss",
    "max_depth",
    "max_features",
    "n_estimators",
    "projection",
}

#: Only boosting has a race of views that knows when to stop and how deep to go: it takes "auto".
ANNOTATIONS_DIFFER = {"early_stopping", "max_depth"}

each_estimator = pytest.mark.parametrize("cls", ESTIMATORS.values(), ids=ESTIMATORS)


def constructor_of(cls):
    return inspect.signature(cls).parameters


def test_every_public_estimator_is_listed():
    public = {name: getattr(polyleaf, name) for name in polyleaf.__all__}
    estimators = {
        name: value
        for name, value in public.items()
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
    }
    assert estimators == {**ESTIMATORS, **META_ESTIMATORS}


@each_estimator
def test_parameters_are_given_by_name_and_kept_as_they_are(cls):
    for name, argument in constructor_of(cls).items():
        assert argument.kind is inspect.Parameter.KEYWORD_ONLY
        given = object()
        assert getattr(cls(**{name: given}), name) is given


def test_a_parameter_has_one_default_and_one_annotation_in_nearly_all_estimators():
    names = {name for cls in ESTIMATORS.values() for name in constructor_of(cls)}
    for name in names:
        declared = [
            arguments[name]
            for arguments in map(constructor_of, ESTIMATORS.values())
            if name in arguments
        ]
        n_annotations = len({argument.annotation for argument in declared})
        assert (n_annotations > 1) == (name in ANNOTATIONS_DIFFER), name
        n_defaults = len({repr(argument.default) for argument in declared})
        assert (n_defaults > 1) == (name in DEFAULTS_DIFFER), name


@each_estimator
def test_estimators_name_the_parameters_they_share_in_one_order(cls):
    given = list(constructor_of(cls))
    for other in ESTIMATORS.values():
        others = list(constructor_of(other))
        assert [n for n in given if n in others] == [n for n in others if n in given], other


@each_estimator
def test_the_docstring_tells_every_parameter_and_its_default(cls):
    documentation = inspect.getdoc(cls)
    for name, argument in constructor_of(cls).items():
        entry = f"\n{name} : {declaration_of(cls, name).type}, default={argument.default!r}\n    "
        assert documentation.count(entry) == 1, name
    assert "{parameters}" not in documentation


def test_an_indented_and_a_stripped_docstring_give_the_same_documentation():
    # Python strips the indentation of docstrings itself from 3.13 on.
    def make(docstring):
        cls = type(
            "Model",
            (),
            {
                "__doc__": docstring,
                "__init__": lambda self, *, n_jobs=1: None,
                "_declared": SHARED_PARAMETERS,
            },
        )
        return documented(cls).__doc__

    indented = "A model.\n\n    Parameters\n    ----------\n    {parameters}\n    "
    stripped = "A model.\n\nParameters\n----------\n{parameters}\n"
    assert make(indented) == make(stripped)
    assert "\n----------\nn_jobs : int or None, default=1\n    Number of" in make(stripped)


@each_estimator
def test_a_wrong_value_is_refused_by_an_error_that_names_parameter_and_value(cls):
    for name in constructor_of(cls):
        wrong = WRONG_VALUES[name]
        with pytest.raises(ValueError, match=rf"^{name}") as caught:
            cls(**{name: wrong}).fit(X, Y)
        assert "must be" in str(caught.value)
        assert str(wrong).strip("[]") in str(caught.value)


def is_offered(parameter: Parameter, name: str) -> bool:
    """Whether a parameter takes a name; those without a list look theirs up elsewhere."""
    return not parameter.names or name in parameter.names


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("graph", "spanning_tree"),
        ("completion", "zero"),
        ("kernel", "linear"),
        ("gamma", "scale"),
        ("margin_loss", "edge"),
        ("projection", "gaussian"),
        ("projection_scope", "tree"),
        ("aggregation", "subspace"),
        ("max_features", "sqrt"),
        ("splitter", "best"),
        ("loss", "huber"),
        ("head", "complete"),
        ("step", "newton"),
        ("decoding", "threshold"),
        ("leaf_fit", "relabel"),
        ("leaf_values", "newton"),
        ("eval_metric", "r2"),
        ("pruning", "f_test"),
        ("pruning_level", "cv"),
        ("class_weight", "balanced"),
    ],
)
def test_a_misspelt_choice_brings_the_nearest_one_to_mind(name, meant):
    takers = [
        cls
        for cls in ESTIMATORS.values()
        if name in constructor_of(cls) and is_offered(declaration_of(cls, name), meant)
    ]
    assert takers
    for cls in takers:
        with pytest.raises(ValueError, match=rf"Did you mean '{meant}'\?$"):
            cls(**{name: WRONG_VALUES[name]}).fit(X, Y)


@each_estimator
def test_every_name_that_a_parameter_offers_is_accepted(cls):
    for name in constructor_of(cls):
        parameter = declaration_of(cls, name)
        assert all(parameter.accepts(choice) for choice in parameter.names)
        assert all(repr(choice) in parameter.expected for choice in parameter.names)


@each_estimator
def test_a_saved_estimator_comes_back_with_parameters_and_predictions(cls, tmp_path):
    small = {"max_depth": 3, "n_estimators": 3}
    chosen = {name: value for name, value in small.items() if name in constructor_of(cls)}
    fitted = cls(random_state=0, **chosen).fit(X, Y)
    polyleaf.save(fitted, tmp_path / "model")
    loaded = polyleaf.load(tmp_path / "model")
    assert type(loaded) is cls
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.predict(X), fitted.predict(X))


def test_a_file_may_lack_a_parameter_only_if_it_is_younger_than_the_file():
    class Model(polyleaf.TreeRegressor):
        _declared: ClassVar = polyleaf.TreeRegressor._declared | {
            "max_depth": replace(
                polyleaf.TreeRegressor._declared["max_depth"], added=Added("9.0", before=3)
            )
        }

    stored = parameters_to_json(Model(max_depth=5, max_bins=7))
    assert parameters_from_json(Model, stored)["max_depth"] == 5
    del stored["max_depth"]
    assert parameters_from_json(Model, stored)["max_depth"] == 3
    del stored["max_bins"]
    with pytest.raises(ValueError, match="parameter max_bins is missing"):
        parameters_from_json(Model, stored)
