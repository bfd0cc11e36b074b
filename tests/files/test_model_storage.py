"""The file format: round trips, whole-or-nothing writes, and files that are no model."""

import json
import os

import numpy as np
import pytest
import safetensors.numpy

from polyleaf.files.storage import ModelFileError, read_model, write_model

ARRAYS = {
    "a": np.arange(6, dtype=np.int32),
    "empty": np.zeros((0, 3)),
    "matrix": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}
METADATA = {"names": ["é", "\ud800", "b"], "depth": None, "nested": {"x": [1, 2.5, True]}}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.polyleaf"
    write_model(path, ARRAYS, METADATA)
    return path


def test_arrays_and_metadata_come_back_as_they_were(path):
    arrays, metadata = read_model(path)
    assert metadata == METADATA
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)


def test_metadata_that_json_cannot_hold_is_refused_and_writes_nothing(tmp_path):
    for metadata in ({"x": np.nan}, {"x": object()}):
        with pytest.raises((ValueError, TypeError)):
            write_model(tmp_path / "model.polyleaf", ARRAYS, metadata)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_write_leaves_the_old_file_and_no_other(path, monkeypatch, step):
    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        write_model(path, {"b": np.zeros(3)}, {})
    monkeypatch.undo()
    assert read_model(path)[1] == METADATA
    assert list(path.parent.iterdir()) == [path]


def test_an_interrupted_write_leaves_the_old_file_and_no_other(path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_model(path, {"b": np.zeros(3)}, {})
    assert read_model(path)[1] == METADATA
    assert list(path.parent.iterdir()) == [path]


def test_a_new_write_replaces_the_old_file(path):
    write_model(path, {"b": np.zeros(3)}, {"new": True})
    assert read_model(path)[1] == {"new": True}
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_file_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none.polyleaf")
    with pytest.raises(OSError, match="none"):
        write_model(tmp_path / "none" / "model.polyleaf", ARRAYS, {})


def test_every_single_changed_byte_is_noticed(path):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            arrays, metadata = read_model(path)
        except ModelFileError:
            continue
        # Only white space that pads the header of the container carries no content.
        assert metadata == METADATA
        assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())


def test_every_truncation_is_noticed(path):
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="damaged"):
            read_model(path)


def test_the_same_model_makes_the_same_file(path):
    before = path.read_bytes()
    for _ in range(5):
        write_model(path, dict(reversed(ARRAYS.items())), dict(reversed(METADATA.items())))
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda version, digest, text: f"2 {digest} {text}",
            "it has format 2, and",
        ),
        (lambda version, digest, text: f"{version} 0 {text}", "digest"),
        (lambda version, digest, text: f"{version} {digest} {{}}", "digest"),
        (lambda version, digest, text: f"{version} {digest}", "digest"),
        (lambda version, digest, text: "", "it has the format ''"),
    ],
)
def test_headers_of_another_version_or_content_are_refused_with_a_reason(path, change, message):
    with safetensors.safe_open(path, framework="numpy") as file:
        parts = file.metadata()["polyleaf"].split(" ", 2)
    arrays = {name: np.ascontiguousarray(array) for name, array in ARRAYS.items()}
    safetensors.numpy.save_file(arrays, path, metadata={"polyleaf": change(*parts)})
    with pytest.raises(ModelFileError, match=message):
        read_model(path)


@pytest.mark.parametrize("text", ["[1]", "{", "NaN", '{"x": Infinity}', "[" * 100_000])
def test_metadata_that_is_no_json_object_is_refused(path, monkeypatch, text):
    monkeypatch.setattr(json, "dumps", lambda *_, **__: text)
    write_model(path, ARRAYS, {})
    with pytest.raises(ModelFileError, match="metadata is no JSON"):
        read_model(path)


def test_safetensors_without_our_header_are_refused(path):
    safetensors.numpy.save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match="not one that polyleaf wrote"):
        read_model(path)


def test_a_file_of_the_old_name_is_refused_and_says_what_to_do(path):
    safetensors.numpy.save_file({"x": np.zeros(3)}, path, metadata={"ramify": "1 0 {}"})
    with pytest.raises(ModelFileError, match=r"written by ramify.*fit the model again"):
        read_model(path)


def test_an_impossible_target_is_named_and_leaves_nothing_behind(tmp_path):
    arrays = {"a": np.zeros(2)}
    with pytest.raises(IsADirectoryError, match=rf"path of a folder: '{tmp_path}'"):
        write_model(tmp_path, arrays, {})
    with pytest.raises(FileNotFoundError, match=rf"no such folder.*'{tmp_path / 'absent'}'"):
        write_model(tmp_path / "absent" / "model", arrays, {})
    assert list(tmp_path.iterdir()) == []
