"""Classes of hostile values: each turns a harmless argument into one of its kind."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
from hostile_sparse import broken_sparse, some_sparse

OBJECTS = [
    None,
    "",
    "text",
    "1.5",
    b"bytes",
    True,
    2**70,
    -(2**63),
    1 + 2j,
    np.nan,
    pd.NA,
    pd.NaT,
    decimal.Decimal("1.5"),
    fractions.Fraction(1, 3),
    datetime.date(2020, 1, 1),
    np.datetime64("2020-01-01"),
    {1, 2},
    {"a": 1},
    [1, 2],
    (),
    float,
    np.float32(1),
    "\x00",
    "\ud800",
    len,
    ...,
]
DTYPES = ["?", "i1", "u1", "i2", "u4", "i8", "u8", "f2", "f4", "f8", "g", ">f8", ">i4", "V4"]
TEXTS = ["", "text", "1", "0", "nan", "\x00", "\ud800", "é" * 300, "auto", "../..", "-1", "1e999"]
HUGE = [1e308, -1e308, 1e150, 1e20, 2.0**53, -(2.0**63), 2.0**64]
HUGE_NUMBERS = [*HUGE, 10**12, 2**31, 2**63, -(2**63), 10**30, 1e18, 2**62]
TINY = [5e-324, 1e-308, -5e-324, -0.0, 1e-200, 0.0]


def pick(pool, rng):
    return pool[int(rng.integers(len(pool)))]


def scattered(array, rng, pool):
    """Return a float copy with some entries, or all, from a pool."""
    values = np.array(array, dtype=np.float64)
    chosen = rng.random(values.shape) < pick([0.02, 0.3, 1.0], rng)
    values[chosen] = [pick(pool, rng) for _ in range(int(np.count_nonzero(chosen)))]
    return values


def of_dtype(array, rng):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(pick(DTYPES, rng))


def of_objects(array, rng):
    mixed = np.array(array, dtype=object)
    share = pick([0.02, 0.3, 1.0], rng)
    for place in np.ndindex(mixed.shape):
        if rng.random() < share:
            mixed[place] = pick(OBJECTS, rng)
    return mixed


def of_texts(array, rng):
    kind = int(rng.integers(4))
    if kind == 0:
        return array.astype(str)
    if kind == 1:
        return array.astype("S8")
    if kind == 2:
        return array.astype(str).astype(object)
    return np.array([pick(TEXTS, rng) for _ in range(array.size)], object).reshape(array.shape)


def of_dates(array, rng):
    with np.errstate(all="ignore"):
        days = np.nan_to_num(array.astype(np.float64)).astype(np.int64)
    return days.astype(pick(["M8[D]", "m8[s]", "M8[ns]"], rng))


def emptied(array, rng):
    kinds = [array[:0], np.empty((0, 0)), [], np.empty((0,)), [[]], np.empty((array.shape[0], 0))]
    return pick(kinds, rng)


def cut_or_grown(array, rng):
    """Return another number of rows or columns."""
    kind = int(rng.integers(5))
    if kind == 0:
        return array[:-1]
    if kind == 1:
        return np.concatenate([array, array[:1]])
    if kind == 2:
        return array[:1]
    if array.ndim < 2:
        return np.concatenate([array, array])
    return array[:, :-1] if kind == 3 else np.concatenate([array, array], axis=1)


def masked(array, rng):
    mask = rng.random(array.shape) < pick([0.0, 0.1, 1.0], rng)
    return np.ma.masked_array(array, mask=mask)


def framed(array, rng):
    """Return a data frame or series: of other types, with names that repeat, with categories."""
    if array.ndim != 2:
        return pd.Series(list(array.ravel()))
    kind = int(rng.integers(7))
    frame = pd.DataFrame(array)
    if kind == 0:
        return frame
    if kind == 1:
        return pd.DataFrame(array, columns=["same"] * array.shape[1])
    if kind == 2:
        return frame.astype("category")
    if kind == 3:
        return frame.convert_dtypes()
    if kind == 4:
        return frame.astype(str)
    if kind == 5:
        return pd.DataFrame(array, index=rng.permutation(array.shape[0])[::-1])
    return frame.rename(columns=str)


def contained(array, rng):
    """Return something else that holds the values, or nothing of the sort."""
    kinds = [
        lambda: array.tolist(),
        lambda: tuple(array.tolist()),
        lambda: [list(row)[: i % 3] for i, row in enumerate(np.atleast_2d(array))],
        lambda: set(array.ravel().tolist()),
        lambda: dict(enumerate(array)),
        lambda: iter(array.tolist()),
        lambda: array.tobytes(),
        lambda: np.matrix(np.atleast_2d(array)),
        lambda: range(array.shape[0]),
        lambda: None,
        object,
        lambda: np.recarray((3,), dtype=[("a", "f8"), ("b", "i4")]),
        lambda: array.astype([("a", "f8")]),
    ]
    return pick(kinds, rng)()


#: name: (what it makes of an array, what it makes of any other argument)
CLASSES = {
    "NaN": (lambda a, rng: scattered(a, rng, [np.nan]), lambda v, rng: np.nan),
    "infinite": (
        lambda a, rng: scattered(a, rng, [np.inf, -np.inf]),
        lambda v, rng: pick([np.inf, -np.inf], rng),
    ),
    "huge": (
        lambda a, rng: scattered(a, rng, HUGE),
        lambda v, rng: pick(HUGE_NUMBERS, rng),
    ),
    "tiny": (
        lambda a, rng: scattered(a, rng, TINY),
        lambda v, rng: pick([*TINY, -1, 0, 1, 2, 0.5, 1.5], rng),
    ),
    "dtypes": (
        of_dtype,
        lambda v, rng: pick([np.int8(3), np.float16(0.5), np.bool_(True), np.uint64(2)], rng),
    ),
    "objects": (of_objects, lambda v, rng: pick(OBJECTS, rng)),
    "texts": (of_texts, lambda v, rng: pick(TEXTS, rng)),
    "complex": (
        lambda a, rng: a + pick([0j, 1j], rng) if a.dtype.kind in "biuf" else a,
        lambda v, rng: 1j,
    ),
    "dates": (of_dates, lambda v, rng: pick([np.datetime64("2020-01-01"), pd.NaT], rng)),
    "empty": (emptied, lambda v, rng: pick([[], "", (), {}, np.empty(0), np.empty((0, 3))], rng)),
    "0-d": (
        lambda a, rng: pick([np.array(1.0), a.reshape(-1)[0] if a.size else 0.0], rng),
        lambda v, rng: np.array(v),
    ),
    "1-d": (
        lambda a, rng: pick([a.ravel(), a.reshape(-1)[: a.shape[0]]], rng),
        lambda v, rng: [v],
    ),
    "3-d": (
        lambda a, rng: pick([a[None], a[..., None], np.stack([a, a])], rng),
        lambda v, rng: np.zeros((2, 2, 2)),
    ),
    "lengths": (cut_or_grown, lambda v, rng: pick([[v, v], (v, v, v), {"a": v}], rng)),
    "masked": (masked, lambda v, rng: np.ma.masked_array([1.0], mask=[True])),
    "sparse": (some_sparse, lambda v, rng: some_sparse(np.eye(3), rng)),
    "broken sparse": (broken_sparse, lambda v, rng: broken_sparse(np.eye(3), rng)),
    "frames": (framed, lambda v, rng: pd.DataFrame({"a": [v]})),
    "containers": (contained, lambda v, rng: pick([None, object(), {v: v}, iter([v])], rng)),
}


def misaligned(array, rng):
    raw = np.empty(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype) if array.dtype.itemsize == 1 else None
    if view is None:
        view = np.frombuffer(raw.data, dtype=array.dtype, offset=1, count=array.size)
    view = view.reshape(array.shape)
    view[...] = array
    return view


def strided(array, rng):
    wide = np.empty([2 * size for size in array.shape], array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def backwards(array, rng):
    return np.ascontiguousarray(array[::-1])[::-1]


def read_only(array, rng):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def swapped_bytes(array, rng):
    return array.astype(array.dtype.newbyteorder(">"))


#: The same values in another memory layout: the answer must be the same.
LAYOUTS = {
    "misaligned": misaligned,
    "strided": strided,
    "backwards": backwards,
    "Fortran order": lambda a, rng: np.asfortranarray(a),
    "read-only": read_only,
    "byte order": swapped_bytes,
}


def make_hostile(value, kind, rng):
    """Return a value of a class in place of a harmless one."""
    if kind in LAYOUTS:
        if isinstance(value, np.ndarray) and value.dtype != object and value.size:
            return LAYOUTS[kind](value, rng)
        return value
    of_array, of_other = CLASSES[kind]
    if isinstance(value, np.ndarray) and value.ndim:
        return of_array(value, rng)
    return of_other(value, rng)
