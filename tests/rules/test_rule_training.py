"""Rules that the core learns by itself are those that Python learns one by one."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf import RuleClassifier, RuleRegressor, _core
from polyleaf.datasets import make_multilabel
from polyleaf.rules.training import RuleLearner

ARRAYS = ("body_offsets", "feature", "operator", "value", "head_offsets", "output", "coverage")


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "logistic", "head": "complete"},
        {"loss": "logistic", "head": "single"},
        {"loss": "logistic", "head": "partial", "head_size": 2},
        {"loss": "examplewise_logistic", "head": "complete"},
        {"loss": "examplewise_logistic", "head": "single"},
        {"loss": "examplewise_logistic", "head": "complete", "label_bins": 2},
    ],
    ids=lambda settings: "-".join(str(value) for value in settings.values()),
)
def test_many_at_once_are_those_one_by_one(monkeypatch, settings, bootstrap):
    X, Y = make_multilabel(150, 10, 5, random_state=0)
    n_rules = 70  # more than the core learns at a time
    model = RuleClassifier(n_rules=n_rules, bootstrap=bootstrap, random_state=3, **settings)
    at_once = model.fit(X, Y)._rules
    monkeypatch.setattr(RuleLearner, "_is_plain", False)
    one_by_one = model.fit(X, Y)._rules
    assert at_once.n_rules == n_rules
    for name in ARRAYS:
        assert np.array_equal(getattr(at_once, name), getattr(one_by_one, name)), name
    assert np.allclose(at_once.score, one_by_one.score, rtol=1e-9)
    assert np.allclose(at_once.gain, one_by_one.gain, rtol=1e-9)


def drawn(seed, rows, n_rows):
    counts = np.full(n_rows, 7, np.int32)
    _core.draw_sample(seed, np.asarray(rows, np.int32), counts)
    return counts


def test_a_sample_draws_as_many_rows_as_there_are_from_those_alone():
    usable = np.arange(0, 1000, 2)
    counts = drawn(5, usable, 1000)
    assert counts.sum() == usable.size
    assert not counts[1::2].any()
    # Each row is left out with probability (1 - 1/n)^n.
    assert abs((counts[usable] == 0).mean() - np.exp(-1)) < 0.08
    assert np.array_equal(counts, drawn(5, usable, 1000))
    assert not np.array_equal(counts, drawn(6, usable, 1000))


def test_rows_are_drawn_alike():
    total = sum(drawn(seed, np.arange(20), 20) for seed in range(2000))
    assert np.abs(total - 2000).max() < 5 * np.sqrt(2000)


def test_rows_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="rows"):
        drawn(0, [3], 3)
    with pytest.raises(ValueError, match="at least one row"):
        drawn(0, [], 3)


def test_five_hundred_labels_with_a_loss_of_whole_rows():
    """The Hessian of a row would have 125,250 entries; it is kept in 501 numbers."""
    X, Y = make_multilabel(200, 10, 500, random_state=0)
    model = RuleClassifier(
        n_rules=4, loss="examplewise_logistic", max_conditions=2, random_state=0
    ).fit(X, Y)
    margins = np.where(Y, -1.0, 1.0) * model.decision_function(X)
    default = np.where(Y, -1.0, 1.0) * model.select([0]).decision_function(X)
    assert model.n_rules_ == 4
    assert np.log1p(np.exp(margins).sum(1)).mean() < np.log1p(np.exp(default).sum(1)).mean()


@pytest.mark.parametrize("loss", ["logistic", "examplewise_logistic"])
@pytest.mark.parametrize("head", ["complete", "single"])
def test_threads_do_not_change_what_is_learnt(loss, head):
    # Enough rows and outputs for threads to be worth waking, in the search and in the update.
    X, Y = make_multilabel(7000, 12, 20, random_state=0)
    settings = {"n_rules": 4, "loss": loss, "head": head, "max_features": 12, "max_bins": 16}
    one, three = (
        RuleClassifier(n_jobs=n, max_conditions=2, random_state=0, **settings).fit(X, Y)._rules
        for n in (1, 3)
    )
    for name in (*ARRAYS, "score", "gain"):
        assert np.array_equal(getattr(one, name), getattr(three, name)), name


@pytest.mark.parametrize("make", [RuleClassifier, RuleRegressor])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_more_than_fits_into_memory_is_refused_before_anything_is_learnt(
    make, is_sparse, monkeypatch
):
    X, Y = make_multilabel(500, 10, 300, random_state=0)
    monkeypatch.setattr("polyleaf.checks.memory.available_memory", lambda: 2**20)
    monkeypatch.setattr("polyleaf.checks.memory.SMALL_BYTES", 0)
    monkeypatch.setattr(RuleLearner, "__init__", None)
    with pytest.raises(
        MemoryError, match=r"500 rows and 300 outputs \(\d,\d+,\d+ bytes\): 0\.0 GiB"
    ):
        make().fit(X, sparse.csr_array(Y) if is_sparse else Y)


def test_seventy_thousand_rows_of_forty_thousand_labels_are_refused_at_once(monkeypatch):
    monkeypatch.setattr("polyleaf.checks.memory.available_memory", lambda: 2**35)
    X = np.arange(70_000.0)[:, None]
    Y = sparse.csr_array((np.ones(1, np.int8), ([0], [0])), shape=(70_000, 40_000))
    with pytest.raises(MemoryError, match=r"46\.9 GiB, of which 32\.0 are available"):
        RuleClassifier().fit(X, Y)
