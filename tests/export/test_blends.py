"""Blends as ONNX graphs: weighted means of members that share their inputs."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import polyleaf
from polyleaf.auto import candidates
from polyleaf.auto.bags import bag_of
from polyleaf.estimator.classifier import Classifier
from polyleaf.export import CannotExportError, to_json, to_onnx, to_sql, to_treelite

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(300, 3)).astype(np.float32), columns=list("abc"))
X = X.mask(RNG.random(X.shape) < 0.1)
X["kind"] = RNG.choice(["u", "v", "w"], 300)
KNOWN = X[["a", "b", "c"]].fillna(0.0).to_numpy()
NUMBERS = np.column_stack([KNOWN[:, 0] * KNOWN[:, 1], KNOWN[:, 2] + (X["kind"] == "u")])
LABELS = (np.median(NUMBERS, axis=0) < NUMBERS).astype(int)
CLASSES = np.digitize(NUMBERS, [-0.5, 0.5])


class BlendRegressor:
    """Fitted members and their weights, as estimators made of estimators keep them."""

    def __init__(self, members, weights, sharpness=1.0, decoder=None):
        self._fitted = SimpleNamespace(
            members=members,
            weights=np.asarray(weights),
            sharpness=sharpness,
            decoder=decoder,
            calibrator=None,
        )

    def fit(self, X, Y):
        raise NotImplementedError

    def __sklearn_is_fitted__(self):
        return True

    def __getattr__(self, name):
        return getattr(self._fitted.members[0], name)


class BlendClassifier(BlendRegressor, Classifier):
    _features = property(lambda self: self._fitted.members[0]._features)
    _targets = property(lambda self: self._fitted.members[0]._targets)
    output_names_ = property(lambda self: self._fitted.members[0].output_names_)
    decoding = None


def run(model, exact, **given):
    dtype = np.float64 if exact else np.float32
    rows = {name: X[name].to_numpy(dtype).reshape(-1, 1) for name in "abc"}
    rows["kind"] = X["kind"].to_numpy(dtype=object).reshape(-1, 1)
    session = onnxruntime.InferenceSession(
        to_onnx(model, exact=exact, **given).SerializeToString()
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, rows)))


def members_of(kind, Y):
    names = ("RandomForest", "Boosting", "Rule")
    small = ({"n_estimators": 4}, {"n_estimators": 4}, {"n_rules": 10})
    return [
        getattr(polyleaf, f"{name}{kind}")(random_state=0, **given).fit(X, Y)
        for name, given in zip(names, small)
    ]


@pytest.mark.parametrize("exact", [False, True])
def test_numbers_are_weighted_output_by_output(exact):
    members = members_of("Regressor", NUMBERS)
    weights = np.array([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]])
    found = run(BlendRegressor(members, weights), exact)
    assert list(found) == ["prediction"]
    expected = sum(w * member.predict(X) for member, w in zip(members, weights.T))
    tolerance = 1e-12 if exact else 1e-5
    np.testing.assert_allclose(found["prediction"], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("sharpness", [1.0, 1.7])
def test_labels_are_blended_sharpened_and_decoded(exact, sharpness):
    members = members_of("Classifier", LABELS)[:2]
    weights = np.array([[0.4, 0.6], [1.0, 0.0]])
    blend = BlendClassifier(members, weights, sharpness, polyleaf.decoding.Threshold(0.4))
    found = run(blend, exact)
    p = sum(w * member.predict_proba(X) for member, w in zip(members, weights.T))
    odds = np.clip(p, 1e-9, 1 - 1e-9)
    expected = odds**sharpness / (odds**sharpness + (1 - odds) ** sharpness)
    expected = np.where(p <= 0, 0.0, np.where(p >= 1, 1.0, expected))
    np.testing.assert_allclose(found["probability"], expected, atol=1e-9 if exact else 1e-6)
    is_sure = np.abs(expected - 0.4) > 1e-6
    np.testing.assert_array_equal(found["prediction"][is_sure], (expected > 0.4)[is_sure])


def test_classes_of_several_outputs_add_up_to_1():
    members = members_of("Classifier", CLASSES)[:2]
    weights = np.array([[0.3, 0.7], [0.5, 0.5]])
    found = run(BlendClassifier(members, weights, 1.3), True)
    widths = np.diff(members[0]._targets.channel_offsets)
    p = sum(
        np.repeat(w, widths) * np.concatenate(member.predict_proba(X), axis=1)
        for member, w in zip(members, weights.T)
    )
    powers = np.clip(p, 1e-9, 1 - 1e-9) ** 1.3
    parts = [part / part.sum(axis=1, keepdims=True) for part in np.split(powers, [3], axis=1)]
    np.testing.assert_allclose(found["probability"], np.hstack(parts), atol=1e-9)
    best = [members[0].classes_[j][part.argmax(axis=1)] for j, part in enumerate(parts)]
    np.testing.assert_array_equal(found["prediction"], np.column_stack(best))


def test_members_without_a_graph_are_named_unless_they_do_not_count():
    labels = members_of("Classifier", LABELS)[:1]
    rows = X[["a", "b", "c"]].fillna(0.0)
    graphs = polyleaf.GraphClassifier(kernel="rbf", tol=0.5).fit(rows, LABELS)
    with pytest.raises(CannotExportError, match="GraphClassifier among its members"):
        to_onnx(BlendClassifier([*labels, graphs], np.full((2, 2), 0.5)))
    blend = BlendClassifier([*labels, graphs], np.array([[1.0, 0.0], [1.0, 0.0]]))
    found = run(blend, True, outputs="probability")["probability"]
    np.testing.assert_allclose(found, labels[0].predict_proba(X), atol=1e-12)


def test_a_linear_graph_may_be_a_member():
    forest = polyleaf.RandomForestClassifier(n_estimators=4, random_state=0).fit(KNOWN, LABELS)
    graphs = polyleaf.GraphClassifier(kernel="linear", tol=0.5, random_state=0).fit(KNOWN, LABELS)
    blend = BlendClassifier([forest, graphs], np.array([[0.25, 0.75], [0.5, 0.5]]))
    graph = to_onnx(blend, outputs="probability")
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (found,) = session.run(None, {"X": KNOWN})
    p, q = forest.predict_proba(KNOWN), graphs.predict_proba(KNOWN)
    np.testing.assert_allclose(found, p * [0.25, 0.5] + q * [0.75, 0.5], atol=1e-6)


@pytest.fixture
def trees_alone(monkeypatch):
    """Races without linear models, kernels and neighbours, which have no graph."""
    for name in ("_REGRESSORS", "_CLASSIFIERS"):
        kept = [c for c in getattr(candidates, name) if c.way != "refit" or "trees" in c.name]
        monkeypatch.setattr(candidates, name, kept)


@pytest.mark.parametrize("exact", [False, True])
def test_automatic_estimators_with_members_of_folds_are_exported(trees_alone, exact):
    settings = {"budget": "small", "cv": 2, "random_state": 0}
    numbers = polyleaf.AutoRegressor(**settings).fit(X, NUMBERS)
    labels = polyleaf.AutoClassifier(**settings).fit(X, LABELS)
    kinds = [type(member).__name__ for model in (numbers, labels) for _, member in model.members_]
    assert {"BagRegressor", "BagClassifier"} <= set(kinds)
    tolerance = 1e-12 if exact else 1e-5
    found = run(numbers, exact)["prediction"]
    np.testing.assert_allclose(found, numbers.predict(X), rtol=tolerance, atol=tolerance)
    found = run(labels, exact)
    probability = labels.predict_proba(X)
    np.testing.assert_allclose(found["probability"], probability, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found["prediction"], labels.predict(X))


def test_parts_that_have_not_seen_an_output_leave_it_to_others():
    hidden, nowhere = NUMBERS.copy(), np.column_stack([NUMBERS, np.full(300, np.nan)])
    hidden[:, 1] = np.nan
    forest = polyleaf.RandomForestRegressor(n_estimators=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outputs that are never observed
        parts = [
            clone(forest).fit(X, np.column_stack([Y, nowhere[:, 2]])) for Y in (NUMBERS, hidden)
        ]
    bag = bag_of(parts)
    expected = bag.predict(X)
    assert np.isnan(expected[:, 2]).all()
    assert np.array_equal(expected[:, 1], parts[0].predict(X)[:, 1])
    found = run(BlendRegressor([bag], np.ones((3, 1))), True)["prediction"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_other_formats_name_what_writes_a_blend(quick):
    model = polyleaf.AutoRegressor(cv=2, random_state=0).fit(KNOWN, NUMBERS)
    for export in (to_treelite, to_json, lambda blend: to_sql(blend, "data")):
        with pytest.raises(CannotExportError, match="Of a blend, to_onnx writes the whole"):
            export(model)
