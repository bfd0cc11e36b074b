"""What a mistyped name may have been meant to be."""

import difflib
from collections.abc import Iterable, Sequence

from polyleaf.checks.numbers import shown

#: What other libraries call it.
_SYNONYMS = {
    "mse": "squared_error",
    "rmse": "squared_error",
    "l2": "squared_error",
    "reg:squarederror": "squared_error",
    "mae": "absolute_error",
    "l1": "absolute_error",
    "reg:absoluteerror": "absolute_error",
    "pinball": "quantile",
    "log_loss": "logistic",
    "logloss": "logistic",
    "bce": "logistic",
    "binary_crossentropy": "logistic",
    "cross_entropy": "softmax",
    "multinomial": "softmax",
}
#: At most so many names are explained.
_MOST_NEAREST = 5


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Suggest the nearest known name, for the end of an error message.

    Upper and lower case count as equal. The sentence begins with a blank; it is empty where no
    name is near, or where what was given is no text.

    Examples
    --------
    >>> did_you_mean("Gausian", ["gaussian", "hadamard"])
    " Did you mean 'gaussian'?"
    >>> did_you_mean("tree", ["gaussian", "hadamard"])
    ''
    >>> did_you_mean("mse", ["squared_error", "absolute_error"])
    " Did you mean 'squared_error'?"
    """
    if not isinstance(name, str):
        return ""
    known = list(known)
    meant = _SYNONYMS.get(name.lower())
    if meant in known:
        return f" Did you mean {meant!r}?"
    spelt = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), spelt, n=1)
    return f" Did you mean {spelt[near[0]]!r}?" if near else ""


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise a ValueError unless a value is one of some names.

    Examples
    --------
    >>> check_choice("method", "tree", ["Mean", "Tree"])
    Traceback (most recent call last):
        ...
    ValueError: method must be one of 'Mean', 'Tree'; got 'tree'. Did you mean 'Tree'?
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, known))}; got {shown(value, 60)}."
            f"{did_you_mean(value, known)}"
        )


def nearest_names(wanted: Sequence[str], known: Sequence[str]) -> str:
    """Say which known names are nearest to those that were not found.

    The text begins with a semicolon, for the end of a sentence; it is empty where none is near.

    Examples
    --------
    >>> nearest_names(["yields", "hieght"], ["rain", "Yield", "height"])
    "; the nearest are 'Yield' for 'yields', 'height' for 'hieght'"
    >>> nearest_names(["label"], ["rain"])
    ''
    """
    spelt = {other.lower(): other for other in reversed(known)}
    found = []
    for name in wanted[:_MOST_NEAREST]:
        near = difflib.get_close_matches(name.lower(), spelt, n=2)
        found += (
            [f"{' or '.join(repr(spelt[each]) for each in near)} for {name!r}"] if near else []
        )
    if not found:
        return ""
    return f"; the nearest {'is' if len(found) == 1 else 'are'} {', '.join(found)}"
