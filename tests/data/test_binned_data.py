"""BinnedData encodes once, bins once per max_bins, in any thread, and can be pickled."""

import pickle
import threading

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

from polyleaf.data import BinnedData

NAN = np.nan


def assert_same(a, b):
    for name in a.__dataclass_fields__:
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_binned_data_is_encoded_once_and_binned_once_per_max_bins():
    data = BinnedData(pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": ["a", "b", "a"]}))
    assert data.shape == (3, 2)
    assert data.n_rows == 3
    assert data.schema.names == ("x", "c")
    assert data.binned(255) is data.binned(255)
    assert data.binned(255) is not data.binned(2)
    assert data.binned(None).dense_codes.dtype == np.uint32


def test_binned_data_takes_categorical_features():
    data = BinnedData(np.array([[10.0], [20.0]]), categorical_features=[0])
    assert data.binned(255).is_categorical.tolist() == [1]


def test_binned_data_gives_all_threads_the_same_result():
    data = BinnedData(np.random.default_rng(0).normal(size=(2000, 10)))
    found = []
    threads = [threading.Thread(target=lambda: found.append(data.binned(64))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(binned is found[0] for binned in found)


def test_binned_data_can_be_pickled():
    data = BinnedData(np.array([[1.0, NAN], [2.0, 5.0]]))
    data.binned(255)
    again = pickle.loads(pickle.dumps(data))
    assert_same(again.binned(255), data.binned(255))
    assert_same(again.binned(2), data.binned(2))
