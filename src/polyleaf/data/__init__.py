"""Validate and coerce X, Y and weights, and bin X: the only place in polyleaf that does."""

from polyleaf.data.alignment import align_targets
from polyleaf.data.binning import MISSING_U8, MISSING_U32, BinnedData, BinnedFeatures, bin_features
from polyleaf.data.categories import level_text
from polyleaf.data.coded_rows import CodedRows, by_blocks, whole_rows
from polyleaf.data.features import EncodedX, FeatureSchema
from polyleaf.data.label_hierarchy import GivenHierarchy
from polyleaf.data.output_frame import OutputColumn, OutputFrame, TargetType
from polyleaf.data.outputs import (
    decode_classes,
    largest_entries,
    named_entries,
    respecting,
    split_probabilities,
)
from polyleaf.data.read_mixed import TARGET_TYPES, align_mixed, names_of, read_like, read_mixed
from polyleaf.data.read_targets import read_classes, read_numbers
from polyleaf.data.targets import Targets, TargetSchema, TaskKind
from polyleaf.data.times import duration_unit, time_text
from polyleaf.data.training import (
    NumericData,
    TrainingData,
    read_features,
    read_numeric,
    read_numeric_rows,
    read_targets,
    read_training,
    read_weights,
)
from polyleaf.data.weights import class_weights, codes_of, combine_weights, read_sample_weight

__all__ = [
    "MISSING_U8",
    "MISSING_U32",
    "TARGET_TYPES",
    "BinnedData",
    "BinnedFeatures",
    "CodedRows",
    "EncodedX",
    "FeatureSchema",
    "GivenHierarchy",
    "NumericData",
    "OutputColumn",
    "OutputFrame",
    "TargetSchema",
    "TargetType",
    "Targets",
    "TaskKind",
    "TrainingData",
    "align_mixed",
    "align_targets",
    "bin_features",
    "by_blocks",
    "class_weights",
    "codes_of",
    "combine_weights",
    "decode_classes",
    "duration_unit",
    "largest_entries",
    "level_text",
    "named_entries",
    "names_of",
    "read_classes",
    "read_features",
    "read_like",
    "read_mixed",
    "read_numbers",
    "read_numeric",
    "read_numeric_rows",
    "read_sample_weight",
    "read_targets",
    "read_training",
    "read_weights",
    "respecting",
    "split_probabilities",
    "time_text",
    "whole_rows",
]
