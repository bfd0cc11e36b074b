import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from polyleaf import TreeClassifier, TunedDecoder
from polyleaf.datasets import make_multilabel
from polyleaf.decoding import ExampleF1, Threshold, TopK, TunedThreshold
from polyleaf.estimator.label_scores import label_scores
from polyleaf.metrics import METRICS

X, Y = make_multilabel(1200, 5, 6, cardinality=1.5, random_state=0)
TRAIN, TEST = slice(0, 700), slice(700, 1200)
MODELS = {
    "polyleaf tree": TreeClassifier(min_samples_leaf=5, random_state=0),
    "list of probabilities": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "matrix of probabilities": ClassifierChain(LogisticRegression()),
    "binary relevance": MultiOutputClassifier(LogisticRegression()),
    "scores": RidgeClassifier(),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("metric", ["example_f1", "subset_zero_one_loss", "macro_f1"])
def test_tuned_label_sets_are_no_worse_than_plain_ones(model, metric):
    tuned = TunedDecoder(model, metric=metric, random_state=0).fit(X[TRAIN], Y[TRAIN])
    plain = clone(model).fit(X[TRAIN], Y[TRAIN])
    score = METRICS[metric].prepare(Y[TRAIN])
    before = score(Y[TEST], plain.predict(X[TEST]))
    after = score(Y[TEST], tuned.predict(X[TEST]))
    gain = after - before if METRICS[metric].greater_is_better else before - after
    assert gain > -0.03  # chance
    probabilities = tuned.predict_proba(X[TEST])
    assert probabilities.shape == (500, 6)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_tuning_for_f1_gains_much_where_a_model_is_unsure():
    model = KNeighborsClassifier(150)
    tuned = TunedDecoder(model, random_state=0).fit(X[TRAIN], Y[TRAIN])
    score = METRICS["example_f1"].prepare()
    plain = score(Y[TEST], model.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]))
    assert score(Y[TEST], tuned.predict(X[TEST])) > plain + 0.05


def test_results_tell_what_was_tried_best_first():
    tuned = TunedDecoder(
        KNeighborsClassifier(), decoding=["threshold", "f1"], metric="hamming_loss", random_state=0
    ).fit(X, Y)
    assert len(tuned.results_) == 2 * 3
    scores = [result["score"] for result in tuned.results_]
    assert scores == sorted(scores)
    assert {result["calibration"] for result in tuned.results_} == {None, "sigmoid", "isotonic"}
    assert type(tuned.decoder_) is type(tuned.results_[0]["decoder"])


def test_scores_of_candidates_come_from_rows_that_nothing_was_fitted_on():
    """A threshold tuned on pure noise would look better than chance on its own rows."""
    rng = np.random.default_rng(0)
    noise = (rng.random((60, 40)) < 0.5).astype(int)
    tuned = TunedDecoder(
        KNeighborsClassifier(3),
        decoding="label_thresholds",
        calibration=None,
        metric="hamming_loss",
        random_state=0,
    ).fit(rng.normal(size=(60, 3)), noise)
    assert tuned.results_[0]["score"] == pytest.approx(0.5, abs=0.03)
    own_rows = TunedDecoder(KNeighborsClassifier(3)).set_params(**tuned.get_params())
    assert own_rows.get_params() == tuned.get_params()


def test_a_fixed_decoder_without_calibration_decodes_the_model_itself():
    tuned = TunedDecoder(
        KNeighborsClassifier(), decoding=TopK(2), calibration=None, random_state=0
    ).fit(X[TRAIN], Y[TRAIN])
    plain = KNeighborsClassifier().fit(X[TRAIN], Y[TRAIN])
    expected = TopK(2).decode(label_scores(plain, X[TEST], 6))
    np.testing.assert_array_equal(tuned.predict(X[TEST]), expected)


def test_a_threshold_without_score_is_tuned_for_the_metric():
    options = {"decoding": "tuned_threshold", "calibration": None, "random_state": 0}
    thresholds = {
        metric: TunedDecoder(KNeighborsClassifier(20), metric=metric, **options)
        .fit(X, Y)
        .decoder_.threshold_
        for metric in ("example_recall", "example_precision", "hamming_loss")
    }
    assert thresholds["example_recall"] < thresholds["hamming_loss"]
    assert thresholds["hamming_loss"] < thresholds["example_precision"]


