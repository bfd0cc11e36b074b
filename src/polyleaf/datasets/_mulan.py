"""Read MULAN data sets: an ARFF file, and an XML file that names the labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from polyleaf.datasets._arff import ArffTable, read_arff, read_header
from polyleaf.datasets._assemble import to_dataset
from polyleaf.datasets._dataset import Dataset
from polyleaf.datasets._files import MAX_BYTES, DataFormatError, FilePath, OnError, read_bytes
from polyleaf.datasets._tokens import unescape


def read_mulan(
    arff: FilePath,
    xml: FilePath | None = None,
    *,
    n_targets: int | None = None,
    targets: Sequence[str | int] | None = None,
    on_error: OnError = "raise",
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    r"""Read a MULAN data set, dense or sparse.

    Say in one of three ways which attributes are outputs: by an XML file, by their number
    (they are the last ones), or by name or index.

    Parameters
    ----------
    arff : str or os.PathLike
        The ARFF file; gzip, bzip2 and xz are decompressed.
    xml : str or os.PathLike, optional
        The XML file with the names of the labels. Names may carry backslash escapes in either
        file. The outputs come in the order of the ARFF file.
    n_targets : int, optional
        The number of outputs, the last attributes of the file.
    targets : sequence of str or int, optional
        The outputs by name or index, in the order wanted.
    on_error : {"raise", "skip"}, default="raise"
        Whether a malformed line is an error, or is skipped and counted in ``n_skipped``.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Dataset
        Nominal attributes with the levels 0 and 1 are numbers; other nominal features make X a
        DataFrame with ``category`` columns.

    Raises
    ------
    DataFormatError
        If a file is malformed; it says which file and line, what was expected and what came.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import read_mulan
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "toy.arff").write_text(r'''@relation toy
    ... @attribute height numeric
    ... @attribute tall {0,1}
    ... @attribute 'cat\'s owner' {0,1}
    ... @data
    ... 1.9,1,0
    ... ?,0,1
    ... ''')
    >>> _ = (folder / "toy.xml").write_text(
    ...     '''<labels><label name="tall"/><label name="cat's owner"/></labels>''')
    >>> data = read_mulan(folder / "toy.arff", folder / "toy.xml")
    >>> data
    Dataset('toy': n=2, p=1, d=2; X dense, Y dense; 1 missing in X)
    >>> data.output_names
    ['tall', "cat's owner"]
    """
    given = [choice is not None for choice in (xml, n_targets, targets)]
    if sum(given) != 1:
        raise ValueError(
            "read_mulan needs exactly one of xml (a file that names the labels), n_targets "
            f"(how many of the last attributes are outputs) or targets; got {sum(given)} of them."
        )
    table = read_arff(read_header(arff, max_bytes), on_error)
    if xml is not None:
        return mulan_dataset(table, xml, max_bytes)
    if targets is not None:
        return to_dataset(table, table.index_of(targets))
    return to_dataset(table, last_attributes(table, n_targets))


def mulan_dataset(table: ArffTable, xml: FilePath, max_bytes: int) -> Dataset:
    """Make a data set of a table, given the file that names its labels."""
    return to_dataset(table, _match_labels(table, _read_label_names(xml, max_bytes), xml))


def last_attributes(table: ArffTable, n_targets: int | None) -> range:
    """Return the indices of the last `n_targets` attributes, leaving at least one feature."""
    m = len(table.attributes)
    if not isinstance(n_targets, int) or not 1 <= n_targets < m:
        raise ValueError(
            f"n_targets must be an integer from 1 to {m - 1} for the {m} attributes of "
            f"{table.path}; got {n_targets!r}."
        )
    return range(m - n_targets, m)


def _match_labels(table: ArffTable, names: list[str], xml: FilePath) -> list[int]:
    """Return the sorted indices of the attributes that the XML file names."""
    by_name = {attribute.name: idx for idx, attribute in enumerate(table.attributes)}
    matched: dict[int, str] = {}
    for name in names:
        idx = by_name.get(name, by_name.get(unescape(name, quoted=False)))
        if idx is None:
            raise DataFormatError(
                f"expected labels that are attributes of {table.path}, got {name!r}", path=xml
            )
        if idx in matched:
            raise DataFormatError(
                f"expected every label once, got {name!r} after {matched[idx]!r}", path=xml
            )
        matched[idx] = name
    return sorted(matched)


def _read_label_names(path: FilePath, max_bytes: int) -> list[str]:
    """Return the names of all <label> elements, nested ones included, in order."""
    names: list[str] = []

    def refuse_doctype(*_: Any) -> None:
        raise DataFormatError(
            "expected plain XML, got a document type declaration; it is refused because its "
            "entities can grow without bound or name other files",
            path=path,
        )

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "label":
            if "name" not in attributes:
                raise DataFormatError(
                    "expected a label with a name, as in <label name='x'/>, got one without",
                    path=path,
                    line=parser.CurrentLineNumber,
                )
            names.append(attributes["name"])

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start_element
    raw = read_bytes(path, max_bytes)
    try:
        parser.Parse(raw, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, DataFormatError):
            raise
        raise DataFormatError(
            f"expected well-formed XML such as <labels><label name='x'/></labels>: {error}",
            path=path,
        ) from error
    if not names:
        hint = "; is this the ARFF file?" if Path(path).suffix.lower() == ".arff" else ""
        raise DataFormatError(f"expected <label> elements, found none{hint}", path=path)
    return names
