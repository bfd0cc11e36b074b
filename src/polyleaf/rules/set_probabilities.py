"""Choose the form of the probabilities of label sets by a hold-out.

A loss of whole rows leaves open what a label set's probability is. exp(-loss) spreads over many
label sets: where hundreds are known, the unlikely ones together outweigh the likely ones. The
chain rule, the product of the labels' own probabilities, does not, but is too sure of itself where
scores are large and hardly a label set comes twice. Rules learnt from a part of the rows tell
which one is nearer to the labels of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import whole_rows
from polyleaf.losses import MarginLoss
from polyleaf.rules.label_sets import KnownLabelSets, SetProbabilities
from polyleaf.rules.statistics import training_label_sets
from polyleaf.rules.training import train_few_rules

if TYPE_CHECKING:
    from polyleaf.data import TrainingData

#: Share of the rows to hold out.
_HELD_OUT = 0.2
#: Rules that are learnt at most.
_MOST_RULES = 100


def choose_set_probabilities(
    estimator: Any, data: TrainingData, loss: MarginLoss, labels: NDArray[np.int8]
) -> SetProbabilities:
    """Give the form whose probabilities of labels have the smaller squared error.

    Parameters
    ----------
    estimator : RuleClassifier
        With ``set_probabilities="auto"``.
    data : TrainingData
    loss : MarginLoss
        Of whole rows.
    labels : ndarray of shape (n_rows, n_channels), int8
        0 or 1.

    Returns
    -------
    {"chain_rule", "loss"}
    """
    usable = data.weighted_rows
    rng = estimator._rng()
    order = rng.permutation(usable)
    n_held_out = int(np.ceil(_HELD_OUT * usable.size))
    train, test = np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
    known = data.take(train)
    rules = train_few_rules(estimator, known, loss, labels[train], _MOST_RULES, rng)
    sets = training_label_sets(
        labels[train],
        known.targets,
        lambda: rules.scores(whole_rows(known.encoded), estimator._n_threads()),
    )
    scores = rules.scores(data.encoded[test], estimator._n_threads())
    observed = data.targets.observed
    counts = None if observed is None else observed[test]
    errors = {
        form: _squared_error(
            KnownLabelSets(loss, sets, form).marginals(scores), labels[test], counts
        )
        for form in get_args(SetProbabilities)
    }
    return min(get_args(SetProbabilities), key=errors.__getitem__)


def _squared_error(
    probabilities: NDArray[np.float64],
    labels: NDArray[np.int8],
    observed: NDArray[np.bool_] | None,
) -> float:
    errors = (probabilities - labels) ** 2
    return float(errors.sum() if observed is None else errors[observed].sum())
