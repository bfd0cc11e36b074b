"""Pipelines in model files: from text to labels in one file, and no code when it is loaded."""

import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer, OneHotEncoder

import polyleaf
from polyleaf.files.storage import ModelFileError, read_model, write_model

skops_io = pytest.importorskip("skops.io")

TEXTS = ["the cat sat", "a dog ran", "cat and dog", "the mat", "dog on a mat", "cat"] * 3
TAGS = [{"cat"}, {"dog"}, {"cat", "dog"}, {"mat"}, {"dog", "mat"}, {"cat"}] * 3
Y = MultiLabelBinarizer().fit_transform(TAGS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.polyleaf"


def text_pipeline():
    return make_pipeline(
        TfidfVectorizer(),
        SelectKBest(chi2, k=4),
        polyleaf.BoostingClassifier(n_estimators=5, random_state=0),
    ).fit(TEXTS, Y)


def test_text_to_labels_is_one_file(path):
    model = text_pipeline()
    polyleaf.save(model, path, scores={"example_f1": 0.9})
    loaded = polyleaf.load(path)
    assert type(loaded) is Pipeline
    assert [name for name, _ in loaded.steps] == [name for name, _ in model.steps]
    np.testing.assert_array_equal(loaded.predict(TEXTS), model.predict(TEXTS))
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    card = polyleaf.read_card(path)
    assert card["estimator"] == "Pipeline with BoostingClassifier"
    assert card["rows"] == len(TEXTS)
    assert card["scores"] == {"example_f1": 0.9}
    polyleaf.save(loaded, path)
    assert polyleaf.read_card(path)["scores"] == {"example_f1": 0.9}


def test_tables_with_columns_of_both_kinds_are_one_file(path):
    X = pd.DataFrame({"soil": ["clay", "sand", "clay"] * 6, "rain": np.arange(18.0)})
    columns = ColumnTransformer(
        [
            ("soil", OneHotEncoder(), ["soil"]),
            ("rest", "passthrough", make_column_selector(dtype_include="number")),
        ]
    )
    steps = [("columns", columns), ("nothing", "passthrough"), ("tree", polyleaf.TreeRegressor())]
    model = Pipeline(steps).fit(X, np.column_stack([X.rain, -X.rain]))
    polyleaf.save(model, path)
    np.testing.assert_array_equal(polyleaf.load(path).predict(X), model.predict(X))


def own_function(X):
    return X


def test_functions_of_your_own_are_refused_when_saving(path):
    model = make_pipeline(FunctionTransformer(own_function), polyleaf.TreeClassifier())
    model.fit(np.eye(18)[:, :3], Y)
    with pytest.raises(TypeError, match="own_function"):
        polyleaf.save(model, path)
    assert not path.exists()


def test_pipelines_without_an_estimator_of_polyleaf_are_refused(path):
    with pytest.raises(TypeError, match="with an estimator of polyleaf"):
        polyleaf.save(make_pipeline(TfidfVectorizer()).fit(TEXTS), path)


class Foreign(polyleaf.TreeClassifier):
    """A subclass, which may hold anything."""


def test_steps_of_others_are_refused(path):
    model = make_pipeline(TfidfVectorizer(), Foreign(), polyleaf.TreeClassifier())
    model.steps.pop()
    with pytest.raises(TypeError, match="step 'foreign' is a Foreign"):
        polyleaf.save(model.fit(TEXTS, Y), path)


def with_content(path, content):
    """Put another archive of skops into a file, with a digest that fits."""
    arrays, metadata = read_model(path)
    write_model(path, arrays | {"pipeline_steps": np.frombuffer(content, np.uint8)}, metadata)


@pytest.mark.parametrize("kind", ["function", "class"])
def test_a_hostile_pipeline_is_not_loaded(kind, path, tmp_path):
    import os
    import subprocess

    polyleaf.save(text_pipeline(), path)
    evil = {"function": FunctionTransformer(os.system), "class": subprocess.Popen}[kind]
    steps = dict.fromkeys(("tfidfvectorizer", "selectkbest"), evil)
    try:
        content = skops_io.dumps(steps)
    except Exception as error:
        pytest.skip(f"skops does not write it: {error}")
    with_content(path, content)
    with pytest.raises(ModelFileError, match="not trusted"):
        polyleaf.load(path)


def test_a_compressed_archive_is_not_unpacked(path):
    polyleaf.save(text_pipeline(), path)
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", " " * 10**7 + "{}")
    with_content(path, content.getvalue())
    with pytest.raises(ModelFileError, match="not compressed"):
        polyleaf.load(path)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_a_damaged_archive_is_a_damaged_file(content, path):
    polyleaf.save(text_pipeline(), path)
    with_content(path, content)
    with pytest.raises(ModelFileError, match="pipeline"):
        polyleaf.load(path)


@pytest.mark.parametrize(
    "steps", [None, [], [{}], [{"name": 3, "kind": "passthrough"}], [{"name": "a", "kind": "b"}]]
)
def test_damaged_steps_are_a_damaged_file(steps, path):
    polyleaf.save(text_pipeline(), path)
    arrays, metadata = read_model(path)
    write_model(path, arrays, metadata | {"steps": steps})
    with pytest.raises(ModelFileError):
        polyleaf.load(path)


def test_without_skops_the_message_names_it(path, monkeypatch):
    import sys

    model = text_pipeline()
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match="pip install skops"):
        polyleaf.save(model, path)
