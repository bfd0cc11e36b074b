"""Queries compare dates as databases keep them, and keep the columns that identify rows."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf.export import CannotExportError, rules_to_sql, to_sql
from polyleaf.export._sql import date_value

MODELS = [
    ("TreeRegressor", {"max_depth": 6}),
    ("BoostingRegressor", {"n_estimators": 10}),
    ("RuleRegressor", {"n_rules": 20}),
]


def make_dates(unit, zone=None, seed=0, n=300):
    """Readings at many instants of a few days, so that thresholds fall within a day."""
    rng = np.random.default_rng(seed)
    steps = {"h": 24 * 9, "s": 86_400 * 9, "us": 86_400 * 10**6 * 9}[unit]
    offset = rng.integers(0, steps, n).astype(f"timedelta64[{unit}]")
    when = pd.Series(pd.to_datetime(np.datetime64("2025-03-01") + offset)).astype("datetime64[ns]")
    when[rng.random(n) < 0.1] = pd.NaT
    return pd.DataFrame(
        {
            "id": rng.permutation(n),
            "when": when if zone is None else when.dt.tz_localize("UTC").dt.tz_convert(zone),
            "level": rng.normal(size=n).round(2),
            "station": rng.choice(["north", "south", "west"], n),
        }
    )


def fitted(name, parameters, frame):
    hours = frame["when"].dt.hour.fillna(0).to_numpy()
    days = frame["when"].dt.day.fillna(5).to_numpy()
    south = (frame["station"] == "south").to_numpy()
    Y = pd.DataFrame({"flow": np.sin(hours / 4) + days + south, "depth": days * frame["level"]})
    model = getattr(polyleaf, name)(random_state=0, **parameters)
    return model.fit(frame[["when", "level", "station"]], Y)


def expected(model, frame):
    found = pd.DataFrame(model.predict(frame[["when", "level", "station"]]), frame["id"])
    return found.sort_index().to_numpy()


@pytest.mark.parametrize("unit", ["h", "s", "us"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize(("name", "parameters"), MODELS)
def test_dates_that_pandas_wrote_to_sqlite_reach_the_same_leaves(name, parameters, zone, unit):
    model = fitted(name, parameters, make_dates(unit, zone))
    new = make_dates(unit, zone, seed=1)
    with sqlite3.connect(":memory:") as database:
        new.to_sql("readings", database, index=False)
        found = pd.read_sql(to_sql(model, "readings", key="id"), database, index_col="id")
    assert list(found.columns) == ["flow", "depth"]
    np.testing.assert_allclose(found.sort_index(), expected(model, new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("session", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/Lima"])
@pytest.mark.parametrize(("name", "parameters"), MODELS)
def test_dates_in_duckdb_reach_the_same_leaves(name, parameters, zone, session):
    duckdb = pytest.importorskip("duckdb")
    model = fitted(name, parameters, make_dates("us", zone))
    readings = make_dates("us", zone, seed=1)
    with duckdb.connect() as database:
        database.execute(f"SET TimeZone = '{session}'")
        database.register("readings", readings)
        found = database.execute(to_sql(model, "readings", key="id")).df().set_index("id")
    np.testing.assert_allclose(
        found.sort_index().astype(float), expected(model, readings), rtol=1e-5, atol=1e-5
    )


def test_days_in_duckdb_and_sqlite_reach_the_same_leaves():
    frame = make_dates("h")
    frame["when"] = frame["when"].dt.floor("D")
    model = fitted("TreeRegressor", {"max_depth": 6}, frame)
    query = to_sql(model, "readings", key="id")
    with sqlite3.connect(":memory:") as database:
        text = frame.assign(when=frame["when"].dt.strftime("%Y-%m-%d"))
        text.to_sql("readings", database, index=False)
        found = pd.read_sql(query, database, index_col="id").sort_index()
    np.testing.assert_allclose(found, expected(model, frame), rtol=1e-5, atol=1e-5)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        database.register("given", frame)
        database.execute(
            'CREATE TABLE readings AS SELECT * REPLACE (CAST("when" AS DATE) AS "when") FROM given'
        )
        found = database.execute(query).df().set_index("id").sort_index()
    np.testing.assert_allclose(found.astype(float), expected(model, frame), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "parameters"), MODELS)
def test_a_key_of_several_columns_may_hold_features(name, parameters):
    frame = make_dates("s")
    model = fitted(name, parameters, frame)
    new = make_dates("s", seed=2)
    new["station"] = new["station"].replace("west", "east")  # which fit has not seen
    with sqlite3.connect(":memory:") as database:
        new.to_sql("readings", database, index=False)
        query = to_sql(model, "readings", key=["station", "id"], prefix="p ")
        found = pd.read_sql(query, database)
    assert list(found.columns) == ["station", "id", "p flow", "p depth"]
    found = found.set_index("id").sort_index()
    assert found["station"].tolist() == new.set_index("id").sort_index()["station"].tolist()
    numbers = found[["p flow", "p depth"]]
    np.testing.assert_allclose(numbers, expected(model, new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "parameters"), [MODELS[0], MODELS[2]])
def test_keys_that_are_no_names_or_clash_are_refused(name, parameters):
    model = fitted(name, parameters, make_dates("h"))
    for wrong in (1, "", [], ["id", None], np.eye(2)):
        with pytest.raises(ValueError, match="key must be None, the name of a column or a list"):
            to_sql(model, "readings", key=wrong)
    with pytest.raises(ValueError, match="both named 'flow'"):
        to_sql(model, "readings", key="FLOW")
    with pytest.raises(ValueError, match="each column once; got 'Id' twice"):
        to_sql(model, "readings", key=["id", "Id"])
    assert to_sql(model, "readings", key="flow", prefix="p_")


def test_a_threshold_on_a_microsecond_keeps_its_own_microsecond():
    for text in ("2025-03-09 06:00:00.123457", "1969-12-31 23:59:59.999999", "2025-03-09"):
        instant = np.datetime64(text, "us")
        nanoseconds = float(instant.astype("datetime64[ns]").astype(np.int64))
        written = str(instant).replace("T", " ")
        assert date_value("when", nanoseconds) == f"'{written}+00:00'"
    assert date_value("when", 1500.0) == "'1970-01-01 00:00:00.000001+00:00'"
    with pytest.raises(CannotExportError, match="splits 'when' at a date outside of the years"):
        date_value("when", 9.9e21)


def test_rules_on_dates_are_written_with_dates():
    model = fitted("RuleRegressor", {"n_rules": 10}, make_dates("h"))
    query = rules_to_sql(model, "readings")
    assert "'2025-03-0" in query
    assert "e+18" not in query
