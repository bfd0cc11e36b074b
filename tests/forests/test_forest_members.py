"""The trees of a forest as estimators, importances, and forests in files and pipelines."""

import pickle

import matplotlib.pyplot as plt
import naive_forest as naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import polyleaf
from polyleaf import (
    BinnedData,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeClassifier,
    TreeRegressor,
    projections,
)
from polyleaf.inspection import output_importances, plot_output_importances, plot_tree, tree_text

each_kind = pytest.mark.parametrize("kind", naive.PROBLEMS)


def fit(kind, cls=RandomForestRegressor, n_estimators=3, **parameters):
    features, targets, weights = naive.training_part(kind)
    if issubclass(cls, RandomForestClassifier):
        targets = naive.labels_of(targets)
    forest = cls(n_estimators=n_estimators, random_state=0, **parameters)
    return forest.fit(features, targets, sample_weight=weights), naive.test_features(kind)


def same(one, other):
    return np.array_equal(naive.dense(one), naive.dense(other), equal_nan=True)


@each_kind
def test_members_are_trees_whose_average_is_the_forest(kind):
    forest, queries = fit(kind, projection=None)
    assert len(forest.estimators_) == 3
    assert all(isinstance(tree, TreeRegressor) for tree in forest.estimators_)
    alone = np.array([naive.dense(tree.predict(queries)) for tree in forest.estimators_])
    expected = np.nanmean(alone, axis=0)
    np.testing.assert_allclose(naive.dense(forest.predict(queries)), expected, atol=1e-9)


def test_members_are_asked_for_like_those_of_a_list():
    forest, queries = fit("dense")
    members = forest.estimators_
    assert same(members[-1].predict(queries), members[2].predict(queries))
    assert [type(tree) for tree in members[1:]] == [TreeRegressor] * 2
    assert len(list(members)) == 3
    for beyond in (3, -4):
        with pytest.raises(IndexError, match="has 3 trees"):
            members[beyond]


@each_kind
def test_members_can_be_read_and_drawn(kind):
    forest, _ = fit(kind)
    for tree in forest.estimators_:
        text = tree_text(tree, max_depth=2)
        assert text.startswith("TreeRegressor: 4 outputs")
        assert "nan" not in text.lower().split("\n")[0]
    figure, axes = plt.subplots()
    plot_tree(forest.estimators_[0], max_depth=2, ax=axes)
    plt.close(figure)


def test_members_carry_the_parameters_that_a_tree_has():
    forest, _ = fit("dense", cls=RandomForestClassifier, max_depth=3, min_samples_leaf=2)
    tree = forest.estimators_[0]
    assert type(tree) is TreeClassifier
    assert (tree.max_depth, tree.min_samples_leaf, tree.splitter) == (3, 2, "best")
    assert tree.get_depth() <= 3
    features, targets, _ = naive.training_part("dense")
    extra = ExtraTreesRegressor(n_estimators=1).fit(features, targets)
    assert extra.estimators_[0].splitter == "random"


@each_kind
def test_statistics_of_the_nodes_of_a_member_equal_a_loop(kind):
    forest, _ = fit(kind, projection=None, max_depth=4)
    features, targets, weights = naive.training_part(kind)
    tree, structure = forest.estimators_[1], forest.estimators_[1]._fitted.described.structure
    counts = list(forest._forest.in_bag_counts())[1]
    inside = tree.decision_path(features).toarray() > 0
    by_entry = naive.channel_weights(targets, weights) * counts[:, None]
    values = np.nan_to_num(naive.dense(targets))
    impurity = np.zeros(structure.n_nodes)
    for node in range(structure.n_nodes):
        rows = inside[:, node] & (counts > 0)
        here, totals = by_entry[rows], by_entry[rows].sum(axis=0)
        means = np.divide(
            (here * values[rows]).sum(axis=0), totals, out=np.zeros(4), where=totals > 0
        )
        impurity[node] = (here * (values[rows] - means) ** 2).sum()
        drawn = rows if weights is None or weights.ndim == 2 else rows & (weights > 0)
        assert structure.n_samples[node] == drawn.sum()
    np.testing.assert_allclose(structure.impurity, impurity, atol=1e-8)
    inner, left, right = structure.children()
    gains = impurity[inner] - impurity[left] - impurity[right]
    np.testing.assert_allclose(structure.gain[inner], gains, atol=1e-8)


