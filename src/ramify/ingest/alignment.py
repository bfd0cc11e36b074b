"""Bring the Y of validation rows into the channels that training has learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.ingest.target_schema import TargetSchema
from ramify.ingest.targets import Targets
from ramify.ingest.weights import codes_of


def align_targets(targets: Targets, schema: TargetSchema) -> Targets:
    """Give the same targets with the outputs, classes and channels of another schema.

    Parameters
    ----------
    targets : Targets
        Of validation rows, with the classes that these rows happen to have.
    schema : TargetSchema
        Of the training rows.

    Raises
    ------
    ValueError
        If there are other outputs, or classes that training has not seen.
    """
    found = targets.schema
    if found.n_outputs != schema.n_outputs or found.is_1d != schema.is_1d:
        raise ValueError(
            f"y of eval_set must have {schema.n_outputs} outputs and {2 - schema.is_1d} "
            f"dimensions, like the training y; got {found.n_outputs} and {2 - found.is_1d}."
        )
    if schema.kind in ("regression", "multilabel"):
        if found.kind != schema.kind:
            raise ValueError(
                f"y of eval_set must be {schema.kind} like the training y; got {found.kind}."
            )
        return replace(targets, schema=schema)
    values, observed = [], []
    for j in range(schema.n_outputs):
        codes = _training_codes(targets, schema, j)
        width = int(np.diff(schema.channel_offsets)[j])
        one_hot = codes[:, None] == (np.arange(width) if width > 1 else np.array([1]))
        values.append(one_hot.astype(np.float64))
        observed.append(np.repeat((codes >= 0)[:, None], width, axis=1))
    mask = np.hstack(observed)
    return Targets(schema, np.hstack(values), None if mask.all() else mask)


def _training_codes(targets: Targets, schema: TargetSchema, output: int) -> NDArray[np.int64]:
    """Class positions of one output among the training classes, -1 where it is not observed."""
    codes, classes = codes_of(targets, output)
    known: list[Any] = schema.classes[output if len(schema.classes) > 1 else 0].tolist()
    unknown = [label for label in classes.tolist() if label not in known]
    if unknown:
        raise ValueError(
            f"y of eval_set holds the classes {unknown[:5]}, which the training y does not have."
        )
    places = np.array([known.index(label) for label in classes.tolist()] + [-1], dtype=np.int64)
    return np.asarray(places[codes])
