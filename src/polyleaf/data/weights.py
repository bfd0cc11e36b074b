"""Read sample weights and class weights as weights of rows or of single channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.numbers import shown
from polyleaf.data.tables import is_frame, is_series, read_array
from polyleaf.data.targets import Targets, TargetSchema

ClassWeight = str | Mapping[Any, float] | Sequence[Mapping[Any, float]] | None


def read_sample_weight(
    sample_weight: Any, n_rows: int, schema: TargetSchema
) -> NDArray[np.float64] | None:
    """Read sample weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or (n_rows, n_outputs), or None
        Finite and non-negative, not all zero.
    n_rows : int
        Number of rows of X.
    schema : TargetSchema

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_channels), float64, or None
        Weights of outputs are repeated over their channels. None if no weights were given or
        all are one.
    """
    if sample_weight is None:
        return None
    weights = read_some_weights(sample_weight, n_rows, schema)
    if not weights.any():
        raise ValueError(
            "sample_weight must hold at least one positive number, but all weights are zero."
        )
    return None if (weights == 1.0).all() else weights


def read_some_weights(
    sample_weight: Any, n_rows: int, schema: TargetSchema
) -> NDArray[np.float64]:
    """Read the weights of some of the rows of a fit; see `read_sample_weight`.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Finite and non-negative.
    n_rows : int
    schema : TargetSchema
    """
    weights = _read_weights(sample_weight)
    n_outputs = schema.n_outputs
    if weights.shape not in ((n_rows,), (n_rows, n_outputs)):
        raise ValueError(
            f"sample_weight must have the shape ({n_rows},), one weight per row, or ({n_rows}, "
            f"{n_outputs}), one per row and output; got {weights.shape}."
        )
    _check_weights(weights, "sample_weight")
    if weights.ndim == 1 or n_outputs == 1:
        return np.ascontiguousarray(weights.reshape(n_rows))
    return np.repeat(weights, np.diff(schema.channel_offsets), axis=1)


def _read_weights(sample_weight: Any) -> NDArray[np.float64]:
    if sparse.issparse(sample_weight):
        raise TypeError("sample_weight must be dense; got a sparse matrix. Use .toarray().")
    if is_series(sample_weight):
        sample_weight = nw.from_native(sample_weight, series_only=True).to_numpy()
    elif is_frame(sample_weight):
        sample_weight = nw.from_native(sample_weight, eager_only=True).to_numpy()
    array = read_array(sample_weight, "sample_weight")
    if array.dtype.kind in "mM":
        raise ValueError(f"sample_weight must hold numbers; got the dtype {array.dtype}.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must hold numbers; got the dtype {array.dtype} ({error})."
        ) from error


def _check_weights(weights: NDArray[np.float64], name: str) -> None:
    if not np.isfinite(weights).all():
        wrong = weights[~np.isfinite(weights)][0]
        raise ValueError(
            f"{name} must be finite; got {wrong}. Give rows that should not count the weight 0."
        )
    if (weights < 0).any():
        raise ValueError(f"{name} must not be negative; got {weights.min()}.")


def class_weights(
    class_weight: ClassWeight,
    targets: Targets,
    counted: Targets | None = None,
    total: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None,
) -> NDArray[np.float64] | None:
    """Turn class weights into weights of rows (one output) or channels (several).

    Parameters
    ----------
    class_weight : None, "balanced", dict, or list of dicts
        "balanced" gives the classes of an output equal total weight. A dict maps classes to
        weights, 1 where absent; for a multi-label problem one dict {0: a, 1: b} serves all
        labels. A list has one dict per output.
    targets : Targets
        Unobserved entries do not count; their weight is 1.
    counted : Targets, optional
        Whose frequencies "balanced" means, with the same schema; by default those of `targets`.
    total : callable, optional
        From the frequencies of these rows to those of all, if other workers have some.

    Returns
    -------
    ndarray of shape (n_rows,) for a one-dimensional y, else (n_rows, n_channels); or None
    """
    if class_weight is None:
        return None
    schema = targets.schema
    if schema.kind == "regression":
        raise ValueError("class_weight needs a classifier's y; got a regression.")
    if not isinstance(targets.values, np.ndarray):
        n_rows, n_labels = targets.values.shape
        raise ValueError(
            "class_weight is not supported for a sparse y: the weights would be a dense array of "
            f"{n_rows} x {n_labels} numbers. Use class_weight=None, or a dense y."
        )
    chosen = _per_output(class_weight, schema)
    columns = []
    for j, weight in enumerate(chosen):
        codes, classes = codes_of(targets, j)
        frequencies = codes if counted is None else codes_of(counted, j)[0]
        where = _output_label(schema, j)
        per_class = _weights_of_classes(weight, frequencies, classes, where, total)
        weights = np.ones(codes.size)
        weights[codes >= 0] = per_class[codes[codes >= 0]]
        columns.append(weights)
    if schema.is_1d:
        return columns[0]
    return np.repeat(np.column_stack(columns), np.diff(schema.channel_offsets), axis=1)


def combine_weights(
    a: NDArray[np.float64] | None, b: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Multiply weights of shape (n_rows,) or (n_rows, n_channels); None means one."""
    if a is None or b is None:
        return b if a is None else a
    if a.ndim < b.ndim:
        a, b = b, a
    return a * (b[:, None] if b.ndim < a.ndim else b)


