"""Views of the output space: what each base learner sees of many outputs."""

from ramify.projections._adaptive import Adaptive
from ramify.projections._base import MixingProjection, Projection
from ramify.projections._context import Feedback, ProjectionContext
from ramify.projections._gradient_outputs import GradientSampling, TopOutputs
from ramify.projections._hadamard import Hadamard
from ramify.projections._pca import PCA
from ramify.projections._random import Achlioptas, Gaussian, Rademacher, SparseRademacher
from ramify.projections._registry import PROJECTIONS, from_json, resolve, to_json
from ramify.projections._round_robin import RoundRobin
from ramify.projections._selection import Identity, Subsample
from ramify.projections._transformer import FromTransformer
from ramify.projections._view import View

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
