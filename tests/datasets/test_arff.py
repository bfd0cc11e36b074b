import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from polyleaf.datasets import DataFormatError, DataFormatWarning, read_mulan
from polyleaf.datasets._arff_rows import _quick_dense, _quick_sparse, _strict_rows
from polyleaf.datasets._encoders import LevelEncoder, NumberEncoder, TextEncoder
from polyleaf.datasets._files import SkippedLines

HEADER = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute t {0,1}\n@data\n"


def read(write, text, **options):
    options = options or {"n_targets": 1}
    return read_mulan(write("toy.arff", text), **options)


# What a valid file means


def test_nominal_feature_is_a_category_with_the_declared_levels(write):
    data = read(write, HEADER + "1,y,0\n2,?,1\n")
    assert data.X["b"].dtype.categories.tolist() == ["x", "y"]
    assert data.X["b"].cat.codes.tolist() == [1, -1]
    assert data.X["a"].dtype == np.float64
    assert data.Y.dtype == np.int8


def test_nominal_feature_without_pandas_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        read(write, HEADER + "1,y,0\n")


def test_binary_features_are_numbers_and_need_no_pandas(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    data = read(write, "@relation r\n@attribute a {0,1}\n@attribute t {0,1}\n@data\n1,0\n0,1\n")
    np.testing.assert_array_equal(data.X, [[1.0], [0.0]])


@pytest.mark.parametrize("kind", ["numeric", "REAL", "Integer", "numeric % of the whole"])
def test_numeric_types_are_alike_in_any_case(write, kind):
    data = read(write, f"@relation r\n@attribute a {kind}\n@attribute t real\n@data\n-1.5e3,.5\n")
    assert (data.X[0, 0], data.Y[0, 0]) == (-1500.0, 0.5)


def test_quoted_names_and_values_keep_spaces_commas_and_escapes(write):
    data = read(
        write,
        r"""@relation 'a relation'
@attribute 'it\'s, one' {'p, q', "r's", 's\\t', plain}
@attribute "two words" numeric
@attribute t numeric
@data
'p, q',1,1
"r's", 2 ,2
's\\t',3,3 % a comment
plain,4,4
""",
    )
    assert data.feature_names == ["it's, one", "two words"]
    assert data.X["it's, one"].tolist() == ["p, q", "r's", "s\\t", "plain"]


def test_question_mark_is_missing_unless_quoted(write):
    data = read(
        write, "@relation r\n@attribute a {'?',b}\n@attribute t numeric\n@data\n?,1\n'?',2\nb,3\n"
    )
    assert data.X["a"].isna().tolist() == [True, False, False]
    assert data.X["a"][1] == "?"


def test_string_feature_is_a_text_column(write):
    data = read(
        write, "@relation r\n@attribute s string\n@attribute t real\n@data\n'a b',1\n?,2\nc,3\n"
    )
    assert data.X["s"].isna().tolist() == [False, True, False]
    assert data.X["s"][0] == "a b"
    assert data.X["s"][2] == "c"


def test_missing_labels_make_y_float_with_nan(write):
    data = read(write, HEADER + "1,y,?\n2,x,1\n")
    np.testing.assert_array_equal(data.Y, [[np.nan], [1.0]])


def test_outputs_with_other_levels_are_strings(write):
    data = read(write, HEADER + "1,y,0\n2,x,1\n", targets=["b", "t"])
    assert data.Y.tolist() == [["y", "0"], ["x", "1"]]
    data = read(write, HEADER + "1,?,0\n2,x,1\n", targets=["b"])
    assert data.n_missing_outputs == 1
    assert data.Y[1, 0] == "x"


def test_sparse_rows_omit_zeros(write):
    text = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute t {0,1}\n@data\n"
    data = read(write, text + "{0 1.5, 2 1}\n{}\n{ 1  ? }\n")
    assert isinstance(data.X, sparse.csr_array)
    assert isinstance(data.Y, sparse.csr_array)
    assert data.Y.dtype == np.int8
    np.testing.assert_array_equal(data.X.toarray(), [[1.5, 0], [0, 0], [0, np.nan]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1], [0], [0]])


def test_sparse_rows_with_unknown_labels_give_dense_y(write):
    text = "@relation r\n@attribute a numeric\n@attribute t {0,1}\n@data\n{0 1,1 ?}\n{1 1}\n"
    data = read(write, text)
    assert isinstance(data.X, sparse.csr_array)
    np.testing.assert_array_equal(data.Y, [[np.nan], [1.0]])


def test_omitted_nominal_value_is_the_first_declared_level(write):
    text = (
        "@relation r\n@attribute a {1,0}\n@attribute b {0,1}\n@attribute t {1,0}\n"
        "@attribute u {0,1}\n@data\n{}\n{0 0,1 1,2 0,3 1}\n{0 1}\n{0 ?}\n"
    )
    data = read(write, text, n_targets=2)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0], [0, 1], [1, 0], [np.nan, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 1], [1, 0], [1, 0]])


