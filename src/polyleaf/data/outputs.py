"""Turn channel probabilities into what a classifier's `predict` and `predict_proba` return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.data.targets import TargetSchema

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]


def decode_classes(schema: TargetSchema, probabilities: NDArray[Any] | CSR) -> NDArray[Any] | CSR:
    """Choose classes: the likelier one of two (the first if tied), or the likeliest.

    Parameters
    ----------
    schema : TargetSchema
        Of a classifier.
    probabilities : ndarray or csr_array of shape (n_rows, n_channels)

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_outputs), or csr_array
        Labels in the user's dtype; 0/1 as int64 for multi-label problems, sparse if Y was. An
        object array if the outputs' labels are of different types.
    """
    _check_channels(schema, probabilities)
    if schema.kind == "multilabel":
        return _decode_multilabel(schema, respecting(schema, probabilities))
    probabilities = _dense(probabilities)
    if schema.kind == "binary":
        chosen = (probabilities[:, 0] > 0.5).astype(np.int64)
        labels: NDArray[Any] = schema.classes[0][chosen]
        return labels
    decoded: list[NDArray[Any]] = [
        classes[np.argmax(probabilities[:, start:stop], axis=1)]
        for classes, start, stop in _groups(schema)
    ]
    if schema.kind == "multiclass":
        return decoded[0]
    result = np.empty((probabilities.shape[0], schema.n_outputs), dtype=_common_dtype(schema))
    for j, column in enumerate(decoded):
        result[:, j] = column
    return result


def respecting(schema: TargetSchema, scores: NDArray[Any] | CSR) -> Any:
    """Make scores or probabilities respect the hierarchy of the labels, if there is one.

    Parameters
    ----------
    schema : TargetSchema
    scores : ndarray or csr_array of shape (n_rows, n_channels)

    Returns
    -------
    ndarray or csr_array of shape (n_rows, n_channels)
        The scores themselves if no label outscores its ancestors.
    """
    return scores if schema.hierarchy is None else schema.hierarchy.raise_ancestors(scores)


def split_probabilities(
    schema: TargetSchema, probabilities: NDArray[Any] | CSR
) -> NDArray[Any] | CSR | list[NDArray[Any]]:
    """Arrange channel probabilities as `predict_proba` returns them.

    Parameters
    ----------
    schema : TargetSchema
        Of a classifier.
    probabilities : ndarray or csr_array of shape (n_rows, n_channels)

    Returns
    -------
    ndarray of shape (n_rows, 2), (n_rows, n_classes) or (n_rows, n_labels), or a list of arrays
        Two columns for a binary problem, one per class or per label otherwise, and one array of
        shape (n_rows, n_classes_j) per output of a multi-class multi-output problem.
    """
    _check_channels(schema, probabilities)
    if schema.kind == "multilabel":
        shares: NDArray[Any] | CSR = respecting(schema, probabilities)
        return shares
    probabilities = _dense(probabilities)
    if schema.kind == "binary":
        return np.column_stack([1.0 - probabilities[:, 0], probabilities[:, 0]])
    if schema.kind == "multiclass":
        return probabilities
    return [probabilities[:, start:stop] for _, start, stop in _groups(schema)]


def largest_entries(
    values: NDArray[Any] | CSR, k: int, depth: NDArray[np.int64] | None = None
) -> CSR:
    """Keep the k largest positive entries of every row; of equal ones, the first.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_rows, n_channels)
        NaN is left out.
    k : int
    depth : ndarray of shape (n_channels,), optional
        Of labels in a hierarchy: of equal entries, those nearer to a root come first, so that no
        label is kept without its ancestors.
    """
    if depth is not None:
        order = np.argsort(depth, kind="stable")
        found = largest_entries(values[:, order], k)
        entries = (found.data, order[found.indices], found.indptr)
        chosen: CSR = sparse.csr_array(entries, shape=found.shape)
        chosen.sort_indices()
        return chosen
    if isinstance(values, np.ndarray):
        places = np.argsort(-values, axis=1, kind="stable")[:, :k]
        rows: NDArray[Any] = np.repeat(np.arange(len(values)), places.shape[1])
        columns: NDArray[Any] = places.ravel()
        data: NDArray[Any] = values[rows, columns]
    else:
        rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
        order = np.lexsort((values.indices, -values.data, rows))
        order = order[np.arange(order.size) - values.indptr[rows] < k]
        rows, columns, data = rows[order], values.indices[order], values.data[order]
    kept = data > 0
    found_entries = (data[kept], (rows[kept], columns[kept]))
    return sparse.csr_array(found_entries, shape=values.shape)


def named_entries(values: CSR, names: Sequence[str]) -> list[list[tuple[str, float]]]:
    """List the entries of every row with the names of their columns, the largest first.

    Parameters
    ----------
    values : csr_array of shape (n_rows, n_channels)
    names : sequence of str, of length n_channels

    Examples
    --------
    >>> from scipy import sparse
    >>> named_entries(sparse.csr_array([[0.25, 0.0, 0.5]]), ["jazz", "folk", "soul"])
    [[('soul', 0.5), ('jazz', 0.25)]]
    """
    listed = []
    for start, end in zip(values.indptr[:-1], values.indptr[1:]):
        columns, data = values.indices[start:end], values.data[start:end]
        order = np.lexsort((columns, -data))
        listed.append([(names[columns[at]], float(data[at])) for at in order])
    return listed


def _check_channels(schema: TargetSchema, probabilities: NDArray[Any] | CSR) -> None:
    if schema.kind == "regression":
        raise ValueError("A regression has no classes to decode; use the raw predictions.")
    if probabilities.ndim != 2 or probabilities.shape[1] != schema.n_channels:
        raise ValueError(
            f"probabilities must have the shape (n_rows, {schema.n_channels}), one column per "
            f"channel; got {probabilities.shape}."
        )


def _dense(probabilities: NDArray[Any] | CSR) -> NDArray[Any]:
    return probabilities if isinstance(probabilities, np.ndarray) else probabilities.toarray()


def _groups(schema: TargetSchema) -> list[tuple[NDArray[Any], int, int]]:
    offsets = schema.channel_offsets.tolist()
    return list(zip(schema.classes, offsets[:-1], offsets[1:]))


def _decode_multilabel(
    schema: TargetSchema, probabilities: NDArray[Any] | CSR
) -> NDArray[np.int64] | CSR:
    if isinstance(probabilities, np.ndarray):
        chosen = probabilities > 0.5
        if schema.is_sparse:
            return sparse.csr_array(chosen).astype(np.int64)
        return chosen.astype(np.int64)
    kept = (probabilities.data > 0.5).astype(np.int64)
    decoded = sparse.csr_array(
        (kept, probabilities.indices.copy(), probabilities.indptr.copy()),
        shape=probabilities.shape,
    )
    decoded.eliminate_zeros()
    return decoded if schema.is_sparse else decoded.toarray()


def _common_dtype(schema: TargetSchema) -> np.dtype[Any]:
    dtypes = [classes.dtype for classes in schema.classes]
    if len({dtype.kind for dtype in dtypes}) == 1:
        return np.result_type(*dtypes)
    return np.dtype(object)
