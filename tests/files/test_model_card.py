"""The model card: written by `save`, read by `read_card`, kept by `load`."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import sklearn

import polyleaf
from polyleaf.files.storage import ModelFileError, read_model, write_model

X = np.random.default_rng(0).normal(size=(60, 4))
Y = X[:, :3] @ np.eye(3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.polyleaf"


def test_a_card_says_when_on_what_and_with_what_a_model_was_fitted(path):
    before = datetime.now(UTC) - timedelta(seconds=1)
    model = polyleaf.RandomForestRegressor(n_estimators=3, max_depth=2).fit(X, Y)
    polyleaf.save(model, path)
    card = polyleaf.read_card(path)
    assert card["estimator"] == "RandomForestRegressor"
    assert card["parameters"]["max_depth"] == 2
    assert (card["rows"], card["features"], card["outputs"]) == (60, 4, 3)
    assert before <= datetime.fromisoformat(card["fitted"]) <= datetime.now(UTC)
    assert card["versions"]["polyleaf"] == polyleaf.__version__
    assert card["versions"]["scikit-learn"] == sklearn.__version__
    assert "scores" not in card


@pytest.mark.parametrize("kind", ["GraphClassifier", "RuleClassifier", "BoostingClassifier"])
def test_every_family_has_a_card(kind, path):
    model = getattr(polyleaf, kind)(random_state=0).fit(X, (Y > 0).astype(int))
    polyleaf.save(model, path)
    assert polyleaf.read_card(path)["rows"] == 60


def test_a_tuned_decoder_has_the_card_of_its_estimator(path):
    tuned = polyleaf.TunedDecoder(polyleaf.TreeClassifier(random_state=0), cv=2)
    polyleaf.save(tuned.fit(X, (Y > 0).astype(int)), path)
    card = polyleaf.read_card(path)
    assert (card["estimator"], card["rows"]) == ("TunedDecoder", 60)


def test_scores_are_kept_until_others_are_given(path):
    model = polyleaf.TreeRegressor(random_state=0).fit(X, Y)
    polyleaf.save(model, path, scores=polyleaf.evaluate(model, X, Y, ["r2"]))
    assert set(polyleaf.read_card(path)["scores"]) == {"r2"}
    loaded = polyleaf.load(path)
    polyleaf.save(loaded, path)
    assert set(polyleaf.read_card(path)["scores"]) == {"r2"}
    polyleaf.save(loaded, path, scores={"mine": np.float32(0.5), "broken": float("nan")})
    assert polyleaf.read_card(path)["scores"] == {"mine": 0.5}


def test_a_new_fit_has_a_new_card(path):
    model = polyleaf.TreeRegressor(random_state=0).fit(X, Y)
    polyleaf.save(model, path, scores={"r2": 0.5})
    again = polyleaf.load(path).fit(X[:20], Y[:20, :2])
    polyleaf.save(again, path)
    card = polyleaf.read_card(path)
    assert (card["rows"], card["outputs"]) == (20, 2)
    assert "scores" not in card


@pytest.mark.parametrize("scores", [0.5, {"r2": "good"}, {1: 0.5}, ["r2"]])
def test_scores_that_are_no_numbers_by_name_are_refused(scores, path):
    model = polyleaf.TreeRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="scores must map names to numbers"):
        polyleaf.save(model, path, scores=scores)
    assert not path.exists()


def test_the_same_fit_makes_the_same_file_if_the_time_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("one", "two"):
        model = polyleaf.TreeRegressor(random_state=0).fit(X, Y)
        polyleaf.save(model, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert polyleaf.read_card(tmp_path / "one")["fitted"] == "2023-11-14T22:13:20+00:00"


def test_a_file_without_a_card_loads(path):
    model = polyleaf.TreeRegressor(random_state=0).fit(X, Y)
    polyleaf.save(model, path)
    arrays, metadata = read_model(path)
    del metadata["card"]
    write_model(path, arrays, metadata)
    np.testing.assert_array_equal(polyleaf.load(path).predict(X), model.predict(X))
    assert set(polyleaf.read_card(path)) == {"estimator", "parameters"}
    polyleaf.save(polyleaf.load(path), path)
    assert "fitted" not in polyleaf.read_card(path)


@pytest.mark.parametrize("card", ["text", {"rows": "many"}, {"scores": []}, [1]])
def test_a_damaged_card_is_a_damaged_file(card, path):
    polyleaf.save(polyleaf.TreeRegressor().fit(X, Y), path)
    arrays, metadata = read_model(path)
    write_model(path, arrays, metadata | {"card": card})
    for read in (polyleaf.load, polyleaf.read_card):
        with pytest.raises(ModelFileError, match="model card"):
            read(path)
