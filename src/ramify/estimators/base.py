"""What all estimators share: reading data, names and shapes of outputs, threads, model files."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ramify import projections
from ramify.estimators.parameters import check_parameters
from ramify.ingest import (
    BinnedData,
    EncodedX,
    FeatureSchema,
    Targets,
    TargetSchema,
    ingest_sample_weight,
)


class MultiOutputEstimator(BaseEstimator):
    """Base of all estimators.

    After `fit`, `_features` and `_targets` hold what was learnt about X and Y.
    """

    # Parameters of the constructor that model files store by a function of their own.
    _stored_specially: ClassVar[frozenset[str]] = frozenset({"projection", "random_state"})

    _features: FeatureSchema
    _targets: TargetSchema

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def _read_features(self, X: Any) -> tuple[BinnedData, FeatureSchema]:
        check_parameters(self)
        name = type(self).__name__
        categorical = getattr(self, "categorical_features", None)
        if isinstance(X, BinnedData):
            if categorical is not None:
                raise ValueError(
                    "categorical_features must be given to BinnedData, which has encoded X "
                    "already; got both."
                )
            return X, X.schema
        data = BinnedData(X, categorical_features=categorical, estimator_name=name)
        return data, data.schema

    def _remember(self, features: FeatureSchema, targets: TargetSchema) -> None:
        """Publish what scikit-learn's conventions ask for."""
        self._features, self._targets = features, targets
        self.n_features_in_ = features.n_features
        if features.names is not None:
            self.feature_names_in_ = np.array(features.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_outputs_ = targets.n_outputs

    @property
    def output_names_(self) -> NDArray[Any]:
        """Names of the outputs, of shape (n_outputs_,): those of Y's columns, or y0, y1, ..."""
        check_is_fitted(self)
        names = self._targets.output_names
        if names is None:
            names = tuple(f"y{j}" for j in range(self._targets.n_outputs))
        return np.array(names, dtype=object)

    def _encode(self, X: Any) -> EncodedX:
        check_is_fitted(self)
        return self._features.encode(X, estimator_name=type(self).__name__)

    def _read_weights(self, sample_weight: Any, targets: Targets) -> NDArray[np.float64] | None:
        weights = ingest_sample_weight(sample_weight, targets.values.shape[0], targets.schema)
        if weights is not None and weights.ndim == 2 and targets.schema.is_sparse:
            raise ValueError(
                "sample_weight of shape (n, d) needs a dense Y; got a sparse one. Give weights of "
                "shape (n,), or Y as an array."
            )
        return weights

    def _n_threads(self) -> int:
        return int(joblib.effective_n_jobs(getattr(self, "n_jobs", None)))

    def _rng(self) -> np.random.Generator:
        state = self.random_state
        if isinstance(state, np.random.Generator):
            return state
        return np.random.default_rng(check_random_state(state).randint(2**31, size=4))

    def _warn_unobserved(self, targets: Targets, outcome: str) -> None:
        if targets.observed is None:
            return
        first = targets.schema.channel_offsets[:-1]
        never = np.flatnonzero(~targets.observed[:, first].any(axis=0))
        if never.size == 0:
            return
        names = targets.schema.output_names
        shown = ", ".join(str(j) if names is None else repr(names[j]) for j in never[:5])
        more = f" and {never.size - 5} more" if never.size > 5 else ""
        warnings.warn(
            f"Outputs without a single observed value: {shown}{more}. {outcome}",
            UserWarning,
            stacklevel=3,
        )

    # Model files -------------------------------------------------------------------------------

    def _metadata(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON."""
        parameters = {
            name: _plain(value)
            for name, value in self.get_params(deep=False).items()
            if name not in self._stored_specially
        }
        state = getattr(self, "random_state", None)
        metadata: dict[str, Any] = {
            "estimator": type(self).__name__,
            "parameters": parameters,
            "random_state": int(state) if isinstance(state, (int, np.integer)) else None,
            "features": self._features.to_json(),
            "targets": self._targets.to_json(),
        }
        if "projection" in self.get_params(deep=False):
            projection = projections.resolve(self.projection)
            metadata["projection"] = projections.to_json(projection)
        return metadata

    @classmethod
    def _from_metadata(cls, metadata: dict[str, Any]) -> Any:
        """Make an unfitted estimator with the stored parameters and schemas."""
        names = set(cls._get_param_names())
        parameters = metadata["parameters"]
        expected = names - cls._stored_specially
        if not isinstance(parameters, dict) or set(parameters) != expected:
            raise ValueError(f"Expected the parameters {sorted(expected)}.")
        arguments = dict(parameters)
        if "random_state" in names:
            arguments["random_state"] = metadata["random_state"]
        if "projection" in names:
            arguments["projection"] = projections.from_json(metadata["projection"])
        estimator = cls(**arguments)
        check_parameters(estimator)
        estimator._remember(
            FeatureSchema.from_json(metadata["features"]),
            TargetSchema.from_json(metadata["targets"]),
        )
        return estimator


def _plain(value: Any) -> Any:
    """Turn a parameter into JSON types; NumPy scalars and arrays become Python's."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        raise TypeError(
            "A model with a dict as parameter (class_weight) cannot be stored with it; set it to "
            "None after fitting, or use pickle."
        )
    return value
