"""Shapley values: equal to their definition, additive, and the same for any number of threads."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.inspection.shap_reference import brute_force, brute_force_pairs

import polyleaf
from polyleaf import _core
from polyleaf.inspection import shap_interactions, shap_values

N_ROWS = 120


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 5)).round(1), columns=list("abcde"))
    X = X.mask(rng.random(X.shape) < 0.1)
    X["kind"] = rng.choice(list("uvwxyz"), N_ROWS)
    return X


@pytest.fixture(scope="module")
def numbers(frame):
    known = frame.drop(columns="kind").fillna(0.0).to_numpy()
    is_special = frame["kind"].isin(["u", "x"]).to_numpy()
    return np.column_stack(
        [
            known[:, 0] * known[:, 1] + 2.0 * is_special,
            known[:, 2] - known[:, 0] * is_special,
            100.0 + known[:, 3],
        ]
    )


@pytest.fixture(scope="module")
def labels(numbers):
    return (numbers > np.median(numbers, axis=0)).astype(int)


WEIGHTS = np.random.default_rng(1).integers(1, 4, N_ROWS).astype(float)
REGRESSORS = {
    "shallow tree": polyleaf.TreeRegressor(max_depth=3, random_state=0),
    "deep tree": polyleaf.TreeRegressor(random_state=0),
    "projected tree": polyleaf.TreeRegressor(max_depth=4, projection="gaussian", random_state=0),
    "forest": polyleaf.RandomForestRegressor(n_estimators=3, random_state=0),
    "subspace": polyleaf.RandomForestRegressor(
        n_estimators=4, projection="subsample", aggregation="subspace", random_state=0
    ),
    "out of bag": polyleaf.RandomForestRegressor(
        n_estimators=4, projection="subsample", aggregation="oob", random_state=0
    ),
    "extra trees": polyleaf.ExtraTreesRegressor(n_estimators=2, max_depth=5, random_state=0),
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
    "monotone": polyleaf.BoostingRegressor(
        n_estimators=4, monotonic_cst={"a": 1}, early_stopping=False, random_state=0
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_equal_their_definition(name, frame, numbers):
    model = REGRESSORS[name].fit(frame, numbers, sample_weight=WEIGHTS)
    few = frame[:3]
    expected = brute_force(model, few)
    scale = np.abs(expected).max()
    # Few rows are walked; many look up tables where trees are shallow.
    np.testing.assert_allclose(shap_values(model, few).values, expected, atol=2e-6 * scale)
    np.testing.assert_allclose(shap_values(model, frame).values[:3], expected, atol=2e-6 * scale)


CLASSIFIERS = {
    "tree": polyleaf.TreeClassifier(max_depth=4, random_state=0),
    "forest": polyleaf.RandomForestClassifier(n_estimators=3, random_state=0),
    "subspace": polyleaf.RandomForestClassifier(
        n_estimators=4, projection="subsample", aggregation="subspace", random_state=0
    ),
    "out of bag": polyleaf.RandomForestClassifier(
        n_estimators=4, projection="subsample", aggregation="oob", random_state=0
    ),
    "boosting": polyleaf.BoostingClassifier(n_estimators=4, early_stopping=False, random_state=0),
    "linear": polyleaf.BoostingClassifier(
        n_estimators=4, leaf_fit="linear", early_stopping=False, random_state=0
    ),
    "round robin": polyleaf.BoostingClassifier(
        n_estimators=4, projection="round_robin", early_stopping=False, random_state=0
    ),
    "rules": polyleaf.RuleClassifier(n_rules=20, random_state=0),
}


@pytest.mark.parametrize("kind", ["labels", "sparse labels", "classes"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_values_of_classifiers_equal_their_definition(name, kind, frame, numbers, labels):
    thirds = np.digitize(numbers[:, 0], [-0.5, 1.0])
    Y = {
        "labels": labels,
        "sparse labels": sparse.csr_array(labels),
        "classes": np.array(["low", "middle", "high"])[np.column_stack([thirds, labels[:, 2]])],
    }[kind]
    model = CLASSIFIERS[name].fit(frame, Y, sample_weight=WEIGHTS)
    few = frame[:2]
    expected = brute_force(model, few)
    np.testing.assert_allclose(shap_values(model, few).values, expected, atol=1e-5)
    np.testing.assert_allclose(shap_values(model, frame).values[:2], expected, atol=1e-5)


@pytest.mark.parametrize("name", REGRESSORS)
def test_interventional_values_equal_their_definition(name, frame, numbers):
    model = REGRESSORS[name].fit(frame, numbers)
    few, background = frame[:2], frame[50:57]
    found = shap_values(model, few, background=background)
    np.testing.assert_allclose(found.values, brute_force(model, few, background), atol=1e-5)
    expected = model.predict(background).mean(axis=0)
    np.testing.assert_allclose(found.base_values, expected, rtol=1e-6)


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_of_numbers_add_up_to_the_prediction(name, frame, numbers):
    model = REGRESSORS[name].fit(frame, numbers)
    for background in (None, frame[::10]):
        found = shap_values(model, frame, background=background)
        total = found.base_values + found.values.sum(axis=1, dtype=float)
        np.testing.assert_allclose(total, model.predict(frame), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (polyleaf.TreeClassifier(max_depth=4, random_state=0), "predict_proba"),
        (polyleaf.RandomForestClassifier(n_estimators=5, random_state=0), "predict_proba"),
        (
            polyleaf.BoostingClassifier(n_estimators=5, early_stopping=False, random_state=0),
            "decision_function",
        ),
        (polyleaf.RuleClassifier(n_rules=30, random_state=0), "decision_function"),
    ],
    ids=["tree", "forest", "boosting", "rules"],
)
def test_values_of_labels_add_up_to_probabilities_or_scores(model, method, frame, labels):
    for Y in (labels, sparse.csr_array(labels)):
        model.fit(frame, Y)
        found = shap_values(model, frame)
        expected = getattr(model, method)(frame)
        expected = expected.toarray() if sparse.issparse(expected) else expected
        total = found.base_values + found.values.sum(axis=1, dtype=float)
        np.testing.assert_allclose(total, expected, atol=1e-5)


def test_every_class_of_a_class_output_has_a_channel(frame, numbers):
    classes = np.array(["low", "middle", "high"])[np.digitize(numbers[:, 0], [-0.5, 1.0])]
    model = polyleaf.RandomForestClassifier(n_estimators=5, random_state=0).fit(frame, classes)
    found = shap_values(model, frame)
    assert found.output_names == ["high", "low", "middle"]
    total = found.base_values + found.values.sum(axis=1, dtype=float)
    np.testing.assert_allclose(total, model.predict_proba(frame), atol=1e-5)
    two = np.column_stack([classes, classes[::-1]])
    model.fit(frame, pd.DataFrame(two, columns=["size", "other"]))
    found = shap_values(model, frame, outputs="size")
    assert found.output_names == ["size=high", "size=low", "size=middle"]
    assert found.outputs.tolist() == [0, 1, 2]


def test_unobserved_outputs_are_explained_by_what_was_observed(frame, numbers):
    Y = numbers.copy()
    Y[::3, 0] = np.nan
    Y[:, 2] = np.nan
    model = polyleaf.RandomForestRegressor(n_estimators=3, random_state=0)
    with pytest.warns(UserWarning, match="never observed|observed"):
        model.fit(frame, Y)
    found = shap_values(model, frame)
    total = found.base_values + found.values.sum(axis=1, dtype=float)
    np.testing.assert_allclose(total, model.predict(frame), atol=1e-5)
    assert np.isnan(found.values[:, :, 2]).all()


def test_sparse_features_are_explained_as_dense_ones(labels):
    rng = np.random.default_rng(0)
    X = sparse.random_array((N_ROWS, 30), density=0.2, rng=rng, format="csr")
    model = polyleaf.RandomForestClassifier(n_estimators=4, random_state=0).fit(X, labels)
    found, dense = shap_values(model, X), shap_values(model, X.toarray())
    np.testing.assert_array_equal(found.values, dense.values)
    assert found.data is None


@pytest.mark.parametrize("name", REGRESSORS)
def test_interactions_equal_their_definition(name, frame, numbers):
    model = REGRESSORS[name].fit(frame, numbers)
    pairs = [(0, 1), (0, 5), (2, 3)]
    expected = brute_force_pairs(model, frame[:3], pairs)
    found = shap_interactions(model, frame[:3], [("a", "b"), (0, "kind"), (2, 3)])
    np.testing.assert_allclose(found, expected, atol=1e-5)


# Axioms ------------------------------------------------------------------------------------------


def test_a_feature_without_splits_adds_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    X[:, 2] = 1.0
    model = polyleaf.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X[:, :2])
    for background in (None, X[:10]):
        assert not shap_values(model, X, background=background).values[:, 2].any()


def test_features_that_do_the_same_get_the_same_value():
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    model = polyleaf.TreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    found = shap_values(model, X, background=X).values[:, :, 0]
    np.testing.assert_allclose(found[3], found[3][::-1], atol=1e-7)
    np.testing.assert_allclose(found[1], found[2][::-1], atol=1e-7)


def test_values_are_linear_in_the_outputs(frame, numbers):
    model = polyleaf.RandomForestRegressor(n_estimators=3, random_state=0).fit(frame, numbers)
    alone = shap_values(model, frame)
    group = shap_values(model, frame, outputs={"both": ["y0", 2], "last": [2]})
    assert group.output_names == ["both", "last"]
    assert group.outputs.tolist() == [-1, 2]
    expected = alone.values[:, :, 0] + alone.values[:, :, 2]
    np.testing.assert_allclose(group.values[:, :, 0], expected, atol=2e-5)
    difference = alone.difference("y0", 1)
    assert difference.output_names == ["y0 rather than y1"]
    np.testing.assert_array_equal(
        difference.values[:, :, 0], alone.values[:, :, 0] - alone.values[:, :, 1]
    )


# Ways to ask -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shallow tree", "deep tree", "relabel"])
def test_one_thread_equals_many(name, frame, numbers):
    model = REGRESSORS[name].fit(frame, numbers)
    for background in (None, frame[:9]):
        one, many = (
            shap_values(model, frame, background=background, n_jobs=n).values for n in (1, 3)
        )
        np.testing.assert_array_equal(one, many)


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_instruction_sets_agree(isa, frame, numbers):
    before = _core.instruction_set()
    model = REGRESSORS["deep tree"].fit(frame, numbers)
    expected = shap_values(model, frame[:5]).values
    try:
        if not _core.use_instruction_set(isa):
            pytest.skip(f"this processor has no {isa}")
        np.testing.assert_allclose(shap_values(model, frame[:5]).values, expected, atol=1e-4)
    finally:
        _core.use_instruction_set(before)


def test_mean_sizes_are_those_of_all_rows(frame, numbers):
    model = REGRESSORS["relabel"].fit(frame, numbers)
    every, reduced = shap_values(model, frame), shap_values(model, frame, reduce="mean_abs")
    np.testing.assert_allclose(reduced.values, np.abs(every.values).mean(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(reduced.base_values, every.base_values)


@pytest.mark.parametrize("n_few", [3, N_ROWS])
def test_top_outputs_are_those_with_the_highest_predictions(n_few, frame, labels):
    model = polyleaf.RandomForestClassifier(n_estimators=5, random_state=0).fit(frame, labels)
    rows = frame[:n_few]
    top, every = shap_values(model, rows, top_outputs=2), shap_values(model, rows)
    best = np.argsort(-model.predict_proba(rows), axis=1, kind="stable")[:, :2]
    np.testing.assert_array_equal(top.outputs, best)
    np.testing.assert_allclose(top.base_values, every.base_values[best])
    expected = np.take_along_axis(every.values, best[:, None, :], axis=2)
    np.testing.assert_allclose(top.values, expected, atol=1e-6)


def test_top_outputs_may_be_groups(frame, numbers):
    model = polyleaf.RandomForestRegressor(n_estimators=3, random_state=0).fit(frame, numbers)
    groups = {"first": [0], "both": [0, 1], "all": [0, 1, 2]}
    top, every = (shap_values(model, frame, outputs=groups, top_outputs=n) for n in (2, None))
    assert top.output_names == ["y0", "y1", "y2", "first", "both", "all"]
    scores = every.base_values + every.values.sum(axis=1)
    told = np.array(top.output_names)[top.outputs]
    best = np.vectorize(every.output_names.index)(told)
    chosen = np.take_along_axis(scores, best, axis=1)
    np.testing.assert_allclose(chosen, -np.sort(-scores, axis=1)[:, :2], atol=1e-4)
    np.testing.assert_allclose(top.base_values, every.base_values[best])
    expected = np.take_along_axis(every.values, best[:, None, :], axis=2)
    np.testing.assert_allclose(top.values, expected, atol=1e-5)


def test_values_know_the_names_of_categories(frame, numbers):
    model = REGRESSORS["shallow tree"]
    found = shap_values(model.fit(frame, numbers), frame)
    for told in (found, found.difference(0, 1), shap_values(model, frame, top_outputs=1)):
        codes = told.data[:, 5].astype(int)
        np.testing.assert_array_equal(told.categories[5][codes], frame["kind"])
        assert list(told.categories) == [5]
    X = frame.assign(kind=pd.Categorical(frame["kind"], categories=list("zyxwvu"), ordered=True))
    found = shap_values(model.fit(X, numbers), X)
    assert not found.categories
    assert found.levels[5].tolist() == list("zyxwvu")


def test_a_saved_model_is_explained_alike(frame, numbers, tmp_path):
    for name in ("forest", "relabel", "rules"):
        model = REGRESSORS[name].fit(frame, numbers)
        polyleaf.save(model, tmp_path / "model.polyleaf")
        again = polyleaf.load(tmp_path / "model.polyleaf")
        np.testing.assert_array_equal(
            shap_values(again, frame).values, shap_values(model, frame).values
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outputs": "y00"}, "Did you mean 'y"),
        ({"outputs": 3}, "must be below 3"),
        ({"outputs": []}, "at least one output"),
        ({"outputs": [[0, 0]]}, "each of its outputs once"),
        ({"outputs": [1.5]}, "names or numbers"),
        ({"top_outputs": 0}, "positive whole number"),
        ({"reduce": "mean"}, "'mean_abs'"),
        ({"reduce": "mean_abs", "top_outputs": 1}, "leave out reduce"),
        ({"background": np.zeros((0, 6))}, "at least one row|0 sample|rows"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments, message, frame, numbers):
    model = REGRESSORS["shallow tree"].fit(frame, numbers)
    with pytest.raises((ValueError, TypeError), match=message):
        shap_values(model, frame, **arguments)


def test_models_without_trees_are_refused(frame, labels):
    from sklearn.linear_model import Ridge

    X = frame.drop(columns="kind").fillna(0.0)
    boosted = polyleaf.BoostingRegressor(n_estimators=2, estimator=Ridge(), projection=None)
    with pytest.raises(AttributeError, match="boosted trees"):
        shap_values(boosted.fit(X, labels), X)
    with pytest.raises(TypeError, match="fitted tree"):
        shap_values(polyleaf.GraphClassifier().fit(X, labels), X)


def test_pairs_must_be_two_features(frame, numbers):
    model = REGRESSORS["shallow tree"].fit(frame, numbers)
    for pairs in ([(0, 0)], [(0, 9)], [("a",)], [], [("a", "nothing")]):
        with pytest.raises(ValueError, match="pair"):
            shap_interactions(model, frame, pairs)
