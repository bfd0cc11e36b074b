"""Metrics as their definitions read, one row and one label at a time; and data to try them on."""

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy import sparse


@st.composite
def label_problems(draw, *, unobserved=False, min_labels=1):
    """Draw true labels, predicted labels, scores with many ties, and weights."""
    n = draw(st.integers(1, 7))
    d = draw(st.integers(min_labels, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    true = (rng.random((n, d)) < rng.random()).astype(float)
    pred = (rng.random((n, d)) < rng.random()).astype(float)
    scores = rng.integers(-2, 3, size=(n, d)).astype(float) / draw(st.sampled_from([1, 3]))
    weights = rng.integers(0, 4, size=n).astype(float)
    weights[rng.integers(n)] = 1.0
    if unobserved:
        true[rng.random((n, d)) < 0.3] = np.nan
    return true, pred, scores, weights


def layouts(true, pred):
    """Yield the pair dense and sparse, where sparse can hold it."""
    for true_layout, pred_layout in itertools.product((np.asarray, sparse.csr_matrix), repeat=2):
        if true_layout is np.asarray or not np.isnan(true).any():
            yield true_layout(true), pred_layout(pred)


def mean(values, weights):
    """Weighted mean of those that are a number."""
    pairs = [(v, w) for v, w in zip(values, weights) if not np.isnan(v)]
    total = sum(w for _, w in pairs)
    return sum(v * w for v, w in pairs) / total if total else np.nan


def observed(true_row):
    return [j for j, value in enumerate(true_row) if not np.isnan(value)]


def sets(true_row, pred_row):
    known = observed(true_row)
    return (
        {j for j in known if true_row[j] == 1},
        {j for j in known if pred_row[j] == 1},
        known,
    )


def by_row(score):
    """Make a metric of a function of the true set, the predicted set and the observed labels."""

    def metric(true, pred, weights):
        rows = [sets(t, p) for t, p in zip(true, pred)]
        return mean([score(*row) if row[2] else np.nan for row in rows], weights)

    return metric


def hamming(true, pred, weights):
    rows = [sets(t, p) for t, p in zip(true, pred)]
    total = sum(w * len(known) for (_, _, known), w in zip(rows, weights))
    wrong = sum(w * len(t ^ p) for (t, p, _), w in zip(rows, weights))
    return wrong / total if total else np.nan


subset_zero_one = by_row(lambda t, p, known: float(t != p))
precision = by_row(lambda t, p, known: len(t & p) / len(p) if p else 1.0)
recall = by_row(lambda t, p, known: len(t & p) / len(t) if t else 1.0)
f1 = by_row(lambda t, p, known: 2 * len(t & p) / (len(t) + len(p)) if t or p else 1.0)
jaccard = by_row(lambda t, p, known: len(t & p) / len(t | p) if t or p else 1.0)


def orders(score_row, known):
    """Yield every order of the labels that the scores allow: all orders of the tied ones."""
    levels = sorted({score_row[j] for j in known}, reverse=True)
    tied = [[j for j in known if score_row[j] == level] for level in levels]
    for parts in itertools.product(*(itertools.permutations(group) for group in tied)):
        yield [j for part in parts for j in part]


def expected(true_row, score_row, value):
    """Mean of `value(relevant, order)` over all orders that the scores allow."""
    known = observed(true_row)
    if not known:
        return np.nan
    relevant = {j for j in known if true_row[j] == 1}
    return float(np.mean([value(relevant, order) for order in orders(score_row, known)]))


def precision_at(k, gains):
    def value(relevant, order):
        top = order[:k]
        return sum(gains[j] for j in top if j in relevant) / min(k, len(order))

    return value


def dcg_at(k, gains):
    def value(relevant, order):
        return sum(
            gains[j] / np.log2(place + 2) for place, j in enumerate(order[:k]) if j in relevant
        )

    return value


def ideal(true_row, value, gains):
    """Largest `value` over all orders."""
    known = observed(true_row)
    relevant = {j for j in known if true_row[j] == 1}
    best = sorted(known, key=lambda j: -(gains[j] if j in relevant else 0.0))
    return value(relevant, best) if known else np.nan


def lrap(true_row, score_row, empty):
    known = observed(true_row)
    relevant = [j for j in known if true_row[j] == 1]
    if not relevant:
        return empty if known else np.nan
    ratios = []
    for j in relevant:
        ahead = [i for i in known if score_row[i] >= score_row[j]]
        ratios.append(len([i for i in ahead if i in relevant]) / len(ahead))
    return float(np.mean(ratios))


def coverage(true_row, score_row):
    known = observed(true_row)
    if not known:
        return np.nan
    ranks = [sum(score_row[i] >= score_row[j] for i in known) for j in known if true_row[j] == 1]
    return max(ranks, default=0)
