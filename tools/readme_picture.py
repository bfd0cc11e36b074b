"""Draw the picture of README.md: ``python tools/readme_picture.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

from polyleaf import RandomForestRegressor
from polyleaf.inspection import plot_shap_map, plot_shap_waterfall, shap_values

OUT = Path(__file__).parents[1] / "docs" / "figures" / "patients.png"


def main() -> None:
    """Explain four predictions for diabetes patients, for all of them and for one."""
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
    found = shap_values(RandomForestRegressor(random_state=0).fit(X, Y), X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    plot_shap_map(found, ax=left)
    plot_shap_waterfall(found, row=10, output="progression", ax=right)
    left.set_title("What matters for which output")
    right.set_title("Why this patient's progression")
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
