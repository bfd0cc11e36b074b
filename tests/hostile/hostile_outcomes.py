"""What a case is, and how its end is judged: fine, refused, borrowed or failed.

fine      the call returned, and changed nothing that it was given
refused   polyleaf itself raised an error of an expected type, with a message
borrowed  the same, but in the words of NumPy, SciPy, scikit-learn or the compiled core
failed    any other exception, an error without words, a changed argument, another answer for
          the same values in another memory layout; the runner adds crashes and hangs
"""

import inspect
import linecache
import operator
import traceback
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from hostile_values import CLASSES, LAYOUTS, make_hostile
from scipy import sparse

FINE, REFUSED, BORROWED, FAILED, IMPOSSIBLE = "fine", "refused", "borrowed", "failed", "impossible"
KINDS = (*CLASSES, *LAYOUTS)
#: Classes that change nothing but the values.
OF_VALUES = ("NaN", "infinite", "huge", "tiny")
_EXPECTED = (ValueError, TypeError, MemoryError)
_UNCLEAR = (IndexError, KeyError, AssertionError)  # some errors of NumPy are ValueErrors as well
_SHORTEST_MESSAGE = 8


class SilentChangeError(Exception):
    """A call changed what it must not change, or gave another answer to the same question."""


@dataclass(frozen=True, eq=False)
class Target:
    """A callable that meets every class of cases.

    `make` gives its harmless arguments, `call` takes them; `hostile(value, kind, rng)` spoils one.
    """

    name: str
    layer: str
    make: Callable[[], dict[str, Any]]
    call: Callable[..., Any]
    kinds: tuple[str, ...] = KINDS
    hostile: Callable[..., Any] = make_hostile
    #: Arguments that are never spoilt.
    fixed: tuple[str, ...] = ()
    #: Arguments that come from a training loop, arrays of a certain type: only values and
    #: memory layouts are spoilt.
    typed: tuple[str, ...] = ()
    #: Further errors that are answers.
    expected: tuple[type[BaseException], ...] = ()
    #: Largest relative difference of answers to the same values in another layout.
    tolerance: float = 1e-9
    #: Seconds after which a case hangs.
    patience: float = 60.0

    @cached_property
    def harmless(self):
        return self.make()

    @cached_property
    def usual_answer(self):
        return self.call(**self.harmless)

    def random(self, seed, case):
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), case])

    def kind_of(self, case):
        # Targets begin with different kinds, so that a few cases of each meet all of them.
        return self.kinds[(case + zlib.crc32(self.name.encode())) % len(self.kinds)]

    def arguments(self, seed, case):
        """Return the arguments of a case, one of them or two hostile; None if there are none."""
        rng, kind = self.random(seed, case), self.kind_of(case)
        arguments = dict(self.harmless)
        names = [name for name in arguments if name not in self.fixed]
        if kind not in OF_VALUES and kind not in LAYOUTS:
            names = [name for name in names if name not in self.typed]
        elif kind not in LAYOUTS:
            names = [n for n in names if n not in self.typed or _holds_floats(arguments[n])]
        if not names:
            return None
        arrays = [name for name in names if isinstance(arguments[name], (np.ndarray, bytes))]
        if kind in LAYOUTS:
            names = arrays or names
        if "kind" in arguments and "kind" in self.fixed:
            arguments["kind"] = kind
        for _ in range(2 if rng.random() < 0.2 and len(names) > 1 else 1):
            pool = arrays if arrays and rng.random() < 0.6 else names
            name = pool[int(rng.integers(len(pool)))]
            try:
                arguments[name] = self.hostile(self.harmless[name], kind, rng)
            except Exception:  # NumPy, pandas or SciPy refuse to build such a value
                return None
        return arguments


def _holds_floats(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def judge(target, seed, case, arguments=None):
    """Run one case; return how it ended and, if it failed, why."""
    kind = target.kind_of(case)
    arguments = arguments or target.arguments(seed, case)
    if arguments is None:
        return IMPOSSIBLE, ""
    try:
        before = {name: fingerprint(value) for name, value in arguments.items()}
        state = np.geterr()
        outcome = _call(target, kind, arguments)
        if np.geterr() != state:
            np.seterr(**state)
            # Ctrl-C may fall between the two halves of NumPy's own `errstate`.
            if target.layer != "interrupts":
                raise SilentChangeError("NumPy's error state has changed")
        changed = [name for name, value in arguments.items() if fingerprint(value) != before[name]]
        if changed:
            raise SilentChangeError(f"{changed[0]} was changed by the call")
        return outcome, ""
    except Exception:
        return FAILED, traceback.format_exc(limit=-6)


def _call(target, kind, arguments):
    try:
        answer = target.call(**arguments)
    except (*_EXPECTED, *target.expected) as error:
        if isinstance(error, _UNCLEAR) and not isinstance(error, target.expected or ()):
            raise
        if len(str(error)) < _SHORTEST_MESSAGE:
            raise RuntimeError(f"an error without words: {error!r}") from error
        if kind in LAYOUTS and not isinstance(error, MemoryError):
            target.usual_answer  # noqa: B018  # if this is refused as well, then so be it
            raise SilentChangeError(f"another layout is refused: {error}") from error
        return REFUSED if is_own(error) else BORROWED
    if kind in LAYOUTS and not same(answer, target.usual_answer, target.tolerance):
        raise SilentChangeError("the same values in another layout give another answer")
    return FINE


def is_own(error):
    """Whether a `raise` of polyleaf made the error, so that its words are ours."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    path = trace.tb_frame.f_code.co_filename
    line = linecache.getline(path, trace.tb_lineno).strip()
    return "polyleaf" in path and line.startswith("raise")


def fingerprint(value):
    """Return something that changes when the value does; cheap for arrays."""
    if isinstance(value, np.ma.MaskedArray):
        return fingerprint(value.data), fingerprint(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return value.dtype, value.shape, value.strides, content
    if sparse.issparse(value):
        names = ("data", "indices", "indptr", "row", "col", "offsets", "rows")
        if value.format == "dok":
            return value.shape, repr(sorted(value.items()))
        parts = {name: getattr(value, name, None) for name in names}
        return value.shape, [fingerprint(part) for part in parts.values() if part is not None]
    if isinstance(value, (str, bytes, int, float, complex, type(None))):
        return value if value == value else "nan"
    if isinstance(value, (list, tuple)) and len(value) < 100:
        return [fingerprint(item) for item in value]
    if hasattr(value, "to_dict") and hasattr(value, "shape"):
        return repr(value.to_dict()) if value.size < 500 else value.shape
    return type(value)


def same(one, other, tolerance):
    """Whether two answers are equal, up to rounding."""
    if sparse.issparse(one):
        return sparse.issparse(other) and same(one.toarray(), other.toarray(), tolerance)
    if isinstance(one, np.ndarray):
        if not isinstance(other, np.ndarray) or one.shape != other.shape:
            return False
        if one.dtype.kind not in "fc" or not tolerance:
            return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        return np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
    if isinstance(one, (float, np.floating)):
        return same(np.asarray(one, float), np.asarray(other, float), tolerance)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k], tolerance) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(lambda a, b: same(a, b, tolerance), one, other))
    if is_dataclass(one) and not inspect.isclass(one):
        parts = operator.attrgetter(*[field.name for field in fields(one)], "__class__")
        return same(parts(one), parts(other), tolerance)
    if isinstance(one, (str, int, np.integer, bool, np.bool_, type(None))):
        return one == other
    return type(one) is type(other)
