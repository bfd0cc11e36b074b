"""Tables as people have them: row names, question marks, semicolons, dates, stray texts."""

import warnings
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyleaf import TreeRegressor
from polyleaf.datasets import DataFormatError, DataFormatWarning, load, read_features, read_table


def write(folder, text):
    path = folder / "t.csv"
    path.write_text(text)
    return path


def parquet(folder, **columns):
    path = folder / "t.parquet"
    pd.DataFrame(columns).to_parquet(path)
    return path


def test_a_question_mark_is_a_missing_number(tmp_path):
    data = load(write(tmp_path, "a,y\n1,2\n?,3\n4,?\n"), targets=["y"])
    assert np.array_equal(data.X[:, 0], [1, np.nan, 4], equal_nan=True)
    assert np.array_equal(data.Y[:, 0], [2, 3, np.nan], equal_nan=True)


@pytest.mark.parametrize("targets", [["y"], ["a"]])
def test_a_misspelt_number_makes_a_warning(tmp_path, targets):
    path = write(tmp_path, "a,y\n" + "".join(f"{i},{2 * i}\n" for i in range(50)) + "1.0.3,7\n")
    with pytest.warns(DataFormatWarning, match=r"'a' are numbers and 1 are not, .*'1\.0\.3'"):
        read_table(path, targets)


def test_codes_and_names_make_no_warning(tmp_path):
    path = write(tmp_path, "a,b,y\n12,red,1\nV7,blue,2\n3,red,3\nB2,,4\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read_table(path, ["y"])
    assert data.X["a"].cat.categories.tolist() == ["12", "3", "B2", "V7"]


def test_a_long_column_is_of_one_kind_from_its_first_row_to_its_last(tmp_path):
    # pandas reads long files in pieces, each of which may find another type.
    rows = [f"{i % 3},1\n" for i in range(600_000)] + ["x,0\n"] * 100_000
    data = read_table(write(tmp_path, "a,y\n" + "".join(rows)), ["y"])
    assert data.X["a"].cat.categories.tolist() == ["0", "1", "2", "x"]


def test_row_names_without_a_name_are_no_feature(tmp_path):
    frame = pd.DataFrame({"a": [5.0, 6.0], "y": [1.0, 2.0]})
    frame.to_csv(tmp_path / "t.csv")
    assert list(load(tmp_path / "t.csv", targets=["y"]).feature_names) == ["a"]
    assert read_features(tmp_path / "t.csv").tolist() == [[5.0, 1.0], [6.0, 2.0]]


def test_blanks_around_names_are_no_part_of_them(tmp_path):
    data = load(write(tmp_path, "a , y \n1, 2\n3, 4\n"), targets=["y"])
    assert list(data.feature_names) == ["a"]
    with pytest.raises(DataFormatError, match=r"every column name once, got \['a'\]"):
        load(write(tmp_path, "a ,a,y\n1,2,3\n"), targets=["y"])


def test_another_separator_is_named(tmp_path):
    with pytest.raises(DataFormatError, match=r"the file has 'a;y'; is its separator ';'\?"):
        load(write(tmp_path, "a;y\n1;2\n"), targets=["y"])


@pytest.mark.parametrize("name", ["none.csv", "none.tsv", "none.parquet", "none.csv.gz"])
def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path, name):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / name, targets=["y"])


def test_dates_durations_and_decimals_are_numbers(tmp_path):
    days = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    path = parquet(
        tmp_path,
        day=days,
        local=days.tz_localize("Europe/Vienna"),
        time=pd.to_timedelta([1, 2, 3], unit="s"),
        price=[Decimal("1.5"), None, Decimal("2")],
        y=[1.0, 2.0, 3.0],
    )
    X = load(path, targets=["y"]).X
    assert np.isnan(X[1, [0, 1, 3]]).all()
    assert (X[2, :2] - X[0, :2]).tolist() == [2 * 86400e9] * 2
    assert X[:, 2].tolist() == [1e9, 2e9, 3e9]
    assert X[[0, 2], 3].tolist() == [1.5, 2.0]
    # The same numbers as from a frame that is given to an estimator.
    frame = pd.DataFrame({"day": days.astype("datetime64[ns]")})
    X = pd.DataFrame({"day": X[:, 0]})
    tree = TreeRegressor().fit(X, [1.0, 2.0, 3.0])
    assert tree.predict(frame).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("value", [[1], {"b": 1}, b"a"], ids=["list", "dict", "bytes"])
