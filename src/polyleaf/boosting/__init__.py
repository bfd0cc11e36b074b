"""Gradient boosting of trees, or of any regressor, on views of the outputs."""

from polyleaf.boosting.classifier import BoostingClassifier
from polyleaf.boosting.regressor import BoostingRegressor

__all__ = ["BoostingClassifier", "BoostingRegressor"]
