"""Readers of multi-output data files, and generators of multi-output problems."""

from ramify.datasets._binary import read_mat, read_rda
from ramify.datasets._clus import read_clus
from ramify.datasets._dataset import Dataset, concatenate
from ramify.datasets._files import DataFormatError, DataFormatWarning
from ramify.datasets._generators import make_correlated_targets, make_multilabel
from ramify.datasets._meka import read_meka
from ramify.datasets._mulan import read_mulan
from ramify.datasets._stratify import MultiLabelKFold, stratified_parts
from ramify.datasets._svmlight import read_svmlight

__all__ = [
    "DataFormatError",
    "DataFormatWarning",
    "Dataset",
    "MultiLabelKFold",
    "concatenate",
    "make_correlated_targets",
    "make_multilabel",
    "read_clus",
    "read_mat",
    "read_meka",
    "read_mulan",
    "read_rda",
    "read_svmlight",
    "stratified_parts",
]
