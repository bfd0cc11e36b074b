"""Labels as graph classifiers take them: class positions, and what an error in each costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import Targets, TargetSchema


@dataclass(frozen=True, eq=False)
class LabelData:
    """Y as class positions.

    Attributes
    ----------
    n_states : ndarray of shape (n_labels,), int32
        Number of classes of each label.
    labels : ndarray of shape (n_rows, n_labels), int32
        The commonest class where unobserved.
    observed : ndarray of shape (n_rows, n_labels), bool, or None
        None if everything was observed. What has the weight 0 counts as unobserved.
    """

    n_states: NDArray[np.int32]
    labels: NDArray[np.int32]
    observed: NDArray[np.bool_] | None

    @classmethod
    def of(cls, targets: Targets, weights: NDArray[np.float64] | None = None) -> LabelData:
        """Read a classifier's targets, and which of them count.

        Parameters
        ----------
        targets : Targets
        weights : ndarray of shape (n_rows,) or (n_rows, n_channels), optional
            Those of single channels leave out the labels where they are 0.
        """
        schema = targets.schema
        values = targets.values
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        offsets = schema.channel_offsets
        n_states = cls.n_states_of(schema)
        if schema.kind in ("binary", "multilabel"):
            labels = dense.astype(np.int32)
        else:
            groups = np.split(dense, offsets[1:-1], axis=1)
            columns = [np.argmax(group, axis=1) for group in groups]
            labels = np.column_stack(columns).astype(np.int32)
        observed = None if targets.observed is None else targets.observed[:, offsets[:-1]]
        if weights is not None and weights.ndim == 2:
            counts = weights[:, offsets[:-1]] > 0.0
            if not counts.all():
                observed = counts if observed is None else observed & counts
        if observed is None:
            return cls(n_states, labels, None)
        observed = np.ascontiguousarray(observed)
        for j, n in enumerate(n_states):
            known = labels[observed[:, j], j]
            labels[~observed[:, j], j] = np.argmax(np.bincount(known, minlength=n))
        return cls(n_states, labels, observed)

    @staticmethod
    def n_states_of(schema: TargetSchema) -> NDArray[np.int32]:
        """Count the classes of each output; of shape (n_outputs,)."""
        if schema.kind in ("binary", "multilabel"):
            return np.full(schema.n_outputs, 2, dtype=np.int32)
        return np.diff(schema.channel_offsets).astype(np.int32)

    def one_hot(self) -> NDArray[np.float64]:
        """Give 1 for each label's class and 0 for its others but the first."""
        classes = np.concatenate([np.arange(1, n) for n in self.n_states])
        chosen = np.repeat(self.labels, self.n_states - 1, axis=1)
        hot: NDArray[np.float64] = (chosen == classes).astype(np.float64)
        return hot

    def costs(
        self, weights: NDArray[np.float64] | None, offsets: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Split weights into those of examples and of single labels.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,) or (n_rows, n_channels), or None
        offsets : ndarray of shape (n_labels + 1,)
            First channel of each label.

        Returns
        -------
        example_weight : ndarray of shape (n_rows,)
            Of an example whose labels have weights, the largest: it scales what a margin that is
            missed costs, and not only how wide it is.
        label_cost : ndarray of shape (n_rows, n_labels), or None
            0 where unobserved, and at most 1; None if all are 1.
        """
        n_rows = self.labels.shape[0]
        cost = None
        example_weight = np.ones(n_rows)
        if weights is not None and weights.ndim == 1:
            example_weight = weights
        elif weights is not None:
            cost = weights[:, offsets[:-1]]
        if self.observed is not None:
            cost = self.observed.astype(np.float64) if cost is None else cost * self.observed
        if cost is None:
            return example_weight, None
        largest = cost.max(axis=1)
        cost = cost / np.where(largest > 0.0, largest, 1.0)[:, None]
        is_plain = bool((cost[largest > 0.0] == 1.0).all())
        return example_weight * largest, None if is_plain else np.ascontiguousarray(cost)
