"""Validate and coerce X, Y and weights, and bin X: the only place in polyleaf that does."""

from polyleaf.ingest.alignment import align_targets
from polyleaf.ingest.binning import (
    MISSING_U8,
    MISSING_U32,
    BinnedData,
    BinnedFeatures,
    bin_features,
)
from polyleaf.ingest.features import EncodedX, FeatureSchema
from polyleaf.ingest.numbers import as_numbers
from polyleaf.ingest.outputs import decode_classes, split_probabilities
from polyleaf.ingest.target_schema import TargetSchema, TaskKind
from polyleaf.ingest.targets import (
    Targets,
    ingest_class_targets,
    ingest_regression_targets,
)
from polyleaf.ingest.times import duration_unit, time_text
from polyleaf.ingest.weights import (
    class_weights,
    codes_of,
    combine_weights,
    ingest_sample_weight,
)

__all__ = [
    "MISSING_U8",
    "MISSING_U32",
    "BinnedData",
    "BinnedFeatures",
    "EncodedX",
    "FeatureSchema",
    "TargetSchema",
    "Targets",
    "TaskKind",
    "align_targets",
    "as_numbers",
    "bin_features",
    "class_weights",
    "codes_of",
    "combine_weights",
    "decode_classes",
    "duration_unit",
    "ingest_class_targets",
    "ingest_regression_targets",
    "ingest_sample_weight",
    "split_probabilities",
    "time_text",
]
