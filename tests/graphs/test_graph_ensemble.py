"""Many graphs: aggregation, stages, warm starts, threads, and theorem 1."""

import tracemalloc

import numpy as np
import pytest
from graph_problems import linear_labels, quick
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_classifier_multioutput

from polyleaf import GraphClassifier, GraphEnsembleClassifier
from polyleaf.graphs import ChowLiu
from polyleaf.inspection import score_variance

AGGREGATIONS = ["mam", "amm", "mve"]


@pytest.fixture(scope="module")
def data():
    X, Y = linear_labels(300, 6, noise=0.1)
    return X[:200], Y[:200], X[200:], Y[200:]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_every_aggregation_learns(data, aggregation):
    X, Y, X_test, Y_test = data
    model = GraphEnsembleClassifier(**quick(n_estimators=8, aggregation=aggregation)).fit(X, Y)
    assert (model.predict(X_test) == Y_test).mean() > 0.8
    assert model.edge_counts_.sum() == 8 * 5
    assert model.dual_gap_.shape == model.objective_.shape == model.n_iter_.shape == (8,)
    assert (model.dual_gap_ <= 0.01 * model.objective_).all()


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_stages_are_the_ensembles_of_the_first_members(data, aggregation):
    X, Y, X_test, _ = data
    model = GraphEnsembleClassifier(**quick(n_estimators=5, aggregation=aggregation)).fit(X, Y)
    stages = list(model.staged_predict(X_test))
    scores = list(model.staged_decision_function(X_test))
    assert len(stages) == len(scores) == 5
    assert np.array_equal(stages[-1], model.predict(X_test))
    np.testing.assert_allclose(scores[-1], model.decision_function(X_test), atol=1e-9)
    small = GraphEnsembleClassifier(**quick(n_estimators=3, aggregation=aggregation)).fit(X, Y)
    assert np.array_equal(stages[2], small.predict(X_test))


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_one_member_is_a_single_graph(data, aggregation):
    X, Y, X_test, _ = data
    ensemble = GraphEnsembleClassifier(**quick(n_estimators=1, aggregation=aggregation)).fit(X, Y)
    single = GraphClassifier(**quick()).fit(X, Y)
    assert np.array_equal(ensemble.predict(X_test), single.predict(X_test))
    assert ensemble.diversity_ == ensemble.coherence_ == 0.0


def test_a_consistent_completion_of_one_graph_changes_nothing(data):
    X, Y, X_test, _ = data
    zero = GraphEnsembleClassifier(**quick(n_estimators=1)).fit(X, Y)
    completed = GraphEnsembleClassifier(**quick(n_estimators=1, completion="consistent")).fit(X, Y)
    np.testing.assert_allclose(
        completed.decision_function(X_test), zero.decision_function(X_test), atol=1e-9
    )


def test_a_consistent_completion_scores_edges_that_members_lack(data):
    X, Y, X_test, _ = data
    model = GraphEnsembleClassifier(n_estimators=4, completion="consistent", random_state=0)
    chances = model.fit(X, Y).predict_proba(X_test)
    assert ((chances > 0) & (chances < 1)).all()
    with pytest.raises(ValueError, match="completion='zero'"):
        next(model.staged_predict(X_test))
    with pytest.raises(ValueError, match="warm_start is not available"):
        model.set_params(warm_start=True, n_estimators=6).fit(X, Y)


