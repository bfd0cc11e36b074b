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
model = RuleClassifier(
    n_rules=64, loss="examplewise_logistic", max_conditions=3, random_state=0
).fit(X[train], Y[train])
print(rules_text(model, max_rules=6, max_outputs=3))

# %%
plot_rules(model, max_rules=8)
plt.show()

# %%
# Why this row?
# -------------
print(model.explain(X[test][:1]).head().to_string(index=False))

# %%
# How few rules are enough?
# -------------------------
smaller = model.prune(X[test], Y[test], tolerance=0.02)
print(f"{smaller.n_rules_} of {model.n_rules_} rules: loss {smaller.loss_:.3f}, "
      f"{smaller.full_loss_:.3f} with all")  # fmt: skip
