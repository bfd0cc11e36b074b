import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import f1_score, hamming_loss

from polyleaf.decoding import LabelThresholds, Threshold, TopK, TunedThreshold
from polyleaf.metrics import METRICS


@st.composite
def tuning_problems(draw):
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    Y = (rng.random((n, d)) < rng.random()).astype(float)
    P = rng.integers(0, 5, size=(n, d)) / 4
    return Y, P


def f1(Y, predicted, average):
    # Twice the labels: scikit-learn would take one column for a binary problem.
    return f1_score(
        np.hstack([Y, Y]), np.hstack([predicted] * 2), average=average, zero_division=0
    )


def cuts(values):
    """One threshold in each gap between probabilities, and one above all."""
    levels = np.unique(np.append(values, 0.0))
    return [*((levels[1:] + levels[:-1]) / 2), 1.0]


@settings(max_examples=150)
@given(problem=tuning_problems())
def test_one_threshold_has_the_best_micro_f1(problem):
    Y, P = problem
    best = max(f1(Y, t < P, "micro") for t in cuts(P))
    for probabilities in (P, sparse.csr_array(P)):
        decoder = TunedThreshold().fit(Y, probabilities)
        assert f1(Y, decoder.decode(P), "micro") == pytest.approx(best)


def errors(Y, predicted):
    return -hamming_loss(Y, predicted)


@settings(max_examples=100)
@given(problem=tuning_problems())
def test_one_threshold_is_the_best_for_any_score(problem):
    Y, P = problem
    decoder = TunedThreshold(score=errors).fit(Y, P)
    # More labels than four times those present are not tried, which Hamming loss never needs.
    best = max(errors(Y, t < P) for t in cuts(P))
    assert errors(Y, decoder.decode(P)) == pytest.approx(best)


@pytest.mark.parametrize("is_informed", [True, False])
def test_one_threshold_for_rare_labels_has_the_best_micro_f1_of_all(is_informed):
    rng = np.random.default_rng(0)
    Y = (rng.random((80, 20)) < 0.01).astype(float)
    P = np.round(rng.random(Y.shape) + is_informed * Y, 2) / 2.0
    thresholds = [TunedThreshold().fit(Y, P).threshold_ for P in (P, sparse.csr_array(P))]
    scores = [f1(Y, t < P, "micro") for t in (*thresholds, *cuts(P))]
    assert scores[0] == scores[1] == max(scores)


class CountedF1:
    """A score of labels that says what it is given."""

    def __init__(self, takes_sparse):
        self.takes_sparse = takes_sparse
        self.given = set()

    def __call__(self, Y, predicted):
        self.given.add((sparse.issparse(Y), sparse.issparse(predicted)))
        return METRICS["example_f1"].function(Y, predicted)


@pytest.mark.parametrize("share_unobserved", [0.0, 0.1])
def test_scores_that_take_sparse_matrices_choose_the_same_threshold(share_unobserved):
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 50)) < 0.03).astype(float)
    P = np.clip(rng.beta(0.3, 6.0, size=Y.shape) + 0.3 * Y, 0.0, 1.0)
    Y[rng.random(Y.shape) < share_unobserved] = np.nan
    dense, few = CountedF1(False), CountedF1(True)
    thresholds = [TunedThreshold(score=score).fit(Y, P).threshold_ for score in (dense, few)]
    assert thresholds[0] == thresholds[1]
    assert dense.given == {(False, False)}
    assert few.given == {(share_unobserved == 0.0, True)}


@pytest.mark.parametrize("objective", ["macro_f1", "micro_f1", "hamming_loss"])
@settings(max_examples=60)
@given(problem=tuning_problems())
def test_label_thresholds_are_the_best_of_all_combinations(objective, problem):
    Y, P = problem

    def score(predicted):
        if objective == "hamming_loss":
            return errors(Y, predicted)
        return f1(Y, predicted, objective.removesuffix("_f1"))

    choices = itertools.product(*(cuts(P[:, j]) for j in range(P.shape[1])))
    best = max(score(np.array(thresholds) < P) for thresholds in choices)
    for probabilities in (P, sparse.csr_array(P)):
        decoder = LabelThresholds(objective, min_positives=0).fit(Y, probabilities)
        assert score(decoder.decode(P)) == pytest.approx(best)


