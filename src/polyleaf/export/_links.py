"""How scores of a fitted model become numbers, probabilities and decisions: what exports copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyleaf import decoding, losses
from polyleaf.boosting.base import Boosting
from polyleaf.data import TargetSchema
from polyleaf.estimator.classifier import Classifier
from polyleaf.export._sums import CannotExportError
from polyleaf.rules.base import RuleEstimator

Link = Literal["identity", "exp", "sigmoid", "softmax", "half"]

#: What the sums of a loss go through; "half" is (1 + f) / 2, cut off at 0 and 1.
_LINKS: dict[type[losses.Loss], Link] = {
    losses.SquaredError: "identity",
    losses.AbsoluteError: "identity",
    losses.Huber: "identity",
    losses.Quantile: "identity",
    losses.Poisson: "exp",
    losses.Logistic: "sigmoid",
    losses.ExamplewiseLogistic: "sigmoid",
    losses.Softmax: "softmax",
    losses.SquaredHinge: "half",
    losses.ExamplewiseSquaredHinge: "half",
    losses.ExamplewiseSquaredError: "half",
}


@dataclass(frozen=True, eq=False)
class Reading:
    """What scores of shape (n, n_channels) stand for.

    Attributes
    ----------
    targets : TargetSchema
    link : str
        What scores go through.
    shift, scale : ndarray of shape (n_channels,), or None
        A number is shift + scale * link(score).
    is_share : bool
        Whether the trees average probabilities, or a loss of numbers was minimised: what comes
        is cut off at 0 and 1.
    empty : {"zero", "even"}
        Shares of classes whose sum is 0.
    normalises : bool
        Whether classes of an output are divided by their sum.
    margins : bool
        Whether the decision function gives sums, rather than differences of probabilities.
    label_sets : ndarray of shape (n_sets, n_channels), bool, or None
        Known label sets, of which whole rows are chosen.
    set_form : str
        What the probability of a label set is proportional to.
    cuts_margins : bool
        Whether margins above 1 cost nothing.
    value_shape : tuple of int
        Numbers per output: quantiles.
    """

    targets: TargetSchema
    link: Link = "identity"
    shift: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    is_share: bool = False
    empty: Literal["zero", "even"] = "zero"
    normalises: bool = False
    margins: bool = False
    label_sets: NDArray[np.bool_] | None = None
    set_form: str = "loss"
    cuts_margins: bool = False
    value_shape: tuple[int, ...] = ()

    @property
    def is_grouped(self) -> bool:
        """Whether outputs have several classes."""
        return self.targets.kind in ("multiclass", "multiclass-multioutput")


def read_links(model: Any, needs_link: bool = True) -> Reading:
    """Read what the scores of a model stand for; without `needs_link` any loss will do."""
    targets = model._targets
    if isinstance(model, Boosting):
        reader = model._fitted.reader
        link = _link_of(reader.loss) if needs_link else "identity"
        if not isinstance(model, Classifier):
            shape = (model._trees().n_channels // targets.n_outputs,)
            return Reading(
                targets,
                link,
                np.broadcast_to(reader.shift, (model._trees().n_channels,)),
                np.broadcast_to(reader.scale, (model._trees().n_channels,)),
                value_shape=shape if reader.loss.value_shape else (),
            )
        is_share = "regression" in reader.loss.tasks
        return Reading(targets, link, is_share=is_share, normalises=is_share, margins=True)
    if not isinstance(model, Classifier):
        return Reading(targets)
    if isinstance(model, RuleEstimator):
        loss: Any = model._loss()
        link = _link_of(loss) if needs_link else "identity"
        if loss.decomposable:
            return Reading(targets, link, empty="even", normalises=True, margins=True)
        sets: Any = model._fitted
        return Reading(
            targets,
            link,
            margins=True,
            label_sets=sets.label_sets,
            set_form=sets.set_probabilities,
            cuts_margins=isinstance(loss, losses.ExamplewiseSquaredHinge),
        )
    return Reading(targets, is_share=True)


def _link_of(loss: losses.Loss) -> Link:
    if type(loss) in _LINKS:
        return _LINKS[type(loss)]
    if isinstance(loss, losses.MarginLoss) and type(loss).__module__.startswith("polyleaf."):
        return "half"
    if type(loss).predictions is losses.Loss.predictions:
        return "identity"
    raise CannotExportError(
        f"{loss!r} turns scores into predictions by a Python function of its own, which no format "
        "can hold. Export with outputs=('score',), or minimise one of polyleaf's losses."
    )


@dataclass(frozen=True, eq=False)
class Decision:
    """How labels are chosen.

    Attributes
    ----------
    kind : {"threshold", "top_k", "known_label_set"}
    thresholds : ndarray of shape () or (n_labels,)
    k : int or None
        Number of labels; None: the expected number.
    """

    kind: Literal["threshold", "top_k", "known_label_set"]
    thresholds: NDArray[np.float64]
    k: int | None = None


def read_decision(model: Any, reading: Reading) -> Decision:
    """Read how a classifier chooses labels.

    Raises
    ------
    CannotExportError
        If that is more than thresholds, numbers of labels, or known label sets.
    """
    rule: Any = model.decoding
    half = np.array(0.5)
    if reading.targets.kind != "multilabel":
        return Decision("threshold", half)
    has_sets = reading.label_sets is not None
    if isinstance(rule, str) and rule == "auto":
        return Decision("known_label_set" if has_sets else "threshold", half)
    chosen = decoding.resolve(rule)
    if isinstance(chosen, decoding.KnownLabelSet) and has_sets:
        if not hasattr(chosen, "label_sets_"):
            return Decision("known_label_set", half)
    elif isinstance(chosen, decoding.Threshold):
        return Decision("threshold", np.asarray(chosen.threshold, dtype=np.float64))
    elif isinstance(chosen, decoding.Subset) and not has_sets:
        return Decision("threshold", half)
    elif isinstance(chosen, decoding.TopK) and not has_sets:
        k = None if chosen.k == "expected" else int(chosen.k)
        return Decision("top_k", half, k)
    raise CannotExportError(
        f"decoding={rule!r} searches over label sets, which no graph of operators can do. Export "
        "with outputs=('probability', 'score'), and decode the probabilities with "
        "polyleaf.decoding; or choose decoding='threshold' or 'top_k'."
    )
