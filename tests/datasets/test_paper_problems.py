import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polyleaf.datasets import (
    make_circle_labels,
    make_extreme_labels,
    make_friedman1_targets,
    make_linear_labels,
)


def friedman1(x):
    return (
        10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
        + 10 * x[:, 3] + 5 * x[:, 4]
    )  # fmt: skip


def test_chain_adds_up_noise_along_the_targets():
    X, Y = make_friedman1_targets(4000, structure="chain", random_state=0)
    errors = Y - friedman1(X)[:, None]
    np.testing.assert_allclose(errors.var(axis=0), np.arange(1, 17), rtol=0.1)
    np.testing.assert_allclose(np.diff(errors, axis=1).var(axis=0), 1.0, rtol=0.1)


def test_group_has_independent_noise_around_one_signal():
    X, Y = make_friedman1_targets(4000, structure="group", random_state=0)
    errors = Y - friedman1(X)[:, None]
    np.testing.assert_allclose(np.cov(errors.T), np.eye(16), atol=0.1)


def test_ind_gives_each_target_features_of_its_own():
    X, Y = make_friedman1_targets(4000, 3, structure="ind", random_state=0)
    signal = np.column_stack([friedman1(X[:, 5 * j : 5 * j + 5]) for j in range(3)])
    np.testing.assert_allclose(np.cov((Y - signal).T), np.eye(3), atol=0.1)
    np.testing.assert_allclose(X.std(axis=0), 1.0, rtol=0.1)


def test_noise_targets_are_permutations_that_tell_nothing():
    X, Y = make_friedman1_targets(2000, 4, n_noise_targets=4, random_state=0)
    assert Y.shape == (2000, 8)
    np.testing.assert_array_equal(np.sort(Y[:, :4], axis=0), np.sort(Y[:, 4:], axis=0))
    assert abs(np.corrcoef(Y[:, 4], friedman1(X))[0, 1]) < 0.1


def test_independent_linear_labels_have_the_published_bayes_losses():
    noisy, clean = (
        make_linear_labels(20_000, noise=noise, random_state=0)[1] for noise in (0.1, 0.0)
    )
    wrong = noisy != clean
    assert wrong.mean() == pytest.approx(0.1, abs=0.005)
    assert wrong.any(axis=1).mean() == pytest.approx(1 - 0.9**6, abs=0.01)
    assert np.abs(np.corrcoef(noisy.T) - np.eye(6)).max() < 0.05


def test_conditionally_dependent_labels_are_flipped_all_together():
    noisy, clean = (
        make_linear_labels(20_000, dependence="conditional", noise=noise, random_state=0)[1]
        for noise in (0.1, 0.0)
    )
    wrong = noisy != clean
    assert (wrong.all(axis=1) == wrong.any(axis=1)).all()
    assert wrong.mean() == pytest.approx(0.1, abs=0.01)


def test_marginally_dependent_labels_mostly_agree():
    X, Y = make_linear_labels(5000, dependence="marginal", noise=0.0, random_state=0)
    assert X.shape == (5000, 2)
    assert np.corrcoef(Y.T).min() > 0.9
    assert (Y.min(axis=1) != Y.max(axis=1)).any()
    assert (np.linalg.norm(X, axis=1) <= 1).all()


@pytest.mark.parametrize(("n_labels", "density"), [(10, 0.85), (50, 0.71)])
def test_circle_labels_have_the_published_statistics(n_labels, density):
    X, Y = make_circle_labels(1000, n_labels, density=density, random_state=0)
    assert X.shape == (1000, 3)
    assert Y.mean() == pytest.approx(density, abs=0.005)
    assert ((Y.mean(axis=0) > 0) & (Y.mean(axis=0) < 1)).all()


def test_extreme_labels_fall_by_a_power_law_and_come_with_their_features():
    X, Y = make_extreme_labels(20_000, 2000, 1000, exponent=1.0, random_state=0)
    counts = np.sort(Y.sum(axis=0))[::-1]
    slope = np.polyfit(np.log(np.arange(1, 201)), np.log(counts[:200]), 1)[0]
    assert -1.2 < slope < -0.7
    assert Y.sum(axis=1).mean() == pytest.approx(4.5, abs=0.6)
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    # The best single feature of a frequent label tells it far better than chance.
    label = Y[:, [20]].toarray().ravel() > 0
    shown = X[label].mean(axis=0) / np.maximum(X.mean(axis=0), 1e-9)
    assert shown.max() > 5


def test_extreme_labels_need_memory_for_their_entries_only():
    tracemalloc.start()
    _, Y = make_extreme_labels(5000, 10_000, 200_000, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert Y.shape == (5000, 200_000)  # 1 GB as a dense matrix of bytes
    assert peak < 200e6


@pytest.mark.parametrize("n_labels", [1, 7, 10])
def test_unions_of_circle_labels_hold_where_the_label_before_holds(n_labels):
    X, Y = make_circle_labels(1000, n_labels, union_share=0.5, random_state=0)
    for union in range(1, n_labels, 2):
        assert (Y[:, union] >= Y[:, union - 1]).all()
        assert Y[:, union].mean() > Y[:, union - 1].mean()
    assert Y.mean() == pytest.approx(0.85, abs=0.002)
    lines = [LogisticRegression(C=1e6).fit(X, y).score(X, y) for y in Y.T]
    assert min(lines[0::2]) > 0.99
    assert n_labels == 1 or min(lines[1::2]) < 0.97


@pytest.mark.parametrize(
    "make",
    [
        make_friedman1_targets,
        make_linear_labels,
        make_circle_labels,
        lambda random_state: make_extreme_labels(100, 50, 30, random_state=random_state),
    ],
)
def test_same_seed_gives_the_same_data(make):
    first, second, other = (make(random_state=seed) for seed in (1, 1, 2))
    assert abs(first[0] - second[0]).max() == 0
    assert abs(first[1] - second[1]).max() == 0
    assert abs(first[0] - other[0]).max() > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_friedman1_targets(0), "n_samples must be an integer, 1 or more; got 0"),
        (
            lambda: make_friedman1_targets(n_noise_targets=-1),
            "must be an integer, 0 or more",
        ),
        (lambda: make_friedman1_targets(structure="x"), "'chain', 'group' or 'ind'; got 'x'"),
        (lambda: make_linear_labels(noise=0.6), "noise must be from 0 to 0.5"),
        (lambda: make_linear_labels(dependence="x"), "dependence must be"),
        (lambda: make_circle_labels(density=1), "density must be from 0.5 to below 1"),
        (lambda: make_circle_labels(union_share=0.6), "union_share must be from 0 to 0.5"),
        (lambda: make_extreme_labels(n_labels=0), "n_labels must be an integer, 1 or more"),
        (lambda: make_extreme_labels(cardinality=0.5), "cardinality must be from 1"),
        (lambda: make_extreme_labels(exponent=-1), "exponent must be 0 or more"),
    ],
)
def test_wrong_parameters_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
