import contextlib
import io
import struct
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import loadmat, savemat

from polyleaf.datasets import DataFormatError, read_mat, read_rda

pyreadr = pytest.importorskip("pyreadr")
pd = pytest.importorskip("pandas")

X = np.arange(12, dtype=np.uint8).reshape(4, 3)
DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "bool", ">f8", ">i4"]
LABELS = np.array([[0, 1], [1, 1], [0, 0], [1, 0]], dtype=np.uint8)


def mat(write, **matrices):
    buffer = io.BytesIO()
    savemat(buffer, matrices)
    return write("toy.mat", buffer.getvalue())


@pytest.mark.parametrize("target", [LABELS, LABELS.T, LABELS * 2.0 - 1])
def test_mat_labels_are_read_in_either_orientation_and_coding(write, target):
    data = read_mat(mat(write, data=X, target=target))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y, LABELS)
    assert (data.X.dtype, data.Y.dtype) == (np.float64, np.int8)


def test_mat_regression_targets_and_sparse_matrices_are_kept(write):
    path = mat(write, a=sparse.csc_array(X.astype(float)), b=sparse.csc_array(LABELS.T * 1.0))
    data = read_mat(path, features="a", targets="b")
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.Y.toarray(), LABELS)
    assert isinstance(data.X, sparse.csr_array)
    assert data.Y.dtype == np.int8
    data = read_mat(mat(write, data=X, target=LABELS * 0.5))
    np.testing.assert_array_equal(data.Y, LABELS * 0.5)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        (
            {"data": X, "other": X},
            "'target', found 'data', 'other'; pass targets=",
        ),
        ({"data": X, "target": np.ones((3, 3))}, r"of shape \(n, d\) or \(d, n\) with n = 4"),
        ({"data": X, "target": np.array([[1, "a"]], dtype=object)}, "cells, structures"),
        ({"data": {"field": 1}, "target": LABELS}, "cells, structures"),
        ({"data": "text", "target": LABELS}, "to be a matrix of real numbers"),
        (
            {"data": np.ones((4, 3, 2)), "target": LABELS},
            "to be a matrix of real numbers",
        ),
        (
            {"data": np.empty((4, 0)), "target": LABELS},
            "to be a matrix of real numbers",
        ),
        ({"data": X * 1j, "target": LABELS}, "to be a matrix of real numbers"),
    ],
)
def test_unfit_mat_contents_are_refused(write, matrices, message):
    with pytest.raises(DataFormatError, match=message):
        read_mat(mat(write, **matrices))


@pytest.mark.parametrize("kept", [0, 10, 130, 190, 210])
def test_truncated_mat_file_is_a_format_error(write, kept):
    raw = mat(write, data=X, target=LABELS).read_bytes()
    with pytest.raises(DataFormatError, match=r"cut\.mat: the MATLAB file is damaged: expected"):
        read_mat(write("cut.mat", raw[:kept]))


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_mat_matrices_equal_those_of_scipy(tmp_path, dtype, is_compressed):
    matrix = np.random.RandomState(0).randint(0, 100, size=(5, 3)).astype(dtype)
    matrices = {"note": "text", "data": matrix, "cell": {"a": 1}, "target": matrix[:, :1] > 3}
    savemat(tmp_path / "toy.mat", matrices, do_compression=is_compressed)
    data = read_mat(tmp_path / "toy.mat")
    reference = loadmat(tmp_path / "toy.mat")
    np.testing.assert_array_equal(data.X, reference["data"])
    np.testing.assert_array_equal(data.Y, reference["target"])


def test_mat_file_in_the_other_byte_order_is_read(write):
    def element(code, content):
        return struct.pack(">II", code, len(content)) + content + bytes(-len(content) % 8)

    def matrix(name, values):
        shape = struct.pack(">2i", *values.shape)
        numbers = values.T.astype(">f8").tobytes()
        flags = element(6, struct.pack(">II", 6, 0))
        return element(14, flags + element(5, shape) + element(1, name) + element(9, numbers))

    header = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI"
    raw = header + matrix(b"data", X * 1.0) + matrix(b"target", LABELS * 1.0)
    data = read_mat(write("toy.mat", raw))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y, LABELS)


