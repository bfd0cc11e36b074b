"""
Which methods did the blend choose?
===================================

:class:`polyleaf.AutoRegressor` tries forests, boosting, rules and a few simple models on rows that
each has not seen, and blends the best. Here it predicts four measurements of 442 patients with
diabetes from six others; the leaderboard and the weights show what it chose.
"""  # noqa: D205, D400

# %%
# The data come with scikit-learn. A quarter of the patients is kept for the end.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import polyleaf
from polyleaf import AutoRegressor

patients = load_diabetes(as_frame=True, scaled=False)
names = {"bp": "pressure", "s1": "cholesterol", "s5": "triglycerides"}
X = patients.data.rename(columns=names)[["age", "sex", "bmi", *names.values()]]
Y = pd.DataFrame(
    {
        "progression": patients.target,
        "glucose": patients.data["s6"],
        "HDL": patients.data["s3"],
        "LDL": patients.data["s2"],
    }
)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

# %%
# One line trains everything. ``score`` is measured on held-out folds, ``score_std`` is its spread
# over them, and ``weight`` is the mean weight in the blend. A candidate of weight 0 is not in it.
model = AutoRegressor(random_state=0).fit(X_train, Y_train)
board = model.leaderboard_
print(board[["name", "score", "score_std", "weight"]].round(3).to_string(index=False))

# %%
# On the patients that were kept, the blend beside each of its members. Two members
# are ahead of it by less than a hundredth, which 111 patients cannot confirm; the others are well
# behind. Without the blend, one would have had to know which to take.
print(polyleaf.evaluate(model, X_test, Y_test, metrics=["r2"]))
for name, member in model.members_:
    print(f"{name}: {member.score(X_test, Y_test):.3f}")

# %%
# Left: what the race saw, with one standard deviation over the folds; members of the blend are
# filled. Right: the weights of the members for each target, which are shrunk towards common ones.
# On these data the two simplest, smooth models count most.
colors = dict(zip([name for name, _ in model.members_], plt.get_cmap("tab10").colors))
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for place, row in enumerate(board.itertuples()):
    color = colors.get(row.name, "grey")
    left.errorbar(
        row.score,
        place,
        xerr=row.score_std,
        fmt="o",
        color=color,
        markerfacecolor=color if row.name in colors else "white",
        capsize=3,
    )
left.set_yticks(range(len(board)), board["name"])
left.invert_yaxis()
left.set(xlabel="r2 of held-out folds", title="The race")

start = np.zeros(model.n_outputs_)
for (name, _), weights in zip(model.members_, model.weights_.T):
    right.barh(model.output_names_, weights, left=start, color=colors[name], label=name)
    start += weights
right.invert_yaxis()
right.set(xlabel="weight", title="The blend", xlim=(0, 1))
fig.legend(*right.get_legend_handles_labels(), loc="outside right center", frameon=False)
plt.show()
