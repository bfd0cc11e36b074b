"""Parameters of several families of estimators."""

from __future__ import annotations

from typing import Any

from polyleaf import losses
from polyleaf.estimator.classifier import STORED_DECODING, is_decoding
from polyleaf.estimator.parameters import (
    STORED_HIERARCHY,
    Added,
    Parameter,
    is_bool,
    is_dicts_or_none,
    is_hierarchy,
    is_int,
    is_loss,
    is_max_features,
    is_one_of,
    is_random_state,
    is_real,
)
from polyleaf.files.described import registered
from polyleaf.files.parameters import CLASS_WEIGHT, SEED, Stored

DECODINGS = ("auto", "threshold", "known_label_set", "subset", "f1", "jaccard", "top_k")


def _loss_to_json(name: str, loss: Any) -> Any:
    return losses.to_json(loss) if isinstance(loss, losses.Loss) else loss


def loss_from_json(stored: Any) -> Any:
    """Read a `loss` parameter from a model file: a name, or a described loss."""
    if not isinstance(stored, str):
        return losses.from_json(stored)
    if stored != "auto":
        registered(stored, losses.LOSSES, "loss", "polyleaf.losses.LOSSES")
    return stored


#: Names of losses, or registered ones.
STORED_LOSS = Stored(_loss_to_json, loss_from_json)

