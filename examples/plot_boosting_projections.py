"""
Boosting with views of the targets
==================================

Every round of boosting grows one tree. It can be grown on the gradients of all targets, on a few
random combinations of them, or on one of them; its leaves then predict all targets. This script
draws the test error against the number of rounds, lets `Adaptive` choose, and shows which targets
share structure.
"""  # noqa: D205, D400

# %%
# Targets in two groups
# ---------------------
# Ten targets depend on three features, ten on three others, all with noise of their own.
import matplotlib.pyplot as plt
import numpy as np

from polyleaf import BoostingRegressor, projections
from polyleaf.inspection import plot_output_map

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 8))
first = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])
second = np.abs(X[:, 3]) + X[:, 4] * (X[:, 5] > 0)
signal = np.column_stack([np.tile(first, (10, 1)).T, np.tile(second, (10, 1)).T])
Y = signal + 0.5 * rng.normal(size=signal.shape)
X_train, Y_train, X_test, Y_test = X[:500], Y[:500], X[500:], Y[500:]

# %%
# Error against the number of rounds
# ----------------------------------
# One tree per target and round learns each target from its own noisy values. Trees on random
# combinations average the noise of targets that belong together.
schemes = {
    "all targets": {"projection": None},
    "3 combinations": {"projection": projections.Gaussian(3)},
    "1 combination, linear fits": {"projection": projections.Gaussian(1), "leaf_fit": "linear"},
    "one target at a time": {"projection": "round_robin"},
    "adaptive": {"projection": "adaptive"},
}
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
models = {}
for name, parameters in schemes.items():
    model = BoostingRegressor(n_estimators=150, max_depth=4, random_state=0, **parameters)
    models[name] = model.fit(X_train, Y_train)
    errors = [np.mean((Y_test - stage) ** 2) for stage in model.staged_predict(X_test)]
    ax.plot(np.arange(1, len(errors) + 1), errors, label=name)
ax.axhline(0.25, color="grey", lw=0.8, ls=":", label="noise")
ax.set(xlabel="rounds", ylabel="mean squared error on test rows", xscale="log")
ax.legend()

# %%
# Which targets share structure?
# ------------------------------
# With linear fits, every tree has one number per target: how much the target follows it. The
# cosines of these numbers find the two groups.
plot_output_map(models["1 combination, linear fits"])
plt.show()
