"""Bring the Y of validation rows into the channels that training has learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data.targets import Targets, TargetSchema
from polyleaf.data.weights import codes_of


def align_targets(targets: Targets, schema: TargetSchema, what: str = "y of eval_set") -> Targets:
    """Give the same targets with the outputs, classes and channels of another schema.

    Parameters
    ----------
    targets : Targets
        Of validation rows, with the classes that these rows happen to have.
    schema : TargetSchema
        Of the training rows.
    what : str
        What the targets are, for error messages.

    Raises
    ------
    ValueError
        If there are other outputs, by number or name, or classes that training has not seen.
    """
    found = targets.schema
    if found.n_outputs != schema.n_outputs or found.is_1d != schema.is_1d:
        raise ValueError(
            f"{what} must have {schema.n_outputs} outputs and {2 - schema.is_1d} "
            f"dimensions, like the training y; got {found.n_outputs} and {2 - found.is_1d}."
        )
    _check_names(found, schema, what)
    if schema.kind in ("regression", "multilabel"):
        if found.kind != schema.kind:
            raise ValueError(
                f"{what} must be {schema.kind} like the training y; got {found.kind}."
            )
        return replace(targets, schema=schema)
    values, observed = [], []
    for j in range(schema.n_outputs):
        codes = _training_codes(targets, schema, j, what)
        width = int(np.diff(schema.channel_offsets)[j])
        one_hot = codes[:, None] == (np.arange(width) if width > 1 else np.array([1]))
        values.append(one_hot.astype(np.float64))
        observed.append(np.repeat((codes >= 0)[:, None], width, axis=1))
    mask = np.hstack(observed)
    return Targets(schema, np.hstack(values), None if mask.all() else mask)


def _check_names(found: TargetSchema, schema: TargetSchema, what: str) -> None:
    """Compare the names of outputs in order, where there is more than one and both have names."""
    names, expected = found.output_names, schema.output_names
    if found.is_1d or names is None or expected is None or names == expected:
        return
    at = next(j for j, pair in enumerate(zip(names, expected)) if pair[0] != pair[1])
    raise ValueError(
        f"{what} must have the outputs of the training y in their order; output {at} is "
        f"{names[at]!r}, where training had {expected[at]!r}."
    )


def _training_codes(
    targets: Targets, schema: TargetSchema, output: int, what: str
) -> NDArray[np.int64]:
    """Class positions of one output among the training classes, -1 where it is not observed."""
    codes, classes = codes_of(targets, output)
    known: list[Any] = schema.classes[output if len(schema.classes) > 1 else 0].tolist()
    occurring = classes[np.unique(codes[codes >= 0])].tolist()
    unknown = [label for label in occurring if label not in known]
    if unknown:
        raise ValueError(
            f"{what} holds the classes {unknown[:5]}, which the training y does not have."
        )
    labels = classes.tolist()
    places = np.array([known.index(c) if c in known else -1 for c in labels] + [-1], np.int64)
    return np.asarray(places[codes])
