"""
The lower half of a digit
=========================

Half of a picture is hidden: predict its pixels from those of the other half. That is a regression
with 32 targets, which depend on each other. Models that see all targets together draw
strokes; a tree per pixel only knows its own pixel.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Handwritten digits of 8 x 8 pixels, which come with scikit-learn. The upper four rows are X, the
# lower four are Y.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.multioutput import MultiOutputRegressor

from polyleaf import BoostingRegressor, ExtraTreesRegressor, TreeRegressor

pixels = load_digits().data
X, Y = pixels[:, :32], pixels[:, 32:]
train, test = slice(0, 1500), slice(1500, None)

# %%
# Four models
# -----------
# From 32 trees that know nothing of each other to ensembles that see all pixels.
tree = TreeRegressor(min_samples_leaf=5, random_state=0)
models = {
    "a tree per pixel": MultiOutputRegressor(tree),
    "one tree": tree,
    "extra trees": ExtraTreesRegressor(random_state=0),
    "boosting": BoostingRegressor(random_state=0),
}
completed = {}
for name, model in models.items():
    completed[name] = model.fit(X[train], Y[train]).predict(X[test])
    error = np.sqrt(np.mean((completed[name] - Y[test]) ** 2))
    print(f"{name}: off by {error:.2f} of 16 grey values")

# %%
# What they draw
# --------------
shown = np.array([1, 23, 45, 60, 71, 88, 105, 131, 160, 203])
rows = {"what is given": np.zeros_like(Y[test]), **completed, "the truth": Y[test]}
fig, axes = plt.subplots(len(rows), shown.size, figsize=(7.5, 4.2), layout="constrained")
for line, (name, lower) in zip(axes, rows.items(), strict=True):
    line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    for ax, digit in zip(line, shown, strict=True):
        picture = np.concatenate([X[test][digit], lower[digit]]).reshape(8, 8)
        ax.imshow(picture, cmap="Blues", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
        ax.axhline(3.5, color="black", lw=0.6)
plt.show()
