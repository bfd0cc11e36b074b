"""Views against naive references."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf.projections import View, _view

N_ROWS, N_CHANNELS = 23, 5
MASKS = [False, True]
WEIGHTS = [None, "rows", "entries"]


def problem(masked, weighted, seed=0):
    """Values around 10 with their mask and weights, some of which are 0."""
    rng = np.random.default_rng(seed)
    shape = (N_ROWS, N_CHANNELS)
    observed = rng.random(shape) < 0.6 if masked else None
    weights = {None: None, "rows": rng.random(N_ROWS), "entries": rng.random(shape)}[weighted]
    if weights is not None:
        weights[:3] = 0.0
    values = 10 + rng.normal(size=shape)
    if masked:
        values[~observed] = 0.0
    return values, observed, weights


def naive_mixing(values, observed, weights, matrix):
    """Loop over entries: centre, mask, weigh relative to the row, combine."""
    n_rows, n_channels = values.shape
    entry_weights = np.ones(values.shape)
    if weights is not None:
        entry_weights = weights if weights.ndim == 2 else np.tile(weights, (n_channels, 1)).T
    seen = [j for j in range(n_channels) if any(matrix[j])]
    centred = np.zeros(values.shape)
    for j in range(n_channels):
        known = [i for i in range(n_rows) if observed is None or observed[i, j]]
        mass = sum(entry_weights[i, j] for i in known)
        mean = sum(entry_weights[i, j] * values[i, j] for i in known) / mass
        for i in known:
            centred[i, j] = values[i, j] - mean
            if weights is not None and weights.ndim == 2:
                row_weight = sum(entry_weights[i, k] for k in seen) / len(seen)
                centred[i, j] *= entry_weights[i, j] / row_weight if row_weight else 0.0
    return centred @ matrix


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("block_entries", [1, 7 * N_CHANNELS, 2**20])
def test_mixing_equals_the_naive_reference(
    as_sparse, masked, weighted, block_entries, monkeypatch
):
    monkeypatch.setattr(_view, "BLOCK_ENTRIES", block_entries)
    values, observed, weights = problem(masked, weighted)
    matrix = np.random.default_rng(1).normal(size=(N_CHANNELS, 3))
    matrix[2] = 0.0  # a channel that is not seen
    expected = naive_mixing(values, observed, weights, matrix)
    given = sparse.csr_array(values) if as_sparse else values
    for each in (matrix, sparse.csc_array(matrix)):
        shown = View.of_mixing(each).apply(given, observed, weights)
        np.testing.assert_allclose(shown, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_centred_products_equal_products_with_the_centred_matrix(masked, weighted, as_sparse):
    values, observed, weights = problem(masked, weighted)
    scale = None if weights is None else np.sqrt(weights)
    given = sparse.csr_array(values) if as_sparse else values
    operator = _view.CentredValues(given, observed, weights, scale)
    centred = operator.matmul(np.eye(N_CHANNELS))
    right = np.random.default_rng(2).normal(size=(N_ROWS, 4))
    np.testing.assert_allclose(operator.rmatmul(right), centred.T @ right, atol=1e-10)
    np.testing.assert_allclose(operator.gram(), centred.T @ centred, atol=1e-10)


def test_mixing_survives_a_large_offset():
    values = np.random.default_rng(0).normal(size=(50, 3))
    view = View.of_mixing(np.ones((3, 1)))
    np.testing.assert_allclose(view.apply(values + 1e8), view.apply(values), atol=1e-6)


def test_weighted_sums_of_a_mixing_view_use_the_weight_of_each_entry():
    values, _, weights = problem(masked=False, weighted="entries")
    matrix = np.random.default_rng(1).normal(size=(N_CHANNELS, 2))
    view = View.of_mixing(matrix)
    means = (weights * values).sum(axis=0) / weights.sum(axis=0)
    subset = slice(0, 12)
    np.testing.assert_allclose(
        view.apply_weights(weights)[subset] @ view.apply(values, weights=weights)[subset],
        (weights * (values - means))[subset].sum(axis=0) @ matrix,
        rtol=1e-5,
    )


def test_weights_that_agree_within_rows_equal_weights_per_row():
    values, _, weights = problem(masked=False, weighted="rows")
    repeated = np.repeat(weights[:, np.newaxis], N_CHANNELS, axis=1)
    view = View.of_mixing(np.random.default_rng(1).normal(size=(N_CHANNELS, 2)))
    np.testing.assert_allclose(view.apply_weights(repeated), weights)
    in_sample = weights > 0
    np.testing.assert_allclose(
        view.apply(values, weights=repeated)[in_sample],
        view.apply(values, weights=weights)[in_sample],
        atol=1e-6,
    )


@pytest.mark.parametrize("as_sparse", [False, True])
def test_selection_shows_raw_columns_times_scale_with_repeats(as_sparse):
    values, observed, weights = problem(masked=True, weighted="entries")
    given = sparse.csr_array(values) if as_sparse else values
    view = View.of_selection([4, 1, 1], N_CHANNELS, scale=0.5)
    assert view.selected.tolist() == [1, 1, 4]
    assert view.selected.dtype == np.int32
    assert view.seen.tolist() == [False, True, False, False, True]
    shown = view.apply(given, observed, weights)
    np.testing.assert_array_equal(shown, (0.5 * values[:, [1, 1, 4]]).astype(np.float32))
    np.testing.assert_array_equal(view.apply_observed(observed), observed[:, [1, 1, 4]])
    np.testing.assert_array_equal(view.apply_weights(weights), weights[:, [1, 1, 4]])


def test_masks_and_weights_pass_unchanged_where_there_is_nothing_to_select():
    _, observed, weights = problem(masked=True, weighted="entries")
    everything = View.of_all(N_CHANNELS)
    assert everything.apply_observed(observed) is observed
    assert everything.apply_weights(weights) is weights
    mixing = View.of_mixing(np.ones((N_CHANNELS, 2)))
    assert mixing.apply_observed(observed) is None
    for view in (everything, mixing, View.of_selection([0], N_CHANNELS)):
        assert view.apply_observed(None) is None
        assert view.apply_weights(None) is None
        assert view.apply_weights(weights[:, 0]).ndim == 1


def test_an_output_is_seen_if_one_of_its_channels_is():
    view = View.of_selection([2], 6)
    offsets = np.array([0, 1, 4, 6], dtype=np.int32)
    assert view.seen_outputs(offsets).tolist() == [False, True, False]


def test_explicit_zeros_of_a_sparse_matrix_are_not_seen():
    matrix = sparse.csc_array(np.array([[1.0], [1.0]]))
    matrix.data[1] = 0.0
    assert View.of_mixing(matrix).seen.tolist() == [True, False]


@pytest.mark.parametrize(
    ("selected", "message"),
    [([], "non-empty"), ([[0]], "non-empty"), ([0, 3], "0 to 2; got 3"), ([-1], "got -1")],
)
def test_bad_selection_is_refused(selected, message):
    with pytest.raises(ValueError, match=message):
        View.of_selection(selected, 3)


@pytest.mark.parametrize("shape", [(3,), (3, 0)])
def test_bad_mixing_matrix_is_refused(shape):
    with pytest.raises(ValueError, match="at least one column"):
        View.of_mixing(np.ones(shape))


def test_values_with_other_channels_are_refused():
    with pytest.raises(ValueError, match=r"drawn for 3 channels; got values of shape \(2, 4\)"):
        View.of_all(3).apply(np.zeros((2, 4)))
