"""The values that chosen features take in a dependence: read, encoded and shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats.mstats import mquantiles

from polyleaf.checks.numbers import expect_list, expect_number, shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.estimator.wording import feature_names_of


@dataclass(frozen=True, eq=False)
class Grid:
    """One or two features with the values that they take.

    Attributes
    ----------
    features : list of int
    encoded : list of ndarray, float64
        Their values as the model sees them.
    shown : list of ndarray
        Their values as the user wrote them.
    """

    features: list[int]
    encoded: list[NDArray[np.float64]]
    shown: list[NDArray[Any]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each feature."""
        return tuple(values.size for values in self.encoded)

    def arguments(self) -> dict[str, NDArray[Any]]:
        """Give the grid as the core takes it."""
        return {
            "features": np.array(self.features, np.int32),
            "offsets": np.concatenate([[0], np.cumsum(self.shape)]).astype(np.int64),
            "grid": np.concatenate(self.encoded),
        }


def chosen_features(model: Any, features: Any) -> list[int]:
    """Read one feature or a pair, by name or number."""
    names = feature_names_of(model)
    is_one = isinstance(features, str | int | np.integer)
    of = "names or numbers of features"
    given = [features] if is_one else expect_list("features", features, of)
    numbers = []
    for feature in given:
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(
                    f"features must be names or numbers of features; got {shown(feature)}."
                    f"{did_you_mean(feature, names)}"
                )
            numbers.append(names.index(feature))
        elif isinstance(feature, int | np.integer) and -len(names) <= feature < len(names):
            numbers.append(int(feature) % len(names))
        else:
            raise ValueError(
                f"features must be names or numbers below {len(names)}; got {shown(feature, 80)}."
            )
    if len(numbers) not in (1, 2) or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"features must be one feature or two different ones; got {shown(features)}."
        )
    return numbers


def column_of(encoded: Any, feature: int) -> NDArray[Any]:
    """Give a column of encoded rows, dense."""
    column: Any = encoded[:, [feature]]
    dense = column.toarray() if hasattr(column, "toarray") else column
    return np.asarray(dense)[:, 0]


def make_grid(
    model: Any,
    encoded: Any,
    features: list[int],
    resolution: int,
    percentiles: tuple[float, float],
    given: Any,
) -> Grid:
    """Choose the values of a grid as scikit-learn does, or take those that were given."""
    if given is not None and len(features) == 1 and np.ndim(np.asarray(given, object)) == 1:
        given = [given]
    if given is not None and len(given) != len(features):
        raise ValueError(
            f"grid_values must have one array per feature, {len(features)}; got {len(given)}."
        )
    between = _read_percentiles(percentiles)
    axes = []
    for a, feature in enumerate(features):
        if given is None:
            values = _axis(model, column_of(encoded, feature), feature, resolution, between)
        else:
            values = _encoded_axis(model, feature, np.asarray(given[a]))
        if not values.size:
            raise ValueError(f"Feature {feature} has no value to put on a grid.")
        axes.append(values.astype(encoded.dtype).astype(np.float64))  # what the rows would hold
    seen = [shown_values_of(model, feature, v) for feature, v in zip(features, axes)]
    return Grid(features, axes, seen)


def _read_percentiles(percentiles: Any) -> tuple[float, float]:
    told = "two shares from 0 to 1, the lower one first"
    given = [
        expect_number("percentiles", share, 0.0, 1.0, told)
        for share in expect_list("percentiles", percentiles, "shares")
    ]
    if len(given) != 2 or given[0] > given[1]:
        raise ValueError(f"percentiles must be {told}; got {shown(percentiles, 80)}.")
    return given[0], given[1]


def _axis(
    model: Any,
    column: NDArray[Any],
    feature: int,
    resolution: int,
    percentiles: tuple[float, float],
) -> NDArray[np.float64]:
    n_categories = int(model._features.n_categories[feature])
    if n_categories:
        return np.arange(n_categories, dtype=np.float64)
    known = column[np.isfinite(column)].astype(np.float64)
    unique = np.unique(known)
    if unique.size < resolution:
        return unique
    low, high = mquantiles(known, prob=percentiles)
    if np.isclose(low, high):
        low, high = unique[0], unique[-1]
    return np.linspace(low, high, num=resolution, endpoint=True)


def _encoded_axis(model: Any, feature: int, values: NDArray[Any]) -> NDArray[np.float64]:
    """Encode values that the user gave."""
    schema = model._features
    codes = schema.levels.get(feature, schema.categories[feature])
    if codes is None:
        return values.astype(np.float64)
    known = {value: code for code, value in enumerate(codes.tolist())}
    unknown = [value for value in values.tolist() if value not in known and value == value]
    if unknown:
        raise ValueError(
            f"grid_values must be categories that the model knows; got {shown(unknown[0])}."
            f"{did_you_mean(unknown[0], map(str, known))}"
        )
    return np.array([known.get(value, np.nan) for value in values.tolist()], dtype=np.float64)


def shown_values_of(model: Any, feature: int, encoded: NDArray[np.float64]) -> NDArray[Any]:
    """Give values of a feature as the user wrote them."""
    schema = model._features
    codes = schema.levels.get(feature, schema.categories[feature])
    if codes is not None and not np.isnan(encoded).any() and np.all(encoded == np.rint(encoded)):
        shown: NDArray[Any] = codes[encoded.astype(int)]
        return shown
    if schema.times.get(feature) == "date":
        return encoded.astype("datetime64[ns]")
    return encoded
