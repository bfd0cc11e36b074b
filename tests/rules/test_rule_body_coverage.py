"""Training rows of every condition, counted by the core and naively."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import polyleaf


@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_of_every_condition_are_those_that_satisfy_it_and_all_before(is_sparse):
    rng = np.random.default_rng(0)
    n = 150
    if is_sparse:
        X = sparse.random_array((n, 12), density=0.3, rng=rng, format="csr")
        X.data = np.round(X.data, 1) - 0.3
        dense = X.toarray()
    else:
        X = pd.DataFrame(rng.normal(size=(n, 4)).round(1)).mask(rng.random((n, 4)) < 0.1)
        X.columns = list("abcd")
        X["kind"] = rng.choice(list("uvw"), n)
        dense = np.nan_to_num(X[list("abcd")].to_numpy())
    Y = (dense[:, :3] + dense[:, 1:4] > 0.3).astype(int)
    model = polyleaf.RuleClassifier(n_rules=40, max_features=None, random_state=0).fit(X, Y)
    rules = model._rules
    assert rules.body_coverage.size == rules.feature.size > 20
    for t in range(rules.n_rules):
        begin, end = rules.body_offsets[t : t + 2]
        for c in range(begin, end):
            first = polyleaf.rules.model.Rule(
                rules.feature[begin : c + 1],
                rules.operator[begin : c + 1],
                rules.value[begin : c + 1],
                np.array([0], np.int32),
                np.array([1.0]),
                0,
                0.0,
            )
            prefix = type(rules).build([first], rules.n_features, rules.n_channels, n)
            assert rules.body_coverage[c] == prefix.covers(model._encode(X)).sum()
        if end > begin:
            assert rules.body_coverage[end - 1] == rules.coverage[t]
