"""Fit and predict with hostile data and parameters; a child process of test_hostile_inputs.

Prints one line per case that did not end as it should: in a TypeError or ValueError with a
message, or in a model that predicts its own training rows.
"""

import datetime
import decimal
import faulthandler
import fractions
import sys
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from polyleaf._registry import ESTIMATORS
from polyleaf.projections import PROJECTIONS

NUMBERS = [0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-308, 5e-324, np.inf, -np.inf, np.nan, 1e20, 3]
OBJECTS = [
    None,
    "",
    "text",
    "1.5",
    b"bytes",
    True,
    2**70,
    -(2**63),
    1 + 2j,
    np.nan,
    pd.NA,
    pd.NaT,
    decimal.Decimal("1.5"),
    fractions.Fraction(1, 3),
    datetime.date(2020, 1, 1),
    np.datetime64("2020-01-01"),
    {1, 2},
    {"a": 1},
    [1, 2],
    (),
    object(),
    float,
    np.float32(1),
    "\x00",
    "\ud800",
]
DTYPES = ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "g", "c16", "M8[s]", "m8[s]", "O"]
DTYPES += ["U3", "S3", ">f8", "V4"]
CONTAINERS = [
    np.asarray,
    np.asfortranarray,
    lambda a: a.tolist(),
    lambda a: tuple(map(tuple, a)) if a.ndim == 2 else tuple(a),
    lambda a: np.ma.masked_array(a, mask=np.zeros(a.shape, bool)),
    pd.DataFrame,
    lambda a: pl.DataFrame(a.tolist(), strict=False),
    lambda a: pd.Series(list(a)),
    sparse.csr_array,
    sparse.csc_matrix,
    sparse.coo_array,
    lambda a: set(a.ravel().tolist()),
    lambda a: dict(enumerate(a)),
    lambda a: iter(a.tolist()),
    lambda a: a.tobytes(),
    lambda a: a[None],
    lambda a: a[:, 0] if a.ndim == 2 and a.shape[1] else a,
    lambda a: a.reshape(-1)[0] if a.size else a,
    lambda a: pd.DataFrame(a).astype("category"),
    lambda a: pd.DataFrame(a, columns=["same"] * a.shape[1]),
    lambda a: np.lib.stride_tricks.as_strided(a, strides=(0,) * a.ndim),
    lambda a: pd.DataFrame(a).convert_dtypes(),
]
METHODS = ("predict_proba", "decision_path", "predict_weights", "predict_quantiles")
METHODS += ("sample_predictions",)
#: Trees more often than others.
CLASSES = list(ESTIMATORS.values()) + 2 * [
    cls for name, cls in ESTIMATORS.items() if name.startswith("Tree")
]
PARAMETERS = {
    "n_estimators": [1, 2, 5, 0, -1, 2.5, "3"],
    "projection_scope": ["tree", "forest", "node", "other", None],
    "aggregation": ["total", "subspace", "oob", "other"],
    "bootstrap": [True, False, "yes", 3],
    "max_samples": [None, 1, 0.5, 10**12, 0, 2.5, "all"],
    "oob_score": [True, False, lambda truth, guess: 0.5, "r2"],
    "warm_start": [False, True, "no"],
    "normalize_outputs": [True, False, None],
    "max_depth": [None, 1, 3, 10**12, 0, -1, "3", 2.5, np.nan],
    "max_leaf_nodes": [None, 2, 5, 10**12, 1, "x"],
    "min_samples_split": [2, 5, 0.5, 1.0, 10**15, 1, -0.5, np.inf],
    "min_samples_leaf": [1, 3, 0.5, 10**15, 0, np.nan, None],
    "min_impurity_decrease": [0.0, 0.1, 1e308, -1.0, np.nan],
    "max_features": [None, 1, 0.5, "sqrt", "log2", 10**12, 0, "all", np.nan],
    "splitter": ["best", "random", "worst", None],
    "max_bins": [255, None, 2, 7, 1, 256, 3.5],
    "categorical_features": [None, [0], ["a"], [True, False], [99], "all", 3, {0}, [None]],
    "pruning": [None, "f_test", "other"],
    "pruning_level": ["cv", 0.05, 1.0, 0.0, 2, None],
    "projection": [None, *PROJECTIONS, "auto", "gausian", 3, np.linalg.norm],
    "random_state": [0, None, 2**32 - 1, 2**40, -1, "seed"],
    "n_jobs": [None, 1, 2, -1, 0, 3.5, 10**9],
}


def pick(pool, rng):
    return pool[rng.integers(len(pool))]


