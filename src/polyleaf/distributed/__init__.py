"""The same estimators on a Dask cluster, and the trainer that knows of no engine."""

from polyleaf.distributed.collectives import (
    Collective,
    CollectiveError,
    LocalCollective,
    ThreadCollective,
    Traffic,
)
from polyleaf.distributed.reading import Rows
from polyleaf.distributed.sockets import Listener, SocketCollective
from polyleaf.distributed.training import Part, Settings, Trained, train_on_worker

__all__ = [
    "Collective",
    "CollectiveError",
    "Listener",
    "LocalCollective",
    "Part",
    "Rows",
    "Settings",
    "SocketCollective",
    "ThreadCollective",
    "Traffic",
    "Trained",
    "train_on_worker",
]
