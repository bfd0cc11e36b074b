"""Decoders by name: for the `decoding` parameter and for model files."""

from __future__ import annotations

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.decoding._base import Decoder
from polyleaf.decoding._bayes import ExampleF1, Jaccard, KnownLabelSet, Subset
from polyleaf.decoding._rules import Threshold, TopK
from polyleaf.decoding._thresholds import LabelThresholds, TunedThreshold

#: All decoders by name.
DECODERS: dict[str, type[Decoder]] = {
    "threshold": Threshold,
    "top_k": TopK,
    "subset": Subset,
    "f1": ExampleF1,
    "jaccard": Jaccard,
    "known_label_set": KnownLabelSet,
    "tuned_threshold": TunedThreshold,
    "label_thresholds": LabelThresholds,
}


def resolve(decoding: str | Decoder) -> Decoder:
    """Return the decoder that a `decoding` parameter names.

    Parameters
    ----------
    decoding : str or Decoder
        A key of `DECODERS`, which stands for that class with its defaults, or an instance,
        which is returned.

    Returns
    -------
    Decoder

    Examples
    --------
    >>> from polyleaf.decoding import resolve
    >>> resolve("f1")
    ExampleF1()
    >>> resolve("jacard")
    Traceback (most recent call last):
        ...
    ValueError: decoding must be one of 'threshold', 'top_k', ...
    or a Decoder; got 'jacard'. Did you mean 'jaccard'?
    """
    if isinstance(decoding, Decoder):
        return decoding
    names = ", ".join(map(repr, DECODERS))
    if isinstance(decoding, str):
        if decoding in DECODERS:
            return DECODERS[decoding]()
        hint = did_you_mean(decoding, DECODERS)
        raise ValueError(
            f"decoding must be one of {names} or a Decoder; got {shown(decoding)}.{hint}"
        )
    hint = ""
    if isinstance(decoding, type) and issubclass(decoding, Decoder):
        hint = f" Did you mean {decoding.__name__}()?"
    raise TypeError(f"decoding must be one of {names} or a Decoder; got {shown(decoding)}.{hint}")
