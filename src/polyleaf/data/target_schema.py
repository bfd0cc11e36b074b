"""What fit learns about Y: the task, the classes, and the channels of each output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

TaskKind = Literal["regression", "binary", "multiclass", "multilabel", "multiclass-multioutput"]

#: A damaged model file must not make us allocate more than a gigabyte.
_MAX_STORED_OUTPUTS = 2**27
_MAX_CLASS_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class TargetSchema:
    """What fit learnt about Y.

    Attributes
    ----------
    kind : {"regression", "binary", "multiclass", "multilabel", "multiclass-multioutput"}
    n_outputs : int
    is_1d : bool
        Whether Y had one dimension, so that `predict` gives one back.
    is_sparse : bool
        Whether Y was a scipy.sparse matrix.
    output_names : tuple of str, or None
    classes : tuple of ndarray
        Empty for a regression; one array for binary, multi-class and multi-label problems; one
        per output for a multi-class multi-output problem.
    channel_offsets : ndarray of shape (n_outputs + 1,), int32
        Output j has the channels from channel_offsets[j] up to channel_offsets[j + 1].
    """

    kind: TaskKind
    n_outputs: int
    is_1d: bool
    is_sparse: bool
    output_names: tuple[str, ...] | None
    classes: tuple[NDArray[Any], ...]
    channel_offsets: NDArray[np.int32]

    @classmethod
    def build(
        cls,
        kind: TaskKind,
        n_outputs: int,
        classes: tuple[NDArray[Any], ...] = (),
        *,
        is_1d: bool = False,
        is_sparse: bool = False,
        output_names: tuple[str, ...] | None = None,
    ) -> TargetSchema:
        """Make a schema with the channel offsets that its kind and classes imply."""
        if kind in ("multiclass", "multiclass-multioutput"):
            n_channels = [c.size for c in classes]
        else:
            n_channels = [1] * n_outputs
        offsets = np.concatenate([[0], np.cumsum(n_channels)]).astype(np.int32)
        return cls(kind, n_outputs, is_1d, is_sparse, output_names, classes, offsets)

    @property
    def n_channels(self) -> int:
        """Number of channels of all outputs."""
        return int(self.channel_offsets[-1])

    @property
    def classes_(self) -> NDArray[Any] | list[NDArray[Any]]:
        """What a classifier publishes: an array, or a list of one array per output."""
        if self.kind == "regression":
            raise AttributeError("A regression has no classes_.")
        return list(self.classes) if self.kind == "multiclass-multioutput" else self.classes[0]

    def to_json(self) -> dict[str, Any]:
        """Describe the schema by JSON types."""
        return {
            "kind": self.kind,
            "n_outputs": self.n_outputs,
            "is_1d": self.is_1d,
            "is_sparse": self.is_sparse,
            "output_names": None if self.output_names is None else list(self.output_names),
            "classes": [
                {"dtype": c.dtype.str if c.dtype.kind != "O" else "object", "values": c.tolist()}
                for c in self.classes
            ],
        }

    @classmethod
    def from_json(cls, obj: Any) -> TargetSchema:
        """Rebuild a schema from `to_json`'s description.

        Raises
        ------
        ValueError
            If the description is not one that `to_json` gives.
        """
        keys = {"kind", "n_outputs", "is_1d", "is_sparse", "output_names", "classes"}
        if not isinstance(obj, Mapping) or set(obj) != keys:
            raise _damaged(f"a target schema with the keys {sorted(keys)}", obj)
        kind, n_outputs, names = obj["kind"], obj["n_outputs"], obj["output_names"]
        if kind not in get_args(TaskKind):
            raise _damaged(f"kind to be one of {get_args(TaskKind)}", kind)
        if type(n_outputs) is not int or not 1 <= n_outputs <= _MAX_STORED_OUTPUTS:
            raise _damaged(f"n_outputs from 1 to {_MAX_STORED_OUTPUTS}", n_outputs)
        if type(obj["is_1d"]) is not bool or type(obj["is_sparse"]) is not bool:
            raise _damaged("is_1d and is_sparse to be booleans", (obj["is_1d"], obj["is_sparse"]))
        if names is not None and (
            not isinstance(names, list)
            or len(names) != n_outputs
            or any(type(name) is not str for name in names)
        ):
            raise _damaged(f"output_names to be null or {n_outputs} strings", names)
        if not isinstance(obj["classes"], list):
            raise _damaged("classes to be a list", obj["classes"])
        classes = tuple(_classes_from_json(stored) for stored in obj["classes"])
        _check_class_counts(kind, n_outputs, classes)
        if obj["is_1d"] and n_outputs != 1:
            raise _damaged("a one-dimensional target to have 1 output", n_outputs)
        if kind in ("binary", "multiclass") and not obj["is_1d"]:
            raise _damaged(f"a {kind} target to be one-dimensional", obj["is_1d"])
        return cls.build(
            kind,
            n_outputs,
            classes,
            is_1d=obj["is_1d"],
            is_sparse=obj["is_sparse"],
            output_names=None if names is None else tuple(names),
        )


def _damaged(expected: str, got: object) -> ValueError:
    return ValueError(f"Expected {expected}; got {got!r:.80}. The model file is damaged.")


def _classes_from_json(stored: Any) -> NDArray[Any]:
    if not isinstance(stored, Mapping) or set(stored) != {"dtype", "values"}:
        raise _damaged("classes with the keys ['dtype', 'values']", stored)
    values = stored["values"]
    if not isinstance(values, list) or any(
        type(value) not in (str, bool, int, float) for value in values
    ):
        raise _damaged("class labels that are strings, booleans or numbers", values)
    try:
        dtype = np.dtype(str(stored["dtype"]))
        is_huge = dtype.itemsize * len(values) > _MAX_CLASS_BYTES
        if dtype.kind not in "biufUO" or is_huge:
            raise _damaged("a class dtype of bool, integer, float, str or object", dtype)
        classes: NDArray[Any] = np.array(values, dtype=dtype)
        kept = classes.tolist() == values and len(set(values)) == len(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise _damaged("class labels that fit their dtype", stored) from error
    if not kept:
        raise _damaged("distinct class labels that fit their dtype", stored)
    return classes


def _check_class_counts(kind: str, n_outputs: int, classes: tuple[NDArray[Any], ...]) -> None:
    n_expected = {"regression": 0, "multiclass-multioutput": n_outputs}.get(kind, 1)
    if len(classes) != n_expected:
        raise _damaged(f"{n_expected} arrays of classes for a {kind} target", len(classes))
    if any(c.size == 0 for c in classes):
        raise _damaged("at least one class per output", [c.size for c in classes])
    if kind in ("binary", "multilabel") and classes[0].size != 2:
        raise _damaged(f"2 classes for a {kind} target", classes[0].tolist())
