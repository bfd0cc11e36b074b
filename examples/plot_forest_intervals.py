"""
Prediction intervals and joint draws
====================================

A forest predicts a weighted average of training outputs. The weights tell more than the mean:
quantiles of each target, and draws of all targets together.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Two targets whose noise grows with the first feature, and is shared between them.
import matplotlib.pyplot as plt
import numpy as np

from polyleaf import RandomForestRegressor

rng = np.random.default_rng(0)


def make(n_rows):
    """Draw features and two targets with a common disturbance."""
    X = rng.uniform(0, 10, size=(n_rows, 3))
    shared = rng.normal(size=n_rows) * (0.2 + 0.15 * X[:, 0])
    own = 0.3 * rng.normal(size=(n_rows, 2))
    Y = np.column_stack([np.sin(X[:, 0]), 0.4 * X[:, 0]]) + shared[:, None] + own
    return X, Y


X_train, Y_train = make(2000)
X_test, Y_test = make(1000)
forest = RandomForestRegressor(
    n_estimators=200, min_samples_leaf=20, max_features=None, random_state=0
).fit(X_train, Y_train)

# %%
# Intervals
# ---------
# About 90 % of new values lie within. The band is drawn along the first feature, with the others
# in the middle of their range; it is wide where the noise is.
low, high = np.moveaxis(forest.predict_quantiles(X_test, [0.05, 0.95]), -1, 0)
is_inside = (low <= Y_test) & (Y_test <= high)
print("share inside the interval:", is_inside.mean(axis=0).round(2))

line = np.full((200, 3), 5.0)
line[:, 0] = np.linspace(0, 10, 200)
low, middle, high = forest.predict_quantiles(line, [0.05, 0.5, 0.95])[:, 0].T
_, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(X_test[:, 0], Y_test[:, 0], ".", markersize=3, color="#888888", label="test rows")
ax.fill_between(line[:, 0], low, high, alpha=0.35, label="5 % to 95 % quantile")
ax.plot(line[:, 0], middle, color="C0", linewidth=1.5, label="median")
ax.set(xlabel="first feature", ylabel="first target", title="Intervals of one target")
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Draws
# -----
# A draw is the whole output of one training row, so that the common disturbance stays: the cloud
# of draws for one point is tilted.
point = np.array([[9.0, 5.0, 5.0]])
draws = forest.sample_predictions(point, 2000, random_state=0)[:, 0]
print("correlation of the two targets at that point:", np.corrcoef(draws.T)[0, 1].round(2))
_, ax = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
ax.plot(draws[:, 0], draws[:, 1], ".", markersize=4, alpha=0.3, color="C1", label="draws")
ax.plot(*forest.predict(point)[0], "k+", markersize=12, label="mean")
ax.set(xlabel="first target", ylabel="second target", title="Both targets at one point")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