def test_a_metric_is_tuned_for_as_one_that_takes_dense_matrices_only():
    X, Y = make_multilabel(160, 6, 60, cardinality=2.0, random_state=0)
    known = METRICS["example_f1"]

    def dense_f1(y_true, y_pred, **options):
        assert isinstance(y_true, np.ndarray)
        assert isinstance(y_pred, np.ndarray)
        return known.function(y_true, y_pred, **options)

    results = [
        TunedDecoder(
            TreeClassifier(min_samples_leaf=5, random_state=0), metric=metric, cv=2, random_state=0
        )
        .fit(X, Y)
        .results_
        for metric in (known, replace(known, function=dense_f1))
    ]
    tried, expected = (
        [(type(r["decoder"]), r["calibration"], r["score"]) for r in each] for each in results
    )
    assert tried == expected


def test_sparse_labels_stay_sparse():
    tree = TreeClassifier(min_samples_leaf=5, random_state=0)
    options = {"decoding": ["threshold", "f1", "tuned_threshold"], "random_state": 0}
    tuned = TunedDecoder(tree, **options).fit(X[TRAIN], sparse.csc_matrix(Y[TRAIN]))
    predicted = tuned.predict(X[TEST])
    assert isinstance(predicted, sparse.csr_array)
    assert METRICS["example_f1"].prepare()(Y[TEST], predicted) > 0.4


def test_unobserved_labels_are_learnt_around():
    rng = np.random.default_rng(0)
    gaps = Y.astype(float)
    gaps[rng.random(Y.shape) < 0.4] = np.nan
    tree = TreeClassifier(min_samples_leaf=5, random_state=0)
    tuned = TunedDecoder(tree, random_state=0).fit(X[TRAIN], gaps[TRAIN])
    plain = tree.fit(X[TRAIN], gaps[TRAIN])
    score = METRICS["example_f1"].prepare()
    before, after = (score(Y[TEST], model.predict(X[TEST])) for model in (plain, tuned))
    assert after > before - 0.03
    assert after > 0.5


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcde"))
    labels = pd.DataFrame(Y, columns=list("uvwxyz"))
    tuned = TunedDecoder(TreeClassifier(max_depth=3), decoding="f1", random_state=0)
    tuned.fit(frame, labels)
    assert list(tuned.feature_names_in_) == list("abcde")
    assert list(tuned.estimator_.output_names_) == list("uvwxyz")


def test_labels_without_a_positive_row_in_a_fold_are_no_trouble():
    rare = Y.copy()
    rare[:, 0] = 0
    rare[3, 0] = 1
    for model in (MODELS["list of probabilities"], MODELS["polyleaf tree"]):
        assert TunedDecoder(model, random_state=0).fit(X, rare).predict(X).shape == Y.shape


def test_the_same_seed_gives_the_same_label_sets():
    first, second = (
        TunedDecoder(KNeighborsClassifier(), random_state=1, n_jobs=n).fit(X[TRAIN], Y[TRAIN])
        for n in (None, 2)
    )
    np.testing.assert_array_equal(first.predict(X[TEST]), second.predict(X[TEST]))


def test_it_works_within_searches_and_cross_validation():
    tuned = TunedDecoder(KNeighborsClassifier(), decoding=["threshold", "f1"], cv=KFold(3))
    search = GridSearchCV(tuned, {"estimator__n_neighbors": [1, 15, 150]}, cv=2).fit(X, Y)
    assert search.best_params_["estimator__n_neighbors"] == 15
    assert cross_val_score(tuned, X, Y, cv=2).shape == (2,)


def test_its_score_is_the_metric_and_higher_is_better():
    tuned = TunedDecoder(KNeighborsClassifier(), random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert tuned.score(X[TEST], Y[TEST]) == METRICS["example_f1"].prepare()(
        Y[TEST], tuned.predict(X[TEST])
    )
    tuned.set_params(metric="hamming_loss")
    assert tuned.score(X[TEST], Y[TEST]) == -METRICS["hamming_loss"].prepare()(
        Y[TEST], tuned.predict(X[TEST])
    )


def test_it_can_be_pickled_and_asks_for_fit():
    tuned = TunedDecoder(KNeighborsClassifier(), random_state=0)
    with pytest.raises(NotFittedError):
        tuned.predict(X)
    again = pickle.loads(pickle.dumps(tuned.fit(X, Y)))
    np.testing.assert_array_equal(again.predict(X), tuned.predict(X))


class WithoutScores:
    def get_params(self, deep=False):
        return {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "lrap"}, "must compare label sets: one of 'hamming_loss'.*got 'lrap', which"),
        ({"metric": "example_f"}, "Did you mean 'example_f1'"),
        ({"decoding": "f2"}, "decoding must be one of"),
        ({"decoding": []}, "at least one decoder"),
        ({"calibration": "platt"}, "'auto', 'sigmoid', 'isotonic' or None; got 'platt'"),
        ({"cv": 1}, "cv must be an integer >= 2 or an object with split; got 1"),
        (
            {"estimator": RidgeClassifier(), "calibration": None},
            "must not be None with RidgeClassifier",
        ),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    tuned = TunedDecoder(KNeighborsClassifier()).set_params(**options)
    with pytest.raises(ValueError, match=message):
        tuned.fit(X, Y)


