"""
One tree for several targets
============================

A tree that predicts several targets at once splits them together: it looks for the split that
lowers the variance of all of them, each in units of its own. Here it meets what real tables have:
column names, categories, missing features and targets that were not measured.
"""  # noqa: D205, D400

# %%
# The data
# --------
# A made-up survey of 600 plots of land: four soil properties are to be predicted from what is
# known about the place. One value in ten is missing in ``slope``, and the two costly properties
# were measured on half of the plots only.
import numpy as np
import pandas as pd

from polyleaf import TreeRegressor
from polyleaf.inspection import output_importances, plot_output_importances, plot_tree, tree_text

rng = np.random.default_rng(0)
n_plots = 600
plots = pd.DataFrame(
    {
        "altitude": rng.uniform(0, 2000, n_plots),
        "rain": rng.uniform(300, 1500, n_plots),
        "slope": rng.uniform(0, 40, n_plots),
        "use": rng.choice(["forest", "meadow", "field", "vineyard"], n_plots),
    }
)
is_wet = plots["rain"] > 900
is_rich = plots["use"].isin(["forest", "meadow"])
soil = pd.DataFrame(
    {
        "carbon": 12.0 + 18.0 * is_rich + 8.0 * (is_rich & is_wet),
        "nitrogen": 0.9 + 1.1 * is_rich + 0.3 * is_wet,
        "pH": 7.2 - 1.5 * is_wet - 0.4 * (plots["altitude"] > 1200),
        "clay": 35.0 - 15.0 * (plots["slope"] > 15),
    }
)
soil += rng.normal(size=soil.shape) * [2.0, 0.15, 0.2, 3.0]
plots.loc[rng.random(n_plots) < 0.1, "slope"] = np.nan
not_measured = rng.random(n_plots) < 0.5
soil.loc[not_measured, ["carbon", "nitrogen"]] = np.nan
soil.head()

# %%
# The tree
# --------
# Nothing has to be encoded or imputed. Names of columns are kept.
tree = TreeRegressor(max_depth=3, min_samples_leaf=10, random_state=0).fit(plots, soil)
tree.predict(plots.head(3))

# %%
# As text
# -------
# Each branch says which values take it, and where missing values go. Leaves show the mean of each
# target and its difference from the mean of all plots.
print(tree_text(tree, decimals=1))

# %%
# As a picture
# ------------
# The table on the right has a row per leaf and a column per target. Small bars in a split show
# how its plots differ from all plots, in the order of the columns.
ax = plot_tree(tree)

# %%
# What matters for which target
# -----------------------------
# A single number per feature would hide that ``slope`` matters for clay and ``rain`` for pH.
ax = plot_output_importances(tree)

# %%
# The same as a table:
output_importances(tree).round(2)
