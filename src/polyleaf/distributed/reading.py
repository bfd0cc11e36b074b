"""What workers must agree on before the first round: rows, columns, classes, weights and bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.boosting.validation import HeldOut, with_unit
from polyleaf.data import (
    FeatureSchema,
    Targets,
    TargetSchema,
    TrainingData,
    align_targets,
    class_weights,
    combine_weights,
    read_classes,
    read_numbers,
)
from polyleaf.data.batch_schema import SchemaBuilder
from polyleaf.data.binned import NUMERIC
from polyleaf.data.output_frame import classes_from_json
from polyleaf.data.read_targets import NothingObservedError, check_shape, name_outputs
from polyleaf.data.tables import SparseTable, read_table
from polyleaf.data.training import (
    LARGEST_TOTAL_WEIGHT,
    LEAST_TOTAL_WEIGHT,
    NumericData,
    check_numeric,
)
from polyleaf.data.weights import read_some_weights
from polyleaf.distributed.binning import bin_divided
from polyleaf.distributed.collectives import Collective
from polyleaf.distributed.gathering import Gathering
from polyleaf.trees.shards import Shard


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a fit, as they were given.

    Attributes
    ----------
    position : int
        Place of these rows among the parts of all workers.
    X : array, frame or sparse matrix of shape (n, p)
    Y : array, frame or sparse matrix of shape (n,) or (n, d)
    sample_weight : array of shape (n,) or (n, d), or None
    """

    position: int
    X: Any
    Y: Any
    sample_weight: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        shape = getattr(self.X, "shape", None)
        if shape == ():
            raise ValueError("X of a part must have rows; got an array without dimensions.")
        return len(self.X) if shape is None else int(shape[0])


@dataclass(frozen=True, eq=False)
class Agreed:
    """The rows of one worker, as all workers have agreed to read them.

    Attributes
    ----------
    data : TrainingData
        Of this worker's rows.
    shard : Shard
    held_out : HeldOut or None
        This worker's validation rows, if there are some anywhere.
    """

    data: TrainingData
    shard: Shard
    held_out: HeldOut | None


def read_divided(
    estimator: Any,
    parts: Sequence[Rows],
    validation: Sequence[Rows] | None,
    collective: Collective,
    output_names: Any = None,
) -> Agreed:
    """Read the rows of this worker, together with all others.

    Parameters
    ----------
    estimator : Estimator
        Whose parameters say how.
    parts : sequence of Rows
        Those of this worker; empty ones are left out.
    validation : sequence of Rows or None
        Likewise; None if no worker has validation rows.
    collective : Collective
    output_names : sequence of str, optional
        Names of the outputs, if Y has none.
    """
    name = type(estimator).__name__
    parts = sorted((p for p in parts if p.n_rows), key=lambda p: p.position)
    numbers = _numbers(parts, collective)
    shard = Shard(numbers, collective.allreduce)
    schema, is_sparse = _agree_on_columns(estimator, parts, collective)
    encoded = _encode(schema, parts, is_sparse, collective, name)
    reader = _TargetReader(estimator, parts, collective)
    targets, given = reader.read(parts, "y")
    if output_names is not None:
        targets = name_outputs(targets, output_names)
        reader.schema = targets.schema
    total = shard.sum
    weights = combine_weights(given, class_weights(reader.class_weight, targets, None, total))
    targets = with_unit(targets.weighted(weights), shard)
    _check_counts(targets, shard)
    categories = np.where(schema.is_categorical, schema.n_categories, NUMERIC)
    features = bin_divided(
        encoded, numbers, categories, estimator.max_bins, estimator._n_threads(), collective
    )
    data = TrainingData(schema, features, encoded, targets, given, is_part=True)
    held_out = None
    if validation is not None:
        own = sorted((p for p in validation if p.n_rows), key=lambda p: p.position)
        rows = _encode(schema, own, is_sparse, collective, name)
        own_targets, own_given = reader.read(own, "y of eval_set")
        by_class = class_weights(reader.class_weight, own_targets, targets, total)
        weighted = own_targets.weighted(combine_weights(own_given, by_class))
        held_out = HeldOut(rows, with_unit(weighted, shard), own_given)
    return Agreed(data, shard, held_out)


