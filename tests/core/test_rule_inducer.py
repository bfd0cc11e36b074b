"""The compiled rule inducer against the naive one."""

import numpy as np
import pytest
from core_rules import columns_of, head, induced, logistic_statistics, params_of, three_columns
from rule_reference import OPERATORS, dense_hessians, head_of, induce
from scipy import sparse

from polyleaf import _core

pytestmark = pytest.mark.kernel


def assert_same_rule(X, statistics, counts, columns, is_categorical=None, **settings):
    names = {"l2": "l2_regularization", "l1": "l1_regularization"}
    core = {names.get(k, k): v for k, v in settings.items() if v is not None}
    direct = core.pop("direct_max_outputs", 32)
    settings.pop("direct_max_outputs", None)
    params = params_of(X.shape[1], direct_max_outputs=direct, **core)
    rule, conditions, _ = induced(columns, statistics, counts, params)
    dense = X.toarray() if sparse.issparse(X) else X
    expected = induce(dense, statistics, counts, is_categorical=is_categorical, **settings)
    assert len(conditions) > 0
    assert np.allclose(rule.objectives, expected.objectives, rtol=1e-7)
    if expected.outputs is not None:
        assert rule.outputs == expected.outputs.tolist()
    assert [c[:2] for c in conditions] == [c[:2] for c in expected.conditions]
    assert np.allclose([c[2] for c in conditions], [c[2] for c in expected.conditions])


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("direct_max_outputs", [32, 0])
@pytest.mark.parametrize("seed", range(4))
def test_the_rule_is_that_of_the_naive_inducer(seed, coupled, direct_max_outputs):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).round(1)
    statistics = logistic_statistics(rng, 60, 5, coupled)
    counts = rng.poisson(1.0, 60).astype(np.int32)
    assert_same_rule(
        X, statistics, counts, columns_of(X), l2=0.5, direct_max_outputs=direct_max_outputs
    )


@pytest.mark.parametrize("n_outputs", [8, 14, 37])
@pytest.mark.parametrize("direct_max_outputs", [64, 0])
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_many_outputs_and_thresholds_give_the_rule_of_the_naive_inducer(
    n_outputs, direct_max_outputs, l2
):
    # Several tiles of outputs; several solved thresholds with others between them.
    rng = np.random.default_rng(n_outputs)
    X = three_columns(rng)
    statistics = logistic_statistics(rng, 160, n_outputs, True)
    counts = rng.poisson(1.0, 160).astype(np.int32)
    # Systems without a penalty are singular below as many rows as outputs.
    assert_same_rule(
        X,
        statistics,
        counts,
        columns_of(X),
        l2=l2,
        min_coverage=1 if l2 > 0 else 2 * n_outputs,
        direct_max_outputs=direct_max_outputs,
    )


@pytest.mark.parametrize("n_outputs", [1, 8, 13, 24, 37])
@pytest.mark.parametrize(
    "settings", [{}, {"head_size": 1}, {"l1": 0.5}, {"min_coverage": 25}, {"l2": 0.0}]
)
def test_any_number_of_outputs_apart_gives_the_rule_of_the_naive_inducer(n_outputs, settings):
    # Sums in registers or in memory; thresholds on both sides of the commonest value.
    rng = np.random.default_rng(n_outputs)
    X = three_columns(rng)
    statistics = logistic_statistics(rng, 160, n_outputs, False)
    counts = rng.poisson(1.0, 160).astype(np.int32)
    assert_same_rule(X, statistics, counts, columns_of(X), **{"l2": 1.0, **settings})


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"head_size": 1},
        {"head_size": 3},
        {"head_share": 0.5},
        {"l1": 0.5},
        {"min_coverage": 8},
        {"max_conditions": 1},
        {"l2": 4.0, "head_size": 2},
    ],
)
def test_settings_of_the_rule_are_obeyed_as_by_the_naive_inducer(coupled, settings):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 3)).round(1)
    statistics = logistic_statistics(rng, 80, 5, coupled)
    counts = rng.poisson(1.0, 80).astype(np.int32)
    assert_same_rule(X, statistics, counts, columns_of(X), **{"l2": 1.0, **settings})


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("direct_max_outputs", [32, 0])
@pytest.mark.parametrize("max_bins", [255, None])
@pytest.mark.parametrize("share_missing", [0.15, 0.7])
def test_categories_and_missing_values(coupled, direct_max_outputs, max_bins, share_missing):
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(4, size=90), rng.normal(size=90), rng.integers(2, size=90)])
    X[:, 1] = X[:, 1].round(1)
    X[:4, 0] = range(4)
    X[5:][rng.random((85, 3)) < share_missing] = np.nan
    is_categorical = np.array([True, False, True])
    statistics = logistic_statistics(rng, 90, 4, coupled)
    counts = rng.poisson(1.0, 90).astype(np.int32)
    assert_same_rule(
        X,
        statistics,
        counts,
        columns_of(X, is_categorical, max_bins),
        is_categorical,
        l2=1.0,
        direct_max_outputs=direct_max_outputs,
    )


