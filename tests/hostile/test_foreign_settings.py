"""Settings that are matrices, some of them broken, and other things that no setting can be.

SciPy crashes when it compares or prints a sparse matrix whose indices lie outside its shape.
"""

import numpy as np
import pytest
from scipy import sparse

import polyleaf
from polyleaf import datasets, decoding, experiments, inspection
from polyleaf.checks.numbers import shown
from polyleaf.hierarchy import as_hierarchy

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
Y = rng.normal(size=(24, 2))
MODEL = polyleaf.TreeRegressor(max_depth=2, random_state=0).fit(X, Y)
SCORES = rng.random((6, 4))


def broken(kind):
    matrix = sparse.csr_array(np.eye(3)).asformat(kind)
    if kind == "dia":
        matrix.offsets = np.array([0, 7])
    elif kind == "lil":
        matrix.rows[0] = [10**6]
    else:
        matrix.indices[1] = 10**6
    return matrix


CALLS = {
    "n_outputs": lambda value: as_hierarchy([-1, 0, 0], value),
    "prefix": lambda value: datasets.NumberedNames(value, 3),
    "n_names": lambda value: datasets.NumberedNames("x", value),
    "n_bootstraps": lambda value: experiments.bootstrap_corrected_score(
        SCORES, greater_is_better=True, n_bootstraps=value
    ),
    "random_state": lambda value: experiments.bootstrap_corrected_score(
        SCORES, greater_is_better=True, random_state=value
    ),
    "features": lambda value: inspection.partial_dependence(MODEL, X, value),
    "feature": lambda value: inspection.accumulated_local_effects(MODEL, X, value),
    "pairs": lambda value: inspection.shap_interactions(MODEL, X, pairs=value),
    "percentiles": lambda value: inspection.partial_dependence(MODEL, X, 0, percentiles=value),
    "importances": lambda value: inspection.ranking_stability(
        polyleaf.TreeRegressor(), X, Y, importances=value
    ),
    "random_state of a generator": lambda value: datasets.make_friedman1_targets(
        20, n_targets=8, random_state=value
    ),
    "random_state of permutations": lambda value: inspection.permutation_importances(
        MODEL, X, Y, random_state=value
    ),
    "max_outputs": lambda value: inspection.tree_text(MODEL, max_outputs=value),
    "decimals": lambda value: inspection.tree_text(MODEL, decimals=value),
    "outputs": lambda value: inspection.tree_text(MODEL, outputs=value),
}


@pytest.mark.parametrize("kind", ["csc", "dia", "lil"])
@pytest.mark.parametrize("name", CALLS)
def test_a_broken_matrix_is_no_setting(name, kind):
    with pytest.raises((ValueError, TypeError), match="must") as found:
        CALLS[name](broken(kind))
    assert f"a {kind}_array" in str(found.value)


@pytest.mark.parametrize("kind", ["csc", "dia", "lil"])
@pytest.mark.parametrize("name", ["X", "Y"])
def test_features_are_not_shuffled_in_a_broken_matrix(name, kind):
    data = {"X": X[:3], "Y": Y[:3]} | {name: broken(kind)}
    with pytest.raises(ValueError, match=rf"index arrays of the sparse {name}"):
        inspection.permutation_importances(MODEL, **data)


def test_a_seed_of_another_kind_is_named():
    with pytest.raises(ValueError, match=r"random_state must be None, an integer .* got a list"):
        datasets.make_friedman1_targets(20, n_targets=8, random_state=[1, 2])


def test_more_bootstraps_than_a_day_holds_are_refused():
    with pytest.raises(ValueError, match="n_bootstraps must be at most 1,000,000"):
        experiments.bootstrap_corrected_score(SCORES, greater_is_better=True, n_bootstraps=10**12)


def test_more_resamples_than_a_day_holds_are_refused():
    with pytest.raises(ValueError, match="n_resamples must be at most 100,000"):
        inspection.ranking_stability(polyleaf.TreeRegressor(), X, Y, n_resamples=2**31)