def _numbers(parts: Sequence[Rows], collective: Collective) -> NDArray[np.int64]:
    """Give the numbers of this worker's rows among those of all."""
    own = [[part.position, part.n_rows] for part in parts]
    sizes = dict(sorted(pair for found in collective.gather_json(own) for pair in found))
    if not sizes:
        raise ValueError("There are no rows to learn from: all parts of X are empty.")
    ends = dict(zip(sizes, np.cumsum(list(sizes.values())).tolist()))
    ranges = [np.arange(ends[p.position] - p.n_rows, ends[p.position]) for p in parts]
    return np.concatenate([np.zeros(0, np.int64), *ranges])


def read_graph_rows(
    estimator: Any, parts: Sequence[Rows], collective: Collective, output_names: Any = None
) -> NumericData:
    """Read the rows of this worker for a graph classifier, and gather those of all.

    Parameters
    ----------
    estimator : GraphEstimator
    parts : sequence of Rows
    collective : Collective
    output_names : sequence of str, optional
    """
    name = type(estimator).__name__
    parts = sorted((p for p in parts if p.n_rows), key=lambda p: p.position)
    rows = Gathering(collective, _numbers(parts, collective))
    schema, is_sparse = _agree_on_columns(estimator, parts, collective)
    encoded = rows.matrix(_encode(schema, parts, is_sparse, collective, name))
    check_numeric(schema, encoded, name)
    reader = _TargetReader(estimator, parts, collective)
    own, given = reader.read(parts, "y")
    targets = Targets(reader.schema, rows.matrix(own.values), rows.array(own.observed))
    if output_names is not None:
        targets = name_outputs(targets, output_names)
    weights = rows.array(given)
    if reader.class_weight is not None:
        weights = combine_weights(weights, class_weights(reader.class_weight, targets))
    return NumericData(schema, encoded.astype(np.float64, copy=False), targets.weighted(weights))


# Columns -----------------------------------------------------------------------------------------


def _agree_on_columns(
    estimator: Any, parts: Sequence[Rows], collective: Collective
) -> tuple[FeatureSchema, bool]:
    """Find names and categories of all parts; also tell whether X is sparse."""
    name = type(estimator).__name__
    described: list[list[Any]] = []
    for part in parts:
        table = read_table(part.X)
        if isinstance(table, SparseTable):
            described.append([part.position, table.values.shape[1], None])
            continue
        builder = SchemaBuilder(_categorical(estimator), name)
        builder.read(part.X)
        found = builder.to_json()
        described.append([part.position, len(found["columns"]), found])
    everywhere = sorted(item for own in collective.gather_json(described) for item in own)
    sparse_parts = [item[0] for item in everywhere if item[2] is None]
    if not sparse_parts:
        builder = SchemaBuilder(_categorical(estimator), name)
        for _, _, found in everywhere:
            builder.join(found)
        return builder.finish()[0], False
    if len(sparse_parts) < len(everywhere):
        raise TypeError(
            "All parts of X must be sparse, or none; got a scipy.sparse matrix in part "
            f"{sparse_parts[0]} and none in another."
        )
    if _categorical(estimator) is not None:
        raise ValueError(
            "categorical_features cannot be used with sparse parts of X on a cluster. Give dense "
            "parts, or data frames."
        )
    widths = {width for _, width, _ in everywhere}
    if len(widths) > 1:
        raise ValueError(f"All parts of X must have as many columns; got {sorted(widths)}.")
    return FeatureSchema(everywhere[0][1], None, (None,) * everywhere[0][1]), True


def _categorical(estimator: Any) -> Any:
    return getattr(estimator, "categorical_features", None)


def _encode(
    schema: FeatureSchema,
    parts: Sequence[Rows],
    is_sparse: bool,
    collective: Collective,
    estimator_name: str,
) -> Any:
    """Encode the rows of this worker; in float32 if all workers can."""
    found: list[Any] = [schema.encode(part.X, estimator_name=estimator_name) for part in parts]
    is_single = all(rows.dtype == np.float32 for rows in found)
    all_single = all(collective.gather_json(is_single or not found)) and any(
        collective.gather_json(bool(found))
    )
    dtype = np.float32 if all_single else np.float64
    if not found:
        shape = (0, schema.n_features)
        return sparse.csr_array(shape, dtype=dtype) if is_sparse else np.zeros(shape, dtype)
    if is_sparse:
        return sparse.csr_array(sparse.vstack(found).astype(dtype))
    return np.concatenate([rows.astype(dtype, copy=False) for rows in found])


