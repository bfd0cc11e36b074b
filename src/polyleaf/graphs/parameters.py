"""Parameters of graphs."""

from __future__ import annotations

from polyleaf.estimator.parameters import Added, Parameter, is_bool, is_int, is_one_of, is_real
from polyleaf.estimator.shared_parameters import SHARED_PARAMETERS
from polyleaf.files.parameters import Stored
from polyleaf.graphs.kernels import KERNELS
from polyleaf.graphs.registry import parameter_from_json, parameter_to_json, resolve
from polyleaf.graphs.solver import MARGIN_LOSSES, SCALED_CONSTANT

GRAPH_PARAMETERS: dict[str, Parameter] = SHARED_PARAMETERS | {
    "graph": Parameter(
        "str, array-like of shape (n_edges, 2), networkx.Graph or GraphGenerator",
        "Graph over the labels. ``'spanning_tree'``: a maximum spanning tree of random weights;\n"
        "``'recursive_tree'``, ``'random_pairs'``; ``'chow_liu'``: the tree with the most mutual\n"
        "information between labels; edges of your own, by position or name of the labels; or an\n"
        "instance such as ``graphs.ChowLiu(row_share=0.5)``.",
        lambda value: resolve(value) is not None,  # raises with a message of its own
        "a name, edges or a GraphGenerator",
        stored=Stored(lambda name, value: parameter_to_json(value), parameter_from_json),
    ),
    "completion": Parameter(
        "{'zero', 'consistent'}",
        "With ``aggregation='mam'``: how a member scores an edge that its graph lacks.\n"
        "``'zero'``: by 0. ``'consistent'``: its dual variables are completed as if the two\n"
        "labels were independent given the example. Useful only if C is tiny: sums over\n"
        "untrained edges do not cancel.",
        is_one_of("zero", "consistent"),
        "'zero' or 'consistent'",
        names=("zero", "consistent"),
    ),
    "kernel": Parameter(
        "{'auto', 'linear', 'cosine', 'poly', 'rbf', 'precomputed'} or callable",
        "Kernel of the rows of X. ``'auto'``: linear, or RBF if a quick cross-validation of one\n"
        "graph on at most 1,000 rows finds fewer wrong labels (with a dense X of 100 to 3,000\n"
        "rows). ``'linear'`` and ``'cosine'`` (linear on rows of length 1) take sparse X and\n"
        "never make a matrix of n x n if n is large. ``'precomputed'``: X is the kernel matrix\n"
        "with the training rows. A function takes two matrices of rows.",
        lambda v: callable(v) or (isinstance(v, str) and v in ("auto", *KERNELS)),
        "'auto', 'linear', 'cosine', 'poly', 'rbf', 'precomputed' or a function",
        names=("auto", *KERNELS),
    ),
    "degree": Parameter(
        "int",
        "Degree of the polynomial kernel.",
        lambda v: is_int(v, 1, 100),
        "an integer from 1 to 100",
    ),
    "gamma": Parameter(
        "'scale' or float",
        "Factor in ``(gamma <x, z> + coef0)^degree`` and ``exp(-gamma |x - z|^2)``. ``'scale'``:\n"
        "1 / (n_features * variance of X).",
        lambda v: v == "scale" if isinstance(v, str) else is_real(v, 0.0) and v > 0,
        "'scale' or a number > 0",
        names=("scale",),
    ),
    "coef0": Parameter(
        "float",
        "Constant of the polynomial kernel.",
        lambda v: is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "intercept_scaling": Parameter(
        "float",
        "Size of a constant feature beside those of the kernel, whose weights are intercepts:\n"
        "the larger, the less regularised. 0: no intercept, as in the paper.",
        lambda v: is_real(v, 0.0, 1e6),
        "a number from 0 to 1e6",
    ),
    "C": Parameter(
        "'auto', 'scale', a multiple such as '10*scale', or float",
        "Weight of the margin violations: larger values fit the training rows more closely.\n"
        "``'scale'``: 1 over the mean of k(x, x), so that the scale of the features does not\n"
        "matter; ``'10*scale'`` is ten times that. ``'auto'``: one of these two, chosen like the\n"
        "kernel.",
        lambda v: (
            v == "auto"
            or bool(
                (found := SCALED_CONSTANT.fullmatch(v)) and 0.0 < float(found[1] or 1.0) <= 1e12
            )
            if isinstance(v, str)
            else is_real(v, 0.0, 1e12) and v > 0
        ),
        "'auto', 'scale', a multiple such as '10*scale', or a number > 0 and at most 1e12",
        names=("auto", "scale"),
    ),
    "scale_features": Parameter(
        "bool",
        "With the kernels ``'linear'``, ``'poly'`` and ``'rbf'``: whether features are scaled to\n"
        "mean 0 and variance 1 first. A feature that is 0 in most rows keeps its zeros, and is\n"
        "divided by the root mean square of the others; so are all features of a large sparse X.",
        is_bool,
        "True or False",
        added=Added("0.1.0", before=False),
    ),
    "margin_loss": Parameter(
        "{'edge', 'node', 'hamming'}",
        "Margin that a wrong labelling must keep: ``'edge'``: its wrong edges, as in the paper;\n"
        "``'node'``: errors at both ends of the edges, so that a label counts once per edge;\n"
        "``'hamming'``: wrong labels.",
        is_one_of(*MARGIN_LOSSES),
        "'edge', 'node' or 'hamming'",
        names=MARGIN_LOSSES,
    ),
    "tol": Parameter(
        "float",
        "Training ends when the duality gap is at most this share of the dual objective.",
        lambda v: is_real(v, 0.0, 1.0) and v > 0,
        "a number in (0, 1]",
    ),
    "max_iter": Parameter(
        "int",
        "Largest number of passes over the training rows.",
        lambda v: is_int(v, 1),
        "an integer >= 1",
    ),
    "calibration_folds": Parameter(
        "int or None",
        "Number of folds whose held-out scores calibrate `predict_proba`; each costs a fit (for\n"
        "an ensemble, of 10 members). None: no `predict_proba`.",
        lambda v: v is None or is_int(v, 2),
        "None or an integer >= 2",
    ),
    "aggregation": Parameter(
        "{'mam', 'amm', 'mve'}",
        "How members are combined. ``'mam'``: the best labelling of the averaged potentials, on\n"
        "the union of all graphs (approximate inference); ``'amm'``: the average of the members'\n"
        "max-marginals (exact on trees); ``'mve'``: a majority vote on each label.",
        is_one_of("mam", "amm", "mve"),
        "'mam', 'amm' or 'mve'",
        names=("mam", "amm", "mve"),
    ),
}
