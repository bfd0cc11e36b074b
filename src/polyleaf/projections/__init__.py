"""Views of the output space: what each base learner sees of many outputs.

To read: `_view` (what a view is), `_base` (what a projection draws it from), then the projections:
`_random`, `_selection`, `_gradient_outputs`, `_pca`, `_transformer`. `_registry` names them.
"""

from polyleaf.projections._base import (
    Feedback,
    MixingProjection,
    Projection,
    ProjectionContext,
)
from polyleaf.projections._gradient_outputs import GradientSampling, TopOutputs
from polyleaf.projections._pca import PCA
from polyleaf.projections._random import (
    Achlioptas,
    Gaussian,
    Hadamard,
    Rademacher,
    SparseRademacher,
)
from polyleaf.projections._registry import PROJECTIONS, from_json, resolve, to_json
from polyleaf.projections._selection import Adaptive, Identity, RoundRobin, Subsample
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
