"""Dates and durations: nanoseconds to the model, dates and durations to its readers."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import polyleaf
from polyleaf import RuleClassifier, TreeClassifier
from polyleaf.data import FeatureSchema, time_text
from polyleaf.inspection import rules_text, tree_text

DAYS = pd.date_range("2024-01-01", periods=60, freq="D")


@pytest.fixture(scope="module")
def data():
    X = pd.DataFrame({"when": DAYS, "took": pd.to_timedelta(np.arange(60) % 7, unit="h")})
    return X, pd.DataFrame({"late": (X["when"] > "2024-02-05") * 1, "slow": np.arange(60) % 7 > 3})


@pytest.mark.parametrize(
    "text",
    ["2024-02-29", "1066-10-14", "2025-03-09 06:01", "1969-12-31 23:59:59.999999", "12024-05-06"],
)
def test_a_date_is_written_as_it_would_be_given(text):
    instant = np.datetime64(text.replace(" ", "T"), "us")
    assert time_text(float(instant.astype(np.int64)) * 1e3, "date", 3) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ns"),
        (86_400 * 1.5, "1.5 days"),
        (-5400.0, "-1.5 h"),
        (90.0, "1.5 min"),
        (2e-6, "2 us"),
    ],
)
def test_a_duration_is_written_in_its_largest_unit(seconds, text):
    assert time_text(seconds * 1e9, "duration", 4) == text


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, np.nan])
@pytest.mark.parametrize("kind", ["date", "duration"])
def test_no_number_is_too_large_to_be_written(value, kind):
    assert time_text(value, kind, 3)


def test_schemas_know_times_and_keep_them_in_json(data):
    X = data[0].assign(size=1.5)
    for given in (X, pl.from_pandas(X)):
        schema, _ = FeatureSchema.fit(given)
        assert schema.times == {0: "date", 1: "duration"}
        assert FeatureSchema.from_json(schema.to_json()).times == schema.times
    for column, kind in (("when", "date"), ("took", "duration")):
        array = X[[column]].to_numpy()
        schema, encoded = FeatureSchema.fit(array)
        assert schema.times == {0: kind}
        assert np.array_equal(encoded, FeatureSchema.fit(X[[column]])[1])
    assert "times" not in FeatureSchema.fit(X[["size"]])[0].to_json()
    assert FeatureSchema.fit(X, categorical_features=["when"])[0].times == {1: "duration"}


@pytest.mark.parametrize(
    "times",
    [{"2": "date"}, {"0": "year"}, {"x": "date"}, {"00": "date"}, ["date"], {"1": "date"}, 3],
)
def test_a_file_with_damaged_times_is_refused(times):
    X = pd.DataFrame({"when": DAYS[:2], "colour": ["red", "blue"]})
    stored = FeatureSchema.fit(X)[0].to_json()
    with pytest.raises(ValueError, match="times must"):
        FeatureSchema.from_json(stored | {"times": times})


def test_rules_and_trees_are_read_in_dates_and_durations(data, tmp_path):
    X, Y = data
    model = RuleClassifier(n_rules=12, random_state=0).fit(X, Y)
    polyleaf.save(model, tmp_path / "rules")
    for text in (
        "\n".join(model.rules_["body"]),
        rules_text(model),
        "\n".join(polyleaf.load(tmp_path / "rules").rules_["body"]),
        tree_text(TreeClassifier().fit(X, Y)),
        "\n".join(model.explain(X.iloc[55])["body"]),
    ):
        assert "2024-0" in text
        assert "took > 3.5 h" in text
        assert "e+" not in text


LENGTHS = {"days": 86_400 * 10**9, "h": 3_600 * 10**9, "min": 60 * 10**9, "s": 10**9}
LENGTHS |= {"ms": 10**6, "us": 10**3, "ns": 1}


def nanoseconds_of(text):
    """Read what a sentence says, exactly."""
    if text.count("-") == 2:
        return int(pd.Timestamp(text).value)
    number, unit = text.split(" ")
    return Fraction(number) * LENGTHS[unit]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "unit", ["D", "12h", "7min", "s", "1300us", "us", pytest.param("1ns", id="ns")]
)
@pytest.mark.parametrize("kind", ["date", "duration"])
def test_a_sentence_is_true_of_every_training_row(kind, unit, seed, exact):
    rng = np.random.default_rng(seed)
    counts = np.unique(rng.integers(1, 90, size=50))
    step = pd.Timedelta(unit if unit[0].isdigit() else f"1{unit}").value
    values = counts * step
    if kind == "date" and step > 1:  # a number of nanoseconds today has no room for single ones
        values = values + pd.Timestamp("2024-05-05").value
    X = values.astype("M8[ns]" if kind == "date" else "m8[ns]").reshape(-1, 1)
    Y = (rng.random((len(X), 2)) < 0.5) * 1
    bins = None if exact else 255
    model = RuleClassifier(n_rules=10, max_conditions=1, max_bins=bins, random_state=seed)
    covers = model.fit(X, Y).covers(X)
    for t, body in enumerate(model.rules_["body"]):
        if t > 0:
            _, sign, text = body.split(" ", 2)
            above = [int(value) > nanoseconds_of(text) for value in values]
            assert np.array_equal(covers[:, t], above if sign == ">" else ~np.array(above)), body


def test_durations_in_trees_have_digits_after_the_point():
    X = pd.DataFrame({"tenure": pd.to_timedelta(np.arange(1000, 1040), unit="D")})
    tree = TreeClassifier().fit(X, np.arange(40) >= 20)
    assert "tenure <= 1019.5 days" in tree_text(tree)
    assert "tenure <= 1019.5 days" in tree_text(tree, decimals=2)


def test_dates_with_a_zone_are_shown_in_utc(data):
    X, Y = data
    X = X.assign(when=X["when"].dt.tz_localize("Europe/Berlin"))[["when"]]
    tree = TreeClassifier(max_bins=None, max_depth=1).fit(X, Y["late"])
    assert "when <= 2024-02-05 11:00" in tree_text(tree)
