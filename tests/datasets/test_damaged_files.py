"""Random bytes and random damage to valid files raise DataFormatError and nothing else."""

import bz2
import contextlib
import gzip
import io
import lzma
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat

from polyleaf.datasets import (
    DataFormatError,
    DataFormatWarning,
    Dataset,
    read_clus,
    read_mat,
    read_meka,
    read_mulan,
    read_svmlight,
)

DENSE = rb"""% a comment
@relation 'toy: -C 2'
@attribute 'a b' {0,1}
@attribute b {1,0}
@attribute c real
@attribute d {x,'y z',"q"}
@attribute e string
@data
0,1,-2.5e3,x,word
1,0,?,'y z','two words'
?,1,7,"q",?
"""
SPARSE = rb"""@relation 'toy: -C 2'
@attribute a {0,1}
@attribute b {1,0}
@attribute c numeric
@attribute d {x,y}
@data
{0 1,2 0.5}
{}
{1 0, 2 ?, 3 y}
"""
HIERARCHY = rb"""@relation toy
@attribute a numeric
@attribute class hierarchical x,x/y,x/y/z,w
@data
1,x/y@w
2.5,x/y/z
?,?
"""
SVMLIGHT = b"3 4 3\n0,2 0:1 3:-0.5\n 1:2\n1 # none\n"
XML = b'<?xml version="1.0"?>\n<labels><label name="a"/><label name="b"></label></labels>\n'


def mat_file(X, **options):
    buffer = io.BytesIO()
    savemat(buffer, {"data": X, "target": np.ones((4, 2))}, **options)
    return buffer.getvalue()


def read_xml(path):
    arff = path.with_suffix(".arff")
    arff.write_bytes(SPARSE)
    return read_mulan(arff, path)


READERS = {
    "dense": (read_meka, DENSE),
    "dense-skip": (lambda path: read_meka(path, on_error="skip"), DENSE),
    "sparse": (read_meka, SPARSE),
    "sparse-skip": (lambda path: read_meka(path, on_error="skip"), SPARSE),
    "hierarchy": (read_clus, HIERARCHY),
    "svmlight": (read_svmlight, SVMLIGHT),
    "svmlight-skip": (lambda path: read_svmlight(path, on_error="skip"), SVMLIGHT),
    "xml": (read_xml, XML),
    "mat": (read_mat, mat_file(np.eye(4))),
    "mat-sparse": (read_mat, mat_file(sparse.csc_array(np.eye(4)))),
    "mat-compressed": (read_mat, mat_file(np.eye(4), do_compression=True)),
    "gz": (read_meka, gzip.compress(DENSE, mtime=0)),
    "bz2": (read_meka, bz2.compress(DENSE)),
    "xz": (read_meka, lzma.compress(DENSE)),
}
FUZZ = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def damaged(draw, content):
    """Return the content with up to four cuts, overwrites, insertions and repetitions."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(0, len(content) - 1)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        piece = draw(
            st.one_of(
                st.binary(max_size=4),
                st.sampled_from([b"{", b"}", b",", b"'", b'"', b"\\", b"%", b"@", b"?", b"\n"]),
                st.sampled_from([b"99999999999", b"-1", b"nan", b"\r", b"\x00", b"/", b":", b" "]),
                st.just(bytes(content[start:end]) * 2),
            )
        )
        content[start:end] = piece
    return bytes(content)


def read_or_refuse(read, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataFormatWarning)
        with contextlib.suppress(DataFormatError):
            assert isinstance(read(path), Dataset)


@pytest.mark.parametrize("kind", READERS)
def test_undamaged_file_is_read(tmp_path, kind):
    read, content = READERS[kind]
    path = tmp_path / "file.xml"
    path.write_bytes(content)
    assert read(path).n_samples >= 3


@pytest.mark.parametrize("kind", READERS)
@FUZZ
@given(data=st.data())
def test_damaged_file_is_read_or_refused(tmp_path, kind, data):
    read, content = READERS[kind]
    path = tmp_path / "file.xml"
    path.write_bytes(data.draw(damaged(content)))
    # A relation without -C, or targets that the damage removed, are the caller's ValueError.
    with (
        contextlib.suppress(ValueError) if kind.startswith("sparse") else contextlib.nullcontext()
    ):
        read_or_refuse(read, path)


@pytest.mark.parametrize("kind", READERS)
@FUZZ
@given(raw=st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(tmp_path, kind, raw):
    path = tmp_path / "file.xml"
    path.write_bytes(raw)
    read_or_refuse(READERS[kind][0], path)