# Outputs -----------------------------------------------------------------------------------------


class _TargetReader:
    """Reads Y as all workers see it.

    Parameters
    ----------
    estimator : Estimator
    parts : sequence of Rows
        Of the training rows, whose outputs and classes count.
    collective : Collective
    """

    def __init__(self, estimator: Any, parts: Sequence[Rows], collective: Collective) -> None:
        self._collective, self._name = collective, type(estimator).__name__
        self.class_weight = getattr(estimator, "class_weight", None)
        self._read: Callable[..., Targets] = read_classes
        if estimator._task == "regression":
            self._read = read_numbers
        self._found = {part.position: self._try(part) for part in parts}
        described = [
            [position, _described(found)]
            for position, found in self._found.items()
            if found is not None
        ]
        everywhere = sorted(
            (item for own in collective.gather_json(described) for item in own),
            key=lambda item: item[0],
        )
        if not everywhere:
            raise ValueError(
                "Input y contains NaN only: not a single entry was observed, so there is nothing "
                "to learn. Pass a y with at least one observed value."
            )
        self.schema = _joined_schema(everywhere)

    def _try(self, part: Rows) -> Targets | None:
        """Read the outputs of a part; None if none of them was observed."""
        try:
            return self._read(part.Y, part.n_rows, estimator_name=self._name)
        except NothingObservedError:
            return None

    def read(self, parts: Sequence[Rows], what: str) -> tuple[Targets, NDArray[np.float64] | None]:
        """Read the outputs of this worker, and the weights of rows or entries.

        Parameters
        ----------
        parts : sequence of Rows
        what : str
            What they are, for error messages.
        """
        found = []
        for part in parts:
            targets = self._found.get(part.position) if what == "y" else self._try(part)
            where = f"{what}, part {part.position},"
            found.append(self._aligned(targets, part, where))
        values, observed = self._joined(found)
        targets = Targets(self.schema, values, observed)
        return targets, self._weights(parts)

    def _aligned(self, targets: Targets | None, part: Rows, where: str) -> Targets:
        schema = self.schema
        if targets is not None:
            if targets.is_sparse != schema.is_sparse:
                raise ValueError(f"{where} must be sparse in all parts, or in none.")
            return align_targets(targets, schema, where)
        shape = np.shape(part.Y)
        check_shape((shape[0], schema.n_outputs if len(shape) == 1 else shape[1]), part.n_rows)
        zeros = np.zeros((part.n_rows, schema.n_channels))
        return Targets(schema, zeros, np.zeros(zeros.shape, np.bool_))

    def _joined(self, found: Sequence[Targets]) -> tuple[Any, NDArray[np.bool_] | None]:
        """Put the rows of this worker together; all workers have a mask, or none has."""
        has_gaps = any(targets.observed is not None for targets in found)
        any_gaps = any(self._collective.gather_json(has_gaps))
        shape = (0, self.schema.n_channels)
        if self.schema.is_sparse:
            if not found:
                return sparse.csr_array(shape, dtype=np.float64), None
            rows: list[Any] = [targets.values for targets in found]
            return sparse.csr_array(sparse.vstack(rows)), None
        values = np.concatenate([np.zeros(shape), *(t.dense_values() for t in found)])
        if not any_gaps:
            return values, None
        masks = [
            np.ones(t.values.shape, np.bool_) if t.observed is None else t.observed for t in found
        ]
        return values, np.concatenate([np.zeros(shape, np.bool_), *masks])

    def _weights(self, parts: Sequence[Rows]) -> NDArray[np.float64] | None:
        """Read the weights; None if nobody has any, or all are 1."""
        given = [
            read_some_weights(part.sample_weight, part.n_rows, self.schema)
            for part in parts
            if part.sample_weight is not None
        ]
        facts = [[w.ndim, bool((w != 1.0).any()), bool(w.any())] for w in given] or [
            [0, False, False]
        ]
        everywhere = [
            fact for own in self._collective.gather_json(facts) for fact in own if fact[0]
        ]
        if not everywhere or not any(fact[1] for fact in everywhere):
            return None
        if len({fact[0] for fact in everywhere}) > 1:
            raise ValueError("sample_weight must have as many dimensions in all parts.")
        if not any(fact[2] for fact in everywhere):
            raise ValueError(
                "sample_weight must hold at least one positive number, but all weights are zero."
            )
        shape = (0,) if everywhere[0][0] == 1 else (0, self.schema.n_channels)
        if self.schema.is_sparse and len(shape) == 2:
            raise ValueError(
                "sample_weight of shape (n, d) needs a dense Y; got a sparse one. Give weights of "
                "shape (n,), or Y as arrays."
            )
        return np.concatenate([np.zeros(shape), *given])


