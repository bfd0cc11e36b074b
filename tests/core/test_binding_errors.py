"""The bindings refuse bad arguments and never crash the interpreter."""

import weakref
from copy import copy

import numpy as np
import pytest
from core_tree import binned_arrays, make_params
from isolation import run_isolated
from problems import mixed_problem

from polyleaf import _core

pytestmark = pytest.mark.kernel

N_ROWS, N_FEATURES, N_CHANNELS = 60, 9, 3


@pytest.fixture(scope="module")
def problem():
    return mixed_problem(N_ROWS, n_channels=N_CHANNELS)


def changed(array, index, value):
    result = array.copy()
    result[index] = value
    return result


BAD_BINNED = {
    "no rows": ("n_rows", lambda a: 0),
    "more rows than codes": ("n_rows", lambda a: N_ROWS + 1),
    "negative rows": ("n_rows", lambda a: -1),
    "rows beyond 32 bits": ("n_rows", lambda a: 2**40),
    "bool mask": ("is_categorical", lambda a: a["is_categorical"].astype(bool)),
    "a feature too few": ("is_categorical", lambda a: a["is_categorical"][:-1]),
    "matrix mask": ("is_categorical", lambda a: a["is_categorical"][None]),
    "int32 offsets": ("bin_offsets", lambda a: a["bin_offsets"].astype(np.int32)),
    "short offsets": ("bin_offsets", lambda a: a["bin_offsets"][:-1]),
    "falling offsets": ("bin_offsets", lambda a: changed(a["bin_offsets"], 2, -5)),
    "offsets past the end": ("bin_offsets", lambda a: changed(a["bin_offsets"], -1, 10**9)),
    "huge middle offset": ("bin_offsets", lambda a: changed(a["bin_offsets"], 3, 2**62)),
    "short bin_low": ("bin_low", lambda a: a["bin_low"][:-1]),
    "short bin_high": ("bin_high", lambda a: a["bin_high"][:-1]),
    "float32 bins": ("bin_high", lambda a: a["bin_high"].astype(np.float32)),
    "strided bins": ("bin_high", lambda a: np.repeat(a["bin_high"], 2)[::2]),
    "feature out of range": ("dense_features", lambda a: changed(a["dense_features"], 0, 99)),
    "negative feature": ("dense_features", lambda a: changed(a["dense_features"], 0, -1)),
    "feature twice": (
        "dense_features",
        lambda a: changed(a["dense_features"], 0, a["dense_features"][1]),
    ),
    "no codes": ("codes_u8", lambda a: None),
    "codes twice": ("codes_u32", lambda a: a["codes_u8"].astype(np.uint32)),
    "signed codes": ("codes_u8", lambda a: a["codes_u8"].astype(np.int8)),
    "a tile too few": ("codes_u8", lambda a: a["codes_u8"][:-1]),
    "narrow tiles": ("codes_u8", lambda a: a["codes_u8"][:, :, :3].copy()),
    "code that is no bin": ("codes_u8", lambda a: changed(a["codes_u8"], (0, 5, 0), 254)),
    "sparse feature out of range": ("sparse_features", lambda a: a["sparse_features"] + 100),
    "short defaults": ("sparse_default", lambda a: a["sparse_default"][:-1]),
    "default that is no bin": ("sparse_default", lambda a: changed(a["sparse_default"], 0, 10**6)),
    "short indptr": ("sparse_indptr", lambda a: a["sparse_indptr"][:-1]),
    "negative indptr": ("sparse_indptr", lambda a: changed(a["sparse_indptr"], 1, -1)),
    "indptr not from 0": ("sparse_indptr", lambda a: changed(a["sparse_indptr"], 0, 1)),
    "falling indptr": ("sparse_indptr", lambda a: changed(a["sparse_indptr"], 30, 2**40)),
    "slot out of range": ("sparse_slot", lambda a: changed(a["sparse_slot"], 0, 50)),
    "negative slot": ("sparse_slot", lambda a: changed(a["sparse_slot"], 0, -1)),
    "falling slots": ("sparse_slot", lambda a: np.ascontiguousarray(a["sparse_slot"][::-1])),
    "short sparse codes": ("sparse_code", lambda a: a["sparse_code"][:-1]),
    "sparse code that is no bin": ("sparse_code", lambda a: changed(a["sparse_code"], 0, 10**6)),
    "no sparse codes of more than two values": ("sparse_code", lambda a: None),
    "signed sparse codes": ("sparse_code", lambda a: a["sparse_code"].astype(np.int64)),
}


