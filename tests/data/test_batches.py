"""X in batches is binned as from one table, without all of its numbers at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy import sparse

import polyleaf
from polyleaf import BinnedData
from polyleaf.data import batch_binning, dense_binning
from polyleaf.data.binned import BinnedFeatures

N_ROWS = 3_000


def make_numbers(n_rows: int = N_ROWS) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    few = rng.integers(0, 20, n_rows).astype(float)
    few[7] = 99.0
    skewed = np.where(rng.random(n_rows) < 0.9, 0.0, rng.exponential(size=n_rows))
    missing = np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows))
    flag = (rng.random(n_rows) < 0.1).astype(float)
    columns = [rng.normal(size=n_rows), few, skewed, missing, flag, np.full(n_rows, np.nan)]
    return np.column_stack([*columns, np.full(n_rows, 3.0)])


def make_frame(n_rows: int = N_ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = make_numbers(n_rows)
    town = np.array([f"town{i}" for i in rng.integers(0, 400, n_rows)], dtype=object)
    town[::13] = None
    return pd.DataFrame(
        {
            "number": X[:, 0],
            "missing": X[:, 3],
            "town": town,
            "colour": pd.Categorical(
                rng.choice(["red", "green"], n_rows), categories=["red", "blue", "green"]
            ),
            "size": pd.Categorical(
                rng.choice(["S", "L"], n_rows), categories=["S", "M", "L"], ordered=True
            ),
            "is_open": rng.random(n_rows) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n_rows), "D"),
            "class": rng.integers(3, 9, n_rows),
        }
    )


def cut(table: Any, step: int) -> list[Any]:
    is_frame = isinstance(table, pd.DataFrame)
    starts = range(0, len(table), step)
    return [(table.iloc if is_frame else table)[at : at + step] for at in starts]


def assert_same(found: BinnedFeatures, expected: BinnedFeatures) -> None:
    for field in dataclasses.fields(BinnedFeatures):
        of_batches, of_one = getattr(found, field.name), getattr(expected, field.name)
        assert np.array_equal(of_batches, of_one), field.name


def assert_same_data(found: BinnedData, expected: BinnedData, max_bins: int = 255) -> None:
    assert found.schema.to_json() == expected.schema.to_json()
    assert found.shape == expected.shape
    assert_same(found.binned(max_bins), expected.binned(max_bins))


@pytest.fixture(params=["all rows are kept", "a sample is kept"])
def sampling(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "a sample is kept":
        monkeypatch.setattr(dense_binning, "SAMPLE_ROWS", 1_000)
        monkeypatch.setattr(dense_binning, "MANY_ROWS", 2_000)
    return str(request.param)


@pytest.mark.parametrize("step", [1, 701, 5_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("sampling")
def test_arrays_in_batches_have_the_bins_of_one_array(step: int, dtype: Any) -> None:
    X = make_numbers().astype(dtype)
    found = BinnedData.from_batches(cut(X, step), max_bins=63)
    assert_same_data(found, BinnedData(X), 63)


@pytest.mark.parametrize("step", [97, 701])
@pytest.mark.usefixtures("sampling")
def test_frames_in_batches_have_the_bins_of_one_frame(step: int) -> None:
    X = make_frame()
    found = BinnedData.from_batches(cut(X, step), ["class"])
    assert_same_data(found, BinnedData(X, ["class"]))
    assert found.schema.categories[2].size > 255


@pytest.mark.usefixtures("sampling")
def test_arrow_and_polars_batches_have_the_bins_of_one_table() -> None:
    X = make_frame().drop(columns=["size", "colour"])
    table = pa.Table.from_pandas(X, preserve_index=False)
    expected = BinnedData(table)
    assert_same_data(BinnedData.from_batches(table.to_batches(max_chunksize=800)), expected)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    assert_same_data(BinnedData.from_batches(list(frame.iter_slices(800))), BinnedData(frame))


@pytest.mark.usefixtures("sampling")
def test_integers_before_floats_and_missing_columns_before_strings() -> None:
    first = pd.DataFrame({"a": [1, 2], "b": pd.Series([None, None], dtype=object)})
    later = pd.DataFrame({"a": [0.5, np.nan], "b": ["x", None]})
    found = BinnedData.from_batches([first, later])
    assert_same_data(found, BinnedData(pd.concat([first, later])))


def test_a_buffer_that_is_filled_again_is_copied() -> None:
    X = make_numbers()
    buffer = np.empty((500, X.shape[1]))

    def batches() -> Iterator[NDArray[np.float64]]:
        for part in cut(X, 500):
            buffer[:] = part
            yield buffer

    assert_same_data(BinnedData.from_batches(batches), BinnedData(X))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_files_are_read_as_tables_with_targets(tmp_path: Path, suffix: str) -> None:
    frame = make_frame(1_000).drop(columns=["size", "colour", "day"])
    frame["row"] = np.arange(1_000)
    frame["y"], frame["z"] = frame["number"] * 2, frame["class"] > 5
    paths = [tmp_path / f"part{i}{suffix}" for i in range(2)]
    for path, part in zip(paths, cut(frame, 600)):
        if suffix == ".parquet":
            pq.write_table(pa.Table.from_pandas(part, preserve_index=False), path)
        else:
            part.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    found = BinnedData.from_batches(paths, targets=["z", "y"], exclude=["row"], batch_rows=300)
    X = frame.drop(columns=["row", "y", "z"])
    assert_same_data(found, BinnedData(X))
    Y = pd.DataFrame(found.Y if suffix != ".parquet" else found.Y.to_pandas())
    assert list(Y.columns) == ["z", "y"]
    assert np.allclose(Y["y"], frame["y"])
    assert_same_data(
        BinnedData.from_batches(str(paths[0]), targets=["y", "z", "row"]), BinnedData(X[:600])
    )


def test_an_unnamed_first_column_holds_row_names(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(",a,b\n0,1.5,?\n1,2.5,3\n")
    data = BinnedData.from_batches(path)
    assert data.schema.names == ("a", "b")
    assert np.array_equal(data.encoded[:], [[1.5, np.nan], [2.5, 3.0]], equal_nan=True)


@pytest.mark.usefixtures("sampling")
def test_targets_of_batches_are_joined_as_what_they_are() -> None:
    X = make_numbers()
    Y = np.column_stack([X[:, 0], X[:, 2]])
    pairs = list(zip(cut(X, 800), cut(Y, 800)))
    assert np.array_equal(BinnedData.from_batches(pairs).Y, Y)
    ys = [(x, y[:, 0]) for x, y in pairs]
    assert np.array_equal(BinnedData.from_batches(ys).Y, Y[:, 0])
    frames = [(x, pd.DataFrame(y, columns=["a", "b"])) for x, y in pairs]
    joined = BinnedData.from_batches(frames).Y
    assert list(joined.columns) == ["a", "b"]
    assert np.array_equal(joined.to_numpy(), Y)
    labels = [(x, sparse.csr_array(y > 0)) for x, y in pairs]
    assert np.array_equal(BinnedData.from_batches(labels).Y.toarray(), Y > 0)
    assert BinnedData.from_batches([x for x, _ in pairs]).Y is None


@pytest.mark.usefixtures("sampling")
def test_values_of_codes_lie_in_the_bins_of_the_codes() -> None:
    X = make_frame()
    whole = BinnedData(X, ["class"])
    found = BinnedData.from_batches(cut(X, 701), ["class"])
    rows = np.array([5, 2_999, 17, 5])
    assert found.encoded[rows].shape == (4, X.shape[1])
    again = dense_binning.bin_dense(
        found.encoded[:],
        np.where(whole.schema.is_categorical, whole.schema.n_categories, -1),
        255,
        1,
    )
    assert np.array_equal(again.dense_features, found.binned(255).dense_features)
    if X.shape[0] < 2 * dense_binning.SAMPLE_ROWS:
        assert_same(again, dataclasses.replace(found.binned(255), bin_low=again.bin_low))
    assert np.array_equal(found.encoded[rows], found.encoded[:][rows], equal_nan=True)
    assert np.array_equal(found.encoded[10:20], found.encoded[:][10:20], equal_nan=True)


ESTIMATORS = [
    polyleaf.TreeRegressor(max_depth=4),
    polyleaf.RandomForestRegressor(n_estimators=5, oob_score=True, random_state=0),
    polyleaf.ExtraTreesRegressor(n_estimators=5, random_state=0),
    polyleaf.BoostingRegressor(n_estimators=8, random_state=0),
    polyleaf.BoostingRegressor(n_estimators=8, subsample=0.5, random_state=0),
    polyleaf.BoostingRegressor(n_estimators=8, early_stopping=True, random_state=0),
    polyleaf.BoostingRegressor(n_estimators=8, projection="auto", random_state=0),
    polyleaf.RuleRegressor(n_rules=5, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: repr(e)[:60])
@pytest.mark.usefixtures("sampling")
def test_models_of_batches_are_those_of_one_table(estimator: Any) -> None:
    X = make_numbers()[:, :5]
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] - X[:, 0]])
    data = BinnedData.from_batches(list(zip(cut(X, 700), cut(Y, 700))))
    of_batches = estimator.fit(data, data.Y).predict(X)
    whole = BinnedData(X)
    of_one = estimator.fit(whole, Y).predict(X)
    if getattr(estimator, "subsample", 1.0) == 1.0:
        assert np.array_equal(of_batches, of_one)
    else:  # rows that a tree was not grown on are known by their bins alone
        assert np.abs(of_batches - of_one).mean() < 0.01 * of_one.std()


def test_a_model_predicts_and_goes_on_from_batches() -> None:
    X = make_numbers()[:, :5]
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] - X[:, 0]])
    data = BinnedData.from_batches(cut(X, 700))
    models = []
    for given in (data, X):
        model = polyleaf.BoostingRegressor(n_estimators=4, warm_start=True, random_state=0)
        model.fit(given, Y)
        models.append(model.set_params(n_estimators=8).fit(given, Y))
    assert np.allclose(models[0].predict(X), models[1].predict(X))
    assert np.allclose(models[0].predict(data), models[0].predict(X))


def test_no_more_rows_are_kept_in_floats_than_the_sample_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dense_binning, "SAMPLE_ROWS", 200)
    kept = []
    add = batch_binning._Sample.add

    def watched(self: Any, encoded: NDArray[Any]) -> None:
        add(self, encoded)
        kept.append(sum(map(len, self._parts)))

    monkeypatch.setattr(batch_binning._Sample, "add", watched)
    data = BinnedData.from_batches(cut(make_numbers(), 100))
    assert max(kept) <= 400
    assert data.binned(255).dense_codes.dtype == np.uint8


def once() -> Iterator[NDArray[np.float64]]:
    yield from cut(make_numbers(), 500)


REFUSED = [
    (once(), {}, TypeError, "walk only once"),
    (make_numbers(), {}, TypeError, r"one ndarray.*BinnedData\(X\)"),
    (make_frame(), {}, TypeError, "one DataFrame"),
    (5, {}, TypeError, "got int"),
    (lambda: 5, {}, TypeError, "returned int"),
    ([], {}, ValueError, "at least one row"),
    ("rows.xlsx", {}, ValueError, "must end in .parquet, .csv or .tsv"),
    ([np.ones((2, 3)), np.ones((2, 4))], {}, ValueError, "3 columns.*got one of 4"),
    ([np.ones((2, 3))], {"max_bins": None}, ValueError, "got None"),
    ([np.ones((2, 3))], {"max_bins": 1000}, ValueError, "from 2 to 255"),
    ([np.ones((2, 3))], {"batch_rows": 0}, ValueError, "batch_rows"),
    ([np.ones((2, 3))], {"targets": ["a"]}, TypeError, "name columns"),
    ([pd.DataFrame({"a": [1], "b": [2]})], {"targets": ["bb"]}, ValueError, "'bb'.*mean 'b'"),
    ([pd.DataFrame({"a": [1], "b": [2]})], {"targets": "b"}, TypeError, "list of column names"),
    ([sparse.csr_array(np.eye(3))], {}, TypeError, "must be dense"),
    ([(np.ones((2, 3)), np.ones(3))], {}, ValueError, "same number of rows; got 2 and 3"),
    ([(np.ones((2, 3)), np.ones(2)), np.ones((2, 3))], {}, ValueError, "with every batch"),
    ([pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})], {}, ValueError, "feature names"),
    ([pd.DataFrame({"a": [1]}), pd.DataFrame({"a": ["x"]})], {}, TypeError, "'a'.*strings"),
    ([pd.DataFrame({"a": ["x"]}), pd.DataFrame({"a": [1]})], {}, TypeError, "'a'.*numbers"),
]


@pytest.mark.parametrize(("batches", "settings", "error", "message"), REFUSED)
def test_what_cannot_be_read_is_refused_with_advice(
    batches: Any, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        BinnedData.from_batches(batches, **settings)


def test_batches_that_change_between_the_passes_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dense_binning, "SAMPLE_ROWS", 100)
    sizes = iter([500, 400, 500, 600])
    for message in ("but 400", "but more than 500"):
        with pytest.raises(ValueError, match=message):
            BinnedData.from_batches(lambda: [make_numbers(next(sizes))])


def test_other_bins_than_those_of_the_batches_are_refused() -> None:
    data = BinnedData.from_batches([make_numbers()], max_bins=63)
    with pytest.raises(ValueError, match="max_bins=63"):
        polyleaf.TreeRegressor().fit(data, make_numbers()[:, 0])
    polyleaf.TreeRegressor(max_bins=63).fit(data, make_numbers()[:, 0])
