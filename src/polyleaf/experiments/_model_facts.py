"""Facts about a fitted model: its size, what it holds, and which features matter."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from polyleaf.inspection import shap_values

#: Rows that are explained, at most and at least, and the nodes that they may visit (a second).
_MOST_EXPLAINED, _LEAST_EXPLAINED, _MOST_VISITS = 100, 10, 4_000_000
#: Of so many outputs, importances are kept.
MOST_OUTPUTS_OF_IMPORTANCES = 12


def model_facts(model: Any) -> dict[str, Any]:
    """Return the bytes of a model, and how many nodes or rules it has.

    Parameters
    ----------
    model : estimator
        Fitted; of anyone.

    Returns
    -------
    dict
        "model_bytes", "n_nodes" and "n_rules"; None if unknown or meaningless.
    """
    last = _last_step(model)
    return {
        "model_bytes": _model_bytes(model),
        "n_nodes": _n_nodes(last),
        "n_rules": _int_or_none(getattr(last, "n_rules_", None)),
    }


def importances(model: Any, X: Any, n_features: int, n_outputs: int) -> dict[str, Any]:
    """Return importances, features by at most 12 outputs, or by one column for all.

    Of polyleaf's trees and rules that is how far each feature moves predictions, by Shapley
    values of some rows, unless there are so many nodes that it would take long.

    Parameters
    ----------
    model : estimator
        Fitted; of anyone.
    X : ndarray, frame or sparse matrix
        Test rows.
    n_features, n_outputs : int
        Importances of another shape are not kept: nobody could say what they are about.

    Returns
    -------
    dict
        "importances", a list of lists of float or None, and "importances_by", "shap" or "splits".
    """
    moves = _shares_of_moves(model, X, n_features, n_outputs)
    if moves is not None:
        return {"importances": [plain_floats(row) for row in moves], "importances_by": "shap"}
    shapes = {
        "output_importances_": (n_outputs, n_features),
        "feature_importances_": (n_features,),
    }
    for name, shape in shapes.items():
        try:
            values = np.asarray(getattr(model, name), dtype=np.float64)
        except (AttributeError, ValueError, TypeError):
            continue
        if values.shape == shape:
            kept = values.reshape(-1, n_features)[:MOST_OUTPUTS_OF_IMPORTANCES]
            listed = [plain_floats(row) for row in kept.T]
            return {"importances": listed, "importances_by": "splits"}
    return {"importances": None, "importances_by": "splits"}


def _shares_of_moves(
    model: Any, X: Any, n_features: int, n_outputs: int
) -> NDArray[np.float64] | None:
    """Give mean sizes of Shapley values as shares of each output's, (features, outputs)."""
    try:
        trees = model._additive()
        if trees.leaf_rows is None or int(model.n_features_in_) != n_features:
            return None
    except (AttributeError, TypeError):  # no trees of ours
        return None
    n_rows = min(_MOST_EXPLAINED, X.shape[0], _MOST_VISITS // max(1, trees.structure.n_nodes))
    if n_rows < min(_LEAST_EXPLAINED, X.shape[0]):
        return None
    outputs = list(range(min(n_outputs, MOST_OUTPUTS_OF_IMPORTANCES)))
    rows = _safe_indexing(X, np.arange(n_rows))
    sizes = shap_values(model, rows, outputs=outputs, reduce="mean_abs").values
    if sizes.shape[1] != len(outputs):  # outputs with classes have a column for each
        return None
    totals = sizes.sum(axis=0, dtype=np.float64)
    shares: NDArray[np.float64] = sizes / np.where(totals > 0, totals, 1.0)
    return shares


def plain_floats(values: Any) -> list[float | None]:
    """Return numbers for JSON, of six digits; None for what is not finite."""
    return [round(float(v), 6) if np.isfinite(v) else None for v in np.asarray(values, float)]


def _last_step(model: Any) -> Any:
    """Return the model at the end of a pipeline, without what only wraps it."""
    model = model.steps[-1][1] if hasattr(model, "steps") else model
    return getattr(model, "estimator_", None) or model


def _model_bytes(model: Any) -> int | None:
    try:
        return len(pickle.dumps(model))
    except Exception:  # not every model can be pickled
        return None


def _n_nodes(model: Any) -> int | None:
    """Count the nodes of polyleaf's and scikit-learn's trees."""
    fitted = getattr(model, "_fitted", None)  # of polyleaf's
    for part in vars(fitted).values() if fitted is not None else ():
        n_nodes = getattr(getattr(part, "structure", None), "n_nodes", None)
        if n_nodes is not None:
            return int(n_nodes)
    trees = [model, *np.ravel(np.array(getattr(model, "estimators_", None) or [], dtype=object))]
    counts = [_nodes_of_tree(tree) for tree in trees]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _nodes_of_tree(model: Any) -> int | None:
    model = getattr(model, "estimator_", model)
    if hasattr(model, "tree_"):
        return int(model.tree_.node_count)
    if hasattr(model, "_predictors"):  # histogram gradient boosting
        return sum(len(tree.nodes) for stage in model._predictors for tree in stage)
    return None


def _int_or_none(value: Any) -> int | None:
    return None if value is None else int(value)
