"""Parameters of trees and forests."""

from __future__ import annotations

from polyleaf.estimators.parameters._checks import (
    Parameter,
    count_or_fraction,
    is_bool,
    is_int,
    is_max_features,
    is_projection,
    is_real,
)

PARAMETERS: dict[str, Parameter] = {
    "projection": Parameter(
        "None, str, Projection or transformer",
        "View of the outputs on which the splits are chosen; leaf values are always those of all\n"
        "outputs. None: all outputs. A name such as ``'gaussian'``, an instance such as\n"
        "``projections.Gaussian(n_components='log')``, or a transformer of scikit-learn.\n"
        "Forests take ``'auto'``, too: the view and `max_features` that do best out of bag, at\n"
        "up to nine times the work of a plain forest. For boosting, ``'auto'`` tries views\n"
        "on up to 4000 rows, a quarter of which are set aside to judge them.",
        is_projection,
        "None, a name, a Projection or a transformer",
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
        "{'total', 'subspace', 'oob'}",
        "Which trees predict an output: all of them alike, those that saw it, or all of them\n"
        "weighted by how well they predict it on the rows that they were not grown on (needs\n"
        "``bootstrap=True``).",
        lambda v: isinstance(v, str) and v in ("total", "subspace", "oob"),
        "'total', 'subspace' or 'oob'",
        names=("total", "subspace", "oob"),
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
        "largest gain in the whole tree comes next. None: no limit.",
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
    "max_features": Parameter(
        "int, float, 'sqrt', 'log2', 'log2+1' or None",
        "Number of features that are tried at each node or refinement of a rule, drawn anew for\n"
        "each; a float is a fraction of them, ``'log2+1'`` floor(log2(p - 1) + 1) of p. If none\n"
        "of those can split a node, more are drawn. None: all.",
        is_max_features,
        "None, 'sqrt', 'log2', 'log2+1', an integer >= 1 or a fraction in (0, 1]",
        names=("sqrt", "log2", "log2+1"),
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
    "bootstrap": Parameter(
        "bool",
        "Whether each tree is grown on a bootstrap sample of the rows, or on all of them.",
        is_bool,
        "True or False",
    ),
    "max_samples": Parameter(
        "int, float or None",
        "Number of rows drawn for a bootstrap sample; a float is a fraction of the training\n"
        "rows. None: as many as there are.",
        lambda v: v is None or count_or_fraction(v, 1),
        "None, an integer >= 1 or a fraction in (0, 1]",
    ),
    "normalize_outputs": Parameter(
        "bool",
        "Whether every output counts alike in the choice of splits, whatever its unit: each is\n"
        "divided by its standard deviation there. Predictions keep the units of Y.",
        is_bool,
        "True or False",
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
