"""Fitted rules: what a fit has learnt, and its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.estimator.base import schemas_from_file
from polyleaf.files.arrays import StoredArray, StoredArrays
from polyleaf.rules.label_sets import SetProbabilities
from polyleaf.rules.model import RuleSet

if TYPE_CHECKING:
    from polyleaf.data import FeatureSchema, TargetSchema

Arrays = dict[str, NDArray[Any]]

_ARRAYS = StoredArrays(
    "Rule learners",
    {
        "validation_losses": StoredArray(
            np.float64, "n_rules or 0", "Loss of held-out rows after each rule."
        ),
        "measured_losses": StoredArray(
            np.float64, "2 or 0", "Loss with these rules and with all, after `select` or `prune`."
        ),
        "label_sets": StoredArray(
            np.uint8, "n_sets, n_channels", "Label sets of the training rows (classifiers)."
        ),
        "chain_rule": StoredArray(
            np.uint8,
            "1 or 0",
            "Whether probabilities of label sets are products of those of labels (classifiers).",
        ),
        "centre": StoredArray(np.float64, "n_channels", "Means of the outputs (regressors)."),
        "unit": StoredArray(
            np.float64, "n_channels", "Units in which the loss was minimised (regressors)."
        ),
    },
)


@dataclass(frozen=True, eq=False)
class FittedRules:
    """What a fit of a rule learner has learnt.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    rules : RuleSet
    validation_losses : ndarray of shape (n_rules,) or (0,), float64
        Loss of held-out rows after each rule.
    label_sets : ndarray of shape (n_sets, n_channels), bool, or None
        Those of the training rows; classifiers only.
    set_probabilities : {"chain_rule", "loss"}
        What probabilities of label sets are proportional to; classifiers only.
    centre, unit : ndarray of shape (n_channels,), float64, or None
        Scores less the centre, in these units, are what the loss compares; regressors only.
    losses : tuple of two floats, or None
        Of models that `select` and `prune` have made: the loss with their rules, and with all.
    """

    features: FeatureSchema
    targets: TargetSchema
    rules: RuleSet
    validation_losses: NDArray[np.float64]
    label_sets: NDArray[np.bool_] | None = None
    centre: NDArray[np.float64] | None = None
    unit: NDArray[np.float64] | None = None
    losses: tuple[float, float] | None = None
    set_probabilities: SetProbabilities = "loss"

    def to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give the arrays of the rules, and what was learnt beside them."""
        arrays = self.rules.to_arrays() | {
            "validation_losses": self.validation_losses,
            "measured_losses": np.array(self.losses or (), dtype=np.float64),
        }
        if self.label_sets is not None:
            arrays["label_sets"] = self.label_sets.astype(np.uint8)
            is_chain = self.set_probabilities == "chain_rule"
            arrays["chain_rule"] = np.array([is_chain], dtype=np.uint8)
        if self.centre is not None and self.unit is not None:
            arrays |= {"centre": self.centre, "unit": self.unit}
        return arrays, {}

    @classmethod
    def from_file(cls, arrays: Arrays, metadata: dict[str, Any], estimator: Any) -> FittedRules:
        """Rebuild and check rules from a model file."""
        rules = RuleSet.from_arrays(arrays)
        features, targets = schemas_from_file(metadata, rules.n_features, rules.n_channels)
        rules.check_categories(features.n_categories, features.is_categorical)
        measured = _ARRAYS.read(arrays, "measured_losses")
        if measured.size not in (0, 2) or np.isnan(measured).any():
            raise ValueError("Expected a loss with the rules and one with all, or neither.")
        is_regression = estimator._task == "regression"
        centre, unit = _stored_units(arrays, rules) if is_regression else (None, None)
        return cls(
            features,
            targets,
            rules,
            _ARRAYS.read(arrays, "validation_losses"),
            None if is_regression else _stored_label_sets(arrays, rules),
            centre,
            unit,
            (float(measured[0]), float(measured[1])) if measured.size else None,
            _stored_form(arrays),
        )


def _stored_label_sets(arrays: Arrays, rules: RuleSet) -> NDArray[np.bool_]:
    sets = _ARRAYS.read(arrays, "label_sets")
    if sets.shape[1] != rules.n_channels or not len(sets) or sets.max() > 1:
        raise ValueError("Expected label sets of 0 and 1 with a column per channel.")
    return sets.astype(np.bool_)


def _stored_form(arrays: Arrays) -> SetProbabilities:
    if "chain_rule" not in arrays:  # files that are older than the choice, and regressors
        return "loss"
    found = _ARRAYS.read(arrays, "chain_rule").tolist()
    if found not in ([0], [1]):
        raise ValueError("Expected chain_rule to be one 0 or 1.")
    return "chain_rule" if found == [1] else "loss"


def _stored_units(
    arrays: Arrays, rules: RuleSet
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    centre, unit = (_ARRAYS.read(arrays, name) for name in ("centre", "unit"))
    for name, array in (("centre", centre), ("unit", unit)):
        if array.size != rules.n_channels or not np.isfinite(array).all():
            raise ValueError(f"Expected the {name} of every output.")
    if unit.min() <= 0:
        raise ValueError("Expected units of outputs above 0.")
    return centre, unit
