"""Numbers of rows and features from parameters that may be fractions or names."""

from __future__ import annotations

from numbers import Integral

import numpy as np


def count(value: int | float, n_rows: int) -> int:
    """Give a number of rows: as it is, or as a fraction of all, rounded up."""
    return int(value) if isinstance(value, Integral) else int(np.ceil(value * n_rows))


def feature_count(max_features: int | float | str | None, n_features: int) -> int:
    """Give a number of features, of which there are `n_features`."""
    if max_features is None:
        return n_features
    if max_features == "log2+1":
        return int(np.log2(n_features - 1) + 1) if n_features > 1 else 1
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(float(max_features) * n_features))
