"""Bayes-optimal decoders against all 2^d label sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from polyleaf.decoding import (
    ExampleF1,
    Jaccard,
    KnownLabelSet,
    Subset,
    Threshold,
    _base,
    _bayes,
    draws_to_joint,
)
from polyleaf.decoding._expected_size import (
    f1_by_size,
    jaccard_by_size,
    most_f1_sizes,
    most_jaccard_sizes,
)
from polyleaf.decoding._jaccard_search import _expected, _local_search
from polyleaf.decoding._rules import first_labels


def all_sets(d):
    return np.array(list(itertools.product([0, 1], repeat=d)), dtype=float)


def f1(a, b):
    return 2 * (a @ b) / (a.sum() + b.sum()) if a.sum() + b.sum() else 1.0


def jaccard(a, b):
    union = np.maximum(a, b).sum()
    return (a @ b) / union if union else 1.0


def subset_accuracy(a, b):
    return float((a == b).all())


def hamming_accuracy(a, b):
    return float((a == b).mean())


GOALS = [
    (ExampleF1(), f1),
    (Jaccard(), jaccard),
    (Subset(), subset_accuracy),
    (Threshold(), hamming_accuracy),
]
each_goal = pytest.mark.parametrize(
    ("decoder", "utility"), GOALS, ids=[type(decoder).__name__ for decoder, _ in GOALS]
)


def expected_utility(chosen, weights, sets, utility):
    return sum(w * utility(chosen, s) for w, s in zip(weights, sets))


def best_utility(weights, sets, utility):
    return max(
        expected_utility(chosen, weights, sets, utility) for chosen in all_sets(sets.shape[1])
    )


def independent(p):
    """The probabilities of all label sets if labels are independent."""
    sets = all_sets(p.size)
    return np.prod(np.where(sets == 1, p, 1 - p), axis=1), sets


probabilities = st.integers(1, 6).flatmap(
    lambda d: st.lists(
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.5, 1.0])), min_size=d, max_size=d
    ).map(np.array)
)


@each_goal
@settings(max_examples=60)
@given(p=probabilities)
def test_decoder_of_marginals_equals_brute_force(decoder, utility, p):
    weights, sets = independent(p)
    chosen = decoder.decode(p[np.newaxis])[0]
    assert expected_utility(chosen, weights, sets, utility) == pytest.approx(
        best_utility(weights, sets, utility), abs=1e-9
    )


@each_goal
@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), s=st.integers(1, 6))
def test_decoder_of_a_joint_distribution_equals_brute_force(decoder, utility, seed, d, s):
    rng = np.random.default_rng(seed)
    sets = (rng.random((s, d)) < rng.random()).astype(float)
    weights = rng.dirichlet(np.ones(s))
    chosen = decoder.decode_joint(weights[np.newaxis] * 3.0, sets)[0]
    assert expected_utility(chosen, weights, sets, utility) == pytest.approx(
        best_utility(weights, sets, utility), abs=1e-9
    )


@each_goal
def test_decoders_equal_brute_force_for_eight_labels(decoder, utility):
    p = np.random.default_rng(3).beta(0.7, 1.5, size=8)
    weights, sets = independent(p)
    best = max(_vector_utilities(sets, weights, utility))
    for chosen in (decoder.decode(p[np.newaxis])[0], decoder.decode_joint(weights[None], sets)[0]):
        assert expected_utility(chosen, weights, sets, utility) == pytest.approx(best, abs=1e-9)


def _vector_utilities(sets, weights, utility):
    """Expected utility of all label sets, in NumPy where the loop is long."""
    common = sets @ sets.T
    sizes = sets.sum(axis=1)
    if utility is f1:
        total = sizes[:, None] + sizes
        matrix = np.divide(2 * common, total, out=np.ones_like(common), where=total > 0)
    elif utility is jaccard:
        union = sizes[:, None] + sizes - common
        matrix = np.divide(common, union, out=np.ones_like(common), where=union > 0)
    elif utility is subset_accuracy:
        matrix = np.eye(len(sets))
    else:
        matrix = 1 - (sizes[:, None] + sizes - 2 * common) / sets.shape[1]
    return matrix @ weights


@each_goal
def test_a_product_distribution_gives_what_its_marginals_give(decoder, utility):
    p = np.array([0.8, 0.45, 0.3, 0.05])
    weights, sets = independent(p)
    np.testing.assert_array_equal(
        decoder.decode_joint(weights[np.newaxis], sets), decoder.decode(p[np.newaxis])
    )


@pytest.mark.parametrize("by_size", [f1_by_size, jaccard_by_size])
def test_values_by_size_are_expected_utilities(by_size):
    p = -np.sort(-np.random.default_rng(0).random((3, 5)), axis=1)
    utility = f1 if by_size is f1_by_size else jaccard
    for row, values in zip(p, by_size(p)):
        weights, sets = independent(row)
        expected = [
            expected_utility((np.arange(5) < k).astype(float), weights, sets, utility)
            for k in range(6)
        ]
        np.testing.assert_allclose(values, expected)


def test_f1_with_hundreds_of_labels_agrees_with_draws():
    rng = np.random.default_rng(0)
    p = -np.sort(-rng.beta(0.3, 6.0, size=(1, 400)), axis=1)
    values = f1_by_size(p)[0]
    draws = rng.random((20_000, 400)) < p
    sizes = draws.sum(axis=1)
    for k in (1, 5, 20, 80):
        simulated = 2 * draws[:, :k].sum(axis=1) / (k + sizes)
        assert values[k] == pytest.approx(simulated.mean(), abs=5 * simulated.std() / 140)


def naive_inverses(tail, x):
    """E[1 / (x + B)] from the whole distribution of the number of true labels."""
    shares = np.ones(1)
    for p in tail:
        shares = np.convolve(shares, [1 - p, p])
    return shares @ (1.0 / (x + np.arange(shares.size)[:, np.newaxis]))


def naive_values(p, utility):
    """The expected utility of the k likeliest labels for every k, without any bound."""
    heads, values = np.ones(1), [np.prod(1 - p)]
    for k in range(1, p.size + 1):
        heads = np.convolve(heads, [1 - p[k - 1], p[k - 1]])
        if utility is f1:
            hits = np.arange(k + 1.0)
            values.append((2 * hits * heads) @ naive_inverses(p[k:], k + hits))
        else:
            values.append(p[:k].sum() * naive_inverses(p[k:], np.array([float(k)]))[0])
    return np.array(values)


def many_probabilities(kind, seed, d=120):
    rng = np.random.default_rng(seed)
    return {
        "rare": rng.beta(0.3, 6.0, size=(12, d)),
        "likely": rng.beta(3.0, 1.0, size=(12, d)),
        "alike": np.full((12, d), 0.03) + 1e-4 * rng.random((12, d)),
        "steps": rng.integers(0, 4, size=(12, d)) / 8.0,
        "mixed": rng.beta(0.3, 6.0, size=(12, d)) ** rng.uniform(0.1, 3.0, size=(12, 1)),
    }[kind]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["rare", "likely", "alike", "steps", "mixed"])
@pytest.mark.parametrize("goal", ["f1", "jaccard"])
def test_bounds_on_the_size_of_a_set_change_no_set(goal, kind, seed):
    decoder, utility, most_sizes, by_size = {
        "f1": (ExampleF1(), f1, most_f1_sizes, f1_by_size),
        "jaccard": (Jaccard(), jaccard, most_jaccard_sizes, jaccard_by_size),
    }[goal]
    p = many_probabilities(kind, seed)
    descending = -np.sort(-p, axis=1)
    values = np.array([naive_values(row, utility) for row in descending])
    sizes, most = decoder.decode(p).sum(axis=1), most_sizes(descending)
    np.testing.assert_allclose(values[np.arange(12), sizes], values.max(axis=1), rtol=1e-9)
    assert (values.argmax(axis=1) <= most).all()
    n_sizes = int(most.max())
    np.testing.assert_allclose(
        by_size(descending, n_sizes), values[:, : n_sizes + 1], rtol=1e-8, atol=1e-12
    )


def test_only_small_sets_are_tried_where_few_of_many_labels_are_true():
    p = -np.sort(-np.random.default_rng(0).beta(0.3, 12.0, size=(50, 1000)), axis=1)
    assert p.sum(axis=1).mean() > 20
    assert most_f1_sizes(p).max() < 150
    assert most_jaccard_sizes(p).max() < 150


@pytest.mark.parametrize("sizes", ["random", "none", "all"])
def test_of_tied_labels_the_first_are_taken(sizes):
    rng = np.random.default_rng(0)
    p = rng.integers(0, 4, size=(200, 9)) / 3.0
    n = {"random": rng.integers(0, 10, size=200), "none": np.zeros(200, int)}.get(
        sizes, np.full(200, 9)
    )
    naive = np.zeros(p.shape, dtype=bool)
    for i, row in enumerate(p):
        naive[i, sorted(range(9), key=lambda j: (-row[j], j))[: n[i]]] = True
    np.testing.assert_array_equal(first_labels(p, n), naive)


@each_goal
def test_blocks_and_sparse_probabilities_do_not_matter(decoder, utility, monkeypatch):
    p = np.random.default_rng(0).beta(0.3, 1.0, size=(40, 7))
    p[p < 0.1] = 0.0
    whole = decoder.decode(p)
    as_sparse = decoder.decode(sparse.csr_matrix(p))
    assert sparse.issparse(as_sparse)
    np.testing.assert_array_equal(as_sparse.toarray(), whole)
    monkeypatch.setattr(_base, "_BLOCK_ENTRIES", 30)
    monkeypatch.setattr(_bayes, "_BLOCK_ENTRIES", 30)
    monkeypatch.setattr(_bayes, "_SIZE_ENTRIES", 30)
    np.testing.assert_array_equal(decoder.decode(p), whole)


def test_local_search_for_jaccard_is_close_to_the_optimum_and_no_worse_than_any_known_set():
    rng = np.random.default_rng(0)
    for _ in range(20):
        support = rng.random((8, 9)) < 0.4
        weights = rng.dirichlet(np.ones(8))
        found = _expected(_local_search(weights, support)[np.newaxis], weights, support)[0]
        assert found >= _expected(support, weights, support).max() - 1e-12
        assert found >= 0.95 * _expected(all_sets(9) > 0, weights, support).max()


def test_jaccard_with_many_labels_falls_back_on_the_local_search():
    sets = np.eye(12)
    chosen = Jaccard().decode_joint([[0.9] + [0.1 / 11] * 11], sets)
    np.testing.assert_array_equal(chosen[0], sets[0])


def test_draws_become_equal_weights():
    draws = np.random.default_rng(0).random((3, 4, 2)) < 0.5
    weights, sets = draws_to_joint(draws)
    np.testing.assert_allclose((weights @ sets.astype(float)), draws.mean(axis=1))
    with pytest.raises(ValueError, match="shape \\(rows, draws, labels\\)"):
        draws_to_joint([[1, 0]])


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_known_label_set_is_the_likeliest_of_those_seen(seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((6, 4)) < 0.4).astype(float)
    p = rng.random((5, 4))
    decoder = KnownLabelSet().fit(sparse.csr_array(Y) if seed % 2 else Y)
    decoded = decoder.decode(p)
    for row, chosen in zip(p, decoded):
        weights, sets = independent(row)
        known = [w for w, s in zip(weights, sets) if (s == Y).all(axis=1).any()]
        assert (chosen == Y).all(axis=1).any()
        assert weights[(sets == chosen).all(axis=1)][0] == pytest.approx(max(known))


def test_known_label_sets_are_those_of_fully_observed_rows():
    Y = np.array([[1.0, 0.0], [1.0, np.nan], [1.0, 0.0], [0.0, 1.0]])
    sets = KnownLabelSet().fit(Y).label_sets_.toarray()
    np.testing.assert_array_equal(sets, [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="rows with every label observed; got none"):
        KnownLabelSet().fit([[np.nan, 1.0]])


def test_known_label_set_checks_the_number_of_labels():
    with pytest.raises(ValueError, match="must have 2 columns, as Y in fit; got 3"):
        KnownLabelSet().fit([[1, 0]]).decode([[0.1, 0.2, 0.3]])
