import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted

from polyleaf import TreeRegressor, projections
from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.experiments import Method, compare
from polyleaf.experiments._best import choices, described
from polyleaf.metrics import METRICS

X, Y = make_correlated_targets(150, 5, 3, random_state=0)
LABELS = make_multilabel(150, 5, 4, random_state=0)


@pytest.fixture(scope="module")
def result():
    methods = {
        "Mean": "Mean",
        "deep": {"method": "Tree", "max_depth": [1, 6], "min_samples_leaf": 2},
    }
    numbers = pd.DataFrame(X, columns=list("abcde")), pd.DataFrame(Y, columns=["u", "v", "w"])
    data = {"numbers": numbers, "labels": LABELS}
    return compare(data, methods=methods, metrics=["r2", "hamming_loss"], cv=3)


def test_the_best_estimator_is_the_best_method_trained_on_all_rows(result):
    model = result.best_estimator("numbers")
    own = TreeRegressor(max_depth=6, min_samples_leaf=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X, columns=list("abcde"))),
                                  own.predict(X))  # fmt: skip
    assert list(model.feature_names_in_) == list("abcde")
    assert list(model.output_names_) == ["u", "v", "w"]


def test_without_refit_it_is_not_fitted(result):
    model = result.best_estimator("numbers", refit=False)
    assert model.get_params()["max_depth"] == 6
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(model)


def test_the_best_settings_are_a_configuration_of_compare(result):
    best = result.best_settings
    assert set(best) == {"numbers", "labels"}
    assert best["numbers"] == {
        "method": "Tree",
        "name": "deep",
        "max_depth": 6,
        "min_samples_leaf": 2,
    }
    again = compare(X, Y, methods=[best["numbers"]], metrics=["r2"], cv=2)
    assert again.best_settings == {"data": best["numbers"]}


def test_the_settings_of_most_folds_are_taken():
    result = compare(X, Y, methods=["Tree"], metrics=["r2"], cv=3)
    for row, leaf in zip(result.rows, (5, 20, 20)):
        row["settings"] = {"min_samples_leaf": leaf}
    assert result.best_settings["data"]["min_samples_leaf"] == 20
    for row, leaf, score in zip(result.rows, (1, 5, 20), (0.1, 0.3, 0.2)):
        row["settings"], row["scores"] = {"min_samples_leaf": leaf}, {"r2": score}
    assert result.best_settings["data"]["min_samples_leaf"] == 5


def test_settings_that_are_no_numbers_come_back_as_they_were():
    wide = projections.Subsample(2)
    space = {"projection": (wide, projections.Identity())}
    method = Method("T", lambda problem, seed: TreeRegressor(random_state=seed), ("regression",),
                    space)  # fmt: skip
    result = compare(X, Y, methods=[method], metrics=["r2"], cv=2)
    assert result.best_settings["data"]["projection"] in space["projection"]
    [choice] = choices(result, result.problems[0], METRICS["r2"])
    assert described(choice, 0)["estimator"] is None  # JSON cannot hold it
    assert json.loads(json.dumps(described(choice, 0)))["method"] == "T"


def test_a_choice_is_described_by_its_estimator(result):
    problem = result.problems[0]
    first, second = choices(result, problem, METRICS["r2"])
    told = described(first, 0)
    assert told["estimator"] == "TreeRegressor"
    assert told["parameters"] == {"max_depth": 6, "min_samples_leaf": 2}
    assert described(second, 0)["estimator"] is None  # a pipeline of scikit-learn


def test_methods_of_anyone_can_be_the_best():
    result = compare(X, X[:, :2] * 3.0, methods={"mine": Ridge(1e-6), "Tree": "Tree"}, cv=2)
    model = result.best_estimator()
    assert isinstance(model, Ridge)
    np.testing.assert_allclose(model.predict(X), X[:, :2] * 3.0, atol=1e-4)
    assert not hasattr(model, "feature_names_in_")  # arrays have none


def test_a_data_set_must_be_named_if_there_are_several(result):
    with pytest.raises(ValueError, match="dataset must be one of 'numbers', 'labels'; got None"):
        result.best_estimator()
    with pytest.raises(ValueError, match="metric must be one of 'hamming_loss'; got 'r2'"):
        result.best_estimator("labels", metric="r2")
