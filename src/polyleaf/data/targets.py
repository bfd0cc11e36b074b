"""What fit learns about Y, and rows of Y as channels.

A channel is a column of what the core learns: an output of a regression, a label of a multi-label
problem, class 1 of a binary one, or one class of a multi-class output (one-hot).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.data.output_frame import (
    OutputFrame,
    classes_from_json,
    classes_to_json,
    damaged,
)
from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below, expect_offsets
from polyleaf.hierarchy import Hierarchy

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

TaskKind = Literal[
    "regression", "binary", "multiclass", "multilabel", "multiclass-multioutput", "mixed"
]

#: A damaged model file must not make us allocate more than a gigabyte.
_MAX_STORED_OUTPUTS = 2**27


@dataclass(frozen=True, eq=False)
class TargetSchema:
    """What fit learnt about Y.

    Attributes
    ----------
    kind : {"regression", "binary", "multiclass", "multilabel", "multiclass-multioutput", "mixed"}
    n_outputs : int
    is_1d : bool
        Whether Y had one dimension, so that `predict` gives one back.
    is_sparse : bool
        Whether Y was a scipy.sparse matrix.
    output_names : tuple of str, or None
    classes : tuple of ndarray
        Empty for a regression and for mixed kinds, whose frame has them; one array for binary,
        multi-class and multi-label problems; one per output for a multi-class multi-output
        problem.
    channel_offsets : ndarray of shape (n_outputs + 1,), int32
        Output j has the channels from channel_offsets[j] up to channel_offsets[j + 1].
    hierarchy : Hierarchy or None
        Over the labels of a multi-label problem: predictions respect it.
    frame : OutputFrame or None
        Kinds and types of the columns, if predictions are to be a frame like Y.
    """

    kind: TaskKind
    n_outputs: int
    is_1d: bool
    is_sparse: bool
    output_names: tuple[str, ...] | None
    classes: tuple[NDArray[Any], ...]
    channel_offsets: NDArray[np.int32]
    hierarchy: Hierarchy | None = None
    frame: OutputFrame | None = None

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
        frame: OutputFrame | None = None,
    ) -> TargetSchema:
        """Make a schema with the channel offsets that its kind and classes imply."""
        if kind == "mixed":
            assert frame is not None
            # Two classes are one channel, the probability of the second.
            widths = [1 if c.classes is None else c.classes.size for c in frame.columns]
            n_channels = [1 if width == 2 else width for width in widths]
        elif kind in ("multiclass", "multiclass-multioutput"):
            n_channels = [c.size for c in classes]
        else:
            n_channels = [1] * n_outputs
        offsets = np.concatenate([[0], np.cumsum(n_channels)]).astype(np.int32)
        return cls(kind, n_outputs, is_1d, is_sparse, output_names, classes, offsets, frame=frame)

    @property
    def n_channels(self) -> int:
        """Number of channels of all outputs."""
        return int(self.channel_offsets[-1])

    @property
    def label_depth(self) -> NDArray[np.int64] | None:
        """How deep every label lies in the hierarchy; None without one."""
        return None if self.hierarchy is None else self.hierarchy.depth

    @property
    def classes_(self) -> NDArray[Any] | list[NDArray[Any]]:
        """What a classifier publishes: an array, or a list of one array per output."""
        if self.kind in ("regression", "mixed"):
            raise AttributeError(f"A {self.kind} target has no classes_.")
        return list(self.classes) if self.kind == "multiclass-multioutput" else self.classes[0]

    def to_json(self) -> dict[str, Any]:
        """Describe the schema by JSON types."""
        described: dict[str, Any] = {
            "kind": self.kind,
            "n_outputs": self.n_outputs,
            "is_1d": self.is_1d,
            "is_sparse": self.is_sparse,
            "output_names": None if self.output_names is None else list(self.output_names),
            "classes": [classes_to_json(classes) for classes in self.classes],
        }
        if self.hierarchy is not None:  # else as in files of older releases
            described["hierarchy"] = self.hierarchy.to_json()
        if self.frame is not None:
            described["frame"] = self.frame.to_json()
        return described

    @classmethod
    def from_json(cls, obj: Any) -> TargetSchema:
        """Rebuild a schema from `to_json`'s description.

        Raises
        ------
        ValueError
            If the description is not one that `to_json` gives.
        """
        keys = {"kind", "n_outputs", "is_1d", "is_sparse", "output_names", "classes"}
        if not isinstance(obj, Mapping) or set(obj) - {"hierarchy", "frame"} != keys:
            raise damaged(f"a target schema with the keys {sorted(keys)}", obj)
        kind, n_outputs, names = obj["kind"], obj["n_outputs"], obj["output_names"]
        if kind not in get_args(TaskKind):
            raise damaged(f"kind to be one of {get_args(TaskKind)}", kind)
        if type(n_outputs) is not int or not 1 <= n_outputs <= _MAX_STORED_OUTPUTS:
            raise damaged(f"n_outputs from 1 to {_MAX_STORED_OUTPUTS}", n_outputs)
        if type(obj["is_1d"]) is not bool or type(obj["is_sparse"]) is not bool:
            raise damaged("is_1d and is_sparse to be booleans", (obj["is_1d"], obj["is_sparse"]))
        if names is not None and (
            not isinstance(names, list)
            or len(names) != n_outputs
            or any(type(name) is not str for name in names)
        ):
            raise damaged(f"output_names to be null or {n_outputs} strings", names)
        if not isinstance(obj["classes"], list):
            raise damaged("classes to be a list", obj["classes"])
        classes = tuple(classes_from_json(stored) for stored in obj["classes"])
        _check_class_counts(kind, n_outputs, classes)
        if obj["is_1d"] and n_outputs != 1:
            raise damaged("a one-dimensional target to have 1 output", n_outputs)
        if kind in ("binary", "multiclass") and not obj["is_1d"]:
            raise damaged(f"a {kind} target to be one-dimensional", obj["is_1d"])
        frame = None if "frame" not in obj else OutputFrame.from_json(obj["frame"], n_outputs)
        if kind == "mixed" and frame is None:
            raise damaged("a frame of the columns of mixed kinds", frame)
        if frame is not None:
            _check_frame(kind, frame, classes)
        schema = cls.build(
            kind,
            n_outputs,
            classes,
            is_1d=obj["is_1d"],
            is_sparse=obj["is_sparse"],
            output_names=None if names is None else tuple(names),
            frame=frame,
        )
        if "hierarchy" not in obj:
            return schema
        hierarchy = Hierarchy.from_json(obj["hierarchy"])
        if kind != "multilabel" or hierarchy.n_outputs != n_outputs:
            raise damaged(f"a hierarchy over {n_outputs} labels", hierarchy)
        return replace(schema, hierarchy=hierarchy)


_ARRAYS = StoredArrays(
    "Training outputs (models whose leaves hold training rows)",
    {
        "output_values": StoredArray(
            np.float64, "n_rows, n_channels", "A dense Y as channels; 0 where not observed."
        ),
        "output_observed": StoredArray(
            np.uint8, "n_rows, n_channels", "1 where observed; absent if everything was."
        ),
        "output_indptr": StoredArray(np.int64, "n_rows + 1", "A sparse Y, by rows."),
        "output_indices": StoredArray(np.int32, "n_entries", "Channels of its entries."),
        "output_data": StoredArray(np.float64, "n_entries", "Its entries."),
        "output_shape": StoredArray(np.int64, "2", "Rows and channels of a sparse Y."),
        "row_weights": StoredArray(np.float64, "n_rows", "Weights of rows, if there are some."),
        "entry_weights": StoredArray(
            np.float64, "n_rows, n_channels", "Weights of entries, if there are some."
        ),
    },
)


@dataclass(frozen=True, eq=False)
class Targets:
    """Rows of Y as channels, and how much each row or entry counts.

    The one form of Y on its way: what is read, what trees are grown on, what a validation set
    is, and what a model keeps whose leaves hold training rows.

    Attributes
    ----------
    schema : TargetSchema
    values : ndarray of shape (n_rows, n_channels), float64, C order, or csr_array of float64
        0 where not observed.
    observed : ndarray of shape (n_rows, n_channels), bool, or None
        None if everything was observed.
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), float64, or None
    weight_unit : float
        A power of two near the largest weight of all rows that these are some of; float32
        weights are given in it.
    n_rows, n_channels : int
    is_sparse : bool
        Whether the values are a sparse matrix.
    share_weights : bool
        Whether all channels of a row weigh the same.
    """

    schema: TargetSchema
    values: NDArray[np.float64] | CSR
    observed: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None
    weight_unit: float = 1.0
    n_rows: int = field(init=False)
    n_channels: int = field(init=False)
    is_sparse: bool = field(init=False)
    share_weights: bool = field(init=False)

    def __post_init__(self) -> None:
        n_rows, n_channels = self.values.shape
        by_row = self.weights is None or self.weights.ndim == 1
        facts = {
            "n_rows": int(n_rows),
            "n_channels": int(n_channels),
            "is_sparse": not isinstance(self.values, np.ndarray),
            "share_weights": self.observed is None and by_row,
        }
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64] | CSR,
        observed: NDArray[np.bool_] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Targets:
        """Take channels for numbers, one per output."""
        is_sparse = not isinstance(values, np.ndarray)
        schema = TargetSchema.build("regression", int(values.shape[1]), is_sparse=is_sparse)
        return cls(schema, values, observed, weights, unit_of(weights))

    def weighted(self, weights: NDArray[np.float64] | None) -> Targets:
        """Give the same rows with rescaled weights."""
        return replace(self, weights=weights, weight_unit=unit_of(weights))

    def at(self, rows: NDArray[Any]) -> Targets:
        """Give some of the rows, with weights in the unit of all."""
        observed = None if self.observed is None else self.observed[rows]
        weights = None if self.weights is None else self.weights[rows]
        return Targets(self.schema, self.values[rows], observed, weights, self.weight_unit)

    def dense_values(self) -> NDArray[np.float64]:
        """Give the values as an array; of a sparse Y, a copy."""
        values = self.values
        return values if isinstance(values, np.ndarray) else values.toarray()

    def with_gaps(self) -> Any:
        """Give the values as metrics take them: NaN where they are not observed."""
        if self.observed is None:
            return self.values
        return np.where(self.observed, self.dense_values(), np.nan)

    def equals(self, other: Targets) -> bool:
        """Tell whether values, mask and weights are the same."""
        if self.is_sparse != other.is_sparse or self.values.shape != other.values.shape:
            return False
        different: Any = self.values != other.values
        n_different = different.nnz if self.is_sparse else np.count_nonzero(different)
        return (
            n_different == 0
            and _both_none_or_equal(self.observed, other.observed)
            and _both_none_or_equal(self.weights, other.weights)
        )

    def channel_weights(self, channel: int) -> NDArray[np.float64]:
        """Weight of every row in one channel, 0 where it is not observed; of shape (n_rows,)."""
        weights = np.ones(self.n_rows)
        if self.weights is not None:
            weights = weights * (
                self.weights if self.weights.ndim == 1 else self.weights[:, channel]
            )
        return weights if self.observed is None else weights * self.observed[:, channel]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Name the arrays, for a model file."""
        arrays: dict[str, NDArray[Any]] = {}
        if isinstance(self.values, np.ndarray):
            arrays["output_values"] = self.values
        else:
            arrays |= {
                "output_indptr": self.values.indptr.astype(np.int64),
                "output_indices": self.values.indices.astype(np.int32),
                "output_data": self.values.data.astype(np.float64),
                "output_shape": np.array(self.values.shape, dtype=np.int64),
            }
        if self.observed is not None:
            arrays["output_observed"] = self.observed.view(np.uint8)
        if self.weights is not None:
            name = "row_weights" if self.weights.ndim == 1 else "entry_weights"
            arrays[name] = self.weights
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Targets:
        """Rebuild and check outputs from named arrays.

        Raises
        ------
        ValueError
            If anything is absent, of another type or shape, or out of range.
        """
        values: NDArray[np.float64] | CSR
        if "output_values" in arrays:
            values = _ARRAYS.read(arrays, "output_values")
            entries = values
        else:
            values = _sparse_from_arrays(arrays)
            entries = values.data
        if min(values.shape) < 1 or not np.all(np.isfinite(entries)):
            raise ValueError("Expected at least one training output, and only finite ones.")
        observed = None
        if "output_observed" in arrays:
            mask = _ARRAYS.read(arrays, "output_observed")
            if "output_values" not in arrays or mask.shape != values.shape or mask.max() > 1:
                raise ValueError("Expected 0 or 1 for every training output that is or is not.")
            observed = mask.view(np.bool_)
        return cls.of(values, observed, _weights_from_arrays(arrays, values.shape))


