"""Graph ensembles on the problem of the demo that is made for them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polyleaf import GraphEnsembleClassifier
from polyleaf.cli._data import builtin_data
from polyleaf.datasets import MultiLabelKFold
from polyleaf.experiments import OneModelPerLabel
from polyleaf.metrics import example_f1_score, subset_zero_one_loss


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ensembles_are_ahead_of_lines_on_the_demos_labels_for_graphs(seed):
    circle = builtin_data(seed)["circle"]
    models = {
        "graphs": GraphEnsembleClassifier(
            n_estimators=5, calibration_folds=None, random_state=0, n_jobs=1
        ),
        "lines": make_pipeline(
            StandardScaler(), OneModelPerLabel(LogisticRegression(max_iter=300))
        ),
    }
    held_out = {name: np.zeros_like(circle.Y) for name in models}
    for train, test in MultiLabelKFold(3, random_state=seed).split(circle.X, circle.Y):
        for name, model in models.items():
            held_out[name][test] = model.fit(circle.X[train], circle.Y[train]).predict(
                circle.X[test]
            )
    f1, loss = (
        {name: score(circle.Y, guess) for name, guess in held_out.items()}
        for score in (example_f1_score, subset_zero_one_loss)
    )
    assert f1["graphs"] > f1["lines"] + 0.003  # a row
    assert loss["graphs"] < loss["lines"] - 0.03