def words(**changes):
    """Three rows of two words; what is listed has the code that is not the default."""
    arrays = {
        "n_rows": 3,
        "is_categorical": np.zeros(2, np.uint8),
        "bin_offsets": np.array([0, 2, 4]),
        "bin_low": np.array([0.0, 1.0, 0.0, 1.0]),
        "bin_high": np.array([0.0, 1.0, 0.0, 1.0]),
        "dense_features": np.zeros(0, np.int32),
        "codes_u8": None,
        "codes_u32": None,
        "sparse_features": np.array([0, 1], np.int32),
        "sparse_default": np.array([0, 1], np.uint32),
        "sparse_indptr": np.array([0, 2, 2, 3]),
        "sparse_slot": np.array([0, 1, 1], np.int32),
        "sparse_code": None,
    }
    return arrays | changes


@pytest.mark.parametrize(
    "change",
    [
        {"sparse_default": np.array([0, 2**32 - 1], np.uint32)},  # missing
        {"sparse_default": np.array([0, 2], np.uint32)},
        {"sparse_slot": np.array([1, 0, 1], np.int32)},
        {"sparse_slot": np.array([0, 1, 2], np.int32)},
        {"sparse_slot": np.array([0, 1], np.int32)},
        {"bin_offsets": np.array([0, 3, 4]), "sparse_default": np.zeros(2, np.uint32)},
        {"bin_offsets": np.array([0, 2, 3]), "bin_low": np.arange(3.0), "bin_high": np.arange(3.0),
         "sparse_default": np.zeros(2, np.uint32)},
    ],
    ids=", ".join,
)  # fmt: skip
def test_words_without_codes_are_refused_unless_they_have_two_values(change):
    _core.Binned(**words())
    with pytest.raises(ValueError):
        _core.Binned(**words(**change))


@pytest.mark.parametrize("fault", BAD_BINNED)
def test_binned_refuses(problem, fault):
    arguments = binned_arrays(problem.binned)
    _core.Binned(**arguments)
    name, change = BAD_BINNED[fault]
    with pytest.raises((TypeError, ValueError)):
        _core.Binned(**arguments | {name: change(arguments)})


def growth_arguments(problem):
    return {
        "binned": problem.core,
        "channels": problem.channels,
        "rows": problem.all_rows,
        "params": make_params(N_FEATURES),
    }


ROW_WEIGHTS = np.ones(N_ROWS, np.float32)
ENTRY_WEIGHTS = np.ones((N_ROWS, N_CHANNELS), np.float32)
ROWS = np.arange(N_ROWS, dtype=np.int32)
VALUES = np.zeros((N_ROWS, N_CHANNELS), np.float32)


def weighted(row_weights):
    return _core.Channels.of_gradients(VALUES, row_weights)


BAD_GROWTH = {
    "no binned": lambda: {"binned": None},
    "no channels": lambda: {"channels": None},
    "channels of a row too few": lambda: {"channels": _core.Channels.of_gradients(VALUES[:-1])},
    "zero row weight": lambda: {"channels": weighted(changed(ROW_WEIGHTS, 3, 0.0))},
    "negative row weight": lambda: {"channels": weighted(changed(ROW_WEIGHTS, 3, -1.0))},
    "NaN row weight": lambda: {"channels": weighted(changed(ROW_WEIGHTS, 3, np.nan))},
    "no rows": lambda: {"rows": ROWS[:0]},
    "row out of range": lambda: {"rows": changed(ROWS, 0, N_ROWS)},
    "row out of range, weighted": lambda: {
        "rows": changed(ROWS, 0, N_ROWS),
        "channels": weighted(ROW_WEIGHTS),
    },
    "negative row": lambda: {"rows": changed(ROWS, 0, -1)},
    "negative row, weighted": lambda: {
        "rows": changed(ROWS, 0, -1),
        "channels": weighted(ROW_WEIGHTS),
    },
    "int64 rows": lambda: {"rows": ROWS.astype(np.int64)},
    "no params": lambda: {"params": None},
}


@pytest.mark.parametrize("fault", BAD_GROWTH)
def test_grow_tree_refuses(problem, fault):
    arguments = growth_arguments(problem)
    _core.grow_tree(**arguments)
    changes = BAD_GROWTH[fault]()
    with pytest.raises((TypeError, ValueError)):
        _core.grow_tree(**arguments | changes)


