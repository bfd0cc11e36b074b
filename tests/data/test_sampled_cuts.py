"""Cuts of many rows, which a sample of them says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polyleaf.data import dense_binning
from polyleaf.data.binned import BinnedFeatures
from polyleaf.data.binning import BinnedData

N_ROWS = 4_000


def make_columns() -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    few = rng.integers(0, 20, N_ROWS).astype(float)
    few[7] = 99.0  # which a sample may miss
    skewed = np.where(rng.random(N_ROWS) < 0.9, 0.0, rng.exponential(size=N_ROWS))
    missing = np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.normal(size=N_ROWS))
    return np.column_stack([rng.normal(size=N_ROWS), few, skewed, missing])


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> BinnedFeatures:
    monkeypatch.setattr(dense_binning, "SAMPLE_ROWS", 1_000)
    monkeypatch.setattr(dense_binning, "MANY_ROWS", 2_000)
    return BinnedData(make_columns()).binned(63)


def codes_of(binned: BinnedFeatures, feature: int) -> NDArray[Any]:
    place = int(np.flatnonzero(binned.dense_features == feature)[0])
    return binned.dense_codes[place // 4, :, place % 4].astype(np.int64)


def test_every_value_lies_between_the_borders_of_its_bin(sampled: BinnedFeatures) -> None:
    X = make_columns()
    for feature in range(X.shape[1]):
        bins = slice(*sampled.bin_offsets[feature : feature + 2])
        high, codes = sampled.bin_high[bins], codes_of(sampled, feature)
        is_known = ~np.isnan(X[:, feature])
        values, codes = X[is_known, feature], codes[is_known]
        assert (codes_of(sampled, feature)[~is_known] == 255).all()
        assert (values <= high[codes])[codes < high.size - 1].all()
        assert (values > np.append(-np.inf, high)[codes]).all()


def test_columns_of_few_values_stay_exact(sampled: BinnedFeatures) -> None:
    bins = slice(*sampled.bin_offsets[1:3])
    values = np.unique(make_columns()[:, 1])
    assert np.array_equal(sampled.bin_high[bins], values)
    assert np.array_equal(sampled.bin_low[bins], values)


def test_bins_of_a_sample_hold_about_equal_shares(sampled: BinnedFeatures) -> None:
    counts = np.bincount(codes_of(sampled, 0))
    assert counts.size == 63
    assert counts.max() < 4 * N_ROWS / 63


def test_a_frequent_value_has_a_bin_and_is_stored_as_a_byte(sampled: BinnedFeatures) -> None:
    assert sampled.sparse_features.size == 0
    assert np.bincount(codes_of(sampled, 2)).max() >= (make_columns()[:, 2] == 0).sum()


def test_cuts_of_a_sample_are_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_binning, "SAMPLE_ROWS", 1_000)
    first, second = (BinnedData(make_columns()).binned(63) for _ in range(2))
    assert np.array_equal(first.bin_high, second.bin_high)