def test_masked_entries_of_a_data_set_are_missing():
    hidden = np.zeros(Y.shape, bool)
    hidden[:3, 0] = True
    data = datasets.Dataset(X, np.ma.masked_array(Y, hidden), list("abc"), list("de"), "toy")
    assert data.n_missing_outputs == 3
    whole = datasets.Dataset(X, np.ma.masked_all(Y.shape), list("abc"), list("de"), "toy")
    assert whole.n_missing_outputs == Y.size


@pytest.mark.parametrize("indent", [10**30, -1, "  ", 1e9, 2**40])
def test_json_of_rules_is_indented_by_a_few_spaces(indent):
    model = polyleaf.RuleRegressor(n_rules=2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="indent must be an integer from 0 to 100"):
        inspection.rules_json(model, indent=indent)


def test_a_masked_output_is_refused():
    with pytest.raises(ValueError, match="outputs must be positions"):
        inspection.tree_text(MODEL, outputs=np.ma.masked_array([0, 1], [True, False]))


def test_decimals_beyond_all_digits_show_all_digits():
    assert inspection.tree_text(MODEL, decimals=10**30) == inspection.tree_text(MODEL, decimals=40)


def test_an_unsigned_exponent_is_negated_as_a_number():
    X_made, _ = datasets.make_extreme_labels(
        20, 20, 5, cardinality=2.0, exponent=np.uint64(2), random_state=0
    )
    X_known, _ = datasets.make_extreme_labels(
        20, 20, 5, cardinality=2.0, exponent=2, random_state=0
    )
    assert (X_made != X_known).nnz == 0


def test_counts_of_any_type_are_numbers_and_those_beyond_memory_are_refused():
    settings = {"n_features": 20, "n_labels": 5, "cardinality": 2.0, "random_state": 0}
    X_made, _ = datasets.make_extreme_labels(np.uint64(20), **settings)
    assert X_made.shape == (20, 20)
    for name in ("n_samples", "n_features", "n_labels"):
        with pytest.raises(MemoryError, match="Make fewer rows"):
            datasets.make_extreme_labels(**settings | {name: 2**63})


def test_more_labels_than_there_are_is_all_of_them():
    P = rng.random((5, 3))
    assert (decoding.TopK(2**70).decode(P) == 1).all()


def test_what_is_shown_of_a_broken_matrix_is_its_type():
    assert shown(broken("csc")) == "a csc_array"
    assert shown([1, 2]) == "[1, 2]"


@pytest.mark.parametrize("name", ["BaggedTreesClassifier", "BoostingRegressor", "RuleRegressor"])
@pytest.mark.parametrize("count", [2**31, 2**63, 10**30])
def test_ensembles_beyond_every_machine_are_refused(name, count):
    cls = getattr(polyleaf, name)
    size = "n_rules" if name.startswith("Rule") else "n_estimators"
    with pytest.raises(
        ValueError, match=rf"{size} of {name} must be an integer >= 1, below 2\*\*31"
    ):
        cls(**{size: count}).fit(X, Y > 0 if name.endswith("Classifier") else Y)


def test_a_bar_without_a_thread_is_left_out(monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    model = polyleaf.BoostingRegressor(n_estimators=2, verbose=1, n_jobs=1, random_state=0)
    expected = model.fit(X, Y).predict(X)
    monkeypatch.setattr("threading.Thread.start", start)
    assert np.array_equal(model.fit(X, Y).predict(X), expected)


@pytest.mark.parametrize("kind", ["bsr", "csr", "coo"])
def test_directions_of_features_are_no_sparse_matrix(kind):
    signs = sparse.csr_array(np.eye(3)).asformat(kind)
    with pytest.raises(ValueError, match="monotonic_cst of BoostingRegressor must be None"):
        polyleaf.BoostingRegressor(monotonic_cst=signs).fit(X, Y)
