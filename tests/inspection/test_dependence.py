"""Partial dependence equals brute force on any model; accumulated effects their definition."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.inspection import PartialDependenceDisplay
from sklearn.inspection import partial_dependence as brute

import polyleaf
from polyleaf import _core
from polyleaf.inspection import (
    accumulated_local_effects,
    partial_dependence,
    plot_dependence,
    shap_values,
)

N_ROWS = 90


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 4)).round(1), columns=list("abcd"))
    X.loc[rng.random(N_ROWS) < 0.1, "c"] = np.nan
    X["kind"] = rng.choice(list("uvwxyz"), N_ROWS)
    return X


@pytest.fixture(scope="module")
def numbers(frame):
    a, b, c, d, _ = frame.fillna(0.0).to_numpy().T
    is_special = frame["kind"].isin(["u", "x"]).to_numpy()
    return np.column_stack([a * b + 2.0 * is_special, c - a * is_special, 100.0 + d]).astype(float)


@pytest.fixture(scope="module")
def labels(numbers):
    return (numbers > np.median(numbers, axis=0)).astype(int)


REGRESSORS = {
    "tree": polyleaf.TreeRegressor(random_state=0),
    "forest": polyleaf.RandomForestRegressor(n_estimators=4, random_state=0),
    "subspace": polyleaf.RandomForestRegressor(
        n_estimators=4, projection="subsample", aggregation="subspace", random_state=0
    ),
    "relabel": polyleaf.BoostingRegressor(
        n_estimators=4, projection="gaussian", early_stopping=False, random_state=0
    ),
    "linear": polyleaf.BoostingRegressor(
        n_estimators=4, leaf_fit="linear", early_stopping=False, random_state=0
    ),
    "round robin": polyleaf.BoostingRegressor(
        n_estimators=6, projection="round_robin", early_stopping=False, random_state=0
    ),
    "rules": polyleaf.RuleRegressor(n_rules=20, random_state=0),
}
CLASSIFIERS = {
    "tree": polyleaf.TreeClassifier(max_depth=4, random_state=0),
    "forest": polyleaf.RandomForestClassifier(n_estimators=4, random_state=0),
    "boosting": polyleaf.BoostingClassifier(n_estimators=4, early_stopping=False, random_state=0),
    "rules": polyleaf.RuleClassifier(n_rules=20, random_state=0),
    "rules of whole rows": polyleaf.RuleClassifier(
        n_rules=20, loss="examplewise_logistic", random_state=0
    ),
}


def close(found, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * scale)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("features", [["a"], ["kind"], ["a", "b"], ["b", "kind"]])
def test_dependence_equals_brute_force(name, features, frame, numbers):
    model = REGRESSORS[name].fit(frame, numbers)
    found = partial_dependence(model, frame, features, kind="both", grid_resolution=8)
    expected = brute(
        model, frame, features, kind="both", grid_resolution=8, method="brute",
        categorical_features=["kind"],
    )  # fmt: skip
    for ours, theirs in zip(found.grid_values, expected.grid_values):
        assert ours.tolist() == theirs.tolist()
    close(found.average, expected.average)
    close(found.individual, expected.individual)
    close(partial_dependence(model, frame, features, grid_resolution=8).average, found.average)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_dependence_of_probabilities_equals_brute_force(name, frame, labels):
    model = CLASSIFIERS[name].fit(frame, labels)
    weights = np.linspace(0.0, 1.0, N_ROWS)
    found = partial_dependence(model, frame, "a", sample_weight=weights, grid_resolution=5)
    one = partial_dependence(model, frame, "a", outputs=1, kind="individual", grid_resolution=5)
    assert one.average is None
    for g, value in enumerate(found.grid_values[0]):
        # scikit-learn takes several labels for the two classes of one output.
        expected = model.predict_proba(frame.assign(a=value))
        close(found.average[:, g], np.average(expected, axis=0, weights=weights))
        close(one.individual[0, :, g], expected[:, 1])


def test_scores_are_in_the_units_of_shapley_values(frame, labels):
    model = CLASSIFIERS["boosting"].fit(frame, labels)
    found = partial_dependence(model, frame, "b", response="score", kind="both")
    shap = shap_values(model, frame)
    expected = shap.base_values + shap.values.sum(axis=1)
    grid = found.grid_values[0]
    at = np.searchsorted(grid, frame["b"])
    close(found.individual[:, np.arange(N_ROWS), at].T, expected)
    np.testing.assert_allclose(found.average, found.individual.mean(axis=1))


def test_every_class_of_a_class_output_has_a_curve(frame, numbers):
    y = np.digitize(numbers[:, 0], [-0.5, 1.0])
    model = polyleaf.BoostingClassifier(n_estimators=3, early_stopping=False).fit(frame, y)
    found = partial_dependence(model, frame, "kind")
    close(
        found.average,
        brute(model, frame, ["kind"], method="brute", categorical_features=["kind"]).average,
    )
    np.testing.assert_allclose(found.average.sum(axis=0), 1.0, rtol=1e-6)


def test_values_may_be_given_even_missing_ones(frame, numbers):
    model = REGRESSORS["forest"].fit(frame, numbers)
    found = partial_dependence(model, frame, "c", grid_values=[np.nan, 0.5, -1.0])
    for value, predicted in zip([np.nan, 0.5, -1.0], found.average.T):
        close(predicted, model.predict(frame.assign(c=value)).mean(axis=0))
    by_name = partial_dependence(model, frame, "kind", grid_values=["x", "u"])
    close(by_name.average[:, 0], model.predict(frame.assign(kind="x")).mean(axis=0))
    with pytest.raises(ValueError, match="categories that the model knows"):
        partial_dependence(model, frame, "kind", grid_values=["q"])


def test_sparse_rows_equal_dense_ones():
    rng = np.random.default_rng(0)
    X = sparse.random_array((80, 6), density=0.4, rng=rng, format="csr")
    Y = np.column_stack([X.toarray()[:, 0], X.toarray()[:, 1] * 2])
    model = polyleaf.ExtraTreesRegressor(n_estimators=3, random_state=0).fit(X, Y)
    dense = partial_dependence(model, X.toarray(), [0, 1], kind="both", grid_resolution=5)
    thin = partial_dependence(model, X, [0, 1], kind="both", grid_resolution=5)
    np.testing.assert_array_equal(thin.average, dense.average)
    np.testing.assert_array_equal(thin.individual, dense.individual)


def test_many_sparse_features_are_never_dense_at_once():
    rng = np.random.default_rng(0)
    X = sparse.random_array((2500, 20_000), density=0.002, rng=rng, format="csr")
    Y = np.asarray(X[:, [0, 1]].todense())
    model = polyleaf.ExtraTreesRegressor(n_estimators=2, max_depth=4, random_state=0).fit(X, Y)
    tracemalloc.start()
    try:
        found = partial_dependence(model, X, 0, grid_values=[0.0, 0.5])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    for at, value in enumerate([0.0, 0.5]):
        moved = sparse.hstack([np.full((2500, 1), value), X[:, 1:]], format="csr")
        np.testing.assert_allclose(found.average[:, at], model.predict(moved).mean(axis=0))
    assert peak < 4 * X.shape[0] * X.shape[1] / 2  # bytes of the smallest dense array


def test_one_thread_equals_many(frame, numbers):
    model = REGRESSORS["forest"].fit(frame, numbers)
    for kind in ("average", "individual"):
        one = partial_dependence(model, frame, ["a", "kind"], kind=kind, n_jobs=1)
        many = partial_dependence(model, frame, ["a", "kind"], kind=kind, n_jobs=3)
        field = "average" if kind == "average" else "individual"
        np.testing.assert_array_equal(getattr(one, field), getattr(many, field))


def test_sklearn_draws_the_right_curves(frame, numbers):
    """It must not take its recursion, which knows one output and its own trees."""
    model = REGRESSORS["forest"].fit(frame, numbers)
    for target in (0, 2):
        shown = PartialDependenceDisplay.from_estimator(model, frame, ["a"], target=target)
        drawn = shown.lines_[0, 0].get_ydata()
        close(drawn, partial_dependence(model, frame, "a", outputs=target).average[0])
    with pytest.raises(ValueError, match="recursion"):
        brute(model, frame, ["a"], method="recursion")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": "z"}, "names or numbers of features"),
        ({"features": 7}, "below 5"),
        ({"features": [0, 0]}, "two different"),
        ({"features": [0, 1, 2]}, "two different"),
        ({"features": 0, "kind": "all"}, "kind must be"),
        ({"features": 0, "response": "odds"}, "response must be"),
        ({"features": 0, "response": "probability"}, "numbers"),
        ({"features": 0, "grid_resolution": 1}, "2 or more"),
        ({"features": 0, "sample_weight": [1.0]}, "one weight per row"),
        ({"features": 0, "sample_weight": [0.0] * N_ROWS}, "positive somewhere"),
        ({"features": [0, 1], "grid_values": [[1.0]]}, "one array per feature"),
    ],
)
def test_wrong_arguments_are_explained(given, message, frame, numbers):
    model = REGRESSORS["tree"].fit(frame, numbers)
    with pytest.raises(ValueError, match=message):
        partial_dependence(model, frame, **given)


def test_other_models_are_refused(frame):
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="scikit-learn's partial_dependence"):
        partial_dependence(LinearRegression(), frame, 0)


def test_core_refuses_grids_that_do_not_fit(frame, numbers):
    trees = REGRESSORS["tree"].fit(frame, numbers)._additive()
    given = {
        "features": np.array([0], np.int32),
        "offsets": np.array([0, 2]),
        "grid": np.zeros(2),
        "first": 0,
        "last": 1,
        "X": np.zeros((3, 5)),
        "columns": np.zeros((5, 3)),
        "weights": None,
        "leaf_weights": np.zeros(int(trees.tree_leaves[-1])),
        "n_threads": 1,
    }
    assert isinstance(trees.structure.dependence_trees, _core.DependenceTrees)
    trees.structure.dependence_trees.count_rows(**given)
    for wrong in (
        {"features": np.array([5], np.int32)},
        {"features": np.array([1, 1], np.int32), "offsets": np.array([0, 1, 2])},
        {"offsets": np.array([0, 0]), "grid": np.zeros(0)},
        {"last": 2},
        {"columns": np.zeros((4, 3))},
        {"X": np.zeros((3, 4))},
        {"X": np.zeros((4, 5))},
        {"weights": np.zeros(2)},
        {"leaf_weights": np.zeros(1)},
    ):
        with pytest.raises(ValueError, match=r"\w"):
            trees.structure.dependence_trees.count_rows(**{**given, **wrong})


# Accumulated local effects -----------------------------------------------------------------------


def test_effects_are_the_sums_of_local_changes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1]])
    model = polyleaf.BoostingRegressor(n_estimators=5, early_stopping=False).fit(X, Y)
    found = accumulated_local_effects(model, X, 0, n_intervals=6)
    edges, sums, counts = found.grid_values[0], [np.zeros(2)], []
    for i, (low, high) in enumerate(pairwise(edges)):
        inside = (X[:, 0] <= high) & ((X[:, 0] > low) | (i == 0))
        upper, lower = X[inside].copy(), X[inside].copy()
        upper[:, 0], lower[:, 0] = high, low
        sums.append(sums[-1] + (model.predict(upper) - model.predict(lower)).mean(axis=0))
        counts.append(inside.sum())
    sums = np.array(sums)
    middles = (sums[1:] + sums[:-1]) / 2
    close(found.average.T, sums - np.average(middles, axis=0, weights=counts))


def test_effects_of_a_pair_are_what_it_does_beyond_both():
    values = np.arange(8.0)
    X = np.array([(a, b) for a in values for b in values])
    sums = X[:, 0] + 3 * X[:, 1]
    product = (X[:, 0] - 3.5) * (X[:, 1] - 3.5)
    model = polyleaf.TreeRegressor().fit(X, np.column_stack([sums, product]))
    found = accumulated_local_effects(model, X, [0, 1], n_intervals=7)
    np.testing.assert_allclose(found.average[0], 0.0, atol=1e-9)
    a, b = found.grid_values
    moves = np.diff(np.diff(found.average[1], axis=0), axis=1)
    np.testing.assert_allclose(moves, np.outer(np.diff(a), np.diff(b)))
    assert abs(found.average[1].mean()) < 0.5


def test_effects_pass_over_missing_rows_and_refuse_categories(frame, numbers):
    model = REGRESSORS["forest"].fit(frame, numbers)
    found = accumulated_local_effects(model, frame, "c", n_intervals=5)
    assert found.is_accumulated
    assert np.isfinite(found.average).all()
    known = accumulated_local_effects(model, frame.dropna(), "c", n_intervals=5)
    np.testing.assert_array_equal(found.average, known.average)
    with pytest.raises(ValueError, match="have none"):
        accumulated_local_effects(model, frame, "kind")


# Pictures ----------------------------------------------------------------------------------------


def test_pictures_have_a_panel_per_output_or_one_map(frame, numbers):
    model = REGRESSORS["tree"].fit(frame, numbers)
    for features, n_axes in (("a", 3), (["a", "kind"], 3), ("kind", 3)):
        found = partial_dependence(model, frame, features, kind="both", grid_resolution=5)
        assert plot_dependence(found).size == n_axes
    assert plot_dependence(accumulated_local_effects(model, frame, ["a", "b"])).size == 3
    many = polyleaf.TreeRegressor().fit(frame, np.tile(numbers, 10))
    assert plot_dependence(partial_dependence(many, frame, "a")).size == 1
    with pytest.raises(ValueError, match="choose some"):
        plot_dependence(partial_dependence(many, frame, ["a", "b"], grid_resolution=3))


def test_dates_are_written_without_running_into_each_other():
    X = pd.DataFrame({"seen": pd.date_range("2020-01-01", periods=400)})
    model = polyleaf.TreeRegressor(max_depth=4).fit(X, np.arange(400.0))
    (panel,) = np.ravel(plot_dependence(partial_dependence(model, X, "seen", grid_resolution=9)))
    panel.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in panel.get_xticklabels()]
    assert len(boxes) > 1
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_counts_are_averaged_as_they_are_predicted(frame, numbers):
    counts = np.rint(np.abs(numbers[:, :2]))
    model = polyleaf.BoostingRegressor(n_estimators=5, loss="poisson", early_stopping=False)
    model.fit(frame, counts)
    found = partial_dependence(model, frame, "a", grid_resolution=6)
    close(found.average, brute(model, frame, ["a"], method="brute", grid_resolution=6).average)
    raw = partial_dependence(model, frame, "a", grid_resolution=6, response="score", kind="both")
    close(np.exp(raw.individual).mean(axis=1), found.average)
