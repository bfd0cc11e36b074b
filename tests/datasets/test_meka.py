import warnings

import numpy as np
import pytest

from polyleaf.datasets import DataFormatError, DataFormatWarning, read_meka


def arff(relation, kinds, row):
    attributes = "".join(f"@attribute a{i} {kind}\n" for i, kind in enumerate(kinds))
    return f"@relation {relation}\n{attributes}@data\n{row}\n"


LABELS_FIRST = ["{0,1}", "{0,1}", "numeric", "numeric", "numeric"]


@pytest.mark.parametrize(
    "relation",
    ["'toy: -C 2'", "'toy: -C 2 -split-number 10'", "'toy: -c 2' %50", "toy:-C 2", "'-C  2'"],
)
def test_first_attributes_are_labels_for_a_positive_count(write, relation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read_meka(write("toy.arff", arff(relation, LABELS_FIRST, "1,0,5,6,7")))
    assert data.output_names == ["a0", "a1"]
    np.testing.assert_array_equal(data.X, [[5, 6, 7]])


def test_last_attributes_are_labels_for_a_negative_count(write):
    data = read_meka(write("toy.arff", arff("'t: -C -2'", LABELS_FIRST[::-1], "5,6,7,1,0")))
    assert data.output_names == ["a3", "a4"]


@pytest.mark.parametrize(
    ("relation", "kinds", "row", "expected"),
    [
        ("'t: -C 2-weka.filters.Reorder'", LABELS_FIRST[::-1], "0,1,0,1,0", ["a3", "a4"]),
        ("'t: -C -2'", LABELS_FIRST, "1,0,0,1,0", ["a0", "a1"]),
    ],
)
def test_header_that_names_the_wrong_end_is_corrected_with_a_warning(
    write, relation, kinds, row, expected
):
    with pytest.warns(DataFormatWarning, match=r"the header says -C -?2, but .* are not nominal"):
        data = read_meka(write("toy.arff", arff(relation, kinds, row)))
    assert data.output_names == expected


def test_header_is_trusted_where_both_ends_could_be_labels(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read_meka(write("toy.arff", arff("'t: -C 1'", ["{0,1}", "real", "{0,1}"], "1,2,0")))
    assert data.output_names == ["a0"]


def test_numeric_outputs_are_regression_targets(write):
    data = read_meka(write("toy.arff", arff("'t: -C 1'", ["numeric"] * 3, "1.5,2,0")))
    assert data.Y.dtype == np.float64


def test_n_labels_overrides_the_header(write):
    path = write("toy.arff", arff("'t: -C 2'", LABELS_FIRST, "1,0,5,6,7"))
    assert read_meka(path, n_labels=1).output_names == ["a0"]
    assert read_meka(path, n_labels=-1).output_names == ["a4"]


def test_labels_with_more_levels_are_multiclass_outputs_and_features_may_miss(write):
    kinds = ["{A,B,NEG}", "{K,NEG}", "numeric", "{f,t}"]
    data = read_meka(write("toy.arff", arff("'thyroid: -C 2'", kinds, "NEG,K,?,f\nA,NEG,3,?")))
    assert data.Y.tolist() == [["NEG", "K"], ["A", "NEG"]]
    assert data.n_missing_features == 2


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        ("toy", "expected '-C k' in the @relation line"),
        ("'toy: -C 0'", "expected a number of labels"),
        ("'toy: -C 5'", "expected a number of labels"),
        ("'toy: -C -9'", "expected a number of labels"),
        ("'toy: -C x'", "expected '-C k'"),
        ("'toy: -C 99999999999'", "expected '-C k'"),
    ],
)
def test_useless_label_count_says_what_to_do(write, relation, message):
    with pytest.raises(DataFormatError, match=message):
        read_meka(write("toy.arff", arff(relation, LABELS_FIRST, "1,0,5,6,7")))
