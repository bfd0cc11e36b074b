"""Regions and label sets with a promise, around any estimator."""

from polyleaf.conformal.classifier import ConformalClassifier
from polyleaf.conformal.plots import plot_outputs, plot_region
from polyleaf.conformal.region import Region
from polyleaf.conformal.regressor import ConformalRegressor
from polyleaf.conformal.reports import RegionReport, SetReport

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
    "Region",
    "RegionReport",
    "SetReport",
    "plot_outputs",
    "plot_region",
]
