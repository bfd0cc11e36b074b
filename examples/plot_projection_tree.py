"""
A tree grown on a few random combinations of its outputs
========================================================

With ``projection``, the splits are chosen on a few combinations of the outputs instead of all of
them. The leaves still predict every output. This script draws a small version of a known
experiment (Joly et al., 2014, Figure 1, left): the error of one tree against the number of
combinations, for several kinds of them.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Handwritten digits of 8 x 8 pixels: the lower half, 32 targets, is predicted from the upper half.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from polyleaf import BinnedData, TreeRegressor, projections

pixels = load_digits().data
X_train, X_test, Y_train, Y_test = train_test_split(pixels[:, :32], pixels[:, 32:], random_state=0)

# Many trees are fitted to the same X: bin it once.
binned = BinnedData(X_train)


def error_of(projection, seed):
    """Mean squared error on the test rows of a tree grown on a projection."""
    tree = TreeRegressor(projection=projection, min_samples_leaf=10, random_state=seed)
    return np.mean((tree.fit(binned, Y_train).predict(X_test) - Y_test) ** 2)


# %%
# Error against the number of components
# --------------------------------------
# Each point is the mean over six draws, the band is one standard deviation. `Subsample` shows the
# tree some of the targets as they are; the others show random combinations; `PCA` shows the
# directions in which the targets vary most, and is not random.
kinds = {
    "Gaussian": projections.Gaussian,
    "Rademacher": projections.Rademacher,
    "Subsample": projections.Subsample,
    "PCA": projections.PCA,
}
sizes = [1, 2, 3, 5, 10, 20, 32]

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, kind in kinds.items():
    n_draws = 1 if name == "PCA" else 6
    errors = np.array([[error_of(kind(q), seed) for seed in range(n_draws)] for q in sizes])
    mean, spread = errors.mean(axis=1), errors.std(axis=1)
    (line,) = ax.plot(sizes, mean, marker="o", markersize=4, label=name)
    ax.fill_between(sizes, mean - spread, mean + spread, color=line.get_color(), alpha=0.15)
ax.axhline(error_of(None, 0), color="black", linestyle="--", label="all 32 targets")
ax.set(
    xscale="log",
    xlabel="number of components that the splits are chosen on",
    ylabel="mean squared error on test rows",
)
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# Two principal components are better than all 32 targets: what else varies is mostly noise. Ten
# random combinations, which need no look at the targets, are as good as all of them. The default
# size, ``n_components="log"``, is round(ln d), here 3.
