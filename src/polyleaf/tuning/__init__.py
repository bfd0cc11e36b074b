"""Estimators around another one, and probabilities by cross-validation."""

from polyleaf.tuning.held_out import cross_val_proba
from polyleaf.tuning.tuned_decoder import TunedDecoder

__all__ = ["TunedDecoder", "cross_val_proba"]
