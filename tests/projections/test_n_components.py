"""The size of a view."""

import math

import numpy as np
import pytest

from ramify.projections._n_components import count_components


@pytest.mark.parametrize(
    ("n_dimensions", "expected"), [(1, 1), (2, 1), (6, 2), (983, 7), (3993, 8)]
)
def test_log_is_the_nearest_integer_to_the_natural_logarithm(n_dimensions, expected):
    assert count_components("log", n_dimensions) == expected


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
