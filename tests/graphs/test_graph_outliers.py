"""A row that is far longer than the others does not drown what they have of their own."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel
from tests.core.label_reference import all_labellings

from polyleaf import GraphClassifier
from polyleaf.graphs.solver import low_rank_factor

CHAIN = [(0, 1), (1, 2), (2, 3)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    Y = (X @ rng.normal(size=(4, 4)) > 0).astype(np.int32)
    X[0] *= 1000.0
    return X, Y


def brute_force_primal(model, kernel, Y):
    """The objective of a model on a chain, over all labellings, by the true kernel."""
    members = model._model.members
    graph, coefficients = members.graphs[0], members.parameters_of(0).T
    scores, spread = kernel @ coefficients, coefficients @ graph.expansion
    labellings = all_labellings(graph.n_states)
    edges = np.array(CHAIN)
    slack = 0.0
    for row, truth in zip(scores, Y):
        loss = (labellings[:, edges] != truth[edges]).any(axis=2).sum(axis=1)
        everywhere = graph.edge_scores(np.tile(row, (len(labellings), 1)), labellings)
        own = graph.edge_scores(row[None], truth[None]).sum()
        slack += (loss + everywhere.sum(axis=1) - own).max()
    return 0.5 * (spread * (kernel @ spread)).sum() + slack


def test_the_objective_is_that_of_the_true_kernel_beside_an_outlier(data):
    X, Y = data
    model = GraphClassifier(
        graph=CHAIN,
        kernel="poly",
        gamma=0.25,
        coef0=1.0,
        C=1.0,
        scale_features=False,
        calibration_folds=None,
        random_state=0,
    ).fit(X, Y)
    kernel = polynomial_kernel(X, gamma=0.25, coef0=1.0) + 1.0
    true_primal = brute_force_primal(model, kernel, Y)
    assert model.objective_ == pytest.approx(true_primal, rel=1e-4)
    assert model.dual_gap_ <= 0.011 * model.objective_
    assert (model.predict(X) == Y).mean() > 0.98


def test_every_row_of_a_factored_kernel_is_kept(data):
    kernel = polynomial_kernel(data[0], gamma=0.25, coef0=1.0)
    factor = low_rank_factor(kernel)
    assert factor.shape[1] == 35  # all products of up to three of four features
    lengths = np.sqrt(kernel.diagonal())
    rest = (factor @ factor.T - kernel) / lengths / lengths[:, None]
    assert np.abs(rest).max() < 1e-9
