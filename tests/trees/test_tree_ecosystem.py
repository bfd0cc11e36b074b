"""The trees inside scikit-learn's, joblib's and pickle's world."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polyleaf import TreeClassifier, TreeRegressor
from polyleaf.projections import Gaussian


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    Y = np.sin(2 * X[:, :3]) + 0.2 * rng.normal(size=(200, 3))
    return X, Y, (Y > 0.5).astype(int)


COPIES = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "joblib": lambda model, folder: joblib.load(joblib.dump(model, folder / "model.joblib")[0]),
    "joblib memory map": lambda model, folder: joblib.load(
        joblib.dump(model, folder / "model.joblib")[0], mmap_mode="r"
    ),
}


@pytest.mark.parametrize("kind", ["regression", "labels", "sparse labels"])
@pytest.mark.parametrize("name", COPIES)
def test_copies_predict_the_same(problem, tmp_path, name, kind):
    X, Y, labels = problem
    if kind == "regression":
        model = TreeRegressor(projection=Gaussian(2), random_state=0).fit(X, Y)
    else:
        given = sparse.csr_array(labels) if kind == "sparse labels" else labels
        model = TreeClassifier(random_state=0).fit(X, given)
    expected = model.predict(X)
    again = COPIES[name](model, tmp_path)
    assert again.get_params().keys() == model.get_params().keys()
    assert abs(again.predict(X) - expected).max() == 0
    assert np.array_equal(again.output_importances_, model.output_importances_)


def test_a_clone_has_the_parameters_and_not_the_fit(problem):
    X, Y, _ = problem
    tree = TreeRegressor(projection=Gaussian(n_components=2), max_depth=3).fit(X, Y)
    again = clone(tree)
    assert not hasattr(again, "_trees")
    assert again.projection is not tree.projection
    assert again.projection.n_components == 2
    assert repr(again) == repr(tree)
    assert again.get_params()["projection__n_components"] == 2
    again.set_params(projection__n_components=3, max_depth=4)
    assert (again.projection.n_components, again.max_depth) == (3, 4)


def test_repr_shows_what_differs_from_the_default():
    assert repr(TreeRegressor(max_depth=3)) == "TreeRegressor(max_depth=3)"
    assert repr(TreeClassifier()) == "TreeClassifier()"


def test_grid_search_over_many_targets(problem):
    X, Y, _ = problem
    grid = {"max_depth": [1, 6], "projection": [None, "gaussian", Gaussian(2)]}
    search = GridSearchCV(TreeRegressor(random_state=0), grid, cv=3).fit(X, Y)
    assert search.best_params_["max_depth"] == 6
    assert search.best_score_ > 0.3
    assert search.predict(X).shape == Y.shape


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "f1_samples"])
@pytest.mark.filterwarnings("ignore:F-score is ill-defined")
def test_cross_validation_of_labels(problem, scoring):
    X, _, labels = problem
    scores = cross_val_score(TreeClassifier(random_state=0), X, labels, cv=3, scoring=scoring)
    assert scores.mean() > 0.4


@pytest.mark.filterwarnings("ignore:Recall is ill-defined")
def test_sparse_labels_are_scored(problem):
    X, _, labels = problem
    tree = TreeClassifier(random_state=0).fit(X, sparse.csr_array(labels))
    assert tree.score(X, sparse.csr_array(labels)) == 1.0


def test_cross_val_predict_gives_probabilities_of_classes(problem):
    X, Y, _ = problem
    y = np.where(Y[:, 0] > 0, "high", "low")
    proba = cross_val_predict(TreeClassifier(max_depth=3), X, y, cv=3, method="predict_proba")
    assert proba.shape == (200, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_pipelines_pass_columns_through(problem):
    X, Y, _ = problem
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "x", "y"))
    scale = ColumnTransformer(
        [("scale", StandardScaler(), list("abcde"))],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = make_pipeline(scale, TreeRegressor(random_state=0)).fit(frame, Y)
    np.testing.assert_allclose(model.predict(frame), Y)
    tree = model[-1]
    assert tree.feature_names_in_.tolist() == [*"abcde", "kind"]
    assert tree._features.is_categorical.tolist() == [False] * 5 + [True]


def test_predictions_from_several_threads_are_the_same(problem):
    X, Y, labels = problem
    models = [
        TreeRegressor(random_state=0, n_jobs=2).fit(X, Y),
        TreeClassifier(random_state=0, n_jobs=2).fit(X, sparse.csr_array(labels)),
    ]
    for model in models:
        expected = clone(model).fit(X, Y if model is models[0] else sparse.csr_array(labels))
        expected = expected.predict(X)
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _, model=model: model.predict(X), range(32)))
        assert all(abs(result - expected).max() == 0 for result in results)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_fits_in_parallel_jobs_are_the_same(problem, backend):
    X, Y, _ = problem
    expected = [TreeRegressor(random_state=s, max_features=2).fit(X, Y) for s in range(6)]
    fitted = joblib.Parallel(n_jobs=2, backend=backend, max_nbytes=1)(
        joblib.delayed(TreeRegressor(random_state=s, max_features=2).fit)(X, Y) for s in range(6)
    )
    for one, other in zip(expected, fitted):
        assert np.array_equal(one.predict(X), other.predict(X))


def test_memory_mapped_data_is_taken(problem, tmp_path):
    X, Y, _ = problem
    joblib.dump((X, Y), tmp_path / "data.joblib")
    mapped_X, mapped_Y = joblib.load(tmp_path / "data.joblib", mmap_mode="r")
    assert isinstance(mapped_X, np.memmap)
    expected = TreeRegressor(random_state=0).fit(X, Y).predict(X)
    tree = TreeRegressor(random_state=0).fit(mapped_X, mapped_Y)
    assert np.array_equal(tree.predict(mapped_X), expected)


@pytest.mark.parametrize(
    "state", [np.random.RandomState(3), np.random.default_rng(3), np.int64(3), None]
)
def test_any_source_of_chance_is_taken(problem, state):
    X, Y, _ = problem
    tree = TreeRegressor(splitter="random", random_state=state).fit(X, Y)
    np.testing.assert_allclose(tree.predict(X), Y)