def test_a_warm_start_ends_where_a_cold_one_does(data):
    X, Y, _, _ = data
    cold = GraphEnsembleClassifier(**quick(n_estimators=6)).fit(X, Y)
    warm = GraphEnsembleClassifier(**quick(n_estimators=2, warm_start=True)).fit(X, Y)
    first = warm._model.members.parameters_of(1).copy()
    warm.set_params(n_estimators=6).fit(X, Y)
    assert np.array_equal(warm._model.members.parameters_of(1), first)
    assert np.array_equal(warm._model.members.parameters, cold._model.members.parameters)
    assert warm.diversity_ == cold.diversity_
    with pytest.raises(ValueError, match="at least 6, the number of existing members"):
        warm.set_params(n_estimators=3).fit(X, Y)
    with pytest.raises(ValueError, match="data of the first fit"):
        warm.set_params(n_estimators=8).fit(X[:, :2], Y)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"kernel": "rbf"}, {"gamma": 3.0}),
        ({"kernel": "rbf"}, {"kernel": "poly"}),
        ({"kernel": "poly"}, {"degree": 2}),
        ({"kernel": "poly"}, {"coef0": 1.0}),
        ({"kernel": "linear"}, {"kernel": "cosine"}),
        ({"kernel": "linear"}, {"intercept_scaling": 2.0}),
    ],
)
def test_a_warm_start_keeps_no_members_of_another_kernel(data, first, then):
    X, Y, _, _ = data
    model = GraphEnsembleClassifier(**quick(n_estimators=1, warm_start=True, C=0.01) | first)
    model.fit(X, Y).set_params(n_estimators=2, **then)
    with pytest.raises(ValueError, match="with its kernel"):
        model.fit(X, Y)


def test_a_warm_start_keeps_no_members_with_other_training_rows(data):
    X, Y, _, _ = data
    parameters = quick(n_estimators=1, warm_start=True, kernel="rbf", gamma=1.0, C=0.01)
    model = GraphEnsembleClassifier(**parameters).fit(X, Y).set_params(n_estimators=2)
    with pytest.raises(ValueError, match="other rows for it"):
        model.fit(X + 1.0, Y)


def test_a_consistent_completion_needs_every_label(data):
    X, Y, _, _ = data
    model = GraphEnsembleClassifier(**quick(n_estimators=2, completion="consistent", C=0.01))
    masked, weights = Y.astype(float), np.ones(Y.shape)
    masked[3, 1], weights[3, 1] = np.nan, 0.0
    with pytest.raises(ValueError, match="needs every label of every row"):
        model.fit(X, masked)
    with pytest.raises(ValueError, match="needs every label of every row"):
        model.fit(X, Y, sample_weight=weights)
    weights[3] = 0.0  # a row that does not count at all
    assert model.fit(X, Y, sample_weight=weights).predict(X).shape == Y.shape


def test_terms_of_the_variance_need_a_fit():
    for name in ("diversity_", "coherence_"):
        with pytest.raises(NotFittedError):
            getattr(GraphEnsembleClassifier(), name)


@pytest.mark.parametrize("n_members", [1, 2, 5, 10])
def test_probabilities_of_ensembles_have_the_order_of_their_scores(n_members):
    check_classifier_multioutput(
        "GraphEnsembleClassifier", GraphEnsembleClassifier(n_estimators=n_members, max_iter=20)
    )


def test_the_number_of_threads_does_not_change_the_model(data):
    X, Y, X_test, _ = data
    one = GraphEnsembleClassifier(n_estimators=4, random_state=0, n_jobs=1).fit(X, Y)
    two = GraphEnsembleClassifier(n_estimators=4, random_state=0, n_jobs=2).fit(X, Y)
    assert np.array_equal(one._model.members.parameters, two._model.members.parameters)
    assert np.array_equal(one.predict_proba(X_test), two.predict_proba(X_test))


def test_members_are_the_same_whatever_combines_them(data):
    X, Y, _, _ = data
    models = [
        GraphEnsembleClassifier(**quick(n_estimators=3, aggregation=name)).fit(X, Y)
        for name in AGGREGATIONS
    ]
    for model in models[1:]:
        assert np.array_equal(model._model.members.parameters, models[0]._model.members.parameters)


