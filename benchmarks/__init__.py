"""Measurements of polyleaf: against its rivals, of its kernels, and the data they use."""
