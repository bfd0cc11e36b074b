"""Views of the output space: what each base learner sees of many outputs."""

from polyleaf.projections._adaptive import Adaptive
from polyleaf.projections._base import MixingProjection, Projection
from polyleaf.projections._context import Feedback, ProjectionContext
from polyleaf.projections._gradient_outputs import GradientSampling, TopOutputs
from polyleaf.projections._hadamard import Hadamard
from polyleaf.projections._pca import PCA
from polyleaf.projections._random import Achlioptas, Gaussian, Rademacher, SparseRademacher
from polyleaf.projections._registry import PROJECTIONS, from_json, resolve, to_json
from polyleaf.projections._round_robin import RoundRobin
from polyleaf.projections._selection import Identity, Subsample
from polyleaf.projections._transformer import FromTransformer
from polyleaf.projections._view import View

__all__ = [
    "PCA",
    "PROJECTIONS",
    "Achlioptas",
    "Adaptive",
    "Feedback",
    "FromTransformer",
    "Gaussian",
    "GradientSampling",
    "Hadamard",
    "Identity",
    "MixingProjection",
    "Projection",
    "ProjectionContext",
    "Rademacher",
    "RoundRobin",
    "SparseRademacher",
    "Subsample",
    "TopOutputs",
    "View",
    "from_json",
    "resolve",
    "to_json",
]
