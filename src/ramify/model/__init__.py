"""Fitted models as named NumPy arrays, and the file format that stores them."""

from ramify.model.leaves import DenseLeaves, Leaves, RowLeaves
from ramify.model.storage import ModelFileError, read_model, write_model
from ramify.model.structure import STRUCTURE_DTYPES, TreeStructure
from ramify.model.trees import Trees

__all__ = [
    "STRUCTURE_DTYPES",
    "DenseLeaves",
    "Leaves",
    "ModelFileError",
    "RowLeaves",
    "TreeStructure",
    "Trees",
    "read_model",
    "write_model",
]
