"""
When to stop: the F-test
========================

A tree without limits grows until its leaves are pure, and learns the noise. With
``pruning="f_test"`` a split stays only if it lowers the variance by more than chance would. The
level of the test is given, or chosen by cross-validation inside ``fit``.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Cells of 569 tumours, which come with scikit-learn: ten measures of the worst cells, to be
# predicted from the means of all cells.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from polyleaf import TreeRegressor

cells = load_breast_cancer().data
X, Y = cells[:, :10], cells[:, 20:]
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

# %%
# Size and accuracy against the level
# -----------------------------------
# A level of 1 is no pruning. All levels share the same splits; a lower level only keeps fewer.
levels = np.array([1e-6, 1e-5, 1e-4, 0.001, 0.005, 0.01, 0.05, 0.1, 0.3, 1.0])
trees = [
    TreeRegressor(pruning="f_test", pruning_level=level, random_state=0).fit(X_train, Y_train)
    for level in levels
]
train_r2 = [r2_score(Y_train, tree.predict(X_train)) for tree in trees]
test_r2 = [r2_score(Y_test, tree.predict(X_test)) for tree in trees]
n_leaves = [tree.get_n_leaves() for tree in trees]

chosen = TreeRegressor(pruning="f_test", random_state=0).fit(X_train, Y_train)
chosen_r2 = r2_score(Y_test, chosen.predict(X_test))
print(f"level chosen by cross-validation: {chosen.pruning_level_}")
print(f"leaves: {chosen.get_n_leaves()} of {n_leaves[-1]}, test r2: {chosen_r2:.3f}")

# %%
fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 5.5), sharex=True, layout="constrained", height_ratios=[3, 2]
)
top.plot(levels, train_r2, marker="o", markersize=4, label="training rows")
top.plot(levels, test_r2, marker="o", markersize=4, label="test rows")
top.set(ylabel="r2, mean of 10 targets")
bottom.plot(levels, n_leaves, marker="o", markersize=4, color="black")
bottom.set(xscale="log", yscale="log", xlabel="level of the F-test", ylabel="leaves")
for ax in (top, bottom):
    ax.axvline(chosen.pruning_level_, color="grey", linestyle=":")
    ax.spines[["top", "right"]].set_visible(False)
top.text(
    chosen.pruning_level_ / 1.15,
    top.get_ylim()[0] + 0.05,
    "chosen by cross-validation",
    ha="right",
    color="grey",
    fontsize=9,
)
top.legend(frameon=False)
