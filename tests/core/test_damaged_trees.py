"""Damaged tree arrays are refused, or at least lead every row to a leaf."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isolation import run_isolated
from problems import mixed_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

N_TREES = 4


def make_arrays():
    """Arrays of a valid model of several trees, with numeric and categorical splits."""
    problem = mixed_problem(80, n_channels=2)
    trees = [problem.grow(max_features=3, max_depth=3, seed=seed) for seed in range(N_TREES)]
    parts = [tree.predictor_arrays() for tree in trees]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    n_words = np.cumsum([0] + [tree.category_words.size for tree in trees])
    n_nodes = [tree.n_nodes for tree in trees]
    shift = np.repeat(n_words[:-1], n_nodes)
    offset = arrays["category_offset"]
    arrays["category_offset"] = np.where(offset >= 0, offset + shift, -1).astype(np.int64)
    arrays["tree_offsets"] = np.cumsum([0, *n_nodes]).astype(np.int64)
    arrays["n_categories"] = problem.n_categories
    assert (arrays["category_offset"] >= 0).any()
    return arrays


ARRAYS = make_arrays()
RNG = np.random.default_rng(0)
ROWS = RNG.choice([np.nan, -1e300, -1.0, 0.0, 0.5, 1.0, 3.0, 5.0, 1e9, np.inf], (64, 9))


def numbers(dtype):
    """Small numbers, which may fit in, and all others."""
    if dtype.kind == "f":
        return st.floats(allow_nan=True, allow_infinity=True)
    limits = np.iinfo(dtype)
    anything = st.integers(int(limits.min), int(limits.max))
    return st.one_of(st.integers(max(-2, int(limits.min)), 60), anything)


@st.composite
def mutations(draw):
    arrays = {name: array.copy() for name, array in ARRAYS.items()}
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(sorted(arrays)))
        array = arrays[name]
        kind = draw(st.sampled_from(["entry", "entry", "entry", "cut", "repeat", "swap"]))
        if kind == "entry" and array.size:
            at = draw(st.integers(0, array.size - 1))
            array[at] = draw(numbers(array.dtype))
        elif kind == "swap" and array.size:
            at, other = (draw(st.integers(0, array.size - 1)) for _ in range(2))
            array[[at, other]] = array[[other, at]]
        elif kind == "cut":
            arrays[name] = array[: draw(st.integers(0, array.size))].copy()
        elif kind == "repeat":
            arrays[name] = np.concatenate([array, array])
    return arrays


@settings(max_examples=300, derandomize=True, deadline=None)
@given(arrays=mutations())
def test_damaged_arrays_are_refused_or_lead_to_leaves(arrays):
    try:
        predictor = _core.Predictor(**arrays)
    except ValueError:
        return
    n_trees = arrays["tree_offsets"].size - 1
    nodes = np.full((len(ROWS), n_trees), -7, np.int32)
    try:
        predictor.apply_dense(X=ROWS, nodes=nodes, n_threads=1)
    except ValueError:
        assert arrays["n_categories"].size != ROWS.shape[1]
        return
    assert nodes.min() >= 0
    assert np.all(nodes < np.diff(arrays["tree_offsets"]))
    assert np.all(arrays["feature"][nodes + arrays["tree_offsets"][:-1]] == -1)


def test_the_undamaged_arrays_are_accepted():
    assert _core.Predictor(**ARRAYS) is not None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", 9),
        ("feature", -2),
        ("right", 1),
        ("right", 0),
        ("right", -1),
        ("right", 2**31 - 1),
        ("threshold", np.nan),
        ("tree_offsets", 1),
        ("tree_offsets", -1),
    ],
)
def test_a_damaged_root_is_named(name, change):
    array = ARRAYS[name].copy()
    array[0] = change
    with pytest.raises(ValueError, match=r"damaged tree|tree_offsets must"):
        _core.Predictor(**ARRAYS | {name: array})


@pytest.mark.parametrize("n_words", [0, 1])
def test_category_sets_beyond_the_words_are_refused(n_words):
    with pytest.raises(ValueError, match="category set"):
        _core.Predictor(**ARRAYS | {"category_words": ARRAYS["category_words"][:n_words]})


@pytest.mark.parametrize("offset", [-2, -(2**63), 2**63 - 1])
def test_category_offsets_out_of_range_are_refused(offset):
    offsets = np.where(ARRAYS["category_offset"] >= 0, offset, -1)
    with pytest.raises(ValueError, match="damaged tree"):
        _core.Predictor(**ARRAYS | {"category_offset": offsets})


def test_tree_offsets_whose_difference_overflows_are_refused_before_any_node_is_read():
    outcome = run_isolated("""
n = 200_000
leaf, none = np.full(n, -1, np.int32), np.full(n, -1, np.int64)
offsets = np.array([0, 1, -2**63, n])
try:
    _core.Predictor(np.zeros(1, np.int32), offsets, leaf, np.zeros(n), leaf,
                    np.zeros(n, np.uint8), none, np.zeros(0, np.uint32))
except ValueError as error:
    print('read a node' if ': node ' in str(error) else 'refused')
""")
    assert outcome == "refused"


@pytest.mark.parametrize("method", ["apply_dense", "apply_csr"])
def test_apply_refuses_arrays_that_do_not_fit(method):
    predictor = _core.Predictor(**ARRAYS)
    good = {"nodes": np.empty((2, N_TREES), np.int32), "n_threads": 1}
    if method == "apply_dense":
        good["X"] = np.zeros((2, 9))
        bad = [
            {"X": np.zeros((2, 8))},
            {"X": np.zeros((3, 9))},
            {"X": np.zeros((2, 9), np.int64)},
            {"X": np.zeros((9, 2)).T},
        ]
    else:
        good |= {
            "indptr": np.array([0, 1, 2]),
            "indices": np.array([0, 8], np.int32),
            "data": np.ones(2),
        }
        bad = [
            {"indptr": np.array([0, 1])},
            {"indptr": np.array([0, -1, 2])},
            {"indptr": np.array([0, 3, 2])},
            {"indptr": np.array([1, 1, 2])},
            {"indptr": np.array([], np.int64)},
            {"indices": np.array([0, 9], np.int32)},
            {"indices": np.array([0, -1], np.int32)},
            {"data": np.ones(3)},
            {"data": np.ones(2, np.float16)},
        ]
    getattr(predictor, method)(**good)
    bad += [
        {"nodes": np.empty((2, N_TREES - 1), np.int32)},
        {"nodes": np.empty((2, N_TREES), np.int64)},
        {"n_threads": 0},
    ]
    for change in bad:
        with pytest.raises((TypeError, ValueError)):
            getattr(predictor, method)(**good | change)
