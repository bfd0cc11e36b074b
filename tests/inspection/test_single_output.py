"""One output of a model is what scikit-learn's tools for one output take it for."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.inspection import PartialDependenceDisplay

import polyleaf
from polyleaf.inspection import partial_dependence, single_output

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(150, 3)), columns=list("abc"))
NUMBERS = np.column_stack([X["a"], X["b"] * X["c"], X["c"]])
LABELS = pd.DataFrame((NUMBERS > 0).astype(int), columns=["one", "two", "three"])
CLASSES = np.array(["low", "mid", "high"], dtype=object)[np.digitize(NUMBERS, [-0.4, 0.4])]


def drawn(model, feature, **given):
    shown = PartialDependenceDisplay.from_estimator(model, X, [feature], **given)
    return shown.lines_[0, 0].get_ydata()


@pytest.mark.parametrize("family", ["RandomForest", "Boosting", "Rule"])
@pytest.mark.parametrize("output", [0, 2])
def test_sklearn_draws_the_curve_of_the_label_that_was_asked_for(family, output):
    model = getattr(polyleaf, f"{family}Classifier")(random_state=0).fit(X, LABELS)
    name = LABELS.columns[output]
    expected = partial_dependence(model, X, "c", outputs=name).average[0]
    for asked in (output, name):
        found = drawn(single_output(model, asked), "c")
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_sklearn_draws_every_class_of_several_class_outputs():
    model = polyleaf.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, CLASSES)
    one = single_output(model, 1)
    assert one.classes_.tolist() == ["high", "low", "mid"]
    expected = partial_dependence(model, X, "b", outputs=1).average
    for place, name in enumerate(one.classes_):
        np.testing.assert_allclose(drawn(one, "b", target=name), expected[place], atol=1e-6)


def test_a_target_is_a_regressor_of_one_output():
    model = polyleaf.TreeRegressor(max_depth=3).fit(X, NUMBERS)
    one = single_output(model, -1)
    assert is_regressor(one)
    assert not hasattr(one, "predict_proba")
    np.testing.assert_array_equal(one.predict(X), model.predict(X)[:, 2])
    assert one.score(X, NUMBERS[:, 2]) > 0.5
    expected = partial_dependence(model, X, "c", outputs=2).average[0]
    np.testing.assert_allclose(drawn(one, "c"), expected, atol=1e-9)


def test_sparse_labels_and_one_output_are_read_alike():
    forest = polyleaf.RandomForestClassifier(n_estimators=5, random_state=0)
    thin = single_output(forest.fit(X, sparse.csr_array(LABELS.to_numpy())), 1)
    expected = forest.predict_proba(X).toarray()[:, 1]
    np.testing.assert_array_equal(thin.predict_proba(X)[:, 1], expected)
    np.testing.assert_array_equal(thin.predict(X), forest.predict(X).toarray()[:, 1])
    alone = polyleaf.BoostingClassifier(n_estimators=3).fit(X, CLASSES[:, 0])
    one = single_output(alone, 0)
    np.testing.assert_array_equal(one.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(one.predict(X), alone.predict(X))


def test_mixed_models_have_numbers_classes_and_labels():
    Y = pd.DataFrame({"size": NUMBERS[:, 0], "kind": CLASSES[:, 1], "sold": NUMBERS[:, 2] > 0})
    model = polyleaf.RandomForestMixed(n_estimators=5, random_state=0).fit(X, Y)
    assert is_regressor(single_output(model, "size"))
    kind, sold = single_output(model, "kind"), single_output(model, "sold")
    assert is_classifier(kind)
    assert kind.predict_proba(X).shape == (150, 3)
    assert sold.predict_proba(X).shape == (150, 2)
    assert set(sold.predict(X)) <= set(sold.classes_.tolist())
    expected = partial_dependence(model, X, "c", outputs="sold").average[0]
    np.testing.assert_allclose(drawn(sold, "c"), expected, atol=1e-6)


def test_what_cannot_be_read_is_refused():
    from sklearn.tree import DecisionTreeRegressor

    model = polyleaf.TreeRegressor().fit(X, NUMBERS)
    with pytest.raises(ValueError, match="Did you mean 'y1'"):
        single_output(model, "y11")
    for wrong in (3, -4, 1.0, True):
        with pytest.raises(ValueError, match="below 3"):
            single_output(model, wrong)
    with pytest.raises(TypeError, match="got DecisionTreeRegressor"):
        single_output(DecisionTreeRegressor().fit(X, NUMBERS), 0)
    with pytest.raises(TypeError, match="fit that"):
        single_output(model, 0).fit(X, NUMBERS[:, 0])
