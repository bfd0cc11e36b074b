"""Boosted trees one by one, and importances per output."""

import numpy as np
import pytest

import polyleaf
from polyleaf.inspection import output_importances, plot_output_importances, plot_tree, tree_text
from polyleaf.trees.additive import ChannelChoice

MODELS = {
    "all outputs": {},
    "gaussian": {"projection": "gaussian"},
    "linear": {"leaf_fit": "linear"},
    "round robin": {"projection": "round_robin"},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    known = np.nan_to_num(X)
    return X, np.column_stack([known[:, 0] * 50, known[:, 1], known[:, 0] + known[:, 2]])


def fitted(data, **given):
    return polyleaf.BoostingRegressor(
        n_estimators=9, early_stopping=False, random_state=0, **given
    ).fit(*data)


@pytest.mark.parametrize("name", MODELS)
def test_trees_add_up_to_the_model(name, data):
    model = fitted(data, **MODELS[name])
    added = sum(tree.predict(data[0]) for tree in model.estimators_)
    np.testing.assert_allclose(
        model._additive().base + added, model.predict(data[0]), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("name", MODELS)
def test_importances_find_the_features_of_each_output(name, data):
    model = fitted(data, **MODELS[name])
    shares = output_importances(model)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.to_numpy().argmax(axis=1)[0] == 0
    if name in ("all outputs", "round robin"):
        assert shares.to_numpy().argmax(axis=1)[1] == 1
    by_tree = sum(tree._trees.channel_gains() for tree in model.estimators_)
    expected = by_tree / by_tree.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares.to_numpy(), expected, atol=1e-6)
    assert plot_output_importances(model) is not None


def test_gains_of_a_sum_equal_those_of_its_tree(data):
    tree = polyleaf.TreeRegressor(max_depth=5, random_state=0).fit(*data)
    trees = tree._additive()
    np.testing.assert_allclose(
        trees.feature_gains(ChannelChoice.all_of(trees.n_channels)),
        tree._trees.channel_gains(),
        rtol=1e-9,
    )


def test_trees_can_be_read_and_drawn(data):
    model = fitted(data)
    text = tree_text(model.estimators_[0])
    assert "x0" in text
    assert "y0" in text
    assert plot_tree(model.estimators_[-1]) is not None
    assert len(model.estimators_) == 9
    assert model.estimators_[0]._trees.structure.n_samples[0] == 200
    with pytest.raises(IndexError, match="9 trees"):
        model.estimators_[9]
    with pytest.raises(TypeError, match="Take one of its estimators_"):
        tree_text(model)


def test_trees_of_classes_name_every_class(data):
    y = np.digitize(np.nan_to_num(data[0][:, 0]), [-0.5, 0.5])
    model = polyleaf.BoostingClassifier(n_estimators=2, early_stopping=False).fit(
        data[0], np.array(["low", "mid", "high"])[y]
    )
    assert model.estimators_[0].output_names_.tolist() == ["high", "low", "mid"]
    assert model.output_importances_.shape == (1, 5)


def test_outputs_of_trees_are_those_that_they_saw(data, tmp_path):
    assert fitted(data).tree_outputs_.all()
    assert fitted(data, projection="gaussian").tree_outputs_.all()
    alone = fitted(data, projection="round_robin").tree_outputs_
    assert alone.sum(axis=1).tolist() == [1] * len(alone)
    assert alone.any(axis=0).all()
    pairs = polyleaf.projections.Subsample(n_components=2)
    model = fitted(data, projection=pairs)
    seen = model.tree_outputs_
    assert seen.sum(axis=1).tolist() == [2] * 9
    assert len(np.unique(seen, axis=0)) > 1
    polyleaf.save(model, tmp_path / "model.polyleaf")
    again = polyleaf.load(tmp_path / "model.polyleaf")
    np.testing.assert_array_equal(again.tree_outputs_, seen)


def test_a_warm_start_keeps_what_earlier_trees_saw(data):
    pairs = polyleaf.projections.Subsample(n_components=2)
    model = fitted(data, projection=pairs, warm_start=True)
    first = model.tree_outputs_
    model.set_params(n_estimators=12).fit(*data)
    np.testing.assert_array_equal(model.tree_outputs_[:9], first)
    assert model.tree_outputs_.shape == (12, 3)


def test_a_linear_fit_tells_its_factors_and_its_view(data):
    one = polyleaf.projections.Subsample(n_components=1)
    model = fitted(data, projection=one, leaf_fit="linear", normalize_outputs=False)
    assert model.tree_outputs_.sum(axis=1).tolist() == [1] * 9
    assert model.rho_.shape == (9, 3)
    # Algorithm 3: each tree moves outputs along one direction.
    for rho, tree in zip(model.rho_, model.estimators_):
        moves = tree.predict(data[0])
        along = moves @ rho / (rho @ rho)
        np.testing.assert_allclose(moves, along[:, None] * rho, atol=1e-5 * np.abs(moves).max())


def test_other_estimators_have_no_trees(data):
    from sklearn.linear_model import Ridge

    known = np.nan_to_num(data[0])
    model = polyleaf.BoostingRegressor(n_estimators=2, estimator=Ridge()).fit(known, data[1])
    for name in ("output_importances_", "estimators_", "tree_outputs_"):
        with pytest.raises(AttributeError, match="boosts Ridge"):
            getattr(model, name)
