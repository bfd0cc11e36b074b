"""The same estimators on a Dask cluster, and the trainer that knows of no engine."""

from polyleaf.distributed.cluster import FitReport, fit
from polyleaf.distributed.collectives import (
    Collective,
    CollectiveError,
    LocalCollective,
    ThreadCollective,
    Traffic,
)
from polyleaf.distributed.prediction import predict
from polyleaf.distributed.reading import Rows
from polyleaf.distributed.sockets import Listener, SocketCollective
from polyleaf.distributed.training import (
    Part,
    RoundTraffic,
    Settings,
    Trained,
    train_on_worker,
)

__all__ = [
    "Collective",
    "CollectiveError",
    "FitReport",
    "Listener",
    "LocalCollective",
    "Part",
    "RoundTraffic",
    "Rows",
    "Settings",
    "SocketCollective",
    "ThreadCollective",
    "Traffic",
    "Trained",
    "fit",
    "predict",
    "train_on_worker",
]
