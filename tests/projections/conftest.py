"""Contexts to draw views from."""

import numpy as np
import pytest

from polyleaf.projections import ProjectionContext


@pytest.fixture
def make_context():
    """Return a function that makes a context for values with one channel per output."""

    def make(values, *, seed=0, **fields):
        offsets = np.arange(values.shape[1] + 1, dtype=np.int32)
        defaults = {"round": 0, "rng": np.random.default_rng(seed), "channel_offsets": offsets}
        return ProjectionContext(values=values, **(defaults | fields))

    return make
