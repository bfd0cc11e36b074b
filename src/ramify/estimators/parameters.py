"""Every parameter of every estimator, declared once: what it accepts and what it means.

An estimator names its parameters with `@documented(...)`; the decorator writes their entries into
its docstring, and `check_parameters` holds their values against the declarations.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter as Argument
from inspect import cleandoc, signature
from textwrap import indent
from typing import Any, TypeVar

import numpy as np

from ramify import graphs, losses, projections
from ramify.estimators.label_decoding import is_decoding
from ramify.metrics import METRICS
from ramify.model import KERNELS

T = TypeVar("T", bound=type)

_DECODINGS = ("auto", "threshold", "known_label_set", "subset", "f1", "jaccard", "top_k")


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    type : str
        As it stands in the docstring, without the default.
    doc : str
        What it does.
    accepts : callable
        Whether a value is of the right kind and range.
    expected : str
        The range in words, for the error message.
    names : tuple of str
        The strings among the values it may have.
    """

    type: str
    doc: str
    accepts: Callable[[Any], bool]
    expected: str
    names: tuple[str, ...] = ()


def _is_int(value: Any, low: int, high: int | None = None) -> bool:
    return (
        isinstance(value, numbers.Integral)
        and not isinstance(value, (bool, np.bool_))
        and int(value) >= low
        and (high is None or int(value) <= high)
    )


def _is_real(value: Any, low: float, high: float = np.inf) -> bool:
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, (bool, np.bool_))
        and low <= float(value) <= high
        and np.isfinite(float(value))
    )


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _count_or_fraction(value: Any, low: int) -> bool:
    if isinstance(value, numbers.Integral):
        return _is_int(value, low)
    return _is_real(value, 0.0, 1.0) and float(value) > 0.0


def _is_max_features(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2", "log2+1")):
        return True
    return not isinstance(value, str) and _count_or_fraction(value, 1)


def _is_random_state(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, (np.random.RandomState, np.random.Generator))
        or _is_int(value, 0, 2**32 - 1)
    )


def _is_dicts_or_none(value: Any) -> bool:
    return value is None or isinstance(value, (dict, list, tuple))


def _is_projection(value: Any) -> bool:
    if isinstance(value, str) and value == "auto":
        return True  # forests choose; the others refuse it by themselves
    projections.resolve(value)  # raises with a message of its own
    return True


def _is_graph(value: Any) -> bool:
    graphs.resolve(value)  # raises with a message of its own
    return True


