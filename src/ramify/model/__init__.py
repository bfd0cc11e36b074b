"""Fitted models as named NumPy arrays, and the file format that stores them."""

from ramify.model.boosted_models import BoostedModels
from ramify.model.boosting import BoostedTrees
from ramify.model.filling import fill_leaves
from ramify.model.forest import Forest
from ramify.model.leaves import DenseLeaves, Leaves, RowLeaves
from ramify.model.outputs import TrainingOutputs
from ramify.model.row_weights import channel_row_weights, row_weights
from ramify.model.storage import ModelFileError, read_model, write_model
from ramify.model.structure import STRUCTURE_DTYPES, TreeStructure
from ramify.model.trees import Trees, apply_trees

__all__ = [
    "STRUCTURE_DTYPES",
    "BoostedModels",
    "BoostedTrees",
    "DenseLeaves",
    "Forest",
    "Leaves",
    "ModelFileError",
    "RowLeaves",
    "TrainingOutputs",
    "TreeStructure",
    "Trees",
    "apply_trees",
    "channel_row_weights",
    "fill_leaves",
    "read_model",
    "row_weights",
    "write_model",
]