def test_levels_1_0_mean_the_same_in_dense_rows(write):
    text = "@relation r\n@attribute a {1,0}\n@attribute t {1,0}\n@data\n1,0\n0,1\n"
    data = read(write, text)
    np.testing.assert_array_equal(data.X, [[1.0], [0.0]])
    np.testing.assert_array_equal(data.Y, [[0], [1]])


def test_omitted_value_of_a_sparse_category_is_its_first_level(write):
    text = "@relation r\n@attribute a {p,q,r}\n@attribute t {0,1}\n@data\n{}\n{0 r,1 1}\n"
    assert read(write, text).X["a"].tolist() == ["p", "r"]


def test_dense_and_sparse_rows_may_be_mixed(write):
    text = "@relation r\n@attribute a real\n@attribute t {0,1}\n@data\n{0 2}\n3,1\n"
    data = read(write, text)
    np.testing.assert_array_equal(data.X, [[2.0], [3.0]])


# What a malformed file says

DAMAGED_ROWS = {
    "1,x": "expected 3 values, one per attribute, got 2",
    "1,x,0,": "expected 3 values, one per attribute, got 4",
    "1,,0": "expected a value at position 2, got nothing",
    "1,z,0": "expected one of {x, y}, got 'z'",
    "1,x,2": "expected one of {0, 1}, got '2'",
    "one,x,0": "expected a number, got 'one'",
    "nan,x,0": "write ? for a missing value",
    "inf,x,0": "expected a number, got 'inf'",
    "1_0,x,0": "expected a number, got '1_0'",
    "0x1F,x,0": "expected a number",
    "1e999,x,0": "within the range of float64",
    "-?,x,0": "expected a number, got '-?'",
    "٣,x,0": "expected a number",
    "1,'x,0": "expected a closing quote",
    "1,'x'y,0": "expected a comma or the end of the line",
    "1,x,0,{5}": "instance weights are not supported",
    "{0 1,2 1},{5}": "instance weights are not supported",
    "{3 1}": "expected attribute indices from 0 to 2, got 3",
    "{99999999999 1}": "expected entries 'index value'",
    "{0 1,0 2}": "got 0 repeated",
    "{1 y,0 2}": "got 0 out of order",
    "{,2 1}": "expected entries 'index value' within {...}, got ',2 1}'",
    "{0 1": "expected '}' or a comma after an entry",
    "{0}": "expected entries 'index value'",
    "{0 }": "expected a value for attribute 0, got nothing",
    "{-1 1}": "expected entries 'index value'",
    "{0 1} 2": "expected the end of the line after '}'",
    "{0 1 2}": "expected a number, got '1 2'",
}


@pytest.mark.parametrize("row", DAMAGED_ROWS)
def test_malformed_row_is_an_error_with_line_and_reason(write, row):
    with pytest.raises(DataFormatError) as caught:
        read(write, HEADER + f"1,x,0\n% a comment\n{row}\n2,y,1\n")
    assert caught.value.line == 8
    assert "toy.arff, line 8: " in str(caught.value)
    assert DAMAGED_ROWS[row] in str(caught.value)


@pytest.mark.parametrize("row", DAMAGED_ROWS)
def test_malformed_row_is_skipped_and_counted_on_request(write, row):
    path = write("toy.arff", HEADER + f"1,x,0\n{row}\n2,y,1\n{row}\n")
    with pytest.warns(DataFormatWarning, match="skipped 2 malformed lines; the first: ") as caught:
        data = read_mulan(path, n_targets=1, on_error="skip")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert data.n_skipped == 2
    assert data.X["a"].tolist() == [1.0, 2.0]
    assert "2 lines skipped" in repr(data)


DAMAGED_HEADERS = {
    "@relation r\n@attribute a numeric\n1,2\n": "expected @relation, @attribute or @data",
    "@relation r\n@attribute a numeric\n": "expected a line @data",
    "@relation r\n@data\n1\n": "expected @attribute lines before @data",
    "@attribute a numeric\n@attribute a numeric\n@data\n1,2\n": "got 'a' again",
    "@attribute a date yyyy\n@data\n1\n": "type date, which is not supported; convert dates",
    "@attribute a relational\n@data\n1\n": "flatten it",
    "@attribute a number\n@data\n1\n": "as the type of attribute 'a', got 'number'",
    "@attribute a\n@data\n1\n": "as the type of attribute 'a', got ''",
    "@attribute\n@data\n1\n": "expected an attribute name and a type",
    "@attribute a {x,y\n@data\nx\n": "expected '}' at the end of the list",
    "@attribute a {x,x}\n@data\nx\n": "expected distinct, non-empty levels",
    "@attribute a {}\n@data\nx\n": "expected distinct, non-empty levels",
    "@attribute a {x} y\n@data\nx\n": "expected the end of the line after '}'",
    "@attribute 'a numeric\n@data\n1\n": "expected a closing quote",
    "@attribute a hierarchical\n@data\n1\n": "expected the classes of the hierarchy",
    "@attribute a hierarchical x//y\n@data\n1\n": "expected a class path",
    "@attribute a numeric\n@attribute b real\n@data\n\n": "expected at least one row",
}


