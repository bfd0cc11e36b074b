"""The benchmark of forests' trees grows what it says it grows."""

import numpy as np
import pytest
from benchmarks.forest_trees import KINDS, PolyleafTrees, draw_weights, main

from polyleaf.datasets import make_correlated_targets


def test_a_bootstrap_draws_as_many_rows_as_there_are():
    weights = draw_weights(KINDS[0], 50, seed=3)
    assert weights is not None
    assert weights.sum() == 50
    assert np.count_nonzero(weights) < 50


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_fully_grown_trees_have_a_leaf_for_every_row_they_drew(kind):
    X, Y = make_correlated_targets(60, 5, 2, random_state=0)
    weights = draw_weights(kind, 60, seed=1)
    values = PolyleafTrees(X, Y).grow(kind, seed=1)
    expected = Y if weights is None else Y[weights > 0]
    np.testing.assert_allclose(np.sort(values, axis=0), np.sort(expected, axis=0))


def test_the_table_has_a_row_per_kind(capsys):
    main(["--problems", "dense-300-8-3", "--repeats", "1", "--rival-repeats", "1"])
    text = capsys.readouterr().out
    assert all(kind.name in text for kind in KINDS)
