"""Growing a tree makes no second copy of Y in double precision."""

import tracemalloc

import numpy as np
import pytest
from tests.core.training_problems import make_training_data

from polyleaf.projections import Gaussian, Subsample
from polyleaf.trees.growing import TreeSettings, fit_tree


@pytest.mark.parametrize(
    ("kind", "allowed"),
    # Channels in float32 take half of Y; so do weights of entries; the rest is blocks of rows.
    [("plain", 1.0), ("rows", 1.0), ("gaussian", 1.5), ("subsample", 1.5), ("masked", 1.5)],
)
def test_growing_needs_little_more_than_the_channels(kind, allowed):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20_000, 2)), rng.normal(size=(20_000, 120))
    if kind == "masked":
        Y[rng.random(Y.shape) < 0.1] = np.nan
    weights = rng.uniform(0.5, 2.0, len(X)) if kind == "rows" else None
    data = make_training_data(X, Y, weights, max_bins=255)
    projection = {"gaussian": Gaussian(), "subsample": Subsample(0.5)}.get(kind)
    settings = TreeSettings(max_depth=3, normalize_outputs=True, projection=projection)
    tracemalloc.start()
    try:
        fit_tree(data, settings, rng)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < allowed * Y.nbytes
