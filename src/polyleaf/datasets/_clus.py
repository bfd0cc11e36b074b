"""Read CLUS data sets: ARFF files with a hierarchical class attribute or several targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from polyleaf.datasets._arff import ArffTable, read_arff, read_header
from polyleaf.datasets._assemble import to_dataset, with_outputs
from polyleaf.datasets._dataset import Dataset, Outputs
from polyleaf.datasets._encoders import HierarchyEncoder
from polyleaf.datasets._files import MAX_BYTES, DataFormatError, FilePath, OnError
from polyleaf.datasets._mulan import last_attributes
from polyleaf.hierarchy import Hierarchy


def read_clus(
    path: FilePath,
    *,
    n_targets: int | None = None,
    targets: Sequence[str | int] | None = None,
    on_error: OnError = "raise",
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    """Read a CLUS data set.

    A hierarchical class attribute is flattened to one label per class of the hierarchy. A row
    has the classes that it lists, joined by ``@``, and all their ancestors. The hierarchy is a
    tree, declared by paths (``animal/cat``), or a directed acyclic graph, declared by pairs of
    parent and child of which some begin at ``root``, as the Gene Ontology is.

    Parameters
    ----------
    path : str or os.PathLike
        The ARFF file; gzip, bzip2 and xz are decompressed.
    n_targets : int, optional
        The number of outputs, the last attributes of the file. Only without a hierarchical
        attribute.
    targets : sequence of str or int, optional
        The outputs by name or index. Only without a hierarchical attribute.
    on_error : {"raise", "skip"}, default="raise"
        Whether a malformed line is an error, or is skipped and counted in ``n_skipped``.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Dataset
        With a hierarchical attribute, `hierarchy` has the tree or graph, and Y is a csr_array of
        int8, its columns named by the paths (or the classes of a graph) in declared order; if the
        classes of some rows are unknown (``?``), Y is dense float64 with NaN in those rows.

    Raises
    ------
    DataFormatError
        If the file is malformed; it says which line, what was expected and what came.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_clus
    >>> path = Path(tempfile.mkdtemp()) / "toy.arff"
    >>> _ = path.write_text('''@relation toy
    ... @attribute size numeric
    ... @attribute class hierarchical animal,animal/cat,plant/oak
    ... @data
    ... 0.3,animal/cat@plant/oak
    ... 9.0,animal
    ... ''')
    >>> data = read_clus(path)
    >>> data.output_names
    ['animal', 'animal/cat', 'plant', 'plant/oak']
    >>> data.Y.toarray()
    array([[1, 1, 1, 1],
           [1, 0, 0, 0]], dtype=int8)
    >>> data.hierarchy.edges.tolist()
    [[0, 1], [2, 3]]
    """
    table = read_arff(read_header(path, max_bytes), on_error)
    if n_targets is None and targets is None:
        return clus_dataset(table)
    if n_targets is not None and targets is not None:
        raise ValueError("read_clus takes n_targets or targets; got both.")
    if targets is not None:
        return to_dataset(table, table.index_of(targets))
    return to_dataset(table, last_attributes(table, n_targets))


def clus_dataset(table: ArffTable) -> Dataset:
    """Make a data set of a table, whose labels are the classes of its hierarchical attribute."""
    hierarchical = [i for i, a in enumerate(table.attributes) if a.kind == "hierarchical"]
    if len(hierarchical) != 1:
        raise DataFormatError(
            f"expected one hierarchical attribute, found {len(hierarchical)}; pass n_targets= "
            "or targets= to say which attributes are outputs",
            path=table.path,
        )
    encoder = table.encoders[hierarchical[0]]
    assert isinstance(encoder, HierarchyEncoder)
    Y = _flatten(table, hierarchical[0], encoder)
    data = with_outputs(table, hierarchical, Y, encoder.labels)
    hierarchy = Hierarchy(encoder.edges, len(encoder.labels), tuple(encoder.labels))
    return replace(data, hierarchy=hierarchy)


def _flatten(table: ArffTable, column: int, encoder: HierarchyEncoder) -> Outputs:
    """Return the label matrix of a hierarchical attribute."""
    codes = table.values[:, [column]]
    codes = codes.toarray().ravel() if isinstance(codes, sparse.csr_array) else codes.ravel()
    label_lists = [encoder.label_idx(text) for text in encoder.texts]
    indptr = np.concatenate(([0], np.cumsum([len(idx) for idx in label_lists])))
    indices = np.array([i for idx in label_lists for i in idx], dtype=np.int64)
    by_code = sparse.csr_array(
        (np.ones(len(indices), dtype=np.int8), indices, indptr),
        shape=(len(label_lists), len(encoder.labels)),
    )
    is_unknown = np.isnan(codes)
    labels = by_code[np.where(is_unknown, 0, codes).astype(np.intp)]
    if not is_unknown.any():
        return sparse.csr_array(labels)
    known = labels.toarray().astype(np.float64)
    known[is_unknown] = np.nan
    return known
