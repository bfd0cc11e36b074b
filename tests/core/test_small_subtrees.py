"""Subtrees of a few rows, grown from inner products, are those of the general search."""

import numpy as np
import pytest
from agreement import assert_agrees, assert_served
from problems import make_problem, make_values, numeric_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

#: Settings that small subtrees apply to.
DENSE = {
    "drawn": {"max_features": 5},
    "cuts": {"random_cuts": True},
    "drawn cuts": {"random_cuts": True, "max_features": 5},
}
#: How each of them is searched.
FINDERS = {"drawn": "small_sorted", "cuts": "small_cuts", "drawn cuts": "small_cuts"}
#: A number that is not automatic turns them off.
GENERAL = {"histogram_min_rows": 1}


@pytest.fixture(autouse=True)
def both_ways_of_storage(monkeypatch):
    """Features of two values are not listed only because nearly all others are."""
    monkeypatch.setattr("polyleaf.data.binned.SPARSE_PER_DENSE", 1000)


def flags_problem(n_rows, n_channels=5, *, weights="unit", n_dense=2, seed=0):
    """Features of two values: most of them rare, and thus sparse, a few not."""
    rng = np.random.default_rng(seed)
    shares = np.full(24, 0.12)
    shares[:n_dense] = 0.5
    X = (rng.random((n_rows, 24)) < shares).astype(float)
    X[:, 5] = 1.0 - X[:, 5]
    values = make_values(X + 0.3 * rng.normal(size=X.shape), n_channels, seed + 1)
    return make_problem(X, values, weights=weights, seed=seed)


def labels_of(problem):
    """The channels as rare labels with the weights of the rows."""
    labels = (problem.gradient > np.quantile(problem.gradient, 0.7, axis=0)).astype(np.float32)
    if problem.row_weights is not None:
        labels *= problem.row_weights[:, None]
    return problem.__class__(**{**vars(problem), "gradient": labels})


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def each_instruction_set(request):
    before = _core.instruction_set()
    if not _core.use_instruction_set(request.param):
        pytest.skip(f"this machine has no {request.param}")
    yield
    assert _core.use_instruction_set(before)


@pytest.mark.usefixtures("each_instruction_set")
@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_channels", [1, 7, 40])
@pytest.mark.parametrize("min_samples_leaf", [1, 2])
def test_splits_of_dense_features_have_the_gains_they_record(
    min_samples_leaf, n_channels, weights, missing, kind
):
    problem = numeric_problem(90, 9, n_channels, missing=missing, weights=weights, seed=3)
    settings = {**DENSE[kind], "min_samples_leaf": min_samples_leaf, "seed": 2}
    tree = problem.grow(**settings)
    is_small = tree.n_samples[~tree.is_leaf] <= _core.SMALL_ROWS
    assert tree.finder_counts[FINDERS[kind]] >= np.count_nonzero(is_small) > 10
    assert_agrees(tree, problem, is_best=False, **settings)


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("n_rows", range(5, 16))
def test_the_best_of_the_drawn_splits_is_taken(n_rows, weights, missing, kind):
    problem = numeric_problem(n_rows, 9, 6, missing=missing, weights=weights, seed=n_rows)
    settings = {**DENSE[kind], "max_depth": 2}
    pairs = [
        (problem.grow(**settings, seed=seed), problem.grow(**settings, **GENERAL, seed=seed))
        for seed in range(8)
    ]
    assert any(FINDERS[kind] in tree.finder_counts for tree, _ in pairs)
    assert not any(FINDERS[kind] in general.finder_counts for _, general in pairs)
    # Ties at the root, which is not small, may go to different features.
    pairs = [pair for pair in pairs if pair[0].threshold[0] == pair[1].threshold[0]]
    assert len(pairs) > 4
    for tree, general in pairs:
        # Several features may part so few rows alike: only gains can be compared.
        np.testing.assert_allclose(tree.gain, general.gain, rtol=1e-3, atol=1e-5)
        left, right = np.sort(tree.impurity), np.sort(general.impurity)
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"max_features": 4}, {"random_cuts": True}])
@pytest.mark.parametrize("grow", ["grow", "grow_sparse"])
@pytest.mark.parametrize("n_dense", [0, 2])
@pytest.mark.parametrize("weights", ["unit", "rows"])
@pytest.mark.parametrize("min_samples_leaf", [1, 2])
def test_splits_of_two_values_have_the_gains_they_record(
    min_samples_leaf, weights, n_dense, grow, settings
):
    problem = flags_problem(200, weights=weights, n_dense=n_dense, seed=4)
    assert problem.binned.dense_features.size == n_dense
    problem = labels_of(problem) if grow == "grow_sparse" else problem
    settings = {**settings, "min_samples_leaf": min_samples_leaf, "seed": 1}
    tree = getattr(problem, grow)(**settings)
    is_small = tree.n_samples[~tree.is_leaf] <= _core.SMALL_ROWS
    assert tree.finder_counts["small_flags"] >= np.count_nonzero(is_small) > 10
    assert_agrees(tree, problem, is_best="max_features" not in settings, **settings)


@pytest.mark.parametrize("settings", [{}, {"max_features": 4}])
@pytest.mark.parametrize("grow", ["grow", "grow_sparse"])
@pytest.mark.parametrize("n_rows", range(6, 16))
def test_two_values_are_split_as_by_the_general_search(n_rows, grow, settings):
    problem = flags_problem(n_rows, weights="rows", seed=n_rows)
    problem = labels_of(problem) if grow == "grow_sparse" else problem
    for seed in range(6):
        tree = getattr(problem, grow)(**settings, max_depth=2, seed=seed)
        general = getattr(problem, grow)(**settings, **GENERAL, max_depth=2, seed=seed)
        assert "small_flags" not in general.finder_counts
        np.testing.assert_allclose(tree.gain, general.gain, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", DENSE)
def test_rows_keep_their_order_within_leaves(kind):
    problem = numeric_problem(60, 4, 3, seed=5)
    problem = problem.__class__(**{**vars(problem), "gradient": np.round(problem.gradient)})
    tree = problem.grow(**DENSE[kind] | {"max_features": 3}, min_samples_leaf=2, seed=0)
    assert_served(tree, FINDERS[kind])
    for node in np.flatnonzero(tree.is_leaf):
        assert np.all(np.diff(tree.node_rows()[node]) > 0)
