"""The parameter `decoding`: how probabilities become the label sets that `predict` returns.

The rule sees the probability of each label alone, and needs nothing from the training rows; rules
that do are for `TunedDecoder`, which holds rows back for them.
"""

from __future__ import annotations

from typing import Any

from polyleaf import decoding
from polyleaf.decoding import Decoder
from polyleaf.files.parameters import parameter_to_json

#: Names of the rules that need nothing from the training rows.
PLAIN_RULES = ("threshold", "subset", "f1", "jaccard", "top_k")


def check_needs_no_label_sets(rule: Any, estimator_name: str) -> None:
    """Raise a ValueError if the rule needs label sets that the model does not keep."""
    if rule == "known_label_set" or isinstance(rule, decoding.KnownLabelSet):
        raise ValueError(
            f"decoding of {estimator_name} must be 'auto', one of "
            f"{', '.join(map(repr, PLAIN_RULES))} or such a Decoder; got {rule!r}, which needs "
            "the label sets of the training rows. Use "
            f"TunedDecoder({estimator_name}(...), decoding='known_label_set')."
        )


def is_decoding(value: Any) -> bool:
    """Whether a value can be the parameter `decoding` of a classifier.

    Raises
    ------
    ValueError, TypeError
        With a message of its own, if it is neither "auto" nor a decoder that works without
        probabilities of held-out rows.
    """
    if isinstance(value, str) and value == "auto":
        return True
    rule = decoding.resolve(value)
    if rule.needs_probabilities:
        raise ValueError(
            f"decoding must be a rule that needs no held-out rows; got {value!r}. Wrap the "
            f"classifier: TunedDecoder(classifier, decoding={value!r})."
        )
    rule.check_params()
    return True


def decoding_to_json(value: Any) -> Any:
    """Turn a `decoding` parameter into JSON's types, for model files."""
    if not isinstance(value, Decoder):
        return value
    names = {cls: name for name, cls in decoding.DECODERS.items()}
    if type(value) not in names:
        raise TypeError(
            f"A model file can hold polyleaf's own decoders; got {value!r:.80}. Change it with "
            "set_params, or pickle the model."
        )
    parameters = value.get_params(deep=False)
    stored = {
        key: parameter_to_json(f"decoding's {key}", item) for key, item in parameters.items()
    }
    return {"decoder": names[type(value)], "parameters": stored}


def decoding_from_json(stored: Any) -> Any:
    """Undo `decoding_to_json`.

    Raises
    ------
    ValueError
        If it is not of that form.
    """
    if isinstance(stored, str):
        return stored
    if not isinstance(stored, dict) or set(stored) != {"decoder", "parameters"}:
        raise ValueError(f"Expected a decoder; got {stored!r:.80}.")
    name, parameters = stored["decoder"], stored["parameters"]
    if name not in decoding.DECODERS or not isinstance(parameters, dict):
        raise ValueError(f"Expected a decoder; got {stored!r:.80}.")
    cls: Any = decoding.DECODERS[name]
    if set(parameters) != set(cls().get_params(deep=False)):
        raise ValueError(f"Expected the parameters of {cls.__name__}; got {sorted(parameters)}.")
    return cls(**parameters)