def test_wrong_estimators_and_labels_are_refused():
    with pytest.raises(TypeError, match="WithoutScores has neither"):
        TunedDecoder(WithoutScores()).fit(X, Y)
    with pytest.raises(ValueError, match=r"column per label; got shape \(1200,\)"):
        TunedDecoder(KNeighborsClassifier()).fit(X, Y[:, 0])


def test_decoders_given_as_instances_are_not_changed():
    given = [TunedThreshold(), ExampleF1(), Threshold(0.3)]
    tuned = TunedDecoder(KNeighborsClassifier(), decoding=given, random_state=0).fit(X, Y)
    assert not hasattr(given[0], "threshold_")
    assert tuned.decoder_ is not given[1]


@pytest.mark.parametrize(
    ("metric", "shown"), [("macro_f1", "score=macro_f1"), ("hamming_loss", "score=-hamming_loss")]
)
def test_a_decoder_says_by_name_what_it_is_tuned_for(metric, shown):
    tuned = TunedDecoder(
        KNeighborsClassifier(), metric=metric, decoding=["tuned_threshold"], random_state=0
    ).fit(X[:200], Y[:200])
    assert shown in repr(tuned.decoder_)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.array(1.0), "got scalar array"),
        (np.zeros((60, 4, 2)), "dim 3"),
        (np.zeros((0, 4)), r"0 sample\(s\)"),
        (np.zeros((60, 0)), r"0 feature\(s\)"),
        (np.zeros((50, 4)), r"inconsistent numbers of samples: \[50, 60\]"),
        ([], r"0 sample\(s\)"),
        ("text", "data frame or a scipy.sparse matrix; got str"),
        (None, "data frame or a scipy.sparse matrix; got NoneType"),
        ({}, "data frame or a scipy.sparse matrix; got dict"),
        (3, "data frame or a scipy.sparse matrix; got int"),
    ],
)
def test_features_that_are_no_rows_are_refused(wrong, message):
    for estimator in (KNeighborsClassifier(3), TreeClassifier(max_depth=2)):
        tuned = TunedDecoder(estimator, cv=2, random_state=0)
        with pytest.raises((TypeError, ValueError), match=message):
            tuned.fit(wrong, Y[:60])


def test_a_fit_that_fails_leaves_the_one_before():
    tuned = TunedDecoder(TreeClassifier(max_depth=2), cv=2, random_state=0).fit(X[:60], Y[:60])
    before, results = tuned.predict(X), tuned.results_
    with pytest.raises(ValueError, match="dim 3"):
        tuned.fit(np.zeros((60, 4, 2)), Y[:60])
    assert tuned.results_ is results
    np.testing.assert_array_equal(tuned.predict(X), before)


def test_rows_may_be_texts_in_front_of_a_vectoriser():
    words = ["red round", "blue square", "red square", "blue round"] * 10
    labels = np.array([[w.startswith("red"), w.endswith("round")] for w in words]).astype(int)
    model = make_pipeline(CountVectorizer(), KNeighborsClassifier(3))
    tuned = TunedDecoder(model, cv=2, random_state=0).fit(words, labels)
    np.testing.assert_array_equal(tuned.predict(words), labels)


@pytest.mark.parametrize("inner", ["tree", "neighbours"])
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.float64(3.0), "scalar array"),
        (np.zeros((40, 2, 2)), "dim 3"),
        (np.zeros((0, 4)), "0 sample"),
        (np.zeros((40, 0)), "0 feature"),
        ([], "0 sample"),
        ("text", "got str"),
        (None, "got NoneType"),
    ],
    ids=["0-d", "3-d", "no rows", "no columns", "empty list", "string", "None"],
)
def test_what_is_no_matrix_of_features_is_refused_in_fit(inner, X, message):
    model = TreeClassifier(max_depth=2) if inner == "tree" else KNeighborsClassifier(2)
    tuned = TunedDecoder(model, decoding="threshold", calibration=None, cv=2)
    Y = np.arange(80).reshape(40, 2) % 3 == 0
    with pytest.raises((TypeError, ValueError), match=message):
        tuned.fit(X, Y)
    assert not hasattr(tuned, "estimator_")
