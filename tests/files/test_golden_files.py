"""Files that earlier releases wrote load, and predict what they always did."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.files.golden_cases import answers, golden_cases

import polyleaf
from polyleaf.files.storage import FORMAT_VERSION

FOLDER = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(FOLDER.glob("format*/*.polyleaf"))
CASES = {name: X for name, _, X, _ in golden_cases()}


def test_every_kind_of_model_has_a_golden_file_of_this_format():
    kept = {path.stem for path in FILES if path.parent.name == f"format{FORMAT_VERSION}"}
    assert set(CASES) <= kept


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_golden_file_loads_and_predicts_the_same(path):
    expected = json.loads((path.parent / "expected.json").read_text())[path.stem]
    found = answers(polyleaf.load(path), CASES[path.stem])
    assert found.keys() == expected.keys()
    for method, values in expected.items():
        assert_same(found[method], values)


def assert_same(found, expected):
    if (
        expected
        and isinstance(expected[0], list)
        and expected[0]
        and isinstance(expected[0][0], list)
    ):  # a list of arrays
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    else:
        assert np.array_equal(found, expected)
