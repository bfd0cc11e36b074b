"""Boosted rules."""

from polyleaf.rules.classifier import RuleClassifier
from polyleaf.rules.regressor import RuleRegressor

__all__ = ["RuleClassifier", "RuleRegressor"]
