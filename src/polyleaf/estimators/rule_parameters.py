"""What parameters that rule learners share with others mean to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyleaf import losses as boosting_losses
from polyleaf.estimators.parameters import PARAMETERS, Parameter
from polyleaf.estimators.parameters._checks import is_bool

#: Section 5 of the paper, whatever the defaults are; it tunes the first three.
PAPER_SETTINGS: dict[str, Any] = {
    "n_rules": 1000,
    "learning_rate": 0.3,
    "l2_regularization": 1.0,
    "l1_regularization": 0.0,
    "step": "newton",
    "label_bins": None,
    "max_conditions": None,
    "min_coverage": 1,
    "max_features": "log2+1",
    "max_bins": None,
    "bootstrap": True,
    "class_weight": None,
    "early_stopping": False,
    "decoding": "auto",
}


def rule_loss_name(loss: Any) -> str | None:
    """Give the name of a loss, which may be an instance of a class in `polyleaf.losses`.

    Parameters
    ----------
    loss : object

    Returns
    -------
    str or None
        None if it has no name: a loss of one's own, or none at all.
    """
    if isinstance(loss, str):
        return loss
    if isinstance(loss, boosting_losses.Loss):
        loss.check_params()
    names = {known: name for name, known in boosting_losses.LOSSES.items()}
    return names.get(type(loss))


def rule_declarations(losses: Iterable[str], loss_doc: str) -> dict[str, Parameter]:
    """Declare the parameters that rules read otherwise than trees do.

    Parameters
    ----------
    losses : iterable of str
        The names of losses that the learner has.
    loss_doc : str
        What they are.
    """
    names = tuple(losses)
    choices = ", ".join(map(repr, names))
    known = [cls.__name__ for name, cls in boosting_losses.LOSSES.items() if name in names]
    classes = ", ".join(known[:-1]) + f" or {known[-1]}"

    def documented_as(name: str, doc: str) -> Parameter:
        declared = PARAMETERS[name]
        return Parameter(declared.type, doc, declared.accepts, declared.expected, declared.names)

    return {
        "loss": Parameter(
            f"{{{choices}}} or Loss",
            f"{loss_doc}\nOr an instance of {classes} of `polyleaf.losses`.",
            lambda value: rule_loss_name(value) in names,
            f"one of {choices}, or an instance of {classes} of polyleaf.losses",
            names=names,
        ),
        "learning_rate": documented_as(
            "learning_rate", "Factor of every head (shrinkage); the default rule is not shrunk."
        ),
        "l2_regularization": documented_as("l2_regularization", "Penalty of squared scores (15)."),
        "bootstrap": documented_as(
            "bootstrap",
            "Whether each rule is refined on a bootstrap sample of the rows, or on all of them;\n"
            "its head is fitted to all rows it covers in any case.",
        ),
        "early_stopping": Parameter(
            "bool",
            "Whether to stop when ``n_iter_no_change`` rules have not lowered the loss of\n"
            "held-out rows; rules after the least loss are dropped.",
            is_bool,
            "True or False",
        ),
        "validation_fraction": documented_as(
            "validation_fraction", "Share of the rows to hold out for early stopping."
        ),
        "n_iter_no_change": documented_as(
            "n_iter_no_change", "Rules without a smaller loss after which early stopping stops."
        ),
    }
