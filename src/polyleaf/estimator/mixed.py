"""Estimators of mixed kinds: numbers, counts, classes and labels in one Y."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyleaf.data import OutputFrame, Targets, TargetSchema, TargetType, names_of, read_like
from polyleaf.data.read_targets import nothing_observed
from polyleaf.data.weights import read_sample_weight
from polyleaf.estimator.base import Estimator
from polyleaf.estimator.mixed_scores import combined_score, output_scores

if TYPE_CHECKING:
    from polyleaf.data.training import Task


class Mixed(Estimator):
    """An estimator whose outputs are of several kinds; its predictions are frames."""

    _task: ClassVar[Task] = "mixed"
    #: Numbers always count by their standard deviation: no other unit compares with classes.
    normalize_outputs: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    # What was learnt about Y -------------------------------------------------------------------

    @property
    def target_types_(self) -> dict[str, TargetType]:
        """The kind of every output, by its name."""
        check_is_fitted(self)
        return dict(zip(names_of(self._targets), _frame_of(self._targets).kinds))

    @property
    def classes_(self) -> dict[str, NDArray[Any]]:
        """The classes of every output that is a class or a label, by its name."""
        check_is_fitted(self)
        columns = _frame_of(self._targets).columns
        return {
            name: column.classes
            for name, column in zip(names_of(self._targets), columns)
            if column.classes is not None
        }

    # Predictions -------------------------------------------------------------------------------

    def _channel_means(self, X: Any) -> NDArray[np.float64]:
        """Predict numbers and probabilities of all channels, of shape (n, n_channels)."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Predict all outputs, each in its own kind.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)

        Returns
        -------
        DataFrame of shape (n, d)
            Of the library of Y; of pandas if Y was no frame, with the index of X if that has
            one. Numbers and counts are means (floats), classes the likeliest one, labels whether
            they are likelier than not; classes and labels in the types of Y's columns.
        """
        channels = self._channel_means(X)
        return as_frame(self._targets, channels, index=_index_of(X))

    def predict_proba(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """Predict probabilities of the outputs that are classes or labels.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)

        Returns
        -------
        dict of str to ndarray
            By the name of the output: of a label, the probability that it is 1, of shape (n,);
            of classes, those of each in the order of `classes_`, of shape (n, c).
        """
        channels = self._channel_means(X)
        return probabilities_of(self._targets, channels)

    # Scores ------------------------------------------------------------------------------------

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give what the predictions take off the error of the trivial prediction, on average.

        The error of an output is the squared one: of a number or count to its prediction, of the
        true class (1, others 0) to the probabilities. The trivial prediction is the best constant
        for these rows: the mean, or the shares of the classes. So it is r2 for numbers, and the
        Brier skill score for classes and labels.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
        y : array-like or frame of shape (n,) or (n, d)
            NaN and None are not observed and do not count.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        float
            At most 1; 0 is no better than the trivial prediction. An output with fewer than two
            observed values is left out.
        """
        return combined_score(self.output_scores(X, y, sample_weight))

    def output_scores(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> dict[str, dict[str, float]]:
        """Measure every output as suits its kind.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
        y : array-like or frame of shape (n,) or (n, d)
            NaN and None are not observed and do not count.
        sample_weight : array-like of shape (n,) or (n, d), optional

        Returns
        -------
        dict of str to dict of str to float
            By the name of the output: its "score" (see `score`); for numbers and counts "rmse"
            and "mae", for counts the mean "poisson_deviance", too; for classes and labels
            "accuracy" and "log_loss".
        """
        schema, channels = self._scored_channels(X)
        read = read_like(
            y, channels.shape[0], schema, what="y", estimator_name=type(self).__name__
        )
        if not any(observed.any() for _, observed in read):
            raise nothing_observed()
        weights = read_sample_weight(sample_weight, channels.shape[0], schema)
        return output_scores(schema, channels, read, weights)

    def _scored_channels(self, X: Any) -> tuple[TargetSchema, NDArray[np.float64]]:
        channels = self._channel_means(X)
        return self._targets, channels


def _frame_of(schema: TargetSchema) -> OutputFrame:
    assert schema.frame is not None
    return schema.frame


def _index_of(X: Any) -> Any:
    """Give the index of a frame of pandas."""
    index = getattr(X, "index", None)
    return index if type(X).__module__.split(".")[0] == "pandas" else None


def as_frame(
    schema: TargetSchema,
    channels: NDArray[np.float64],
    observed: NDArray[np.bool_] | None = None,
    index: Any = None,
) -> Any:
    """Make a frame like Y of numbers and probabilities of all channels.

    Parameters
    ----------
    schema : TargetSchema
    channels : ndarray of shape (n_rows, n_channels)
    observed : ndarray of shape (n_rows, n_channels), bool, optional
        Where something is known.
    index : pandas.Index, optional
    """
    frame, offsets = _frame_of(schema), schema.channel_offsets
    columns: list[NDArray[Any]] = []
    for j, column in enumerate(frame.columns):
        part = channels[:, offsets[j] : offsets[j + 1]]
        if column.classes is None:
            values: NDArray[Any] = part[:, 0]
        elif _is_one_channel(schema, j):
            values = column.classes[(part[:, 0] > 0.5).astype(np.int64)]
        else:
            values = column.classes[np.argmax(part, axis=1)]
        if observed is not None and not observed[:, offsets[j]].all():
            known = observed[:, offsets[j]]
            values = values.copy() if column.classes is None else values.astype(object)
            values[~known] = np.nan if column.classes is None else None
        columns.append(values)
    return frame.build(names_of(schema), columns, index)


def targets_as_frame(targets: Targets) -> Any:
    """Give targets as a frame like the Y that they were read from."""
    return as_frame(targets.schema, targets.dense_values(), targets.observed)


def probabilities_of(
    schema: TargetSchema, channels: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Give the probabilities of classes and labels, by the name of the output."""
    offsets, found = schema.channel_offsets, {}
    for j, (name, column) in enumerate(zip(names_of(schema), _frame_of(schema).columns)):
        part = channels[:, offsets[j] : offsets[j + 1]]
        if column.kind == "label":
            found[name] = part[:, 0].copy()
        elif column.kind == "class":
            is_one = _is_one_channel(schema, j)
            found[name] = np.column_stack([1.0 - part, part]) if is_one else part.copy()
    return found


def _is_one_channel(schema: TargetSchema, output: int) -> bool:
    """Whether two classes of an output are one channel, the probability of the second."""
    column = _frame_of(schema).columns[output]
    width = schema.channel_offsets[output + 1] - schema.channel_offsets[output]
    return column.classes is not None and column.classes.size == 2 and width == 1


def known_channels(schema: TargetSchema, channels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take labels that were never observed as improbable, and what is beyond 1 as certain.

    Parameters
    ----------
    schema : TargetSchema
    channels : ndarray of shape (n_rows, n_channels)
        Changed in place.
    """
    offsets = schema.channel_offsets
    for j, column in enumerate(_frame_of(schema).columns):
        if column.classes is not None:
            part = channels[:, offsets[j] : offsets[j + 1]]
            np.clip(np.nan_to_num(part, copy=False), 0.0, 1.0, out=part)
    return channels
