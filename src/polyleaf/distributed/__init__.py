"""The same estimators on a Dask cluster, and the trainer that knows of no engine."""

from polyleaf.distributed.collectives import (
    Collective,
    CollectiveError,
    LocalCollective,
    ThreadCollective,
    Traffic,
)
from polyleaf.distributed.sockets import Listener, SocketCollective

__all__ = [
    "Collective",
    "CollectiveError",
    "Listener",
    "LocalCollective",
    "SocketCollective",
    "ThreadCollective",
    "Traffic",
]
