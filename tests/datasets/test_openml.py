from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from ramify.datasets import OPENML, DataFormatError, _openml, fetch


def answer(n, d):
    labels = pd.DataFrame(
        np.where(np.arange(n * d).reshape(n, d) % 3 == 0, "TRUE", "FALSE"),
        columns=[f"l{j}" for j in range(d)],
    )
    return Bunch(
        data=pd.DataFrame({"a": np.arange(n), "b": 0.5}), target=labels.astype("category")
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
    assert data.X.shape == (593, 2)
    assert data.output_names == [f"l{j}" for j in range(6)]


def test_another_data_set_than_expected_is_refused(monkeypatch):
    monkeypatch.setattr(_openml, "fetch_openml", lambda **_: answer(10, 6))
    with pytest.raises(DataFormatError, match="expected 593 rows and 6 labels of 'emotions'"):
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