def _is_one_of(*choices: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in choices


def _is_loss(value: Any) -> bool:
    if not (isinstance(value, str) and value == "auto"):
        losses.resolve(value)  # raises with a message of its own
    return True


def _is_monotonic(value: Any) -> bool:
    if value is None:
        return True
    signs = value.values() if isinstance(value, dict) else value
    if isinstance(signs, str) or not hasattr(signs, "__iter__"):
        return False
    return all(isinstance(s, numbers.Integral) and s in (-1, 0, 1) for s in signs)


def _is_eval_metric(value: Any) -> bool:
    return value is None or callable(value) or (isinstance(value, str) and value in METRICS)


PARAMETERS: dict[str, Parameter] = {
    "n_estimators": Parameter(
        "int",
        "Number of trees (with ``projection='round_robin'``, of trees per output) or of graphs.",
        lambda v: _is_int(v, 1),
        "an integer >= 1",
    ),
    "n_rules": Parameter(
        "int",
        "Number of rules, the default rule included.",
        lambda v: _is_int(v, 1),
        "an integer >= 1",
    ),
    "graph": Parameter(
        "str, array-like of shape (n_edges, 2), networkx.Graph or GraphGenerator",
        "Graph over the labels. ``'spanning_tree'``: a maximum spanning tree of random weights;\n"
        "``'recursive_tree'``, ``'random_pairs'``; ``'chow_liu'``: the tree with the most mutual\n"
        "information between labels; edges of your own, by position or name of the labels; or an\n"
        "instance such as ``graphs.ChowLiu(row_share=0.5)``.",
        _is_graph,
        "a name, edges or a GraphGenerator",
    ),
    "loss": Parameter(
        "str or Loss",
        "What boosting minimises: a name such as ``'huber'``, an instance such as\n"
        "``losses.Quantile([0.1, 0.9])``, or one of your own. ``'auto'``: logistic for labels,\n"
        "softmax for classes.",
        _is_loss,
        "'auto', a name or a Loss",
    ),
    "huber_delta": Parameter(
        "float",
        "Where Huber's loss becomes linear, in standard deviations of an output if outputs are\n"
        "normalised.",
        lambda v: _is_real(v, 0.0) and v > 0,
        "a finite number > 0",
    ),
    "learning_rate": Parameter(
        "float",
        "Factor by which what a tree adds is shrunk. Smaller ones need more trees.",
        lambda v: _is_real(v, 0.0, 1.0) and v > 0,
        "a number in (0, 1]",
    ),
    "head": Parameter(
        "{'complete', 'single', 'partial'}",
        "For how many outputs a rule has scores: all of them, one, or `head_size`. A rule keeps\n"
        "its outputs while it is refined.",
        _is_one_of("complete", "single", "partial"),
        "'complete', 'single' or 'partial'",
        names=("complete", "single", "partial"),
    ),
    "head_size": Parameter(
        "int or float",
        "With ``head='partial'``: the number of outputs of a head, or, as a float, the share of\n"
        "the largest gain of a single output that another must reach to be in the head.",
        lambda v: _count_or_fraction(v, 1),
        "an integer >= 1 or a share in (0, 1]",
    ),
    "step": Parameter(
        "{'newton', 'guarded'}",
        "``'guarded'`` halves the head of a rule until the loss of the training rows does not\n"
        "rise; ``'newton'`` takes it as it is.",
        _is_one_of("newton", "guarded"),
        "'newton' or 'guarded'",
        names=("newton", "guarded"),
    ),
    "label_bins": Parameter(
        "int or None",
        "Approximate the search for conditions, for many labels and a loss of whole rows: labels\n"
        "whose scores would be alike share one, in this many bins for either sign. Heads are\n"
        "exact in any case. None: exact search.",
        lambda v: v is None or _is_int(v, 1),
        "None or an integer >= 1",
    ),
    "max_conditions": Parameter(
        "int or None",
        "Largest number of conditions in a body; None: no limit.",
        lambda v: v is None or _is_int(v, 1),
        "None or an integer >= 1",
    ),
    "min_coverage": Parameter(
        "int or float",
        "Fewest rows of the sample that a rule covers; a float is a fraction of the rows.",
        lambda v: _count_or_fraction(v, 1),
        "an integer >= 1 or a fraction in (0, 1]",
    ),
    "projection": Parameter(
        "None, str, Projection or transformer",
        "View of the outputs on which the splits are chosen; leaf values are always those of all\n"
        "outputs. None: all outputs. A name such as ``'gaussian'``, an instance such as\n"
        "``projections.Gaussian(n_components='log')``, or a transformer of scikit-learn.\n"
        "Forests take ``'auto'``, too: the view and `max_features` that do best out of bag, at\n"
        "up to nine times the work of a plain forest. For boosting, ``'auto'`` tries views\n"
        "on up to 4000 rows, a quarter of which are set aside to judge them.",
        _is_projection,
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
    "completion": Parameter(
        "{'zero', 'consistent'}",
        "With ``aggregation='mam'``: what a member says about an edge that its graph lacks.\n"
        "``'zero'``: nothing. ``'consistent'``: its dual variables are completed as if the two\n"
        "labels were independent given the example, which misleads unless C is tiny: what was\n"
        "not trained does not cancel.",
        _is_one_of("zero", "consistent"),
        "'zero' or 'consistent'",
        names=("zero", "consistent"),
    ),
    "kernel": Parameter(
        "{'linear', 'cosine', 'poly', 'rbf', 'precomputed'} or callable",
        "Kernel of the rows of X. ``'linear'`` and ``'cosine'`` (linear on rows of length 1)\n"
        "take sparse X and never make a matrix of n x n where n is large. ``'precomputed'``: X\n"
        "is the kernel matrix with the training rows. A function takes two matrices of rows.",
        lambda v: callable(v) or (isinstance(v, str) and v in KERNELS),
        "'linear', 'cosine', 'poly', 'rbf', 'precomputed' or a function",
        names=KERNELS,
    ),
    "degree": Parameter(
        "int",
        "Degree of the polynomial kernel.",
        lambda v: _is_int(v, 1, 100),
        "an integer from 1 to 100",
    ),
    "gamma": Parameter(
        "'scale' or float",
        "Factor in ``(gamma <x, z> + coef0)^degree`` and ``exp(-gamma |x - z|^2)``. ``'scale'``:\n"
        "1 / (n_features * variance of X).",
        lambda v: v == "scale" if isinstance(v, str) else _is_real(v, 0.0) and v > 0,
        "'scale' or a number > 0",
        names=("scale",),
    ),
    "coef0": Parameter(
        "float",
        "Constant of the polynomial kernel.",
        lambda v: _is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "intercept_scaling": Parameter(
        "float",
        "Size of a constant feature beside those of the kernel, whose weights are intercepts:\n"
        "the larger, the less regularised. 0: no intercept, as in the paper.",
        lambda v: _is_real(v, 0.0, 1e6),
        "a number from 0 to 1e6",
    ),
    "C": Parameter(
        "float",
        "Weight of the margin violations against the size of the weights: larger fits closer.",
        lambda v: _is_real(v, 0.0, 1e12) and v > 0,
        "a number > 0 and at most 1e12",
    ),
    "margin_loss": Parameter(
        "{'edge', 'node', 'hamming'}",
        "Margin that a wrong labelling must keep: ``'edge'``: its wrong edges, as in the paper;\n"
        "``'node'``: errors at both ends of the edges, so that a label counts once per edge;\n"
        "``'hamming'``: wrong labels.",
        _is_one_of("edge", "node", "hamming"),
        "'edge', 'node' or 'hamming'",
        names=("edge", "node", "hamming"),
    ),
    "tol": Parameter(
        "float",
        "Training ends when the duality gap is at most this share of the dual objective.",
        lambda v: _is_real(v, 0.0, 1.0) and v > 0,
        "a number in (0, 1]",
    ),
    "max_iter": Parameter(
        "int",
        "Most passes over the training rows.",
        lambda v: _is_int(v, 1),
        "an integer >= 1",
    ),
    "leaf_fit": Parameter(
        "{'relabel', 'linear'}",
        "How a tree that was grown on a view predicts all outputs: ``'relabel'`` gives leaves\n"
        "values in all of them; ``'linear'`` fits each output to one number per leaf, so that a\n"
        "tree holds one number per leaf and one per output (needs a view of one component).",
        lambda v: isinstance(v, str) and v in ("relabel", "linear"),
        "'relabel' or 'linear'",
        names=("relabel", "linear"),
    ),
    "leaf_values": Parameter(
        "{'auto', 'gradient', 'newton', 'exact'}",
        "Values of leaves: ``'gradient'`` means of the negative gradients, times the best factor\n"
        "per output; ``'newton'`` one Newton step; ``'exact'`` the minimiser of the loss in each\n"
        "leaf, such as medians. ``'auto'``: Newton steps, or exact values where the loss has no\n"
        "second derivative. All are the same for the squared error.",
        lambda v: isinstance(v, str) and v in ("auto", "gradient", "newton", "exact"),
        "'auto', 'gradient', 'newton' or 'exact'",
        names=("auto", "gradient", "newton", "exact"),
    ),
    "max_depth": Parameter(
        "int or None",
        "Largest depth of a leaf; None: no limit.",
        lambda v: v is None or _is_int(v, 1),
        "None or an integer >= 1",
    ),
    "max_leaf_nodes": Parameter(
        "int or None",
        "Largest number of leaves. With a limit the tree grows best-first: the split with the\n"
        "largest gain in the whole tree comes next. None: no limit.",
        lambda v: v is None or _is_int(v, 2),
        "None or an integer >= 2",
    ),
    "min_samples_split": Parameter(
        "int or float",
        "Fewest rows of a node that is split; a float is a fraction of the training rows.",
        lambda v: _count_or_fraction(v, 2),
        "an integer >= 2 or a fraction in (0, 1]",
    ),
    "min_samples_leaf": Parameter(
        "int or float",
        "Fewest rows of a leaf; a float is a fraction of the training rows.",
        lambda v: _count_or_fraction(v, 1),
        "an integer >= 1 or a fraction in (0, 1]",
    ),
    "min_impurity_decrease": Parameter(
        "float",
        "Least gain of a split, per unit of the training weight and per channel, in the units of\n"
        "the (normalised) outputs squared.",
        lambda v: _is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "max_features": Parameter(
        "int, float, 'sqrt', 'log2', 'log2+1' or None",
        "Number of features that are tried at each node or refinement of a rule, drawn anew for\n"
        "each; a float is a fraction of them, ``'log2+1'`` floor(log2(p - 1) + 1) of p. If none\n"
        "of those can split a node, more are drawn. None: all.",
        _is_max_features,
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
    "max_bins": Parameter(
        "int or None",
        "Largest number of bins into which the values of a numeric feature are sorted, missing\n"
        "values apart. A feature with no more distinct values than that is treated exactly.\n"
        "None: every distinct value is a bin, and sums are kept in double precision; exact, and\n"
        "slower.",
        lambda v: v is None or _is_int(v, 2, 255),
        "None or an integer from 2 to 255",
    ),
    "categorical_features": Parameter(
        "None, list of str, list of int or list of bool",
        "Columns to treat as categories, by name, by position or as a mask. None: the columns\n"
        "that are categorical, string or boolean by their type.",
        lambda v: True,  # checked against the columns of X by ingest
        "None or a list of columns",
    ),
    "bootstrap": Parameter(
        "bool",
        "Whether each tree is grown on a bootstrap sample of the rows, or on all of them.",
        _is_bool,
        "True or False",
    ),
    "max_samples": Parameter(
        "int, float or None",
        "Number of rows drawn for a bootstrap sample; a float is a fraction of the training\n"
        "rows. None: as many as there are.",
        lambda v: v is None or _count_or_fraction(v, 1),
        "None, an integer >= 1 or a fraction in (0, 1]",
    ),
    "l2_regularization": Parameter(
        "float",
        "Added to the weight (or curvature) by which the sum of gradients in a leaf is divided:\n"
        "leaves of few rows are drawn to 0.",
        lambda v: _is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "l1_regularization": Parameter(
        "float",
        "Penalty of absolute scores: sums of gradients are moved towards zero by it.",
        lambda v: _is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "subsample": Parameter(
        "float",
        "Share of the rows on which each tree is grown, drawn without replacement.",
        lambda v: _is_real(v, 0.0, 1.0) and v > 0,
        "a number in (0, 1]",
    ),
    "monotonic_cst": Parameter(
        "None, dict or array-like of int of shape (p,)",
        "1: no prediction ever falls as the feature rises; -1: none ever rises; 0: free. A dict\n"
        "names features. Holds for every output (raw predictions, class 1 for labels); not with\n"
        "``leaf_fit='linear'``.",
        _is_monotonic,
        "None, or -1, 0 or 1 for every feature (or for some in a dict)",
    ),
    "estimator": Parameter(
        "None or regressor",
        "What is boosted: None for trees, or any regressor of scikit-learn, such as a linear\n"
        "model. It is fitted to the gradients of all outputs, or with ``leaf_fit='linear'`` to a\n"
        "view of one component. Parameters of trees do not apply.",
        lambda v: v is None or (hasattr(v, "fit") and hasattr(v, "predict")),
        "None or an estimator with fit and predict",
    ),
    "normalize_outputs": Parameter(
        "bool",
        "Whether every output counts alike in the choice of splits, whatever its unit: each is\n"
        "divided by its standard deviation there. Predictions keep the units of Y.",
        _is_bool,
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
        lambda v: (isinstance(v, str) and v == "cv") or (_is_real(v, 0.0, 1.0) and v > 0),
        "'cv' or a number in (0, 1]",
        names=("cv",),
    ),
    "class_weight": Parameter(
        "None, 'balanced', dict or list of dict",
        "Weight of each class: a dict from class to weight, one such dict per output, or\n"
        "``'balanced'`` for weights inversely proportional to how often a class is observed.",
        lambda v: v == "balanced" if isinstance(v, str) else _is_dicts_or_none(v),
        "None, 'balanced', a dict or a list of dicts",
        names=("balanced",),
    ),
    "calibration_folds": Parameter(
        "int or None",
        "Folds whose held-out scores calibrate `predict_proba`, each at the cost of a fit (for\n"
        "an ensemble, of 10 members). None: no `predict_proba`.",
        lambda v: v is None or _is_int(v, 2),
        "None or an integer >= 2",
    ),
    "oob_score": Parameter(
        "bool or callable",
        "Whether to predict every training row by the trees that were not grown on it, and to\n"
        "score that (needs ``bootstrap=True``): r2 averaged over outputs, or accuracy. A\n"
        "callable ``(y_true, y_pred) -> float`` scores otherwise.",
        lambda v: _is_bool(v) or callable(v),
        "True, False or a callable",
    ),
    "early_stopping": Parameter(
        "bool",
        "Whether to stop when ``n_iter_no_change`` rounds have brought nothing better on the\n"
        "validation rows: those of ``eval_set``, or a share of the training rows. Trees after\n"
        "the best round are dropped.",
        _is_bool,
        "True or False",
    ),
    "validation_fraction": Parameter(
        "float",
        "Share of the rows that are set aside for early stopping if fit gets no ``eval_set``.",
        lambda v: _is_real(v, 0.0, 1.0) and 0 < v < 1,
        "a number in (0, 1)",
    ),
    "n_iter_no_change": Parameter(
        "int",
        "Rounds without anything better after which early stopping stops.",
        lambda v: _is_int(v, 1),
        "an integer >= 1",
    ),
    "eval_metric": Parameter(
        "None, str or callable",
        "What early stopping looks at, and what ``history_`` keeps beside the loss: None for the\n"
        "loss itself, a name in `ramify.metrics.METRICS`, or a callable ``(y_true, y_pred) ->\n"
        "float`` for which larger is better.",
        _is_eval_metric,
        "None, a callable or one of " + ", ".join(map(repr, METRICS)),
        names=tuple(METRICS),
    ),
    "decoding": Parameter(
        "str or Decoder",
        "How probabilities become the label sets of `predict` (multi-label problems):\n"
        "``'threshold'``, the labels above 0.5; ``'subset'``, ``'f1'``, ``'jaccard'`` or\n"
        "``'top_k'``, the best decision for that measure, as in `ramify.decoding`; a Decoder,\n"
        "such as ``decoding.TopK(3)``; ``'known_label_set'`` (rules only), the best of the label\n"
        "sets seen in training. ``'auto'``: what suits the model, the threshold for trees and\n"
        "boosting, the best labelling for graphs, known label sets for rules with a loss of\n"
        "whole rows.",
        is_decoding,
        "a Decoder or one of " + ", ".join(map(repr, _DECODINGS)),
        names=_DECODINGS,
    ),
    "warm_start": Parameter(
        "bool",
        "Whether a second call of fit adds members, up to ``n_estimators``, to those there are.",
        _is_bool,
        "True or False",
    ),
    "random_state": Parameter(
        "int, RandomState, Generator or None",
        "Source of chance: ties between splits, drawn rows, features, cuts and projections. An\n"
        "integer gives the same model every time, for any number of threads.",
        _is_random_state,
        "None, an integer in [0, 2**32 - 1], a RandomState or a Generator",
    ),
    "n_jobs": Parameter(
        "int or None",
        "Number of threads; None: 1 (or what a joblib context says), -1: all processors.",
        lambda v: v is None or (_is_int(v, -(2**31)) and v != 0),
        "None or an integer other than 0",
    ),
    "verbose": Parameter(
        "int",
        "1 shows a progress bar with the time left on standard error.",
        lambda v: _is_bool(v) or _is_int(v, 0),
        "an integer >= 0",
    ),
}

#: What ``aggregation`` means to graph ensembles.
GRAPH_AGGREGATION = Parameter(
    "{'mam', 'amm', 'mve'}",
    "How members are combined. ``'mam'``: the best labelling of the averaged potentials, on\n"
    "the union of all graphs (approximate inference); ``'amm'``: the average of the members'\n"
    "max-marginals (exact on trees); ``'mve'``: a majority vote on each label.",
    _is_one_of("mam", "amm", "mve"),
    "'mam', 'amm' or 'mve'",
    names=("mam", "amm", "mve"),
)


class InvalidParameterError(ValueError, TypeError):
    """A constructor parameter has a value that it cannot have."""


def check_parameters(estimator: Any) -> None:
    """Hold an estimator's parameters against their declarations.

    Raises
    ------
    InvalidParameterError
        Naming the parameter, what it may be and what it is.
    """
    for name, value in estimator.get_params(deep=False).items():
        parameter = declaration_of(type(estimator), name)
        if not parameter.accepts(value):
            raise InvalidParameterError(
                f"{name} of {type(estimator).__name__} must be {parameter.expected}; "
                f"got {value!r}.{_did_you_mean(value, parameter.names)}"
            )


def declaration_of(cls: Any, name: str) -> Parameter:
    """Find what a parameter means to an estimator class.

    A class may give a name that it shares with others a meaning of its own, in
    ``_own_declarations``.
    """
    own: dict[str, Parameter] = getattr(cls, "_own_declarations", {})
    return own.get(name, PARAMETERS[name])


def _did_you_mean(value: Any, names: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(value.lower(), names, n=1) if isinstance(value, str) else ()
    return f" Did you mean {near[0]!r}?" if near else ""


def documented(cls: T) -> T:
    """Write the parameters of the constructor into the class docstring at ``{parameters}``."""
    entries = []
    for name, argument in signature(cls).parameters.items():
        if argument.kind is Argument.VAR_KEYWORD:
            raise TypeError(f"{cls.__name__} must name its parameters")
        parameter = declaration_of(cls, name)
        entries.append(
            f"{name} : {parameter.type}, default={argument.default!r}\n"
            + indent(parameter.doc, "    ")
        )
    # Python up to 3.12 leaves a docstring indented as it stands in the source.
    cls.__doc__ = cleandoc(cls.__doc__ or "").replace("{parameters}", "\n".join(entries))
    return cls


def defaults(**changed: Any) -> Callable[[T], T]:
    """Give a class its base's constructor with other defaults.

    Parameters
    ----------
    **changed : object
        New defaults of parameters of the base's constructor.
    """

    def change(cls: T) -> T:
        base: Any = cls.__mro__[1].__init__  # type: ignore[misc]
        inherited = signature(base)

        def construct(self: Any, **parameters: Any) -> None:
            base(self, **{**changed, **parameters})

        construct.__signature__ = inherited.replace(  # type: ignore[attr-defined]
            parameters=[
                argument.replace(default=changed.get(name, argument.default))
                for name, argument in inherited.parameters.items()
            ]
        )
        cls.__init__ = construct  # type: ignore[misc]
        return cls

    return change