@pytest.mark.parametrize("coupled", [False, True])
def test_sparse_features_give_the_rules_of_dense_ones(coupled):
    rng = np.random.default_rng(2)
    X = np.where(rng.random((120, 5)) < 0.15, rng.integers(-2, 3, size=(120, 5)), 0.0)
    statistics = logistic_statistics(rng, 120, 4, coupled)
    counts = rng.poisson(1.0, 120).astype(np.int32)
    stored = sparse.csr_array(X)
    assert_same_rule(stored, statistics, counts, columns_of(stored), l2=0.5)


@pytest.mark.parametrize("n_outputs", [3, 20, 37])
@pytest.mark.parametrize("settings", [{}, {"head_size": 1}, {"head_size": 2}, {"l1": 0.5}])
@pytest.mark.parametrize("seed", range(3))
def test_words_give_the_rule_of_the_naive_inducer(n_outputs, settings, seed):
    # Rare words, one that is in most rows, one in all and one in none; a second value in a copy.
    rng = np.random.default_rng(seed)
    share = np.array([0.05, 0.1, 0.15, 0.3, 0.9, 1.0, 0.0, 0.1])
    X = (rng.random((210, 8)) < share).astype(float)
    X[:, 7] *= rng.integers(1, 3, 210)
    statistics = logistic_statistics(rng, 210, n_outputs, False)
    counts = rng.poisson(1.0, 210).astype(np.int32)
    for stored in (sparse.csr_array(X[:, :7]), sparse.csr_array(X)):
        assert_same_rule(stored, statistics, counts, columns_of(stored), **{"l2": 0.5, **settings})


@pytest.mark.parametrize("max_bins", [8, 255, None])
def test_rows_of_a_rule_are_those_whose_values_satisfy_its_body(max_bins):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    columns = columns_of(X, max_bins=max_bins)
    statistics = logistic_statistics(rng, 300, 3, False)
    for seed in range(10):
        counts = rng.poisson(1.0, 300).astype(np.int32)
        params = params_of(4, l2_regularization=1.0, seed=seed)
        params.max_features = 2
        _, conditions, rows = induced(columns, statistics, counts, params)
        offsets = np.array([0, len(conditions)])
        feature, op, value = zip(*conditions, strict=True)
        op = [OPERATORS.index(name) for name in op]
        covers = np.empty((300, 1), np.uint8)
        _core.rule_coverage(
            offsets, np.array(feature, np.int32), np.array(op, np.uint8), np.array(value), X,
            covers, 1,
        )  # fmt: skip
        assert np.array_equal(np.flatnonzero(covers[:, 0]), rows)
        assert 0 < rows.size < 300


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("direct_max_outputs", [32, 0])
@pytest.mark.parametrize("label_bins", [0, 2])
def test_threads_do_not_change_a_rule(coupled, direct_max_outputs, label_bins):
    rng = np.random.default_rng(1)
    # Enough rows, outputs and features for threads to be worth waking.
    X = rng.normal(size=(4000, 16)).round(1)
    columns = columns_of(X)
    statistics = logistic_statistics(rng, 4000, 20, coupled)
    counts = rng.poisson(1.0, 4000).astype(np.int32)
    found = []
    for n_threads in (1, 3):
        params = params_of(
            14,
            max_conditions=3,
            l2_regularization=1.0,
            seed=3,
            n_threads=n_threads,
            direct_max_outputs=direct_max_outputs,
            label_bins=label_bins if coupled else 0,
        )
        rule, conditions, rows = induced(columns, statistics, counts, params)
        found.append((conditions, rows.tolist(), rule.objectives))
    assert found[0] == found[1]


