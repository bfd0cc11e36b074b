"""What all estimators share: reading data, names and shapes of outputs, threads, model files."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, ClassVar

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polyleaf.data import (
    BinnedData,
    EncodedX,
    FeatureSchema,
    Targets,
    TargetSchema,
    ingest_sample_weight,
)
from polyleaf.estimator.parameters import (
    Parameter,
    check_parameters,
    parameters_from_json,
    parameters_to_json,
)

#: Fewer rows than these can well differ in a category.
_FEWEST_NAMED_ROWS = 20
#: The core takes no more.
_MOST_THREADS = 1024


@lru_cache(maxsize=256)
def _words_of(seed: int) -> tuple[int, ...]:
    """Draw from the legacy generator of a seed, which takes longer to set up than to use."""
    return tuple(np.random.RandomState(seed).randint(2**31, size=4).tolist())


class MultiOutputEstimator(BaseEstimator):
    """Base of all estimators.

    After `fit`, `_features` and `_targets` hold what was learnt about X and Y.
    """

    #: What each parameter of the constructor may be, means, and how files hold it.
    _declared: ClassVar[dict[str, Parameter]]

    _features: FeatureSchema
    _targets: TargetSchema

    def _keep_parameters(self, given: dict[str, Any]) -> None:
        """Keep what a constructor was given, as it is: `given` are its locals."""
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def _read_features(self, X: Any) -> BinnedData:
        check_parameters(self)
        categorical = getattr(self, "categorical_features", None)
        if isinstance(X, BinnedData):
            if categorical is not None:
                raise ValueError(
                    "categorical_features must be given to BinnedData, which has encoded X "
                    "already; got both."
                )
            data = X
        else:
            name = type(self).__name__
            data = BinnedData(X, categorical_features=categorical, estimator_name=name)
        self._warn_identifiers(data)
        return data

    def _warn_identifiers(self, data: BinnedData) -> None:
        """Warn of columns in which about every row has a category of its own."""
        if data.n_rows < _FEWEST_NAMED_ROWS or not data.schema.has_categories:
            return
        for j in np.flatnonzero(2 * data.schema.n_categories > data.n_rows):
            names = data.schema.names
            column = f"Column {j}" if names is None else f"Column {names[j]!r}"
            warnings.warn(
                f"{column} of X has {data.schema.n_categories[j]} categories in {data.n_rows} "
                "rows: such rows are learnt by heart, which says nothing about new ones. Leave "
                "names and identifiers out of X, or put categories together.",
                UserWarning,
                stacklevel=4,
            )

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
        """Names of Y's columns, or y0, y1, ... if it had none; of shape (n_outputs_,)."""
        check_is_fitted(self)
        names = self._targets.output_names
        if names is None:
            names = tuple(f"y{j}" for j in range(self._targets.n_outputs))
        return np.array(names, dtype=object)

    def _encode(self, X: Any) -> EncodedX:
        check_is_fitted(self)
        if not isinstance(X, BinnedData):
            return self._features.encode(X, estimator_name=type(self).__name__)
        if X.schema is not self._features and X.schema.to_json() != self._features.to_json():
            raise ValueError(
                "A BinnedData must have the features and categories of the one that "
                f"{type(self).__name__} was fitted with; got {X!r} with others. Pass X as it is."
            )
        return X.encoded

    def _read_weights(self, sample_weight: Any, targets: Targets) -> NDArray[np.float64] | None:
        weights = ingest_sample_weight(sample_weight, targets.values.shape[0], targets.schema)
        if weights is not None and weights.ndim == 2 and targets.schema.is_sparse:
            raise ValueError(
                "sample_weight of shape (n, d) needs a dense Y; got a sparse one. Give weights of "
                "shape (n,), or Y as an array."
            )
        return weights

    def _n_threads(self) -> int:
        n_jobs = int(joblib.effective_n_jobs(getattr(self, "n_jobs", None)))
        return min(n_jobs, _MOST_THREADS)

    def _rng(self, state: Any = None) -> np.random.Generator:
        state = self.random_state if state is None else state
        if isinstance(state, np.random.Generator):
            return state
        if type(state) is int:
            return np.random.default_rng(_words_of(state))
        return np.random.default_rng(check_random_state(state).randint(2**31, size=4))

    def _warn_unobserved(
        self, targets: Targets, outcome: str, weights: NDArray[np.float64] | None = None
    ) -> None:
        first = targets.schema.channel_offsets[:-1]
        counts = None if targets.observed is None else targets.observed[:, first]
        if weights is not None and weights.ndim == 2:
            weighted = weights[:, first] > 0
            counts = weighted if counts is None else counts & weighted
        if counts is None:
            return
        never = np.flatnonzero(~counts.any(axis=0))
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
        return {
            "estimator": type(self).__name__,
            "parameters": parameters_to_json(self),
            "features": self._features.to_json(),
            "targets": self._targets.to_json(),
        }

    @classmethod
    def _from_metadata(cls, metadata: dict[str, Any], n_features: int, n_channels: int) -> Any:
        """Make an unfitted estimator with the stored parameters and schemas.

        Parameters
        ----------
        metadata : dict
            What `_metadata` gave, or anything else.
        n_features, n_channels : int
            As the arrays of the model have it; a description of others is not built.
        """
        estimator = cls(**parameters_from_json(cls, metadata["parameters"]))
        check_parameters(estimator)
        features, targets = metadata["features"], metadata["targets"]
        if not isinstance(features, dict) or features.get("n_features") != n_features:
            raise ValueError(f"Expected a description of {n_features} features.")
        if not isinstance(targets, dict) or not 1 <= int(targets["n_outputs"]) <= n_channels:
            raise ValueError(f"Expected a description of at most {n_channels} outputs.")
        estimator._remember(FeatureSchema.from_json(features), TargetSchema.from_json(targets))
        if estimator._targets.n_channels != n_channels:
            raise ValueError(f"Expected a description of outputs with {n_channels} channels.")
        return estimator
