"""Sources of chance that users give, refused by type before anything looks into them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state

from polyleaf.checks.numbers import described


def read_random_state(value: Any) -> RandomState:
    """Give the generator that a user's ``random_state`` stands for, or raise a ValueError.

    Examples
    --------
    >>> read_random_state(0).randint(10)
    5
    >>> read_random_state([3])
    Traceback (most recent call last):
        ...
    ValueError: random_state must be None, an integer from 0 to 4294967295 or a RandomState; got a
    list.
    """
    is_seed = isinstance(value, Integral) and not isinstance(value, bool)
    if is_seed:
        is_seed = 0 <= int(value) < 2**32
    if not (is_seed or value is None or value is np.random or isinstance(value, RandomState)):
        raise ValueError(
            "random_state must be None, an integer from 0 to 4294967295 or a RandomState; got "
            f"{described(value)}."
        )
    rng: RandomState = check_random_state(value)
    return rng
