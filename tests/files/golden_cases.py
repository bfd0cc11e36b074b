"""Small models of every kind, whose files are kept for ever: see `tools/golden_files.py`.

Data are made without random numbers, so that they stay the same with every version of NumPy.
"""

import numpy as np
import pandas as pd
from scipy import sparse

import polyleaf
from polyleaf import decoding, graphs, losses, projections
from polyleaf.hierarchy import Hierarchy

N_ROWS = 36
_GRID = np.arange(N_ROWS)
X = np.column_stack([(_GRID * step) % 37 for step in (5, 11, 17)]) / 37.0
NUMBERS = np.column_stack([np.sin(4 * X[:, 0]), X[:, 1] + X[:, 0], X[:, 2] - X[:, 1]]).round(3)
LABELS = (np.median(NUMBERS, axis=0) < NUMBERS).astype(int)
COUNTS = np.round(3 * np.abs(NUMBERS))
CLASSES = np.array(["a", "b", "c"])[np.digitize(NUMBERS[:, 0], [-0.3, 0.5])]
TWO_CLASSES = np.where(LABELS[:, 0], "yes", "no")
MANY_CLASSES = np.column_stack([CLASSES, TWO_CLASSES])
MASKED = np.where((_GRID[:, None] + np.arange(3)) % 5 == 0, np.nan, NUMBERS)
MASKED_LABELS = np.where((_GRID[:, None] + np.arange(3)) % 7 == 0, np.nan, LABELS)
FRAME = pd.DataFrame(X, columns=["size", "weight", "age"]).assign(
    colour=pd.Categorical(np.array(["red", "green", "blue"])[_GRID % 3]),
    when=pd.Timestamp("2024-01-01") + pd.to_timedelta(_GRID, unit="D"),
)
FRAME.loc[::6, "size"] = np.nan
ORDERED = FRAME.assign(
    colour=pd.Categorical(FRAME["colour"], ["red", "green", "blue"], ordered=True)
)
KINDS = pd.DataFrame(
    {
        "price": MASKED[:, 0],
        "visits": COUNTS[:, 1].astype(int),
        "colour": pd.Categorical(CLASSES),
        "sold": LABELS[:, 2].astype(bool),
        "open": TWO_CLASSES,
    }
)
NAMED = pd.DataFrame(NUMBERS, columns=["yield", "height", "rain"])

_SMALL = {"random_state": 0}
_FOREST = _SMALL | {"n_estimators": 3, "max_depth": 3}
_BOOST = _SMALL | {"n_estimators": 3, "max_depth": 2, "projection": None}
_RULES = _SMALL | {"n_rules": 6}
_GRAPH = _SMALL | {"calibration_folds": 2, "max_iter": 50}
#: What a loss can be tried on.
_LOSS_DATA = {"poisson": COUNTS}


def _trees():
    yield "tree-numbers", polyleaf.TreeRegressor(max_depth=3, **_SMALL), X, NAMED
    yield "tree-masked", polyleaf.TreeRegressor(max_depth=3, **_SMALL), FRAME, MASKED
    yield "tree-ordered", polyleaf.TreeRegressor(max_depth=3, **_SMALL), ORDERED, NAMED
    yield "tree-pruned", polyleaf.TreeRegressor(pruning="f_test", **_SMALL), X, NUMBERS
    yield "tree-sparse-rows", polyleaf.TreeClassifier(max_depth=3, **_SMALL), X, _sparse(LABELS)
    for name, y in {
        "binary": TWO_CLASSES,
        "classes": CLASSES,
        "labels": LABELS,
        "many-classes": MANY_CLASSES,
    }.items():
        yield f"tree-{name}", polyleaf.TreeClassifier(max_depth=3, **_SMALL), FRAME, y


def _forests():
    for name in ("RandomForest", "ExtraTrees", "BaggedTrees"):
        regressor, classifier = (
            getattr(polyleaf, name + kind) for kind in ("Regressor", "Classifier")
        )
        yield f"{name}-numbers", regressor(**_FOREST), FRAME, NAMED
        yield f"{name}-labels", classifier(**_FOREST), X, LABELS
    forest = polyleaf.RandomForestRegressor
    yield "forest-masked", forest(**_FOREST), X, MASKED
    yield "forest-auto", forest(**_FOREST | {"projection": "auto"}), X, NUMBERS
    for aggregation in ("subspace", "mixed", "oob"):
        model = forest(aggregation=aggregation, oob_score=True, **_FOREST)
        yield f"forest-{aggregation}", model, X, NUMBERS
    forest = polyleaf.RandomForestClassifier
    yield "forest-sparse", forest(**_FOREST), X, _sparse(LABELS)
    yield "forest-classes", forest(**_FOREST), X, CLASSES
    for name in decoding.DECODERS:
        if name in ("threshold", "subset", "f1", "jaccard", "top_k"):
            yield f"decoder-{name}", forest(decoding=name, **_FOREST), X, LABELS


