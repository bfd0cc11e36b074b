"""Match feature names between fit and predict, and find the features a user names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.spelling import did_you_mean

_MAX_NAMES_SHOWN = 5


def resolve_categorical(
    categorical_features: Sequence[Any] | NDArray[Any] | None,
    names: tuple[str, ...] | None,
    n_features: int,
) -> NDArray[np.bool_]:
    """Turn names, positions or a mask into a mask of shape (n_features,)."""
    mask = np.zeros(n_features, dtype=np.bool_)
    if categorical_features is None:
        return mask
    expected = "categorical_features must be None, a list of column names, a list of column "
    expected += f"positions below {n_features}, or a mask of {n_features} booleans"
    if isinstance(categorical_features, str | bytes) or np.ndim(categorical_features) != 1:
        raise ValueError(f"{expected}; got {categorical_features!r:.80}.")
    items = list(categorical_features)
    if all(isinstance(item, bool | np.bool_) for item in items) and items:
        if len(items) != n_features:
            raise ValueError(f"{expected}; got a mask of {len(items)}.")
        return np.array(items, dtype=np.bool_)
    if all(isinstance(item, str) for item in items):
        items = [_position_of(item, names) for item in items]
    for item in items:
        if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
            raise ValueError(f"{expected}; got {item!r:.80} among them.")
        if not 0 <= item < n_features:
            raise ValueError(f"{expected}; got the position {item}.")
        mask[item] = True
    return mask


def _position_of(name: str, names: tuple[str, ...] | None) -> int:
    if names is None:
        raise ValueError(
            f"categorical_features names the column {name!r}, but X has no string column names. "
            "Give positions or a mask, or pass X as a data frame."
        )
    if name not in names:
        hint = did_you_mean(name, names)
        raise ValueError(
            f"categorical_features must name columns of X; got {name!r}, which is none of "
            f"{_shown(names)}.{hint}"
        )
    return names.index(name)


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MAX_NAMES_SHOWN])
    return shown + (", ..." if len(names) > _MAX_NAMES_SHOWN else "")


def check_names(
    fitted: tuple[str, ...] | None, given: tuple[str, ...] | None, estimator_name: str
) -> None:
    """Compare column names as scikit-learn does; the sentences are those its checks ask for."""
    if fitted == given:
        return
    if fitted is None:
        message = f"X has feature names, but {estimator_name} was fitted without feature names"
        warnings.warn(message, UserWarning, stacklevel=4)
        return
    if given is None:
        message = "X does not have valid feature names, but "
        message += f"{estimator_name} was fitted with feature names"
        warnings.warn(message, UserWarning, stacklevel=4)
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen = sorted(set(given) - set(fitted))
    absent = sorted(set(fitted) - set(given))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if absent:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(absent)
    if not unseen and not absent:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def _listed(names: Sequence[str]) -> str:
    lines = [f"- {name}\n" for name in names[:_MAX_NAMES_SHOWN]]
    return "".join(lines) + ("- ...\n" if len(names) > _MAX_NAMES_SHOWN else "")
