"""
Why this class and not that one?
================================

Wines of three growers, classified by boosting: what speaks for a class, what for one class rather
than another, and how two features work together.
"""  # noqa: D205, D400

# %%
# The data
# --------
# scikit-learn's wine data: 13 measurements of wines from three growers of one region. The data
# do not tell their names; these are ours.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from polyleaf import BoostingClassifier
from polyleaf.inspection import (
    accumulated_local_effects,
    plot_dependence,
    plot_shap_dependence,
    plot_shap_difference,
    plot_shap_map,
    shap_values,
    tree_text,
)

bunch = load_wine(as_frame=True)
X = bunch.data.rename(columns={"od280/od315_of_diluted_wines": "protein_ratio"})
grower = np.array(["Aldo", "Berta", "Carlo"])[bunch.target]
model = BoostingClassifier(n_estimators=60, max_depth=3, random_state=0).fit(X, grower)

# %%
# What speaks for each grower?
# ----------------------------
# Contributions are to the raw scores of the classes.
found = shap_values(model, X)
plot_shap_map(found)
plt.show()

# %%
# Why this one and not that one?
# ------------------------------
# Of all wines: dots to the right speak for Aldo, those to the left for Berta.
plot_shap_difference(found, "Aldo", "Berta")
plt.show()

# %%
# Of one wine that the model finds hard:
chances = np.sort(model.predict_proba(X), axis=1)
hard = int(np.argmin(chances[:, -1] - chances[:, -2]))
first, second = model.classes_[np.argsort(-model.predict_proba(X[hard : hard + 1])[0])[:2]]
plot_shap_difference(found, first, second, row=hard)
plt.show()

# %%
# How do two features work together?
# ----------------------------------
plot_shap_dependence(found, "flavanoids", color_by="color_intensity")
plt.show()

# %%
# Local effects ask the model only about wines that are like those there are:
plot_dependence(accumulated_local_effects(model, X, "proline"))
plt.show()

# %%
# What does a single tree add?
# ----------------------------
print(tree_text(model.estimators_[0]))