@each_kind
def test_importances_add_up_to_1_and_find_the_features_that_matter(kind):
    forest, _ = fit(kind, n_estimators=20)
    n_features = forest.n_features_in_
    assert forest.feature_importances_.shape == (n_features,)
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    by_output = forest.output_importances_
    assert by_output.shape == (4, n_features)
    np.testing.assert_allclose(by_output.sum(axis=1), 1.0)
    assert (by_output >= 0).all()
    assert by_output[2].argmax() == 2  # sin of the third feature
    table = output_importances(forest)
    assert np.array_equal(table.to_numpy(), by_output)


def test_importances_of_a_forest_can_be_drawn_and_a_forest_is_no_tree():
    forest, _ = fit("dense")
    axes = plot_output_importances(forest)
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "mean",
        *["y0", "y1", "y2", "y3"],
    ]
    plt.close(axes.figure)
    with pytest.raises(TypeError, match=r"RandomForestRegressor\. Take one of its estimators_"):
        tree_text(forest)


def test_importances_of_one_tree_on_all_rows_are_those_of_the_tree():
    features, targets, _ = naive.training_part("dense")
    forest = RandomForestRegressor(
        n_estimators=1, bootstrap=False, projection=None, max_features=None, random_state=0
    ).fit(features, targets)
    tree = TreeRegressor(random_state=np.random.default_rng([*forest._fitted.entropy, 0]))
    tree.fit(features, targets)
    np.testing.assert_allclose(forest.feature_importances_, tree.feature_importances_, rtol=1e-5)
    np.testing.assert_allclose(forest.output_importances_, tree.output_importances_, rtol=1e-9)


def test_a_forest_without_a_split_has_no_importances():
    features, targets, _ = naive.training_part("dense")
    stump = RandomForestRegressor(n_estimators=2, min_samples_leaf=70).fit(features, targets)
    assert not stump.feature_importances_.any()
    assert not stump.output_importances_.any()


# Files, pickles, pipelines ---------------------------------------------------------------------

MODELS = {
    "total": {"aggregation": "total", "projection": None},
    "subspace": {"projection": projections.Subsample(2), "aggregation": "subspace"},
    "out-of-bag weights": {"aggregation": "oob", "oob_score": True},
    "single targets": {"projection": "round_robin"},
    "view per split": {"projection": "rademacher", "projection_scope": "node", "max_depth": 3},
}


@pytest.mark.parametrize("model", MODELS)
@each_kind
def test_a_saved_forest_comes_back_whole(kind, model, tmp_path):
    forest, queries = fit(kind, n_estimators=8, **MODELS[model])
    polyleaf.save(forest, tmp_path / "forest")
    loaded = polyleaf.load(tmp_path / "forest")
    assert loaded.get_params() == forest.get_params()
    assert same(loaded.predict(queries), forest.predict(queries))
    assert same(loaded.predict_weights(queries, 1), forest.predict_weights(queries, 1))
    assert np.array_equal(loaded.output_importances_, forest.output_importances_)
    for name in ("feature_importances_", "oob_score_"):
        assert same(getattr(loaded, name, 0.0), getattr(forest, name, 0.0))
    stages = zip(loaded.staged_predict(queries), forest.staged_predict(queries), strict=True)
    assert all(same(ours, theirs) for ours, theirs in stages)


@pytest.mark.parametrize("model", ["total", "subspace", "single targets"])
def test_a_loaded_forest_goes_on_growing_as_the_saved_one(model, tmp_path):
    forest, queries = fit("masked", warm_start=True, **MODELS[model])
    polyleaf.save(forest, tmp_path / "forest")
    features, targets, _ = naive.training_part("masked")
    for grown in (polyleaf.load(tmp_path / "forest"), forest):
        grown.set_params(n_estimators=5).fit(features, targets)
    loaded = polyleaf.load(tmp_path / "forest").set_params(n_estimators=5).fit(features, targets)
    assert same(loaded.predict(queries), forest.predict(queries))