SHARED_PARAMETERS: dict[str, Parameter] = {
    "n_estimators": Parameter(
        "int",
        "Number of trees (with ``projection='round_robin'``, of trees per output) or of graphs.",
        lambda v: is_int(v, 1, 2**31 - 1),
        "an integer >= 1, below 2**31",
    ),
    "loss": Parameter(
        "str or Loss",
        "What boosting minimises: a name such as ``'huber'``, an instance such as\n"
        "``losses.Quantile([0.1, 0.9])``, or one of your own. ``'auto'``: logistic for labels,\n"
        "softmax for classes.",
        is_loss,
        "'auto', a name or a Loss",
        stored=STORED_LOSS,
    ),
    "learning_rate": Parameter(
        "float",
        "Factor that shrinks what each tree adds. Smaller values need more trees.",
        lambda v: is_real(v, 0.0, 1.0) and v > 0,
        "a number in (0, 1]",
    ),
    "max_features": Parameter(
        "int, float, 'sqrt', 'log2', 'log2+1' or None",
        "Number of features that are tried at each node or refinement of a rule, drawn again for\n"
        "each; a float is a fraction of them, ``'log2+1'`` floor(log2(p - 1) + 1) of p. If none\n"
        "of those can split a node, more are drawn. None: all.",
        is_max_features,
        "None, 'sqrt', 'log2', 'log2+1', an integer >= 1 or a fraction in (0, 1]",
        names=("sqrt", "log2", "log2+1"),
    ),
    "bootstrap": Parameter(
        "bool",
        "Whether each tree is grown on a bootstrap sample of the rows, or on all of them.",
        is_bool,
        "True or False",
    ),
    "normalize_outputs": Parameter(
        "bool",
        "Whether every output has the same influence on splits, whatever its unit: each is\n"
        "divided by its standard deviation there. Predictions keep the units of Y.",
        is_bool,
        "True or False",
    ),
    "validation_fraction": Parameter(
        "float",
        "Share of the rows that are set aside for early stopping if `fit` gets no ``eval_set``.",
        lambda v: is_real(v, 0.0, 1.0) and 0 < v < 1,
        "a number in (0, 1)",
    ),
    "n_iter_no_change": Parameter(
        "int",
        "Early stopping stops after this many rounds without improvement.",
        lambda v: is_int(v, 1),
        "an integer >= 1",
    ),
    "max_bins": Parameter(
        "int or None",
        "Largest number of bins into which the values of a numeric feature are sorted, not\n"
        "counting missing values. A feature with at most that many distinct values is treated\n"
        "exactly. None: every distinct value is a bin, and sums are in double precision; exact,\n"
        "and slower.",
        lambda v: v is None or is_int(v, 2, 255),
        "None or an integer from 2 to 255",
    ),
    "categorical_features": Parameter(
        "None, list of str, list of int or list of bool",
        "Columns to treat as categories, by name, by position or as a mask. None: the columns\n"
        "that are categorical, string or boolean by their type, but not ordered categoricals of\n"
        "pandas, whose order is used unless they are listed here.",
        lambda v: True,  # checked against the columns of X by the data room
        "None or a list of columns",
    ),
    "class_weight": Parameter(
        "None, 'balanced', dict or list of dict",
        "Weight of each class: a dict from class to weight, one such dict per output, or\n"
        "``'balanced'`` for weights inversely proportional to how often a class is observed.",
        lambda v: v == "balanced" if isinstance(v, str) else is_dicts_or_none(v),
        "None, 'balanced', a dict or a list of dicts",
        names=("balanced",),
        stored=CLASS_WEIGHT,
    ),
    "decoding": Parameter(
        "str or Decoder",
        "How `predict` turns probabilities into label sets (multi-label problems):\n"
        "``'threshold'``, the labels above 0.5; ``'subset'``, ``'f1'``, ``'jaccard'`` or\n"
        "``'top_k'``, the best decision for that measure, as in `polyleaf.decoding`; a Decoder,\n"
        "such as ``decoding.TopK(3)``; ``'known_label_set'`` (rules only), the best of the label\n"
        "sets seen in training. ``'auto'``: the threshold for trees and boosting, the best\n"
        "labelling for graphs, known label sets for rules with a loss of whole rows.",
        is_decoding,
        "a Decoder or one of " + ", ".join(map(repr, DECODINGS)),
        names=DECODINGS,
        stored=STORED_DECODING,
    ),
    "hierarchy": Parameter(
        "Hierarchy, array-like, list of str, networkx.DiGraph or None",
        "Hierarchy of the labels (multi-label problems): the parent of each output, -1 for\n"
        "roots; edges (parent, child), by number or name; a path such as ``'01/04/02'`` for\n"
        "each output; a graph; or a `polyleaf.hierarchy.Hierarchy`. No label then outscores its\n"
        "ancestors, and label sets include the ancestors of their labels. In trees and forests,\n"
        "deep labels have less influence on splits.",
        is_hierarchy,
        "None, parents, edges, paths, a networkx.DiGraph or a Hierarchy",
        stored=STORED_HIERARCHY,
        added=Added("0.1.0", before=None),
    ),
    "on_violation": Parameter(
        "{'close', 'raise'}",
        "What happens to a row of y that has a label but not all its ancestors: ``'close'`` adds\n"
        "them, ``'raise'`` raises an error. Only with a `hierarchy`.",
        is_one_of("close", "raise"),
        "'close' or 'raise'",
        names=("close", "raise"),
        added=Added("0.1.0", before="close"),
    ),
    "warm_start": Parameter(
        "bool",
        "Whether another call of `fit` adds members to the existing ones, up to ``n_estimators``.",
        is_bool,
        "True or False",
    ),
    "random_state": Parameter(
        "int, RandomState, Generator or None",
        "Seed or generator for everything random: ties between splits, drawn rows, features,\n"
        "cuts and projections. An integer gives the same model every time, for any number of\n"
        "threads.",
        is_random_state,
        "None, an integer in [0, 2**32 - 1], a RandomState or a Generator",
        stored=SEED,
    ),
    "n_jobs": Parameter(
        "int or None",
        "Number of threads; None: 1 (or what a joblib context says), -1: all processors.",
        lambda v: v is None or (is_int(v, -(2**31)) and v != 0),
        "None or an integer other than 0",
    ),
    "verbose": Parameter(
        "int",
        "1 shows a progress bar with the time left on standard error.",
        lambda v: is_bool(v) or is_int(v, 0),
        "an integer >= 0",
    ),
}
