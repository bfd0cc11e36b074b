"""Rows of gradients of the logistic loss alone do what rows with second derivatives do."""

import numpy as np
import pytest
from core_rules import (
    columns_of,
    head,
    induced,
    logistic_statistics,
    packed,
    params_of,
    three_columns,
)
from scipy import sparse

from polyleaf import _core

pytestmark = pytest.mark.kernel


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instruction_set(request):
    before = _core.instruction_set()
    if not _core.use_instruction_set(request.param):
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    _core.use_instruction_set(before)


@pytest.mark.parametrize("n_outputs", [1, 8, 13, 24, 37, 70, 137])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"head_size": 1},
        {"head_size": 3},
        {"head_share": 0.5},
        {"l1_regularization": 0.5},
        {"min_coverage": 25},
    ],
    ids=str,
)
def test_the_rule_is_that_of_rows_with_second_derivatives(instruction_set, n_outputs, settings):
    rng = np.random.default_rng(n_outputs)
    columns = columns_of(three_columns(rng))
    statistics = logistic_statistics(rng, 160, n_outputs, False)
    counts = rng.poisson(1.0, 160).astype(np.int32)
    params = params_of(3, **{"l2_regularization": 1.0, **settings})
    whole, conditions, rows = induced(columns, statistics, counts, params)
    short, short_conditions, short_rows = induced(columns, statistics, counts, params, True)
    assert len(conditions) > 0
    assert short_conditions == conditions
    assert short.outputs == whole.outputs
    assert np.array_equal(short_rows, rows)
    assert np.allclose(short.objectives, whole.objectives, rtol=1e-12, atol=0)


@pytest.mark.parametrize("head_size", [0, 1])
def test_words_give_the_rule_of_rows_with_second_derivatives(instruction_set, head_size):
    rng = np.random.default_rng(3)
    X = sparse.random_array((400, 30), density=0.1, format="csr", rng=rng)
    X.data[:] = 1.0
    columns = columns_of(X)
    statistics = logistic_statistics(rng, 400, 21, False)
    counts = rng.poisson(1.0, 400).astype(np.int32)
    params = params_of(30, l2_regularization=1.0, head_size=head_size)
    _, conditions, _ = induced(columns, statistics, counts, params)
    assert len(conditions) > 0
    assert induced(columns, statistics, counts, params, True)[1] == conditions


@pytest.mark.parametrize("n_outputs", [1, 3, 8, 37, 70])
def test_heads_are_those_of_rows_with_second_derivatives(instruction_set, n_outputs):
    rng = np.random.default_rng(n_outputs)
    statistics = logistic_statistics(rng, 1200, n_outputs, False)
    rows = np.flatnonzero(rng.random(1200) < 0.7).astype(np.int32)
    for outputs in (None, [0], list(range(0, n_outputs, 2))):
        settings = {"l2_regularization": 1.0, "l1_regularization": 0.3}
        whole = head(statistics, rows, outputs, **settings)
        short = head(statistics, rows, outputs, is_logistic=True, **settings)
        assert np.allclose(short, whole, rtol=1e-12, atol=0)


def test_threads_do_not_change_a_rule():
    rng = np.random.default_rng(0)
    columns = columns_of(rng.normal(size=(4000, 12)))
    statistics = logistic_statistics(rng, 4000, 20, False)
    counts = rng.poisson(1.0, 4000).astype(np.int32)
    found = [
        induced(columns, statistics, counts, params_of(12, n_threads=n), is_logistic=True)
        for n in (1, 3)
    ]
    assert found[0][1] == found[1][1]
    assert found[0][0].objectives == found[1][0].objectives


def test_outputs_that_depend_on_each_other_need_second_derivatives():
    rng = np.random.default_rng(0)
    columns, counts = columns_of(rng.normal(size=(20, 3))), np.ones(20, np.int32)
    values, n_outputs, _ = packed(logistic_statistics(rng, 20, 2, False), is_logistic=True)
    _core.induce_rule(columns, values, n_outputs, None, counts, params_of(3))
    with pytest.raises(ValueError, match="must have diagonals"):
        _core.induce_rule(columns, values, n_outputs, np.ones(20), counts, params_of(3))
    with pytest.raises(ValueError, match="once or twice"):
        _core.induce_rule(columns, np.zeros((20, 24)), n_outputs, None, counts, params_of(3))


@pytest.mark.parametrize(("is_examplewise", "width"), [(False, 16), (True, 8), (False, 7)])
def test_adding_a_head_refuses_statistics_of_another_width(is_examplewise, width):
    labels, scores = np.ones((5, 3), np.int8), np.zeros((5, 3))
    rows, added = np.arange(5, dtype=np.int32), np.zeros(3)
    with pytest.raises(ValueError, match="padded number of outputs"):
        _core.add_head(
            labels, scores, np.zeros((5, width)), is_examplewise, True, rows, None, added, 1
        )


@pytest.mark.parametrize("outputs", [None, [0, 1, 2]])
@pytest.mark.parametrize("size", [30.0, 36.5, 45.0, 100.0, 300.0])
def test_derivatives_that_come_to_1_are_those_of_the_scores(instruction_set, size, outputs):
    # What rounding leaves of 1 - |g| would be taken for a curvature.
    n, k = 1000, 3
    labels = np.where(np.arange(n * k).reshape(n, k) % 2, 1, -1).astype(np.int8)
    before = np.linspace(-2, 2, n * k).reshape(n, k)
    rows = np.arange(n, dtype=np.int32)
    chosen = None if outputs is None else np.array(outputs, np.int32)
    found = []
    for is_current in (False, True):
        scores, gradient = before.copy(), np.zeros((n, 8))
        gradient[:, :k] = -labels / (1 + np.exp(labels * scores))
        head = np.array([size, -size, size])
        _core.add_head(labels, scores, gradient, False, is_current, rows, chosen, head, 1)
        found.append(gradient[:, :k])
    anew, moved = found
    assert (np.abs(moved) <= 1).all()
    is_near_1 = np.abs(anew) > 15 / 16
    assert is_near_1.any()
    assert np.array_equal(moved[is_near_1], anew[is_near_1])
    assert np.allclose(moved, anew, rtol=1e-14, atol=0)


@pytest.mark.parametrize("head_size", [0, 1, 2])
def test_derivatives_follow_the_scores_while_rules_are_learnt(instruction_set, head_size):
    rng = np.random.default_rng(1)
    n, k = 500, 11
    columns = columns_of(rng.normal(size=(n, 4)))
    labels = rng.choice([-1, 1], size=(n, k)).astype(np.int8)
    scores, gradient = np.zeros((n, k)), np.zeros((n, 16))
    gradient[:, :k] = -0.5 * labels
    params = params_of(2, l2_regularization=0.01, head_size=head_size)
    seeds = rng.integers(2**63, size=60).astype(np.uint64)
    _core.learn_rules(columns, labels, scores, gradient, None, seeds, 1.0, True, False, params)
    assert np.abs(scores).max() > 2
    expected = -labels / (1 + np.exp(labels * scores))
    assert np.allclose(gradient[:, :k], expected, rtol=1e-12, atol=0)
    assert not gradient[:, k:].any()
