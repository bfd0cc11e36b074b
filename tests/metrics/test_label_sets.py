import naive_metrics as naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn import metrics as sklearn_metrics

from polyleaf import metrics

PAIRS = [
    (metrics.hamming_loss, naive.hamming),
    (metrics.subset_zero_one_loss, naive.subset_zero_one),
    (metrics.example_precision_score, naive.precision),
    (metrics.example_recall_score, naive.recall),
    (metrics.example_f1_score, naive.f1),
    (metrics.example_jaccard_score, naive.jaccard),
]
each_pair = pytest.mark.parametrize(
    ("metric", "reference"), PAIRS, ids=[metric.__name__ for metric, _ in PAIRS]
)


@each_pair
@given(problem=naive.label_problems(unobserved=True))
def test_metric_equals_its_definition_with_unobserved_entries(metric, reference, problem):
    true, pred, _, weights = problem
    for y_true, y_pred in naive.layouts(true, pred):
        np.testing.assert_allclose(
            metric(y_true, y_pred, sample_weight=weights), reference(true, pred, weights)
        )


@each_pair
@given(problem=naive.label_problems())
def test_metric_equals_its_definition_in_every_layout(metric, reference, problem):
    true, pred, _, weights = problem
    expected = reference(true, pred, weights)
    for y_true, y_pred in naive.layouts(true, pred):
        assert metric(y_true, y_pred, sample_weight=weights) == pytest.approx(expected)


@given(problem=naive.label_problems(min_labels=2))
def test_metrics_equal_those_of_scikit_learn(problem):
    true, pred, _, weights = problem
    options = {"sample_weight": weights}
    assert metrics.hamming_loss(true, pred, **options) == pytest.approx(
        sklearn_metrics.hamming_loss(true, pred, **options)
    )
    assert metrics.multilabel_accuracy_score(true, pred, **options) == pytest.approx(
        sklearn_metrics.accuracy_score(true, pred, **options)
    )
    for zero_division in (0.0, 1.0):
        options["zero_division"] = zero_division
        for name in ("precision", "recall", "f1", "jaccard"):
            ours = getattr(metrics, f"example_{name}_score")(true, pred, **options)
            theirs = getattr(sklearn_metrics, f"{name}_score")(
                true, pred, average="samples", **options
            )
            assert ours == pytest.approx(theirs), name
        for average in ("macro", "micro", None):
            np.testing.assert_allclose(
                metrics.label_f1_score(true, pred, average=average, **options),
                sklearn_metrics.f1_score(true, pred, average=average, **options),
            )


@given(problem=naive.label_problems(unobserved=True))
def test_label_f1_of_observed_rows_equals_that_of_a_label_alone(problem):
    true, pred, _, weights = problem
    for y_true, y_pred in naive.layouts(true, pred):
        scores = metrics.label_f1_score(
            y_true, y_pred, average=None, sample_weight=weights, zero_division=0.25
        )
        for j, score in enumerate(scores):
            known = ~np.isnan(true[:, j])
            both = weights[known] @ (true[known, j] * pred[known, j])
            sizes = weights[known] @ (true[known, j] + pred[known, j])
            expected = 2 * both / sizes if sizes else 0.25
            expected = expected if weights[known].sum() else np.nan
            assert score == pytest.approx(expected, nan_ok=True)


@given(problem=naive.label_problems(unobserved=True))
def test_accuracies_are_one_minus_losses(problem):
    true, pred, _, weights = problem
    for accuracy, loss in (
        (metrics.microlabel_accuracy_score, metrics.hamming_loss),
        (metrics.multilabel_accuracy_score, metrics.subset_zero_one_loss),
    ):
        np.testing.assert_allclose(
            accuracy(true, pred, sample_weight=weights),
            1 - loss(true, pred, sample_weight=weights),
        )


def test_entry_weights_weigh_the_errors_of_the_hamming_loss():
    true = np.array([[1, 0], [np.nan, 1]])
    pred = np.array([[0, 0], [1, 0]])
    weights = np.array([[1.0, 2.0], [9.0, 3.0]])
    assert metrics.hamming_loss(true, pred, sample_weight=weights) == pytest.approx(4 / 6)
    with pytest.raises(ValueError, match="needs dense labels"):
        metrics.hamming_loss(true, sparse.csr_array(pred), sample_weight=weights)


def test_zero_division_of_nan_leaves_rows_out():
    true = [[0, 0], [1, 0]]
    pred = [[0, 0], [1, 1]]
    for metric in (metrics.example_precision_score, metrics.example_jaccard_score):
        assert metric(true, pred, zero_division=np.nan) == 0.5
        assert metric(true, pred, zero_division=0.0) == 0.25
        assert metric(true, pred) == 0.75


