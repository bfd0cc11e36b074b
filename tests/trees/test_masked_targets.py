"""Targets that are not observed are learnt around, exactly."""

import numpy as np
import pytest
from tests.core.training_problems import make_training_data, smooth_problem

from polyleaf.projections import Subsample
from polyleaf.trees.growing import TreeSettings, fit_tree


def naive_tree(X, Y, weights, min_samples_leaf):
    """Grow a tree on standardised outputs by trying every split; predictions at X.

    An entry counts with its weight, or not at all if it is NaN. The criterion is the sum over
    outputs of the squared sum of values divided by the sum of weights.
    """
    W = np.where(np.isnan(Y), 0.0, np.broadcast_to(weights, Y.shape))
    values = np.where(np.isnan(Y), 0.0, Y)
    mean = (W * values).sum(0) / W.sum(0)
    Z = (values - mean) / np.sqrt((W * (values - mean) ** 2).sum(0) / W.sum(0))
    Z = Z.astype(np.float32).astype(np.float64)
    predictions = np.empty(Y.shape)

    def score(rows):
        total = W[rows].sum(0)
        return np.sum((W[rows] * Z[rows]).sum(0)[total > 0] ** 2 / total[total > 0])

    def visit(rows, inherited):
        total = W[rows].sum(0)
        sums = (W[rows] * values[rows]).sum(0)
        value = np.where(total > 0, sums / np.where(total > 0, total, 1.0), inherited)
        best = (-np.inf, None)
        for j in range(X.shape[1]):
            order = rows[np.argsort(X[rows, j])]
            for cut in range(min_samples_leaf, len(rows) - min_samples_leaf + 1):
                gain = score(order[:cut]) + score(order[cut:])
                if gain > best[0]:
                    best = (gain, (order[:cut], order[cut:]))
        if best[1] is None:
            predictions[rows] = value
            return
        visit(np.sort(best[1][0]), value)
        visit(np.sort(best[1][1]), value)

    visit(np.flatnonzero(W.any(axis=1)), mean)
    return predictions


@pytest.mark.parametrize("weights", ["unit", "rows", "entries"])
@pytest.mark.parametrize("share_missing", [0.1, 0.6])
def test_a_masked_fit_equals_the_naive_tree(weights, share_missing):
    X, Y, rng = smooth_problem(3, n_rows=120, share_missing=share_missing)
    given = {
        "unit": None,
        "rows": rng.uniform(0.5, 2.0, len(Y)),
        "entries": rng.uniform(0.5, 2.0, Y.shape),
    }[weights]
    data = make_training_data(X, Y, given)
    trees = fit_tree(
        data, TreeSettings(min_samples_leaf=8, exact=True, normalize_outputs=True), rng
    )
    plain = np.ones((len(Y), 1)) if given is None else given.reshape(len(Y), -1)
    expected = naive_tree(X, Y, plain, 8)
    rows = data.weighted_rows
    assert trees.structure.n_leaves > 5
    np.testing.assert_allclose(trees.predict(X[rows]), expected[rows], rtol=1e-9)


def test_a_leaf_without_an_observed_value_takes_that_of_the_smallest_node_around_it():
    X = np.arange(6.0)[:, None]
    Y = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 7.0], [5.0, 9.0], [9.0, np.nan], [9.0, np.nan]])
    trees = fit_tree(
        make_training_data(X, Y), TreeSettings(min_samples_leaf=2), np.random.default_rng(0)
    )
    assert trees.structure.n_leaves == 3
    outer = trees.predict(X)[-1]
    assert outer[0] == 9.0
    siblings = Y[2:4, 1] if trees.structure.n_samples[1] == 2 else Y[:4, 1]
    assert outer[1] == pytest.approx(siblings.mean())


def test_rows_that_a_selection_does_not_see_still_form_leaf_values():
    X, Y, _ = smooth_problem(4, n_outputs=6)
    Y[::2, :3], Y[1::2, 3:] = np.nan, np.nan
    settings = TreeSettings(projection=Subsample(n_components=1), min_samples_leaf=10)
    for seed in range(6):
        trees = fit_tree(make_training_data(X, Y), settings, np.random.default_rng(seed))
        leaves = trees.apply(X)[:, 0]
        assert trees.structure.n_samples[0] == len(X)
        for leaf in set(leaves.tolist()):
            members = leaves == leaf
            assert trees.structure.n_samples[leaf] == members.sum()
            predicted = trees.predict(X[members][:1])[0]
            seen = ~np.isnan(Y[members]).all(axis=0)
            np.testing.assert_allclose(predicted[seen], np.nanmean(Y[members][:, seen], axis=0))
