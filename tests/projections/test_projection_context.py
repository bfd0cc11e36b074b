"""Which channels a context finds worth viewing."""

import numpy as np
import pytest
from scipy import sparse


def naive_varying(values, observed, weights):
    """Collect the distinct values of the entries that count."""
    n_rows, n_channels = values.shape
    varying = []
    for j in range(n_channels):
        distinct = set()
        for i in range(n_rows):
            if observed is not None and not observed[i, j]:
                continue
            if weights is not None and (weights[i] if weights.ndim == 1 else weights[i, j]) == 0:
                continue
            distinct.add(values[i, j])
        varying.append(len(distinct) > 1)
    return varying


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [None, "rows", "entries"])
def test_varying_channels_equal_the_naive_reference(
    seed, as_sparse, masked, weighted, make_context
):
    rng = np.random.default_rng(seed)
    shape = (4, 30)  # few rows, so that many channels are constant
    values = rng.integers(-1, 2, size=shape).astype(float)
    observed = rng.random(shape) < 0.6 if masked else None
    if masked:
        values[~observed] = 0.0
    size = {None: None, "rows": 4, "entries": shape}[weighted]
    weights = None if size is None else rng.integers(0, 2, size=size).astype(float)
    given = sparse.csr_array(values) if as_sparse else values
    context = make_context(given, observed=observed, weights=weights)
    assert context.varying_channels.tolist() == naive_varying(values, observed, weights)


def test_explicit_zeros_do_not_make_a_channel_vary(make_context):
    values = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 2.0], [0.0, 1.0]]))
    values.data[[0, 2]] = 0.0  # both ones of the first channel
    assert make_context(values).varying_channels.tolist() == [False, True]


def test_output_varies_if_one_of_its_channels_does(make_context):
    values = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 2.0]])
    context = make_context(values, channel_offsets=np.array([0, 3, 4], dtype=np.int32))
    assert context.varying_outputs.tolist() == [True, False]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("channel_offsets", np.array([0, 2]), "number of channels of values, 3; got 2"),
        ("observed", np.ones((4, 2), dtype=bool), r"observed .* \(4, 3\); got \(4, 2\)"),
        ("weights", np.ones(3), r"weights .* \(4,\) or \(4, 3\); got \(3,\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(field, value, message, make_context):
    with pytest.raises(ValueError, match=message):
        make_context(np.zeros((4, 3)), **{field: value})
