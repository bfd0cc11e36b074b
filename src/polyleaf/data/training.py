"""Read what `fit` was given, at one place: X binned, Y as channels, and who counts how much.

`read_training` bins X, for trees and rules; `read_numeric` leaves it as numbers, for models that
multiply.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.checks.warning import warn_user
from polyleaf.data.binning import BinnedData
from polyleaf.data.coded_rows import CodedRows
from polyleaf.data.features import EncodedX, FeatureSchema
from polyleaf.data.label_hierarchy import GivenHierarchy
from polyleaf.data.read_mixed import read_mixed
from polyleaf.data.read_targets import name_outputs, read_classes, read_numbers
from polyleaf.data.weights import class_weights, combine_weights, read_sample_weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyleaf.data.binned import BinnedFeatures
    from polyleaf.data.targets import Targets

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]

Task = Literal["regression", "classification", "mixed"]

#: Sums of weights between these bounds leave room for squares of outputs in double precision.
LEAST_TOTAL_WEIGHT, LARGEST_TOTAL_WEIGHT = 1e-100, 1e100
#: Fewer rows than these can well differ in a category.
_FEWEST_NAMED_ROWS = 20
#: Products of larger numbers could overflow.
_LARGEST_NUMBER = 1e100
#: What becomes of outputs without a single observed value.
_UNOBSERVED = {
    "regression": "Their predictions are NaN.",
    "classification": "They are predicted as 0, with probability 0.",
    "mixed": "Numbers are predicted as NaN, labels as 0.",
}


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Validated training data, binned once and shared by any number of trees or rules.

    Attributes
    ----------
    schema : FeatureSchema
    features : BinnedFeatures
    encoded : ndarray, csr_array or CodedRows of shape (n_rows, n_features)
        What the features were binned from; of batches, what codes say about it.
    targets : Targets
        With weights: those of rows or entries, times those of classes.
    sample_weight : ndarray of shape (n_rows,) or (n_rows, n_channels), float64, or None
        Weights of rows or entries alone.
    is_part : bool
        Whether other workers hold rows, too: those here need not count.
    grow_tree : callable or None
        Grows a tree on channels and rows, by parameters, where several workers have the codes:
        `features` are then those of some rows, and the targets those of all. None: all codes are
        here, and the core grows trees.
    n_rows : int
    n_categories : ndarray of shape (n_features,), int32
    weights, weight_unit
        Those of the targets.
    weighted_rows : ndarray, int32
        Rows with some weight in some observed output, ascending.
    binned : _core.Binned
        The binned features as the core reads them, every index checked.

    Raises
    ------
    ValueError
        If the weights add up to zero, to next to nothing or to more than sums can hold, or if no
        row with a weight has an observed output.
    """

    schema: FeatureSchema
    features: BinnedFeatures
    encoded: EncodedX | CodedRows
    targets: Targets
    sample_weight: NDArray[np.float64] | None = None
    is_part: bool = False
    grow_tree: Callable[[Any, NDArray[np.int32], _core.GrowParams], Any] | None = None
    n_rows: int = field(init=False)
    n_categories: NDArray[np.int32] = field(init=False)
    weights: NDArray[np.float64] | None = field(init=False)
    weight_unit: float = field(init=False)
    weighted_rows: NDArray[np.int32] = field(init=False)
    binned: _core.Binned = field(init=False)

    def __post_init__(self) -> None:
        found = {
            "n_rows": self.targets.n_rows,
            "n_categories": self.schema.n_categories,
            "weights": self.targets.weights,
            "weight_unit": self.targets.weight_unit,
            "weighted_rows": _weighted_rows(self.targets, self.is_part),
            "binned": core_features(self.features),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def take(self, rows: NDArray[Any]) -> TrainingData:
        """Give some rows as training data of their own."""
        targets = self.targets.at(rows)
        given = None if self.sample_weight is None else self.sample_weight[rows]
        # The core has no features without rows; trees of a worker without any take none of these.
        features = self.features.at(rows if len(rows) else np.zeros(1, np.intp))
        is_coded = isinstance(self.encoded, CodedRows)
        encoded = CodedRows(features) if is_coded else self.encoded[rows]
        return replace(
            self,
            features=features,
            encoded=encoded,
            targets=targets.weighted(targets.weights),
            sample_weight=given,
        )


def read_training(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    task: Task,
    class_weight: Any = None,
    categorical_features: Any = None,
    max_bins: int | None,
    n_threads: int,
    unobserved: str | None = None,
    output_names: Any = None,
    hierarchy: GivenHierarchy | None = None,
    target_types: Any = None,
    estimator_name: str,
) -> TrainingData:
    """Read X, Y and weights, and bin X.

    Parameters
    ----------
    X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
    y : array-like, frame or sparse matrix of shape (n,) or (n, d)
    sample_weight : array-like of shape (n,) or (n, d), or None
    task : {"regression", "classification", "mixed"}
        Whether outputs are numbers, classes and labels, or all of these.
    class_weight, categorical_features, max_bins
        As estimators take them.
    n_threads : int
    unobserved : str, optional
        What a warning says of outputs without an observed value.
    output_names : sequence of str, optional
        Names of the outputs of a Y that has none.
    hierarchy : GivenHierarchy, optional
        Over the labels.
    target_types : mapping of str to str, optional
        Kinds of outputs, if the task is "mixed".
    estimator_name : str
        Who asks, for error messages.
    """
    data = read_features(X, categorical_features, estimator_name)
    targets, given = read_targets(
        y,
        sample_weight,
        data.n_rows,
        task=task,
        class_weight=class_weight,
        unobserved=unobserved,
        output_names=output_names,
        hierarchy=hierarchy,
        target_types=target_types,
        estimator_name=estimator_name,
    )
    features = data.binned(max_bins, n_threads)
    return TrainingData(data.schema, features, data.encoded, targets, given)


def read_features(X: Any, categorical_features: Any, estimator_name: str) -> BinnedData:
    """Read the X of `fit`, or take what was read before."""
    if isinstance(X, BinnedData):
        if categorical_features is not None:
            raise ValueError(
                "categorical_features must be given to BinnedData, which has encoded X already; "
                "got both."
            )
        data = X
    else:
        data = BinnedData(X, categorical_features, estimator_name=estimator_name)
    _warn_identifiers(data)
    return data


@dataclass(frozen=True, eq=False)
class NumericData:
    """Validated training data of a model that multiplies.

    Attributes
    ----------
    schema : FeatureSchema
    rows : ndarray or csr_array of shape (n_rows, n_features), float64
        Finite.
    targets : Targets
        With weights: those of rows or entries, times those of classes.
    """

    schema: FeatureSchema
    rows: NDArray[np.float64] | CSR
    targets: Targets


def read_numeric(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    task: Task,
    class_weight: Any = None,
    unobserved: str | None = None,
    output_names: Any = None,
    hierarchy: GivenHierarchy | None = None,
    estimator_name: str,
) -> NumericData:
    """Read X, Y and weights, and leave X as numbers.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, p)
    y, sample_weight, task, class_weight, estimator_name
        See `read_training`.
    unobserved, output_names, hierarchy
        See `read_training`.
    """
    schema, rows = read_numeric_rows(X, None, estimator_name=estimator_name)
    targets, _ = read_targets(
        y,
        sample_weight,
        rows.shape[0],
        task=task,
        class_weight=class_weight,
        unobserved=unobserved,
        output_names=output_names,
        hierarchy=hierarchy,
        estimator_name=estimator_name,
    )
    return NumericData(schema, rows, targets)


def read_numeric_rows(
    X: Any, schema: FeatureSchema | None, *, estimator_name: str
) -> tuple[FeatureSchema, NDArray[np.float64] | CSR]:
    """Read X for a model that multiplies: numbers only, none missing, none too large.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, p)
    schema : FeatureSchema or None
        What `fit` has learnt about the columns; None: learn it.
    estimator_name : str
        Who asks, for error messages.

    Raises
    ------
    TypeError
        If X is binned.
    ValueError
        If a feature is categorical, or a value is missing, infinite or beyond 1e100.
    """
    if isinstance(X, BinnedData):
        raise TypeError(
            f"{estimator_name} needs the numbers of X; got a BinnedData. Pass X as it is."
        )
    if schema is None:
        schema, encoded = FeatureSchema.fit(X, estimator_name=estimator_name)
    else:
        encoded = schema.encode(X, estimator_name=estimator_name)
    check_numeric(schema, encoded, estimator_name)
    return schema, encoded.astype(np.float64, copy=False)


def check_numeric(schema: FeatureSchema, encoded: EncodedX, estimator_name: str) -> None:
    """Raise a ValueError unless all features are numbers, none missing or too large.

    Parameters
    ----------
    schema : FeatureSchema
    encoded : ndarray or csr_array of shape (n, p)
    estimator_name : str
        Who asks, for error messages.
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
    if max(-float(lowest), float(highest)) > _LARGEST_NUMBER:
        raise ValueError(
            f"Input X contains infinity or a value beyond {_LARGEST_NUMBER:g}, whose products "
            f"could overflow. Scale the features that {estimator_name} gets, for example with "
            "sklearn.preprocessing.StandardScaler."
        )


def read_targets(
    y: Any,
    sample_weight: Any,
    n_rows: int,
    *,
    task: Task,
    class_weight: Any = None,
    unobserved: str | None = None,
    output_names: Any = None,
    hierarchy: GivenHierarchy | None = None,
    target_types: Any = None,
    estimator_name: str,
) -> tuple[Targets, NDArray[np.float64] | None]:
    """Read Y and weights; also give the weights without those of classes.

    A warning names outputs without a single observed value, and says what becomes of them:
    `unobserved`, or what is usual for the task.
    """
    if task == "mixed":
        targets = read_mixed(
            y,
            n_rows,
            target_types=target_types,
            output_names=output_names,
            estimator_name=estimator_name,
        )
    else:
        read = read_numbers if task == "regression" else read_classes
        targets = read(y, n_rows, estimator_name=estimator_name)
    if output_names is not None:
        targets = name_outputs(targets, output_names)
    if hierarchy is not None:
        targets = hierarchy.apply(targets, estimator_name)
    given = None if sample_weight is None else read_weights(sample_weight, targets)
    _warn_unobserved(targets, given, unobserved or _UNOBSERVED[task])
    weights = given
    if class_weight is not None:
        weights = combine_weights(given, class_weights(class_weight, targets))
    return targets.weighted(weights), given


def read_weights(sample_weight: Any, targets: Targets) -> NDArray[np.float64] | None:
    """Read weights of rows or entries."""
    given = read_sample_weight(sample_weight, targets.n_rows, targets.schema)
    if given is not None and given.ndim == 2 and targets.is_sparse:
        raise ValueError(
            "sample_weight of shape (n, d) needs a dense Y; got a sparse one. Give weights of "
            "shape (n,), or Y as an array."
        )
    return given


def core_features(features: BinnedFeatures) -> _core.Binned:
    """Give binned features as the core reads them, every index checked.

    Parameters
    ----------
    features : BinnedFeatures
    """
    codes = features.dense_codes
    return _core.Binned(
        n_rows=features.n_rows,
        is_categorical=features.is_categorical,
        bin_offsets=features.bin_offsets,
        bin_low=features.bin_low,
        bin_high=features.bin_high,
        dense_features=features.dense_features,
        codes_u8=codes.view(np.uint8) if codes.dtype == np.uint8 else None,
        codes_u32=codes.view(np.uint32) if codes.dtype == np.uint32 else None,
        sparse_features=features.sparse_features,
        sparse_default=features.sparse_default,
        sparse_indptr=features.sparse_indptr,
        sparse_slot=features.sparse_slot,
        sparse_code=features.sparse_code,
    )


def _weighted_rows(targets: Targets, is_part: bool) -> NDArray[np.int32]:
    """Find the rows that count, after a check that there are some and sums of weights hold."""
    observed, weights = targets.observed, targets.weights
    if weights is not None and not is_part:
        _check_total(weights)
    if observed is None and weights is None:
        rows = np.arange(targets.n_rows, dtype=np.int32)
    else:
        counts = np.ones((targets.n_rows, 1), dtype=np.bool_) if observed is None else observed
        if weights is not None:
            # What is no float32 beside the largest weight weighs nothing.
            positive = weights > targets.weight_unit * float(np.finfo(np.float32).tiny)
            counts = counts & (positive[:, None] if positive.ndim == 1 else positive)
        rows = np.flatnonzero(counts.any(axis=1)).astype(np.int32)
    if not rows.size and not is_part:
        raise ValueError(
            "At least one row must have both a positive weight and an observed output; got none. "
            "Check sample_weight, class_weight and the NaN in y."
        )
    return rows


def _check_total(weights: NDArray[np.float64]) -> None:
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not LEAST_TOTAL_WEIGHT <= total <= LARGEST_TOTAL_WEIGHT:
        raise ValueError(
            f"The weights (sample_weight times class_weight) must add up to a number between "
            f"{LEAST_TOTAL_WEIGHT:g} and {LARGEST_TOTAL_WEIGHT:g}; got {total:g}. Multiply "
            "all of them, and l2_regularization where there is one, by the same factor."
        )


def _warn_identifiers(data: BinnedData) -> None:
    """Warn of columns in which about every row has a category of its own."""
    if data.n_rows < _FEWEST_NAMED_ROWS or not data.schema.has_categories:
        return
    for j in np.flatnonzero(2 * data.schema.n_categories > data.n_rows):
        names = data.schema.names
        column = f"Column {j}" if names is None else f"Column {names[j]!r}"
        warn_user(
            f"{column} of X has {data.schema.n_categories[j]} categories in {data.n_rows} rows: "
            "such rows are memorised, which says nothing about new ones. Leave names and "
            "identifiers out of X, or merge categories.",
        )


def _warn_unobserved(targets: Targets, weights: NDArray[np.float64] | None, outcome: str) -> None:
    """Warn of outputs without a single observed value that counts."""
    first = targets.schema.channel_offsets[:-1]
    counts = None if targets.observed is None else targets.observed[:, first]
    if weights is not None and weights.ndim == 2:
        weighted = weights[:, first] > 0
        counts = weighted if counts is None else counts & weighted
    if counts is None:
        return
    never = np.flatnonzero(~counts.any(axis=0))
    if never.size == 0:
        return
    names = targets.schema.output_names
    shown = ", ".join(str(j) if names is None else repr(names[j]) for j in never[:5])
    more = f" and {never.size - 5} more" if never.size > 5 else ""
    warn_user(
        f"Outputs without a single observed value: {shown}{more}. {outcome}",
    )
