"""Parameters of rules."""

from __future__ import annotations

from typing import Any

from polyleaf.estimator.parameters import (
    Added,
    Parameter,
    count_or_fraction,
    is_bool,
    is_int,
    is_one_of,
    is_real,
)
from polyleaf.estimator.shared_parameters import SHARED_PARAMETERS, STORED_LOSS
from polyleaf.losses import LOSSES, is_for
from polyleaf.projections import Projection, resolve
from polyleaf.trees.parameters import TREE_PARAMETERS


def _is_view(value: Any) -> bool:
    if not isinstance(value, str | Projection):
        return False
    view = resolve(value)  # raises with a message of its own
    assert view is not None
    view.check_params()
    return True


RULE_PARAMETERS: dict[str, Parameter] = SHARED_PARAMETERS | {
    "projection": Parameter(
        "None, str or Projection",
        "View of the outputs by which conditions are chosen, a new one for every rule; heads are\n"
        "those of all outputs. None: all outputs. A name such as ``'subsample'``, or an instance\n"
        "such as ``projections.Gaussian(n_components='log')``. With ``'round_robin'`` each rule\n"
        "sees and predicts one output. Not for losses of whole rows; for complete heads only.",
        lambda v: v is None or _is_view(v),
        "None, a name or a Projection",
        stored=TREE_PARAMETERS["projection"].stored,
        added=Added("0.1.0", before=None),
    ),
    "n_rules": Parameter(
        "int",
        "Number of rules, including the default rule.",
        lambda v: is_int(v, 1, 2**31 - 1),
        "an integer >= 1, below 2**31",
    ),
    "huber_delta": Parameter(
        "float",
        "Where Huber's loss becomes linear, in standard deviations of an output if outputs are\n"
        "normalised.",
        lambda v: is_real(v, 0.0) and v > 0,
        "a finite number > 0",
    ),
    "head": Parameter(
        "{'complete', 'single', 'partial'}",
        "For how many outputs a rule has scores: all of them, one, or `head_size`. A rule keeps\n"
        "its outputs while it is refined.",
        is_one_of("complete", "single", "partial"),
        "'complete', 'single' or 'partial'",
        names=("complete", "single", "partial"),
    ),
    "head_size": Parameter(
        "int or float",
        "With ``head='partial'``: the number of outputs of a head, or, as a float, the share of\n"
        "the largest gain of a single output that the others must reach to be in the head.",
        lambda v: count_or_fraction(v, 1),
        "an integer >= 1 or a share in (0, 1]",
    ),
    "step": Parameter(
        "{'newton', 'guarded'}",
        "``'guarded'`` halves the head of a rule, even of the default rule, until the training\n"
        "loss does not rise; ``'newton'`` takes heads as they are, as Rapp et al. 2020 do, and\n"
        "warns if the loss has risen by the end.",
        is_one_of("newton", "guarded"),
        "'newton' or 'guarded'",
        names=("newton", "guarded"),
    ),
    "set_probabilities": Parameter(
        "{'auto', 'chain_rule', 'loss'}",
        "With a loss of whole rows: how `predict_proba` and decoders compute the probability of\n"
        "a known label set. ``'chain_rule'``: proportional to the product of its labels' own\n"
        "probabilities; ``'loss'``: proportional to exp(-loss); ``'auto'``: the better of both\n"
        "on a fifth of the rows, with at most 100 rules learnt from the others.",
        is_one_of("auto", "chain_rule", "loss"),
        "'auto', 'chain_rule' or 'loss'",
        names=("auto", "chain_rule", "loss"),
        added=Added("0.1.0", before="loss"),
    ),
    "label_bins": Parameter(
        "int or None",
        "Approximate the search for conditions, for many labels and a loss of whole rows:\n"
        "labels with similar scores share one, in this many bins for either sign. Heads are\n"
        "exact in any case. None: exact search. Not for heads of a single output.",
        lambda v: v is None or is_int(v, 1),
        "None or an integer >= 1",
    ),
    "max_conditions": Parameter(
        "int or None",
        "Largest number of conditions in a body; None: no limit.",
        lambda v: v is None or is_int(v, 1),
        "None or an integer >= 1",
    ),
    "min_coverage": Parameter(
        "int or float",
        "Fewest rows of its sample that a rule covers, counting each row once; a float is a\n"
        "fraction of the rows.",
        lambda v: count_or_fraction(v, 1),
        "an integer >= 1 or a fraction in (0, 1]",
    ),
    "l1_regularization": Parameter(
        "float",
        "Penalty of absolute scores: it moves sums of gradients towards zero. That minimises the\n"
        "penalised objective if labels do not depend on each other, and approximates the minimum\n"
        "for ``loss='examplewise_logistic'``.",
        lambda v: is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "learning_rate": SHARED_PARAMETERS["learning_rate"].meaning(
        "Factor of every head (shrinkage); the default rule is not shrunk."
    ),
    "l2_regularization": Parameter(
        "float",
        "Penalty of squared scores.",
        lambda v: is_real(v, 0.0),
        "a finite number >= 0",
    ),
    "bootstrap": SHARED_PARAMETERS["bootstrap"].meaning(
        "Whether each rule is refined on a bootstrap sample of the rows, or on all of them;\n"
        "its head is fitted to all rows it covers in any case.",
    ),
    "early_stopping": Parameter(
        "bool",
        "Whether to stop when ``n_iter_no_change`` rules have not lowered the loss of held-out\n"
        "rows; rules after the smallest loss are dropped.",
        is_bool,
        "True or False",
    ),
    "validation_fraction": SHARED_PARAMETERS["validation_fraction"].meaning(
        "Share of the rows to hold out for early stopping."
    ),
    "n_iter_no_change": SHARED_PARAMETERS["n_iter_no_change"].meaning(
        "Rules without a smaller loss after which early stopping stops."
    ),
}


def rule_declarations(task: str, loss_doc: str) -> dict[str, Parameter]:
    """Declare the parameters of a rule learner.

    Parameters
    ----------
    task : {"multilabel", "regression"}
        What its losses are for.
    loss_doc : str
        What they are.
    """
    names = tuple(name for name in LOSSES if is_for(name, "rules", task))
    choices = ", ".join(map(repr, names))
    known = [LOSSES[name].__name__ for name in names]
    classes = ", ".join(known[:-1]) + f" or {known[-1]}"
    return RULE_PARAMETERS | {
        "loss": Parameter(
            f"{{{choices}}} or Loss",
            f"{loss_doc}\nOr an instance of {classes} of `polyleaf.losses`.",
            lambda value: is_for(value, "rules", task),
            f"one of {choices}, or an instance of {classes} of polyleaf.losses",
            names=names,
            stored=STORED_LOSS,
        ),
    }
