"""Files that ask for more than they look like: bombs, wide tables, endless numbers, pipes."""

import bz2
import gzip
import lzma
import os

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

import polyleaf
from polyleaf.datasets import DataFormatError, load, read_features, read_mat, read_svmlight
from polyleaf.datasets import _files as files
from polyleaf.datasets._table import _check_names

COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
TABLE = "a,b,y\n" + "1,2,3\n" * 100


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_compressed_file_larger_than_max_bytes_is_refused(write, suffix):
    path = write(f"toy.csv.{suffix}", COMPRESSORS[suffix](TABLE.encode()))
    with pytest.raises(DataFormatError, match=r"at most 100 bytes.*raise max_bytes"):
        load(path, targets=["y"], max_bytes=100)
    with pytest.raises(DataFormatError, match="max_bytes"):
        read_features(path, max_bytes=len(TABLE) - 1)
    assert load(path, targets=["y"], max_bytes=len(TABLE)).n_samples == 100


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_no_more_than_a_block_beyond_max_bytes_is_decompressed(write, suffix, monkeypatch):
    monkeypatch.setattr(files, "_BLOCK_BYTES", 1000)
    taken = []

    class Counted:
        def __init__(self, opened):
            self.opened = opened

        def read(self, size):
            taken.append(size)
            return self.opened.read(size)

    decompress = files._decompress
    monkeypatch.setattr(
        files, "_decompress", lambda opened, *rest: decompress(Counted(opened), *rest)
    )
    path = write(f"bomb.csv.{suffix}", COMPRESSORS[suffix](b"0" * 1_000_000))
    with pytest.raises(DataFormatError, match="max_bytes"):
        load(path, targets=["y"], max_bytes=5000)
    assert sum(taken) <= 6000


@pytest.mark.parametrize("is_repeated", [True, False])
def test_a_parquet_file_larger_than_max_bytes_is_refused(tmp_path, is_repeated):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    values = np.zeros(20_000) if is_repeated else np.random.default_rng(0).normal(size=20_000)
    path = tmp_path / "bomb.parquet"
    pandas.DataFrame({"a": values, "y": values}).to_parquet(path)
    if is_repeated:
        assert path.stat().st_size < 10_000
    with pytest.raises(DataFormatError, match=r"at most 319999 bytes.*raise max_bytes"):
        load(path, targets=["y"], max_bytes=319_999)
    with pytest.raises(DataFormatError, match="max_bytes"):
        read_features(path, max_bytes=100_000)
    assert load(path, targets=["y"], max_bytes=400_000).n_samples == 20_000


def test_a_plain_file_of_any_size_is_read(write):
    assert load(write("toy.csv", TABLE.encode()), targets=["y"], max_bytes=1).n_samples == 100


def test_compressed_files_in_several_parts_are_read_whole(write):
    for suffix, compress in COMPRESSORS.items():
        parts = compress(TABLE.encode()) + compress(b"4,5,6\n")
        data = load(write(f"toy.csv.{suffix}", parts), targets=["y"])
        assert data.n_samples == 101, suffix


def test_compressed_matrices_of_a_mat_file_are_bounded_in_all(tmp_path):
    path = tmp_path / "toy.mat"
    matrices = {"data": np.zeros((1000, 50)), "target": np.zeros((1000, 50))}
    savemat(path, matrices, do_compression=True)
    assert path.stat().st_size < 10_000
    with pytest.raises(DataFormatError, match="max_bytes"):
        read_mat(path, max_bytes=500_000)  # each one holds 400,000
    assert read_mat(path, max_bytes=900_000).n_samples == 1000
    assert load(path, max_bytes=2**70).n_samples == 1000


def test_compressed_r_data_are_bounded(tmp_path):
    pandas, pyreadr = pytest.importorskip("pandas"), pytest.importorskip("pyreadr")
    path = tmp_path / "toy.rda"
    frame = pandas.DataFrame({"a": np.zeros(5000), "y": np.ones(5000)})
    pyreadr.write_rdata(str(path), frame, df_name="toy", compress="gzip")
    with pytest.raises(DataFormatError, match="max_bytes"):
        load(path, targets=["y"], max_bytes=10_000)
    with pytest.raises(ValueError, match=r"read_rda\(features_file, targets_file\)"):
        load(path)


@pytest.mark.parametrize("max_bytes", [0, -1, 1.5, None, True])
def test_max_bytes_must_be_a_positive_integer(write, max_bytes):
    with pytest.raises(ValueError, match="max_bytes must be an integer of at least 1"):
        load(write("toy.csv", TABLE.encode()), targets=["y"], max_bytes=max_bytes)


def test_names_of_columns_are_compared_in_linear_time():
    class Counting(str):
        n_comparisons = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counting.n_comparisons += 1
            return str.__eq__(self, other)

    _check_names([Counting(f"column {i}") for i in range(3000)], "toy.csv")
    assert Counting.n_comparisons < 30_000


@pytest.mark.parametrize("target", ["a", "y"])
@pytest.mark.parametrize("n_digits", [400, 6000])
def test_a_number_of_400_digits_is_an_error_that_names_its_place(write, target, n_digits):
    path = write("toy.csv", f"a,b,y\n1,2,3\n{'9' * n_digits},2,1\n4,5,6\n".encode())
    with pytest.raises(DataFormatError, match=r"column 'a', got.* digits"):
        load(path, targets=[target])


def test_a_header_beyond_the_range_of_indices_is_named_as_such(write):
    path = write("toy.txt", b"2 3000000000 3\n0 5:1\n1 7:2\n")
    with pytest.raises(DataFormatError, match=r"line 1: expected a header.*3000000000 features"):
        read_svmlight(path)


def test_two_thousand_million_columns_are_read_and_refused_by_fit_with_the_reason(write):
    data = load(write("toy.txt", b"2 2000000000 3\n0 5:1\n1 1999999999:2\n"))
    assert data.X.shape == (2, 2_000_000_000)
    with pytest.raises(MemoryError, match=r"2000000000 columns.*Leave out columns"):
        polyleaf.TreeClassifier().fit(data.X, data.Y)


def test_sparse_columns_cost_boosting_no_array_per_round():
    tracemalloc = pytest.importorskip("tracemalloc")
    X = sparse.random_array((40, 100_000), density=1e-4, format="csr", random_state=0)
    Y = np.random.RandomState(0).rand(40, 2)
    tracemalloc.start()
    try:
        model = polyleaf.BoostingRegressor(n_estimators=60, random_state=0).fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300 * 100_000  # it was 8 bytes per column and round, twice
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "toy.csv")
    with pytest.raises(DataFormatError, match="pipe"):
        load(tmp_path / "toy.csv", targets=["y"])
