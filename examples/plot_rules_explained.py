"""
Rules that can be read, explained and shortened
===============================================

A rule learner for labels, what its strongest rules say, why one row got its labels, and how few
rules are enough.
"""  # noqa: D205, D400

# %%
# The data
# --------
# Points in a disc; six labels by lines that lie close together, and all labels of every tenth row
# are flipped.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from polyleaf import RuleClassifier
from polyleaf.datasets import make_linear_labels
from polyleaf.inspection import plot_rules, rules_text

X, Y = make_linear_labels(3000, dependence="conditional", random_state=0)
train, test = slice(0, 2000), slice(2000, None)

# %%
# One rule for all labels, or one per label
# -----------------------------------------
# Where labels depend on each other, rules with complete heads need far fewer rules.
for head in ("complete", "single"):
    model = RuleClassifier(
        n_rules=64, loss="examplewise_logistic", head=head, l2_regularization=4.0, random_state=0
    ).fit(X[train], Y[train])
    wrong = [(p != Y[test]).any(axis=1).mean() for p in model.staged_predict(X[test])]
    plt.plot(range(1, 65), wrong, label=f"{head} heads")
plt.axhline(0.1, color="grey", linestyle=":", label="best possible")
plt.xscale("log", base=2)
plt.xlabel("rules")
plt.ylabel("rows with a wrong label")
plt.legend()
plt.show()

# %%
# What the rules say
# ------------------
# For reading, labels that differ: which birds a site has, by its height, its forest and its
# distance to water. Every label depends on two of them.
rng = np.random.default_rng(0)
sites = pd.DataFrame(
    {
        "height": rng.uniform(0, 2500, 1500).round(),
        "forest": rng.uniform(0, 100, 1500).round(),
        "water": rng.exponential(2.0, 1500).round(1),
    }
)
birds = pd.DataFrame(
    {
        "heron": (sites.water < 1.0) & (sites.height < 1200),
        "dipper": (sites.water < 1.0) & (sites.height > 600),
        "crossbill": (sites.forest > 60) & (sites.height > 900),
        "jay": (sites.forest > 40) & (sites.height < 1600),
        "skylark": (sites.forest < 20) & (sites.water > 0.5),
    }
)
birds = (birds ^ (rng.random(birds.shape) < 0.05)).astype(int)  # some are missed, or passing by
model = RuleClassifier(n_rules=60, loss="logistic", max_conditions=3, random_state=0)
model = model.fit(sites[:1000], birds[:1000])
print(rules_text(model, max_rules=6, max_outputs=3))

# %%
plot_rules(model, max_rules=8)
plt.show()

# %%
# Why this site?
# --------------
print(model.explain(sites[1000:1001]).head().to_string(index=False))

# %%
# How few rules are enough?
# -------------------------
smaller = model.prune(sites[1000:], birds[1000:], tolerance=0.02)
print(f"{smaller.n_rules_} of {model.n_rules_} rules: loss {smaller.loss_:.3f}, "
      f"{smaller.full_loss_:.3f} with all")  # fmt: skip
