"""Trials of what other systems have: losses have their gradients, trees send rows as told."""

import numpy as np
import pytest

from benchmarks import clus_counts, rule_statistics, rule_surrogates, tree_wishes
from polyleaf.datasets import make_linear_labels
from polyleaf.losses import LossTargets
from polyleaf.projections import ProjectionContext

LOSSES = [
    rule_surrogates.Flips,
    rule_surrogates.JaccardFlips,
    rule_surrogates.LabelFlips,
    rule_surrogates.JaccardLabelFlips,
    rule_surrogates.Soft,
    rule_surrogates.SoftJaccard,
]


def rows(n_rows=6, n_labels=4):
    rng = np.random.default_rng(0)
    labels = (rng.random((n_rows, n_labels)) < 0.4) * 1.0
    labels[0] = 0.0
    return labels, rng.normal(size=(n_rows, n_labels))


@pytest.mark.parametrize("cls", LOSSES)
def test_gradients_of_surrogates_are_differences_of_losses(cls):
    labels, raw = rows()
    loss, targets, step = cls(), LossTargets.of(labels), 1e-6
    found = loss.gradient(targets, raw)
    for k in range(labels.shape[1]):
        moved = np.zeros_like(raw)
        moved[:, k] = step
        rise = loss.row_losses(targets, raw + moved) - loss.row_losses(targets, raw - moved)
        np.testing.assert_allclose(found[:, k], rise / (2 * step), atol=1e-8)
    assert (loss.quadratic(targets, raw).diagonal > 0).all()


@pytest.mark.parametrize(
    "cls", [c for c in LOSSES if not issubclass(c, rule_surrogates.LabelFlips)]
)
def test_losses_of_label_sets_are_those_of_rows_with_these_labels(cls):
    labels, raw = rows()
    loss = cls()
    found = loss.set_losses(raw, labels > 0)
    for place, one in enumerate(labels):
        targets = LossTargets.of(np.tile(one, (len(raw), 1)))
        np.testing.assert_allclose(found[:, place], loss.row_losses(targets, raw), rtol=1e-9)


def test_costs_are_what_the_measures_lose_by_one_wrong_label():
    for n in range(5):
        truth = np.arange(6) < n
        for is_jaccard in (False, True):
            left_out, too_many = rule_surrogates.flip_costs(np.array(n), is_jaccard)
            for k in range(6):
                found = truth.copy()
                found[k] = not found[k]
                f1, jaccard, _ = rule_surrogates.scores_of(found[None], truth[None])
                lost = 1 - (jaccard if is_jaccard else f1) / 100
                assert lost == pytest.approx(float(left_out if truth[k] else too_many)), (n, k)


@pytest.mark.parametrize("way", rule_surrogates.WAYS)
def test_every_surrogate_learns(way):
    X, Y = make_linear_labels(120, 4, random_state=0)
    model = rule_surrogates.fitted(X, Y.astype(int), way, 30, 0)
    assert rule_surrogates.scores_of(model.predict(X), Y == 1)[0] > 55


def test_trees_of_numpy_agree_where_nothing_is_missing():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 4)), np.ones(60)
    Y = np.column_stack([X[:, 0] > 0, X[:, 1]]).astype(float)
    Y -= Y.mean(axis=0)
    first, second = (
        tree_wishes.grow(X, Y, weights, way, np.random.default_rng(1)) for way in (False, True)
    )
    found = tree_wishes.predict(first, X, False)
    np.testing.assert_allclose(found, tree_wishes.predict(second, X, True), atol=1e-12)
    assert ((found - Y) ** 2).mean() < 0.2 * (Y**2).mean()


def test_a_row_without_a_value_gets_the_weighted_mean_of_both_sides():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0], [np.nan]])
    Y = np.array([[0.0], [0.0], [0.0], [0.0], [6.0], [6.0], [3.0]])
    tree = tree_wishes.grow(X, Y, np.ones(7), True, np.random.default_rng(0))
    assert tree.threshold == 0.5
    # The row of 3 counts by two thirds on the left and by one third on the right.
    left, right = (child.value[0] for child in tree.children)
    assert (left, right) == pytest.approx(((2 / 3) * 3 / (4 + 2 / 3), (12 + 1) / (2 + 1 / 3)))
    found = tree_wishes.predict(tree, np.array([[np.nan], [0.0]]), True)[:, 0]
    assert found == pytest.approx([(left * (4 + 2 / 3) + right * (2 + 1 / 3)) / 7, left])


def test_related_subspaces_hold_targets_that_go_together():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(200, 2))
    Y = np.repeat(base, 4, axis=1) + 0.05 * rng.normal(size=(200, 8))

    def share_of_one_group(related):
        counts = []
        for number in range(1, 40):
            context = ProjectionContext(
                round=number, rng=rng, values=Y, channel_offsets=np.arange(9, dtype=np.int32)
            )
            view = tree_wishes.RelatedSubspaces(0.5, related=related).draw(context)
            assert len(set(view.selected.tolist())) == 4
            counts.append(max(np.bincount(view.selected // 4, minlength=2)))
        return np.mean(counts)

    assert share_of_one_group(True) > 3.5
    assert share_of_one_group(False) < 3.5


def test_half_the_labels_are_timed_beside_all():
    X, Y = make_linear_labels(100, 4, random_state=0)
    parts = (X, Y.astype(int), X, Y == 1)
    found = rule_statistics.halves(parts, "lw-single", 5)
    assert found["ratio"] == pytest.approx(found["half_s"] / found["all_s"])
    shares = rule_statistics.zeros(parts, 5, "squared_hinge")
    assert 0 < shares["not 0, last"] <= 100


def test_ways_to_count_differ_in_features_and_in_draws():
    X, Y, X_test, Y_test = clus_counts.parts_of("5 features", 0)
    assert (X.shape, Y.shape, len(X_test)) == ((300, 5), (300, 8), 100)
    tried = [clus_counts.WAYS[way](5, 0) for way in clus_counts.WAYS]
    assert tried[0].max_features == 2
    assert tried[1].max_features == 3
    assert tried[2].make(5, 0).estimator.max_features == 3
    found = [model.set_params(n_estimators=20) for model in tried[:2]]
    tried[2].N_TREES = 20
    for model in (*found, tried[2]):
        predicted = model.fit(X, Y).predict(X_test)
        assert np.mean((predicted - Y_test) ** 2) < np.mean((Y.mean(axis=0) - Y_test) ** 2)
