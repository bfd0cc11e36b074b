"""
How much of the outputs a tree must see
=======================================

The trees of a forest can choose their splits on a few random combinations of the outputs. This
script draws a small version of a known experiment (Joly et al., 2014, Figure 1, right): the error
of a random forest against the number of combinations, with one view for all trees and with one
per tree.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Handwritten digits of 8 x 8 pixels: the lower half, 32 targets, is predicted from the upper half.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from polyleaf import BinnedData, RandomForestRegressor, projections

pixels = load_digits().data
X_train, X_test, Y_train, Y_test = train_test_split(pixels[:, :32], pixels[:, 32:], random_state=0)
binned = BinnedData(X_train)


def error_of(projection, scope, seed):
    """Mean squared error on the test rows of a forest of 30 trees."""
    forest = RandomForestRegressor(
        n_estimators=30,
        projection=projection,
        projection_scope=scope,
        aggregation="total",
        max_features=None,
        random_state=seed,
    )
    return np.mean((forest.fit(binned, Y_train).predict(X_test) - Y_test) ** 2)


# %%
# One view, or one per tree
# -------------------------
# Each point is the mean over three forests, the band is one standard deviation.
sizes = [1, 2, 3, 5, 10, 20, 32]
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for scope, label in (("forest", "one view for all trees"), ("tree", "one view per tree")):
    errors = np.array(
        [[error_of(projections.Gaussian(q), scope, seed) for seed in range(3)] for q in sizes]
    )
    mean, spread = errors.mean(axis=1), errors.std(axis=1)
    (line,) = ax.plot(sizes, mean, marker="o", markersize=4, label=label)
    ax.fill_between(sizes, mean - spread, mean + spread, color=line.get_color(), alpha=0.15)
baseline = np.mean([error_of(None, "tree", seed) for seed in range(3)])
ax.axhline(baseline, color="black", linestyle="--", label="all 32 targets")
ax.set(
    xscale="log",
    xlabel="number of random combinations that a tree sees",
    ylabel="mean squared error on test rows",
)
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# A shared view passes its errors on to every tree. With a view of its own for each, the errors
# average out: a few combinations are enough.
