"""The kernels of a boosting round against losses in NumPy."""

import numpy as np
import pytest

from polyleaf import _core
from polyleaf.boosting.state import BoostingState, LeafRows, make_state
from polyleaf.losses import Logistic, LossTargets, SquaredError
from polyleaf.trees.shards import ExactUnit

pytestmark = pytest.mark.kernel

each_weighting = pytest.mark.parametrize("weighting", [None, "rows", "entries"])
each_width = pytest.mark.parametrize("n_channels", [1, 5, 16, 37])


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instruction_set(request):
    """Every instruction set that this machine has."""
    before = _core.instruction_set()
    if not _core.use_instruction_set(request.param):
        pytest.skip(f"no {request.param} here")
    yield
    _core.use_instruction_set(before)


def problem(loss, n_channels, weighting, n_rows=900, seed=0):
    """Targets, raw predictions and rows in leaves of very different sizes, some in none."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n_channels)).astype(np.float32)
    if loss == "logistic":
        values = (values > 0.5).astype(np.float32)
    weights = {
        None: None,
        "rows": rng.uniform(0.1, 2.0, n_rows).astype(np.float32),
        "entries": (rng.uniform(0.1, 2.0, values.shape) * (rng.random(values.shape) < 0.8)).astype(
            np.float32
        ),
    }[weighting]
    targets = LossTargets(values, weights, np.arange(n_channels + 1, dtype=np.int32))
    raw = rng.normal(scale=2.0, size=values.shape).astype(np.float32)
    rows = rng.permutation(n_rows).astype(np.int32)[:-10]
    offsets = np.array([0, 1, 3, 300, 305, rows.size], dtype=np.int64)
    return targets, raw, LeafRows(rows, offsets)


@each_weighting
@each_width
def test_the_squared_step_is_that_of_the_numpy_loss(instruction_set, n_channels, weighting):
    targets, raw, leaves = problem("squared", n_channels, weighting)
    slow = BoostingState(SquaredError(), targets, raw.copy(), 1)
    quick = make_state(SquaredError(), targets, raw.copy(), np.sort(leaves.rows), 1)
    start = quick.value()
    expected = slow.newton_step(leaves, 0.3, 0.7)
    found = quick.newton_step(leaves, 0.3, 0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(quick.gradient, slow.gradient, atol=1e-4)
    assert start > quick.value() == pytest.approx(slow.value(), rel=1e-5)


@each_weighting
@each_width
def test_the_logistic_step_is_that_of_the_numpy_loss(instruction_set, n_channels, weighting):
    targets, raw, leaves = problem("logistic", n_channels, weighting)
    used = leaves.rows
    slow = BoostingState(Logistic(), targets, raw.copy(), 1)
    quick = make_state(Logistic(), targets, raw.copy(), np.sort(used), 1)
    np.testing.assert_allclose(quick.gradient[used], slow.gradient[used], atol=2e-6)
    expected = slow.newton_step(leaves, 0.3, 0.7)
    found = quick.newton_step(leaves, 0.3, 0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(quick.raw[used], slow.raw[used], atol=1e-4)
    np.testing.assert_allclose(quick.gradient[used], slow.gradient[used], atol=2e-5)
    value = Logistic().value(targets.at(used), slow.raw[used])
    assert quick.value() == pytest.approx(value, rel=1e-5)


def test_saturated_predictions_stay_finite(instruction_set):
    raw = np.array([[-200.0, 200.0, -88.0, 88.0, 0.0]], dtype=np.float32)
    for label in (0.0, 1.0):
        targets = LossTargets(
            np.full((1, 5), label, np.float32), None, np.arange(6, dtype=np.int32)
        )
        state = make_state(Logistic(), targets, raw.copy(), np.zeros(1, np.int32), 1)
        expected = label - 1 / (1 + np.exp(-raw.astype(float)))
        np.testing.assert_allclose(state.gradient, expected, atol=1e-6)
        assert state.value() == pytest.approx(Logistic().value(targets, raw.astype(float)))


@pytest.mark.parametrize("loss", [SquaredError(), Logistic()])
def test_one_thread_equals_many(loss):
    name = "logistic" if isinstance(loss, Logistic) else "squared"
    targets, raw, leaves = problem(name, 7, None)
    states = [make_state(loss, targets, raw.copy(), np.sort(leaves.rows), n) for n in (1, 3)]
    values = [state.newton_step(leaves, 0.5, 1.0) for state in states]
    np.testing.assert_array_equal(*values)
    np.testing.assert_array_equal(*(state.gradient for state in states))
    assert states[0].value() == states[1].value()


@each_weighting
def test_leaf_sums_are_sums(instruction_set, weighting):
    targets, raw, leaves = problem("squared", 6, weighting)
    state = BoostingState(SquaredError(), targets, raw, 1)
    found = state.sums(raw, leaves)
    weighted = targets.weighted(raw.astype(float))
    for leaf in range(leaves.n_leaves):
        inside = leaves.rows[leaves.offsets[leaf] : leaves.offsets[leaf + 1]]
        np.testing.assert_allclose(found[leaf], weighted[inside].sum(axis=0), atol=1e-3)


@each_weighting
@pytest.mark.parametrize("n_channels", [1, 2, 3, 4, 5, 16, 37, 150])
def test_exact_leaf_sums_are_those_of_rounded_numbers(instruction_set, n_channels, weighting):
    targets, raw, leaves = problem("squared", n_channels, weighting)
    weights = targets.weights
    unit = ExactUnit.of(float(np.abs(raw).max()) * 2, 900)
    sums = np.empty((leaves.n_leaves, n_channels))
    _core.leaf_sums(
        raw,
        weights if weighting == "rows" else None,
        weights if weighting == "entries" else None,
        leaves.rows,
        leaves.offsets,
        sums,
        2,
        np.full(2 * n_channels + 1, unit.magic),
    )
    weighted = unit.rounded(targets.weighted(raw.astype(float)))
    for leaf in range(leaves.n_leaves):
        inside = leaves.rows[leaves.offsets[leaf] : leaves.offsets[leaf + 1]]
        assert np.array_equal(sums[leaf], weighted[inside].sum(axis=0))


def test_columns_and_back_change_nothing_but_those_columns():
    for loss, name in ((SquaredError(), "squared"), (Logistic(), "logistic")):
        targets, raw, leaves = problem(name, 4, "entries")
        rows = np.sort(leaves.rows)
        whole = make_state(loss, targets, raw.copy(), rows, 1)
        before = whole.gradient.copy()
        chosen = np.array([2])
        part = whole.columns(chosen)
        part.newton_step(leaves, 1.0, 0.0)
        whole.write_back(part, chosen)
        np.testing.assert_array_equal(whole.gradient[:, [0, 1, 3]], before[:, [0, 1, 3]])
        assert not np.array_equal(whole.gradient[:, 2], before[:, 2])
        used = targets.at(rows)
        if name == "squared":
            expected = float(0.5 * (targets.weighted(whole.gradient.astype(float) ** 2)).sum())
        else:
            expected = loss.value(used, whole.raw[rows])
        assert whole.value() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"rows": np.array([0, 1, 99], np.int32)}, "rows"),
        ({"leaf_offsets": np.array([0, 9], np.int64)}, "leaf_offsets"),
        ({"leaf_offsets": np.zeros(1, np.int64)}, "at least one leaf"),
        ({"values": np.zeros((2, 2), np.float32)}, "values"),
        ({"row_weights": np.ones(2, np.float32)}, "row_weights"),
        ({"entry_weights": np.ones((2, 2), np.float32)}, "entry_weights"),
        ({"n_threads": 0}, "n_threads"),
    ],
)
def test_wrong_shapes_are_refused(changed, match):
    given = {
        "residual": np.zeros((5, 2), np.float32),
        "row_weights": None,
        "entry_weights": None,
        "rows": np.array([0, 1, 4], np.int32),
        "leaf_offsets": np.array([0, 3], np.int64),
        "learning_rate": 0.1,
        "l2_regularization": 0.0,
        "values": np.zeros((1, 2), np.float32),
        "n_threads": 1,
    }
    with pytest.raises(ValueError, match=match):
        _core.squared_step(**(given | changed))


def test_leaves_out_of_range_are_refused():
    raw, values = np.zeros((2, 3), np.float32), np.ones((4, 3), np.float32)
    _core.add_leaves(np.array([[0], [3]], np.int32), values, raw, 1)
    assert raw.sum() == 6
    for wrong in (-1, 4):
        with pytest.raises(ValueError, match="leaves"):
            _core.add_leaves(np.array([[0], [wrong]], np.int32), values, raw, 1)


@pytest.mark.parametrize(("n", "d", "q"), [(1, 1, 1), (7, 3, 2), (1025, 17, 16), (33, 101, 20)])
def test_projected_rows_are_products_whatever_stands_beside_them(instruction_set, n, d, q):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, d)).astype(np.float32)
    matrix = rng.normal(size=(d, q)).astype(np.float32)
    shown, alone = np.empty((n, q), np.float32), np.empty((1, q), np.float32)
    _core.project(values, matrix, shown, 2)
    _core.project(values[-1:].copy(), matrix, alone, 1)
    exact = values.astype(np.float64) @ matrix
    np.testing.assert_allclose(shown, exact, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(alone[0], shown[-1])
