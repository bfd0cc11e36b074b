"""Model files of conformal estimators: those of their models, and what was calibrated beside them.

Arrays of the models have their names behind "models.0.", "models.1." and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf._registry import ESTIMATORS
from polyleaf.checks.spelling import check_choice
from polyleaf.conformal.classifier import ConformalClassifier, FittedSets
from polyleaf.conformal.forecasts import check_model
from polyleaf.conformal.held_out import METHODS, check_cv
from polyleaf.conformal.label_models import check_delta, hierarchy_of
from polyleaf.conformal.ranks import check_alpha
from polyleaf.conformal.regions import Calibration
from polyleaf.conformal.regressor import SCORES, ConformalRegressor, FittedRegions
from polyleaf.conformal.risks import GRID, RISKS, Entries
from polyleaf.estimator.parameters import (
    check_parameters,
    parameters_from_json,
    parameters_to_json,
)
from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below, expect_offsets
from polyleaf.files.parameters import parameter_to_json

Arrays = dict[str, NDArray[Any]]
_MOST_MODELS = 10_000
_REGRESSOR = ("method", "score", "alpha", "cv", "random_state")
_CLASSIFIER = ("method", "risk", "alpha", "delta", "by_level", "cv", "random_state")

_ARRAYS = StoredArrays(
    "Conformal estimators (arrays of the models inside begin with models.0., models.1., ...)",
    {
        "residuals": StoredArray(
            np.float64, "n_calibration, n_outputs", "Residuals in spreads; NaN: not observed."
        ),
        "folds": StoredArray(np.int64, "n_calibration", "The model that each row belongs to."),
        "correlations": StoredArray(
            np.float64, "n_calibration, n_outputs, n_outputs", "Of score='local': around each row."
        ),
        "moments": StoredArray(
            np.float64, "n_outputs, n_outputs", "Mean products of residuals of training rows."
        ),
        "entry_probabilities": StoredArray(
            np.float64, "n_entries", "Of labels that calibration rows have, ascending per level."
        ),
        "entry_shares": StoredArray(np.float64, "n_entries", "Share in the loss of its row."),
        "entry_offsets": StoredArray(np.int64, "n_levels + 1", "First entry of each level."),
        "level_rows": StoredArray(np.int64, "n_levels", "Calibration rows that count."),
        "mean_losses": StoredArray(np.float64, "n_thresholds", "Of other risks, on the grid."),
    },
)


# What both have in common ----------------------------------------------------------------------


def _models_to_file(wrapper: Any, parameters: tuple[str, ...]) -> tuple[Arrays, dict[str, Any]]:
    arrays: Arrays = {}
    inner = []
    name = type(wrapper).__name__
    given = vars(wrapper)
    for at, model in enumerate([*wrapper._fitted.models, given["estimator"]]):
        if ESTIMATORS.get(type(model).__name__) is not type(model):
            raise TypeError(
                f"A model file holds a {name} around an estimator of polyleaf "
                f"({', '.join(ESTIMATORS)}); got one around {type(model).__name__}. Use "
                "joblib.dump, whose files run code when they are loaded."
            )
        if at < len(wrapper._fitted.models):
            own, metadata = model._to_file()
            inner.append(metadata)
            arrays |= {f"models.{at}.{key}": array for key, array in own.items()}
    stored = {key: given[key] for key in parameters}
    if not isinstance(stored["random_state"], (int, np.integer)):
        stored["random_state"] = None
    return arrays, {
        "estimator": name,
        "inner": inner,
        "wrapped": {
            "estimator": type(given["estimator"]).__name__,
            "parameters": parameters_to_json(given["estimator"]),
        },
        "parameters": {key: parameter_to_json(key, value) for key, value in stored.items()},
    }


def _models_from_file(
    arrays: Arrays, metadata: dict[str, Any], kind: str
) -> tuple[list[Any], Any, int]:
    """Give the models, the estimator that was wrapped, and the number of outputs."""
    inner = metadata["inner"]
    if not isinstance(inner, list) or not 1 <= len(inner) <= _MOST_MODELS:
        raise ValueError("Expected a list of models.")
    models = []
    for at, stored in enumerate(inner):
        prefix = f"models.{at}."
        own = {
            key.removeprefix(prefix): array
            for key, array in arrays.items()
            if key.startswith(prefix)
        }
        models.append(_known(stored)._from_file(own, stored))
    kinds = {model._targets.kind for model in models}
    counts = {model._targets.n_outputs for model in models}
    if kinds != {kind} or len(counts) != 1:
        raise ValueError(f"Expected models of the same {kind} outputs.")
    if metadata["fitted"]["method"] == "prefit":
        return models, models[0], counts.pop()
    stored = metadata["wrapped"]
    cls = _known(stored)
    wrapped = cls(**parameters_from_json(cls, stored["parameters"]))
    check_parameters(wrapped)
    return models, wrapped, counts.pop()


def _known(stored: Any) -> Any:
    cls = ESTIMATORS.get(str(stored["estimator"]))
    if cls is None:
        raise ValueError(f"Expected an estimator of polyleaf; got {stored['estimator']!r:.60}.")
    return cls


def _parameters(stored: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(stored, dict) or set(stored) != set(names):
        raise ValueError(f"Expected the parameters {', '.join(names)}; got {stored!r:.80}.")
    check_choice("method", stored["method"], METHODS)
    check_alpha(stored["alpha"])
    check_cv(stored["cv"])
    if stored["random_state"] is not None and type(stored["random_state"]) is not int:
        raise ValueError("Expected an integer as random_state.")
    return stored


def _finite(array: NDArray[Any], name: str, low: float = -np.inf, high: float = np.inf) -> None:
    if not np.isfinite(array).all() or (array < low).any() or (array > high).any():
        raise ValueError(f"Expected {name} to be finite numbers from {low} to {high}.")


# Regressors ------------------------------------------------------------------------------------


def regressor_to_file(wrapper: ConformalRegressor) -> tuple[Arrays, dict[str, Any]]:
    """Give what a model file holds of a fitted `ConformalRegressor`."""
    arrays, metadata = _models_to_file(wrapper, _REGRESSOR)
    fitted, calibration = wrapper._fitted, wrapper._fitted.calibration
    arrays |= {"residuals": calibration.residuals, "folds": calibration.folds}
    if calibration.correlations is not None:
        arrays["correlations"] = calibration.correlations
    if calibration.moments is not None:
        arrays["moments"] = calibration.moments
    facts = {
        "is_1d": fitted.is_1d,
        "score": fitted.score,
        "method": fitted.method,
        "alpha": fitted.alpha,
    }
    return arrays, metadata | {"fitted": facts}


def regressor_from_file(arrays: Arrays, metadata: dict[str, Any]) -> ConformalRegressor:
    """Undo `regressor_to_file`.

    Raises
    ------
    ValueError, TypeError, KeyError
        If the file is damaged.
    """
    models, estimator, n_outputs = _models_from_file(arrays, metadata, "regression")
    given, facts = _parameters(metadata["parameters"], _REGRESSOR), metadata["fitted"]
    check_choice("score", given["score"], SCORES)
    check_choice("score", facts["score"], SCORES)
    check_choice("method", facts["method"], METHODS)
    for model in models:
        check_model(model, facts["score"], facts["method"])
    calibration = _calibration(arrays, facts["score"], len(models), n_outputs)
    wrapper = ConformalRegressor(estimator, **given)
    wrapper._fitted = FittedRegions(
        models,
        calibration,
        n_outputs,
        bool(facts["is_1d"]),
        facts["score"],
        facts["method"],
        check_alpha(facts["alpha"]),
    )
    return wrapper


def _calibration(arrays: Arrays, score: str, n_models: int, n_outputs: int) -> Calibration:
    residuals, folds = _ARRAYS.read(arrays, "residuals"), _ARRAYS.read(arrays, "folds")
    if residuals.shape[1] != n_outputs or folds.shape[0] != residuals.shape[0]:
        raise ValueError("Expected residuals of every output, and a fold for each row.")
    if np.isinf(residuals).any():
        raise ValueError("Expected finite residuals.")
    expect_below(folds, n_models, "folds")
    moments = None
    if "moments" in arrays:
        moments = _ARRAYS.read(arrays, "moments")
        if n_models != 1 or moments.shape != (n_outputs, n_outputs):
            raise ValueError("Expected one model, and moments of every pair of outputs.")
        _finite(moments, "moments")
        np.linalg.cholesky(moments)
    if score != "local":
        return Calibration(residuals, folds, moments=moments)
    correlations = _ARRAYS.read(arrays, "correlations")
    if correlations.shape != (*residuals.shape, n_outputs):
        raise ValueError("Expected a matrix of correlations for each row.")
    _finite(correlations, "correlations", -1.0 - 1e-9, 1.0 + 1e-9)
    np.linalg.cholesky(correlations)  # a ValueError unless they are positive definite
    return Calibration(residuals, folds, correlations)


# Classifiers -----------------------------------------------------------------------------------


def classifier_to_file(wrapper: ConformalClassifier) -> tuple[Arrays, dict[str, Any]]:
    """Give what a model file holds of a fitted `ConformalClassifier`."""
    fitted = wrapper._fitted
    if not isinstance(fitted.risk, str) or not isinstance(wrapper.risk, str):
        raise TypeError(
            "A model file holds a ConformalClassifier whose risk has a name; got a function of "
            "your own. Use joblib.dump, whose files run code when they are loaded."
        )
    arrays, metadata = _models_to_file(wrapper, _CLASSIFIER)
    sizes = [level.probability.size for level in fitted.levels]
    arrays |= {
        "entry_probabilities": np.concatenate([[], *(e.probability for e in fitted.levels)]),
        "entry_shares": np.concatenate([[], *(e.share for e in fitted.levels)]),
        "entry_offsets": np.cumsum([0, *sizes]).astype(np.int64),
        "level_rows": np.array([e.n_rows for e in fitted.levels], dtype=np.int64),
    }
    if fitted.mean_losses is not None:
        arrays["mean_losses"] = fitted.mean_losses
    facts = {
        "method": wrapper.method,
        "risk": fitted.risk,
        "by_level": fitted.by_level,
        "n_calibration": fitted.n_calibration,
    }
    return arrays, metadata | {"fitted": facts}


def classifier_from_file(arrays: Arrays, metadata: dict[str, Any]) -> ConformalClassifier:
    """Undo `classifier_to_file`.

    Raises
    ------
    ValueError, TypeError, KeyError
        If the file is damaged.
    """
    models, estimator, n_labels = _models_from_file(arrays, metadata, "multilabel")
    given, facts = _parameters(metadata["parameters"], _CLASSIFIER), metadata["fitted"]
    check_choice("risk", given["risk"], tuple(RISKS))
    check_choice("risk", facts["risk"], tuple(RISKS))
    check_delta(given["delta"])
    n_rows = facts["n_calibration"]
    if type(n_rows) is not int or n_rows < 0 or type(facts["by_level"]) is not bool:
        raise ValueError("Expected a number of calibration rows and whether levels count.")
    means, levels = None, _levels_from_file(arrays)
    n_levels = 0 if facts["risk"] != "fnr" else 1
    if facts["by_level"]:
        n_levels = int(models[0].hierarchy_.depth.max()) + 1 if hierarchy_of(models[0]) else -1
    if len(levels) != n_levels:
        raise ValueError(f"Expected entries of {n_levels} levels; got {len(levels)}.")
    if facts["risk"] != "fnr":
        means = _ARRAYS.read(arrays, "mean_losses")
        _finite(means, "mean_losses", 0.0, 1.0)
        if means.size != GRID.size:
            raise ValueError(f"Expected {GRID.size} mean losses; got {means.size}.")
    wrapper = ConformalClassifier(estimator, **given)
    wrapper._fitted = FittedSets(
        models, levels, means, n_rows, n_labels, facts["risk"], facts["by_level"]
    )
    return wrapper


def _levels_from_file(arrays: Arrays) -> tuple[Entries, ...]:
    probabilities = _ARRAYS.read(arrays, "entry_probabilities")
    shares = _ARRAYS.read(arrays, "entry_shares")
    offsets, rows = _ARRAYS.read(arrays, "entry_offsets"), _ARRAYS.read(arrays, "level_rows")
    expect_offsets(offsets, rows.size, probabilities.size, "entry_offsets", least=0)
    _finite(probabilities, "entry_probabilities")
    _finite(shares, "entry_shares", 0.0, 1.0)
    if shares.size != probabilities.size or (rows < 0).any():
        raise ValueError("Expected a share for each entry.")
    levels = []
    for start, end, n_rows in zip(offsets[:-1], offsets[1:], rows.tolist(), strict=True):
        own = probabilities[start:end]
        if (np.diff(own) < 0).any():
            raise ValueError("Expected ascending probabilities.")
        levels.append(Entries(own, shares[start:end], n_rows))
    return tuple(levels)