def _described(targets: Targets) -> dict[str, Any]:
    """Describe the outputs of a part by JSON types; labels by the values that occur."""
    described = targets.schema.to_json()
    if targets.schema.kind == "multilabel" and not targets.is_sparse:
        values, seen = targets.dense_values(), targets.observed
        is_seen = np.ones(values.shape, np.bool_) if seen is None else seen
        described["has"] = [
            (((values == value) & is_seen).any(axis=0)).tolist() for value in (0.0, 1.0)
        ]
    return described


def _joined_schema(everywhere: Sequence[Any]) -> TargetSchema:
    """Find the schema of all rows, from those of the parts."""
    first = everywhere[0][1]
    for position, other in everywhere:
        for key in ("n_outputs", "is_1d", "is_sparse", "output_names"):
            if other[key] != first[key]:
                raise ValueError(
                    f"All parts of y must have the same outputs; {key} is {other[key]!r:.80} in "
                    f"part {position} and {first[key]!r:.80} in part {everywhere[0][0]}."
                )
    kinds = {other["kind"] for _, other in everywhere}
    names = None if first["output_names"] is None else tuple(first["output_names"])
    common: Any = {"is_1d": first["is_1d"], "is_sparse": first["is_sparse"]}
    common["output_names"] = names
    if kinds <= {"regression"} or kinds <= {"multilabel"}:
        return TargetSchema.from_json({k: v for k, v in first.items() if k != "has"})
    if first["is_1d"]:
        classes = _union([classes_from_json(other["classes"][0]) for _, other in everywhere])
        kind: Any = "binary" if classes.size == 2 else "multiclass"
        return TargetSchema.build(kind, 1, (classes,), **common)
    by_output = [
        _union([_classes_of(other, j) for _, other in everywhere])
        for j in range(first["n_outputs"])
    ]
    return TargetSchema.build(
        "multiclass-multioutput", first["n_outputs"], tuple(by_output), **common
    )


def _classes_of(described: Any, output: int) -> NDArray[Any]:
    """Give the classes of an output that occur in a part."""
    if described["kind"] != "multilabel":
        return classes_from_json(described["classes"][output])
    has_zero, has_one = described["has"]
    return np.array([0] * has_zero[output] + [1] * has_one[output], np.int64)


def _union(classes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    found = [some for some in classes if some.size]
    if any(some.dtype == object for some in found):
        values = sorted({value for some in found for value in some.tolist()})
        return np.array(values, dtype=object)
    return np.unique(np.concatenate(found))


def _check_counts(targets: Targets, shard: Shard) -> None:
    """Raise a ValueError if no row counts, or if sums of weights would not hold."""
    counts = np.ones((targets.n_rows, 1), np.bool_)
    if targets.observed is not None:
        counts = targets.observed
    if targets.weights is not None:
        by_entry = targets.weights if targets.weights.ndim == 2 else targets.weights[:, None]
        counts = counts & (by_entry > 0)
        total = float(shard.sum(np.array([targets.weights.sum()]))[0])
        if not LEAST_TOTAL_WEIGHT <= total <= LARGEST_TOTAL_WEIGHT:
            raise ValueError(
                "The weights (sample_weight times class_weight) must add up to a number between "
                f"{LEAST_TOTAL_WEIGHT:g} and {LARGEST_TOTAL_WEIGHT:g}; got {total:g}. Multiply "
                "all of them, and l2_regularization where there is one, by the same factor."
            )
    if shard.count(int(counts.any(axis=1).sum())) == 0:
        raise ValueError(
            "At least one row must have both a positive weight and an observed output; got none. "
            "Check sample_weight, class_weight and the NaN in y."
        )