def test_rows_without_weight_are_refused_only_where_a_tree_is_grown_on_them(problem):
    channels = weighted(changed(ROW_WEIGHTS, 3, 0.0))
    arguments = growth_arguments(problem) | {"channels": channels}
    _core.grow_tree(**arguments | {"rows": np.delete(ROWS, 3)})
    with pytest.raises(ValueError, match="the weight of every row in `rows` must be positive"):
        _core.grow_tree(**arguments)


def gradient_arguments():
    return {"values": VALUES, "row_weights": None, "entry_weights": None}


def target_arguments():
    return {
        "values": VALUES.astype(np.float64),
        "columns": np.array([2, 0], np.int32),
        "shift": np.zeros(2),
        "factor": np.ones(2),
        "row_weights": None,
        "entry_weights": None,
    }


def scaled_arguments():
    return {
        "values": VALUES,
        "columns": np.array([2, 0], np.int32),
        "row_weights": None,
        "entry_weights": None,
    }


def label_arguments():
    return {
        "n_channels": 5,
        "indptr": np.arange(N_ROWS + 1, dtype=np.int64),
        "indices": (np.arange(N_ROWS) % 5).astype(np.int32),
        "data": np.ones(N_ROWS, np.float32),
        "row_weights": None,
    }


CHANNEL_ARGUMENTS = {
    "of_gradients": gradient_arguments,
    "of_targets": target_arguments,
    "of_scaled_targets": scaled_arguments,
    "of_labels": label_arguments,
}
BAD_WEIGHTS = {
    "short row weights": {"row_weights": ROW_WEIGHTS[:-1]},
    "float64 row weights": {"row_weights": ROW_WEIGHTS.astype(float)},
}
BAD_ENTRY_WEIGHTS = {
    "both weights": {"row_weights": ROW_WEIGHTS, "entry_weights": ENTRY_WEIGHTS},
    "entry weights of another width": {"entry_weights": np.ones((N_ROWS, 7), np.float32)},
    "short entry weights": {"entry_weights": ENTRY_WEIGHTS[:-1]},
}
BAD_COLUMNS = {
    "no columns": {"columns": np.zeros(0, np.int32), "shift": np.zeros(0), "factor": np.zeros(0)},
    "column out of range": {"columns": np.array([3, 0], np.int32)},
    "negative column": {"columns": np.array([-1, 0], np.int32)},
    "int64 columns": {"columns": np.array([2, 0])},
}
LABELS = label_arguments()
BAD_CHANNELS = {
    "of_gradients": BAD_WEIGHTS
    | BAD_ENTRY_WEIGHTS
    | {
        "no values": {"values": None},
        "float64 values": {"values": VALUES.astype(float)},
        "column-major values": {"values": np.zeros(VALUES.shape, np.float32, order="F")},
        "values of one dimension": {"values": VALUES[:, 0].copy()},
        "no channels": {"values": VALUES[:, :0].copy()},
    },
    "of_targets": BAD_WEIGHTS
    | BAD_ENTRY_WEIGHTS
    | BAD_COLUMNS
    | {
        "float32 values": {"values": VALUES},
        "short shift": {"shift": np.zeros(1)},
        "long factor": {"factor": np.zeros(3)},
        "no shift": {"shift": None},
    },
    "of_scaled_targets": BAD_WEIGHTS
    | BAD_ENTRY_WEIGHTS
    | {fault: {"columns": change["columns"]} for fault, change in BAD_COLUMNS.items()}
    | {"float64 values": {"values": VALUES.astype(float)}},
    "of_labels": BAD_WEIGHTS
    | {
        "no channels": {"n_channels": 0},
        "too few channels": {"n_channels": 4},
        "empty indptr": {"indptr": np.zeros(0, np.int64)},
        "short indptr": {"indptr": LABELS["indptr"][:-1]},
        "negative indptr": {"indptr": changed(LABELS["indptr"], 1, -1)},
        "indptr past the end": {"indptr": changed(LABELS["indptr"], -1, 99)},
        "falling indptr": {"indptr": changed(LABELS["indptr"], 5, 50)},
        "int32 indptr": {"indptr": LABELS["indptr"].astype(np.int32)},
        "negative index": {"indices": changed(LABELS["indices"], 0, -1)},
        "index out of range": {"indices": changed(LABELS["indices"], 0, 5)},
        "short data": {"data": LABELS["data"][:-1]},
        "float64 data": {"data": LABELS["data"].astype(float)},
    },
}