def test_theorem_1_holds_to_rounding(data):
    X, Y, X_test, Y_test = data
    model = GraphEnsembleClassifier(**quick(n_estimators=7)).fit(X, Y)
    fitted = model._model
    design = fitted.design(X_test)
    by_label = np.array(
        [
            graph.label_scores(design @ fitted.members.parameters_of(t).T, Y_test.astype(np.int32))
            for t, graph in enumerate(fitted.members.graphs)
        ]
    )
    scores = by_label.sum(axis=2)  # psi of each member and row
    truth = np.random.default_rng(0).normal(size=len(X_test)) * 5  # whatever the true scores are
    error_of_average = (truth - scores.mean(axis=0)) ** 2
    average_error = ((truth - scores) ** 2).mean(axis=0)
    diversity, coherence = score_variance(model, X_test, Y_test)
    np.testing.assert_allclose(
        average_error - error_of_average, diversity + coherence, rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(diversity, by_label.var(axis=0).sum(axis=1), rtol=1e-8)
    assert (diversity + coherence >= -1e-12).all()
    on_training_rows = score_variance(model, X, Y)
    assert model.diversity_ == pytest.approx(on_training_rows[0].mean())
    assert model.coherence_ == pytest.approx(on_training_rows[1].mean())


def test_the_average_of_members_is_better_than_a_member_on_average(data):
    X, Y, X_test, Y_test = data
    model = GraphEnsembleClassifier(**quick(n_estimators=20)).fit(X, Y)
    singles = [
        (GraphClassifier(**quick(random_state=s)).fit(X, Y).predict(X_test) == Y_test).mean()
        for s in range(5)
    ]
    assert (model.predict(X_test) == Y_test).mean() >= np.mean(singles) - 0.01


def test_data_driven_graphs_vary_by_their_rows(data):
    X, Y, _, _ = data
    graph = ChowLiu(row_share=0.3)
    model = GraphEnsembleClassifier(**quick(n_estimators=6, graph=graph)).fit(X, Y)
    assert len(model.edges_) > 5


def test_verbose_shows_a_bar_on_standard_error(data, capsys):
    X, Y, _, _ = data
    GraphEnsembleClassifier(**quick(n_estimators=2, verbose=1)).fit(X, Y)
    captured = capsys.readouterr()
    assert "graphs" in captured.err
    assert captured.out == ""


def test_members_that_did_not_converge_are_counted(data):
    X, Y, _, _ = data
    with pytest.warns(ConvergenceWarning, match="3 of 3 graphs"):
        GraphEnsembleClassifier(**quick(n_estimators=3, max_iter=1, tol=1e-6)).fit(X, Y)


def test_memory_grows_with_the_members_by_their_parameters_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    Y = (X @ rng.normal(size=(5, 10)) > 0).astype(int)
    peaks, sizes = [], []
    for n_estimators in (3, 30):
        model = GraphEnsembleClassifier(
            n_estimators=n_estimators, C=0.01, calibration_folds=None, random_state=0
        )
        tracemalloc.start()
        model.fit(X, Y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append(model._model.members.parameters.nbytes)
    # A member's dual variables alone would take 3000 * 19 * 8 bytes.
    assert peaks[1] - peaks[0] < 3 * (sizes[1] - sizes[0]) + 300_000


def test_stages_hold_scores_of_a_part_of_the_rows_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X @ rng.normal(size=(3, 60)) > 0).astype(int)
    model = GraphEnsembleClassifier(**quick(n_estimators=20, C=0.01, tol=0.5)).fit(X, Y)
    whole = list(model.staged_decision_function(X))
    n_numbers = 2000 * model._model.consensus.graph.n_parameters
    monkeypatch.setattr("polyleaf.graphs.model._CHUNK", n_numbers // 100)
    for stage, of_parts in zip(whole, model.staged_decision_function(X), strict=True):
        # All but a few: where inference is approximate, rounding may lead elsewhere.
        assert np.isclose(of_parts, stage, atol=1e-9).mean() > 0.99
    many = np.tile(X, (34, 1))
    tracemalloc.start()
    next(model.staged_predict(many))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_numbers * 8 / 2


def test_stages_of_one_known_class_are_that_class():
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = GraphEnsembleClassifier(n_estimators=2, random_state=0).fit(X, np.full(12, "a"))
    assert [list(stage) for stage in model.staged_predict(X)] == [["a"] * 12] * 2
