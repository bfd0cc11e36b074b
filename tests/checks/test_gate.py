"""Every public function that takes a matrix refuses a sparse one with an index out of range."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from polyleaf import TunedDecoder
from polyleaf.datasets import (
    Dataset,
    MultiLabelKFold,
    concatenate,
    make_multilabel,
    stratified_parts,
)
from polyleaf.decoding import DECODERS, LabelCalibrator
from polyleaf.experiments import (
    AdaBoostMH,
    AllTargets,
    BestChain,
    LabelPowerset,
    LabelsByRegression,
    OneModelPerLabel,
    OneModelPerTarget,
    RandomLinearCombinations,
    compare,
    evaluate,
)
from polyleaf.metrics import METRICS, column_means, label_propensities

X, Y = make_multilabel(60, 4, 3, random_state=0)
SCORES = np.clip(Y * 0.6 + 0.2, 0.0, 1.0)
WORDS = np.where(X > 0, X, 0.0)
FAULT = "must lie within its shape"


def damaged(matrix):
    """Return a sparse matrix with one index far beyond its columns."""
    wrong = sparse.csr_array(matrix, dtype=np.float64)
    wrong.indices[3] = 10**6
    return wrong


@pytest.mark.parametrize("name", METRICS)
def test_metrics_refuse_it(name):
    metric = METRICS[name]
    given = SCORES if metric.needs == "scores" else Y
    score = metric.prepare(Y)
    assert np.isfinite(score(sparse.csr_array(Y), sparse.csr_array(given)))
    for true, pred in ((damaged(Y), given), (Y, damaged(given)), (damaged(Y), damaged(given))):
        with pytest.raises(ValueError, match=FAULT):
            score(true, pred)


def test_functions_of_training_labels_refuse_it():
    for function in (column_means, label_propensities):
        with pytest.raises(ValueError, match=FAULT):
            function(damaged(Y))


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_refuse_it(name):
    decoder = DECODERS[name]()
    decoder.fit(sparse.csr_array(Y), sparse.csr_array(SCORES))
    with pytest.raises(ValueError, match=FAULT):
        decoder.decode(damaged(SCORES))
    with pytest.raises(ValueError, match=FAULT):
        decoder.decode_joint(damaged(np.eye(len(Y))), Y)
    with pytest.raises(ValueError, match=FAULT):
        decoder.decode_joint(np.eye(len(Y)), damaged(Y))
    if decoder.needs_probabilities:
        with pytest.raises(ValueError, match=FAULT):
            decoder.fit(Y, damaged(SCORES))
    if type(decoder).fit is not DECODERS["threshold"].fit:
        with pytest.raises(ValueError, match=FAULT):
            decoder.fit(damaged(Y), SCORES)


@pytest.mark.parametrize("inputs", ["probability", "score"])
def test_calibrators_refuse_it(inputs):
    calibrator = LabelCalibrator(inputs=inputs).fit(SCORES, Y)
    for wrong in ((damaged(SCORES), Y), (SCORES, damaged(Y))):
        with pytest.raises(ValueError, match=FAULT):
            LabelCalibrator(inputs=inputs).fit(*wrong)
    with pytest.raises(ValueError, match=FAULT):
        calibrator.transform(damaged(SCORES))


@pytest.mark.parametrize("by", ["label", "label_pair", "label_set", "cardinality"])
def test_splitters_refuse_it(by):
    with pytest.raises(ValueError, match=FAULT):
        list(MultiLabelKFold(2, by=by).split(X, damaged(Y)))
    with pytest.raises(ValueError, match=FAULT):
        stratified_parts(damaged(Y), (0.5, 0.5), by=by)


@pytest.mark.parametrize("part", ["X", "Y"])
def test_data_sets_and_comparisons_refuse_it(part):
    data = Dataset(
        sparse.csr_array(WORDS), sparse.csr_array(Y), list("abcd"), list("xyz"), "labels"
    )
    getattr(data, part).indices[3] = 10**6
    calls = (
        lambda: data.sample(20),
        lambda: data.take([0, 1, 2]),
        lambda: concatenate([data, data]),
        lambda: compare(data, methods=["Mean"], metrics=["hamming_loss"], cv=2),
        lambda: compare(data.X, data.Y, methods=["Mean"], metrics=["hamming_loss"], cv=2),
    )
    for call in calls:
        with pytest.raises(ValueError, match=FAULT):
            call()


def test_evaluate_refuses_it():
    model = KNeighborsClassifier(3).fit(sparse.csr_array(WORDS), Y)
    for wrong in ((damaged(WORDS), Y), (WORDS, damaged(Y))):
        with pytest.raises(ValueError, match=FAULT):
            evaluate(model, *wrong, ["hamming_loss"])


def test_a_tuned_decoder_refuses_it():
    tuned = TunedDecoder(KNeighborsClassifier(3), cv=2, random_state=0)
    with pytest.raises(ValueError, match=FAULT):
        tuned.fit(X, damaged(Y))
    with pytest.raises(ValueError, match=FAULT):
        tuned.fit(damaged(WORDS), Y)
    tuned.fit(sparse.csr_array(WORDS), Y)
    for call in (tuned.predict, tuned.predict_proba, lambda rows: tuned.score(rows, Y)):
        with pytest.raises(ValueError, match=FAULT):
            call(damaged(WORDS))
    with pytest.raises(ValueError, match=FAULT):
        tuned.score(sparse.csr_array(WORDS), damaged(Y))


BASELINES = {
    "AdaBoostMH": AdaBoostMH(2),
    "AllTargets": AllTargets(Ridge()),
    "BestChain": BestChain(LogisticRegression(), n_orders=1, random_state=0),
    "LabelPowerset": LabelPowerset(LogisticRegression()),
    "LabelsByRegression": LabelsByRegression(Ridge()),
    "OneModelPerLabel": OneModelPerLabel(LogisticRegression()),
    "OneModelPerTarget": OneModelPerTarget(Ridge()),
    "RandomLinearCombinations": RandomLinearCombinations(Ridge(), 3, random_state=0),
}


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_refuse_it(name):
    model = BASELINES[name]
    for wrong in ((damaged(WORDS), Y), (WORDS, damaged(Y))):
        with pytest.raises(ValueError, match=FAULT):
            model.fit(*wrong)
    model.fit(sparse.csr_array(WORDS), Y)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=FAULT):
                getattr(model, method)(damaged(WORDS))
