"""A fitted blend: its members, their weights, and how probabilities become decisions; its file."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf._registry import ESTIMATORS
from polyleaf.auto.bags import BAGS, parts_from_file, parts_to_file, sharing
from polyleaf.auto.problem import channels_of
from polyleaf.data import BinnedData, FeatureSchema, TargetSchema
from polyleaf.files.arrays import StoredArray, StoredArrays
from polyleaf.tuning.storage import (
    calibrator_from_file,
    calibrator_to_file,
    decoder_from_file,
    decoder_to_file,
)

if TYPE_CHECKING:
    from polyleaf.decoding import Decoder, LabelCalibrator

Arrays = dict[str, NDArray[Any]]

_ARRAYS = StoredArrays(
    "Blends (arrays of member 0 begin with member0., those of its first fold with member0.part0.)",
    {
        "blend_weights": StoredArray(
            np.float64, "n_outputs, n_members", "Weight of every member in every output."
        ),
        "blend_products": StoredArray(
            np.float64,
            "n_outputs, n_members, n_members",
            "Mean products of errors on held-out rows.",
        ),
    },
)


@dataclass(frozen=True, eq=False)
class FittedBlend:
    """What a fit of a blend has learnt.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    names : tuple of str
        Of the members.
    members : tuple of estimator
    weights : ndarray of shape (n_outputs, n_members), float64
    products : ndarray of shape (n_outputs, n_members, n_members), float64
        Mean products of errors on held-out rows, in units of the output.
    sharpness : float
        Log-odds of the blend are multiplied by it.
    leaderboard : tuple of dict
    decoder : Decoder or None
    calibrator : LabelCalibrator or None
        For a metric that compares label sets.
    losses : tuple of two floats, or None
        Of a model that `prune` has made: its loss, and that of the whole blend.
    """

    features: FeatureSchema
    targets: TargetSchema
    names: tuple[str, ...]
    members: tuple[Any, ...]
    weights: NDArray[np.float64]
    products: NDArray[np.float64]
    sharpness: float
    leaderboard: tuple[dict[str, Any], ...]
    decoder: Decoder | None = None
    calibrator: LabelCalibrator | None = None
    losses: tuple[float, float] | None = None

    def channels(self, rows: BinnedData) -> NDArray[np.float64]:
        """Predict numbers or probabilities of every channel, of shape (n, n_channels)."""
        widths = np.diff(self.targets.channel_offsets)
        found = np.zeros((rows.n_rows, self.targets.n_channels))
        for member, weights in zip(self.members, self.weights.T):
            if weights.any():
                predicted = channels_of(member, rows, self.targets)
                found += np.repeat(weights, widths) * predicted
        if self.targets.kind == "regression":
            return found
        return sharpened(found, self.sharpness, self.targets)

    def to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give the arrays of all members, and everything else as JSON's types."""
        arrays: Arrays = {"blend_weights": self.weights, "blend_products": self.products}
        more, members = parts_to_file(self.members, "member")
        arrays |= more
        metadata: dict[str, Any] = {
            "names": list(self.names),
            "members": members,
            "sharpness": self.sharpness,
            "leaderboard": [_line_to_json(line) for line in self.leaderboard],
            "losses": None if self.losses is None else list(self.losses),
            "decoder": None,
            "calibrator": None,
        }
        if self.decoder is not None:
            metadata["decoder"], more = decoder_to_file(self.decoder)
            arrays |= more
            metadata["calibrator"], more = calibrator_to_file(self.calibrator)
            arrays |= more
        return arrays, metadata

    @classmethod
    def from_file(cls, arrays: Arrays, metadata: dict[str, Any], estimator: Any) -> FittedBlend:
        """Rebuild and check a blend from a model file."""
        known: Any = ChainMap(BAGS, ESTIMATORS)  # type: ignore[arg-type]
        members = parts_from_file(arrays, metadata["members"], metadata, "member", known)
        features, targets = members[0]._features, members[0]._targets
        members = sharing(members)
        names = tuple(str(name) for name in metadata["names"])
        weights = _ARRAYS.read(arrays, "blend_weights")
        products = _ARRAYS.read(arrays, "blend_products")
        n_outputs = targets.n_outputs
        if weights.shape != (n_outputs, len(members)) or len(names) != len(members):
            raise ValueError("Expected a weight of every member in every output.")
        if not (weights >= 0).all() or not np.isfinite(weights).all():
            raise ValueError("Expected weights to be numbers of 0 or more.")
        if products.shape != (n_outputs, len(names), len(names)):
            raise ValueError("Expected products of errors of every pair of members.")
        sharpness = float(metadata["sharpness"])
        if not 0.0 < sharpness < 100.0:
            raise ValueError("Expected a sharpness above 0.")
        decoder = calibrator = None
        if metadata["decoder"] is not None:
            decoder = decoder_from_file(arrays, metadata["decoder"], n_outputs)
            calibrator = calibrator_from_file(arrays, metadata["calibrator"], n_outputs)
        losses = metadata["losses"]
        if losses is not None:
            of_members, of_all = losses  # a ValueError if there are not two
            losses = float(of_members), float(of_all)
        return cls(
            features,
            targets,
            names,
            members,
            weights,
            products,
            sharpness,
            tuple(_line_from_json(line) for line in metadata["leaderboard"]),
            decoder,
            calibrator,
            losses,
        )


_COLUMNS = ("score", "score_std", "work", "seconds", "weight")


def _line_to_json(line: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: float(line[name]) for name in _COLUMNS}
    shown = {name: value if np.isfinite(value) else None for name, value in numbers.items()}
    return {"name": line["name"], **shown}


def _line_from_json(stored: Any) -> dict[str, Any]:
    numbers = {name: stored[name] for name in _COLUMNS}
    known = {k: float("nan") if v is None else float(v) for k, v in numbers.items()}
    return {"name": str(stored["name"]), **known}


def sharpened(
    channels: NDArray[np.float64], sharpness: float, targets: TargetSchema
) -> NDArray[np.float64]:
    """Multiply log-odds of labels by a factor; of classes, raise probabilities to its power."""
    clipped = np.clip(channels, 1e-9, 1.0 - 1e-9)
    powers = clipped**sharpness
    if targets.kind in ("binary", "multilabel"):
        found: NDArray[np.float64] = powers / (powers + (1.0 - clipped) ** sharpness)
        # What no member thinks possible stays impossible.
        return np.where(channels <= 0.0, 0.0, np.where(channels >= 1.0, 1.0, found))
    offsets = targets.channel_offsets
    totals = np.add.reduceat(powers, offsets[:-1], axis=1)
    shares: NDArray[np.float64] = powers / np.repeat(totals, np.diff(offsets), axis=1)
    return shares
