"""Pieces of work that workers share: each does some of them, and everybody gets all results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from polyleaf.distributed.collectives import Collective

Arrays = dict[str, NDArray[Any]]


def share_pieces(collective: Collective, own: Iterator[Arrays], n_pieces: int) -> Iterator[Arrays]:
    """Give everybody the pieces of all workers, in their order.

    Parameters
    ----------
    collective : Collective
    own : iterator of dict of ndarray
        Pieces `rank`, `rank + world`, and so on.
    n_pieces : int
        Of all workers.
    """
    for start in range(0, n_pieces, collective.world):
        piece = next(own, None)
        packed = b"" if piece is None else save(_contiguous(piece))
        sent = collective.allgather(np.frombuffer(packed, np.uint8))
        for part in sent[: n_pieces - start]:
            yield load(part.tobytes())


def _contiguous(piece: Arrays) -> Arrays:
    return {name: np.ascontiguousarray(values) for name, values in piece.items()}
