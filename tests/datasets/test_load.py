import bz2

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from polyleaf.datasets import DataFormatError, load, read_table

ARFF = (
    "@relation {}\n@attribute x numeric\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n"
    "@data\n1,0,1\n2,1,1\n"
)
HIERARCHY = "@relation c\n@attribute x numeric\n@attribute class hierarchical 1,1/2,3\n"
XML = "<labels><label name='a'/><label name='b'/></labels>"
CSV = "x,kind,a,b\n1.5,red,0,1\n,blue,1,1\n2.5,red,0,0\n"


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_tables_are_read_with_types_that_fit(tmp_path):
    data = load(write(tmp_path, "t.csv", CSV), targets=["b", "a"])
    assert data.output_names == ["b", "a"]
    assert data.Y.dtype == np.int8
    np.testing.assert_array_equal(data.Y, [[1, 0], [1, 1], [0, 0]])
    assert data.X["kind"].dtype == "category"
    assert data.X["x"].isna().tolist() == [False, True, False]


def test_numbers_alone_make_an_array_and_empty_outputs_are_unobserved(tmp_path):
    path = write(tmp_path, "t.tsv", "id\tx\ty\tz\n1\t2\t3\t\n2\t\t5\t6.5\n")
    data = load(path, targets=["y", "z"], exclude=["id"])
    np.testing.assert_array_equal(data.X, [[2.0], [np.nan]])
    np.testing.assert_array_equal(data.Y, [[3.0, np.nan], [5.0, 6.5]])


def test_texts_are_outputs_with_classes(tmp_path):
    path = write(tmp_path, "t.csv", "x,u,v\n1,a,c\n2,b,\n")
    assert load(path, targets=["u"]).Y.tolist() == [["a"], ["b"]]
    assert pd.isna(load(path, targets=["u", "v"]).Y[1, 1])
    with pytest.raises(DataFormatError, match=r"\['u'\] are texts and others are numbers"):
        load(path, targets=["u", "x"])


def test_parquet_and_compressed_tables_give_what_csv_gives(tmp_path):
    plain = load(write(tmp_path, "t.csv", CSV), targets=["a", "b"])
    pd.read_csv(tmp_path / "t.csv").to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv.bz2").write_bytes(bz2.compress(CSV.encode()))
    for name in ("t.parquet", "t.csv.bz2"):
        other = load(tmp_path / name, targets=["a", "b"])
        np.testing.assert_array_equal(other.Y, plain.Y)
        pd.testing.assert_frame_equal(other.X, plain.X)
        assert other.name == "t"


def test_arff_files_are_told_apart_by_their_header_and_neighbours(tmp_path):
    write(tmp_path, "mulan.xml", XML)
    for name in ("mulan.arff", "mulan-train.arff"):
        assert load(write(tmp_path, name, ARFF.format("toy"))).output_names == ["a", "b"]
    meka = write(tmp_path, "meka.arff", ARFF.format("'toy: -C -2'"))
    assert load(meka).output_names == ["a", "b"]
    clus = write(tmp_path, "clus.arff", HIERARCHY + "@data\n5,1/2@3\n")
    assert load(clus).output_names == ["1", "1/2", "3"]
    bare = write(tmp_path, "bare.arff", ARFF.format("toy"))
    with pytest.raises(ValueError, match=r"give targets .* n_targets .* or xml"):
        load(bare)
    assert load(bare, n_targets=1).output_names == ["b"]
    assert load(bare, targets=["x"]).output_names == ["x"]
    assert load(bare, xml=tmp_path / "mulan.xml").output_names == ["a", "b"]


def test_extreme_classification_files_are_read_by_their_header(tmp_path):
    path = write(tmp_path, "train.txt", "2 4 100000\n5,99999 0:1 3:0.5\n7 1:2\n")
    data = load(path)
    assert data.Y.shape == (2, 100_000)
    assert sparse.issparse(data.Y)
    assert data.X.shape == (2, 4)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("t.xlsx", {}, r"must end in one of \.arff.*got 't\.xlsx'"),
        ("t.csv", {}, "targets must name the outputs among the columns of t.csv"),
        ("t.csv", {"targets": []}, "at least one"),
        ("t.csv", {"targets": "a"}, "must be a list of column names"),
        ("t.csv", {"targets": ["a"], "n_targets": 1}, "for ARFF files"),
        ("t.svm", {"targets": ["a"]}, "lists its own labels"),
        ("t.rda", {}, "targets must name"),
        ("t.mat", {"targets": ["a", "b"]}, "one matrix"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, name, options, message):
    with pytest.raises(ValueError, match=message):
        load(write(tmp_path, name, CSV), **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,a\n", "at least one row"),
        ("x,a\n1,2\n1,2,3,4\n", "line 3: expected 2 values, .* got 4"),
        ("x,a\n1\n", "line 2: expected 2 values, .* got 1"),
        ("x,a,a\n1,2,3\n", r"every column name once, got \['a'\]"),
        ("x,b\n1,2\n", r"expected the columns \['a'\], but the file has 'x', 'b'"),
        ("a\n1\n", "at least one feature"),
        ('x,a\n1,"2\n', "t.csv"),
        ("x\x00,a\n1,2\n", "binary"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, text, message):
    with pytest.raises(DataFormatError, match=message):
        read_table(write(tmp_path, "t.csv", text), ["a"])


def test_damaged_parquet_files_are_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(DataFormatError, match="expected a parquet table"):
        read_table(tmp_path / "t.parquet", ["a"])


def test_an_output_named_twice_is_refused(tmp_path):
    path = write(tmp_path, "t.csv", "x,a\n1,2\n")
    for read in (lambda: read_table(path, ["a", "a"]), lambda: load(path, targets=["a", "a"])):
        with pytest.raises(ValueError, match="each output once; got 'a' twice"):
            read()
