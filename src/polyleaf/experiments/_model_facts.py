"""What a fitted model tells about itself: its size, what it holds, and which features matter."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

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
        "model_bytes", "n_nodes" and "n_rules"; None where that cannot be told or has no meaning.
    """
    last = _last_step(model)
    return {
        "model_bytes": _model_bytes(model),
        "n_nodes": _n_nodes(last),
        "n_rules": _int_or_none(getattr(last, "n_rules_", None)),
    }


def importances(model: Any, n_features: int, n_outputs: int) -> list[list[float | None]] | None:
    """Return importances, features by at most 12 outputs, or by one column for all.

    Parameters
    ----------
    model : estimator
        Fitted; of anyone.
    n_features, n_outputs : int
        Importances of another shape are not kept: nobody could say what they are about.

    Returns
    -------
    list of list of float, or None
    """
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
            return [plain_floats(row) for row in kept.T]
    return None


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
