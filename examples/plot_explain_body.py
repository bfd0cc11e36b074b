"""
Why does a patient get this prognosis?
======================================

Diabetes patients, and four measurements predicted from six others at once: which features matter
for which output, how, and why for one patient.
"""  # noqa: D205, D400

# %%
# The data
# --------
# scikit-learn's diabetes data, in the units they were measured in. From age, sex, body mass index,
# blood pressure, cholesterol and triglycerides (as a logarithm) one forest predicts the
# progression of the disease a year later, blood glucose, HDL ('good' cholesterol) and LDL ('bad').
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

from polyleaf import RandomForestRegressor
from polyleaf.inspection import (
    explanation_text,
    partial_dependence,
    permutation_importances,
    plot_dependence,
    plot_shap_map,
    plot_shap_swarm,
    plot_shap_waterfall,
    shap_values,
)

bunch = load_diabetes(as_frame=True, scaled=False)
names = {"bp": "pressure", "s1": "cholesterol", "s5": "triglycerides"}
X = bunch.data.rename(columns=names)[["age", "sex", "bmi", *names.values()]]
Y = pd.DataFrame(
    {
        "progression": bunch.target,
        "glucose": bunch.data["s6"],
        "HDL": bunch.data["s3"],
        "LDL": bunch.data["s2"],
    }
)
forest = RandomForestRegressor(n_estimators=200, min_samples_leaf=3, random_state=0)
forest.fit(X[:350], Y[:350])

# %%
# Which features matter for which output?
# ---------------------------------------
found = shap_values(forest, X)
plot_shap_map(found)
plt.show()

# %%
# LDL is mostly total cholesterol, of which it is a part. Progression depends most on the body mass
# index and the triglycerides. Shuffling features of patients that the forest has not seen confirms
# this, with intervals:
worth = permutation_importances(forest, X[350:], Y[350:], n_repeats=10, random_state=0)
table = worth.to_frame()
print(table[table["output"] == "progression"].round(3).to_string(index=False))

# %%
# In which direction?
# -------------------
plot_shap_swarm(found, "progression")
plt.show()

# %%
# How much?
# ---------
# Thin lines are patients, the thick one is their mean.
plot_dependence(partial_dependence(forest, X, "bmi", kind="both"))
plt.show()

# %%
# Why this patient?
# -----------------
print(explanation_text(forest.explain(X[10:11], outputs=["progression", "HDL"])))
plot_shap_waterfall(found, row=10, output="progression")
plt.show()
