"""Estimators made of estimators: race the families, blend the winners."""

from polyleaf.auto.estimators import AutoClassifier, AutoRegressor

__all__ = ["AutoClassifier", "AutoRegressor"]
