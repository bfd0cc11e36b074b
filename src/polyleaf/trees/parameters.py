"""Parameters of trees and forests."""

from __future__ import annotations

from typing import Any

from polyleaf import projections
from polyleaf.estimator.parameters import (
    Added,
    Parameter,
    count_or_fraction,
    is_bool,
    is_int,
    is_projection,
    is_real,
)
from polyleaf.estimator.shared_parameters import SHARED_PARAMETERS
from polyleaf.files.described import registered
from polyleaf.files.parameters import Stored


def _projection_to_json(name: str, projection: Any) -> Any:
    if isinstance(projection, str):
        return projection
    resolved = projections.resolve(projection)
    return None if resolved is None else projections.to_json(resolved)


def _projection_from_json(stored: Any) -> Any:
    if stored is None or stored in ("auto", "by_kind"):
        return stored
    if not isinstance(stored, str):
        return projections.from_json(stored)
    registered(stored, projections.PROJECTIONS, "projection", "polyleaf.projections.PROJECTIONS")
    return stored


TREE_PARAMETERS: dict[str, Parameter] = SHARED_PARAMETERS | {
    "projection": Parameter(
        "None, str, Projection or transformer",
        "View of the outputs on which the splits are chosen; leaf values are always those of all\n"
        "outputs. None: all outputs. A name such as ``'gaussian'``, an instance such as\n"
        "``projections.Gaussian(n_components='log')``, or a transformer of scikit-learn. Forests\n"
        "also take ``'auto'``: the view and `max_features` with the best out-of-bag score, at up\n"
        "to nine times the work of a plain forest. In boosting, ``'auto'`` compares views on up\n"
        "to 4000 rows, a quarter of which are held out.",
        is_projection,
        "None, a name, a Projection or a transformer",
        stored=Stored(_projection_to_json, _projection_from_json),
    ),
    "projection_scope": Parameter(
        "{'tree', 'forest', 'node'}",
        "Where a new view is drawn: for every tree, once for the whole forest, or at every split\n"
        "(slower, and not with ``max_leaf_nodes``).",
        lambda v: isinstance(v, str) and v in ("tree", "forest", "node"),
        "'tree', 'forest' or 'node'",
        names=("tree", "forest", "node"),
    ),
    "aggregation": Parameter(
        "{'total', 'subspace', 'mixed', 'oob'}",
        "Which trees predict an output: ``'total'``, all of them equally; ``'subspace'``, those\n"
        "that saw it; ``'mixed'``, a mixture of both that is chosen for every output on rows\n"
        "that the trees were not grown on; ``'oob'``, all of them, weighted by how well they\n"
        "predict it on such rows (needs ``bootstrap=True``).",
        lambda v: isinstance(v, str) and v in ("total", "subspace", "mixed", "oob"),
        "'total', 'subspace', 'mixed' or 'oob'",
        names=("total", "subspace", "mixed", "oob"),
    ),
    "max_depth": Parameter(
        "int or None",
        "Largest depth of a leaf; None: no limit.",
        lambda v: v is None or is_int(v, 1),
        "None or an integer >= 1",
    ),
    "max_leaf_nodes": Parameter(
        "int or None",
        "Largest number of leaves. With a limit the tree grows best-first: the split with the\n"
        "largest gain in the whole tree is next. None: no limit.",
        lambda v: v is None or is_int(v, 2),
        "None or an integer >= 2",
    ),
    "min_samples_split": Parameter(
        "int or float",
        "Fewest rows of a node that is split; a float is a fraction of the training rows.",
        lambda v: count_or_fraction(v, 2),
        "an integer >= 2 or a fraction in (0, 1]",
    ),
    "min_samples_leaf": Parameter(
        "int or float",
        "Fewest rows of a leaf; a float is a fraction of the training rows.",
        lambda v: count_or_fraction(v, 1),
        "an integer >= 1 or a fraction in (0, 1]",
    ),
    "min_impurity_decrease": Parameter(
        "float",
        "Least gain of a split, per unit of the training weight and per channel, in the units of\n"
        "the (normalised) outputs squared.",
        lambda v: is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "sums": Parameter(
        "{'auto', 'float', 'fixed'}",
        "How large nodes are summed: ``'fixed'`` rounds values to 15 bits and adds them as\n"
        "integers, so that the model does not depend on the order of the rows or on how they are\n"
        "divided between machines; ``'float'`` adds floating-point numbers, with more digits.\n"
        "``'auto'``: fixed point for boosting from 65,536 rows on, otherwise floating point.\n"
        "Fixed point needs bins (``max_bins``) and, for single trees and forests, a dense Y.",
        lambda v: isinstance(v, str) and v in ("auto", "float", "fixed"),
        "'auto', 'float' or 'fixed'",
        names=("auto", "float", "fixed"),
        added=Added("0.1.0", before="float"),
    ),
    "splitter": Parameter(
        "{'best', 'random'}",
        "``'best'`` tries every threshold of a feature; ``'random'`` draws one, uniform between\n"
        "the smallest and largest value in the node (and a random subset of the categories of a\n"
        "categorical feature), as extremely randomised trees do.",
        lambda v: isinstance(v, str) and v in ("best", "random"),
        "'best' or 'random'",
        names=("best", "random"),
    ),
    "category_penalty": Parameter(
        "float",
        "Penalty for splits on subsets of many categories, which gain by chance: this many times\n"
        "(c - 8) / n of the impurity is subtracted from the gain in a node with c categories and\n"
        "n rows. A column of hundreds of categories is then split only if it explains more than\n"
        "that. Larger: fewer splits of rare categories. 0: no penalty, as in predictive\n"
        "clustering trees. Up to eight categories, and random subsets, are never penalised.",
        lambda v: is_real(v, 0.0),
        "a finite number >= 0",
        added=Added("0.1.0", before=0.0),
    ),
    "max_samples": Parameter(
        "int, float or None",
        "Number of rows drawn for a bootstrap sample; a float is a fraction of the training\n"
        "rows. None: as many as there are training rows.",
        lambda v: v is None or count_or_fraction(v, 1),
        "None, an integer >= 1 or a fraction in (0, 1]",
    ),
    "pruning": Parameter(
        "{None, 'f_test'}",
        "``'f_test'``: a split stays only if an F-test finds that it lowers the variance\n"
        "significantly. None: no pruning.",
        lambda v: v is None or (isinstance(v, str) and v == "f_test"),
        "None or 'f_test'",
        names=("f_test",),
    ),
    "pruning_level": Parameter(
        "'cv' or float",
        "Significance level of the F-test. ``'cv'``: chosen by internal 3-fold cross-validation\n"
        "among 0.001, 0.005, 0.01, 0.05, 0.1 and no pruning.",
        lambda v: (isinstance(v, str) and v == "cv") or (is_real(v, 0.0, 1.0) and v > 0),
        "'cv' or a number in (0, 1]",
        names=("cv",),
    ),
    "oob_score": Parameter(
        "bool or callable",
        "Whether to predict every training row by the trees that were not grown on it, and to\n"
        "score that (needs ``bootstrap=True``): r2 averaged over outputs, or accuracy. A\n"
        "callable ``(y_true, y_pred) -> float`` scores otherwise.",
        lambda v: is_bool(v) or callable(v),
        "True, False or a callable",
    ),
}
