import mmap
from pathlib import Path

import numpy as np
import pytest
from tests.files.golden_cases import answers, golden_cases

import polyleaf
from polyleaf.files.storage import ModelFileError, read_model

FOLDER = Path(__file__).resolve().parents[1] / "golden"
CASES = {name: X for name, _, X, _ in golden_cases()}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.polyleaf")), ids=lambda path: path.stem)
def test_mapped_arrays_are_those_that_are_read(path):
    arrays, metadata = read_model(path)
    mapped, same = read_model(path, mmap=True)
    assert metadata == same
    assert set(arrays) == set(mapped)
    for name, array in arrays.items():
        assert array.dtype == mapped[name].dtype
        np.testing.assert_array_equal(array, mapped[name])


def test_models_whose_file_is_mapped_predict_the_same():
    kinds = {path.stem.split("-")[0]: path for path in sorted(FOLDER.glob("*/*.polyleaf"))}
    for path in kinds.values():
        X = CASES[path.stem]
        plain, mapped = answers(polyleaf.load(path), X), answers(polyleaf.load(path, mmap=True), X)
        for name, found in plain.items():
            assert repr(found) == repr(mapped[name])  # lists, of unequal lengths for mixed kinds


def test_mapped_files_are_checked_and_may_be_replaced(tmp_path):
    path = tmp_path / "model.polyleaf"
    X = np.arange(20.0).reshape(-1, 1)
    first = polyleaf.BoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    polyleaf.save(first, path)
    mapped = polyleaf.load(path, mmap=True)
    values = mapped._fitted.model.leaf_values
    while isinstance(values, np.ndarray) and values.base is not None:
        values = values.base
    assert isinstance(values, mmap.mmap)
    polyleaf.save(polyleaf.BoostingRegressor(n_estimators=3).fit(X, -X[:, 0]), path)
    np.testing.assert_array_equal(mapped.predict(X), first.predict(X))
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="digest"):
        polyleaf.load(path, mmap=True)
