"""The model card of a file: when the model was fitted, on what, with which versions, how good."""

from __future__ import annotations

import math
import numbers
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy
import sklearn

from polyleaf._version import __version__

#: The keys of a card, with the types that JSON gives them.
_KEYS = {
    "fitted": str,
    "rows": int,
    "features": int,
    "outputs": int,
    "versions": dict,
    "scores": dict,
}


def card_of(model: Any) -> dict[str, Any] | None:
    """Give the card of a fitted model, or of the estimator inside; None if it has none.

    A loaded model keeps the card of its file. Any other says when its fit ended, and how many rows
    it had (`_fit_facts`). The time is that of SOURCE_DATE_EPOCH, in seconds, if the environment
    has it: then the same fit makes the same file.
    """
    if isinstance(getattr(model, "_card", None), dict):
        return dict(model._card)
    if hasattr(model, "_fit_facts"):
        ended, n_rows = model._fit_facts
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        when = datetime.fromtimestamp(int(epoch) if epoch.isdecimal() else ended, UTC)
        return {
            "fitted": when.isoformat(timespec="seconds"),
            "rows": n_rows,
            "features": int(model.n_features_in_),
            "outputs": int(model.n_outputs_),
            "versions": _versions(),
        }
    inside = getattr(model, "estimator_", None)
    return None if inside is None else card_of(inside)


def _versions() -> dict[str, str]:
    return {
        "polyleaf": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def with_scores(card: dict[str, Any] | None, scores: Any) -> dict[str, Any] | None:
    """Add scores to a card: a mapping of numbers, or what `polyleaf.evaluate` gives.

    Raises
    ------
    ValueError
        If they are no finite numbers by name.
    """
    if scores is None:
        return card
    scores = getattr(scores, "scores", scores)
    is_fine = isinstance(scores, Mapping) and all(
        isinstance(name, str) and isinstance(value, numbers.Real) for name, value in scores.items()
    )
    if not is_fine:
        raise ValueError(
            "scores must map names to numbers, as {'r2': 0.71}, or be what polyleaf.evaluate "
            f"gives; got {scores!r:.80}."
        )
    finite = {name: float(value) for name, value in scores.items() if math.isfinite(value)}
    return (card or {}) | {"scores": finite}


def check_card(stored: Any) -> dict[str, Any] | None:
    """Check the card of a model file, where None stands for a file without one.

    Raises
    ------
    ValueError
        If it was not written by `save`.
    """
    if stored is None:
        return None
    is_fine = isinstance(stored, dict) and all(
        type(value) is _KEYS.get(key, type(value)) for key, value in stored.items()
    )
    if not is_fine:
        raise ValueError(f"Expected a model card with the keys {[*_KEYS]}; got {stored!r:.80}.")
    return dict(stored)
