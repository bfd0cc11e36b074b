"""Which rows carry weight, and weights that cannot be summed."""

import numpy as np
import pytest
from tests.core.training_problems import make_training_data

X = np.arange(4.0)[:, None]
Y = np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, np.nan], [4.0, 5.0]])


def test_rows_without_an_observed_output_carry_no_weight():
    assert make_training_data(X, Y).weighted_rows.tolist() == [0, 2, 3]


def test_rows_of_zero_weight_carry_none():
    weights = np.array([1.0, 1.0, 2.0, 0.0])
    assert make_training_data(X, Y, weights).weighted_rows.tolist() == [0, 2]


def test_a_row_whose_weight_lies_on_what_is_not_observed_carries_none():
    weights = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 9.0], [0.0, 1.0]])
    assert make_training_data(X, Y, weights).weighted_rows.tolist() == [0, 3]


def test_no_row_with_weight_is_refused():
    with pytest.raises(ValueError, match="positive weight and an observed output"):
        make_training_data(X, Y, np.array([0.0, 1.0, 0.0, 0.0]))


@pytest.mark.parametrize("weight", [0.0, 1e-101, 1e101, 1.7e308])
def test_weights_that_cannot_be_summed_are_refused(weight):
    with pytest.raises(ValueError, match="Multiply all of them"):
        make_training_data(X, Y, np.full(4, weight))


@pytest.mark.parametrize("weight", [1e-99, 0.3, 1.0, 3.0, 1e98])
def test_the_unit_of_weights_is_the_power_of_two_below_the_largest(weight):
    unit = make_training_data(X, Y, np.array([weight, 0.0, weight / 7, 0.0])).weight_unit
    assert 1.0 <= weight / unit < 2.0
    assert np.frexp(unit)[0] == 0.5
