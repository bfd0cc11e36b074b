"""Messages that lead on: what a user most likely meant, and what to call."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import polyleaf
from polyleaf import datasets

X = np.arange(6.0).reshape(3, 2)
TAGS = [["a", "b"], ["a"], []]


@pytest.mark.parametrize(
    "y",
    [TAGS, [{"a"}, {"b"}, set()], pd.Series(TAGS), pl.Series(TAGS), np.array(TAGS, dtype=object)],
    ids=["lists", "sets", "pandas", "polars", "objects"],
)
@pytest.mark.parametrize("kind", ["TreeClassifier", "BoostingClassifier", "GraphClassifier"])
def test_lists_of_tags_name_the_binarizer(kind, y):
    with pytest.raises((TypeError, ValueError), match=r"MultiLabelBinarizer\(\)\.fit_transform"):
        getattr(polyleaf, kind)().fit(X, y)


def test_ragged_features_do_not_name_the_binarizer():
    with pytest.raises(ValueError, match="same number of values") as caught:
        polyleaf.TreeClassifier().fit([[1.0], [1.0, 2.0]], [0, 1])
    assert "MultiLabelBinarizer" not in str(caught.value)


@pytest.mark.parametrize("estimator", ["BoostingRegressor", "RuleRegressor"])
@pytest.mark.parametrize(
    ("loss", "meant"),
    [("mse", "squared_error"), ("rmse", "squared_error"), ("MAE", "absolute_error")],
)
def test_losses_of_other_libraries_find_their_names(estimator, loss, meant):
    with pytest.raises(ValueError, match=f"Did you mean '{meant}'"):
        getattr(polyleaf, estimator)(loss=loss).fit(X, [1.0, 2.0, 3.0])


def test_a_wrong_target_shows_the_nearest_columns_of_a_table(tmp_path):
    columns = [f"x{j}" for j in range(40)] + ["height"]
    path = tmp_path / "plants.csv"
    path.write_text(",".join(columns) + "\n" + ",".join(["1"] * 41) + "\n")
    with pytest.raises(ValueError, match="the nearest is 'height' for 'Hieght'"):
        datasets.read_table(path, ["Hieght"])


def test_a_wrong_target_shows_the_nearest_attributes_of_an_arff_file(tmp_path):
    names = ["height", *(f"x{j}" for j in range(9))]
    head = "@relation r\n" + "".join(f"@attribute {name} numeric\n" for name in names)
    path = tmp_path / "plants.arff"
    path.write_text(head + "@data\n" + ",".join(["1"] * 10) + "\n")
    with pytest.raises(ValueError, match="the nearest is 'height' for 'hieght'"):
        datasets.read_mulan(path, targets=["hieght"])


def test_nothing_is_called_near_where_nothing_is(tmp_path):
    path = tmp_path / "plants.csv"
    path.write_text("rain,soil\n1,2\n")
    with pytest.raises(ValueError, match="the file has 'rain', 'soil'") as caught:
        datasets.read_table(path, ["zzz"])
    assert "nearest" not in str(caught.value)
