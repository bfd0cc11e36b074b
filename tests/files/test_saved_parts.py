"""Every built-in estimator with every built-in part is saved and loaded, and predicts the same."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf._registry import ESTIMATORS
from polyleaf.decoding import DECODERS
from polyleaf.graphs import GRAPHS, Edges
from polyleaf.losses import LOSSES
from polyleaf.metrics import METRICS
from polyleaf.projections import PROJECTIONS

#: Parts by the parameter that takes them; a new member of a registry is tested by being listed.
REGISTRIES = {
    "loss": LOSSES,
    "projection": PROJECTIONS,
    "decoding": DECODERS,
    "graph": {**GRAPHS, "edges": Edges([[0, 1], [1, 2]])},
}
#: Decoders that are fitted to probabilities, which is for `TunedDecoder`.
TUNED = {"tuned_threshold", "label_thresholds"}
SMALL = {
    "n_estimators": 2,
    "n_rules": 2,
    "max_depth": 2,
    "max_iter": 5,
    "calibration_folds": 2,
    "random_state": 0,
}
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(40, 4))
LABELS = (X[:, :3] + 0.5 * _RNG.normal(size=(40, 3)) > 0.3).astype(int)
TARGETS = np.abs(X[:, :3]) + _RNG.random((40, 3))
CLASSES = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0)


def make(name, **given):
    cls = ESTIMATORS[name]
    known = cls().get_params()
    return cls(**{k: v for k, v in SMALL.items() if k in known} | given)


def cases():
    for name in ESTIMATORS:
        known = ESTIMATORS[name]().get_params()
        for parameter, declared in ESTIMATORS[name]._declared.items():
            if parameter in known:
                for part in REGISTRIES.get(parameter, declared.names):
                    value = REGISTRIES[parameter][part] if part == "edges" else part
                    yield name, parameter, part, value


def fit(name, **given):
    """Fit to the first kind of targets that the parts take; None if they take none of them."""
    is_regressor = name.endswith("Regressor")
    precomputed = given.get("kernel") == "precomputed"
    features = X @ X.T if precomputed else X
    for Y in (TARGETS, LABELS) if is_regressor else (LABELS, CLASSES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return make(name, **given).fit(features, Y), features
            except (ValueError, TypeError) as error:
                refusal = error
    return None, refusal


def assert_same_after_loading(model, features, path):
    polyleaf.save(model, path)
    loaded = polyleaf.load(path)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            expected, got = (getattr(m, method)(features) for m in (model, loaded))
            if sparse.issparse(expected):
                expected, got = expected.toarray(), got.toarray()
            if isinstance(expected, dict):  # of mixed kinds, by output
                expected, got = list(expected.values()), list(got.values())
            np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_with_every_part_is_saved_and_loaded(name, tmp_path):
    fitted = 0
    own = [case for case in cases() if case[0] == name]
    for _, parameter, part, value in own:
        model, features = fit(name, **{parameter: value})
        if model is None:  # a part for another task: refused with what it needs
            assert parameter in str(features) or repr(part) in str(features), features
            continue
        assert_same_after_loading(model, features, tmp_path / "model.polyleaf")
        fitted += 1
    assert fitted >= min(3, len(own))  # a family may have no parts


@pytest.mark.parametrize("parameter", REGISTRIES)
def test_every_part_of_the_registries_is_taken_by_an_estimator(parameter):
    taken = set()
    for name, own, part, value in cases():
        if own == parameter and part not in taken and fit(name, **{own: value})[0] is not None:
            taken.add(part)
    assert taken == set(REGISTRIES[parameter]) - TUNED


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", None])
def test_tuned_decoders_with_every_decoder_are_saved_and_loaded(decoder, calibration, tmp_path):
    tree = polyleaf.TreeClassifier(max_depth=2, random_state=0)
    tuned = polyleaf.TunedDecoder(
        tree, decoding=decoder, calibration=calibration, cv=2, random_state=0
    )
    assert_same_after_loading(tuned.fit(X, LABELS), X, tmp_path / "model.polyleaf")


@pytest.mark.parametrize("metric", [n for n, m in METRICS.items() if m.needs == "labels"])
def test_tuned_decoders_for_every_metric_are_saved_and_loaded(metric, tmp_path):
    tree = polyleaf.TreeClassifier(max_depth=2, random_state=0)
    tuned = polyleaf.TunedDecoder(tree, metric=metric, calibration=None, cv=2, random_state=0)
    assert_same_after_loading(tuned.fit(X, LABELS), X, tmp_path / "model.polyleaf")


def test_tuned_decoders_of_labels_as_words_are_saved_and_loaded(tmp_path):
    tree = polyleaf.TreeClassifier(max_depth=2, random_state=0)
    tuned = polyleaf.TunedDecoder(tree, decoding="threshold", calibration=None, cv=2)
    tuned.fit(X, LABELS.astype(str))
    assert_same_after_loading(tuned, X, tmp_path / "model.polyleaf")


@pytest.mark.parametrize("kind", ["GraphClassifier", "GraphEnsembleClassifier"])
def test_graph_classifiers_with_huge_weights_are_saved_and_loaded(kind, tmp_path):
    model, _ = fit(kind, C=1e12, scale_features=False)
    assert_same_after_loading(model, X, tmp_path / "model.polyleaf")
