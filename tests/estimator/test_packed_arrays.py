"""Views of packed buffers, whose elements lie between two aligned ones, are read all the same."""

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import projections
from polyleaf._registry import ESTIMATORS
from polyleaf.data import FeatureSchema

rng = np.random.default_rng(0)
X = np.maximum(np.round(rng.normal(size=(70, 4)), 2), 0.0)
Y = X[:, :3] + rng.normal(size=(70, 3))
WEIGHTS = rng.uniform(0.5, 2.0, 70)
SMALL = {"n_estimators": 3, "n_rules": 3, "max_iter": 10, "random_state": 0}


def packed(array):
    """Copy an array to an odd address, as a field of a file without padding has."""
    buffer = bytearray(array.nbytes + 8)
    start = np.frombuffer(buffer, np.uint8).ctypes.data
    copy = np.frombuffer(buffer, array.dtype, array.size, offset=1 + start % 2)
    copy = copy.reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


def packed_csr(matrix):
    copy = matrix.copy()
    copy.data, copy.indices, copy.indptr = map(
        packed, (matrix.data, matrix.indices, matrix.indptr)
    )
    return copy


def packed_coo(matrix):
    entries = matrix.tocoo()
    parts = packed(entries.data), tuple(map(packed, entries.coords))
    return sparse.coo_array(parts, shape=matrix.shape)


def fitted(cls, *data, **weights):
    taken = cls().get_params()
    return cls(**{name: SMALL[name] for name in SMALL if name in taken}).fit(*data, **weights)


@pytest.mark.filterwarnings("ignore:.*duality gap")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_packed_arrays_give_the_same_model(name, dtype):
    y = (Y > 0.5).astype(dtype) if "Classifier" in name else Y.astype(dtype)
    x = X.astype(dtype)
    weights = {} if name.startswith("Rule") else {"sample_weight": WEIGHTS}
    expected = fitted(ESTIMATORS[name], x, y, **weights).predict(x)
    weights = {key: packed(value) for key, value in weights.items()}
    model = fitted(ESTIMATORS[name], packed(x), packed(y), **weights)
    assert np.array_equal(model.predict(packed(x)), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("pack", [packed_csr, packed_coo])
def test_packed_sparse_matrices_give_the_same_model(pack, dtype):
    x, y = sparse.csr_array(X.astype(dtype)), sparse.csr_array((Y > 0.5).astype(dtype))
    expected = fitted(polyleaf.RandomForestClassifier, x, y).predict(x)
    read = FeatureSchema.fit(pack(x))[1]
    assert all(part.flags.aligned for part in (read.data, read.indices, read.indptr))
    model = fitted(polyleaf.RandomForestClassifier, pack(x), pack(y))
    assert (model.predict(pack(x)) != expected).nnz == 0


def test_a_projection_may_give_packed_channels():
    channels = rng.normal(size=(70, 2)).astype(np.float32)
    view = projections.View.of_given(packed(channels), 3)
    assert view.given.flags.aligned
    assert np.array_equal(view.given, channels)
