"""What tests of the core's rules have in common."""

import numpy as np
from core_tree import binned_arrays
from rule_reference import OPERATORS
from scipy import sparse

from polyleaf import _core
from polyleaf.data import bin_features
from polyleaf.losses import Quadratic
from polyleaf.rules.statistics import PackedStatistics


def columns_of(X, is_categorical=None, max_bins=255):
    """Bin X as the rule search reads it."""
    n_features = X.shape[1]
    if is_categorical is None:
        is_categorical = np.zeros(n_features, dtype=bool)
    dense = X.toarray() if sparse.issparse(X) else X
    n_categories = np.where(is_categorical, np.nanmax(dense, axis=0) + 1, 0).astype(int)
    f = bin_features(X, is_categorical, n_categories, max_bins)
    return _core.RuleColumns(_core.Binned(**binned_arrays(f)))


def params_of(n_features, **changed):
    """Make parameters."""
    params = _core.RuleParams()
    params.max_features = n_features
    for name, value in changed.items():
        setattr(params, name, value)
    return params


def logistic_statistics(rng, n, k, coupled):
    """Derivatives at random scores: (7) if coupled, else (6)."""
    y = rng.choice([-1.0, 1.0], size=(n, k))
    p = rng.normal(size=(n, k))
    if not coupled:
        share = 1 / (1 + np.exp(y * p))
        return -y * share, share * (1 - share), None
    e = np.exp(-y * p)
    share = e / (1 + e.sum(axis=1, keepdims=True))
    return -y * share, share, np.ones(n)


def packed(statistics, is_logistic=False):
    """What the core is given: padded lines, the number of outputs, and the coupling."""
    known = PackedStatistics.of(Quadratic(*statistics), is_logistic)
    return known.values, known.n_channels, known.coupling


def induced(columns, statistics, counts, params, is_logistic=False):
    """Induce a rule; give it, its conditions and its rows."""
    rule = _core.induce_rule(columns, *packed(statistics, is_logistic), counts, params)
    feature = np.empty(rule.n_conditions, np.int32)
    op = np.empty(rule.n_conditions, np.uint8)
    value = np.empty(rule.n_conditions)
    rule.write_conditions(feature, op, value)
    rows = np.empty(rule.n_rows, np.int32)
    rule.write_rows(rows)
    conditions = [
        (int(f), OPERATORS[o], float(v)) for f, o, v in zip(feature, op, value, strict=True)
    ]
    return rule, conditions, rows


def head(statistics, rows, outputs, is_logistic=False, **settings):
    """Find the head of some rows."""
    n_head = statistics[0].shape[1] if outputs is None else len(outputs)
    found = np.empty(n_head)
    chosen = None if outputs is None else np.array(outputs, np.int32)
    _core.find_head(
        *packed(statistics, is_logistic), rows, chosen, params_of(1, **settings), found
    )
    return found


def three_columns(rng):
    """Numbers, whole numbers of which some are missing, and a rare flag."""
    X = np.column_stack(
        [rng.normal(size=160), rng.normal(size=160).round(), rng.random(160) < 0.1]
    )
    X[rng.random(160) < 0.1, 1] = np.nan
    return X
