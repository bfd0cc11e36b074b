"""Read a data file of any supported format, recognised by its name and header."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyleaf.datasets._arff import read_arff, read_header
from polyleaf.datasets._binary import read_mat, read_rda
from polyleaf.datasets._clus import clus_dataset
from polyleaf.datasets._dataset import Dataset
from polyleaf.datasets._files import (
    MAX_BYTES,
    TABLES,
    FilePath,
    check_distinct,
    dataset_name,
    format_suffix,
)
from polyleaf.datasets._meka import declares_labels, meka_dataset
from polyleaf.datasets._mulan import mulan_dataset, read_mulan
from polyleaf.datasets._svmlight import read_svmlight
from polyleaf.datasets._table import read_table

_SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt", ".dat")
_R_FILES = (".rda", ".rdata", ".rds")
_TWO_R_FILES = (
    " If they are in a second file, call datasets.read_rda(features_file, targets_file): all its "
    "columns are outputs."
)
_PARTS = ("-train", "-test", "_train", "_test")


def load(
    path: FilePath,
    *,
    targets: Sequence[str] | None = None,
    n_targets: int | None = None,
    xml: FilePath | None = None,
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    r"""Read a data file; its format is recognised by its name and its first lines.

    Parameters
    ----------
    path : str or os.PathLike
        .arff (MULAN, MEKA or CLUS), .csv, .tsv, .parquet, .svm, .svmlight, .libsvm, .txt or .dat
        (svmlight and extreme classification), .mat, .rda, .RData or .rds; text may be compressed
        by gzip, bzip2 or xz.
    targets : sequence of str, optional
        The names of the outputs; needed for tables, where ``'sensor *'`` stands for all columns
        that begin so. In a .mat file, the one matrix of outputs.
    n_targets : int, optional
        The number of outputs, the last attributes of an ARFF file.
    xml : str or os.PathLike, optional
        The file that names the labels of a MULAN data set. By default the one beside the file
        with the same name is taken, if there is one.
    exclude : sequence of str, default=()
        Columns of a table or of an R data frame to leave out.
    max_bytes : int, default=2**30
        Most bytes that a compressed file may grow to; one that holds more is refused.

    Returns
    -------
    Dataset

    Raises
    ------
    DataFormatError
        If the file is malformed.
    ValueError
        If the format is not known, or nothing says what the outputs are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from polyleaf.datasets import load
    >>> path = Path(tempfile.mkdtemp()) / "toy.csv"
    >>> _ = path.write_text("a,b,y0,y1\n1,2,0,1\n3,4,1,1\n")
    >>> load(path, targets=["y0", "y1"])
    Dataset('toy': n=2, p=2, d=2; X dense, Y dense; nothing missing)
    """
    check_distinct(targets)
    suffix = format_suffix(path)
    if suffix == ".arff":
        return _load_arff(path, targets, n_targets, xml, max_bytes)
    if n_targets is not None or xml is not None:
        raise ValueError(
            f"n_targets and xml are for ARFF files; got {Path(path).name!r}. Give targets: names, "
            "or patterns such as 'sensor *'."
        )
    if suffix in _SVMLIGHT:
        if targets is not None:
            raise ValueError(f"{Path(path).name!r} lists its own labels: leave out targets.")
        return read_svmlight(path, max_bytes=max_bytes)
    if suffix in TABLES:
        return read_table(path, _required(targets, path), exclude=exclude, max_bytes=max_bytes)
    if suffix in _R_FILES:
        names = _required(targets, path, _TWO_R_FILES)
        return read_rda(path, targets=names, exclude=exclude, max_bytes=max_bytes)
    if suffix == ".mat":
        matrix = "target" if targets is None else _only(targets)
        return read_mat(path, targets=matrix, max_bytes=max_bytes)
    known = ", ".join([".arff", *TABLES, *_SVMLIGHT, ".mat", *_R_FILES])
    raise ValueError(f"path must end in one of {known}; got {Path(path).name!r}.")


def _load_arff(
    path: FilePath,
    targets: Sequence[str] | None,
    n_targets: int | None,
    xml: FilePath | None,
    max_bytes: int,
) -> Dataset:
    if xml is not None or targets is not None or n_targets is not None:
        return read_mulan(path, xml, targets=targets, n_targets=n_targets, max_bytes=max_bytes)
    header = read_header(path, max_bytes)
    if any(attribute.kind == "hierarchical" for attribute in header.attributes):
        return clus_dataset(read_arff(header, "raise"))
    if declares_labels(header.relation):
        return meka_dataset(read_arff(header, "raise"))
    beside = _xml_beside(path)
    if beside is not None:
        return mulan_dataset(read_arff(header, "raise"), beside, max_bytes)
    raise ValueError(
        f"Nothing says which attributes of {Path(path).name} are outputs: give targets (their "
        "names), n_targets (how many of the last attributes) or xml (a file that names them)."
    )


def _xml_beside(path: FilePath) -> Path | None:
    """Find name.xml beside name.arff, name-train.arff or name-test.arff."""
    name = dataset_name(path)
    stems = [name, *(name.removesuffix(part) for part in _PARTS if name.endswith(part))]
    candidates = [Path(path).with_name(f"{stem}.xml") for stem in stems]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _required(targets: Sequence[str] | None, path: FilePath, advice: str = "") -> Sequence[str]:
    if targets is None:
        raise ValueError(
            f"targets must name the outputs among the columns of {Path(path).name}, by names or "
            f"patterns such as 'sensor *'.{advice}"
        )
    return targets


def _only(targets: Sequence[str]) -> str:
    names = [targets] if isinstance(targets, str) else list(targets)
    if len(names) != 1:
        raise ValueError(f"targets must name one matrix of a .mat file; got {names}.")
    return str(names[0])
