"""Read MEKA data sets: ARFF files whose relation name says how many attributes are labels."""

from __future__ import annotations

import re

from polyleaf.checks.warning import warn_user
from polyleaf.datasets._arff import ArffTable, read_arff, read_header
from polyleaf.datasets._assemble import to_dataset
from polyleaf.datasets._dataset import Dataset
from polyleaf.datasets._files import (
    MAX_BYTES,
    DataFormatError,
    DataFormatWarning,
    FilePath,
    OnError,
)

_LABEL_COUNT = re.compile(r"(?:^|[\s:])-[cC]\s+(-?\d{1,9})(?!\d)", re.ASCII)


def read_meka(
    path: FilePath,
    *,
    n_labels: int | None = None,
    on_error: OnError = "raise",
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    """Read a MEKA data set, dense or sparse.

    The option ``-C k`` in the relation name says that the first k attributes are labels, or the
    last -k if k is negative. Some files were reordered after that was written: where only the
    attributes at the other end are nominal, those are taken, with a warning.

    Parameters
    ----------
    path : str or os.PathLike
        The ARFF file; gzip, bzip2 and xz are decompressed.
    n_labels : int, optional
        The number of labels, instead of that in the file: positive for the first attributes,
        negative for the last.
    on_error : {"raise", "skip"}, default="raise"
        Whether a malformed line is an error, or is skipped and counted in ``n_skipped``.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Dataset
        As of `read_mulan`. Labels with levels other than 0 and 1 are outputs with more classes,
        and Y then holds the levels as strings.

    Raises
    ------
    DataFormatError
        If the file is malformed; it says which line, what was expected and what came.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_meka
    >>> path = Path(tempfile.mkdtemp()) / "toy.arff"
    >>> _ = path.write_text('''@relation 'toy: -C 2'
    ... @attribute rain {0,1}
    ... @attribute wind {0,1}
    ... @attribute pressure numeric
    ... @data
    ... {0 1,2 0.5}
    ... {2 0.7}
    ... ''')
    >>> read_meka(path)
    Dataset('toy': n=2, p=1, d=2; X sparse, Y sparse; nothing missing)
    """
    table = read_arff(read_header(path, max_bytes), on_error)
    if n_labels is not None:
        return to_dataset(table, _label_idx(table, n_labels))
    return meka_dataset(table)


def meka_dataset(table: ArffTable) -> Dataset:
    """Make a data set of a table whose relation says which attributes are labels."""
    match = _LABEL_COUNT.search(table.relation)
    if match is None:
        raise DataFormatError(
            "expected '-C k' in the @relation line (the number of labels), got "
            f"{table.relation[:80]!r}; pass n_labels=",
            path=table.path,
        )
    declared = int(match[1])
    output_idx = _label_idx(table, declared)
    other_end = _label_idx(table, -declared)
    if not _all_nominal(table, output_idx) and _all_nominal(table, other_end):
        ends = ("first", "last") if declared > 0 else ("last", "first")
        warn_user(
            f"{table.path}: the header says -C {declared}, but the {ends[0]} {abs(declared)} "
            f"attributes are not nominal and the {ends[1]} {abs(declared)} are; took the "
            f"{ends[1]} ones as labels. Pass n_labels={-declared} to say so yourself.",
            DataFormatWarning,
        )
        output_idx = other_end
    return to_dataset(table, output_idx)


def declares_labels(relation: str) -> bool:
    """Whether the name of a relation says how many attributes are labels."""
    return _LABEL_COUNT.search(relation) is not None


def _label_idx(table: ArffTable, n_labels: int) -> range:
    m = len(table.attributes)
    if not isinstance(n_labels, int) or not 1 <= abs(n_labels) < m:
        raise DataFormatError(
            f"expected a number of labels (-C) from 1 to {m - 1}, or negative for the last "
            f"attributes, with {m} attributes; got {n_labels!r}",
            path=table.path,
        )
    return range(n_labels) if n_labels > 0 else range(m + n_labels, m)


def _all_nominal(table: ArffTable, columns: range) -> bool:
    return all(table.attributes[idx].kind == "nominal" for idx in columns)
