"""Bring the hierarchy that a classifier was given together with the labels of its Y."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyleaf.data.targets import Targets
from polyleaf.hierarchy import Hierarchy, as_hierarchy


@dataclass(frozen=True)
class GivenHierarchy:
    """What a classifier was given.

    Attributes
    ----------
    given : object
        The parameter `hierarchy`.
    on_violation : {"close", "raise"}
        What becomes of rows that have a label but not its ancestors.
    """

    given: Any
    on_violation: str

    def apply(self, targets: Targets, estimator_name: str) -> Targets:
        """Give targets that respect the hierarchy, and have it in their schema.

        Raises
        ------
        ValueError
            If Y holds no labels, if the hierarchy is not one of these labels, or if a row
            violates it and is not to be mended.
        """
        schema = targets.schema
        if schema.kind != "multilabel":
            raise ValueError(
                f"hierarchy of {estimator_name} is for multi-label problems: a y of shape (n, d) "
                f"that holds 0 and 1; got a {schema.kind} y. Use hierarchy=None."
            )
        hierarchy = as_hierarchy(self.given, schema.n_outputs, schema.output_names)
        if self.on_violation == "raise":
            _check_closed(hierarchy, targets, estimator_name)
        closed = _closed(hierarchy, targets)
        return replace(closed, schema=replace(schema, hierarchy=hierarchy))


def _closed(hierarchy: Hierarchy, targets: Targets) -> Targets:
    """Add the ancestors of labels, and what follows for labels that are not observed."""
    if targets.observed is None:
        return replace(targets, values=hierarchy.close(targets.values))
    values = hierarchy.close(targets.with_gaps())
    observed = ~np.isnan(values)
    return replace(
        targets,
        values=np.nan_to_num(values),
        observed=None if observed.all() else observed,
    )


def _check_closed(hierarchy: Hierarchy, targets: Targets, estimator_name: str) -> None:
    values: Any = targets.with_gaps()
    n_violations = hierarchy.n_violations(values)
    if not n_violations:
        return
    for parent, child in hierarchy.edges.tolist():
        ends: Any = values[:, [parent, child]]
        ends = ends.toarray() if targets.is_sparse else ends
        rows = np.flatnonzero(ends[:, 1] > ends[:, 0])
        if rows.size:
            break
    names = hierarchy.names or [str(j) for j in range(hierarchy.n_outputs)]
    raise ValueError(
        f"y of {estimator_name} must have the parents of all labels, as on_violation='raise' "
        f"asks; row {rows[0]} has {names[child]!r} without {names[parent]!r} "
        f"({n_violations} violations in all). Use on_violation='close' to add the parents."
    )
