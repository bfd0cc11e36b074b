"""Model files of tuned decoders."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import polyleaf
from polyleaf.cli._models import predictions
from polyleaf.datasets import make_multilabel
from polyleaf.decoding import DECODERS, TopK
from polyleaf.files.storage import ModelFileError, read_model, write_model
from polyleaf.metrics import METRICS

X, Y = make_multilabel(300, 5, 4, cardinality=1.5, random_state=0)


def saved(path, **parameters):
    given = {"cv": 2, "random_state": 0} | parameters
    tuned = polyleaf.TunedDecoder(
        polyleaf.TreeClassifier(min_samples_leaf=5, random_state=0), **given
    ).fit(X, Y)
    polyleaf.save(tuned, path)
    return tuned


@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_a_tuned_decoder_comes_back_as_it_was(decoder, calibration, tmp_path):
    path = tmp_path / "model.polyleaf"
    tuned = saved(path, decoding=decoder, calibration=calibration)
    loaded = polyleaf.load(path)
    np.testing.assert_allclose(loaded.predict_proba(X), tuned.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(loaded.predict(X), tuned.predict(X))
    assert loaded.score(X, Y) == tuned.score(X, Y)
    again = tmp_path / "again.polyleaf"
    polyleaf.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()


def test_parameters_and_results_are_kept(tmp_path):
    path = tmp_path / "model.polyleaf"
    rules = ["f1", TopK(2), "tuned_threshold"]
    tuned = saved(path, metric=METRICS["hamming_loss"], decoding=rules, n_jobs=1)
    loaded = polyleaf.load(path)
    assert loaded.metric == "hamming_loss"
    assert (loaded.decoding, loaded.cv, loaded.random_state, loaded.n_jobs) == (rules, 2, 0, 1)
    assert loaded.estimator.min_samples_leaf == 5
    assert [r["score"] for r in loaded.results_] == [r["score"] for r in tuned.results_]
    assert [r["calibration"] for r in loaded.results_] == [
        r["calibration"] for r in tuned.results_
    ]
    assert loaded.n_features_in_ == 5
    assert list(loaded.output_names_) == ["y0", "y1", "y2", "y3"]
    loaded.fit(X, Y)  # what was loaded can be fitted anew
    np.testing.assert_array_equal(loaded.predict(X), tuned.predict(X))


def test_the_command_line_takes_a_tuned_decoder(tmp_path):
    saved(tmp_path / "model.polyleaf")
    fitted = polyleaf.load(tmp_path / "model.polyleaf")
    names, rows = predictions(fitted, X[:3], proba=True)
    assert names == ["y0", "y1", "y2", "y3"]
    assert rows.shape == (3, 4)


def test_sparse_labels_are_kept_sparse(tmp_path):
    path = tmp_path / "model.polyleaf"
    tuned = polyleaf.TunedDecoder(polyleaf.TreeClassifier(), cv=2, decoding="known_label_set")
    polyleaf.save(tuned.fit(X, sparse.csr_array(Y)), path)
    loaded = polyleaf.load(path).predict(X)
    assert sparse.issparse(loaded)
    np.testing.assert_array_equal(loaded.toarray(), tuned.predict(X).toarray())


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "model.polyleaf"
    saved(path, decoding="known_label_set", calibration="isotonic")
    arrays, metadata = read_model(path)
    damages = [
        {"decoder_indices": arrays["decoder_indices"] + 2},
        {"decoder_indptr": arrays["decoder_indptr"][::-1]},
        {"calibrator_labels": arrays["calibrator_labels"] + 1},
        {"calibrator_offsets": arrays["calibrator_offsets"] - 1},
        {"calibrator_slopes": arrays["calibrator_slopes"][:-1]},
        {"calibrator_x": arrays["calibrator_x"][::-1]},
        {"calibrator_y": arrays["calibrator_y"] * np.nan},
    ]
    for damage in damages:
        write_model(path, arrays | damage, metadata)
        with pytest.raises(ModelFileError, match="damaged"):
            polyleaf.load(path)
    changes = [
        {"inner": metadata["inner"] | {"estimator": "TunedDecoder"}},
        {"inner": None},
        {"decoder": {"decoder": "os.system", "parameters": {}}},
        {"parameters": metadata["parameters"] | {"cv": "x"}},
        {"parameters": metadata["parameters"] | {"metric": "lrap"}},
        {"calibrator": {"method": "other"}},
        {"results_": [{}]},
    ]
    for change in changes:
        write_model(path, arrays, metadata | change)
        with pytest.raises(ModelFileError, match=r"damaged|'os\.system' is not registered"):
            polyleaf.load(path)


@pytest.mark.parametrize("library", ["numpy", "objects", "pandas", "polars"])
def test_labels_as_texts_are_labels_before_and_after_a_file(tmp_path, library):
    X, Y = make_multilabel(100, 4, 3, random_state=0)
    names = ["a", "b", "c"]
    texts = {
        "numpy": Y.astype(str),
        "objects": Y.astype(str).astype(object),
        "pandas": pd.DataFrame(Y.astype(str), columns=names),
        "polars": pl.DataFrame(Y.astype(str), schema=names),
    }[library]
    tree = polyleaf.TreeClassifier(max_depth=3, random_state=0)
    numbers, tuned = (
        polyleaf.TunedDecoder(tree, cv=2, random_state=0).fit(X, labels) for labels in (Y, texts)
    )
    np.testing.assert_array_equal(tuned.predict(X), numbers.predict(X))
    if library in ("pandas", "polars"):
        assert list(tuned.output_names_) == names
    polyleaf.save(tuned, tmp_path / "tuned.polyleaf")
    loaded = polyleaf.load(tmp_path / "tuned.polyleaf")
    np.testing.assert_array_equal(loaded.predict(X), tuned.predict(X))
