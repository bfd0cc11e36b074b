"""Trees that the tests of inspection read."""

from __future__ import annotations

import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest

from polyleaf import TreeRegressor

matplotlib.use("Agg")


@pytest.fixture
def soil() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows with numbers, categories and gaps, and two targets that depend on them."""
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame(
        {
            "depth": rng.uniform(0, 10, n),
            "use": rng.choice(["forest", "meadow", "field", "town"], n),
            "noise": rng.normal(size=n),
        }
    )
    Y = pd.DataFrame(
        {
            "carbon": 5.0 * (X["depth"] > 4) + rng.normal(0, 0.1, n),
            "nitrogen": 3.0 * X["use"].isin(["forest", "town"]) + rng.normal(0, 0.1, n),
        }
    )
    X.loc[::6, "depth"] = np.nan
    return X, Y


@pytest.fixture
def soil_tree(soil: tuple[pd.DataFrame, pd.DataFrame]) -> TreeRegressor:
    """A fitted tree of depth 3."""
    return TreeRegressor(max_depth=3, random_state=0).fit(*soil)


@pytest.fixture(autouse=True)
def close_figures():
    """Leave no figure open."""
    yield
    matplotlib.pyplot.close("all")
