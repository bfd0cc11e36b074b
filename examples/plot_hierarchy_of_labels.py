"""
Labels in a hierarchy
=====================

Animals are labelled by what they are: a lion is a cat, a cat is a mammal. A model that does not
know this may find a lion likelier than a mammal; one that is given the hierarchy never does, and
its label sets hold all ancestors of their labels.
"""  # noqa: D205, D400

# %%
# Sixteen labels in a tree, given by their paths. A row has one or two of the leaves, and their
# ancestors.
import matplotlib.pyplot as plt
import numpy as np

from polyleaf import BoostingClassifier
from polyleaf.hierarchy import as_hierarchy
from polyleaf.inspection import plot_hierarchy
from polyleaf.metrics import average_precision_score, hierarchical_f1_score

paths = [
    "mammal",
    "mammal/cat",
    "mammal/cat/lion",
    "mammal/cat/lynx",
    "mammal/cat/tiger",
    "mammal/dog",
    "mammal/dog/fox",
    "mammal/dog/wolf",
    "mammal/whale",
    "bird",
    "bird/owl",
    "bird/owl/barn owl",
    "bird/owl/snowy owl",
    "bird/gull",
    "bird/gull/herring gull",
    "fish",
]
hierarchy = as_hierarchy(paths)
rng = np.random.default_rng(1)
n, leaves = 900, hierarchy.leaves
centres = rng.normal(size=(leaves.size, 12))
own = rng.integers(leaves.size, size=(n, 2))
X = centres[own].mean(axis=1) + rng.normal(scale=0.8, size=(n, 12))
Y = np.zeros((n, len(paths)), dtype=int)
Y[np.arange(n)[:, None], leaves[own]] = 1
Y = hierarchy.close(Y)

# %%
# The same boosting without and with the hierarchy: how often a child outscores its parent, and how
# good the label sets are.
train, test = slice(0, 600), slice(600, n)
models = {}
for name, given in (("without", None), ("with", hierarchy)):
    model = BoostingClassifier(n_estimators=60, hierarchy=given, random_state=0)
    models[name] = model.fit(X[train], Y[train], output_names=paths)
    chances, chosen = model.predict_proba(X[test]), model.predict(X[test])
    print(
        f"{name:8} violations {hierarchy.n_violations(chances):4}",
        f"AU(PRC) {average_precision_score(Y[test], chances):.3f}",
        f"hierarchical F1 {hierarchical_f1_score(Y[test], chosen, hierarchy=hierarchy):.3f}",
    )

# %%
# What both say about the test row in which they differ most. True labels have a ring.
shown = [model.predict_proba(X[test]) for model in models.values()]
row = int(np.abs(shown[0] - shown[1]).sum(axis=1).argmax())
fig, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for ax, (name, chances) in zip(axes, zip(models, shown, strict=True), strict=True):
    plot_hierarchy(hierarchy, chances[row], labels=Y[test][row], ax=ax)
    ax.set_title(f"{name} the hierarchy")
plt.show()
