"""What boosting and rules minimise: values, gradients, baselines and steps of many outputs."""

from polyleaf.losses._base import Loss, Quadratic
from polyleaf.losses._classes import Softmax
from polyleaf.losses._examplewise import (
    ExamplewiseLogistic,
    ExamplewiseSquaredError,
    ExamplewiseSquaredHinge,
)
from polyleaf.losses._labels import Logistic, MarginLoss, SquaredHinge
from polyleaf.losses._per_output import LossPerOutput
from polyleaf.losses._quantile import AbsoluteError, Quantile
from polyleaf.losses._registry import (
    LOSSES,
    from_json,
    is_for,
    resolve,
    resolve_margin_loss,
    to_json,
)
from polyleaf.losses._smooth import Huber, Poisson, SquaredError
from polyleaf.losses._solver import minimise_each
from polyleaf.losses._targets import LossTargets, check_finite, check_shapes

__all__ = [
    "LOSSES",
    "AbsoluteError",
    "ExamplewiseLogistic",
    "ExamplewiseSquaredError",
    "ExamplewiseSquaredHinge",
    "Huber",
    "Logistic",
    "Loss",
    "LossPerOutput",
    "LossTargets",
    "MarginLoss",
    "Poisson",
    "Quadratic",
    "Quantile",
    "Softmax",
    "SquaredError",
    "SquaredHinge",
    "check_finite",
    "check_shapes",
    "from_json",
    "is_for",
    "minimise_each",
    "resolve",
    "resolve_margin_loss",
    "to_json",
]
