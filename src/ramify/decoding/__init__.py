"""From probabilities to label sets: thresholds, top k, Bayes-optimal decisions, calibration."""

from ramify.decoding._base import Decoder, draws_to_joint
from ramify.decoding._bayes import ExampleF1, Jaccard, KnownLabelSet, Subset
from ramify.decoding._calibration import LabelCalibrator
from ramify.decoding._registry import DECODERS, resolve
from ramify.decoding._rules import Threshold, TopK
from ramify.decoding._thresholds import LabelThresholds, TunedThreshold

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
