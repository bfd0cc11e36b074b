"""Parameters of estimators as JSON, for model files, without loss."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

_PLAIN = (str, bool, int, float, type(None))


def parameter_to_json(name: str, value: Any) -> Any:
    """Turn a parameter into JSON's types; arrays and tuples become lists.

    Parameters
    ----------
    name : str
        For the error message.
    value : None, str, number or one-dimensional sequence of those
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        return value
    if hasattr(value, "tolist"):  # NumPy's arrays, pandas' indices
        value = value.tolist()
    if isinstance(value, Sequence):
        return [parameter_to_json(name, item) for item in value]
    raise TypeError(
        f"A model file can hold strings, numbers and lists of them as {name}; got {value!r:.80}. "
        "Change it with set_params, or pickle the model."
    )


class Stored(NamedTuple):
    """How a model file holds a parameter.

    Attributes
    ----------
    write : callable (name, value) -> JSON's types
        The name is for messages.
    read : callable (stored) -> value
        A ValueError if it was not written so.
    """

    write: Callable[[str, Any], Any]
    read: Callable[[Any], Any]


def _as_it_is(stored: Any) -> Any:
    return stored


def _seed_or_none(name: str, state: Any) -> int | None:
    """Keep a seed; generators are not kept."""
    return int(state) if isinstance(state, numbers.Integral) else None


#: Strings, numbers and lists of them.
PLAIN = Stored(parameter_to_json, _as_it_is)
#: Whole numbers; generators of random numbers are stored as None.
SEED = Stored(_seed_or_none, _as_it_is)


def class_weight_to_json(class_weight: Any) -> Any:
    """Turn class weights into JSON's types: dicts become lists of [class, weight].

    Parameters
    ----------
    class_weight : None, str, dict or sequence of dicts

    Examples
    --------
    >>> class_weight_to_json({0: 1, 1: 2.5})
    {'classes': [[0, 1], [1, 2.5]]}
    >>> class_weight_to_json([{"a": 3.0}])
    {'outputs': [{'classes': [['a', 3.0]]}]}
    """
    if class_weight is None or isinstance(class_weight, str):
        return class_weight
    if isinstance(class_weight, Mapping):
        pairs = [parameter_to_json("class_weight", pair) for pair in class_weight.items()]
        return {"classes": pairs}
    return {"outputs": [class_weight_to_json(weights) for weights in class_weight]}


def class_weight_from_json(stored: Any) -> Any:
    """Undo `class_weight_to_json`.

    Raises
    ------
    ValueError
        If it is not of that form.
    """
    if stored is None or isinstance(stored, str):
        return stored
    if isinstance(stored, dict) and set(stored) == {"outputs"}:
        outputs = stored["outputs"]
        if isinstance(outputs, list) and all(isinstance(each, dict) for each in outputs):
            return [_dict_from_json(each) for each in outputs]
    return _dict_from_json(stored)


def _dict_from_json(stored: Any) -> dict[Any, Any]:
    pairs = stored.get("classes") if isinstance(stored, dict) and len(stored) == 1 else None
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, _PLAIN) for x in pair)
        for pair in pairs
    ):
        raise ValueError(
            f"Expected class weights as pairs of class and weight; got {stored!r:.80}."
        )
    return dict(pairs)


def stored_entropy(stored: Any) -> list[int]:
    """Check a seed from a model file.

    Raises
    ------
    ValueError
        If it is not a list of integers in [0, 2**32).
    """
    if not isinstance(stored, list) or not all(
        type(number) is int and 0 <= number < 2**32 for number in stored
    ):
        raise ValueError(f"Expected a seed as a list of integers; got {stored!r:.80}.")
    return stored


#: Weights of classes.
CLASS_WEIGHT = Stored(lambda name, value: class_weight_to_json(value), class_weight_from_json)
