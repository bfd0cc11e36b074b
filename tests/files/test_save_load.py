"""A saved model comes back whole: predictions, names, categories and parameters."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import polyleaf
from polyleaf import TreeClassifier, TreeRegressor
from polyleaf.files.storage import ModelFileError, read_model, write_model
from polyleaf.projections import PROJECTIONS


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "é c"])
    frame["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], 80))
    frame["flag"] = rng.random(80) < 0.5
    frame.loc[::7, "a"] = np.nan
    frame.loc[3, "kind"] = None
    return frame


def make_targets(X, task):
    number = np.nan_to_num(X["a"].to_numpy()) + X["flag"].to_numpy()
    many = np.column_stack([number, X["b"], number * X["b"]])
    return {
        "regression, one": number,
        "regression, many": pd.DataFrame(many, columns=["p", "q", "r"]),
        "regression, masked": np.where(np.abs(many) > 1, np.nan, many),
        "regression, sparse": sparse.csr_array(np.where(many > 1, many, 0.0)),
        "binary": np.where(number > 0, "yes", "no"),
        "binary of booleans": number > 0,
        "multi-class": np.digitize(number, [-1, 0, 1]),
        "labels": (many > 0).astype(int),
        "labels, masked": np.where(np.abs(many) > 1, np.nan, many > 0),
        "labels, sparse": sparse.csr_array((many > 0).astype(int)),
        "multi-class multi-output": np.column_stack(
            [np.where(number > 0, "u", "v"), np.digitize(number, [-1, 0, 1]).astype(str)]
        ),
    }[task]


TASKS = [
    "regression, one",
    "regression, many",
    "regression, masked",
    "regression, sparse",
    "binary",
    "binary of booleans",
    "multi-class",
    "labels",
    "labels, masked",
    "labels, sparse",
    "multi-class multi-output",
]


def assert_equal(one, other):
    if isinstance(one, list):
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    elif sparse.issparse(one):
        assert type(one) is type(other)
        assert (one != other).nnz == 0
    else:
        assert one.dtype == other.dtype
        if one.dtype.kind == "f":
            assert np.array_equal(one, other, equal_nan=True)
        else:
            assert np.array_equal(one, other)


@pytest.mark.parametrize("task", TASKS)
def test_a_loaded_model_does_what_the_saved_one_did(X, task, tmp_path):
    cls = TreeRegressor if task.startswith("regression") else TreeClassifier
    model = cls(min_samples_leaf=2, random_state=3).fit(X, make_targets(X, task))
    polyleaf.save(model, tmp_path / "model.polyleaf")
    loaded = polyleaf.load(tmp_path / "model.polyleaf")
    assert type(loaded) is cls
    assert loaded.get_params() == model.get_params()
    assert_equal(loaded.predict(X), model.predict(X))
    for name in ("apply", "decision_path", "predict_proba", "predict_log_proba"):
        if hasattr(model, name):
            assert_equal(getattr(loaded, name)(X), getattr(model, name)(X))
    for name in ("feature_importances_", "output_importances_", "feature_names_in_"):
        assert_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.output_names_.tolist() == model.output_names_.tolist()
    assert (loaded.n_features_in_, loaded.n_outputs_) == (model.n_features_in_, model.n_outputs_)
    if cls is TreeClassifier:
        assert_equal(loaded.classes_, model.classes_)


@pytest.mark.parametrize("name", [None, *PROJECTIONS])
def test_projections_are_stored(X, name, tmp_path):
    projection = None if name is None else PROJECTIONS[name]()
    model = TreeRegressor(projection=projection, random_state=0)
    model.fit(X, make_targets(X, "regression, many"))
    polyleaf.save(model, tmp_path / "model.polyleaf")
    assert polyleaf.load(tmp_path / "model.polyleaf").projection == projection


def test_a_projection_given_by_name_comes_back_as_that_name(X, tmp_path):
    model = TreeRegressor(projection="gaussian").fit(X, make_targets(X, "regression, many"))
    polyleaf.save(model, tmp_path / "model.polyleaf")
    assert polyleaf.load(tmp_path / "model.polyleaf").projection == "gaussian"


@pytest.mark.parametrize(
    ("task", "class_weight"),
    [
        ("binary", "balanced"),
        ("binary", {"yes": 2, "no": 0.5}),
        ("binary of booleans", {True: 3.0, False: 1.0}),
        ("multi-class", {np.int64(0): np.float64(2.0), 1: 1, 2: 0, 3: 5.5}),
        ("labels", [{0: 1.0, 1: 2.0}, {0: 1.0}, {1: 7.0}]),
        ("labels", ({0: 1.0, 1: 2.0}, {0: 1.0}, {1: 7.0})),
    ],
)
def test_class_weights_are_stored_without_loss(X, task, class_weight, tmp_path):
    model = TreeClassifier(class_weight=class_weight, random_state=0)
    model.fit(X, make_targets(X, task))
    polyleaf.save(model, tmp_path / "model.polyleaf")
    loaded = polyleaf.load(tmp_path / "model.polyleaf")
    expected = list(class_weight) if isinstance(class_weight, tuple) else class_weight
    assert loaded.class_weight == expected
    refitted = loaded.fit(X, make_targets(X, task))
    assert_equal(refitted.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": np.int64(3), "min_samples_leaf": np.float64(0.1)},
        {"categorical_features": np.array([1])},
        {"categorical_features": ("b",)},
        {"categorical_features": pd.Index(["b"])},
        {"categorical_features": [False, True, False, True, True]},
        {"pruning": "f_test", "pruning_level": 0.05},
        {"pruning": "f_test"},
        {"max_features": "sqrt", "splitter": "random", "max_bins": None, "n_jobs": 2},
        {"random_state": np.random.default_rng(0)},
        {"random_state": np.random.RandomState(0)},
    ],
)
def test_parameters_are_stored(X, parameters, tmp_path):
    model = TreeRegressor(**parameters).fit(X, make_targets(X, "regression, many"))
    polyleaf.save(model, tmp_path / "model.polyleaf")
    loaded = polyleaf.load(tmp_path / "model.polyleaf")
    for name, value in model.get_params(deep=False).items():
        stored = getattr(loaded, name)
        if name == "categorical_features" and value is not None:
            assert stored == list(value)
        elif name == "random_state":
            assert stored is None
        else:
            assert stored == value
    assert getattr(loaded, "pruning_level_", None) == getattr(model, "pruning_level_", None)
    assert_equal(loaded.predict(X), model.predict(X))


def test_a_loaded_model_can_be_saved_again(X, tmp_path):
    model = TreeClassifier(random_state=0).fit(X, make_targets(X, "labels, sparse"))
    polyleaf.save(model, tmp_path / "one.polyleaf")
    polyleaf.save(polyleaf.load(tmp_path / "one.polyleaf"), tmp_path / "two.polyleaf")
    assert (tmp_path / "one.polyleaf").read_bytes() == (tmp_path / "two.polyleaf").read_bytes()


def test_a_failing_save_leaves_the_old_model(X, tmp_path, monkeypatch):
    path = tmp_path / "model.polyleaf"
    model = TreeRegressor(random_state=0).fit(X, make_targets(X, "regression, one"))
    polyleaf.save(model, path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    other = TreeRegressor(max_depth=1).fit(X, make_targets(X, "regression, one"))
    with pytest.raises(OSError, match="disk full"):
        polyleaf.save(other, path)
    assert_equal(polyleaf.load(path).predict(X), model.predict(X))
    assert list(tmp_path.iterdir()) == [path]


def test_only_fitted_estimators_of_polyleaf_are_saved(X, tmp_path):
    with pytest.raises(NotFittedError):
        polyleaf.save(TreeRegressor(), tmp_path / "model.polyleaf")
    for other in (DecisionTreeRegressor(), None, "model"):
        with pytest.raises(TypeError, match="save takes a fitted estimator of polyleaf"):
            polyleaf.save(other, tmp_path / "model.polyleaf")
    assert not list(tmp_path.iterdir())


def test_only_tuned_decoders_around_estimators_of_polyleaf_are_saved(X, tmp_path):
    path = tmp_path / "model.polyleaf"
    labels = np.random.default_rng(0).integers(2, size=(len(X), 2))
    tuned = polyleaf.TunedDecoder(DecisionTreeClassifier(max_depth=2), cv=2).fit(X[["a"]], labels)
    with pytest.raises(TypeError, match=r"around DecisionTreeClassifier\. Use joblib"):
        polyleaf.save(tuned, path)
    with pytest.raises(NotFittedError):
        polyleaf.save(polyleaf.TunedDecoder(polyleaf.TreeClassifier()), path)
    own = polyleaf.TunedDecoder(polyleaf.TreeClassifier(), cv=KFold(2)).fit(X, labels)
    with pytest.raises(TypeError, match="numbers and lists of them as cv"):
        polyleaf.save(own, path)
    assert not list(tmp_path.iterdir())


def test_a_pickle_is_not_loaded(X, tmp_path):
    class Exploit:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploited"),)

    path = tmp_path / "model.polyleaf"
    path.write_bytes(pickle.dumps(Exploit()))
    with pytest.raises(ModelFileError, match="not a model file"):
        polyleaf.load(path)
    assert not (tmp_path / "exploited").exists()


def test_unknown_estimators_are_refused_by_name(X, tmp_path):
    path = tmp_path / "model.polyleaf"
    polyleaf.save(TreeRegressor().fit(X, make_targets(X, "regression, one")), path)
    arrays, metadata = read_model(path)
    for name in ("os.system", "object", None, ["TreeRegressor"]):
        write_model(path, arrays, metadata | {"estimator": name})
        with pytest.raises(ModelFileError, match="this release knows TreeRegressor"):
            polyleaf.load(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("leaves", "rows", "output_shape"),
        ("leaves", "linear", "'dense' or 'rows'"),
        ("parameters", {}, "parameter categorical_features is missing"),
        ("parameters", {"height": 3}, "Expected the parameters"),
        ("features", {"n_features": 2**26}, "description of 5 features"),
        ("targets", {"n_outputs": 2**26}, "at most 1 outputs"),
        ("pruning_level_", 2.0, "pruning level"),
    ],
)
def test_contradictory_descriptions_are_refused_with_a_reason(X, tmp_path, key, value, message):
    path = tmp_path / "model.polyleaf"
    polyleaf.save(TreeRegressor().fit(X, make_targets(X, "regression, one")), path)
    arrays, metadata = read_model(path)
    write_model(path, arrays, metadata | {key: value})
    with pytest.raises(ModelFileError, match=message):
        polyleaf.load(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("random_state", "seed", "random_state of TreeRegressor must be"),
        ("projection", {"name": "os"}, "stored projection"),
        ("max_depth", -1, "max_depth of TreeRegressor must be"),
    ],
)
def test_stored_parameters_are_checked(X, tmp_path, name, value, message):
    path = tmp_path / "model.polyleaf"
    polyleaf.save(TreeRegressor().fit(X, make_targets(X, "regression, one")), path)
    arrays, metadata = read_model(path)
    metadata["parameters"][name] = value
    write_model(path, arrays, metadata)
    with pytest.raises(ModelFileError, match=message):
        polyleaf.load(path)


def test_a_model_beyond_the_memory_is_refused_with_words(tmp_path, monkeypatch):
    def read(*_):
        raise MemoryError

    path = tmp_path / "model.polyleaf"
    polyleaf.save(polyleaf.TreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), path)
    monkeypatch.setattr(polyleaf.TreeRegressor, "_from_file", read)
    with pytest.raises(ModelFileError, match="asks for more memory than there is"):
        polyleaf.load(path)
