"""The outputs that each tree of a forest saw."""

import numpy as np

from polyleaf import RandomForestClassifier, RandomForestRegressor, load, projections, save

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 6))


def test_a_sub_sample_of_the_outputs_is_told_tree_by_tree(tmp_path):
    view = projections.Subsample(2)
    forest = RandomForestRegressor(n_estimators=8, projection=view, random_state=0).fit(X, Y)
    assert forest.tree_outputs_.shape == (8, 6)
    assert forest.tree_outputs_.sum(axis=1).tolist() == [6] + [2] * 7  # the first tree sees all
    assert len(np.unique(forest.tree_outputs_, axis=0)) > 1
    save(forest, tmp_path / "forest.polyleaf")
    loaded = load(tmp_path / "forest.polyleaf")
    np.testing.assert_array_equal(loaded.tree_outputs_, forest.tree_outputs_)


def test_without_a_view_all_outputs_are_seen_and_classes_count_as_one():
    assert RandomForestRegressor(n_estimators=2, projection=None).fit(X, Y).tree_outputs_.all()
    classes = np.digitize(Y[:, :2], [-0.5, 0.5])
    view = projections.Subsample(1)
    forest = RandomForestClassifier(n_estimators=5, projection=view, random_state=0)
    assert forest.fit(X, classes).tree_outputs_.sum(axis=1).tolist() == [2, 1, 1, 1, 1]
