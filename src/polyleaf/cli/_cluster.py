"""What the commands do on a Dask cluster: connect, hand rows over, train."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from polyleaf.checks.optional import require
from polyleaf.datasets import Dataset
from polyleaf.experiments._best import named


def connect(address: str) -> Any:
    """Connect to a Dask cluster.

    Parameters
    ----------
    address : str
        Of the scheduler.
    """
    distributed = require("distributed", "runs on a cluster (pip install 'polyleaf[dask]')")
    try:
        return distributed.Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(f"--dask must be the address of a Dask scheduler: {error}.") from error


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a Dask cluster for some time.

    Parameters
    ----------
    address : str
        Of the scheduler.
    """
    client = connect(address)
    try:
        yield client
    finally:
        client.close()


def is_pattern(name: str) -> bool:
    """Check whether a name is a pattern of several files, which the workers read.

    Parameters
    ----------
    name : str
    """
    return "*" in name


def some_targets(name: str, targets: list[str] | None) -> Any:
    """Read the outputs of some rows of several files, to see of what kind they are.

    Parameters
    ----------
    name : str
        A pattern of files.
    targets : list of str or None
        The columns that are outputs.
    """
    from polyleaf.distributed.parts import split_targets

    _, Y = split_targets(name, None, targets)
    return Y.get_partition(0).map_partitions(lambda rows: rows.head(1000)).compute().to_numpy()


def fit_files(model: Any, name: str, targets: list[str] | None, exclude: Any, client: Any) -> Any:
    """Train on files that the workers read.

    Parameters
    ----------
    model : estimator
    name : str
        A pattern of Parquet or CSV files.
    targets : list of str or None
        The columns that are outputs.
    exclude : list of str or None
        Columns to leave out.
    client : distributed.Client
    """
    from polyleaf.distributed import fit
    from polyleaf.distributed.parts import read_files

    frame = read_files(name)
    left_out = [column for column in exclude or () if column in frame.columns]
    return fit(model, frame.drop(columns=left_out), targets=targets, client=client)


def fit_dataset(model: Any, dataset: Dataset, client: Any) -> Any:
    """Train on rows that were read here: they are cut into parts, two for each worker.

    Parameters
    ----------
    model : estimator
    dataset : Dataset
    client : distributed.Client
    """
    from polyleaf.distributed import fit

    X, Y = named(dataset.X, dataset.feature_names), named(dataset.Y, dataset.output_names)
    n_workers = len(client.nthreads())
    n_parts = max(1, min(2 * n_workers, dataset.n_samples))
    cuts = np.array_split(np.arange(dataset.n_samples), n_parts)
    parts = [[_rows(whole, rows) for rows in cuts] for whole in (X, Y)]
    futures = [client.scatter(found, hash=False) for found in parts]
    return fit(model, *futures, client=client, output_names=dataset.output_names)


def _rows(whole: Any, rows: Any) -> Any:
    return whole.iloc[rows] if hasattr(whole, "iloc") else whole[rows]