def test_unobserved_entries_do_not_count():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 3)) < 0.4).astype(float)
    P = rng.random((60, 3))
    hidden = Y.copy()
    hidden[40:] = np.nan
    for decoder in (TunedThreshold(), LabelThresholds()):
        part = decoder.fit(Y[:40], P[:40]).decode(P)
        np.testing.assert_array_equal(decoder.fit(hidden, P).decode(P), part)


def test_rare_labels_take_the_common_threshold():
    rng = np.random.default_rng(0)
    P = rng.random((200, 2))
    Y = (P > 0.7).astype(float)
    Y[:, 1] = 0
    Y[np.argsort(P[:, 1])[:2], 1] = 1  # two positives with the lowest probabilities
    decoder = LabelThresholds(min_positives=5).fit(Y, P)
    assert decoder.thresholds_[0] == pytest.approx(0.7, abs=0.02)
    assert decoder.thresholds_[1] == TunedThreshold().fit(Y, P).threshold_
    assert LabelThresholds("hamming_loss", min_positives=5).fit(Y, P).thresholds_[1] == 0.5


def test_top_k_takes_the_first_of_tied_labels():
    P = [[0.5, 0.5, 0.5], [0.1, 0.9, 0.2]]
    np.testing.assert_array_equal(TopK(1).decode(P), [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(TopK(0).decode(P), np.zeros((2, 3)))
    np.testing.assert_array_equal(TopK(9).decode(P), np.ones((2, 3)))


def test_expected_number_of_labels_is_rounded():
    P = np.array([[0.5, 0.5, 0.4], [0.1, 0.2, 0.1], [0.9, 0.8, 0.9]])
    np.testing.assert_array_equal(TopK("expected").decode(P).sum(axis=1), [1, 0, 3])


def test_threshold_is_exclusive_as_in_predict():
    np.testing.assert_array_equal(Threshold(0.5).decode([[0.5, 0.51]]), [[0, 1]])


def test_thresholds_are_equal_by_value():
    assert Threshold([0.1, 0.2]) == Threshold(np.array([0.1, 0.2]))
    assert Threshold(0.1) != Threshold(0.2)
    assert Threshold(0.1) != TopK(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Threshold(1.5).decode([[0.5]]), "threshold must be a number from 0 to 1"),
        (lambda: Threshold("a").decode([[0.5]]), "threshold must be a number from 0 to 1"),
        (lambda: Threshold([0.5] * 3).decode([[0.5]]), "one value, or 1, as many as there are"),
        (lambda: TopK(-1).decode([[0.5]]), "k must be an integer >= 0 or 'expected'; got -1"),
        (lambda: TopK("all").decode([[0.5]]), "k must be an integer >= 0 or 'expected'"),
        (lambda: TunedThreshold("f1").fit([[1]], [[0.5]]), "score must be None or a function"),
        (lambda: TunedThreshold().fit([[1]]), "rows that the model was not trained on; got none"),
        (lambda: TunedThreshold().fit([[1]], [[0.5, 0.5]]), r"the shape of Y, \(1, 1\)"),
        (lambda: LabelThresholds("f1").fit([[1]], [[0.5]]), "objective must be 'macro_f1'"),
        (
            lambda: LabelThresholds(min_positives=-1).fit([[1]], [[0.5]]),
            "min_positives must be an integer >= 0",
        ),
        (
            lambda: LabelThresholds().fit([[1]], [[0.5]]).decode([[0.5, 0.5]]),
            "must have 1 columns, as Y in fit; got 2",
        ),
    ],
)
def test_wrong_parameters_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
