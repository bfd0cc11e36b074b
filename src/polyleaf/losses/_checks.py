"""Whether a loss answers as it has to: a finite number for every entry that counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.losses._base import Loss, LossTargets


def check_shapes(loss: Loss, targets: LossTargets) -> None:
    """Raise a ValueError if a loss does not give one number per entry.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
        The first rows are tried, with raw predictions of 0.

    Examples
    --------
    >>> from polyleaf.losses import LossTargets, SquaredError, check_shapes
    >>> class Forgetful(SquaredError):
    ...     def gradient(self, targets, raw):
    ...         return super().gradient(targets, raw).sum(axis=1)
    >>> check_shapes(Forgetful(), LossTargets.of([[1.0, 2.0], [3.0, 4.0]]))
    Traceback (most recent call last):
        ...
    ValueError: Forgetful.gradient must return an array of shape (2, 2), ...; got (2,).
    """
    with np.errstate(all="ignore"):
        for where, answer, part, _ in _answers(loss, targets, np.zeros(targets.n_channels)):
            if not isinstance(answer, np.ndarray) or answer.shape != part.values.shape:
                got = getattr(answer, "shape", type(answer).__name__)
                raise ValueError(
                    f"{where} must return an array of shape {part.values.shape}, like the raw "
                    f"predictions that it is given; got {got}."
                )


def check_finite(loss: Loss, targets: LossTargets, baseline: NDArray[np.float64]) -> None:
    """Raise a ValueError if a loss or its gradient is not finite where boosting starts.

    Parameters
    ----------
    loss : Loss
    targets : LossTargets
        The first rows are tried.
    baseline : ndarray of shape (n_channels,)
        Raw predictions of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf.losses import LossTargets, SquaredError, check_finite
    >>> class Reciprocal(SquaredError):
    ...     def losses(self, targets, raw):
    ...         with np.errstate(divide="ignore"):
    ...             return 1.0 / (raw - targets.values)
    >>> check_finite(Reciprocal(), LossTargets.of([[1.0], [3.0]]), np.array([3.0]))
    Traceback (most recent call last):
        ...
    ValueError: Reciprocal.losses must be finite; it is inf for the target 3 ...
    """
    for where, answer, part, raw in _answers(loss, targets, baseline):
        counts = part.column_weights
        wrong = ~np.isfinite(answer) if counts is None else ~np.isfinite(answer) & (counts > 0)
        if wrong.any():
            row, channel = np.argwhere(wrong)[0]
            raise ValueError(
                f"{where} must be finite; it is {answer[row, channel]} for the target "
                f"{part.values[row, channel]:g} and the raw prediction {raw[row, channel]:g}."
            )


def _answers(
    loss: Loss, targets: LossTargets, raw: NDArray[np.float64]
) -> Iterator[tuple[str, Any, LossTargets, NDArray[np.float64]]]:
    """Yield what the methods of a loss say about some rows, and what they were asked."""
    _, part = next(targets.blocks())
    shown = np.tile(raw, (part.n_rows, 1))
    for name in ("losses", "gradient") if loss.decomposable else ("gradient",):
        answer = getattr(loss, name)(part, shown)
        yield f"{type(loss).__name__}.{name}", answer, part, shown