def hostile_values(shape, rng):
    """An array of numbers, most of them harmless, or of a strange type, or of objects."""
    values = rng.normal(size=shape) * pick([1.0, 1.0, 1.0, 1.0, 1e-200, 1e150], rng)
    if rng.random() < 0.4:
        return values
    if rng.random() < 0.3:
        values = np.round(values)
    strange = rng.random(shape) < pick([0.0, 0.0, 0.1, 0.9], rng)
    values[strange] = [pick(NUMBERS, rng) for _ in range(int(strange.sum()))]
    if rng.random() < 0.25:
        mixed = values.astype(object)
        places = np.argwhere(rng.random(shape) < pick([0.05, 0.5, 1.0], rng))
        for place in places:
            mixed[tuple(place)] = pick(OBJECTS, rng)
        return mixed
    if rng.random() < 0.3:
        with np.errstate(all="ignore"):
            return values.astype(pick(DTYPES, rng))
    return values


def labels(shape, rng):
    """Classes of some kind, as a classifier wants them."""
    values = rng.integers(pick([1, 2, 2, 3, 5], rng), size=shape)
    return pick([values, values.astype(str), values.astype(float), values > 0], rng)


def hostile_table(n_rows, rng, width):
    if rng.random() < 0.05:
        n_rows = pick([0, 1, n_rows + 1], rng)
    shape = (n_rows,) if rng.random() < 0.05 else (n_rows, width)
    return shape, pick(CONTAINERS, rng) if rng.random() < 0.3 else np.asarray


def require_message(error):
    if not str(error):
        raise RuntimeError("an error without a message") from error


def attempt(rng):
    """Fit once; True if a model came out, whose predictions then have to work."""
    n_rows = int(pick([1, 2, 3, 10, 30, 60], rng))
    width, n_outputs = int(rng.integers(0, 6)), int(pick([0, 1, 1, 2, 3, 4], rng))
    is_classifier = rng.random() < 0.5
    classes = [cls for cls in CLASSES if cls.__name__.endswith("Classifier") == is_classifier]
    estimator = pick(classes, rng)()
    for size in ("n_estimators", "n_rules"):
        if hasattr(estimator, size):
            estimator.set_params(**{size: 3})
    names = sorted(set(PARAMETERS) & set(estimator.get_params(deep=False)))
    n_changed = min(int(pick([0, 0, 1, 3], rng)), len(names))
    for name in rng.choice(names, n_changed, replace=False):
        estimator.set_params(**{str(name): pick(PARAMETERS[name], rng)})
    if is_classifier and rng.random() < 0.2:
        choices = ["balanced", {0: 1, 1: 2}, {0: np.nan}, [{}], "other", {0: 0, 1: 0}, [], {}]
        estimator.set_params(class_weight=pick(choices, rng))
    shape, container = hostile_table(n_rows, rng, max(width, 1) if rng.random() < 0.9 else width)
    y_shape, y_container = hostile_table(n_rows, rng, n_outputs)
    if rng.random() < 0.3:
        y_shape = y_shape[:1]
    make_y = labels if is_classifier and rng.random() < 0.8 else hostile_values
    weights = None
    try:
        X, other_X = (container(hostile_values(shape, rng)) for _ in range(2))
        y = y_container(make_y(y_shape, rng))
        if rng.random() < 0.2:
            weights = hostile_values(pick([(n_rows,), y_shape, (n_rows, 2)], rng), rng)
            weights = np.abs(weights) if weights.dtype.kind == "f" else weights
    except Exception:  # NumPy, pandas, polars or scipy refuse to build such data
        return None
    try:
        estimator.fit(X, y, sample_weight=weights)
    except (TypeError, ValueError) as error:
        require_message(error)
        return False
    used = estimator.predict(X)
    if hasattr(estimator, "apply"):
        assert used.shape[0] == estimator.apply(X).shape[0]
    for name in METHODS:
        if hasattr(estimator, name):
            getattr(estimator, name)(X)
    if hasattr(estimator, "staged_predict"):
        size = getattr(estimator, "n_estimators", None) or estimator.n_rules
        assert 1 <= len(list(estimator.staged_predict(X))) <= size
    for name in ("feature_importances_", "output_importances_"):
        if hasattr(type(estimator), name):
            assert np.isfinite(getattr(estimator, name)).all()
    try:
        estimator.predict(other_X)
    except (TypeError, ValueError) as error:
        require_message(error)
    return True


def main(n_cases, seed):
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", category=RuntimeWarning, module="polyleaf")
    outcomes = {None: 0, False: 0, True: 0}
    failures = 0
    case = 0
    while outcomes[True] + outcomes[False] + failures < n_cases:
        case += 1
        try:
            outcomes[attempt(np.random.default_rng([seed, case]))] += 1
        except Exception:
            failures += 1
            print(f"case {case} of seed {seed}:\n{traceback.format_exc()}")
    print(f"{outcomes[True]} fitted, {outcomes[False]} refused, {failures} failures")


if __name__ == "__main__":
    faulthandler.enable()
    main(int(sys.argv[1]), int(sys.argv[2]))
