"""Published settings of forests (Joly et al. 2014; Breskvar et al. 2018; Joly et al. 2019).

Ensembles have 100 trees in all three papers. Random output selections ("ros") and their rivals
("multi-target", "single-target") have two rows per leaf, as in CLUS; forests on projections
("rp") are fully grown. Projections of numbers are Rademacher ones, as in Table 11 of Breskvar et
al. 2018, those of labels Gaussian ones, as in Tables 1 and 3 of Joly et al. 2014.
"""

from __future__ import annotations

from typing import Any

from polyleaf import projections
from polyleaf.estimator.published import Variants
from polyleaf.trees.papers import FULLY_GROWN, OF_CLUS, OF_LABELS, OF_NUMBERS, SHARED

_FOREST: dict[str, Any] = SHARED | {
    "n_estimators": 100,
    "max_samples": None,
    "projection_scope": "tree",
    "aggregation": "total",
    "oob_score": False,
    "warm_start": False,
}


def _output_selections(share: float, aggregation: str, **settings: Any) -> dict[str, Any]:
    """Give the variants of Breskvar et al. 2018; the first tree sees all targets."""
    common = _FOREST | OF_CLUS | settings
    selection = projections.Subsample(share, replace=False, first_sees_all=True)
    return {
        "ros": common | {"projection": selection, "aggregation": aggregation},
        "multi-target": common | {"projection": None},
        "single-target": common | {"projection": projections.RoundRobin()},
    }


def _projections(view: projections.Projection, **settings: Any) -> dict[str, Any]:
    """Give a view per tree (Algorithm 2 of Joly et al. 2014) and one for all (Algorithm 1)."""
    common = _FOREST | FULLY_GROWN | settings | {"projection": view}
    return {"rp": common, "rp-shared": common | {"projection_scope": "forest"}}


def _plain_forests(**settings: Any) -> dict[str, Any]:
    """Give the forests of Tables 10 to 12 of Joly et al. 2019: of all outputs, and of each."""
    common = _FOREST | {"bootstrap": True, "min_samples_leaf": 1} | settings
    return {
        "mo-rf": common | {"projection": None},
        "st-rf": common | {"projection": projections.RoundRobin()},
    }


def _of(numbers: bool, selections: dict[str, Any], views: dict[str, Any]) -> dict[str, Any]:
    """Put the main variant first: selections of numbers, projections of labels."""
    found = selections | views if numbers else views | selections
    ordered = ("ros", "rp", "rp-shared") if numbers else ("rp", "rp-shared", "ros")
    rest = {name: found[name] for name in found if name not in ordered}
    given = OF_NUMBERS if numbers else OF_LABELS
    return {name: found[name] | given for name in (*ordered, *rest)}


_RADEMACHER, _GAUSSIAN = projections.Rademacher("log"), projections.Gaussian("log")
_BAGS = _output_selections(0.5, "total", max_features=None, bootstrap=True)
_RANDOM = _output_selections(0.75, "subspace", max_features="sqrt", bootstrap=True)
_EXTRA = _output_selections(0.75, "subspace", max_features=None, bootstrap=False)
_ONE_THIRD = _plain_forests(max_features=1 / 3, min_samples_split=5)
_ROOT = _plain_forests(max_features="sqrt", min_samples_split=2)

BAGGED_REGRESSORS: Variants = _of(
    True, _BAGS, _projections(_RADEMACHER, max_features=None, bootstrap=True)
)
RANDOM_FOREST_REGRESSORS: Variants = _of(
    True, _RANDOM, _projections(_RADEMACHER, max_features="sqrt", bootstrap=True) | _ONE_THIRD
)
EXTRA_REGRESSORS: Variants = _of(
    True, _EXTRA, _projections(_RADEMACHER, max_features=None, bootstrap=False)
)
BAGGED_CLASSIFIERS: Variants = _of(
    False, _BAGS, _projections(_GAUSSIAN, max_features=None, bootstrap=True)
)
RANDOM_FOREST_CLASSIFIERS: Variants = _of(
    False, _RANDOM, _projections(_GAUSSIAN, max_features="sqrt", bootstrap=True) | _ROOT
)
EXTRA_CLASSIFIERS: Variants = _of(
    False, _EXTRA, _projections(_GAUSSIAN, max_features="sqrt", bootstrap=False)
)
