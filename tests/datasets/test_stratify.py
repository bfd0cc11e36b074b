import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import KFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from polyleaf.datasets import MultiLabelKFold, make_multilabel, stratified_parts
from polyleaf.datasets._stratify import _label_pairs

KINDS = ("label", "label_pair", "label_set", "cardinality")
_, Y = make_multilabel(2000, 5, 30, cardinality=3, skew=1.2, random_state=0)


def spread(Y, part_of):
    """The largest difference of a column's share in a part from its share in all, in rows."""
    parts = [Y[part_of == part] for part in np.unique(part_of)]
    return max(np.abs(part.sum(axis=0) - Y.mean(axis=0) * len(part)).max() for part in parts)


def random_parts(n_rows, n_parts):
    return np.random.default_rng(0).permutation(n_rows) % n_parts


@pytest.mark.parametrize("by", KINDS)
@given(seed=st.integers(0, 10**6), n_parts=st.integers(2, 5))
def test_every_row_is_in_one_part_and_parts_have_their_size(by, seed, n_parts):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(n_parts, 40))
    labels = rng.random((n, int(rng.integers(1, 6)))) < rng.random()
    part_of = stratified_parts(labels, [1] * n_parts, by=by, random_state=seed)
    counts = np.bincount(part_of, minlength=n_parts)
    assert counts.sum() == n
    assert counts.max() - counts.min() <= 1


def test_labels_are_spread_to_the_row_where_chance_is_far_off():
    part_of = stratified_parts(Y, [0.2] * 5, random_state=0)
    assert spread(Y, part_of) <= 3
    assert spread(Y, random_parts(2000, 5)) > 10


def test_second_order_spreads_pairs_of_labels_better_than_the_first():
    pairs = _label_pairs(sparse.csr_array(Y)).toarray()
    first, second = (
        spread(pairs, stratified_parts(Y, [0.2] * 5, by=by, random_state=0))
        for by in ("label", "label_pair")
    )
    assert second < first / 2


def test_label_sets_are_spread_to_the_row():
    part_of = stratified_parts(Y, [0.5, 0.5], by="label_set", random_state=0)
    sets, group_of = np.unique(Y, axis=0, return_inverse=True)
    one_hot = np.eye(len(sets))[group_of.ravel()]
    assert spread(one_hot, part_of) <= 0.5 + 1e-9


def test_numbers_of_labels_are_spread_to_the_row():
    part_of = stratified_parts(Y, [0.25] * 4, by="cardinality", random_state=0)
    one_hot = np.eye(Y.shape[1] + 1)[Y.sum(axis=1)]
    assert spread(one_hot, part_of) < 1


@pytest.mark.parametrize("by", KINDS)
def test_sizes_are_shares_of_the_rows(by):
    part_of = stratified_parts(Y, (7, 2, 1), by=by, random_state=0)
    np.testing.assert_array_equal(np.bincount(part_of), [1400, 400, 200])


@pytest.mark.parametrize("by", KINDS)
def test_the_same_seed_gives_the_same_parts_for_dense_and_sparse_labels(by):
    first = stratified_parts(Y, (0.5, 0.5), by=by, random_state=3)
    np.testing.assert_array_equal(
        stratified_parts(sparse.csc_matrix(Y), (0.5, 0.5), by=by, random_state=3), first
    )
    other = stratified_parts(Y, (0.5, 0.5), by=by, random_state=4)
    assert not np.array_equal(first, other)


def test_pairs_of_labels_are_those_of_a_naive_loop():
    labels = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]])
    naive = [
        [labels[i, a] * labels[i, b] for a in range(3) for b in range(a, 3)] for i in range(3)
    ]
    occurs = np.array(naive)[:, np.array(naive).any(axis=0)]
    np.testing.assert_array_equal(_label_pairs(sparse.csr_array(labels)).toarray(), occurs)


def test_unobserved_labels_count_as_absent():
    gaps = Y.astype(float)
    gaps[::7, 3] = np.nan
    np.testing.assert_array_equal(
        stratified_parts(gaps, (0.5, 0.5), random_state=0),
        stratified_parts(np.nan_to_num(gaps), (0.5, 0.5), random_state=0),
    )


def test_rows_without_labels_fill_the_parts():
    part_of = stratified_parts(np.zeros((10, 3)), (0.5, 0.5), by="label", random_state=0)
    np.testing.assert_array_equal(np.bincount(part_of), [5, 5])


def test_folds_divide_the_rows_and_keep_every_label_in_training():
    rare = np.zeros((30, 4), dtype=int)
    rare[np.arange(12), np.arange(12) // 3] = 1  # three rows per label
    seen = np.zeros(30, dtype=int)
    for train, test in MultiLabelKFold(3, random_state=0).split(rare, rare):
        seen[test] += 1
        assert np.intersect1d(train, test).size == 0
        assert train.size + test.size == 30
        np.testing.assert_array_equal(rare[test].sum(axis=0), 1)
    assert (seen == 1).all()


def test_folds_work_in_the_functions_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    scores = cross_val_score(
        DecisionTreeClassifier(max_depth=2), X, Y, cv=MultiLabelKFold(3, random_state=0)
    )
    assert scores.shape == (3,)
    assert MultiLabelKFold(3).get_n_splits() == KFold(3).get_n_splits()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stratified_parts([1, 0], (1, 1)), r"got shape \(2,\).*StratifiedKFold"),
        (lambda: stratified_parts([[2]], (1, 1)), "0 and 1 only"),
        (lambda: stratified_parts([[1]], (1, 1)), "at least as many rows as there are parts, 2"),
        (lambda: stratified_parts([[1], [0]], (1,)), "at least two numbers above 0"),
        (lambda: stratified_parts([[1], [0]], (1, 0)), "at least two numbers above 0"),
        (
            lambda: stratified_parts([[1], [0]], (1, 1), by="labels"),
            "by must be one of 'label', 'label_pair', 'label_set', 'cardinality'; got 'labels'",
        ),
        (
            lambda: list(MultiLabelKFold(1).split(Y, Y)),
            "n_splits must be an integer from 2",
        ),
    ],
)
def test_wrong_inputs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
