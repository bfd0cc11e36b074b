"""Pictures of which outputs share structure."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from polyleaf import BoostingRegressor, TreeRegressor
from polyleaf.inspection import plot_output_map
from polyleaf.inspection._output_map import similar_first


@pytest.mark.parametrize("n_targets", [1, 2, 14, 100])
def test_the_map_has_a_cell_per_pair_of_outputs(n_targets):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = X @ rng.normal(size=(3, n_targets))
    ax = plot_output_map(BoostingRegressor(n_estimators=3, max_depth=2).fit(X, Y))
    assert ax.images[0].get_array().shape == (n_targets, n_targets)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    expected = sorted(f"y{j}" for j in range(n_targets)) if n_targets <= 60 else []
    assert sorted(labels) == expected
    plt.close("all")


def test_similar_outputs_stand_side_by_side():
    cosines = np.eye(6)
    for a, b in ((0, 3), (3, 5), (0, 5), (1, 4), (4, 2), (1, 2)):
        cosines[a, b] = cosines[b, a] = 0.9
    order = similar_first(cosines).tolist()
    assert {frozenset(order[:3]), frozenset(order[3:])} == {
        frozenset({0, 3, 5}),
        frozenset({1, 2, 4}),
    }


def test_other_models_are_refused():
    tree = TreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(TypeError, match="got TreeRegressor"):
        plot_output_map(tree)
