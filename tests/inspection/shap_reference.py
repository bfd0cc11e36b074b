"""Shapley values by their definition: every subset of the features, one row and tree at a time."""

import itertools
import math

import numpy as np

from polyleaf.trees.additive import ChannelChoice


def leaf_values(trees, t):
    """Values of the leaves of tree t in all channels."""
    every = ChannelChoice.of([[c] for c in range(trees.n_channels)], trees.n_channels)
    return np.asarray(trees.tree_values(t, t + 1, every), dtype=float)


def goes_left(structure, node, value):
    """Whether a row with this value goes left."""
    if np.isnan(value):
        return bool(structure.missing_left[node])
    if structure.category_offset[node] < 0:
        return value <= structure.threshold[node]
    if not 0 <= value < structure.n_categories[structure.feature[node]]:
        return bool(structure.missing_left[node])
    return int(value) in structure.left_categories(node)


def expectation(trees, t, values, row, present, background=None):
    """v(S): the tree's expected value when only the features in `present` are known."""
    structure, rows = trees.structure, trees.node_rows()
    root = int(structure.tree_offsets[t])
    first_leaf = trees.tree_leaves[t]

    def at(node, known):
        feature = int(structure.feature[node])
        if feature < 0:
            return values[structure.leaf_index[node] - first_leaf]
        left, right = node + 1, root + int(structure.right[node])
        if feature in known:
            return at(left if goes_left(structure, node, known[feature]) else right, known)
        return (rows[left] * at(left, known) + rows[right] * at(right, known)) / rows[node]

    if background is None:
        return at(root, {f: row[f] for f in present})
    mixed = [
        {f: (row[f] if f in present else other[f]) for f in range(len(row))}
        for other in background
    ]
    return np.mean([at(root, known) for known in mixed], axis=0)


def games(model, X, background=None):
    """For every row and tree: the features used and the value of each of their subsets."""
    trees = model._additive()
    encoded = np.asarray(model._encode(X))
    others = None if background is None else np.asarray(model._encode(background))
    for i, row in enumerate(encoded):
        for t in range(trees.n_trees):
            values = leaf_values(trees, t)
            nodes = slice(*trees.structure.tree_offsets[t : t + 2])
            used = sorted(set(trees.structure.feature[nodes].tolist()) - {-1})
            subsets = [s for k in range(len(used) + 1) for s in itertools.combinations(used, k)]
            worth = {s: expectation(trees, t, values, row, s, others) for s in subsets}
            yield i, used, worth


def brute_force(model, X, background=None):
    """Shapley values of all channels, of shape (n, p, k)."""
    found = np.zeros((len(X), model.n_features_in_, model._additive().n_channels))
    for i, used, worth in games(model, X, background):
        for subset in worth:
            for f in set(used) - set(subset):
                k, m = len(subset), len(used)
                weight = math.factorial(k) * math.factorial(m - k - 1) / math.factorial(m)
                with_f = tuple(sorted((*subset, f)))
                found[i, f] += weight * (worth[with_f] - worth[subset])
    return found


def brute_force_pairs(model, X, pairs):
    """Half of the Shapley interaction index of each pair, of shape (n, n_pairs, k)."""
    found = np.zeros((len(X), len(pairs), model._additive().n_channels))
    for i, used, worth in games(model, X):
        m = len(used)
        for number, (a, b) in enumerate(pairs):
            if a not in used or b not in used:
                continue
            for s in worth:
                if a in s or b in s:
                    continue
                weight = math.factorial(len(s)) * math.factorial(m - len(s) - 2)
                together = worth[tuple(sorted((*s, a, b)))] - worth[tuple(sorted((*s, a)))]
                apart = worth[tuple(sorted((*s, b)))] - worth[s]
                found[i, number] += 0.5 * weight / math.factorial(m - 1) * (together - apart)
    return found
