"""The estimators of this room; `polyleaf.graphs` itself holds graphs over the labels."""

from polyleaf.graphs.classifier import GraphClassifier
from polyleaf.graphs.ensemble import GraphEnsembleClassifier

__all__ = ["GraphClassifier", "GraphEnsembleClassifier"]