def test_nothing_observed_gives_nan():
    true = np.full((2, 2), np.nan)
    for metric, _ in PAIRS:
        assert np.isnan(metric(true, np.ones((2, 2))))


def test_labels_may_be_boolean_frames_and_lists():
    pandas = pytest.importorskip("pandas")
    true = pandas.DataFrame({"a": [1, 0], "b": [None, 1]})
    assert metrics.hamming_loss(true, [[True, True], [True, True]]) == pytest.approx(1 / 3)


@settings(max_examples=10)
@given(problem=naive.label_problems())
def test_explicit_zeros_and_duplicates_of_a_sparse_matrix_do_not_matter(problem):
    true, pred, _, _ = problem
    stored = sparse.coo_array(np.ones_like(true))
    with_zeros = sparse.csr_array((true.ravel(), (stored.row, stored.col)), shape=true.shape)
    halves = sparse.coo_array(
        (np.repeat(pred[stored.row, stored.col] / 2, 2), np.repeat(stored.coords, 2, axis=1)),
        shape=pred.shape,
    )
    assert metrics.example_f1_score(with_zeros, halves) == pytest.approx(
        metrics.example_f1_score(true, pred)
    )


@pytest.mark.parametrize(
    ("true", "pred", "options", "message"),
    [
        ([[1, 2]], [[1, 0]], {}, "y_true must hold 0 and 1 only, one column per label"),
        ([[1, 0]], [[1, np.nan]], {}, "Only y_true may have entries that are not observed"),
        ([1, 0], [1, 0], {}, r"y_true must be a matrix .* got shape \(2,\)"),
        ([[1, 0]], [[1, 0, 1]], {}, r"y_pred must have the shape of y_true, \(1, 2\)"),
        ([["a", "b"]], [[1, 0]], {}, "y_true must hold numbers"),
        (sparse.csr_array([[2, 1]]), [[1, 0]], {}, "0 and 1 only where it is sparse"),
        (sparse.csr_array([[np.nan, 1]]), [[1, 0]], {}, "0 and 1 only where it is sparse"),
        (sparse.csr_array((0, 2)), [[1, 0]], {}, "at least one row"),
        ([[1, 0]], [[1, 0]], {"sample_weight": [1, 2]}, r"shape \(1,\), one weight per row"),
        ([[1, 0]], [[1, 0]], {"sample_weight": [-1]}, "finite numbers >= 0"),
        ([[1, 0]], [[1, 0]], {"sample_weight": [0]}, "not all 0"),
        ([[1, 0]], [[1, 0]], {"zero_division": 2}, "zero_division must be from 0 to 1, or NaN"),
    ],
)
def test_wrong_inputs_are_refused(true, pred, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.example_f1_score(true, pred, **options)


def test_wrong_average_is_refused():
    with pytest.raises(ValueError, match="average must be 'macro', 'micro' or None; got 'all'"):
        metrics.label_f1_score([[1]], [[1]], average="all")


def test_a_million_labels_fit_in_memory():
    rng = np.random.default_rng(0)
    shape = (1000, 10**6)  # 1 GB as a dense matrix of bytes
    columns = rng.choice(shape[1], size=5000, replace=False)
    rows = np.repeat(np.arange(1000), 5)
    true = sparse.csr_array((np.ones(5000, np.int8), (rows, columns)), shape=shape)
    assert metrics.example_f1_score(true, true) == 1.0
    assert metrics.label_f1_score(true, true, average="micro") == 1.0


def test_a_label_that_is_never_observed_does_not_count():
    true = np.array([[1, np.nan], [0, np.nan], [1, np.nan]])
    pred = np.array([[1, 1], [0, 0], [1, 0]])
    assert metrics.label_f1_score(true, pred) == 1.0
    scores = metrics.label_f1_score(true, pred, average=None)
    assert np.array_equal(scores, [1.0, np.nan], equal_nan=True)
    for average in ("macro", "micro"):
        assert np.isnan(metrics.label_f1_score(np.full((3, 2), np.nan), pred, average=average))


@pytest.mark.parametrize("name", ["hamming_loss", "macro_f1", "lrap", "one_error", "r2"])
def test_nullable_columns_hold_what_is_not_observed(name):
    true = np.array([[1, 0, 1], [np.nan, 1, 0], [0, 1, np.nan]])
    pred = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0]])
    nullable = pd.DataFrame(true).astype("Int64")
    assert nullable.to_numpy().dtype == object
    metric = metrics.METRICS[name].function
    assert metric(nullable, pd.DataFrame(pred).astype("Int64")) == metric(true, pred)