@pytest.mark.parametrize("head_size", [0, 1])
def test_the_gain_of_a_condition_does_not_depend_on_other_features(head_size):
    """To the last bit, as threads decide which features come first.

    Cuts that cannot win are passed over, and more of them if another feature did well before.
    """
    for seed in range(40):
        rng = np.random.default_rng(seed)
        gradient = np.concatenate([-0.2 * rng.random(20), rng.random(20)])
        gradient[20:28] *= 1e-3  # cuts nearly as good as the best one
        gradient[30] = 1e-6
        statistics = gradient[:, None], np.full((40, 1), 1e-6), None
        X = np.repeat(np.arange(40.0)[:, None], 2, axis=1)
        X[30, 0] = -1.0  # so that the feature that comes first does almost as well
        settings = {"l2_regularization": 10.0, "head_size": head_size, "max_conditions": 1}
        counts = np.ones(40, np.int32)
        both, conditions, _ = induced(columns_of(X), statistics, counts, params_of(2, **settings))
        alone, _, _ = induced(columns_of(X[:, 1:]), statistics, counts, params_of(1, **settings))
        assert conditions == [(1, ">", 19.5)]
        assert both.objectives == alone.objectives


def test_instruction_sets_agree():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 3))
    columns = columns_of(X)
    counts = np.ones(150, np.int32)
    now = _core.instruction_set()
    for coupled in (False, True):
        statistics = logistic_statistics(rng, 150, 6, coupled)
        found = []
        for name in ("baseline", "avx2", "avx512"):
            if not _core.use_instruction_set(name):
                continue
            params = params_of(3, l2_regularization=1.0)
            rule, conditions, _ = induced(columns, statistics, counts, params)
            found.append((conditions, rule.objectives))
        _core.use_instruction_set(now)
        for conditions, objectives in found[1:]:
            assert conditions == found[0][0]
            assert np.allclose(objectives, found[0][1], rtol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3, 8, 37])
@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_a_head_solves_equation_16(n_outputs, l2):
    rng = np.random.default_rng(n_outputs)
    statistics = logistic_statistics(rng, 1200, n_outputs, True)
    rows = np.flatnonzero(rng.random(1200) < 0.7).astype(np.int32)
    weights = np.zeros(1200)
    weights[rows] = 1.0
    hessians = dense_hessians(*statistics)
    for outputs in (None, [0], list(range(0, n_outputs, 2))):
        chosen = np.arange(n_outputs) if outputs is None else np.array(outputs)
        expected, _ = head_of(statistics[0], hessians, weights, chosen, l2, 0.3)
        found = head(statistics, rows, outputs, l2_regularization=l2, l1_regularization=0.3)
        assert np.allclose(found, expected, rtol=1e-8)


def test_a_complete_head_of_a_decomposable_loss_is_that_of_single_outputs():
    rng = np.random.default_rng(0)
    statistics = logistic_statistics(rng, 50, 6, False)
    rows = np.arange(0, 50, 2, dtype=np.int32)
    complete = head(statistics, rows, None, l2_regularization=1.0)
    singles = [head(statistics, rows, [k], l2_regularization=1.0)[0] for k in range(6)]
    assert np.allclose(complete, singles, rtol=1e-13, atol=0)


def test_the_objective_falls_with_every_refinement():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    columns = columns_of(X)
    n_long = 0
    for seed in range(12):
        for coupled in (False, True):
            statistics = logistic_statistics(rng, 400, 5, coupled)
            counts = rng.poisson(1.0, 400).astype(np.int32)
            params = params_of(3, l2_regularization=1.0, seed=seed)
            rule, _, _ = induced(columns, statistics, counts, params)
            assert rule.objectives[0] < 0
            assert np.all(np.diff(rule.objectives) < 0)
            n_long += len(rule.objectives) > 1
    assert n_long > 10


def test_outputs_without_curvature_score_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    gradient, diagonal, coupling = logistic_statistics(rng, 60, 3, True)
    gradient[:, 1] = diagonal[:, 1] = 0.0
    counts = np.ones(60, np.int32)
    for direct in (32, 0):
        rule, conditions, rows = induced(
            columns_of(X), (gradient, diagonal, coupling), counts,
            params_of(2, direct_max_outputs=direct),
        )  # fmt: skip
        assert np.isfinite(rule.objectives).all()
        assert len(conditions) > 0
    found = head((gradient, diagonal, coupling), rows, None)
    assert found[1] == 0.0
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_features", 5), ("min_coverage", 0), ("l2_regularization", -1.0), ("n_threads", 0)],
)
def test_parameters_out_of_range_are_refused(name, value):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    params = params_of(3)
    setattr(params, name, value)
    with pytest.raises(ValueError, match=name):
        induced(
            columns_of(X), logistic_statistics(rng, 20, 2, False), np.ones(20, np.int32), params
        )
