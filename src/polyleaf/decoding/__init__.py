"""From probabilities to label sets: thresholds, top k, Bayes-optimal decisions, calibration."""

from polyleaf.decoding._base import Decoder, draws_to_joint
from polyleaf.decoding._bayes import ExampleF1, Jaccard, KnownLabelSet, Subset
from polyleaf.decoding._calibration import LabelCalibrator
from polyleaf.decoding._registry import DECODERS, resolve
from polyleaf.decoding._rules import Threshold, TopK
from polyleaf.decoding._thresholds import LabelThresholds, TunedThreshold

__all__ = [
    "DECODERS",
    "Decoder",
    "ExampleF1",
    "Jaccard",
    "KnownLabelSet",
    "LabelCalibrator",
    "LabelThresholds",
    "Subset",
    "Threshold",
    "TopK",
    "TunedThreshold",
    "draws_to_joint",
    "resolve",
]
