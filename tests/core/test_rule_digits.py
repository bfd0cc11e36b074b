"""Thresholds written with the digits that the core counts stay where they are."""

import numpy as np
import pytest

from polyleaf import _core

pytestmark = pytest.mark.kernel

AT_MOST, EQUAL = 0, 2
MOST = 17


def count(offsets, low, high, feature, op, value, most=MOST):
    digits = np.zeros(len(feature), np.uint8)
    arrays = (np.array(offsets), np.array(low, float), np.array(high, float))
    conditions = (np.array(feature, np.int32), np.array(op, np.uint8), np.array(value, float))
    _core.count_threshold_digits(*arrays, *conditions, most, digits)
    return digits


@pytest.mark.parametrize("scale", [1e-9, 1.0, 12345.0, 1e12])
def test_thresholds_with_so_many_digits_stay_between_the_values_next_to_them(scale):
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=300)) * scale + scale
    middle = values[:-1] + np.diff(values) / 2
    n = middle.size
    digits = count([0, 300], values, values, np.zeros(n), np.zeros(n), middle)
    written = np.array([float(f"{v:.{d}g}") for v, d in zip(middle, digits)])
    assert ((written >= values[:-1]) & (written < values[1:])).all()
    assert 1 < np.median(digits) < 10


def test_few_digits_are_enough_between_distant_values():
    assert count([0, 2], [0, 1], [0, 1], [0], [AT_MOST], [0.5]).tolist() == [1]
    assert count([0, 2], [0, 100], [0, 100], [0], [AT_MOST], [51.2345]).tolist() == [1]


def test_conditions_without_a_threshold_need_one_digit():
    found = count([0, 3], [0, 1, 2], [0, 1, 2], [0, 0, 0], [EQUAL, AT_MOST, AT_MOST],
                  [1.23456, 0.0, np.inf])  # fmt: skip
    assert found.tolist() == [1, 1, 1]


def test_thresholds_on_a_value_or_beyond_all_of_them_are_counted():
    found = count([0, 0, 2], [1, 2], [1, 2], [1, 1, 0], [AT_MOST] * 3, [1.0, 5.0, 7.5])
    assert found.tolist() == [MOST, 1, 1]


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": [0, 3]},
        {"offsets": [1, 2]},
        {"high": [0.0]},
        {"feature": [1]},
        {"feature": [-1]},
        {"op": [0, 0]},
        {"value": []},
        {"most": 0},
        {"most": 256},
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_refused(change):
    known = {"offsets": [0, 2], "low": [0, 1], "high": [0, 1]}
    known |= {"feature": [0], "op": [0], "value": [0.5]}
    count(**known)
    with pytest.raises(ValueError):
        count(**known | change)
