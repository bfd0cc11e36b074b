"""Parameters of boosting."""

from __future__ import annotations

from dataclasses import replace

from polyleaf.estimator.parameters import (
    Added,
    Parameter,
    is_bool,
    is_eval_metric,
    is_int,
    is_monotonic,
    is_real,
)
from polyleaf.metrics import METRICS
from polyleaf.trees.parameters import TREE_PARAMETERS


def _expected_metric(names: list[str]) -> str:
    known = ", ".join(map(repr, names))
    return f"None, a callable, a Metric, a name of a scikit-learn scorer or one of {known}"


BOOSTING_PARAMETERS: dict[str, Parameter] = TREE_PARAMETERS | {
    "max_depth": Parameter(
        "int, 'auto' or None",
        "Largest depth of a leaf; None: no limit. ``'auto'``: 6; but if ``projection='auto'``\n"
        "compares views on all rows (up to 4000), 3 if trees of that depth predict the held-out\n"
        "rows clearly better (not with ``max_leaf_nodes`` or ``warm_start``).",
        lambda v: v is None or is_int(v, 1) or (isinstance(v, str) and v == "auto"),
        "None, 'auto' or an integer >= 1",
        names=("auto",),
    ),
    "leaf_fit": Parameter(
        "{'relabel', 'linear'}",
        "How a tree that was grown on a view predicts all outputs: ``'relabel'`` gives each leaf\n"
        "a value for every output; ``'linear'`` fits each output to one number per leaf, so that\n"
        "a tree holds one number per leaf and one per output (needs a view of one component).",
        lambda v: isinstance(v, str) and v in ("relabel", "linear"),
        "'relabel' or 'linear'",
        names=("relabel", "linear"),
    ),
    "leaf_values": Parameter(
        "{'auto', 'gradient', 'newton', 'exact'}",
        "Values of leaves: ``'gradient'``, means of the negative gradients times the best\n"
        "factor per output; ``'newton'``, one Newton step; ``'exact'``, the minimiser of the\n"
        "loss in each leaf, such as medians. ``'auto'``: Newton steps, or exact values if the\n"
        "loss has no second derivative. For the squared error, all are means of the residuals;\n"
        "``'exact'`` ones are not shrunk by ``l2_regularization``.",
        lambda v: isinstance(v, str) and v in ("auto", "gradient", "newton", "exact"),
        "'auto', 'gradient', 'newton' or 'exact'",
        names=("auto", "gradient", "newton", "exact"),
    ),
    "l2_regularization": Parameter(
        "float",
        "Added to the weight (or curvature) by which the sum of gradients in a leaf is divided:\n"
        "leaves of few rows are shrunk towards 0. Exact leaf values ignore it: set\n"
        "``min_samples_leaf`` if medians or quantiles of few rows are not reliable.",
        lambda v: is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "subsample": Parameter(
        "float",
        "Share of the rows on which each tree is grown, drawn without replacement.",
        lambda v: is_real(v, 0.0, 1.0) and v > 0,
        "a number in (0, 1]",
    ),
    "row_sampling": Parameter(
        "{'uniform', 'gradient'}",
        "How the rows of a ``subsample`` are drawn: ``'uniform'`` draws all with the same\n"
        "probability. ``'gradient'`` (GOSS, Ke et al. 2017) takes the rows with the largest\n"
        "gradients for two thirds of the sample and draws the rest from the others, weighted so\n"
        "that they represent all of them; leaves have values of all rows.",
        lambda v: isinstance(v, str) and v in ("uniform", "gradient"),
        "'uniform' or 'gradient'",
        names=("uniform", "gradient"),
        added=Added("0.1.0", before="uniform"),
    ),
    "monotonic_cst": Parameter(
        "None, dict or array-like of int of shape (p,)",
        "1: predictions never fall as the feature rises; -1: they never rise; 0: no constraint.\n"
        "A dict names features. Holds for every output (raw predictions, class 1 for labels);\n"
        "not for more than two classes, and not with ``leaf_fit='linear'``.",
        is_monotonic,
        "None, or -1, 0 or 1 for every feature (or for some in a dict)",
    ),
    "estimator": Parameter(
        "None or regressor",
        "What is boosted: None for trees, or any regressor of scikit-learn, such as a linear\n"
        "model. It is fitted to the gradients of all outputs (a copy for each output if it\n"
        "predicts only one, or if some targets are not observed), or with ``leaf_fit='linear'``\n"
        "to a view of one component. It gets an array without names, in which categories are\n"
        "codes 0, 1, ...: put an encoder that takes columns by number into a pipeline. Weights\n"
        "go to its last step. Parameters of trees do not apply.",
        lambda v: (
            v is None or (hasattr(v, "fit") and hasattr(v, "predict") and not isinstance(v, type))
        ),
        "None or an estimator with fit and predict (an instance, not a class)",
    ),
    "early_stopping": Parameter(
        "bool or 'auto'",
        "Whether to stop after ``n_iter_no_change`` rounds without improvement on the\n"
        "validation rows: those of ``eval_set``, or a share of the training rows. Trees after\n"
        "the best round are dropped. ``'auto'``: no, except where ``projection='auto'``\n"
        "compares views of several outputs and the loss of the held-out rows rose; then there\n"
        "are at most twice as many rounds as were best (proportionally more if only some rows\n"
        "took part; not with ``warm_start``). Weights of rows, entries and classes count in the\n"
        "validation loss as they do in the training loss.",
        lambda v: is_bool(v) or (isinstance(v, str) and v == "auto"),
        "True, False or 'auto'",
    ),
    "eval_metric": Parameter(
        "None, str, Metric or callable",
        "What early stopping monitors, and what ``history_`` records beside the loss: None for\n"
        "the loss itself; a name in `polyleaf.metrics.METRICS` or of a scorer of scikit-learn,\n"
        "such as ``'accuracy'``, ``'roc_auc'`` or ``'neg_log_loss'``; a\n"
        "`polyleaf.metrics.Metric`, which may need scores; or a callable ``(y_true, y_pred) ->\n"
        "float`` for which larger is better, and which gets predicted values or labels. All but\n"
        "the callable use weights of rows.",
        is_eval_metric,
        _expected_metric(list(METRICS)),
        names=tuple(METRICS),
    ),
}


def boosting_parameters(task: str) -> dict[str, Parameter]:
    """Give the parameters of a regressor or of a classifier, whose metrics differ.

    Parameters
    ----------
    task : {"regression", "multilabel"}
    """
    names = [name for name, metric in METRICS.items() if metric.task == task]
    metric = BOOSTING_PARAMETERS["eval_metric"]
    own = replace(metric, expected=_expected_metric(names), names=tuple(names))
    return BOOSTING_PARAMETERS | {"eval_metric": own}
