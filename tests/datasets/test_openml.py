from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from benchmarks.real_data import data_folder
from sklearn.utils import Bunch

from polyleaf.datasets import OPENML, DataFormatError, _openml, fetch, load


def answer(n, d):
    labels = pd.DataFrame(
        np.where(np.arange(n * d).reshape(n, d) % 3 == 0, "TRUE", "FALSE"),
        columns=[f"l{j}" for j in range(d)],
    )
    return Bunch(
        data=pd.DataFrame(np.zeros((n, 72)), columns=[f"x{i}" for i in range(72)]),
        target=labels.astype("category"),
    )


def test_a_fetched_data_set_has_labels_as_numbers(monkeypatch):
    asked = {}

    def fetch_openml(**options):
        asked.update(options)
        return answer(593, 6)

    monkeypatch.setattr(_openml, "fetch_openml", fetch_openml)
    data = fetch("emotions", data_home="somewhere")
    assert asked["data_id"] == OPENML["emotions"].data_id
    assert asked["data_home"] == "somewhere"
    assert data.Y.dtype == np.int8
    assert data.Y[0].tolist() == [1, 0, 0, 1, 0, 0]
    assert data.X.shape == (593, 72)
    assert data.output_names == [f"l{j}" for j in range(6)]


def test_another_data_set_than_expected_is_refused(monkeypatch):
    monkeypatch.setattr(_openml, "fetch_openml", lambda **_: answer(10, 6))
    with pytest.raises(
        DataFormatError, match="expected 593 rows, 72 features and 6 labels of 'emotions'"
    ):
        fetch("emotions")


def test_without_a_network_the_message_says_what_to_do(monkeypatch):
    def fetch_openml(**_):
        raise URLError("no route")

    monkeypatch.setattr(_openml, "fetch_openml", fetch_openml)
    with pytest.raises(ConnectionError, match=r"OpenML cannot be reached.*datasets\.load"):
        fetch("yeast")


def test_near_name_is_suggested():
    with pytest.raises(ValueError, match=r"got 'yest'\. Did you mean 'yeast'?"):
        fetch("yest")


def test_the_last_columns_of_a_regression_are_its_targets(monkeypatch):
    frame = pd.DataFrame(np.arange(768.0 * 10).reshape(768, 10), columns=list("abcdefghyz"))
    asked = {}

    def fetch_openml(**options):
        asked.update(options)
        return Bunch(data=frame, target=None)

    monkeypatch.setattr(_openml, "fetch_openml", fetch_openml)
    data = fetch("enb")
    assert (asked["name"], asked["target_column"]) == ("enb", None)
    assert data.output_names == ["y", "z"]
    np.testing.assert_array_equal(data.Y, frame[["y", "z"]])
    np.testing.assert_array_equal(data.X, frame[list("abcdefgh")])


def test_a_name_that_openml_does_not_know_is_told(monkeypatch):
    def fetch_openml(**_):
        raise ValueError("No active dataset slump found.")

    monkeypatch.setattr(_openml, "fetch_openml", fetch_openml)
    with pytest.raises(DataFormatError, match=r"OpenML's slump.*does not have it.*datasets\.load"):
        fetch("slump")


@pytest.mark.real_data
@pytest.mark.skipif(data_folder() is None, reason="no public data sets")
def test_published_sizes_are_those_of_the_files():
    real_data_folder = data_folder()
    for name in ("enb", "jura", "wq", "slump"):
        entry = OPENML[name]
        path = real_data_folder / "regression" / name / f"{name}.arff"
        data = load(path, n_targets=entry.d)
        assert (data.n_samples, data.n_features, data.n_outputs) == (entry.n, entry.p, entry.d)
    for name in ("birds", "emotions", "enron", "yeast"):
        entry = OPENML[name]
        data = load(real_data_folder / "multilabel" / name / f"{name}.arff")
        assert (data.n_samples, data.n_features, data.n_outputs) == (entry.n, entry.p, entry.d)