def _per_output(class_weight: Any, schema: TargetSchema) -> list[Any]:
    """Give one specification ("balanced" or a dict) per output."""
    n_outputs = schema.n_outputs
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                "class_weight must be None, 'balanced', a dict or a list of dicts; got "
                f"{shown(class_weight)}."
            )
        return [class_weight] * n_outputs
    if isinstance(class_weight, Mapping):
        if schema.kind == "multiclass-multioutput":
            raise ValueError(
                f"class_weight must be 'balanced' or a list of {n_outputs} dicts, one per output, "
                "because every output has its own classes; got a single dict."
            )
        return [class_weight] * n_outputs
    if not isinstance(class_weight, Sequence) or not all(
        isinstance(weight, Mapping) for weight in class_weight
    ):
        raise ValueError(
            "class_weight must be None, 'balanced', a dict or a list of dicts; got "
            f"{shown(class_weight, 80)}."
        )
    if schema.is_1d:
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict for a one-dimensional y; got a list."
        )
    if len(class_weight) != n_outputs:
        raise ValueError(
            f"class_weight must be a list of {n_outputs} dicts, one per output; got "
            f"{len(class_weight)}."
        )
    return list(class_weight)


def codes_of(targets: Targets, output: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Give each row's class position in one output, -1 where unobserved, and the classes."""
    schema = targets.schema
    start, stop = schema.channel_offsets[output], schema.channel_offsets[output + 1]
    part: Any = targets.values[:, start:stop]
    values = part if isinstance(part, np.ndarray) else part.toarray()
    if schema.kind in ("binary", "multilabel"):
        codes = values[:, 0].astype(np.int64)
        classes = schema.classes[0]
    else:
        codes = np.argmax(values, axis=1)
        classes = schema.classes[output]
    if targets.observed is not None:
        codes = np.where(targets.observed[:, start], codes, -1)
    return codes, classes


def _output_label(schema: TargetSchema, output: int) -> str:
    if schema.is_1d:
        return "y"
    name = output if schema.output_names is None else repr(schema.output_names[output])
    return f"output {name} of y"


def _weights_of_classes(
    class_weight: Any,
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    where: str,
    total: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None,
) -> NDArray[np.float64]:
    if class_weight == "balanced":
        counts = np.bincount(codes[codes >= 0], minlength=classes.size)
        if total is not None:
            counts = total(counts)
        n_present = np.count_nonzero(counts)
        shares = max(n_present, 1) * np.maximum(counts, 1.0)
        balanced: NDArray[np.float64] = counts.sum() / shares
        return balanced
    labels = classes.tolist()
    known = set(labels)
    unknown = [key for key in class_weight if key not in known]
    unweighted = [label for label in labels if label not in class_weight]
    if unknown and unweighted:
        raise ValueError(
            f"class_weight gives weights to {unknown}, which are not classes of {where}, and none "
            f"to {unweighted}. Its keys must be among the classes {labels!r:.200}."
        )
    try:
        weights = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight must map classes to numbers; {error}.") from error
    _check_weights(weights, "class_weight")
    return weights
