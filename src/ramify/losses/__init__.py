"""What boosting minimises: values, gradients, baselines and best steps of many outputs."""

from ramify.losses._base import Loss
from ramify.losses._checks import check_finite, check_shapes
from ramify.losses._classes import Softmax
from ramify.losses._labels import ExamplewiseLogistic, Logistic
from ramify.losses._quantile import AbsoluteError, Quantile
from ramify.losses._registry import LOSSES, from_json, resolve, to_json
from ramify.losses._smooth import Huber, Poisson, SquaredError
from ramify.losses._solver import minimise_each
from ramify.losses._targets import LossTargets

__all__ = [
    "LOSSES",
    "AbsoluteError",
    "ExamplewiseLogistic",
    "Huber",
    "Logistic",
    "Loss",
    "LossTargets",
    "Poisson",
    "Quantile",
    "Softmax",
    "SquaredError",
    "check_finite",
    "check_shapes",
    "from_json",
    "minimise_each",
    "resolve",
    "to_json",
]
