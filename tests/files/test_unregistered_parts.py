"""A file that names a class of the user's says which one, and where to register it."""

import numpy as np
import pytest

import polyleaf
from polyleaf import decoding, graphs, losses, projections
from polyleaf.files.storage import ModelFileError


class OwnLoss(losses.SquaredError):
    native_kernel = "squared_error"


class OwnView(projections.Gaussian):
    pass


class OwnGraph(graphs.SpanningTree):
    pass


class OwnDecoder(decoding.TopK):
    pass


rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
LABELS = (X + rng.normal(size=(60, 3)) > 0).astype(int)

CASES = [
    (polyleaf.BoostingRegressor, "loss", OwnLoss, losses.LOSSES, "losses.LOSSES", X),
    (polyleaf.BoostingMixed, "loss", OwnLoss, losses.LOSSES, "losses.LOSSES", X),
    (
        polyleaf.TreeRegressor,
        "projection",
        OwnView,
        projections.PROJECTIONS,
        "projections.PROJECTIONS",
        X,
    ),
    (polyleaf.GraphEnsembleClassifier, "graph", OwnGraph, graphs.GRAPHS, "graphs.GRAPHS", LABELS),
    (
        polyleaf.TreeClassifier,
        "decoding",
        OwnDecoder,
        decoding.DECODERS,
        "decoding.DECODERS",
        LABELS,
    ),
]


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(
    ("estimator", "parameter", "own", "registry", "where", "Y"),
    CASES,
    ids=[f"{case[0].__name__}-{case[1]}" for case in CASES],
)
def test_a_part_that_is_not_registered_is_named(
    estimator, parameter, own, registry, where, Y, by_name, tmp_path, monkeypatch
):
    if by_name and parameter == "decoding":
        pytest.skip("decoders of users are given as instances")
    monkeypatch.setitem(registry, "mine", own)
    size = {name: 2 for name in ("n_estimators", "max_depth") if hasattr(estimator(), name)}
    given = "mine" if by_name else own()
    model = estimator(**size, random_state=0, **{parameter: given}).fit(X, Y)
    path = tmp_path / "model.polyleaf"
    polyleaf.save(model, path)
    monkeypatch.delitem(registry, "mine")
    with pytest.raises(ModelFileError) as caught:
        polyleaf.load(path)
    message = str(caught.value)
    assert f"the {parameter.replace('decoding', 'decoder')} 'mine' is not registered" in message
    assert f"polyleaf.{where}" in message
    assert "damaged" not in message
    monkeypatch.setitem(registry, "mine", own)
    loaded = polyleaf.load(path)
    assert np.array_equal(np.asarray(loaded.predict(X)), np.asarray(model.predict(X)))
