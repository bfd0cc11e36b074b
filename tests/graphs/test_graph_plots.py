"""Pictures and tables of graph classifiers."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import PathPatch

from polyleaf import GraphClassifier, GraphEnsembleClassifier, TreeClassifier
from polyleaf.datasets import make_circle_labels
from polyleaf.inspection import consensus_edges, plot_consensus_graph, score_variance

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Leave no figure open."""
    yield
    plt.close("all")


def make_ensemble(n_labels=8, n_members=4):
    X, Y = make_circle_labels(120, n_labels, random_state=0)
    model = GraphEnsembleClassifier(
        n_estimators=n_members, calibration_folds=None, random_state=0, C=0.1
    )
    return model.fit(X, Y), X, Y


@pytest.mark.parametrize("n_labels", [2, 14, 100])
def test_every_label_is_named_and_inside_the_picture(n_labels):
    model, X, _ = make_ensemble(n_labels)
    names = [f"label number {j}" for j in range(n_labels)]
    ax = plot_consensus_graph(model, X, output_names=names)
    ax.figure.canvas.draw()
    assert {text.get_text() for text in ax.texts} == set(names)
    sheet = ax.figure.bbox
    for text in ax.texts:
        box = text.get_window_extent()
        assert box.x0 >= sheet.x0 - 1
        assert box.x1 <= sheet.x1 + 1
        assert box.y0 >= sheet.y0 - 1
        assert box.y1 <= sheet.y1 + 1


def test_only_the_strongest_edges_are_drawn():
    model, X, _ = make_ensemble()
    ax = plot_consensus_graph(model, X, max_edges=5)
    assert sum(isinstance(patch, PathPatch) for patch in ax.patches) == 5
    assert ax.get_title() == f"the 5 strongest of {len(model.edges_)} edges"
    found = consensus_edges(model, X).strongest(5)
    assert (np.diff(np.abs(found.attraction)) <= 0).all()
    everything = consensus_edges(model, X)
    assert np.abs(everything.attraction).max() == np.abs(found.attraction[0])


def test_labels_that_agree_attract_and_opposites_repel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    noisy = X[:, 0] + 0.5 * rng.normal(size=300)
    Y = np.column_stack([noisy > 0, noisy > 0, noisy < 0]).astype(int)
    model = GraphClassifier(graph=[(0, 1), (0, 2)], calibration_folds=None).fit(X, Y)
    found = consensus_edges(model, X)
    assert found.edges.tolist() == [[0, 1], [0, 2]]
    assert found.counts.tolist() == [1, 1]
    assert found.attraction[0] > 0 > found.attraction[1]


def test_edges_of_classes_have_sizes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    Y = np.column_stack([np.digitize(X[:, 0], [-1, 0, 1]), X[:, 1] > 0]).astype(int)
    model = GraphClassifier(calibration_folds=None).fit(X, Y)
    assert (consensus_edges(model, X).attraction > 0).all()


def test_what_is_no_graph_model_is_refused():
    X, Y = make_circle_labels(50, 3, random_state=0)
    tree = TreeClassifier().fit(X, Y)
    for show in (consensus_edges, plot_consensus_graph):
        with pytest.raises(TypeError, match="GraphClassifier"):
            show(tree, X)
    model, X, Y = make_ensemble()
    with pytest.raises(ValueError, match="max_edges"):
        plot_consensus_graph(model, X, max_edges=0)
    with pytest.raises(ValueError, match="8 names"):
        consensus_edges(model, X, output_names=["a"])
    with pytest.raises(ValueError, match="labels like those of fit"):
        score_variance(model, X, Y[:, :3])
