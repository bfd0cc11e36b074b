"""Saving and loading models: one file, no code, and what each release wrote."""

from polyleaf.files.storage import ModelFileError, read_model, write_model

__all__ = ["ModelFileError", "read_model", "write_model"]
