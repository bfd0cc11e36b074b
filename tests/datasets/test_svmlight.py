import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from polyleaf.datasets import DataFormatError, DataFormatWarning, read_svmlight
from polyleaf.datasets._files import SkippedLines
from polyleaf.datasets._svmlight import _quick_rows, _strict_rows


def test_labels_and_features_are_read_sparsely(write):
    data = read_svmlight(write("toy.svm", "2,0 1:0.5 3:-1e2\n\n1 2:1 # a comment\n"))
    assert isinstance(data.X, sparse.csr_array)
    assert data.Y.dtype == np.int8
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, -100], [0, 1, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1], [0, 1, 0]])
    assert list(data.output_names) == ["y0", "y1", "y2"]


@pytest.mark.parametrize("row", [" 1:2", "1:2", "\t1:2"])
def test_row_without_labels_is_kept(write, row):
    data = read_svmlight(write("toy.svm", f"0 1:1\n{row}\n"))
    np.testing.assert_array_equal(data.Y.toarray(), [[1], [0]])
    np.testing.assert_array_equal(data.X.toarray(), [[1], [2]])


def test_row_without_features_is_kept(write):
    data = read_svmlight(write("toy.svm", "0,1\n1 1:3\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[0], [3]])


def test_base_of_indices_is_guessed_or_given(write):
    path = write("toy.svm", "1 1:1\n2 2:1\n")
    assert read_svmlight(path).X.shape == (2, 2)
    assert read_svmlight(path, zero_based=True).X.shape == (2, 3)
    assert read_svmlight(path, zero_based_labels=True).Y.shape == (2, 3)
    assert read_svmlight(write("zero.svm", "1 0:1\n2 1:1\n")).X.shape == (2, 2)


def test_given_sizes_make_parts_of_one_shape(write):
    data = read_svmlight(write("toy.svm", "1 1:1\n"), n_features=7, n_labels=5)
    assert (data.n_features, data.n_outputs) == (7, 5)


def test_header_of_extreme_classification_gives_sizes_and_base(write):
    data = read_svmlight(write("toy.txt", "2 5 4\n1,3 1:0.5\n2 4:1\n"))
    assert (data.X.shape, data.Y.shape) == ((2, 5), (2, 4))
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1, 0, 1], [0, 0, 1, 0]])
    with pytest.raises(DataFormatError, match="expected 3 rows, as the header says, got 2"):
        read_svmlight(write("toy.txt", "3 5 4\n1,3 1:0.5\n2 4:1\n"))


def test_huge_index_costs_no_memory_for_names(write):
    data = read_svmlight(write("toy.svm", "0 999999999:1\n"))
    assert data.n_features == 999_999_999
    assert data.feature_names[-1] == "x999999998"


DAMAGED_ROWS = {
    "0 1": "expected index:value, got '1'",
    "a 1:1": "expected a label, an integer",
    "1.5 1:1": "expected a label, an integer",
    "-1 1:1": "expected a label, an integer",
    "0,,1 1:1": "expected a label, an integer",
    "0,0 1:1": "expected every label once",
    "0 x:1": "expected a feature index, an integer",
    "0 -1:1": "expected a feature index, an integer",
    "0 99999999999:1": "expected a feature index, an integer",
    "0 2147483647:1": "expected a feature index, an integer",
    "0 1:x": "expected a number, got 'x'",
    "0 1:": "expected a number, got ''",
    "0 1:nan": "expected a number, got 'nan'",
    "0 1:?": "expected a number, got '?'",
    "0 1:1e999": "within the range of float64",
    "0 1:1:1": "expected a number, got '1:1'",
    "0 2:1 1:1": "expected ascending feature indices, got 1 after 2",
    "0 1:1 1:1": "expected ascending feature indices, got 1 after 1",
    "0 qid:3 1:1": "query ids are not supported",
}


@pytest.mark.parametrize("row", DAMAGED_ROWS)
def test_malformed_row_is_reported_or_skipped(write, row):
    path = write("toy.svm", f"0 1:1\n{row}\n1 2:1\n")
    with pytest.raises(DataFormatError) as caught:
        read_svmlight(path)
    assert "toy.svm, line 2: " in str(caught.value)
    assert DAMAGED_ROWS[row] in str(caught.value)
    with pytest.warns(DataFormatWarning, match="skipped 1 malformed line") as warned:
        data = read_svmlight(path, on_error="skip")
    assert warned[0].filename == __file__
    np.testing.assert_array_equal(data.X.toarray(), np.eye(2))
    np.testing.assert_array_equal(data.Y.toarray(), np.eye(2))


@pytest.mark.parametrize(
    "options",
    [{"n_features": 2}, {"n_labels": 2}, {"zero_based": False}, {"zero_based_labels": False}],
)
def test_index_out_of_range_is_reported_or_skipped(write, options):
    path = write("toy.svm", "1 1:1\n2,0 0:1 2:1\n1 1:1\n")
    with pytest.raises(DataFormatError, match="line 2: expected indices within"):
        read_svmlight(path, **options)
    with pytest.warns(DataFormatWarning):
        data = read_svmlight(path, on_error="skip", **options)
    assert (data.n_samples, data.n_skipped) == (2, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "n_features must be from 1"),
        ({"n_labels": -1}, "n_labels must be from 1"),
        ({"zero_based": "no"}, "zero_based must be True, False or 'auto'"),
        ({"on_error": "warn"}, "on_error must be"),
    ],
)
def test_wrong_option_says_what_is_allowed(write, options, message):
    with pytest.raises(ValueError, match=message):
        read_svmlight(write("toy.svm", "0 1:1\n"), **options)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_file_without_rows_is_an_error(write, text):
    with pytest.raises(DataFormatError, match=r"empty|at least one row"):
        read_svmlight(write("toy.svm", text))


TOKENS = st.one_of(
    st.sampled_from(
        ["0", "1,2", "1,1", ",", "0:1", "1:2.5", "3:1e3", "2:nan", "2:?", "1:1_0", "4:"]
    ),
    st.text(alphabet="012:,.-e? \t\x1f\xa0\u0663", max_size=5),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(TOKENS, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=3))
def test_quick_parser_accepts_nothing_the_strict_one_reads_otherwise(rows):
    rows = [row for row in (row.rstrip() for row in rows) if row]
    numbers = list(range(1, len(rows) + 1))
    try:
        quick = _quick_rows(rows, numbers)
    except ValueError:
        return
    strict = _strict_rows(rows, numbers, SkippedLines("rows", "raise"))
    for field in quick.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(quick, field), getattr(strict, field))


def test_quick_parser_takes_ordinary_rows():
    rows = _quick_rows(["0,2 1:0.5 3:1", " 2:4", "1"], [1, 2, 3])
    assert rows.values.tolist() == [0.5, 1.0, 4.0]
    assert rows.label_counts.tolist() == [2, 0, 1]
