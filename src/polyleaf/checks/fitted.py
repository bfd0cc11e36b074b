"""Models that users give: refused by type before anything prints them."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from polyleaf.checks.numbers import described


def expect_fitted(model: Any) -> None:
    """Raise a TypeError unless the model is an estimator, a NotFittedError unless it is fitted.

    Examples
    --------
    >>> expect_fitted([1.0])
    Traceback (most recent call last):
        ...
    TypeError: model must be a fitted estimator; got a list.
    """
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted estimator; got {described(model)}.")
    check_is_fitted(model)
