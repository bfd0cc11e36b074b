"""Fitted models as named NumPy arrays, and the file format that stores them."""

from polyleaf.model.boosted_models import BoostedModels
from polyleaf.model.boosting import BoostedTrees
from polyleaf.model.described_tree import described_tree
from polyleaf.model.filling import fill_leaves
from polyleaf.model.forest import Forest
from polyleaf.model.graph_aggregation import Aggregation, Consensus, make_aggregation, winners
from polyleaf.model.graph_members import GraphMembers
from polyleaf.model.graph_model import GraphModel
from polyleaf.model.joining import JoinedForest, join_structures
from polyleaf.model.kernel_map import EXPLICIT, KERNELS, KernelMap
from polyleaf.model.label_graph import LabelGraph
from polyleaf.model.leaves import DenseLeaves, Leaves, RowLeaves
from polyleaf.model.outputs import TrainingOutputs
from polyleaf.model.row_weights import channel_row_weights, row_weights
from polyleaf.model.rules import MOST_DIGITS, OPERATORS, Rule, RuleSet
from polyleaf.model.storage import ModelFileError, read_model, write_model
from polyleaf.model.structure import (
    NO_STATISTICS,
    SPLIT_ARRAYS,
    STRUCTURE_DTYPES,
    TreeStructure,
)
from polyleaf.model.trees import Trees, apply_trees

__all__ = [
    "EXPLICIT",
    "KERNELS",
    "MOST_DIGITS",
    "NO_STATISTICS",
    "OPERATORS",
    "SPLIT_ARRAYS",
    "STRUCTURE_DTYPES",
    "Aggregation",
    "BoostedModels",
    "BoostedTrees",
    "Consensus",
    "DenseLeaves",
    "Forest",
    "GraphMembers",
    "GraphModel",
    "JoinedForest",
    "KernelMap",
    "LabelGraph",
    "Leaves",
    "ModelFileError",
    "RowLeaves",
    "Rule",
    "RuleSet",
    "TrainingOutputs",
    "TreeStructure",
    "Trees",
    "apply_trees",
    "channel_row_weights",
    "described_tree",
    "fill_leaves",
    "join_structures",
    "make_aggregation",
    "read_model",
    "row_weights",
    "winners",
    "write_model",
]
