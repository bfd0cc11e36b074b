"""The losses that rules minimise, by name."""

from __future__ import annotations

from polyleaf.rules.entry_losses import AbsoluteError, Huber, Logistic, SquaredError, SquaredHinge
from polyleaf.rules.joint_losses import (
    ExamplewiseLogistic,
    ExamplewiseSquaredError,
    ExamplewiseSquaredHinge,
)
from polyleaf.rules.loss_base import LabelLoss, RuleLoss

LABEL_LOSSES: dict[str, type[LabelLoss]] = {
    "logistic": Logistic,
    "examplewise_logistic": ExamplewiseLogistic,
    "squared_hinge": SquaredHinge,
    "examplewise_squared_hinge": ExamplewiseSquaredHinge,
    "squared_error": SquaredError,
    "examplewise_squared_error": ExamplewiseSquaredError,
}
NUMBER_LOSSES: dict[str, type[RuleLoss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "huber": Huber,
}