def test_what_is_neither_number_nor_text_is_refused(tmp_path, value):
    with pytest.raises(DataFormatError, match="numbers, texts or dates in the column 'a'"):
        load(parquet(tmp_path, a=[value, value], y=[1.0, 2.0]), targets=["y"])
    with pytest.raises(DataFormatError, match="numbers, texts or dates in the column 'a'"):
        load(parquet(tmp_path, a=[value, value], y=[1.0, 2.0]), targets=["a"])


def test_dates_are_no_outputs(tmp_path):
    path = parquet(tmp_path, a=[1.0, 2.0], y=pd.to_datetime(["2020", "2021"]))
    with pytest.raises(DataFormatError, match="numbers or texts in the output 'y', got dates"):
        load(path, targets=["y"])


def test_categories_stay_categories(tmp_path):
    path = parquet(tmp_path, a=pd.Categorical(["3", "1", "3"]), y=[1.0, 2.0, 3.0])
    assert load(path, targets=["y"]).X["a"].dtype == "category"


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    columns = [pa.array([1, 2])] * 3
    pq.write_table(pa.Table.from_arrays(columns, names=["a", "a", "y"]), tmp_path / "t.parquet")
    with pytest.raises(DataFormatError, match=r"t\.parquet"):
        load(tmp_path / "t.parquet", targets=["y"])


@pytest.mark.parametrize("gap", ["", "?"])
def test_booleans_with_a_gap_are_numbers_as_those_without_are(tmp_path, gap):
    data = read_table(write(tmp_path, f"a,y,z\nTrue,False,1\n{gap},{gap},0\n"), ["y", "z"])
    assert np.array_equal(data.X, [[1], [np.nan]], equal_nan=True)
    assert np.array_equal(data.Y, [[0, 1], [np.nan, 0]], equal_nan=True)


def test_integers_of_more_than_64_bits_are_numbers(tmp_path):
    assert read_features(write(tmp_path, f"a\n{10**30}\n1\n")).tolist() == [[1e30], [1.0]]


def test_dates_may_be_far_away_or_without_a_time_of_day(tmp_path):
    far = np.array(["3000-01-01", "NaT"], "datetime64[us]")
    path = parquet(tmp_path, far=far, day=[None, date(1970, 1, 2)])
    day = 86400e9
    days = (date(3000, 1, 1) - date(1970, 1, 1)).days
    expected = [[days * day, np.nan], [np.nan, day]]
    assert np.array_equal(read_features(path), expected, equal_nan=True)
    with pytest.raises(DataFormatError, match="'day', got dates or durations"):
        read_table(path, ["day"])


def test_hours_of_dates_with_a_zone_count(tmp_path):
    zoned = pd.to_datetime([datetime(1970, 1, 1, 13)]).tz_localize("Europe/Paris")
    assert read_features(parquet(tmp_path, a=zoned))[0, 0] == 12 * 3600e9


def test_names_of_a_parquet_file_differ_in_more_than_blanks(tmp_path):
    with pytest.raises(DataFormatError, match=r"every column name once, got \['a'\] again"):
        read_features(parquet(tmp_path, **{"a": [1.0], "a ": [2.0]}))


def test_empty_lines_above_the_names_are_skipped(tmp_path):
    assert read_features(write(tmp_path, "\n\na,b\n1,2\n")).tolist() == [[1.0, 2.0]]


def test_a_pattern_stands_for_all_columns_that_begin_so(tmp_path):
    path = tmp_path / "sensors.csv"
    path.write_text("sensor 2,size,sensor 10,sensor id,a*\n1,2,3,4,5\n6,7,8,9,10\n")
    data = read_table(path, ["a*", "sensor *"], exclude=["*id"])
    assert data.output_names == ["a*", "sensor 2", "sensor 10"]
    assert data.feature_names == ["size"]
    assert read_table(path, ["sensor ?"], exclude=["* id"]).output_names == ["sensor 2"]
    with pytest.raises(DataFormatError, match="expected the columns \\['valve"):
        read_table(path, ["valve *"])
    assert read_features(path, exclude=["sensor *"]).shape == (2, 2)
