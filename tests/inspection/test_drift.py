"""Drift is seen where there is some, and nowhere else."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats

import polyleaf
from polyleaf.inspection import drift


def make_frame(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.normal(size=n), "age": rng.integers(0, 90, n)})
    frame["city"] = rng.choice(["Bern", "Chur", "Genf"], n)
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    return frame


def test_rows_of_the_same_kind_have_not_drifted():
    before = make_frame(800, 0)
    alarms = [drift(before, make_frame(600, seed)).drifted for seed in range(1, 30)]
    assert not any(alarms)


def test_every_way_of_drifting_is_seen():
    before, now = make_frame(800, 0), make_frame(600, 1)
    assert drift(before, now.assign(size=now["size"] * 2)).drifted == ["size"]
    assert drift(before, now.assign(age=now["age"] + 20)).drifted == ["age"]
    assert drift(before, now.assign(city=now["city"].replace("Bern", "Basel"))).drifted == ["city"]
    gone = now.copy()
    gone.loc[::2, "age"] = np.nan
    found = drift(before, gone)
    assert found.drifted == ["age"]
    assert found.missing_now[1] == 0.5
    assert found.missing_before[1] == 0.0


def test_distances_are_those_of_scipy_and_of_shares():
    before, now = make_frame(300, 0), make_frame(200, 1).assign(city="Genf")
    found = drift(before, now)
    expected = stats.ks_2samp(before["age"], now["age"], method="asymp").statistic
    assert found.distances[1] == pytest.approx(expected)
    assert found.distances[2] == pytest.approx(1 - (before["city"] == "Genf").mean())
    assert found.new_shares[2] == 0.0
    everything = now.assign(city=["Rom", "Bern"] * 100)
    assert drift(before, everything).new_shares[2] == 0.5


def test_the_chance_of_a_false_alarm_among_many_columns_is_bounded():
    rng = np.random.default_rng(0)
    n_alarms = sum(
        drift(
            rng.normal(size=(60, 40)), rng.normal(size=(60, 40)), least_distance=0.0, level=0.2
        ).is_drifted.any()
        for _ in range(40)
    )
    assert n_alarms <= 14


def test_rates_of_labels_are_compared_sparse_or_dense():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    Y = (X > [0.0, 1.0, 0.5]).astype(int)
    model = polyleaf.TreeClassifier(max_depth=3).fit(X, Y)
    now = X + [0.0, 1.0, 0.0]
    found = drift(model.predict(X), model.predict(now))
    assert found.drifted == ["x1"]
    rates = model.predict(X).mean(axis=0), model.predict(now).mean(axis=0)
    np.testing.assert_allclose(found.distances, np.abs(rates[0] - rates[1]))
    thin = drift(sparse.csr_array(model.predict(X)), sparse.csr_array(model.predict(now)))
    np.testing.assert_allclose(thin.p_values, found.p_values)


def test_frames_of_polars_and_columns_in_another_order_are_matched_by_name():
    before, now = make_frame(200, 0), make_frame(200, 1)
    expected = drift(before, now)
    other = drift(pl.from_pandas(before), pl.from_pandas(now[["city", "size", "age"]]))
    assert other.names == expected.names
    np.testing.assert_allclose(other.distances, expected.distances)
    table = expected.to_frame()
    assert table["distance"].is_monotonic_decreasing


def test_what_cannot_be_compared_is_refused():
    before = make_frame(20, 0)
    with pytest.raises(ValueError, match="lacks"):
        drift(before, before[["size"]])
    with pytest.raises(ValueError, match="same columns; got 2 and 3"):
        drift(np.zeros((3, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="must have rows"):
        drift(before, before[:0])
    with pytest.raises(ValueError, match="level must be from 0 to 1"):
        drift(before, before, level=2)
