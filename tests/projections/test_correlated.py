"""Outputs are drawn with those that they vary with."""

import numpy as np
import pytest
from scipy import sparse

from ramify.projections import Correlated
from ramify.projections._correlated import _squared_correlations

RNG = np.random.default_rng(0)
FACTORS = RNG.normal(size=(300, 2))
#: Two groups of three outputs.
Y = np.repeat(FACTORS, 3, axis=1) + 0.3 * RNG.normal(size=(300, 6))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_relations_are_squared_correlations(make_context, form, weighted):
    weights = RNG.random(300) if weighted else None
    values = np.where(Y > 0, Y, 0.0)
    context = make_context(form(values), weights=weights)
    covariance = np.cov(values.T, aweights=weights)
    expected = covariance**2 / np.outer(np.diag(covariance), np.diag(covariance))
    for output in range(6):
        found = _squared_correlations(context, output)
        np.testing.assert_allclose(found, expected[output], atol=1e-9)


def test_an_output_with_classes_counts_by_its_most_related_class(make_context):
    values = np.column_stack([Y[:, 0], Y[:, 3], Y[:, 1], Y[:, 4]])
    context = make_context(values, channel_offsets=np.array([0, 2, 3, 4], np.int32))
    expected = np.corrcoef(values.T)[:2, 2:] ** 2
    np.testing.assert_allclose(_squared_correlations(context, 0)[1:], expected.max(axis=0))


def test_related_outputs_are_drawn_together(make_context):
    context = make_context(Y)
    groups = []
    for seed in range(200):
        view = Correlated(2).draw(context.at_round(1, np.random.default_rng(seed)))
        groups.append(tuple(view.selected // 3))
    together = np.mean([first == second for first, second in groups])
    assert together > 0.95  # two in five by chance alone
    assert 60 < sum(first == 0 for first, _ in groups) < 140


def test_unrelated_outputs_can_still_be_drawn(make_context):
    context = make_context(Y)
    view = Correlated(6).draw(context.at_round(1, np.random.default_rng(0)))
    assert sorted(view.selected.tolist()) == [0, 1, 2, 3, 4, 5]


def test_masked_outputs_are_related_by_what_is_observed(make_context):
    observed = RNG.random(Y.shape) < 0.7
    context = make_context(np.where(observed, Y, 0.0), observed=observed)
    related = _squared_correlations(context, 0)
    assert related[1:3].min() > 5 * related[3:].max()
