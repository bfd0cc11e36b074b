"""The score of an ensemble's first member, its first two, and so on."""

import matplotlib.pyplot as plt
import pytest

from polyleaf import GraphEnsembleClassifier, TreeClassifier
from polyleaf.datasets import make_circle_labels
from polyleaf.inspection import plot_learning_curve


def test_the_learning_curve_has_a_point_per_member():
    X, Y = make_circle_labels(120, 8, random_state=0)
    model = GraphEnsembleClassifier(
        n_estimators=6, calibration_folds=None, random_state=0, C=0.1
    ).fit(X, Y)
    ax = plot_learning_curve(model, X, Y)
    line = ax.lines[0]
    assert line.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
    assert line.get_ydata()[-1] == (model.predict(X) == Y).mean()
    _, own = plt.subplots()

    def subset_accuracy(truth, predicted):
        return (truth == predicted).all(axis=1).mean()

    assert plot_learning_curve(model, X, Y, score=subset_accuracy, ax=own) is own
    assert own.get_ylabel() == "subset accuracy"


def test_a_learning_curve_needs_stages():
    X, Y = make_circle_labels(50, 3, random_state=0)
    with pytest.raises(TypeError, match="staged_predict"):
        plot_learning_curve(TreeClassifier().fit(X, Y), X, Y)
