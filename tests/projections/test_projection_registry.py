"""Projections by name and in model files."""

import numpy as np
import pytest

from polyleaf import projections
from polyleaf.projections import (
    PROJECTIONS,
    Gaussian,
    Projection,
    Rademacher,
    Subsample,
    View,
    from_json,
    resolve,
    to_json,
)


class Unregistered(Projection):
    def draw(self, context):
        return View.of_all(context.n_channels)


def test_registry_names_every_projection_of_the_package():
    public = [getattr(projections, name) for name in projections.__all__]
    concrete = {
        each
        for each in public
        if isinstance(each, type) and issubclass(each, Projection) and not each.__abstractmethods__
    }
    # A transformer has no name and no description in JSON.
    assert concrete - {projections.FromTransformer} == set(PROJECTIONS.values())


def test_none_and_instances_resolve_to_themselves():
    projection = Gaussian(n_components=3)
    assert resolve(None) is None
    assert resolve(projection) is projection


@pytest.mark.parametrize(
    ("name", "suggestion"), [("gausian", "gaussian"), ("PCA", "pca"), ("sub_sample", "subsample")]
)
def test_near_name_is_suggested(name, suggestion):
    with pytest.raises(ValueError, match=f"got '{name}'. Did you mean '{suggestion}'?"):
        resolve(name)


def test_unknown_name_is_refused_with_all_the_choices():
    with pytest.raises(ValueError, match=r"or a Projection; got 'zzz'\.$") as error:
        resolve("zzz")
    assert all(repr(name) in str(error.value) for name in PROJECTIONS)


def test_class_is_refused_with_the_call_that_was_meant():
    with pytest.raises(TypeError, match=r"Did you mean Gaussian\(\)\?"):
        resolve(Gaussian)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match=r"or a Projection; got 3\.$"):
        resolve(3)


def test_json_holds_every_parameter():
    assert to_json(Rademacher(n_components=4, density=0.5)) == {
        "name": "rademacher",
        "params": {"n_components": 4, "density": 0.5},
    }


def test_numpy_scalars_become_json_types():
    params = to_json(Subsample(n_components=np.int64(4), replace=np.bool_(True)))["params"]
    assert {key: type(value) for key, value in params.items()} == {
        "n_components": int,
        "replace": bool,
        "first_sees_all": bool,
    }


def test_unregistered_projection_is_not_stored():
    with pytest.raises(TypeError, match=r"got Unregistered\(\)"):
        to_json(Unregistered())


def test_projection_with_invalid_parameters_is_not_stored():
    with pytest.raises(ValueError, match="n_components must be"):
        to_json(Gaussian(n_components=-1))


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        "gaussian",
        {},
        {"name": "gaussian"},
        {"name": "gaussian", "params": {"n_components": 3}, "extra": 1},
        {"name": "os.system", "params": {}},
        {"name": ["gaussian"], "params": {}},
        {"name": "gaussian", "params": None},
        {"name": "gaussian", "params": {}},
        {"name": "gaussian", "params": {"n_components": 3, "draw": 1}},
        {"name": "gaussian", "params": {"n_components": {}}},
        {"name": "gaussian", "params": {"n_components": 0}},
        {"name": "rademacher", "params": {"n_components": 3, "density": "1"}},
        {"name": "subsample", "params": {"n_components": 3, "replace": 1}},
    ],
)
def test_damaged_description_is_a_value_error(damaged):
    with pytest.raises(ValueError):
        from_json(damaged)
