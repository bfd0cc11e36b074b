"""Parameters of rules."""

from __future__ import annotations

from polyleaf.estimators.parameters._checks import (
    Parameter,
    count_or_fraction,
    is_int,
    is_one_of,
    is_real,
)

PARAMETERS: dict[str, Parameter] = {
    "n_rules": Parameter(
        "int",
        "Number of rules, the default rule included.",
        lambda v: is_int(v, 1),
        "an integer >= 1",
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
        "the largest gain of a single output that another must reach to be in the head.",
        lambda v: count_or_fraction(v, 1),
        "an integer >= 1 or a share in (0, 1]",
    ),
    "step": Parameter(
        "{'newton', 'guarded'}",
        "``'guarded'`` halves the head of a rule until the loss of the training rows does not\n"
        "rise; ``'newton'`` takes it as it is.",
        is_one_of("newton", "guarded"),
        "'newton' or 'guarded'",
        names=("newton", "guarded"),
    ),
    "label_bins": Parameter(
        "int or None",
        "Approximate the search for conditions, for many labels and a loss of whole rows: labels\n"
        "whose scores would be alike share one, in this many bins for either sign. Heads are\n"
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
        "Fewest rows of its sample that a rule covers, however often each was drawn; a float is\n"
        "a fraction of the rows.",
        lambda v: count_or_fraction(v, 1),
        "an integer >= 1 or a fraction in (0, 1]",
    ),
    "l1_regularization": Parameter(
        "float",
        "Penalty of absolute scores: sums of gradients are moved towards zero by it. That is the\n"
        "least of the penalised objective where labels do not depend on each other, and near it\n"
        "for ``loss='examplewise_logistic'``.",
        lambda v: is_real(v, 0.0),
        "a finite number >= 0",
    ),
}