@pytest.mark.parametrize("text", DAMAGED_HEADERS)
def test_malformed_header_is_an_error_with_reason(write, text):
    with pytest.raises(DataFormatError) as caught:
        read(write, text)
    assert DAMAGED_HEADERS[text] in str(caught.value)


def test_header_is_never_skipped(write):
    with pytest.raises(DataFormatError, match="line 1"):
        read(write, "@attribute a date\n@data\n1\n", n_targets=1, on_error="skip")


def test_skipping_every_row_is_an_error(write):
    with (
        pytest.warns(DataFormatWarning),
        pytest.raises(DataFormatError, match="expected at least one row"),
    ):
        read(write, HEADER + "1\n2\n", n_targets=1, on_error="skip")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of xml"),
        ({"n_targets": 1, "targets": ["t"]}, "got 2 of them"),
        ({"n_targets": 0}, "n_targets must be an integer from 1 to 2"),
        ({"n_targets": 3}, "n_targets must be an integer from 1 to 2"),
        ({"targets": ["c"]}, "targets must be attribute names"),
        ({"targets": [3]}, "targets must be attribute names"),
        ({"targets": ["t", -1]}, "targets must be distinct"),
        ({"n_targets": 1, "on_error": "ignore"}, "on_error must be 'raise' or 'skip'"),
        ({"targets": ["a", "b"]}, "expected outputs of one kind, but 'a' is numeric"),
        ({"targets": ["a", "b", "t"]}, "outputs of one kind"),
        ({"targets": []}, "expected at least one output"),
    ],
)
def test_wrong_choice_of_outputs_says_what_to_do(write, options, message):
    with pytest.raises(ValueError, match=message):
        read_mulan(write("toy.arff", HEADER + "1,x,0\n"), **options)


def test_all_attributes_as_outputs_is_an_error(write):
    with pytest.raises(DataFormatError, match="every attribute is an output"):
        read(write, "@attribute t {0,1}\n@data\n1\n", targets=["t"])


def test_string_output_is_an_error(write):
    with pytest.raises(DataFormatError, match="'s' is a string attribute"):
        read(write, "@attribute a real\n@attribute s string\n@data\n1,x\n")


# The quick parsers agree with the strict one

CELLS = st.one_of(
    st.sampled_from(["0", "1", "?", "x", "y", "-?", "", " 1", "1 ", "nan", "1e5", "1_0", "+.5"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(alphabet="01xy?.-+e _%\u0663\x1f", max_size=4),
)


def strict(rows, encoders):
    numbers = list(range(1, len(rows) + 1))
    values = _strict_rows(rows, numbers, encoders, SkippedLines("rows", "raise"))
    return values.toarray() if isinstance(values, sparse.csr_array) else values


def encoders():
    return [
        NumberEncoder(),
        LevelEncoder(["x", "y", "0"]),
        LevelEncoder(["1", "0"]),
        TextEncoder(),
    ]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=3))
def test_quick_dense_parser_accepts_nothing_the_strict_one_reads_otherwise(cells):
    rows = [row for row in (",".join(row).strip() for row in cells) if row and row[0] not in "%{"]
    try:
        quick = _quick_dense(rows, encoders()) if rows else np.empty((0, 4))
    except ValueError:
        return
    np.testing.assert_array_equal(quick, strict(rows, encoders()).reshape(quick.shape))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 4), CELLS), max_size=4).map(
            lambda entries: "{" + ",".join(f"{idx} {cell}" for idx, cell in entries) + "}"
        ),
        min_size=1,
        max_size=3,
    )
)
def test_quick_sparse_parser_accepts_nothing_the_strict_one_reads_otherwise(rows):
    try:
        quick = _quick_sparse(rows, encoders())
    except ValueError:
        return
    np.testing.assert_array_equal(quick.toarray(), strict(rows, encoders()))


def test_quick_parsers_take_ordinary_rows():
    assert _quick_dense(["1,x,0,a", " 2.5 , y , ?,b"], encoders()).shape == (2, 4)
    assert _quick_sparse(["{0 1, 2 0}", "{}", "{3 text}"], encoders()).nnz == 3


def test_many_blocks_are_read_as_one(write, monkeypatch):
    monkeypatch.setattr("polyleaf.datasets._arff_rows._BLOCK_VALUES", 7)
    rows = [f"{i},'{'xy'[i % 2]}',{i % 2}" if i == 5 else f"{i},x,{i % 2}" for i in range(20)]
    data = read(write, HEADER + "\n".join(rows))
    assert data.X["a"].tolist() == list(range(20))
    assert data.X["b"].tolist() == ["x"] * 5 + ["y"] + ["x"] * 14
