"""Small label problems that graph classifiers can learn."""

import numpy as np


def linear_labels(n_rows=200, n_labels=5, *, seed=0, noise=0.0):
    """Labels by lines through the plane, so that neighbours agree on most rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    angles = np.linspace(0.0, 2.0, n_labels)
    scores = X[:, :2] @ [np.cos(angles), np.sin(angles)] + 0.2
    Y = (scores > 0) ^ (rng.random(scores.shape) < noise)
    return X, Y.astype(int)


def quick(**parameters):
    """Parameters that spare what a test does not look at."""
    spared = {"calibration_folds": None, "kernel": "linear", "C": "scale", "random_state": 0}
    return spared | parameters
