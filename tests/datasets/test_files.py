import bz2
import gzip
import lzma
import pickle

import numpy as np
import pytest

from polyleaf.datasets import DataFormatError, read_mulan

ARFF = "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@data\n1.5,1\n-2,0\n"
COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_file_reads_as_the_plain_one(write, suffix):
    data = read_mulan(write(f"toy.arff.{suffix}", COMPRESSORS[suffix](ARFF.encode())), n_targets=1)
    np.testing.assert_array_equal(data.X, [[1.5], [-2.0]])
    np.testing.assert_array_equal(data.Y, [[1], [0]])
    assert data.name == "toy"


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compression_is_recognised_by_content_not_by_name(write, suffix):
    path = write("toy.arff", COMPRESSORS[suffix](ARFF.encode()))
    assert read_mulan(path, n_targets=1).n_samples == 2


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("kept", [0.3, 0.7, 0.95])
def test_truncated_compressed_file_is_a_format_error(write, suffix, kept):
    raw = COMPRESSORS[suffix](ARFF.encode() * 50)
    path = write(f"toy.arff.{suffix}", raw[: int(len(raw) * kept)])
    with pytest.raises(DataFormatError, match="truncated or damaged"):
        read_mulan(path, n_targets=1)


@pytest.mark.parametrize(
    "raw",
    [
        ARFF.replace("\n", "\r\n").encode(),
        ARFF.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + ARFF.encode(),
        ("% a comment\n\n" + ARFF + "\n% the end\n\n").encode(),
        ARFF.replace("@data", "  @DATA  ").encode(),
        ARFF.rstrip().encode(),
    ],
    ids=["crlf", "cr", "bom", "comments", "upper-case", "no-final-newline"],
)
def test_ways_to_write_the_same_file_agree(write, raw):
    data = read_mulan(write("toy.arff", raw), n_targets=1)
    np.testing.assert_array_equal(data.X, [[1.5], [-2.0]])
    np.testing.assert_array_equal(data.Y, [[1], [0]])
    assert data.feature_names == ["a"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_are_decoded_from_utf8_or_latin1(write, encoding):
    raw = ARFF.replace("attribute a", "attribute größe").encode(encoding)
    assert read_mulan(write("toy.arff", raw), n_targets=1).feature_names == ["größe"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "empty"),
        (b" \r\n\t\n", "empty"),
        (ARFF.encode("utf-16"), "UTF-16"),
        (b"@relation r\n\x00\x01\x02", "binary"),
        (b"\x89PNG\r\n\x1a\n rest", "line 1: expected @relation, @attribute or @data"),
    ],
    ids=["empty", "blank", "utf-16", "zero-byte", "png"],
)
def test_what_is_not_text_is_a_format_error(write, raw, message):
    with pytest.raises(DataFormatError, match=message):
        read_mulan(write("toy.arff", raw), n_targets=1)


def test_missing_file_and_folder_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_mulan(tmp_path / "absent.arff", n_targets=1)
    with pytest.raises(OSError):
        read_mulan(tmp_path, n_targets=1)


def test_format_error_names_file_and_line_and_survives_pickling():
    error = DataFormatError("expected a, got b", path="x.arff", line=3)
    assert str(error) == "x.arff, line 3: expected a, got b"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.line) == (str(error), "x.arff", 3)
    assert isinstance(error, ValueError)
