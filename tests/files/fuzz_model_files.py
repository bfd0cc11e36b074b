"""Load damaged and hostile model files; a child process of test_damaged_model_files.

Prints one line per model file that did not end as it should: in a ModelFileError, or in a model
whose methods work (or refuse the data, because its names have changed).
"""

import faulthandler
import json
import sys
import tempfile
import traceback
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import polyleaf
from polyleaf.export import rules_to_python
from polyleaf.files.storage import ModelFileError, read_model, write_model
from polyleaf.inspection import tree_text
from polyleaf.projections import Gaussian

EXTREMES = [0, 1, -1, 2, 7, 31, 32, 127, 255, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63)]
STRANGE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.5]
DTYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float32, np.float64, np.bool_]
JSON = [None, True, False, -1, 0, 1, 3, 2**40, -1.5, 1e300, "", "x", "dense", "rows", [], {}]
METHODS = ("apply", "decision_path", "predict", "predict_proba", "predict_log_proba")
METHODS += ("predict_weights", "predict_quantiles", "predict_topk", "sample_predictions")
METHODS += ("decision_function", "explain")
PROPERTIES = ("feature_importances_", "output_importances_", "output_names_", "classes_")
PROPERTIES += ("edges_", "output_map_")


def make_models():
    """Pairs of a fitted model and features for it: all tasks and kinds of leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(rng.choice(list("uvwxyz"), 40))
    Y = np.column_stack([X[:, 0] + X[:, 1], X[:, 1] * X[:, 2]])
    masked = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    labels = (Y > 0).astype(int)
    classes = np.digitize(Y, [-1, 0, 1])
    regressor, classifier = polyleaf.TreeRegressor, polyleaf.TreeClassifier
    fits = [
        (regressor(pruning="f_test", pruning_level=0.1), X, Y[:, 0]),
        (regressor(projection="gaussian"), frame, masked),
        (regressor(), X, sparse.csr_array(np.where(Y > 0, Y, 0.0))),
        (classifier(class_weight={0: 1.0, 1: 2.0}), frame, labels),
        (classifier(), frame, sparse.csr_array(labels)),
        (classifier(), X, classes[:, 0].astype(str)),
        (classifier(categorical_features=[0]), np.round(X), classes),
        (polyleaf.GraphClassifier(kernel="rbf", graph="chow_liu"), X, classes),
        (polyleaf.GraphEnsembleClassifier(n_estimators=2, aggregation="amm"), X, labels),
        (polyleaf.GraphEnsembleClassifier(n_estimators=2, completion="consistent"), X, labels),
    ]
    fits += [
        (polyleaf.TunedDecoder(classifier(max_depth=3), cv=2, **how), X, labels)
        for how in (
            {"decoding": "known_label_set", "calibration": "sigmoid", "random_state": 0},
            {"decoding": ["label_thresholds", "tuned_threshold"], "random_state": 0},
        )
    ]
    forest = polyleaf.RandomForestRegressor(n_estimators=2, max_depth=2, random_state=0)
    fits += [
        (polyleaf.ConformalRegressor(forest, method="oob", score="local"), X, Y),
        (polyleaf.ConformalRegressor(forest, method="cross", cv=2, random_state=0), X, Y),
        (polyleaf.ConformalClassifier(classifier(max_depth=3), cv=2, random_state=0), X, labels),
    ]
    fits += boosted_models(X, frame, Y, masked)
    fitted = [(model.fit(data, targets), data) for model, data, targets in fits]
    return fitted + make_forests(X, frame, Y, masked)


def boosted_models(X, frame, Y, masked):
    """Boosted trees and rules with leaves, heads, losses and decoders of all kinds."""
    labels, classes = (Y > 0).astype(int), np.digitize(Y, [-1, 0, 1])
    numbers = partial(polyleaf.BoostingRegressor, n_estimators=3, random_state=0)
    kinds = partial(polyleaf.BoostingClassifier, n_estimators=3, random_state=0)
    rules = partial(polyleaf.RuleClassifier, n_rules=4, random_state=0)
    return [
        (numbers(projection="gaussian"), frame, masked),
        (numbers(projection="round_robin", loss="huber"), X, Y),
        (numbers(projection=Gaussian(n_components=1), leaf_fit="linear"), X, Y),
        (numbers(), X, sparse.csr_array(np.where(Y > 0, Y, 0.0))),
        (kinds(projection="adaptive", decoding="f1"), frame, labels),
        (kinds(), X, classes.astype(str)),
        (rules(head="complete", loss="examplewise_logistic"), frame, labels),
        (rules(decoding="known_label_set"), X, sparse.csr_array(labels)),
        (rules(head="partial"), X, classes[:, 0].astype(str)),
        (polyleaf.RuleRegressor(n_rules=4, random_state=0), frame, masked),
    ]


def make_forests(X, frame, Y, masked):
    """Forests of all kinds of outputs, weights and aggregations."""
    rng = np.random.default_rng(1)
    labels = (Y > 0).astype(int)
    regressor, classifier = polyleaf.RandomForestRegressor, polyleaf.RandomForestClassifier
    fits = [
        (regressor(oob_score=True, aggregation="oob"), X, Y, None),
        (regressor(projection="round_robin"), frame, masked, None),
        (regressor(bootstrap=False), X, sparse.csr_array(np.where(Y > 0, Y, 0.0)), None),
        (regressor(projection=None), X, Y, rng.random(Y.shape)),
        (classifier(class_weight="balanced"), frame, labels, rng.random(40)),
        (classifier(projection="subsample"), frame, sparse.csr_array(labels), rng.random(40)),
        (classifier(projection="gaussian"), X, np.digitize(Y, [-1, 0, 1]).astype(str), None),
    ]
    return [
        (
            model.set_params(n_estimators=3, random_state=0).fit(
                data, targets, sample_weight=weights
            ),
            data,
        )
        for model, data, targets, weights in fits
    ]


def damage_bytes(content, rng):
    """Flip bits, change, cut, insert or blank bytes of a file."""
    content = bytearray(content)
    at = int(rng.integers(len(content)))
    kind = rng.integers(6)
    if kind == 0:
        return bytes(content[:at])
    if kind == 1:
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        for position in rng.integers(len(content), size=rng.integers(1, 20)):
            content[position] = int(rng.integers(256))
    elif kind == 3:
        content[at:at] = rng.bytes(int(rng.integers(1, 50)))
    elif kind == 4:
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    else:
        content[: min(at, 8)] = rng.bytes(min(at, 8))
    return bytes(content)


def change_array(arrays, rng):
    """Change one array: values out of range, another type, shape or length, or none at all."""
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name].copy()
    kind = rng.integers(8)
    if kind <= 2 and array.size:
        places = rng.integers(array.size, size=rng.integers(1, 4))
        pool = STRANGE if array.dtype.kind == "f" and rng.random() < 0.7 else EXTREMES
        with np.errstate(all="ignore"):
            values = np.array([pool[rng.integers(len(pool))] for _ in places])
            array.reshape(-1)[places] = values.astype(array.dtype)
    elif kind == 3:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = array.astype(DTYPES[rng.integers(len(DTYPES))])
    elif kind == 4:
        array = array.reshape(-1)[: rng.integers(array.size + 1)]
    elif kind == 5:
        array = array[..., None] if rng.random() < 0.5 else array[None]
    elif kind == 6:
        array = np.concatenate([array, array])
    elif rng.random() < 0.5:
        array = arrays[sorted(arrays)[rng.integers(len(arrays))]]
    else:
        del arrays[name]
        return
    arrays[name] = array


def change_json(node, rng):
    """Replace, drop or add something somewhere in a JSON document."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys or rng.random() < 0.1:
        extra = JSON[rng.integers(len(JSON))]
        if isinstance(node, dict):
            node[str(extra)] = extra
        else:
            node.append(extra)
        return
    key = keys[rng.integers(len(keys))]
    if isinstance(node[key], (dict, list)) and rng.random() < 0.7:
        change_json(node[key], rng)
    elif rng.random() < 0.15:
        del node[key]
    else:
        node[key] = json.loads(json.dumps(JSON[rng.integers(len(JSON))]))


