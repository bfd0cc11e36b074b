"""Bins hold what they say, sparse and dense agree, and nothing is densified."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from polyleaf import _core
from polyleaf.data import MISSING_U8, MISSING_U32, BinnedData, bin_features

NAN = np.nan


def bin_numeric(X, max_bins, n_threads=1):
    n_features = X.shape[1]
    return bin_features(
        X, np.zeros(n_features, bool), np.zeros(n_features, int), max_bins, n_threads
    )


def code_matrix(binned):
    """Decode to (n_rows, n_features) int64 codes, -1 where missing, one entry at a time."""
    codes = np.full((binned.n_rows, binned.n_features), -2)
    largest = np.iinfo(binned.dense_codes.dtype).max
    for place, feature in enumerate(binned.dense_features):
        column = binned.dense_codes[place // 4, :, place % 4].astype(np.int64)
        codes[:, feature] = np.where(column == largest, -1, column)
    codes[:, binned.sparse_features] = binned.sparse_default.astype(np.int64)
    for row in range(binned.n_rows):
        for entry in range(binned.sparse_indptr[row], binned.sparse_indptr[row + 1]):
            slot = binned.sparse_slot[entry]
            feature = binned.sparse_features[slot]
            if binned.sparse_code is None:
                code = 1 - int(binned.sparse_default[slot])
            else:
                code = int(binned.sparse_code[entry])
            codes[row, feature] = -1 if code == MISSING_U32 else code
    return codes


def naive_codes(binned, X):
    """Look every value up in the bins of its feature, by comparison with each of them."""
    codes = np.empty(X.shape, dtype=np.int64)
    for row, feature in np.ndindex(X.shape):
        bins = slice(binned.bin_offsets[feature], binned.bin_offsets[feature + 1])
        inside = (binned.bin_low[bins] <= X[row, feature]) & (
            X[row, feature] <= binned.bin_high[bins]
        )
        found = np.flatnonzero(inside)
        codes[row, feature] = found[0] if found.size else -1
        assert found.size == (0 if np.isnan(X[row, feature]) else 1)
    return codes


def check_layout(binned):
    """Assert what the grower relies on."""
    assert_array_equal(
        np.sort(np.concatenate([binned.dense_features, binned.sparse_features])),
        np.arange(binned.n_features),
    )
    n_dense = binned.dense_features.size
    assert binned.dense_codes.shape == (-(-n_dense // 4), binned.n_rows, 4)
    assert binned.dense_codes.flags.c_contiguous
    if n_dense % 4:
        assert not binned.dense_codes[-1, :, n_dense % 4 :].any()
    dtypes = {
        "is_categorical": np.uint8,
        "bin_offsets": np.int64,
        "bin_low": np.float64,
        "bin_high": np.float64,
        "dense_features": np.int32,
        "sparse_features": np.int32,
        "sparse_default": np.uint32,
        "sparse_indptr": np.int64,
        "sparse_slot": np.int32,
    }
    n_bins = np.diff(binned.bin_offsets)
    if binned.sparse_code is not None:
        dtypes["sparse_code"] = np.uint32
        assert binned.sparse_code.size == binned.sparse_slot.size
        assert (binned.sparse_code != binned.sparse_default[binned.sparse_slot]).all()
        has_more = (n_bins[binned.sparse_features] > 2).any()
        is_missing = [binned.sparse_code == MISSING_U32, binned.sparse_default == MISSING_U32]
        assert has_more or np.concatenate(is_missing).any()
    else:
        assert (n_bins[binned.sparse_features[binned.sparse_slot]] == 2).all()
        assert (binned.sparse_default < 2).all()
    for name, dtype in dtypes.items():
        array = getattr(binned, name)
        assert array.dtype == dtype, name
        assert array.flags.c_contiguous, name
    assert binned.sparse_indptr[-1] == binned.sparse_slot.size
    for row in range(binned.n_rows):
        slots = binned.sparse_slot[binned.sparse_indptr[row] : binned.sparse_indptr[row + 1]]
        assert (np.diff(slots) > 0).all()


def assert_same(a, b):
    for name in a.__dataclass_fields__:
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


# ---- properties --------------------------------------------------------------------------------

values = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, NAN, np.inf, -np.inf, 2.0]),
    st.floats(width=32),
    st.integers(-5, 5).map(float),
)
columns = st.one_of(
    st.lists(values, min_size=12, max_size=12),
    st.lists(st.sampled_from([0.0, 0.0, 0.0, 3.0, NAN, -1.0]), min_size=12, max_size=12),
    st.tuples(values, st.lists(values, min_size=2, max_size=2)).map(lambda t: [t[0]] * 10 + t[1]),
)
matrices = st.lists(columns, min_size=1, max_size=6).map(lambda c: np.array(c).T.copy())
bin_limits = st.sampled_from([None, 2, 3, 5, 255])


@settings(max_examples=200, deadline=None)
@given(matrices, bin_limits, st.sampled_from([np.float32, np.float64]))
def test_codes_are_those_of_a_naive_look_up(X, max_bins, dtype):
    X = X.astype(dtype)
    binned = bin_numeric(X, max_bins)
    check_layout(binned)
    assert_array_equal(code_matrix(binned), naive_codes(binned, X))


@settings(max_examples=200, deadline=None)
@given(matrices, bin_limits)
def test_bins_are_ascending_disjoint_used_and_at_most_max_bins(X, max_bins):
    binned = bin_numeric(X, max_bins)
    codes = code_matrix(binned)
    for feature in range(X.shape[1]):
        bins = slice(binned.bin_offsets[feature], binned.bin_offsets[feature + 1])
        low, high = binned.bin_low[bins], binned.bin_high[bins]
        distinct = np.unique(X[~np.isnan(X[:, feature]), feature])
        assert low.size == min(distinct.size, max_bins or distinct.size)
        assert (low <= high).all()
        assert (high[:-1] < low[1:]).all()
        assert set(codes[:, feature]) - {-1} == set(range(low.size))
        assert np.isin(low, distinct).all()
        assert np.isin(high, distinct).all()


@settings(max_examples=200, deadline=None)
@given(matrices, bin_limits)
def test_sparse_input_is_binned_as_dense_input(X, max_bins):
    as_sparse = sparse.csr_array(X)
    assert_same(bin_numeric(as_sparse, max_bins), bin_numeric(X, max_bins))


@settings(max_examples=50, deadline=None)
@given(matrices, bin_limits)
def test_the_number_of_threads_changes_nothing(X, max_bins):
    assert_same(bin_numeric(X, max_bins, n_threads=3), bin_numeric(X, max_bins))


# ---- quantiles ---------------------------------------------------------------------------------


def test_continuous_values_are_shared_evenly():
    X = np.random.default_rng(0).normal(size=(10_000, 1))
    codes = code_matrix(bin_numeric(X, 100))[:, 0]
    assert np.bincount(codes).tolist() == [100] * 100


def test_frequent_values_have_their_own_bins_and_the_rest_is_even():
    rng = np.random.default_rng(0)
    spikes = np.repeat([-1.0, 0.0, 0.5], 2000)
    rest = rng.uniform(-2, 2, size=4000)
    binned = bin_numeric(np.concatenate([spikes, rest])[:, None], 43)
    alone = binned.bin_low[binned.bin_low == binned.bin_high]
    assert_array_equal(alone, [-1.0, 0.0, 0.5])
    counts = np.bincount(code_matrix(binned)[:, 0])
    others = counts[binned.bin_low != binned.bin_high]
    assert others.size == 40
    assert others.max() <= 2 * others.mean()


def test_a_value_that_just_overfills_a_bin_has_its_own():
    rest = np.random.default_rng(0).uniform(size=900)
    X = np.concatenate([np.full(120, 0.5), rest])[:, None]
    binned = bin_numeric(X, 10)
    assert 0.5 in binned.bin_low[binned.bin_low == binned.bin_high]


def test_more_frequent_values_than_bins_between_them_still_make_legal_bins():
    X = np.repeat(np.arange(9.0), [100, 1, 100, 1, 100, 1, 100, 1, 100])[:, None]
    binned = bin_numeric(X, 6)
    assert binned.bin_low.size == 6
    assert_array_equal(code_matrix(binned), naive_codes(binned, X))


def test_infinities_are_outer_bins():
    X = np.array([[-np.inf], [1.0], [np.inf], [2.0]])
    binned = bin_numeric(X, 255)
    assert_array_equal(binned.bin_low, [-np.inf, 1, 2, np.inf])
    assert_array_equal(code_matrix(binned)[:, 0], [0, 1, 3, 2])


@pytest.mark.parametrize("as_sparse", [False, True])
def test_negative_zero_is_zero(as_sparse):
    X = np.array([[-0.0, -0.0], [0.0, 1.0], [1.0, 1.0]])
    if as_sparse:  # every entry is stored, -0.0 too
        indices, indptr = np.tile([0, 1], 3), np.array([0, 2, 4, 6])
        X = sparse.csr_array((X.ravel(), indices, indptr), shape=(3, 2))
    binned = bin_numeric(X, 255)
    assert_array_equal(binned.bin_low, [0, 1, 0, 1])
    assert not np.signbit(binned.bin_low).any()


@pytest.mark.parametrize("max_bins", [None, 255])
def test_exact_bins_are_the_distinct_values(max_bins):
    X = np.random.default_rng(0).integers(0, 300 if max_bins is None else 200, size=(2000, 1)) / 7
    binned = bin_numeric(X, max_bins)
    assert_array_equal(binned.bin_low, np.unique(X))
    assert_array_equal(binned.bin_high, np.unique(X))
    assert binned.dense_codes.dtype == (np.uint32 if max_bins is None else np.uint8)


# ---- storage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_feature_is_listed_if_at_most_a_fifth_differs_from_its_commonest_code(as_sparse):
    X = np.zeros((10, 5))
    X[:2, 0] = [1, NAN]  # 20 % differ
    X[:3, 1] = 1  # 30 % differ
    X[:8, 2] = 4  # the commonest is not 0
    X[:, 3] = NAN  # nothing observed
    X[:, 4] = 7  # constant
    binned = bin_numeric(sparse.csr_array(X) if as_sparse else X, 255)
    assert binned.sparse_features.tolist() == [0, 2, 4]
    assert binned.sparse_default.tolist() == [0, 1, 0]
    assert binned.dense_features.tolist() == [1, 3]
    assert (binned.dense_codes[0, :, 1] == MISSING_U8).all()
    assert np.diff(binned.bin_offsets).tolist() == [2, 2, 2, 0, 1]
    assert_array_equal(code_matrix(binned), naive_codes(binned, X))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_minority_of_such_features_is_not_listed_unless_rows_cannot_be_ordered(as_sparse):
    def n_listed(X, max_bins=255, n_categories=0):
        is_categorical = np.arange(X.shape[1]) < (n_categories > 0)
        encoded = sparse.csr_array(X) if as_sparse else X
        categories = np.where(is_categorical, n_categories, 0)
        binned = bin_features(encoded, is_categorical, categories, max_bins)
        assert_array_equal(code_matrix(binned), naive_codes(binned, X))
        return binned.sparse_features.size

    X = np.column_stack([np.arange(20) % 2, np.arange(20), np.arange(20) == 3, np.zeros(20)])
    assert n_listed(X) == 0  # two of four
    assert n_listed(X[:, 1:]) == 2  # two of three
    assert n_listed(X, max_bins=None) == 2
    assert n_listed(X, n_categories=2) == 2
    assert n_listed(np.tile(X, (1639, 1))) == 2  # 32,780 rows


@pytest.mark.parametrize("max_bins", [None, 255])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_features_of_two_values_are_listed_where_nearly_all_features_are(as_sparse, max_bins):
    words = np.eye(20)[:, :16]
    common, missing = np.arange(20.0) % 5 > 1, np.where(np.arange(20) < 9, 1.0, np.arange(20) % 2)
    missing[0] = NAN
    three = np.arange(20.0) % 3

    def listed(*columns):
        X = np.column_stack([words, *columns])
        binned = bin_numeric(sparse.csr_array(X) if as_sparse else X, max_bins)
        check_layout(binned)
        assert_array_equal(code_matrix(binned), naive_codes(binned, X))
        return binned.sparse_features.tolist()[16:]

    assert listed(common) == [16]
    assert listed(common, three) == [16]
    assert listed(missing, common) == [17]  # a missing value is a third
    assert listed(common, common, common) == []  # less than eight to one


@pytest.mark.parametrize("max_bins", [None, 255])
def test_missing_is_the_largest_dense_code(max_bins):
    X = np.array([[1.0], [2.0], [NAN], [3.0]])
    codes = bin_numeric(X, max_bins).dense_codes[0, :, 0]
    assert codes.tolist() == [0, 1, MISSING_U32 if max_bins is None else MISSING_U8, 2]


def test_one_row_is_binned():
    binned = bin_numeric(np.array([[1.0, NAN]]), 255)
    assert_array_equal(code_matrix(binned), [[0, -1]])


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("max_bins", [2, 255, None])
def test_every_category_is_a_bin_however_many_there_are(as_sparse, max_bins):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 400, 1000), rng.integers(0, 3, 1000)]).astype(float)
    X[::7, 0] = NAN
    X[::5, 1] = NAN
    encoded = sparse.csr_array(X) if as_sparse else X
    binned = bin_features(encoded, np.array([True, True]), np.array([401, 4]), max_bins)
    check_layout(binned)
    assert binned.is_categorical.tolist() == [1, 1]
    assert_array_equal(binned.bin_low[:401], np.arange(401))  # 400 does not occur
    assert_array_equal(binned.bin_high[401:], np.arange(4))
    assert binned.sparse_features.tolist() == ([] if max_bins is None else [0])
    assert_array_equal(code_matrix(binned), np.where(np.isnan(X), -1, X))


@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("value", [1.0, -2.5])
def test_entries_that_are_all_alike_are_binned_as_others(value, max_bins):
    """A second value in one more column takes the way of all matrices."""
    rng = np.random.default_rng(0)
    for shares in ([0.0, 0.05, 0.1, 0.15, 0.4], [0.05] * 4 + [0.5, 1.0], [0.3, 0.5, 0.7]):
        X = (rng.random((40, len(shares))) < shares) * value
        X = np.hstack([X, np.tile(X[:, :1], 6)])
        alike = bin_numeric(sparse.csr_array(X), max_bins)
        check_layout(alike)
        np.testing.assert_array_equal(code_matrix(alike), naive_codes(alike, X))
        assert_same(alike, bin_numeric(X, max_bins))
        second = np.zeros((len(X), 1))
        second[:2, 0] = 1.0, 2.0
        more = bin_numeric(sparse.csr_array(np.hstack([X, second])), max_bins)
        np.testing.assert_array_equal(code_matrix(more)[:, :-1], code_matrix(alike))
        np.testing.assert_array_equal(more.bin_high[: alike.bin_high.size], alike.bin_high)


def test_sparse_and_dense_agree_on_a_mixed_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 30)) * (rng.uniform(size=(500, 30)) < np.linspace(0, 1, 30))
    X[rng.uniform(size=X.shape) < 0.02] = NAN
    X[:, 3] = rng.integers(0, 5, 500)
    is_categorical = np.arange(30) == 3
    n_categories = np.where(is_categorical, 5, 0)
    for max_bins in (2, 40, 255, None):
        dense = bin_features(X, is_categorical, n_categories, max_bins)
        assert_same(
            bin_features(sparse.csr_array(X), is_categorical, n_categories, max_bins), dense
        )


def test_wide_sparse_data_are_not_densified():
    rng = np.random.default_rng(0)
    X = sparse.random_array((20_000, 50_000), density=2e-4, format="csr", rng=rng)
    dense_bytes = 20_000 * 50_000  # one byte per code
    tracemalloc.start()
    binned = BinnedData(X).binned(255)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < dense_bytes / 10
    assert binned.sparse_slot.size == X.nnz
    assert binned.dense_features.size == 0


@pytest.mark.parametrize("max_bins", [1, 0, -3, 256])
def test_max_bins_out_of_range_is_refused(max_bins):
    with pytest.raises(
        ValueError, match=f"from 2 to 255, or None for exact splits; got {max_bins}"
    ):
        bin_numeric(np.ones((2, 1)), max_bins)


@pytest.mark.parametrize("max_bins", [2.5, "255", True])
def test_max_bins_of_another_type_is_refused(max_bins):
    with pytest.raises(TypeError, match="must be an integer from 2 to 255"):
        BinnedData(np.ones((2, 1))).binned(max_bins)


@pytest.mark.parametrize("max_bins", [2, 255, None])
def test_columns_of_two_values_are_binned_as_if_they_had_more(monkeypatch, max_bins):
    rng = np.random.default_rng(0)
    shares = np.array([0.0, 0.02, 0.5, 0.98, 0.03, 0.5])
    X = np.where(rng.random((200, 6)) < shares, 3.0, -0.0)  # the first is constant
    X[:, 4] = -X[:, 4]
    X[0, 5] = np.nan
    no_categories = np.zeros(6, dtype=bool)

    def binned():
        return bin_features(X, no_categories, np.zeros(6, dtype=int), max_bins)

    quick = binned()

    def find_none(values, low, high, n_high, n_threads):
        n_high[:] = -1

    monkeypatch.setattr(_core, "find_flags", find_none)
    slow = binned()
    assert slow.sparse_features.size > 0
    assert slow.dense_features.size > 0
    for name in vars(slow):
        assert np.array_equal(getattr(quick, name), getattr(slow, name)), name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_columns_of_two_values_are_found(dtype, n_threads):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(50, 150)).astype(dtype)
    X[:, ::3] = rng.integers(0, 2, size=(50, 50)) * 7 - 3
    X[:, 6] = 5.0  # one value
    X[49, 9] = 2.0  # a third one at the end
    X[20, 12] = NAN
    X[0, 15] = NAN
    low, high, n_high = np.empty(150), np.empty(150), np.empty(150, np.int64)
    _core.find_flags(X, low, high, n_high, n_threads)
    for f in range(150):
        values = np.unique(X[:, f])
        if values.size > 2 or np.isnan(values).any():
            assert n_high[f] == -1
            continue
        assert (low[f], high[f]) == (values[0], values[-1])
        assert n_high[f] == (X[:, f] > values[0]).sum()
    assert (n_high >= 0).sum() == 47


def test_what_is_not_common_is_listed_row_by_row():
    X = np.array([[0.0, 2.0, 1.0], [1.0, 2.0, NAN], [0.0, 3.0, 1.0]])
    features, common = np.array([1, 2, 0], np.int32), np.array([2.0, 1.0, 0.0])
    rows, slots = np.empty(3, np.int32), np.empty(3, np.int32)
    assert _core.list_uncommon(X, features, common, rows, slots) == 3
    assert list(zip(rows, slots, strict=True)) == [(1, 1), (1, 2), (2, 0)]
    # Without room for all of them, the first ones are listed and all are counted.
    assert _core.list_uncommon(X, features, common, rows[:1], slots[:1]) == 3


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
@pytest.mark.parametrize("inverted", [[], [0], [2, 7]])
def test_entries_are_split_into_lists_and_tiles(dtype, inverted):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((20, 9)) < 0.4) * 1.0)
    place = np.array([0, -1, 1, 2, -2, -3, -4, 3, -5], np.int32)
    code = rng.integers(1, 9, size=9).astype(np.uint32)
    is_listed = (X.toarray() != 0) & (place >= 0)
    is_listed[:, inverted] ^= True
    n_listed = int(is_listed.sum())
    indptr, slots = np.empty(21, np.int64), np.empty(n_listed, np.int32)
    tiles = np.zeros((2, 20, 4), dtype)
    entries = X.indptr.astype(np.int64), X.indices.astype(np.int32), place, code
    entries = *entries, np.array(inverted, np.int32)
    _core.split_entries(*entries, indptr, slots, tiles)
    for row, line in enumerate(X.toarray()):
        features = np.flatnonzero(line)
        listed = np.flatnonzero(is_listed[row])
        assert slots[indptr[row] : indptr[row + 1]].tolist() == place[listed].tolist()
        expected = np.zeros(8, dtype)
        expected[[-1 - place[f] for f in features if place[f] < 0]] = [
            code[f] for f in features if place[f] < 0
        ]
        assert np.array_equal(tiles[:, row].ravel(), expected)
    with pytest.raises(ValueError, match="slots"):
        _core.split_entries(*entries, indptr, slots[1:], tiles)
    with pytest.raises(ValueError, match="place"):
        _core.split_entries(*entries, indptr, slots, tiles[:1].copy())
    twice = np.repeat(entries[1][:1], entries[1].size)
    with pytest.raises(ValueError, match="indices must rise within a row"):
        _core.split_entries(entries[0], twice, *entries[2:], indptr, slots, tiles)
