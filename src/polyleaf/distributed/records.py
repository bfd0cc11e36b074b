"""Rounds of boosting that are written down, so that a fit can go on where it lost a worker.

A tree that was grown before is not grown again: its splits and leaf values are applied to the
rows, wherever they are now. All that follows is the same, to the last bit.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from polyleaf._version import __version__
from polyleaf.boosting.booster import Booster, FeatureGains, GrownRound
from polyleaf.boosting.leaves import TreeMove
from polyleaf.projections import Feedback
from polyleaf.trees.structure import TreeStructure, apply_trees

_STRUCTURE = tuple(f.name for f in fields(TreeStructure) if f.init)
#: What a state follows from round to round, where it does.
_FOLLOWED = ("_value", "_largest")
_LENGTH = struct.Struct("<Q")

#: Told of each new round on worker 0.
Note = Callable[[bytes], None]


class RecordedBooster(Booster):
    """Boosts as a `Booster` does, but takes the first rounds from records.

    Attributes
    ----------
    records : sequence of bytes
        Of rounds that were grown before.
    note : callable or None
        Told of each round that is grown now.
    """

    records: Sequence[bytes] = ()
    note: Note | None = None

    def grow(self, t: int) -> GrownRound:
        """Grow tree t, or apply what was written down of it."""
        if t < len(self.records):
            return self._apply(load(self.records[t]))
        grown = super().grow(t)
        if self.note is not None:
            self.note(save(self._record(grown)))
        return grown

    def _record(self, grown: GrownRound) -> dict[str, NDArray[Any]]:
        followed = [getattr(self.state, name, np.nan) for name in _FOLLOWED]
        arrays = {f"structure_{name}": getattr(grown.structure, name) for name in _STRUCTURE}
        arrays |= {
            "values": grown.move.values,
            "gained": grown.feature_gains.features.astype(np.int64),
            "gains": grown.feature_gains.gains,
            "samples": grown.leaf_samples,
            "seen": grown.seen,
            "numbers": np.array([grown.channel, self._n_all, *followed], np.float64),
        }
        if grown.move.factors is not None:
            arrays["factors"] = grown.move.factors
        if self._wants_feedback:
            last = self.feedback[-1]
            told = [last.choice, last.decrease, last.work, last.n_channels]
            arrays["feedback"] = np.array(told, np.float64)
        return {name: np.ascontiguousarray(values) for name, values in arrays.items()}

    @property
    def _n_all(self) -> int:
        assert self._exact is not None
        return self._exact.n_rows

    def _apply(self, arrays: dict[str, NDArray[Any]]) -> GrownRound:
        """Move all rows by a tree that was grown before."""
        channel, n_all, *followed = arrays["numbers"].tolist()
        if int(n_all) != self._n_all:
            raise ValueError(
                f"The checkpoint belongs to a fit of {int(n_all)} rows; got {self._n_all}. Delete "
                "it, or give the rows that it was begun with."
            )
        structure = TreeStructure(**{name: arrays[f"structure_{name}"] for name in _STRUCTURE})
        move = TreeMove(arrays["values"], arrays.get("factors"))
        self._move_all(structure, move, int(channel))
        for name, value in zip(_FOLLOWED, followed):
            if hasattr(self.state, name):
                setattr(self.state, name, value)
        if self._watched is not None:
            nodes = apply_trees(structure, self._watched, self.n_threads)
            leaves = structure.leaf_index[nodes]
            move.add_to(leaves, self._watched_raw, int(channel), self.n_threads)
        if "feedback" in arrays:
            choice, decrease, work, n_channels = arrays["feedback"].tolist()
            self.feedback.append(Feedback(int(choice), decrease, int(work), int(n_channels)))
        gains = FeatureGains(arrays["gained"].astype(np.intp), arrays["gains"])
        samples, seen = arrays["samples"], arrays["seen"]
        return GrownRound(structure, move, int(channel), gains, samples, seen)

    def _move_all(self, structure: TreeStructure, move: TreeMove, channel: int) -> None:
        leaves, state = self._all_leaves(structure), self.state
        if channel >= 0:
            chosen = np.array([channel], np.intp)
            part = state.columns(chosen)
            part.move(leaves, move.values)
            state.write_back(part, chosen)
        elif move.factors is not None:
            state.move(leaves, move.values * move.factors)
        else:
            state.move(leaves, move.values)


def record_rounds(estimator: Any, records: Sequence[bytes], note: Note | None) -> None:
    """Have an estimator boost with a `RecordedBooster`.

    Parameters
    ----------
    estimator : Boosting
        A clone of one worker.
    records : sequence of bytes
        Of the rounds that were grown before.
    note : callable or None
        Told of each round that is grown now.
    """

    def make(
        data: Any, settings: Any, entropy: Any, units: Any, shard: Any = None
    ) -> RecordedBooster:
        booster = RecordedBooster(data, settings, entropy, estimator._n_threads(), units, shard)
        booster.records, booster.note = records, note
        return booster

    vars(estimator)["_booster"] = partial(make)


class Checkpoint:
    """A file with the rounds of a fit so far, at the client.

    Parameters
    ----------
    path : str or Path
    estimator : Boosting
        As workers get it.

    Attributes
    ----------
    records : list of bytes
        What the file has.

    Raises
    ------
    ValueError
        If the file belongs to another fit, or is none.
    """

    def __init__(self, path: str | Path, estimator: Any) -> None:
        self.path, self.records = Path(path), list[bytes]()
        self._header = {
            "polyleaf": __version__,
            "estimator": type(estimator).__name__,
            "params": repr(sorted(estimator.get_params().items())),
        }
        if self.path.exists():
            self._read()
        else:
            self._write(json.dumps(self._header).encode())

    def _read(self) -> None:
        frames = list(_frames(self.path.read_bytes()))
        try:
            header = json.loads(frames[0])
            for frame in frames[1:]:
                load(frame)
        except (IndexError, ValueError, SafetensorError) as error:
            raise ValueError(
                f"{self.path} is no checkpoint of polyleaf, or is damaged. Delete it, or give "
                "another path."
            ) from error
        if header != self._header:
            raise ValueError(
                f"The checkpoint {self.path} belongs to another fit: an estimator with other "
                "parameters, or another release of polyleaf. Delete it, or give another path."
            )
        self.records = frames[1:]

    def add(self, records: Sequence[bytes]) -> None:
        """Write more rounds down."""
        for record in records:
            self._write(record)
            self.records.append(record)

    def _write(self, frame: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(_LENGTH.pack(len(frame)) + frame)

    def remove(self) -> None:
        """Delete the file: the fit is done."""
        self.path.unlink(missing_ok=True)


def _frames(content: bytes) -> list[bytes]:
    """Cut a file into frames; what was not written to its end is left out."""
    found, at = [], 0
    while at + _LENGTH.size <= len(content):
        (length,) = _LENGTH.unpack_from(content, at)
        at += _LENGTH.size
        if length > len(content) - at:
            break
        found.append(content[at : at + length])
        at += length
    return found
