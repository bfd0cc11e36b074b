"""Naive references of graph labelling: all labellings, one by one."""

import itertools

import numpy as np


def all_labellings(n_states):
    """Every labelling, of shape (prod of n_states, n_labels)."""
    return np.array(list(itertools.product(*map(range, n_states))), dtype=np.int32)


def random_tree(n_labels, rng):
    """Edges of a random tree, the smaller label first."""
    edges = [(int(rng.integers(j)), j) for j in range(1, n_labels)]
    return np.array(edges, dtype=np.int32).reshape(-1, 2)


def random_graph(n_labels, n_edges, rng):
    """Edges of a random graph with the given number of edges."""
    pairs = np.array(list(itertools.combinations(range(n_labels), 2)), dtype=np.int32)
    return pairs[np.sort(rng.choice(len(pairs), min(n_edges, len(pairs)), replace=False))]


def potential_score(n_states, edges, potentials, labelling):
    """Score of a labelling: the sum of the numbers of its labels and pairs."""
    at, score = 0, 0.0
    for label, n in zip(labelling, n_states):
        score += potentials[at + label - 1] if label > 0 else 0.0
        at += n - 1
    for a, b in edges:
        u, v = labelling[a], labelling[b]
        if u > 0 and v > 0:
            score += potentials[at + (u - 1) * (n_states[b] - 1) + v - 1]
        at += (n_states[a] - 1) * (n_states[b] - 1)
    return score


def brute_force(n_states, edges, potentials):
    """Best score, and max-marginals of all classes but the first, relative to the first."""
    labellings = all_labellings(n_states)
    scores = np.array([potential_score(n_states, edges, potentials, y) for y in labellings])
    relative = []
    for j, n in enumerate(n_states):
        best = [scores[labellings[:, j] == u].max() for u in range(n)]
        relative += [value - best[0] for value in best[1:]]
    return scores.max(), np.array(relative)


def n_parameters(n_states, edges):
    n_states = np.asarray(n_states)
    return int((n_states - 1).sum() + sum((n_states[a] - 1) * (n_states[b] - 1) for a, b in edges))


def edge_features(n_states, edges, x, labelling):
    """The joint feature map of eq. 1: x in the block of each edge's pair of labels."""
    blocks = []
    for a, b in edges:
        table = np.zeros((n_states[a], n_states[b], x.size))
        table[labelling[a], labelling[b]] = x
        blocks.append(table.ravel())
    return np.concatenate(blocks)