def _projections():
    for name in projections.PROJECTIONS:
        model = polyleaf.BoostingRegressor(**_BOOST | {"projection": name})
        yield f"projection-{name}", model, X, NUMBERS


def _boosting():
    linear = _BOOST | {"projection": projections.Gaussian(n_components=1)}
    yield "boosting-linear", polyleaf.BoostingRegressor(leaf_fit="linear", **linear), X, NUMBERS
    yield "boosting-auto", polyleaf.BoostingRegressor(**_BOOST | {"projection": "auto"}), X, NAMED
    yield "boosting-masked", polyleaf.BoostingRegressor(**_BOOST), FRAME, MASKED
    yield "boosting-classes", polyleaf.BoostingClassifier(**_BOOST), FRAME, CLASSES
    yield "boosting-many-classes", polyleaf.BoostingClassifier(**_BOOST), X, MANY_CLASSES
    yield "boosting-sparse", polyleaf.BoostingClassifier(**_BOOST), X, _sparse(LABELS)
    quantiles = losses.Quantile([0.1, 0.9])
    yield "boosting-quantiles", polyleaf.BoostingRegressor(loss=quantiles, **_BOOST), X, NUMBERS
    for name, cls in losses.LOSSES.items():
        if "regression" in cls.tasks:
            model = polyleaf.BoostingRegressor(loss=name, **_BOOST)
            yield f"loss-{name}", model, X, _LOSS_DATA.get(name, NUMBERS)
        elif "multilabel" in cls.tasks:
            yield f"loss-{name}", polyleaf.BoostingClassifier(loss=name, **_BOOST), X, LABELS


def _mixed():
    yield "mixed-tree", polyleaf.TreeMixed(max_depth=3, **_SMALL), FRAME, KINDS
    yield "mixed-forest", polyleaf.RandomForestMixed(oob_score=True, **_FOREST), FRAME, KINDS
    yield "mixed-extra-trees", polyleaf.ExtraTreesMixed(**_FOREST), X, NAMED
    loss = {"price": losses.Huber(0.5), "visits": "squared_error"}
    yield "mixed-boosting", polyleaf.BoostingMixed(loss=loss, **_BOOST), FRAME, KINDS
    yield "mixed-boosting-auto", polyleaf.BoostingMixed(**_BOOST), X, KINDS
    yield "mixed-boosting-labels", polyleaf.BoostingMixed(**_BOOST), X, LABELS.astype(bool)


def _rules():
    for name in polyleaf.RuleClassifier._declared["loss"].names:
        yield f"rules-{name}", polyleaf.RuleClassifier(loss=name, **_RULES), X, LABELS
    for name in polyleaf.RuleRegressor._declared["loss"].names:
        yield f"rules-number-{name}", polyleaf.RuleRegressor(loss=name, **_RULES), FRAME, NAMED
    for head in ("single", "partial"):
        yield f"rules-{head}", polyleaf.RuleClassifier(head=head, **_RULES), X, LABELS
    chain = {"loss": "examplewise_logistic", "set_probabilities": "chain_rule"}
    yield "rules-chain_rule", polyleaf.RuleClassifier(**chain, **_RULES), X, LABELS
    for name in ("gaussian", "subsample"):
        model = polyleaf.RuleClassifier(projection=name, **_RULES)
        yield f"rules-view-{name}", model, X, LABELS
    yield "rules-masked", polyleaf.RuleClassifier(**_RULES), FRAME, MASKED_LABELS
    yield "rules-classes", polyleaf.RuleClassifier(**_RULES), X, CLASSES


