"""Fitted models as named NumPy arrays, and the file format that stores them."""

from ramify.model.boosted_models import BoostedModels
from ramify.model.boosting import BoostedTrees
from ramify.model.described_tree import described_tree
from ramify.model.filling import fill_leaves
from ramify.model.forest import Forest
from ramify.model.graph_aggregation import Aggregation, Consensus, make_aggregation, winners
from ramify.model.graph_members import GraphMembers
from ramify.model.graph_model import GraphModel
from ramify.model.joining import JoinedForest, join_structures
from ramify.model.kernel_map import EXPLICIT, KERNELS, KernelMap
from ramify.model.label_graph import LabelGraph
from ramify.model.leaves import DenseLeaves, Leaves, RowLeaves
from ramify.model.outputs import TrainingOutputs
from ramify.model.row_weights import channel_row_weights, row_weights
from ramify.model.rules import MOST_DIGITS, OPERATORS, Rule, RuleSet
from ramify.model.storage import ModelFileError, read_model, write_model
from ramify.model.structure import (
    NO_STATISTICS,
    SPLIT_ARRAYS,
    STRUCTURE_DTYPES,
    TreeStructure,
)
from ramify.model.trees import Trees, apply_trees

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
