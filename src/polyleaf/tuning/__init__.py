"""Decisions tuned on held-out rows, around any multi-label classifier."""

from polyleaf.tuning.tuned_decoder import TunedDecoder

__all__ = ["TunedDecoder"]