def write_damaged(path, original, rng):
    """Damage the bytes, or write other content with a digest that fits it."""
    kind = rng.integers(4)
    if kind == 0:
        path.write_bytes(damage_bytes(original.read_bytes(), rng))
        return
    arrays, metadata = read_model(original)
    for _ in range(rng.integers(1, 4)):
        if kind == 1 or (kind == 3 and rng.random() < 0.5):
            if arrays:
                change_array(arrays, rng)
        else:
            change_json(metadata, rng)
    write_model(path, arrays, metadata)


def use(path, X):
    """Load a model and call everything on it; True if that much was possible."""
    try:
        model = polyleaf.load(path)
    except ModelFileError:
        return False
    for name in METHODS:
        if hasattr(model, name):
            try:
                getattr(model, name)(X)
            except (ValueError, TypeError):
                continue
    for name in PROPERTIES:
        if hasattr(type(model), name):
            getattr(model, name)
    if hasattr(model, "estimators_"):
        model = model.estimators_[-1]
    if hasattr(model, "get_depth"):
        tree_text(model)
        model.get_depth()
    if hasattr(model, "rules_"):
        rules_to_python(model)
    repr(model)
    return True


def main(n_files, seed):
    warnings.simplefilter("ignore", UserWarning)
    n_loaded, failures = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        originals = []
        for i, (model, X) in enumerate(make_models()):
            polyleaf.save(model, Path(folder) / f"{i}.polyleaf")
            originals.append((Path(folder) / f"{i}.polyleaf", X))
        for i in range(n_files):
            rng = np.random.default_rng([seed, i])
            original, X = originals[i % len(originals)]
            path = Path(folder) / "damaged.polyleaf"
            write_damaged(path, original, rng)
            try:
                n_loaded += use(path, X)
            except Exception:
                failures += 1
                print(f"file {i} of seed {seed}:\n{traceback.format_exc()}")
    print(f"{n_files} files, {n_loaded} loaded, {failures} failures")


if __name__ == "__main__":
    faulthandler.enable()
    main(int(sys.argv[1]), int(sys.argv[2]))