@each_kind
def test_a_saved_member_comes_back(kind, tmp_path):
    forest, queries = fit(kind)
    member = forest.estimators_[1]
    polyleaf.save(member, tmp_path / "tree")
    loaded = polyleaf.load(tmp_path / "tree")
    assert same(loaded.predict(queries), member.predict(queries))
    assert tree_text(loaded) == tree_text(member)


def test_a_score_that_is_no_number_can_be_saved(tmp_path):
    forest = RandomForestRegressor(n_estimators=1, oob_score=True)
    with pytest.warns(UserWarning, match="is NaN"):
        forest.fit([[0.0]], [1.0])
    polyleaf.save(forest, tmp_path / "forest")
    assert np.isnan(polyleaf.load(tmp_path / "forest").oob_score_)


def test_what_a_file_cannot_hold_is_told_before_anything_is_written(tmp_path):
    features, targets, _ = naive.training_part("dense")
    forest = RandomForestRegressor(n_estimators=2, oob_score=lambda truth, guess: 1.0)
    forest.fit(features, targets)
    with pytest.raises(TypeError, match="as oob_score"):
        polyleaf.save(forest, tmp_path / "forest")
    assert not list(tmp_path.iterdir())


@each_kind
def test_pickles_and_clones(kind):
    forest, queries = fit(kind, projection=projections.Subsample(2))
    again = pickle.loads(pickle.dumps(forest))
    assert same(again.predict(queries), forest.predict(queries))
    assert same(next(again.staged_predict(queries)), next(forest.staged_predict(queries)))
    cloned = clone(forest)
    assert not hasattr(cloned, "n_features_in_")
    features, targets, weights = naive.training_part(kind)
    refitted = cloned.fit(features, targets, sample_weight=weights)
    assert same(refitted.predict(queries), forest.predict(queries))


def test_binned_data_gives_the_same_forest_and_predictions():
    features, targets, _ = naive.training_part("categorical")
    binned = BinnedData(features)
    plain = RandomForestRegressor(n_estimators=3, random_state=0).fit(features, targets)
    quick = RandomForestRegressor(n_estimators=3, random_state=0).fit(binned, targets)
    assert same(plain.predict(features), quick.predict(binned))
    assert same(plain.predict_quantiles(features, 0.5), quick.predict_quantiles(binned, 0.5))
    assert same(plain.predict_weights(features), quick.predict_weights(binned))


@pytest.mark.parametrize("library", [pd, pl])
def test_names_of_frames_are_kept_and_name_outputs(library):
    features, targets, _ = naive.training_part("dense")
    X = library.DataFrame({name: features[:, j] for j, name in enumerate("abcd")})
    Y = library.DataFrame({name: targets[:, j] for j, name in enumerate(["u", "v", "w", "x"])})
    forest = RandomForestRegressor(n_estimators=3, random_state=0).fit(X, Y)
    assert forest.feature_names_in_.tolist() == list("abcd")
    assert forest.output_names_.tolist() == ["u", "v", "w", "x"]
    assert same(forest.predict_weights(X, "w"), forest.predict_weights(X, 2))
    plain = RandomForestRegressor(n_estimators=3, random_state=0).fit(features, targets)
    assert same(forest.predict(X), plain.predict(features))
    assert forest.estimators_[0].output_names_.tolist() == ["u", "v", "w", "x"]


def test_forests_work_in_searches_and_cross_validation():
    features, targets, _ = naive.training_part("dense")
    labels = naive.labels_of(targets)
    scores = cross_val_score(ExtraTreesClassifier(n_estimators=3), features, labels, cv=3)
    assert np.isfinite(scores).all()
    search = GridSearchCV(
        RandomForestRegressor(n_estimators=3, projection=projections.Subsample()),
        {"projection__n_components": [1, 0.5]},
        cv=2,
    ).fit(features, targets)
    assert search.best_params_["projection__n_components"] in (1, 0.5)


def test_sparse_features_give_the_same_forest_as_dense_ones():
    features = np.round(np.nan_to_num(naive.training_part("dense")[0]))
    targets = naive.training_part("dense")[1]
    forest = RandomForestRegressor(n_estimators=3, random_state=0).fit(features, targets)
    other = RandomForestRegressor(n_estimators=3, random_state=0).fit(
        sparse.csr_array(features), targets
    )
    assert same(forest.predict(features), other.predict(sparse.csr_array(features)))
