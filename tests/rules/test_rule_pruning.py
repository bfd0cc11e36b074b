"""Smaller models: chosen rules, greedy rules, and the loss that is measured for them."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from rule_losses import LABEL_LOSSES, NUMBER_LOSSES

import polyleaf
from polyleaf import RuleClassifier, RuleRegressor
from polyleaf.datasets import make_multilabel
from polyleaf.losses import LossTargets
from polyleaf.rules.pruning import greedy_subset


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel(n_samples=260, n_labels=4, random_state=0)
    return X, pd.DataFrame(Y, columns=list("pqrs"))


@pytest.fixture(scope="module")
def model(data):
    X, Y = data
    return RuleClassifier(n_rules=25, random_state=0).fit(X[:160], Y[:160])


def mean_logistic(scores, Y):
    return np.log1p(np.exp(-(2.0 * np.asarray(Y) - 1) * scores)).sum(axis=1).mean()


def has_no_loss(model):
    return not hasattr(model, "loss_") and not hasattr(model, "full_loss_")


def test_a_selection_is_a_working_model(data, model):
    X, _ = data
    chosen = model.select([3, 5])
    assert chosen.n_rules_ == 3
    assert chosen.rules_["body"].tolist() == model.rules_["body"][[0, 3, 5]].tolist()
    heads, covers = model._rules.heads(), model.covers(X)
    assert np.allclose(chosen.decision_function(X), covers[:, [0, 3, 5]] @ heads[[0, 3, 5]])
    assert model.n_rules_ == 25
    assert model.select(np.arange(25) < 7).n_rules_ == 7
    for wrong in ([99], [[1]], [0.5], "x"):
        with pytest.raises(ValueError, match="rules must be"):
            model.select(wrong)


def test_a_selection_measures_its_loss_on_rows_that_are_given(data, model):
    X, Y = data[0][160:], data[1][160:]
    chosen = model.select([1, 2, 8], X, Y)
    assert np.isclose(chosen.loss_, mean_logistic(chosen.decision_function(X), Y))
    assert np.isclose(chosen.full_loss_, mean_logistic(model.decision_function(X), Y))
    assert has_no_loss(model.select([1, 2, 8]))
    with pytest.raises(ValueError, match="got only one of them"):
        model.select([1], X)


def test_a_selection_of_a_regression_measures_its_loss_in_standard_deviations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = np.column_stack([1000 * X[:, 0], X[:, 1] + 5])
    model = RuleRegressor(n_rules=80, random_state=0).fit(X, Y)
    for smaller in (model.select(range(20), X, Y), model.prune(X, Y, tolerance=0.2)):
        assert smaller.n_rules_ < 80
        for found, measured in ((smaller, smaller.loss_), (model, smaller.full_loss_)):
            errors = (found.predict(X) - Y) / Y.std(axis=0)
            assert np.isclose(0.5 * (errors**2).sum(axis=1).mean(), measured)


def test_measured_losses_never_outlive_their_model(data, model, tmp_path):
    X, Y = data
    pruned = model.prune(X, Y, n_rules=5)
    assert has_no_loss(pruned.select([0, 1]))
    polyleaf.save(pruned, tmp_path / "pruned")
    loaded = polyleaf.load(tmp_path / "pruned")
    assert (loaded.loss_, loaded.full_loss_) == (pruned.loss_, pruned.full_loss_)
    assert has_no_loss(loaded.fit(X, Y))
    polyleaf.save(model, tmp_path / "whole")
    assert has_no_loss(polyleaf.load(tmp_path / "whole"))


def test_validation_losses_are_kept_in_files(data, tmp_path):
    model = RuleClassifier(n_rules=40, early_stopping=True, random_state=0).fit(*data)
    polyleaf.save(model, tmp_path / "stopped")
    kept = polyleaf.load(tmp_path / "stopped").validation_losses_
    assert kept.size >= model.n_rules_
    assert np.array_equal(kept, model.validation_losses_)


def test_pruning_keeps_the_loss_with_fewer_rules(data, model):
    X, Y = data
    smaller = model.prune(X, Y, tolerance=0.1)
    assert smaller.n_rules_ < model.n_rules_
    assert smaller.loss_ <= 1.1 * smaller.full_loss_
    assert np.isclose(smaller.loss_, mean_logistic(smaller.decision_function(X), Y))


@pytest.mark.parametrize("n_rules", [2, 4, 7])
def test_pruning_takes_the_rule_that_lowers_the_loss_most_each_time(data, model, n_rules):
    X, Y = data
    heads, covers = model._rules.heads(), model.covers(X)
    chosen = [0]
    while len(chosen) < n_rules:  # naively
        left = sorted(set(range(25)) - set(chosen))
        losses = [
            mean_logistic(covers[:, [*chosen, t]].astype(float) @ heads[[*chosen, t]], Y)
            for t in left
        ]
        chosen.append(left[int(np.argmin(losses))])
    pruned = model.prune(X, Y, n_rules=n_rules)
    assert pruned.rules_["body"].tolist() == model.rules_["body"][sorted(chosen)].tolist()
    assert sorted(chosen) != list(range(n_rules))


@pytest.mark.parametrize("name", [*LABEL_LOSSES, "absolute_error", "huber"])
@pytest.mark.parametrize("n_heads", [1, 3, 6])
def test_promises_leave_out_no_rule_that_is_best(name, n_heads):
    rng = np.random.default_rng(n_heads)
    n_rows, n_rules, n_outputs = 120, 40, 6
    loss = (NUMBER_LOSSES | LABEL_LOSSES)[name]
    values = rng.normal(size=(n_rows, n_outputs))
    if name in LABEL_LOSSES:
        values = values > 0
    targets = LossTargets.of(values, rng.random(values.shape) < 0.9)
    covers = rng.random((n_rows, n_rules)) < 0.4
    heads = 0.15 * rng.normal(size=(n_rules, n_outputs))
    for head in heads[1:]:
        head[rng.permutation(n_outputs)[n_heads:]] = 0
    scores, chosen = np.tile(heads[0], (n_rows, 1)), [0]
    while len(chosen) < 12:  # naively
        added = [scores + np.outer(covers[:, t], heads[t]) for t in range(n_rules)]
        losses = [loss.row_losses(targets, after).sum() for after in added]
        losses = [np.inf if t in chosen else found for t, found in enumerate(losses)]
        if min(losses) >= loss.row_losses(targets, scores).sum():
            break
        chosen.append(int(np.argmin(losses)))
        scores = added[chosen[-1]]
    assert len(chosen) > 4
    assert greedy_subset(heads, covers, targets, loss, 12, 0.0)[0] == sorted(chosen)


@pytest.mark.parametrize(
    ("name", "values", "heads"),
    [
        ("absolute_error", [*[-5e-4] * 10, 1.0], [0.0, -5e-4, 4e-3]),
        ("examplewise_squared_error", [*[1] * 10, 0], [1 - 5e-4, 5e-4, -4e-3]),
        ("examplewise_squared_hinge", [*[1] * 10, 0], [1 - 5e-4, 5e-4, -4e-3]),
    ],
)
def test_promises_are_not_smoothed_next_to_zero(name, values, heads):
    loss = (NUMBER_LOSSES | LABEL_LOSSES)[name]
    covers = np.zeros((11, 3), dtype=bool)
    covers[:, 0] = covers[:10, 1] = covers[10, 2] = True
    targets = LossTargets.of(np.array(values)[:, None])
    assert greedy_subset(np.array(heads)[:, None], covers, targets, loss, 2, 0.0)[0] == [0, 1]


def test_pruning_holds_two_bytes_for_each_row_and_rule():
    rng = np.random.default_rng(0)
    covers = rng.random((4000, 300)) < 0.5  # the first byte
    targets = LossTargets.of(rng.integers(2, size=(4000, 2)))
    heads = 0.1 * rng.normal(size=(300, 2))
    tracemalloc.start()
    greedy_subset(heads, covers, targets, LABEL_LOSSES["logistic"], 2, 0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * covers.nbytes


def test_a_hold_out_may_lack_classes_but_have_no_others(data):
    X, Y = data[0], data[1].to_numpy()
    y = np.array(["a", "b", "c"])[Y[:, 0] + Y[:, 1]]
    model = RuleClassifier(n_rules=15, random_state=0).fit(X, y)
    whole = model.select([0, 1], X, y).full_loss_
    parts = [model.select([0, 1], X[y == c], y[y == c]).full_loss_ for c in "abc"]
    counts = [(y == c).sum() for c in "abc"]
    assert np.isclose(np.average(parts, weights=counts), whole)
    assert model.prune(X[y != "b"], y[y != "b"], n_rules=4).n_rules_ <= 4
    with pytest.raises(ValueError, match=r"y holds the classes \['zz'\]"):
        model.prune(X, np.where(y == "a", "zz", y))


def test_two_classes_of_other_names_are_refused(data):
    X, is_yes = data[0], data[1]["p"].to_numpy() == 1
    model = RuleClassifier(n_rules=15, random_state=0).fit(X, np.where(is_yes, "yes", "no"))
    assert model.prune(X, np.where(is_yes, "yes", "no"), n_rules=3).full_loss_ < 1
    with pytest.raises(ValueError, match=r"y holds the classes \['A', 'B'\]"):
        model.prune(X, np.where(is_yes, "A", "B"))
    only = model.select([1], X[is_yes], np.full(is_yes.sum(), "yes"))
    scores = model.decision_function(X[is_yes])
    assert np.isclose(only.full_loss_, np.log1p(np.exp(-scores)).mean())


def test_outputs_of_several_classes_may_lack_some(data):
    X, Y = data[0], data[1].to_numpy()
    y = np.column_stack([Y[:, 0] + Y[:, 1], 5 + Y[:, 2]])
    model = RuleClassifier(n_rules=15, random_state=0).fit(X, y)
    some = y[:, 0] < 2
    whole = model.select([1], X, y).full_loss_ * len(y)
    parts = [model.select([1], X[at], y[at]).full_loss_ * at.sum() for at in (some, ~some)]
    assert np.isclose(sum(parts), whole)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (list("srqp"), "output 0 is 's', where training had 'p'"),
        (list("pqr"), "y must have 4 outputs"),
        (["p", "q", "r", "t"], "output 3 is 't', where training had 's'"),
    ],
)
def test_outputs_in_another_order_are_refused(data, model, columns, message):
    X, Y = data
    with pytest.raises(ValueError, match=message):
        model.prune(X, Y.assign(t=0)[columns])
    assert model.prune(X, Y.to_numpy(), n_rules=3).n_rules_ <= 3  # without names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": np.nan}, "tolerance must be a finite number >= 0; got nan"),
        ({"tolerance": "x"}, "tolerance must be a finite number >= 0; got 'x'"),
        ({"n_rules": "a"}, "n_rules must be None or an integer >= 1; got 'a'"),
        ({"n_rules": 2.7}, "n_rules must be None or an integer >= 1; got 2.7"),
        ({"n_rules": 0}, "n_rules must be None or an integer >= 1; got 0"),
    ],
)
def test_what_pruning_cannot_do_is_refused(data, model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.prune(*data, **arguments)
