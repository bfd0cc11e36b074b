"""X for models that multiply: numbers only, none missing, none too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.data.features import EncodedX, FeatureSchema

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

#: Products of larger numbers could overflow.
_LARGEST = 1e100


def as_numbers(
    schema: FeatureSchema, encoded: EncodedX, *, estimator_name: str
) -> NDArray[np.float64] | CSR:
    """Check encoded features of a model that needs numbers.

    Parameters
    ----------
    schema : FeatureSchema
    encoded : ndarray or csr_array of shape (n_rows, n_features)
    estimator_name : str
        Who asks, for error messages.

    Returns
    -------
    ndarray or csr_array of shape (n_rows, n_features), float64

    Raises
    ------
    ValueError
        If a feature is categorical, or a value is missing, infinite or beyond 1e100.
    """
    categorical = np.flatnonzero(schema.is_categorical)
    if categorical.size:
        shown = [j if schema.names is None else schema.names[j] for j in categorical[:5]]
        raise ValueError(
            f"{estimator_name} needs numbers, but X has categorical columns: {shown}"
            f"{' and more' if categorical.size > 5 else ''}. Encode them first, for example with "
            "sklearn.preprocessing.OneHotEncoder in a pipeline."
        )
    values = encoded.data if sparse.issparse(encoded) else encoded
    lowest, highest = (values.min(), values.max()) if values.size else (0.0, 0.0)
    if np.isnan(lowest):
        raise ValueError(
            f"Input X contains NaN. {estimator_name} needs all features of every row; impute them "
            "first, for example with sklearn.impute.SimpleImputer(add_indicator=True) in a "
            "pipeline, or use trees, which take missing values as they are."
        )
    if max(-float(lowest), float(highest)) > _LARGEST:
        raise ValueError(
            f"Input X contains infinity or a value beyond {_LARGEST:g}, whose products could "
            f"overflow. Scale the features that {estimator_name} gets, for example with "
            "sklearn.preprocessing.StandardScaler."
        )
    return encoded.astype(np.float64, copy=False)
