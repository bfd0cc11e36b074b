"""Members that are kept as they were trained on folds, and averaged.

Boosting and rules overfit the rows that they see, on each fold others: their mean predicts better
than one model of all rows, and nothing has to be trained again. Forests are averages already.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf._registry import ESTIMATORS
from polyleaf.auto.additive import weighted_sum
from polyleaf.auto.baselines import BASELINES
from polyleaf.auto.problem import channels_of
from polyleaf.data import BinnedData, decode_classes, split_probabilities
from polyleaf.estimator.base import Estimator
from polyleaf.estimator.classifier import Classifier
from polyleaf.estimator.parameters import Parameter
from polyleaf.estimator.regressor import Regressor

if TYPE_CHECKING:
    from polyleaf.data import FeatureSchema, TargetSchema
    from polyleaf.trees.additive import AdditiveTrees

Arrays = dict[str, NDArray[Any]]

#: What all parts share with what holds them.
_SHARED = ("features", "targets")


@dataclass(frozen=True, eq=False)
class FittedBag:
    """What a bag has learnt.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    parts : tuple of estimator
        One of each fold.
    """

    features: FeatureSchema
    targets: TargetSchema
    parts: tuple[Any, ...]

    def to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give the arrays of all parts, and their settings."""
        arrays, described = parts_to_file(self.parts, "part")
        return arrays, {"parts": described}

    @classmethod
    def from_file(cls, arrays: Arrays, metadata: dict[str, Any], estimator: Any) -> FittedBag:
        """Rebuild and check a bag from a model file."""
        parts = parts_from_file(arrays, metadata["parts"], metadata, "part", ESTIMATORS)
        first = parts[0]
        return cls(first._features, first._targets, sharing(parts))


class Bag(Estimator):
    """Base of the bags."""

    _declared: ClassVar[dict[str, Parameter]] = {}
    _fitted_type = FittedBag
    _fitted: FittedBag

    @property
    def estimators_(self) -> list[Any]:
        """The parts."""
        return list(self._fitted.parts)

    def _channels(self, X: Any) -> NDArray[np.float64]:
        """Average what the parts predict; one that cannot tell an output leaves it to others."""
        encoded = self._encode(X)
        rows = BinnedData.of_encoded(self._features, encoded)
        found = [channels_of(part, rows, self._targets) for part in self._fitted.parts]
        known = [~np.isnan(each) for each in found]
        counts = np.sum(known, axis=0)
        sums = np.sum([np.where(k, each, 0.0) for k, each in zip(known, found)], axis=0)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


class BagRegressor(Bag, Regressor):
    """The mean of regressors of several folds."""

    def predict(self, X: Any) -> Any:
        """Predict all targets, as Y was given."""
        channels = self._channels(X)
        if self._targets.is_1d:
            return channels[:, 0]
        return sparse.csr_array(channels) if self._targets.is_sparse else channels

    def _additive(self) -> AdditiveTrees:
        parts = self._fitted.parts
        share = np.full(self._targets.n_channels, 1.0 / len(parts))
        return weighted_sum([part._additive() for part in parts], [share] * len(parts))


class BagClassifier(Bag, Classifier):
    """The mean probabilities of classifiers of several folds."""

    def _check_decoding(self) -> None:
        """There is none to check."""

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities, in the shape that all classifiers of polyleaf give."""
        return split_probabilities(self._targets, self._channels(X))

    def predict(self, X: Any) -> Any:
        """Predict classes or labels."""
        return decode_classes(self._targets, self._channels(X))


#: What model files may hold as a member, beside the estimators of polyleaf.
BAGS: dict[str, Any] = {cls.__name__: cls for cls in (BagRegressor, BagClassifier)}


def bag_of(parts: Sequence[Any]) -> Any:
    """Put estimators together that were trained on folds of the same data."""
    features, targets = parts[0]._features, parts[0]._targets
    bag = (BagRegressor if targets.kind == "regression" else BagClassifier)()
    bag._fitted = FittedBag(features, targets, tuple(parts))
    bag._fit_facts = time.time(), max(part._fit_facts[1] for part in parts)
    bag._card = None
    return bag


# Files ------------------------------------------------------------------------------------------


def parts_to_file(parts: Sequence[Any], prefix: str) -> tuple[Arrays, list[dict[str, Any]]]:
    """Give the arrays of estimators under names of their own, and all else as JSON's types."""
    arrays: Arrays = {}
    described = []
    for number, part in enumerate(parts):
        own, rest = part._to_file()
        arrays |= {f"{prefix}{number}.{name}": array for name, array in own.items()}
        described.append({k: v for k, v in rest.items() if k not in _SHARED})
    return arrays, described


def parts_from_file(
    arrays: Mapping[str, NDArray[Any]],
    stored: Any,
    metadata: Mapping[str, Any],
    prefix: str,
    known: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Undo `parts_to_file`; `metadata` has what they share, `known` the classes by name."""
    if not isinstance(stored, list) or not stored:
        raise ValueError(f"Expected at least one {prefix}.")
    parts = []
    for number, described in enumerate(stored):
        name = str(described["estimator"])
        cls = BASELINES.get(name) or known.get(name)
        if cls is None or name.startswith("Auto"):
            raise ValueError(f"Expected a {prefix} of polyleaf; got {name!r:.60}.")
        start = f"{prefix}{number}."
        own = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
        shared = {key: metadata[key] for key in _SHARED}
        parts.append(cls._from_file(own, described | shared))
    return tuple(parts)


def sharing(parts: Sequence[Any]) -> tuple[Any, ...]:
    """Give all the schemas of the first, so that rows are encoded once."""
    features, targets = parts[0]._features, parts[0]._targets
    for part in parts:
        _share(part, features, targets)
    return tuple(parts)


def _share(part: Any, features: FeatureSchema, targets: TargetSchema) -> None:
    part._fitted = replace(part._fitted, features=features, targets=targets)
    for inner in getattr(part._fitted, "parts", ()):
        _share(inner, features, targets)
