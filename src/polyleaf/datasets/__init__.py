"""Readers of multi-output data files, and generators of multi-output problems."""

from polyleaf.datasets._binary import read_mat, read_rda
from polyleaf.datasets._clus import read_clus
from polyleaf.datasets._dataset import Dataset, NumberedNames, concatenate
from polyleaf.datasets._extreme import make_extreme_labels
from polyleaf.datasets._files import DataFormatError, DataFormatWarning
from polyleaf.datasets._generators import make_correlated_targets, make_multilabel
from polyleaf.datasets._load import load
from polyleaf.datasets._meka import read_meka
from polyleaf.datasets._mulan import read_mulan
from polyleaf.datasets._ontology import read_edges, read_obo
from polyleaf.datasets._openml import OPENML, fetch
from polyleaf.datasets._paper_problems import (
    make_circle_labels,
    make_friedman1_targets,
    make_linear_labels,
)
from polyleaf.datasets._stratify import MultiLabelKFold, stratified_parts
from polyleaf.datasets._svmlight import read_svmlight
from polyleaf.datasets._table import read_features, read_table

__all__ = [
    "OPENML",
    "DataFormatError",
    "DataFormatWarning",
    "Dataset",
    "MultiLabelKFold",
    "NumberedNames",
    "concatenate",
    "fetch",
    "load",
    "make_circle_labels",
    "make_correlated_targets",
    "make_extreme_labels",
    "make_friedman1_targets",
    "make_linear_labels",
    "make_multilabel",
    "read_clus",
    "read_edges",
    "read_features",
    "read_mat",
    "read_meka",
    "read_mulan",
    "read_obo",
    "read_rda",
    "read_svmlight",
    "read_table",
    "stratified_parts",
]
