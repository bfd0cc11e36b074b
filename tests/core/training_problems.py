"""Training data made from plain arrays, for tests of the training loops."""

import numpy as np

from polyleaf.data import BinnedData, read_classes, read_numbers
from polyleaf.data.training import TrainingData


def make_training_data(X, Y, weights=None, *, max_bins=None, classes=False):
    """Ingest X and Y as the estimators do."""
    data = BinnedData(X)
    read = read_classes if classes else read_numbers
    targets = read(Y, data.n_rows, estimator_name="test").weighted(weights)
    return TrainingData(data.schema, data.binned(max_bins), data.encoded, targets, weights)


def smooth_problem(seed, n_rows=200, n_features=4, n_outputs=3, share_missing=0.0):
    """Smooth outputs with noise; a share of them is not observed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    Y = np.sin(2 * X) @ rng.normal(size=(n_features, n_outputs))
    Y += 0.5 * rng.normal(size=Y.shape) + 3.0
    Y[rng.random(Y.shape) < share_missing] = np.nan
    return X, Y, rng
