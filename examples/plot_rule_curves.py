"""
Losses along the rules, on three synthetic problems
===================================================

Rules with scores for one label or for all, learnt for each label by itself or for all labels of a
row together: how their losses fall as rules are added, where labels are independent, where they
mostly agree, and where they are wrong together (Rapp et al. 2020, Figure 1).
"""  # noqa: D205, D400

# %%
# Four variants
# -------------
# `staged_predict` gives the predictions of the first rule, the first two, and so on; marks are at
# 1, 2, 4, ... rules. Every curve starts at the upper right, with the default rule alone.
import matplotlib.pyplot as plt

from polyleaf import RuleClassifier
from polyleaf.datasets import make_linear_labels

N_RULES = 128
VARIANTS = {
    "label by label, single": ("logistic", "single"),
    "label by label, complete": ("logistic", "complete"),
    "whole rows, single": ("examplewise_logistic", "single"),
    "whole rows, complete": ("examplewise_logistic", "complete"),
}


def curves(X, Y, loss, head):
    """Hamming and subset 0/1 loss of held-out rows after every rule, in per cent."""
    half = len(X) // 2
    model = RuleClassifier(
        n_rules=N_RULES, loss=loss, head=head, l2_regularization=16.0, random_state=0
    ).fit(X[:half], Y[:half])
    wrong = [stage != Y[half:] for stage in model.staged_predict(X[half:])]
    return [100 * w.mean() for w in wrong], [100 * w.any(axis=1).mean() for w in wrong]


# %%
# Three problems
# --------------
# Each label is on one side of a line through a disc. A tenth of the labels is flipped: each by
# itself (independent, marginal), or all labels of a row together (conditional).
figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.4), layout="constrained")
marks = [2**i - 1 for i in range(8)]
for dependence, ax in zip(("independent", "marginal", "conditional"), axes):
    X, Y = make_linear_labels(6000, dependence=dependence, random_state=0)
    clean = make_linear_labels(6000, dependence=dependence, noise=0.0, random_state=0)[1]
    for (name, (loss, head)), marker in zip(VARIANTS.items(), "osd^"):
        hamming, subset = curves(X, Y, loss, head)
        ax.plot(hamming, subset, marker=marker, markevery=marks, linewidth=1, label=name)
    wrong = (clean != Y)[3000:]
    best = 100 * wrong.mean(), 100 * wrong.any(axis=1).mean()
    ax.plot(*best, "k*", markersize=12, label="best possible")
    ax.set(title=dependence, xlabel="Hamming loss, %", ylabel="subset 0/1 loss, %")
axes[0].legend()
plt.show()

# %%
# Where labels mostly agree, a complete head is right for all of them at once: the curves of
# complete heads arrive after a few rules, those of single heads need at least one rule per label.
# All of them end next to the best possible losses.
