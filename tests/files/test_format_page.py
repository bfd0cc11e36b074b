"""The page of the file format says what the code declares, and files hold nothing else."""

import importlib.util
import re
from pathlib import Path

import pytest
from tests.files.test_golden_files import FILES

import polyleaf.conformal.storage
import polyleaf.tuning.storage  # noqa: F401
from polyleaf.files.arrays import StoredArrays
from polyleaf.files.storage import read_model

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_made_from_the_code_as_it_is():
    spec = importlib.util.spec_from_file_location("model_format", ROOT / "tools/model_format.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run tools/model_format.py"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_array_of_a_file_is_declared_with_its_type_and_dimension(path):
    arrays, _ = read_model(path)
    for name, array in arrays.items():
        plain = re.sub(r"^((estimator|member\d+|part\d+|models\.\d+)\.)+", "", name)
        kinds = [
            (part.arrays[plain].dtype, part.arrays[plain].shape.count(",") + 1)
            for part in StoredArrays.declared
            if plain in part.arrays
        ]
        assert (array.dtype.type, array.ndim) in kinds, name
