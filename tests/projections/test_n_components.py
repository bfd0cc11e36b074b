"""The size of a view."""

import math

import numpy as np
import pytest

from polyleaf.projections import PCA, PROJECTIONS, Adaptive, Hadamard, Subsample
from polyleaf.projections._base import count_components


@pytest.mark.parametrize(
    ("n_dimensions", "expected"), [(1, 1), (2, 1), (6, 2), (983, 7), (3993, 8)]
)
def test_log_is_the_nearest_integer_to_the_natural_logarithm(n_dimensions, expected):
    assert count_components("log", n_dimensions) == expected


@pytest.mark.parametrize("n_outputs", [3, 8, 34, 35, 100])
def test_log_counts_the_outputs_that_vary_and_rounds_to_nearest(n_outputs, make_context):
    values = np.random.default_rng(0).normal(size=(20, n_outputs + 5))
    values[:, :5] = 1.0
    view = PROJECTIONS["gaussian"]("log").draw(make_context(values))
    assert view.n_channels == max(1, math.floor(math.log(n_outputs) + 0.5))


@pytest.mark.parametrize("n_dimensions", [1, 2, 4, 5, 9, 10, 16, 100, 101, 10**10])
def test_sqrt_is_the_fraction_one_over_sqrt_rounded_up(n_dimensions):
    root = count_components("sqrt", n_dimensions)
    assert (root - 1) ** 2 < n_dimensions <= root**2


@pytest.mark.parametrize("percent", range(1, 101))
def test_fraction_is_rounded_up_and_not_by_a_rounding_error(percent):
    assert count_components(percent / 100, 100) == percent
    assert count_components(percent / 100, 7) == math.ceil(7 * percent / 100)


def test_int_is_taken_as_it_is_and_a_float_of_one_is_everything():
    assert count_components(1, 50) == 1
    assert count_components(1.0, 50) == 50
    assert count_components(80, 50) == 80
    assert count_components(np.int32(3), 50) == 3
    assert count_components(np.float32(0.5), 50) == 25


#: Projections that can be asked for more components than there are outputs.
UNBOUNDED = [
    *(PROJECTIONS[name] for name in ("gaussian", "rademacher", "achlioptas", "sparse_rademacher")),
    PROJECTIONS["gradient_sampling"],
    lambda n_components: Subsample(n_components, replace=True),
    lambda n_components: Adaptive([PROJECTIONS["gaussian"](n_components)]),
]


@pytest.mark.parametrize("n_components", [10**12, 10**30])
@pytest.mark.parametrize("make", UNBOUNDED)
def test_views_beyond_the_memory_are_refused_before_they_are_drawn(
    make, n_components, make_context, monkeypatch
):
    monkeypatch.setattr("polyleaf.checks.memory.available_memory", lambda: 2**33)
    context = make_context(np.eye(6))
    with pytest.raises(MemoryError, match=r"6 rows by 10+ .* GiB, of which 8\.0 .* n_components"):
        make(n_components).draw(context)
    # What is refused must not depend on how many draws came before.
    assert context.rng.integers(2**40) == np.random.default_rng(0).integers(2**40)


@pytest.mark.parametrize("projection", [PCA(1.0), Hadamard(1.0)])
def test_fractions_beyond_the_memory_are_refused_too(projection, make_context, monkeypatch):
    monkeypatch.setattr("polyleaf.checks.memory.SMALL_BYTES", 0)
    # An entry of a row or a coefficient takes 8 bytes: 6 components of 6 rows and 6 outputs.
    monkeypatch.setattr("polyleaf.checks.memory.available_memory", lambda: 6 * (6 + 6) * 8 - 1)
    with pytest.raises(MemoryError, match="6 rows by 6 components"):
        projection.draw(make_context(np.eye(6)))
    monkeypatch.setattr("polyleaf.checks.memory.available_memory", lambda: 6 * (6 + 6) * 8)
    assert projection.draw(make_context(np.eye(6))).seen.all()
