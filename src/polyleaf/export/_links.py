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
from polyleaf.graphs.base import GraphEstimator
from polyleaf.rules.base import RuleEstimator

Link = Literal["identity", "exp", "sigmoid", "softmax", "half"]

#: Expected F1 inside a graph takes 8 d^2 bytes per row: 2 MB here.
MOST_F1_LABELS = 500

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
    kind : {"threshold", "top_k", "f1", "jaccard", "known_label_set", "known_by_odds", "labelling"}
        "known_label_set": by the loss of rules; "known_by_odds": by probabilities of labels;
        "labelling": the best labelling of graphs.
    thresholds : ndarray of shape () or (n_labels,)
    k : int or None
        Number of labels; None: the expected number.
    label_sets : ndarray of shape (n_sets, n_labels), bool, or None
        Of "known_by_odds".
    """

    kind: Literal[
        "threshold", "top_k", "f1", "jaccard", "known_label_set", "known_by_odds", "labelling"
    ]
    thresholds: NDArray[np.float64]
    k: int | None = None
    label_sets: NDArray[np.bool_] | None = None


def read_decision(model: Any, reading: Reading) -> Decision:
    """Read how a classifier chooses labels.

    Raises
    ------
    CannotExportError
        If a graph cannot do that.
    """
    rule: Any = model.decoding
    half = np.array(0.5)
    if reading.targets.kind != "multilabel":
        return Decision("threshold", half)
    if isinstance(model, GraphEstimator) and _is_auto(rule):
        return Decision("labelling", half)
    if reading.label_sets is None:
        return read_decoder("threshold" if _is_auto(rule) else rule, reading.targets.n_outputs)
    if _is_auto(rule):
        return Decision("known_label_set", half)
    chosen = decoding.resolve(rule)
    if isinstance(chosen, decoding.KnownLabelSet) and not hasattr(chosen, "label_sets_"):
        return Decision("known_label_set", half)
    if isinstance(chosen, decoding.Threshold):
        return read_decoder(chosen, reading.targets.n_outputs)
    raise CannotExportError(
        f"decoding={rule!r} of a {type(model).__name__} whose loss is of whole rows searches over "
        "the joint distribution of its label sets, which to_onnx does not write. Export with "
        "outputs=('probability', 'score') and decode with polyleaf.decoding; or choose "
        "decoding='auto' or 'threshold', or wrap the model in TunedDecoder, which decodes "
        "probabilities of single labels."
    )


def _is_auto(rule: Any) -> bool:
    return isinstance(rule, str) and rule == "auto"


def read_decoder(rule: Any, n_labels: int) -> Decision:
    """Read how a decoder chooses labels by the probability of each.

    Parameters
    ----------
    rule : str or Decoder
        Fitted, if it learns.
    n_labels : int

    Raises
    ------
    CannotExportError
        If a graph cannot do that.
    """
    chosen = decoding.resolve(rule)
    half = np.array(0.5)
    # Exact types: a subclass may decode in another way.
    if type(chosen) is decoding.Threshold:
        return Decision("threshold", np.asarray(chosen.threshold, dtype=np.float64))
    if type(chosen) is decoding.TunedThreshold:
        return Decision("threshold", np.array(chosen.threshold_, dtype=np.float64))
    if type(chosen) is decoding.LabelThresholds:
        return Decision("threshold", np.asarray(chosen.thresholds_, dtype=np.float64))
    if type(chosen) is decoding.Subset:
        return Decision("threshold", half)
    if type(chosen) is decoding.TopK:
        return Decision("top_k", half, None if chosen.k == "expected" else int(chosen.k))
    if type(chosen) is decoding.Jaccard:
        return Decision("jaccard", half)
    if type(chosen) is decoding.ExampleF1:
        if n_labels <= MOST_F1_LABELS:
            return Decision("f1", half)
        raise CannotExportError(
            f"decoding='f1' inside a graph takes 8 d^2 bytes per row, which is allowed up to "
            f"{MOST_F1_LABELS} labels; got {n_labels}. Export with outputs=('probability', "
            "'score') and decode with polyleaf.decoding; or choose decoding='jaccard', 'top_k' or "
            "'threshold'."
        )
    if type(chosen) is decoding.KnownLabelSet and hasattr(chosen, "label_sets_"):
        return Decision("known_by_odds", half, label_sets=chosen.label_sets_.toarray() > 0)
    raise CannotExportError(
        f"decoding={rule!r} is a Python function that no graph of operators can hold. Export with "
        "outputs=('probability', 'score') and decode the probabilities yourself; or choose one of "
        "polyleaf.decoding."
    )
