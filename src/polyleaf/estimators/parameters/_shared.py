"""Parameters of several families of estimators."""

from __future__ import annotations

from polyleaf.estimators.label_decoding import is_decoding
from polyleaf.estimators.parameters._checks import (
    DECODINGS,
    Parameter,
    is_bool,
    is_dicts_or_none,
    is_int,
    is_loss,
    is_random_state,
    is_real,
)

PARAMETERS: dict[str, Parameter] = {
    "n_estimators": Parameter(
        "int",
        "Number of trees (with ``projection='round_robin'``, of trees per output) or of graphs.",
        lambda v: is_int(v, 1),
        "an integer >= 1",
    ),
    "loss": Parameter(
        "str or Loss",
        "What boosting minimises: a name such as ``'huber'``, an instance such as\n"
        "``losses.Quantile([0.1, 0.9])``, or one of your own. ``'auto'``: logistic for labels,\n"
        "softmax for classes.",
        is_loss,
        "'auto', a name or a Loss",
    ),
    "learning_rate": Parameter(
        "float",
        "Factor by which what a tree adds is shrunk. Smaller ones need more trees.",
        lambda v: is_real(v, 0.0, 1.0) and v > 0,
        "a number in (0, 1]",
    ),
    "max_bins": Parameter(
        "int or None",
        "Largest number of bins into which the values of a numeric feature are sorted, missing\n"
        "values apart. A feature with no more distinct values than that is treated exactly.\n"
        "None: every distinct value is a bin, and sums are kept in double precision; exact, and\n"
        "slower.",
        lambda v: v is None or is_int(v, 2, 255),
        "None or an integer from 2 to 255",
    ),
    "categorical_features": Parameter(
        "None, list of str, list of int or list of bool",
        "Columns to treat as categories, by name, by position or as a mask. None: the columns\n"
        "that are categorical, string or boolean by their type.",
        lambda v: True,  # checked against the columns of X by ingest
        "None or a list of columns",
    ),
    "class_weight": Parameter(
        "None, 'balanced', dict or list of dict",
        "Weight of each class: a dict from class to weight, one such dict per output, or\n"
        "``'balanced'`` for weights inversely proportional to how often a class is observed.",
        lambda v: v == "balanced" if isinstance(v, str) else is_dicts_or_none(v),
        "None, 'balanced', a dict or a list of dicts",
        names=("balanced",),
    ),
    "decoding": Parameter(
        "str or Decoder",
        "How probabilities become the label sets of `predict` (multi-label problems):\n"
        "``'threshold'``, the labels above 0.5; ``'subset'``, ``'f1'``, ``'jaccard'`` or\n"
        "``'top_k'``, the best decision for that measure, as in `polyleaf.decoding`; a Decoder,\n"
        "such as ``decoding.TopK(3)``; ``'known_label_set'`` (rules only), the best of the label\n"
        "sets seen in training. ``'auto'``: what suits the model, the threshold for trees and\n"
        "boosting, the best labelling for graphs, known label sets for rules with a loss of\n"
        "whole rows.",
        is_decoding,
        "a Decoder or one of " + ", ".join(map(repr, DECODINGS)),
        names=DECODINGS,
    ),
    "warm_start": Parameter(
        "bool",
        "Whether a second call of fit adds members, up to ``n_estimators``, to those there are.",
        is_bool,
        "True or False",
    ),
    "random_state": Parameter(
        "int, RandomState, Generator or None",
        "Source of chance: ties between splits, drawn rows, features, cuts and projections. An\n"
        "integer gives the same model every time, for any number of threads.",
        is_random_state,
        "None, an integer in [0, 2**32 - 1], a RandomState or a Generator",
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
