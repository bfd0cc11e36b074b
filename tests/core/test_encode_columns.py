"""Codes of dense columns are those of `np.searchsorted`."""

import numpy as np
import pytest

from polyleaf import _core

pytestmark = pytest.mark.kernel


def encode(values, features, offsets, high, dtype, n_threads=1):
    codes = np.full((-(-len(features) // 4), len(values), 4), 77, dtype)
    _core.encode_columns(
        values=values,
        features=np.array(features, np.int32),
        bin_offsets=offsets,
        bin_high=high,
        codes=codes,
        n_threads=n_threads,
    )
    return codes


def make_bins(n_bins, seed=0):
    """Ascending ends of bins, one feature after the other."""
    rng = np.random.default_rng(seed)
    high = [np.sort(rng.choice(10 * n + 1, n, replace=False)).astype(float) for n in n_bins]
    return np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64), np.concatenate(high)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
@pytest.mark.parametrize("float_type", [np.float32, np.float64])
@pytest.mark.parametrize("features", [[0], [3, 1], [0, 1, 2, 3], [6, 5, 4, 3, 2, 1, 0]])
def test_codes_are_those_of_searchsorted(features, float_type, dtype, n_threads):
    n_bins = [1, 2, 3, 16, 100, 255, 0]
    offsets, high = make_bins(n_bins)
    rng = np.random.default_rng(1)
    values = rng.uniform(-5, 2600, (9000, 7))
    values[:, :4] = rng.uniform(-5, 170, (9000, 4))
    values[::2] = np.round(values[::2])  # many hit the end of a bin exactly
    values[rng.random(values.shape) < 0.1] = np.nan
    values[0], values[1] = np.inf, -np.inf
    values = values.astype(float_type)
    codes = encode(values, features, offsets, high, dtype, n_threads)
    for place, feature in enumerate(features):
        column = values[:, feature].astype(float)
        ends = high[offsets[feature] : offsets[feature + 1]]
        expected = np.minimum(np.searchsorted(ends, column), max(len(ends) - 1, 0))
        expected[np.isnan(column) | (len(ends) == 0)] = np.iinfo(dtype).max
        assert np.array_equal(codes[place // 4, :, place % 4], expected)
    unused = codes.transpose(1, 0, 2).reshape(9000, -1)[:, len(features) :]
    assert np.all(unused == 0)


@pytest.mark.parametrize("instruction_set", ["baseline", "avx2", "avx512"])
def test_floats_are_compared_with_ends_between_them(instruction_set):
    before = _core.instruction_set()
    if not _core.use_instruction_set(instruction_set):
        pytest.skip(f"no {instruction_set} here")
    try:
        values = np.random.default_rng(3).normal(size=(2000, 1)).astype(np.float32)
        nearest = np.unique(values)[::8].astype(float)
        step = np.spacing(nearest.astype(np.float32)).astype(float)
        high = np.sort(np.concatenate([nearest[::3], nearest[1::3] + step[1::3] / 4]))[:255]
        offsets = np.array([0, high.size], np.int64)
        codes = encode(values, [0], offsets, high, np.uint8)[0, :, 0]
    finally:
        _core.use_instruction_set(before)
    expected = np.minimum(np.searchsorted(high, values[:, 0].astype(float)), high.size - 1)
    assert np.array_equal(codes, expected)


def test_exact_codes_go_beyond_a_byte():
    offsets, high = make_bins([70_000])
    codes = encode(high[:, None].copy(), [0], offsets, high, np.uint32)
    assert np.array_equal(codes[0, :, 0], np.arange(70_000))
