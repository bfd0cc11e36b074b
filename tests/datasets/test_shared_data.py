"""The public data sets are read with the published sizes."""

import numpy as np
import pytest
from benchmarks.real_data import REAL_DATA, data_folder
from scipy import sparse

from polyleaf.datasets import (
    DataFormatError,
    DataFormatWarning,
    concatenate,
    read_clus,
    read_meka,
    read_mulan,
    read_svmlight,
)

FOLDER = data_folder()
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        FOLDER is None, reason="no public data sets: set POLYLEAF_DATA or add ../shared/data"
    ),
]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("entry", REAL_DATA.values(), ids=list(REAL_DATA))
def test_data_set_has_the_published_sizes(entry):
    data = entry.load(FOLDER)
    assert (data.n_samples, data.n_features, data.n_outputs) == (entry.n, entry.p, entry.d)
    assert data.n_missing_features == entry.n_missing_features
    assert data.n_missing_outputs == entry.n_missing_outputs
    assert data.n_skipped == 0
    dtypes = getattr(data.X, "dtypes", [])
    assert sum(str(dtype) == "category" for dtype in dtypes) == entry.n_nominal
    if entry.task == "multilabel":
        mean = np.nansum(dense(data.Y)) / data.n_samples
        assert mean == pytest.approx(entry.cardinality, abs=0.006)


def test_every_folder_of_the_shared_data_is_registered():
    folders = {
        path.name for task in ("multilabel", "regression") for path in (FOLDER / task).iterdir()
    }
    assert folders == set(REAL_DATA)


def test_yeast_is_the_same_in_three_formats():
    folder = FOLDER / "multilabel" / "yeast"
    mulan = concatenate(
        [
            read_mulan(folder / f"yeast-{part}.arff", folder / "yeast.xml")
            for part in ("train", "test")
        ]
    )
    meka = read_meka(folder / "MEKA-Yeast.arff.bz2")
    svm = read_svmlight(folder / "yeast.svm")
    for other in (meka, svm):
        np.testing.assert_array_equal(dense(other.X), mulan.X)
        np.testing.assert_array_equal(dense(other.Y), mulan.Y)


PARTS = {
    "birds": (322, 323),
    "flags": (129, 65),
    "foodtruck": (275, 132),
    "genbase": (463, 199),
    "medical": (333, 645),
    "enron": (1123, 579),
    "bibtex": (4880, 2515),
    "delicious": (12920, 3185),
    "reuters-k500": (4014, 1986),
    "yeast": (1500, 917),
    "scene": (1211, 1196),
}


@pytest.mark.parametrize("name", PARTS)
def test_train_and_test_files_have_the_published_rows_and_columns(name):
    folder = FOLDER / "multilabel" / name
    parts = [
        read_mulan(folder / f"{name}-{part}.arff", folder / f"{name}.xml")
        for part in ("train", "test")
    ]
    assert tuple(part.n_samples for part in parts) == PARTS[name]
    entry = REAL_DATA[name]
    assert {(part.n_features, part.n_outputs) for part in parts} == {(entry.p, entry.d)}


def test_langlog_labels_are_last_although_the_header_says_first():
    folder = FOLDER / "multilabel" / "langlog"
    with pytest.warns(DataFormatWarning, match="-C 75"):
        meka = read_meka(folder / "MEKA-llog.arff")
    mulan = read_mulan(folder / "langlog.arff", folder / "langlog.xml")
    np.testing.assert_array_equal(meka.Y.sum(axis=0), dense(mulan.Y).sum(axis=0))


def test_slashdot_malformed_line_is_reported_and_skipped():
    folder = FOLDER / "multilabel" / "slashdot"
    files = (folder / "slashdot-train.arff", folder / "slashdot.xml")
    with pytest.raises(DataFormatError) as caught:
        read_mulan(*files)
    assert caught.value.line == 4374
    with pytest.warns(DataFormatWarning, match="skipped 1 malformed line"):
        data = read_mulan(*files, on_error="skip")
    assert (data.n_features, data.n_outputs, data.n_skipped) == (3125, 20, 1)


def test_rows_and_labels_without_positives_are_where_they_were_counted():
    birds = REAL_DATA["birds"].load(FOLDER)
    assert (birds.Y.sum(axis=1) == 0).sum() == 294
    reuters = REAL_DATA["reuters-k500"].load(FOLDER)
    assert (dense(reuters.Y).sum(axis=0) == 0).sum() == 4
    tcast = REAL_DATA["tcast"].load(FOLDER)
    assert (np.nansum(tcast.Y, axis=0) == 0).sum() == 135
    corel = FOLDER / "multilabel" / "corel5k"
    test = read_mulan(corel / "Corel5k-test-sparse.arff", corel / "Corel5k.xml")
    assert (dense(test.Y).sum(axis=0) == 0).sum() == 111


def test_genbase_identifier_has_a_level_per_row():
    genbase = REAL_DATA["genbase"].load(FOLDER)
    assert genbase.X["protein"].nunique() == genbase.n_samples == 662


def test_rivers_with_unknown_classes_are_nan():
    path = FOLDER / "multilabel" / "slovenian-rivers" / "sr_percL=100_0_SSLTrain.arff"
    data = read_clus(path)
    assert data.Y.shape == (1060, 724)
    assert data.n_missing_outputs == 960 * 724


def test_xml_of_regression_targets_equals_their_number():
    folder = FOLDER / "regression" / "atp7d"
    by_name = read_mulan(folder / "atp7d.arff", folder / "atp7d.xml")
    by_number = read_mulan(folder / "atp7d.arff", n_targets=6)
    assert by_name.output_names == by_number.output_names
    np.testing.assert_array_equal(by_name.Y, by_number.Y)
