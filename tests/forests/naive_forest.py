"""Predictions of a forest the plain way: weights per training row, tree and output."""

import numpy as np
import pandas as pd
from scipy import sparse

RNG = np.random.default_rng(7)
N_TRAIN, N_TEST = 70, 25
X = RNG.normal(size=(N_TRAIN + N_TEST, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
FILLED = np.nan_to_num(X)
Y = np.column_stack(
    [
        FILLED[:, 0] + FILLED[:, 1],
        FILLED[:, 1] * FILLED[:, 2],
        np.sin(FILLED[:, 2]) + 5.0,
        FILLED[:, 3] + 0.3 * RNG.normal(size=len(X)),
    ]
)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    kind=pd.Categorical(RNG.choice(list("uvwxyz"), len(X)))
)
MASKED_Y = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
MASKED_Y[:, 3] = np.where(np.arange(len(X)) < 4, Y[:, 3], np.nan)  # few leaves see any of it
#: Kinds of data: features, targets, weights.
PROBLEMS = {
    "dense": (X, Y, None),
    "sparse": (X, sparse.csr_array(np.where(Y > 0.5, Y, 0.0)), None),
    "masked": (X, MASKED_Y, None),
    "weighted": (X, Y, RNG.integers(0, 4, len(X)).astype(float)),
    "weighted entries": (X, Y, RNG.integers(0, 4, Y.shape).astype(float)),
    "masked and weighted": (X, MASKED_Y, RNG.random(Y.shape) + 0.1),
    "categorical": (FRAME, Y, None),
    "sparse and weighted": (X, sparse.csr_array(np.where(Y > 0.5, Y, 0.0)), RNG.random(len(X))),
}


def training_part(kind):
    """Features, targets and weights of the training rows."""
    data, targets, weights = PROBLEMS[kind]
    features = data.iloc[:N_TRAIN] if isinstance(data, pd.DataFrame) else data[:N_TRAIN]
    return features, targets[:N_TRAIN], None if weights is None else weights[:N_TRAIN]


def test_features(kind):
    """Features of the other rows."""
    data = PROBLEMS[kind][0]
    return data.iloc[N_TRAIN:] if isinstance(data, pd.DataFrame) else data[N_TRAIN:]


test_features.__test__ = False  # a name, not a test


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def labels_of(targets):
    """0/1 labels in the form of the targets: dense, masked or sparse."""
    if sparse.issparse(targets):
        return sparse.csr_array((targets > 1.0).astype(float))
    return np.where(np.isnan(targets), np.nan, targets > 0.5)


def channel_weights(targets, weights):
    """Weight of every training entry, 0 where it is not observed."""
    values = dense(targets).astype(float)
    by_entry = np.ones(values.shape)
    if weights is not None:
        by_entry = by_entry * (weights[:, None] if weights.ndim == 1 else weights)
    return np.where(np.isnan(values), 0.0, by_entry)


def naive_tree_weights(forest, t, features, targets, weights, queries):
    """Share of each training row in what tree t predicts: (n_queries, n_train, n_outputs).

    Training rows go down the tree as queries do. A leaf without weight in an output stands for
    the nearest node above it that has some.
    """
    tree = forest.estimators_[t]
    inside = tree.decision_path(features).toarray()  # (n_train, n_nodes)
    paths = tree.decision_path(queries)
    counts = list(forest._forest.in_bag_counts())[t]
    by_entry = channel_weights(targets, weights) * counts[:, None]
    shares = np.zeros((paths.shape[0], *by_entry.shape))
    for row in range(paths.shape[0]):
        nodes = sorted(paths.indices[paths.indptr[row] : paths.indptr[row + 1]], reverse=True)
        for j in range(by_entry.shape[1]):
            for node in nodes:  # in preorder, deeper ones have larger numbers
                here = inside[:, node] * by_entry[:, j]
                if here.sum() > 0:
                    shares[row, :, j] = here / here.sum()
                    break
    return shares


def naive_row_weights(forest, kind, targets, queries, tree_weights):
    """Weights of training rows in predictions of the forest: (n_queries, n_train, n_outputs)."""
    features, _, weights = training_part(kind)
    total = 0.0
    for t in range(len(forest.estimators_)):
        shares = naive_tree_weights(forest, t, features, targets, weights, queries)
        total = total + tree_weights[t] * shares
    return total


def naive_predictions(row_weights, targets):
    """Weighted averages of training outputs, NaN where nothing has any weight."""
    values = np.nan_to_num(dense(targets).astype(float))
    predicted = np.einsum("qij,ij->qj", row_weights, values)
    predicted[row_weights.sum(axis=1) == 0] = np.nan
    return predicted


def fitted_tree_weights(forest):
    """Weights of trees per output, of shape (n_trees, n_outputs)."""
    weights = forest._forest.tree_weights
    shape = (forest._forest.n_trees, forest._forest.outputs.n_channels)
    return np.full(shape, 1 / shape[0]) if weights is None else weights
