"""polyleaf's tree, binned as by default and with exact splits.

Outputs are normalised, as by default: the problems' outputs have equal variance, so that the
criterion is that of the rivals and the normalisation is work that only polyleaf does.
"""

from __future__ import annotations

from typing import Any

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make_binned(case: Case) -> Any:
    """Make a tree with at most 255 bins per feature."""
    return _make(case, max_bins=255)


def make_exact(case: Case) -> Any:
    """Make a tree that may split between any two values."""
    return _make(case, max_bins=None)


def _make(case: Case, max_bins: int | None) -> Any:
    from polyleaf import TreeRegressor

    return TreeRegressor(
        max_depth=case.options["max_depth"],
        max_bins=max_bins,
        random_state=0,
        n_jobs=case.threads,
    )


METHODS = (
    Method("polyleaf-tree", "tree", module="polyleaf", make=make_binned, is_ours=True),
    Method(
        "polyleaf-tree-exact",
        "tree",
        module="polyleaf",
        make=make_exact,
        is_ours=True,
        by_default=False,
    ),
)
