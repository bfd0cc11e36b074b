"""Targets that read damaged files: models of every kind, data of every format, results."""

import bz2
import gzip
import io
import json
import lzma
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
from hostile_outcomes import SilentChangeError, Target, same
from hostile_values import pick
from scipy import sparse
from scipy.io import savemat

import polyleaf
from polyleaf import datasets
from polyleaf.datasets import DataFormatError, Dataset
from polyleaf.files.storage import ModelFileError, read_model, write_model

GOLDEN = Path(__file__).parents[1] / "golden/format1"
EXTREMES = [0, 1, -1, 2, 7, 31, 32, 127, 255, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63)]
STRANGE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.5]
DTYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float32, np.float64, np.bool_]
JSON = [None, True, False, -1, 0, 1, 3, 2**40, -1.5, 1e300, "", "x", "dense", "rows", [], {}]
#: Damage that the digest of a model file must find.
OF_BYTES = ("cut", "flip", "bytes", "insert", "delete", "blank", "header", "repeat", "noise")
#: Other content, with a digest that fits it.
OF_MODELS = ("array values", "array type", "array length", "array shape", "array gone", "JSON")
TOKENS = [b"{", b"}", b",", b"'", b'"', b"\\", b"%", b"@", b"?", b"\n", b"99999999999", b"-1"]
TOKENS += [b"nan", b"\r", b"\x00", b"/", b":", b" ", b"1e999", b"9" * 400, b"\xff\xfe", b"inf"]


def damage_bytes(content, kind, rng):
    """Cut, change, insert, remove or repeat bytes of a file."""
    content = bytearray(content)
    at = int(rng.integers(len(content)))
    length = int(rng.integers(1, 64))
    if kind == "cut":
        return bytes(content[:at])
    if kind == "flip":
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == "bytes":
        for place in rng.integers(len(content), size=rng.integers(1, 20)):
            content[place] = int(rng.integers(256))
    elif kind == "insert":
        content[at:at] = rng.bytes(length)
    elif kind == "delete":
        del content[at : at + length]
    elif kind == "blank":
        content[at : at + length] = bytes(len(content[at : at + length]))
    elif kind == "header":
        content[:8] = int(rng.integers(2**62)).to_bytes(8, "little")
    elif kind == "repeat":
        content[at:at] = content[at : at + length] * int(rng.integers(1, 4))
    elif kind == "tokens":
        for _ in range(int(rng.integers(1, 4))):
            start = int(rng.integers(len(content) + 1))
            content[start : start + int(rng.integers(3))] = pick(TOKENS, rng)
    else:
        return rng.bytes(int(rng.integers(1, 300)))
    return bytes(content)


# Models -----------------------------------------------------------------------------------------


def change_values(array, rng):
    array = array.copy()
    if array.size:
        places = rng.integers(array.size, size=rng.integers(1, 4))
        pool = STRANGE if array.dtype.kind == "f" and rng.random() < 0.7 else EXTREMES
        with np.errstate(all="ignore"):
            values = np.array([pick(pool, rng) for _ in places])
            array.reshape(-1)[places] = values.astype(array.dtype)
    return array


def change_type(array, rng):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(pick(DTYPES, rng))


_CHANGES = {
    "array values": change_values,
    "array type": change_type,
    "array length": lambda a, rng: pick(
        [a.reshape(-1)[: rng.integers(a.size + 1)], np.concatenate([a, a])], rng
    ),
    "array shape": lambda a, rng: pick([a[..., None], a[None]], rng),
}


