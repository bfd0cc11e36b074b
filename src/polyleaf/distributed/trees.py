"""Trees and forests on a cluster: codes, outputs and weights go to all, whole trees are tasks.

A tree depends on the seed, its number and all rows in order. So each worker gets the codes of all
rows, a byte per cell, and grows some of the trees; the forest is the one that one machine grows.
"""

from __future__ import annotations

from typing import Any

from polyleaf.distributed.collectives import Collective
from polyleaf.distributed.reading import Agreed


def train_trees(estimator: Any, agreed: Agreed, collective: Collective) -> Any:
    """Train a tree or a forest."""
    raise NotImplementedError