def unit_of(weights: NDArray[np.float64] | None) -> float:
    """Give a power of two near the largest weight."""
    if weights is None or not weights.max(initial=0.0) > 0:
        return 1.0
    return math.ldexp(1.0, math.frexp(float(weights.max()))[1] - 1)


def _both_none_or_equal(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _sparse_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> CSR:
    shape = _ARRAYS.read(arrays, "output_shape")
    indptr = _ARRAYS.read(arrays, "output_indptr")
    indices = _ARRAYS.read(arrays, "output_indices")
    data = _ARRAYS.read(arrays, "output_data")
    if shape.size != 2 or not 1 <= shape.min() <= shape.max() < 2**31:
        raise ValueError("Expected the shape of the training outputs: two positive numbers.")
    n_rows, n_channels = shape.tolist()
    expect_offsets(indptr, n_rows, indices.size, "output_indptr", least=0)
    expect_below(indices, n_channels, "output_indices")
    if data.size != indices.size:
        raise ValueError("Expected as many training outputs as there are indices of them.")
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_channels))


def _weights_from_arrays(
    arrays: Mapping[str, NDArray[Any]], shape: tuple[int, ...]
) -> NDArray[np.float64] | None:
    for name, expected in (("row_weights", shape[:1]), ("entry_weights", shape)):
        if name not in arrays:
            continue
        weights = _ARRAYS.read(arrays, name)
        if weights.shape != expected or not np.all((weights >= 0) & np.isfinite(weights)):
            raise ValueError(f"Expected {name} of shape {expected}, finite and not negative.")
        return weights
    return None


def _check_class_counts(kind: str, n_outputs: int, classes: tuple[NDArray[Any], ...]) -> None:
    n_expected = {"regression": 0, "mixed": 0, "multiclass-multioutput": n_outputs}.get(kind, 1)
    if len(classes) != n_expected:
        raise damaged(f"{n_expected} arrays of classes for a {kind} target", len(classes))
    if any(c.size == 0 for c in classes):
        raise damaged("at least one class per output", [c.size for c in classes])
    if kind in ("binary", "multilabel") and classes[0].size != 2:
        raise damaged(f"2 classes for a {kind} target", classes[0].tolist())


def _check_frame(kind: str, frame: OutputFrame, classes: tuple[NDArray[Any], ...]) -> None:
    """Raise a ValueError unless the columns of a frame can be those of a schema."""
    discrete = [column.classes for column in frame.columns if column.classes is not None]
    if kind == "mixed":
        return
    n_expected = 0 if kind == "regression" else len(frame.columns)
    sizes = [c.size for c in discrete]
    known = [2] * n_expected if kind == "multilabel" else [c.size for c in classes]
    if len(discrete) != n_expected or sizes != known:
        raise damaged(f"columns with the classes of a {kind} target", sizes)
