"""
Regions that hold all outputs together
======================================

Two related outputs, whose noise grows with a feature. A box of one interval per output at half of
the error is the usual way to be right about both. Ellipsoids that follow the covariance around
each row promise the same and are smaller; and when one output becomes known, what remains of
the other is smaller again.
"""  # noqa: D205, D400

# %%
# Make the data: noise is correlated, and grows with the first feature.
import matplotlib.pyplot as plt
import numpy as np

from polyleaf import ConformalRegressor, RandomForestRegressor
from polyleaf.conformal import plot_region

rng = np.random.default_rng(0)
X = rng.normal(size=(2500, 4))
noise = rng.normal(size=(2500, 2)) @ [[1.0, 0.85], [0.0, 0.5]] * np.exp(0.8 * X[:, :1])
Y = np.column_stack([4 * X[:, 1], 4 * X[:, 2]]) + noise
names = ["height", "weight"]

# %%
# Fit a box and a local ellipsoid around the same forest, by its out-of-bag rows.
forest = RandomForestRegressor(min_samples_leaf=5, max_features=None, random_state=0)
models = {
    score: ConformalRegressor(forest, method="oob", score=score).fit(
        X[:2000], Y[:2000], output_names=names
    )
    for score in ("max", "local")
}
for score, model in models.items():
    print(score)
    print(model.evaluate(X[2000:], Y[2000:]), end="\n\n")

# %%
# Five rows, from quiet to noisy: filled dots lie inside. On the right, the height is known.
rows = 2000 + np.argsort(X[2000:, 0])[[25, 150, 300, 420, 485]]
fig, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, score in zip(axes, models):
    plot_region(models[score].predict_region(X[rows]), Y[rows], ax=ax)
axes[0].set_title("score='max': boxes of one size")
axes[1].set_title("score='local': ellipsoids that adapt")

given = np.column_stack([Y[rows, 0], np.full(5, np.nan)])
lower, upper = models["local"].predict_region(X[rows], given=given).bounds()
for k in range(5):
    axes[2].vlines(Y[rows[k], 0], lower[k, 1], upper[k, 1], color=f"C{k}", linewidth=6, alpha=0.3)
    axes[2].plot(*Y[rows[k]], "o", color=f"C{k}", markersize=5)
axes[2].set(title="height known: intervals of the weight", xlabel="height")
plt.show()
