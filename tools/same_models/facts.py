"""What users see of a fitted model: hashes of its answers, and numbers that summarise it."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from problems import Problem
from scipy import sparse
from sklearn.base import is_regressor

#: By how much training losses of trees grown best-first may differ, relative to their size.
SAME_LOSS = 1e-6
#: Of staged predictions, the last so many are looked at.
_N_STAGES = 3

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
METHODS += ("apply", "decision_path", "covers")
STAGES = ("staged_predict", "staged_predict_proba", "staged_decision_function")
ATTRIBUTES = (
    "feature_importances_",
    "output_importances_",
    "output_map_",
    "n_estimators_",
    "best_iteration_",
    "history_",
    "projection_",
    "max_features_",
    "auto_results_",
    "pruning_level_",
    "oob_score_",
    "oob_prediction_",
    "oob_decision_function_",
    "n_rules_",
    "validation_losses_",
    "loss_",
    "full_loss_",
    "edges_",
    "edge_counts_",
    "objective_",
    "dual_gap_",
    "n_iter_",
    "diversity_",
    "coherence_",
    "results_",
)


# What users see ---------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Hash the bytes of arrays, and the text of all else, as deep as they are nested."""
    total = hashlib.sha256()
    for piece in _pieces(value):
        total.update(piece)
    return total.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        yield repr((rows.shape, rows.data.dtype.str)).encode()
        yield from (
            rows.indptr.astype(np.int64).tobytes(),
            rows.indices.astype(np.int64).tobytes(),
        )
        yield rows.data.tobytes()
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr((value.shape, value.dtype.str)).encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, dict):
        for name in sorted(value):
            yield repr(name).encode()
            yield from _pieces(value[name])
    elif isinstance(value, (list, tuple, deque)):
        yield f"{len(value)} pieces".encode()
        for part in value:
            yield from _pieces(part)
    elif isinstance(value, np.ndarray):
        yield from _pieces(value.tolist())
    else:
        yield repr(value.item() if isinstance(value, np.generic) else value).encode()


def facts_of(model: Any, problem: Problem) -> dict[str, Any]:
    """Ask a fitted model for all that it tells."""
    X_new = problem.X_new
    seen = {name: _ask(model, name, X_new) for name in METHODS if hasattr(model, name)}
    for name in STAGES:
        if hasattr(model, name):
            seen[name] = _ask(model, name, X_new, deque, maxlen=_N_STAGES)
    seen |= {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    seen["predict, training rows"] = model.predict(problem.X)
    if hasattr(model, "get_n_leaves"):
        seen["size"] = (model.get_n_leaves(), model.get_depth())
    if hasattr(model, "estimators_"):
        seen["size"] = [tree.get_n_leaves() for tree in model.estimators_]
        seen["first tree"] = model.estimators_[0].feature_importances_
    if hasattr(model, "rules_"):
        seen["rules_"] = model.rules_.to_dict("list")
    if hasattr(model, "predict_quantiles"):
        seen["predict_quantiles"] = model.predict_quantiles(X_new, [0.1, 0.5, 0.9])
    if hasattr(model, "sample_predictions"):
        seen["predict_weights"] = model.predict_weights(X_new)
        seen["predict_weights, output 0"] = model.predict_weights(X_new, output=0)
        seen["sample_predictions"] = model.sample_predictions(X_new, 2, random_state=0)
    if hasattr(model, "predict_proba") and _are_labels(model):
        seen["predict_topk"] = model.predict_topk(X_new, k=3)
    return seen


def _ask(model: Any, method: str, X: Any, read: Any = lambda answer: answer, **how: Any) -> Any:
    """Call a method that some models refuse, such as dense scores after a sparse y."""
    try:
        return read(getattr(model, method)(X), **how)
    except (ValueError, AttributeError) as error:
        return type(error).__name__


def _are_labels(model: Any) -> bool:
    is_list = isinstance(model.classes_, list)
    return model.n_outputs_ > 1 and not is_list and list(model.classes_) == [0, 1]


def numbers_of(model: Any, problem: Problem, seen: dict[str, Any]) -> dict[str, float | None]:
    """Summarise a model in a few numbers, to tell a rounding error from another model."""
    try:
        score = float(model.score(problem.X, problem.y))
    except (ValueError, AttributeError):  # several quantiles have no score
        score = None
    asked = [seen.get(name) for name in ("decision_function", "predict_proba", "predict")]
    values = next(answer for answer in asked if answer is not None and not isinstance(answer, str))
    parts = [_dense(part).ravel() for part in (values if isinstance(values, list) else [values])]
    flat = np.concatenate(parts)
    return {
        "train_score": score,
        "train_loss": training_loss(model, problem),
        "mean_size": float(np.nanmean(np.abs(flat))) if flat.dtype.kind in "biuf" else None,
    }


def training_loss(model: Any, problem: Problem) -> float | None:
    """Give the loss that boosting tells, else the mean squared error of what is predicted."""
    if hasattr(model, "history_"):
        return float(model.history_["train_loss"][-1])
    y = _dense(problem.y)
    if is_regressor(model):
        return float(np.nanmean((_dense(model.predict(problem.X)) - y) ** 2))
    if not hasattr(model, "predict_proba"):
        return None
    shares = model.predict_proba(problem.X)
    if isinstance(shares, list):
        truth = [column[:, None] == known for column, known in zip(y.T, model.classes_)]
        shares, y = np.hstack(shares), np.hstack(truth)
    elif y.ndim == 1:
        y = y[:, None] == model.classes_
    return float(np.nanmean((_dense(shares) - y) ** 2))


def _dense(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)
