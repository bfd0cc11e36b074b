"""Baselines as estimators: what is blended beside trees and rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, softmax
from threadpoolctl import ThreadpoolController

from polyleaf.auto.design import Design
from polyleaf.auto.models import MODELS
from polyleaf.data import decode_classes, read_training, split_probabilities, whole_rows
from polyleaf.estimator.base import Estimator, schemas_from_file
from polyleaf.estimator.classifier import Classifier
from polyleaf.estimator.parameters import Added, Parameter, is_one_of, is_real
from polyleaf.estimator.regressor import Regressor

if TYPE_CHECKING:
    from polyleaf.data import FeatureSchema, TargetSchema, TrainingData

Arrays = dict[str, NDArray[Any]]

_PARAMETERS = {
    "model": Parameter(
        "{'linear', 'logistic', 'kernel', 'neighbours'}",
        "What is fitted.",
        is_one_of("linear", "logistic", "kernel", "neighbours"),
        "'linear', 'logistic', 'kernel' or 'neighbours'",
    ),
    "strength": Parameter(
        "float",
        "Inverse of the penalty of logistic regressions; others choose their own.",
        lambda v: is_real(v, 0.0) and v > 0,
        "a number above 0",
    ),
    "kernel": Parameter(
        "{'gaussian', 'exponential'} or None",
        "Of kernel ridge regressions; None, or without a width: whichever predicts better.",
        lambda v: v is None or is_one_of("gaussian", "exponential")(v),
        "None, 'gaussian' or 'exponential'",
        added=Added("0.1.0", before=None),
    ),
    "width": Parameter(
        "float or None",
        "Of the kernel; None, or without a kernel: whichever predicts best.",
        lambda v: v is None or (is_real(v, 0.0) and v > 0),
        "None or a number above 0",
        added=Added("0.1.0", before=None),
    ),
}
#: All BLAS that baselines use is loaded by now; to look for it takes as long as a small fit.
_blas = cache(ThreadpoolController)
#: Least squares of labels give numbers beyond 0 and 1; these are certain enough.
_LEAST_PROBABILITY = 1e-3


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """A fitted baseline.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    design : Design
    model : LinearModel, KernelModel or NeighbourModel
    """

    features: FeatureSchema
    targets: TargetSchema
    design: Design
    model: Any

    def to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give the arrays of the model, and its settings."""
        metadata = {
            "model": self.model.name,
            "settings": self.model.settings(),
            "is_sparse": self.design.is_sparse,
        }
        return self.design.to_arrays() | self.model.to_arrays(), metadata

    @classmethod
    def from_file(cls, arrays: Arrays, metadata: dict[str, Any], estimator: Any) -> FittedBaseline:
        """Rebuild and check a baseline from a model file."""
        n_features = int(metadata["features"]["n_features"])
        if metadata["model"] not in MODELS or type(metadata["is_sparse"]) is not bool:
            raise ValueError(f"Expected one of {', '.join(MODELS)}.")
        design = Design.from_arrays(arrays, n_features, metadata["is_sparse"])
        name = "baseline_outputs" if "baseline_outputs" in arrays else "baseline_coefficients"
        n_channels = int(arrays[name].shape[-1]) if name in arrays else 0
        features, targets = schemas_from_file(metadata, n_features, n_channels)
        model = MODELS[metadata["model"]].from_file(
            arrays, metadata["settings"], design.n_columns, n_channels
        )
        return cls(features, targets, design, model)


class Baseline(Estimator):
    """Base of the baselines."""

    _declared: ClassVar[dict[str, Parameter]] = _PARAMETERS
    _fitted_type = FittedBaseline
    _fitted: FittedBaseline

    def __init__(
        self,
        *,
        model: str = "linear",
        strength: float = 1.0,
        kernel: str | None = None,
        width: float | None = None,
    ) -> None:
        self._keep_parameters(locals())

    def _read(self, X: Any, y: Any, sample_weight: Any, output_names: Any, **told: Any) -> Any:
        return read_training(
            X,
            y,
            sample_weight,
            task=self._task,
            max_bins=255,
            n_threads=1,
            output_names=output_names,
            estimator_name=type(self).__name__,
        )

    def _train(self, data: TrainingData) -> FittedBaseline:
        rows = data.weighted_rows
        encoded = whole_rows(data.encoded)[rows]
        design = Design.fit(data.schema, encoded)
        columns, targets = design(encoded), data.targets.at(rows)
        with _blas().limit(limits=1, user_api="blas"):  # the same sums for any number of threads
            if self.model == "logistic":
                model = MODELS["linear"].fit_logistic(columns, targets, self.strength)
            elif self.model == "kernel":
                model = MODELS["kernel"].fit(columns, targets, self.kernel, self.width)
            else:
                model = MODELS[self.model].fit(columns, targets)
        return FittedBaseline(data.schema, data.targets.schema, design, model)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        fitted = self._fitted
        columns = fitted.design(self._encode(X))
        with _blas().limit(limits=1, user_api="blas"):
            scores: NDArray[np.float64] = fitted.model.scores(columns)
        return scores


class BaselineRegressor(Baseline, Regressor):
    """Ridge regression, kernel ridge regression or nearest neighbours for numbers."""

    def predict(self, X: Any) -> Any:
        """Predict all targets, as Y was given."""
        scores = self._scores(X)
        if self._targets.is_1d:
            return scores[:, 0]
        return sparse.csr_array(scores) if self._targets.is_sparse else scores


class BaselineClassifier(Baseline, Classifier):
    """Logistic regression, kernel ridge regression or nearest neighbours for labels."""

    def _check_decoding(self) -> None:
        """There is none to check."""

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities, in the shape that all classifiers of polyleaf give."""
        return split_probabilities(self._targets, self._channels(X))

    def predict(self, X: Any) -> Any:
        """Predict classes or labels."""
        return decode_classes(self._targets, self._channels(X))

    def _channels(self, X: Any) -> NDArray[np.float64]:
        """Give probabilities of shape (n, n_channels)."""
        scores, targets = self._scores(X), self._targets
        is_logistic = getattr(self._fitted.model, "is_logistic", False)
        if targets.kind in ("binary", "multilabel"):
            if is_logistic:
                return np.asarray(expit(scores))
            return np.clip(scores, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
        for start, end in pairwise(targets.channel_offsets.tolist()):
            group = scores[:, start:end]
            if is_logistic:
                scores[:, start:end] = softmax(group, axis=1)
            else:
                group = np.maximum(group, _LEAST_PROBABILITY)
                scores[:, start:end] = group / group.sum(axis=1, keepdims=True)
        return scores


#: What model files may hold as a member, beside the estimators of polyleaf.
BASELINES: dict[str, Any] = {cls.__name__: cls for cls in (BaselineRegressor, BaselineClassifier)}