@pytest.mark.parametrize(
    ("kind", "fault"), [(kind, fault) for kind in BAD_CHANNELS for fault in BAD_CHANNELS[kind]]
)
def test_channels_refuse(kind, fault):
    make, arguments = getattr(_core.Channels, kind), CHANNEL_ARGUMENTS[kind]()
    make(**arguments)
    with pytest.raises((TypeError, ValueError)):
        make(**arguments | BAD_CHANNELS[kind][fault])


@pytest.mark.parametrize("kind", CHANNEL_ARGUMENTS)
def test_channels_know_their_shape_and_hold_on_to_their_arrays(kind):
    arguments = CHANNEL_ARGUMENTS[kind]() | {"row_weights": ROW_WEIGHTS}
    arguments = {name: copy(argument) for name, argument in arguments.items()}
    arrays = [weakref.ref(value) for value in arguments.values() if isinstance(value, np.ndarray)]
    channels = getattr(_core.Channels, kind)(**arguments)
    del arguments
    n_channels = {"of_gradients": N_CHANNELS, "of_labels": 5}.get(kind, 2)
    assert (channels.n_rows, channels.n_channels) == (N_ROWS, n_channels)
    assert all(array() is not None for array in arrays)
    del channels
    assert all(array() is None for array in arrays)


INFINITE = {
    "infinite row weight": {"row_weights": changed(ROW_WEIGHTS, 3, np.inf)},
    "negative entry weight": {"entry_weights": changed(ENTRY_WEIGHTS, (3, 1), -1.0)},
    "NaN entry weight": {"entry_weights": changed(ENTRY_WEIGHTS, (3, 1), np.nan)},
    "infinite entry weight": {"entry_weights": changed(ENTRY_WEIGHTS, (3, 1), np.inf)},
    "NaN gradient": {"values": changed(ENTRY_WEIGHTS, (3, 1), np.nan)},
    "infinite gradient": {"values": changed(ENTRY_WEIGHTS, (3, 1), np.inf)},
    "overflowing gradient": {"values": changed(ENTRY_WEIGHTS, (3, 1), 3e38)},
}


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("fault", INFINITE)
def test_numbers_that_are_not_finite_never_crash(problem, fault, random_cuts):
    """They may be refused; if they are not, the result is a tree over all rows."""
    for l2_regularization in (0.0, 1.0):
        params = make_params(
            N_FEATURES, random_cuts=random_cuts, l2_regularization=l2_regularization
        )
        channels = _core.Channels.of_gradients(**{"values": problem.gradient} | INFINITE[fault])
        arguments = growth_arguments(problem) | {"params": params, "channels": channels}
        try:
            grown = _core.grow_tree(**arguments)
        except ValueError:
            continue
        rows = np.empty(grown.n_rows, np.int32)
        grown.write_rows(rows)
        assert np.array_equal(np.sort(rows), ROWS)


BAD_PARAMS = [
    ("max_depth", -2),
    ("max_leaf_nodes", 0),
    ("max_leaf_nodes", -2),
    ("min_samples_split", 1),
    ("min_samples_leaf", 0),
    ("min_impurity_decrease", -1e-9),
    ("min_impurity_decrease", np.nan),
    ("min_impurity_decrease", np.inf),
    ("max_features", 0),
    ("max_features", N_FEATURES + 1),
    ("l2_regularization", -1.0),
    ("l2_regularization", np.nan),
    ("l2_regularization", np.inf),
    ("n_threads", 0),
    ("n_threads", -1),
    ("n_threads", 10**6),
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMS)
def test_growers_refuse_parameters_out_of_range(problem, name, value):
    params = make_params(N_FEATURES, **{name: value})
    with pytest.raises(ValueError, match=name):
        _core.grow_tree(**growth_arguments(problem) | {"params": params})


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_depth", 1.5), ("max_depth", "3"), ("n_threads", 2**40), ("seed", -1), ("seed", None)],
)
def test_parameters_of_the_wrong_type_are_refused(name, value):
    with pytest.raises(TypeError):
        setattr(_core.GrowParams(), name, value)


def test_grown_tree_refuses_arrays_that_do_not_fit(problem):
    grown = _core.grow_tree(**growth_arguments(problem))
    read_only = np.empty(N_ROWS, np.int32)
    read_only.flags.writeable = False
    for rows in (np.empty(N_ROWS - 1, np.int32), np.empty(N_ROWS, np.int64), read_only):
        with pytest.raises((TypeError, ValueError)):
            grown.write_rows(rows)
    with pytest.raises(ValueError):
        grown.write_category_words(np.empty(grown.n_category_words + 1, np.uint32))
    with pytest.raises(TypeError):
        _core.GrownTree()