def change_json(node, rng):
    """Replace, drop or add something somewhere in a JSON document."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys or rng.random() < 0.1:
        extra = pick(JSON, rng)
        if isinstance(node, dict):
            node[str(extra)] = extra
        else:
            node.append(extra)
        return
    key = pick(keys, rng)
    if isinstance(node[key], (dict, list)) and rng.random() < 0.7:
        change_json(node[key], rng)
    elif rng.random() < 0.15:
        del node[key]
    else:
        node[key] = json.loads(json.dumps(pick(JSON, rng)))


def damage_model(content, kind, rng):
    """Damage the bytes of a model file, or write other content with a digest that fits it."""
    if kind in OF_BYTES:
        return damage_bytes(content, kind, rng)
    Path("whole.polyleaf").write_bytes(content)
    arrays, metadata = read_model("whole.polyleaf")
    arrays = dict(arrays)
    for _ in range(int(rng.integers(1, 4))):
        name = pick(sorted(arrays), rng) if arrays else None
        if kind == "JSON" or name is None:
            change_json(metadata, rng)
        elif kind == "array gone":
            arrays.pop(name)
        else:
            arrays[name] = _CHANGES[kind](arrays[name], rng)
    write_model("changed.polyleaf", arrays, metadata)
    return Path("changed.polyleaf").read_bytes()


@cache
def golden_cases():
    return json.loads((GOLDEN / "expected.json").read_text())


def rows_for(model):
    """Return rows to predict, as many features as the model knows."""
    n_features = int(model.n_features_in_)
    return np.random.default_rng(0).normal(size=(6, min(n_features, 100)))


_METHODS = ("predict", "predict_proba", "apply", "decision_function", "predict_quantiles")
_PROPERTIES = ("feature_importances_", "output_importances_", "classes_", "edges_", "rules_")


def use(model):
    """Ask a model everything; its answers, or its refusal of such rows."""
    X = rows_for(model)
    answers = []
    for name in _METHODS:
        if hasattr(type(model), name):
            try:
                answers.append(getattr(model, name)(X))
            except (ValueError, TypeError, AttributeError) as error:
                answers.append(type(error).__name__)
    for name in _PROPERTIES:
        if hasattr(type(model), name):
            # A model may not have all of them: those of older files do not know their rows.
            getattr(model, name, None)
    repr(model)
    return answers


@cache
def answers_of(name):
    return use(polyleaf.load(GOLDEN / f"{name}.polyleaf"))


def load_damaged(name, content, kind):
    Path("damaged.polyleaf").write_bytes(content)
    try:
        model = polyleaf.load("damaged.polyleaf")
    except ModelFileError:
        raise
    except Exception as error:
        raise RuntimeError(f"load raised {error!r} in place of a ModelFileError") from error
    answers = use(model)
    if kind in OF_BYTES and not same(answers, answers_of(name), 0.0):
        raise SilentChangeError("bytes were changed, and the model predicts something else")
    return


def model_targets():
    for path in sorted(GOLDEN.glob("*.polyleaf")):
        yield Target(
            f"load:{path.stem}",
            "damaged models",
            lambda path=path: {"content": path.read_bytes(), "kind": ""},
            partial(load_damaged, path.stem),
            kinds=(*OF_BYTES, *OF_MODELS),
            hostile=damage_model,
            fixed=("kind",),
        )


# Data -------------------------------------------------------------------------------------------

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
OBO = b"""format-version: 1.2
[Term]
id: a
[Term]
id: b
is_a: a ! one
relationship: part_of a
[Term]
id: c
is_obsolete: true
"""
EDGES = b"root\ta\na\tb\n# none\nb\tc\nd\n"
XML = b'<?xml version="1.0"?>\n<labels><label name="a"/><label name="b"></label></labels>\n'
CSV = b'a,b,"c d",t\n1,2.5,x,0\n,nan,"y, z",1\n3,-1e3,x,0\n'


def mat_file(X, **options):
    buffer = io.BytesIO()
    savemat(buffer, {"data": X, "target": np.ones((4, 2))}, **options)
    return buffer.getvalue()


def read_xml(path):
    Path("other.arff").write_bytes(SPARSE)
    return datasets.read_mulan("other.arff", path)


READERS = {
    "read_meka:dense": (datasets.read_meka, DENSE),
    "read_meka:skip": (partial(datasets.read_meka, on_error="skip"), DENSE),
    "read_meka:sparse": (datasets.read_meka, SPARSE),
    "read_meka:gz": (datasets.read_meka, gzip.compress(DENSE, mtime=0)),
    "read_meka:bz2": (datasets.read_meka, bz2.compress(DENSE)),
    "read_meka:xz": (datasets.read_meka, lzma.compress(DENSE)),
    "read_clus": (datasets.read_clus, HIERARCHY),
    "read_obo": (datasets.read_obo, OBO),
    "read_edges": (datasets.read_edges, EDGES),
    "read_svmlight": (datasets.read_svmlight, SVMLIGHT),
    "read_svmlight:skip": (partial(datasets.read_svmlight, on_error="skip"), SVMLIGHT),
    "read_mulan:xml": (read_xml, XML),
    "read_mat": (datasets.read_mat, mat_file(np.eye(4))),
    "read_mat:sparse": (datasets.read_mat, mat_file(sparse.csc_array(np.eye(4)))),
    "read_mat:compressed": (datasets.read_mat, mat_file(np.eye(4), do_compression=True)),
    "read_table": (partial(datasets.read_table, targets=["t"]), CSV),
    "read_features": (datasets.read_features, CSV),
    "load": (partial(datasets.load, targets=["t"]), CSV),
}


def read_damaged(name, content):
    read, _ = READERS[name]
    path = Path("data.csv" if READERS[name][1] is CSV else "data.arff")
    path.write_bytes(content)
    try:
        data = read(path)
    except DataFormatError:
        raise
    if isinstance(data, Dataset):
        repr(data)
    return


def data_targets():
    for name, (_, content) in READERS.items():
        yield Target(
            f"datasets.{name}",
            "damaged data",
            lambda content=content: {"content": content},
            partial(read_damaged, name),
            kinds=(*OF_BYTES, "tokens"),
            hostile=damage_bytes,
        )


def targets():
    yield from model_targets()
    yield from data_targets()
