"""Bins of sorted columns are those of the naive reference."""

import naive_quantiles as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from polyleaf import _core

pytestmark = pytest.mark.kernel

NAN = np.nan


def cut_into_bins(counts, max_bins):
    ends = np.full(min(len(counts), max_bins), -7)
    _core.cut_into_bins(np.array(counts, np.int64), ends)
    return ends


def cut_columns(columns, max_bins, n_threads=1):
    """Sort columns and give low, high, commonest bin and its rows of each."""
    ordered = np.sort(columns, axis=1)
    low, high = np.full((2, len(ordered), max_bins), -7.0)
    n_bins, commonest, n_commonest = np.full((3, len(ordered)), -7)
    _core.cut_columns(ordered, low, high, n_bins, commonest, n_commonest, n_threads)
    return [(low[i, :n], high[i, :n], commonest[i], n_commonest[i]) for i, n in enumerate(n_bins)]


def check_columns(columns, max_bins, n_threads=1):
    for values, (low, high, commonest, n_commonest) in zip(
        columns, cut_columns(columns, max_bins, n_threads)
    ):
        expected_low, expected_high, counts = naive.cut_column(values.astype(float), max_bins)
        assert_array_equal(low, expected_low)
        assert_array_equal(high, expected_high)
        assert not np.signbit(low[low == 0]).any()
        assert n_commonest == (counts.max() if counts.size else 0)
        assert commonest == (np.argmax(counts) if counts.size else 0)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.integers(1, 3), st.integers(1, 1000)), min_size=1, max_size=60),
    st.integers(2, 20),
)
def test_cuts_are_those_of_the_reference_and_use_every_bin_they_may(counts, max_bins):
    ends = cut_into_bins(counts, max_bins)
    assert_array_equal(ends, naive.cut_into_bins(np.array(counts), max_bins))
    assert ends.size == min(len(counts), max_bins)
    assert ends[-1] == len(counts)
    assert (np.diff(ends, prepend=0) > 0).all()


def test_no_value_has_no_bin():
    assert cut_into_bins([], 5).size == 0


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([0.0, -0.0, 1.0, NAN, np.inf, -np.inf, 2.0]),
            st.floats(width=32),
            st.integers(-5, 5).map(float),
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 20),
    st.sampled_from([np.float32, np.float64]),
)
def test_bins_of_a_column_are_those_of_the_reference(values, max_bins, dtype):
    check_columns(np.array([values], dtype), max_bins)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("max_bins", [2, 16, 255, 2000])
def test_bins_of_many_columns_are_those_of_the_reference(max_bins, n_threads):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(12, 1500))
    for decimals in range(4):
        columns[decimals] = columns[decimals].round(decimals)
    columns[4:8][rng.random((4, 1500)) < 0.4] = 0.0
    columns[6:10][rng.random((4, 1500)) < 0.2] = NAN
    columns[11] = NAN
    check_columns(columns, max_bins, n_threads)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gathered_columns_are_those_of_the_matrix(dtype, n_threads):
    values = np.random.default_rng(0).normal(size=(37, 23)).astype(dtype)
    features = np.array([3, 22, 0, 4, 5, 6, 7, 8, 9, 10, 3], np.int32)
    block = np.full((features.size, 37), -7, dtype)
    _core.gather_columns(values, features, block, n_threads)
    assert_array_equal(block, values[:, features].T)


def cut_arguments():
    return {
        "ordered": np.ones((3, 5)),
        "low": np.empty((3, 2)),
        "high": np.empty((3, 2)),
        "n_bins": np.empty(3, np.int64),
        "commonest": np.empty(3, np.int64),
        "n_commonest": np.empty(3, np.int64),
        "n_threads": 1,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"ordered": np.ones((3, 5), np.int64)},
        {"ordered": np.ones((4, 5))},
        {"ordered": np.ones((5, 3)).T},
        {"low": np.empty((2, 2))},
        {"low": np.empty((3, 3))},
        {"high": np.empty((4, 2))},
        {"low": np.empty((3, 0)), "high": np.empty((3, 0))},
        {"n_bins": np.empty(2, np.int64)},
        {"commonest": np.empty(4, np.int64)},
        {"n_commonest": np.empty(3, np.int32)},
        {"n_threads": 0},
    ],
    ids=", ".join,
)
def test_cut_columns_refuses(change):
    _core.cut_columns(**cut_arguments())
    with pytest.raises((TypeError, ValueError)):
        _core.cut_columns(**cut_arguments() | change)


def test_columns_that_are_not_sorted_are_cut_somehow():
    columns = np.random.default_rng(0).normal(size=(4, 90))
    columns[:, ::7] = NAN
    low, high = np.empty((2, 4, 20))
    counted = np.empty((3, 4), np.int64)
    _core.cut_columns(columns, low, high, *counted, 1)
    assert (counted[0] <= 20).all()


@pytest.mark.parametrize(
    ("counts", "n_bins"),
    [([1, 0, 2], 2), ([1, -3, 2], 2), ([1, 2**40], 1), ([2**30] * 3, 2), ([1], 2), ([1, 2], 0)],
)
def test_cut_into_bins_refuses(counts, n_bins):
    with pytest.raises(ValueError):
        _core.cut_into_bins(np.array(counts), np.empty(n_bins, np.int64))


@pytest.mark.parametrize(
    "change",
    [
        {"features": np.array([2], np.int32)},
        {"features": np.array([-1], np.int32)},
        {"block": np.empty((2, 5))},
        {"block": np.empty((1, 4))},
        {"block": np.empty((1, 5), np.float32)},
        {"n_threads": 0},
    ],
    ids=", ".join,
)
def test_gather_columns_refuses(change):
    arguments = {
        "values": np.ones((5, 2)),
        "features": np.array([1], np.int32),
        "block": np.empty((1, 5)),
        "n_threads": 1,
    }
    _core.gather_columns(**arguments)
    with pytest.raises((TypeError, ValueError)):
        _core.gather_columns(**arguments | change)
