"""Columns of hundreds of categories: noise costs nothing, and what matters is learnt."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

import polyleaf

N_LEVELS = 200
BOOSTED = (polyleaf.BoostingRegressor, {"n_estimators": 60, "max_depth": 4, "projection": None})
FOREST = (polyleaf.RandomForestRegressor, {"n_estimators": 30})
BAGGED = (polyleaf.BaggedTreesRegressor, {"n_estimators": 30})


def problem(n_outputs, n_columns, effect=0.0):
    """Three numbers and columns of categories, of which the first may shift the targets."""
    rng = np.random.default_rng(0)
    numbers = rng.random((1500, 3))
    signal = np.sin(4 * numbers) @ rng.normal(size=(3, n_outputs))
    levels = rng.integers(0, N_LEVELS, (1500, n_columns))
    if effect:
        signal = signal + effect * rng.normal(size=(N_LEVELS, n_outputs))[levels[:, 0]]
    Y = signal + 0.5 * rng.normal(size=signal.shape)
    X = pd.DataFrame(numbers, columns=["a", "b", "c"])
    for i in range(n_columns):
        X[f"level{i}"] = pd.Categorical(levels[:, i])
    return X, Y


def score(model, n_outputs, n_columns, effect=0.0, are_numbers=False, **settings):
    X, Y = problem(n_outputs, n_columns, effect)
    if are_numbers:
        noise = np.random.default_rng(5).random((len(X), n_columns))
        X = X.assign(**{f"level{i}": noise[:, i] for i in range(n_columns)})
    cls, own = model
    fitted = cls(random_state=0, **own, **settings).fit(X[:600], Y[:600])
    return r2_score(Y[600:], fitted.predict(X[600:]))


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("model", [BOOSTED, FOREST, BAGGED], ids=["boosting", "forest", "bagging"])
def test_categories_that_are_noise_cost_no_more_than_numbers_that_are_noise(model, n_outputs):
    with_noise = score(model, n_outputs, 2)
    assert with_noise > score(model, n_outputs, 2, are_numbers=True) - 0.01
    assert with_noise > score(model, n_outputs, 2, category_penalty=0.0) + 0.05


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_many_categories_that_matter_are_learnt(n_outputs):
    learnt = score(BOOSTED, n_outputs, 2, effect=2.0)
    X, Y = problem(n_outputs, 2, effect=2.0)
    model = BOOSTED[0](random_state=0, **BOOSTED[1]).fit(X.iloc[:600, :3], Y[:600])
    without = r2_score(Y[600:], model.predict(X.iloc[600:, :3]))
    assert learnt > without + 0.2


def test_without_a_penalty_a_tree_splits_any_categories():
    X, Y = problem(3, 2)
    X = X[["level0"]]
    plain = polyleaf.TreeRegressor(category_penalty=0.0, max_depth=1, random_state=0).fit(X, Y)
    guarded = polyleaf.TreeRegressor(max_depth=1, random_state=0).fit(X, Y)
    assert plain.get_n_leaves() == 2
    assert guarded.get_n_leaves() == 1


def test_gains_are_what_the_impurity_falls_by_with_a_penalty_too():
    X, Y = problem(3, 1, effect=2.0)
    tree = polyleaf.TreeRegressor(max_depth=3, random_state=0).fit(X, Y)
    structure = tree._trees.structure
    for node in np.flatnonzero(~structure.is_leaf):
        children = structure.impurity[[node + 1, structure.right[node]]].sum()
        assert np.isclose(structure.impurity[node] - children, structure.gain[node], rtol=1e-4)


def test_models_from_before_the_penalty_were_grown_without_it():
    assert polyleaf.TreeRegressor._declared["category_penalty"].added.before == 0.0