def _graphs():
    for kernel in ("linear", "cosine", "poly", "rbf"):
        model = polyleaf.GraphClassifier(kernel=kernel, **_GRAPH)
        yield f"kernel-{kernel}", model, X, LABELS
    gram = X @ X.T
    model = polyleaf.GraphClassifier(kernel="precomputed", **_GRAPH)
    yield "kernel-precomputed", model, gram, LABELS
    for name in graphs.GRAPHS:
        graph = [(0, 1), (1, 2)] if name == "edges" else name
        yield f"graph-{name}", polyleaf.GraphClassifier(graph=graph, **_GRAPH), X, LABELS
    for aggregation in ("mam", "amm", "mve"):
        model = polyleaf.GraphEnsembleClassifier(n_estimators=3, aggregation=aggregation, **_GRAPH)
        yield f"graphs-{aggregation}", model, X, LABELS
    yield "graph-classes", polyleaf.GraphClassifier(**_GRAPH), X, MANY_CLASSES


def _hierarchies():
    tree = Hierarchy([(0, 1), (0, 2)], 3, names=["all", "left", "right"])
    for name, settings in (
        ("RandomForestClassifier", _FOREST | {"hierarchy": tree, "decoding": "f1"}),
        ("BoostingClassifier", _BOOST | {"hierarchy": [(0, 1), (1, 2)]}),
        ("RuleClassifier", _RULES | {"hierarchy": [-1, 0, 0]}),
        ("GraphClassifier", _GRAPH | {"hierarchy": ["a", "a/b", "a/c"]}),
    ):
        yield f"hierarchy-{name}", getattr(polyleaf, name)(**settings), X, LABELS


def _tuned():
    forest = polyleaf.RandomForestClassifier(**_FOREST)
    for name in decoding.DECODERS:
        for calibration in (None, "sigmoid", "isotonic"):
            if calibration is not None and name != "threshold":
                continue
            tuned = polyleaf.TunedDecoder(
                forest, decoding=name, calibration=calibration, cv=2, random_state=0
            )
            yield f"tuned-{name}-{calibration}".lower(), tuned, X, LABELS


def _auto():
    small = {"budget": "small", "cv": 2, "random_state": 0}
    yield "auto-regressor", polyleaf.AutoRegressor(**small), X, NUMBERS
    yield "auto-folds", polyleaf.AutoRegressor(**small), X[:, :3], NUMBERS
    yield "auto-classifier", polyleaf.AutoClassifier(metric="example_f1", **small), X, LABELS
    yield "auto-label-folds", polyleaf.AutoClassifier(**small), X, LABELS


def _conformal():
    forest = polyleaf.RandomForestRegressor(**_FOREST)
    for score, method in (
        ("max", "split"),
        ("mahalanobis", "cross"),
        ("mahalanobis", "split"),
        ("local", "oob"),
        ("quantile", "split"),
    ):
        model = polyleaf.ConformalRegressor(
            forest, score=score, method=method, alpha=0.2, cv=2, random_state=0
        )
        yield f"conformal-{score}-{method}", model, X, NAMED
    boosted = polyleaf.BoostingRegressor(**_BOOST)
    model = polyleaf.ConformalRegressor(boosted, score="quantile", cv=2, random_state=0)
    yield "conformal-boosting", model, FRAME, MASKED
    forest = polyleaf.RandomForestClassifier(**_FOREST)
    for risk, method in (("fnr", "cross"), ("fdr", "split")):
        model = polyleaf.ConformalClassifier(
            forest, risk=risk, method=method, alpha=0.4, cv=2, random_state=0
        )
        yield f"conformal-{risk}", model, X, LABELS


def _sparse(labels):
    return sparse.csr_array(labels)


def golden_cases():
    """Yield names, models that are not fitted yet, X and Y."""
    for cases in (
        _trees,
        _forests,
        _projections,
        _boosting,
        _mixed,
        _rules,
        _graphs,
        _hierarchies,
        _tuned,
        _auto,
        _conformal,
    ):
        yield from cases()


def answers(model, X):
    """Give all that a model predicts for X, as lists of numbers or names."""
    found = {}
    for method in ("predict", "predict_proba", "decision_function", "predict_interval"):
        try:
            found[method] = _plain(getattr(model, method)(X))
        except (AttributeError, ValueError):  # a method that this model does not have
            continue
    return found


def _plain(values):
    if isinstance(values, pd.DataFrame):
        return [values[[name]].to_numpy().tolist() for name in values]
    if isinstance(values, dict):
        return [np.asarray(part).reshape(len(part), -1).tolist() for part in values.values()]
    if isinstance(values, list):
        return [_plain(value) for value in values]
    values = values.toarray() if sparse.issparse(values) else np.asarray(values)
    return values.tolist()
