from __future__ import annotations

import sys

import numpy as np
import pytest

from polyleaf.inspection import ImportanceTable, output_importances


def test_table_is_labelled_by_outputs_and_features(soil_tree):
    table = output_importances(soil_tree)
    assert list(table.index) == ["carbon", "nitrogen"]
    assert list(table.columns) == ["depth", "use", "noise"]
    np.testing.assert_array_equal(table.to_numpy(), soil_tree.output_importances_)


def test_each_output_has_the_feature_it_depends_on(soil_tree):
    table = output_importances(soil_tree)
    assert table.loc["carbon"].idxmax() == "depth"
    assert table.loc["nitrogen"].idxmax() == "use"
    np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_without_pandas_a_plain_table_has_the_same_content(soil_tree, monkeypatch):
    expected = output_importances(soil_tree, output_names=["C", "N"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = output_importances(soil_tree, output_names=["C", "N"])
    assert isinstance(table, ImportanceTable)
    np.testing.assert_array_equal(table.values, expected.to_numpy())
    assert table.index == ["C", "N"]
    assert table.columns == ["depth", "use", "noise"]


def test_names_must_fit(soil_tree):
    with pytest.raises(ValueError, match="output_names must have 2 names; got 3"):
        output_importances(soil_tree, output_names=["a", "b", "c"])