def leaf_arguments():
    """A tree of two leaves over four rows."""
    return {
        "values": np.ones((4, 2)),
        "observed": np.ones((4, 2), np.uint8),
        "row_weights": np.ones(4),
        "entry_weights": np.ones((4, 2)),
        "rows": np.arange(4, dtype=np.int32),
        "leaf_offsets": np.array([0, 1, 4]),
        "right": np.array([2, -1, -1], np.int32),
        "leaf_index": np.array([-1, 0, 1], np.int32),
        "means": np.empty((2, 2)),
        "n_threads": 1,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.ones((4, 2), np.float32)},
        {"values": np.ones((3, 2))},
        {"observed": np.ones((4, 3), np.uint8)},
        {"observed": np.ones((4, 2), bool)},
        {"row_weights": np.ones(3)},
        {"entry_weights": np.ones((3, 2))},
        {"rows": np.array([0, 1, 2, 4], np.int32)},
        {"rows": np.array([0, 1, 2, -1], np.int32)},
        {"leaf_offsets": np.array([0, 5, 4])},
        {"leaf_offsets": np.array([0, -1, 4])},
        {"leaf_offsets": np.array([0])},
        {"leaf_offsets": np.array([], np.int64)},
        {"right": np.array([3, -1, -1], np.int32)},
        {"right": np.array([1, -1, -1], np.int32)},
        {"right": np.array([-1, -1, -1], np.int32)},
        {"right": np.array([2, -1], np.int32)},
        {"leaf_index": np.array([-1, 0, 2], np.int32)},
        {"leaf_index": np.array([-1, 0, -1], np.int32)},
        {"leaf_index": np.array([-2, 0, 1], np.int32)},
        {"means": np.empty((3, 2))},
        {"means": np.empty((2, 3))},
        {"n_threads": 0},
    ],
    ids=", ".join,
)
def test_leaf_means_refuses(change):
    _core.leaf_means(**leaf_arguments())
    with pytest.raises((TypeError, ValueError)):
        _core.leaf_means(**leaf_arguments() | change)


def test_leaf_means_refuses_a_tree_without_nodes():
    outcome = run_isolated("""
no_nodes = np.zeros(0, np.int32)
values, observed = np.ones((3, 2)), np.ones((3, 2), np.uint8)
rows, offsets, means = np.zeros(1, np.int32), np.array([0, 1]), np.empty((1, 2))
_core.leaf_means(values, observed, None, None, rows, offsets, no_nodes, no_nodes, means, 1)
print('accepted')
""")
    assert outcome == "refused"


def encode_arguments():
    return {
        "values": np.ones((5, 2)),
        "features": np.array([0, 1], np.int32),
        "bin_offsets": np.array([0, 2, 5]),
        "bin_high": np.array([0.0, 1.0, 0.0, 1.0, 2.0]),
        "codes": np.empty((1, 5, 4), np.uint8),
        "n_threads": 1,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.ones((5, 2), np.int64)},
        {"values": np.ones((5, 3))},
        {"values": np.ones((2, 5)).T},
        {"values": np.ones(5)},
        {"features": np.array([0, 2], np.int32)},
        {"features": np.array([0, -1], np.int32)},
        {"features": np.zeros(5, np.int32)},
        {"bin_offsets": np.array([0, 6, 5])},
        {"bin_offsets": np.array([0, -2, 5])},
        {"bin_offsets": np.array([0, 2, 6])},
        {"bin_high": np.zeros(4)},
        {"codes": np.empty((1, 4, 4), np.uint8)},
        {"codes": np.empty((1, 5, 3), np.uint8)},
        {"codes": np.empty((2, 5, 4), np.uint8)},
        {"codes": np.empty((1, 5, 4), np.int8)},
        {"n_threads": 0},
    ],
    ids=", ".join,
)
def test_encode_columns_refuses(change):
    _core.encode_columns(**encode_arguments())
    with pytest.raises((TypeError, ValueError)):
        _core.encode_columns(**encode_arguments() | change)


def test_encode_columns_refuses_more_bins_than_a_byte_can_tell_apart():
    many = {"bin_offsets": np.array([0, 400, 401]), "bin_high": np.arange(401.0)}
    with pytest.raises(ValueError):
        _core.encode_columns(**encode_arguments() | many)
    wide = {"codes": np.empty((1, 5, 4), np.uint32)}
    _core.encode_columns(**encode_arguments() | many | wide)
