"""
How many trees are enough
=========================

Trees that see half of the targets each: their predictions of a target can be averaged over all
trees (total averaging), or over those that saw it (subspace averaging; Breskvar et al., 2018).
This script draws the error over the number of trees for both, and for trees that see all targets.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Three groups of targets with nothing in common.
import matplotlib.pyplot as plt
import numpy as np

from polyleaf import BinnedData, RandomForestRegressor, projections
from polyleaf.datasets import make_correlated_targets
from polyleaf.metrics import relative_root_mean_squared_error

groups = [make_correlated_targets(900, 8, 6, rank=2, noise=0.5, random_state=s) for s in range(3)]
X = np.hstack([X for X, _ in groups])
Y = np.hstack([Y for _, Y in groups])
binned, queries, truth = BinnedData(X[:500]), X[500:], Y[500:]


def errors_of(projection, aggregation, seed):
    """Average relative error on test rows, over the number of trees."""
    forest = RandomForestRegressor(
        n_estimators=100, projection=projection, aggregation=aggregation, random_state=seed
    ).fit(binned, Y[:500])
    return [
        relative_root_mean_squared_error(truth, predicted, train_mean=Y[:500].mean(axis=0))
        for predicted in forest.staged_predict(queries)
    ]


# %%
# Error over the number of trees
# ------------------------------
# Means over five forests.
half = projections.Subsample(0.5)
settings = {
    "all targets": (None, "total"),
    "half of them, total averaging": (half, "total"),
    "half of them, subspace averaging": (half, "subspace"),
}
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for label, (projection, aggregation) in settings.items():
    errors = np.mean([errors_of(projection, aggregation, seed) for seed in range(5)], axis=0)
    ax.plot(np.arange(1, 101), errors, label=f"{label}: {errors[-1]:.3f}")
ax.set(
    xscale="log",
    xlabel="number of trees",
    ylabel="relative root mean squared error",
)
ax.set_xticks([1, 2, 5, 10, 25, 50, 100], [1, 2, 5, 10, 25, 50, 100])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, title="error with 100 trees")

# %%
# The first tree sees all targets. With subspace averaging a target is predicted by about half of
# the trees, so that the curve falls later; each of those trees knows the target it predicts.
