"""
An ensemble of random graphs over the labels
============================================

Each member of a `GraphEnsembleClassifier` learns scores on the edges of a random tree over the
labels and predicts the label set with the best total. The script draws a small version of a known
experiment (Su and Rousu, 2013, Figure 1): accuracy against the number of members, for the three
ways to combine them.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Points in a disc; each of 30 labels holds on one side of a line across it, and every second one
# also where the label before it holds. No line separates the rows of such a union, but given
# the other label, one does.
import matplotlib.pyplot as plt
import numpy as np

from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.datasets import make_circle_labels
from polyleaf.inspection import plot_consensus_graph, plot_learning_curve

X, Y = make_circle_labels(1500, 30, density=0.7, union_share=0.5, random_state=0)
X_train, X_test, Y_train, Y_test = X[:500], X[500:], Y[:500], Y[500:]

# %%
# Accuracy against the number of members
# --------------------------------------
# Members do not depend on how they are combined. The dashed line is the mean of single trees.
_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for aggregation in ("mve", "amm", "mam"):
    model = GraphEnsembleClassifier(
        n_estimators=25, aggregation=aggregation, calibration_folds=None, random_state=0
    )
    plot_learning_curve(model.fit(X_train, Y_train), X_test, Y_test, ax=ax)
    ax.lines[-1].set_label(aggregation.upper())
singles = [
    GraphClassifier(random_state=seed, calibration_folds=None).fit(X_train, Y_train)
    for seed in range(5)
]
mean = np.mean([(single.predict(X_test) == Y_test).mean() for single in singles])
ax.axhline(mean, linestyle="--", color="grey", label="one tree")
ax.legend(frameon=False)
plt.show()

# %%
# Which labels go together
# ------------------------
# Labels of lines in like directions attract each other (blue); opposite ones repel (red).
plot_consensus_graph(model, X_test, max_edges=60)
plt.show()

# %%
# What averaging gains
# --------------------
# The two terms of the paper's theorem 1, averaged over the training rows.
print(f"diversity {model.diversity_:.3f}, coherence {model.coherence_:.3f}")