def test_inconsistent_sparse_mat_matrix_is_a_format_error(write):
    path = mat(write, data=sparse.csc_array(np.eye(4)), target=LABELS)
    raw = bytearray(path.read_bytes())
    row_indices = raw.index(struct.pack("<4i", 0, 1, 2, 3))
    raw[row_indices : row_indices + 4] = struct.pack("<i", 1_000_000)
    with pytest.raises(DataFormatError, match="consistent indices of a sparse matrix"):
        read_mat(write("toy.mat", bytes(raw)))


def test_mat_matrices_must_differ(write):
    with pytest.raises(ValueError, match="two matrices; got 'data' twice"):
        read_mat(mat(write, data=X), targets="data")


def test_mat_file_of_version_7_3_says_how_to_save_it(write):
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n"
    with pytest.raises(DataFormatError, match="save it with -v7"):
        read_mat(write("new.mat", header))


def test_missing_files_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_mat(tmp_path / "absent.mat")
    with pytest.raises(FileNotFoundError):
        read_rda(tmp_path / "absent.rda", targets=["a"])


def rda(tmp_path, name, frame):
    path = tmp_path / f"{name}.rda"
    pyreadr.write_rdata(str(path), frame, df_name=name)
    return path


FRAME = pd.DataFrame({"a": [1.5, np.nan], "x": [7, 8], "s": [0, 1], "t": [1, 1]})


def test_rda_columns_are_split_into_features_and_outputs(tmp_path):
    data = read_rda(rda(tmp_path, "toy", FRAME), targets=["t", "s"], exclude=["x"])
    np.testing.assert_array_equal(data.X, [[1.5], [np.nan]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [1, 1]])
    assert (data.feature_names, data.output_names) == (["a"], ["t", "s"])
    assert data.Y.dtype == np.int8


def test_rda_outputs_may_come_from_a_second_file(tmp_path):
    features, outputs = rda(tmp_path, "f", FRAME[["a"]]), rda(tmp_path, "o", FRAME[["x", "t"]])
    data = read_rda(features, outputs)
    np.testing.assert_array_equal(data.Y, [[7.0, 1.0], [8.0, 1.0]])
    assert data.name == "o"
    with pytest.raises(DataFormatError, match=r"expected as many rows as in .* \(2\), got 1"):
        read_rda(features, rda(tmp_path, "short", FRAME[["x"]][:1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either targets_path or targets"),
        ({"targets": ["q"]}, "targets must be columns of"),
        ({"targets": ["s"], "exclude": ["s"]}, "exclude must be columns of"),
        ({"targets": list("axst")}, "at least one feature and one output"),
    ],
)
def test_wrong_choice_of_rda_columns_says_what_to_do(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        read_rda(rda(tmp_path, "toy", FRAME), **options)


def test_text_in_rda_is_a_feature_but_not_an_output(tmp_path):
    path = rda(tmp_path, "toy", FRAME.assign(w=["p", "q"]))
    assert read_rda(path, targets=["s"]).X["w"].tolist() == ["p", "q"]
    with pytest.raises(DataFormatError, match="expected numeric outputs, but 'w'"):
        read_rda(path, targets=["w"])


@pytest.mark.parametrize("raw", [b"", b"RDX2\nX\n", b"not an R file at all" * 20])
def test_damaged_rda_is_a_format_error(write, raw):
    with pytest.raises(DataFormatError, match="expected"):
        read_rda(write("toy.rda", raw), targets=["a"])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=st.lists(st.tuples(st.floats(0, 0.999), st.binary(max_size=3)), min_size=1))
@pytest.mark.filterwarnings("ignore")
def test_rda_damaged_at_random_is_read_or_refused(tmp_path, damage):
    raw = bytearray(rda(tmp_path, "toy", FRAME.assign(w=["p", "q"])).read_bytes())
    for place, piece in damage:
        start = int(place * len(raw))
        raw[start : start + len(piece)] = piece
    (tmp_path / "damaged.rda").write_bytes(raw)
    with contextlib.suppress(ValueError):  # also where the columns asked for have lost their name
        assert read_rda(tmp_path / "damaged.rda", targets=["s", "t"]).n_outputs == 2


def test_rda_without_pyreadr_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadr", None)
    with pytest.raises(ImportError, match="pip install pyreadr"):
        read_rda(write("toy.rda", b""), targets=["a"])
