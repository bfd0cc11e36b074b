"""Rules as text and as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from polyleaf.checks.numbers import shown
from polyleaf.estimator.parameters import is_int
from polyleaf.rules.base import RuleEstimator
from polyleaf.rules.model import MOST_DIGITS
from polyleaf.rules.reader import RuleReader

#: By which JSON may be indented.
_MOST_SPACES = 100


def check_rules(model: Any, digits: int = 4) -> RuleReader:
    """Raise a TypeError unless the model is a rule learner; give its reader."""
    if not isinstance(model, RuleEstimator):
        raise TypeError(
            "model must be a fitted RuleClassifier or RuleRegressor of polyleaf; got "
            f"{type(model).__name__}."
        )
    return RuleReader(model, digits)


def check_count(value: Any, name: str, low: int, high: int | None = None) -> None:
    """Raise a ValueError unless the value is an integer within limits."""
    if not is_int(value, low, high):
        expected = f">= {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be an integer {expected}; got {shown(value, 80)}.")


def rules_text(
    model: Any, *, max_rules: int | None = None, max_outputs: int = 5, digits: int = 4
) -> str:
    """Write rules as text, one per line, in the order in which they were learnt.

    Parameters
    ----------
    model : RuleClassifier or RuleRegressor
        Fitted.
    max_rules : int, optional
        Number of rules to write; all by default.
    max_outputs : int, default=5
        Scores to write per head, largest first; the others are counted.
    digits : int, default=4
        Fewest significant digits of thresholds, from 1 to 17. A threshold has more where fewer
        would move a training value to its other side, so that a sentence holds for the training
        rows that its rule covers, and for no others.

    Returns
    -------
    str

    Notes
    -----
    No comparison holds for a missing value, ``!=`` included; and categories that `fit` has not
    seen are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import RuleRegressor
    >>> from polyleaf.inspection import rules_text
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> model = RuleRegressor(n_rules=2, learning_rate=1.0, bootstrap=False, l2_regularization=0)
    >>> print(rules_text(model.fit(X, X[:, 0] > 3)))
    0: always -> y +0.5 (8 rows)
    1: x0 > 3.5 -> y +0.5 (4 rows)
    """
    reader = check_rules(model, digits)
    check_count(max_outputs, "max_outputs", 0)
    check_count(digits, "digits", 1, MOST_DIGITS)
    if max_rules is not None:
        check_count(max_rules, "max_rules", 0)
    n_rules = reader.rules.n_rules
    shown = n_rules if max_rules is None else min(max_rules, n_rules)
    lines = [
        f"{t}: {reader.body(t)} -> {reader.head_text(t, max_outputs)} "
        f"({reader.rules.coverage[t]} rows)"
        for t in range(shown)
    ]
    if shown < n_rules:
        lines.append(f"... and {n_rules - shown} more rules")
    return "\n".join(lines)


def rules_json(model: Any, *, indent: int | None = None) -> str:
    """Describe rules as JSON.

    Parameters
    ----------
    model : RuleClassifier or RuleRegressor
        Fitted.
    indent : int, optional
        Spaces by which to indent; on one line by default.

    Returns
    -------
    str
        A list of objects with the keys ``body`` (a list of feature, operator and value),
        ``head`` (score by output), ``coverage``, ``support`` and ``gain``. Thresholds are exact;
        one that is infinite is the string ``"-inf"``, as JSON has no such number. Of ordered
        categories, the operator is ``"in"`` and the value a list of levels.

    Notes
    -----
    No comparison holds for a missing value, ``!=`` included; and categories that `fit` has not
    seen are missing.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from polyleaf import RuleRegressor
    >>> from polyleaf.inspection import rules_json
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> model = RuleRegressor(n_rules=2, bootstrap=False).fit(X, X[:, 0] > 3)
    >>> json.loads(rules_json(model))[1]["body"]
    [{'feature': 'x0', 'operator': '>', 'value': 3.5}]
    """
    if indent is not None:
        check_count(indent, "indent", 0, _MOST_SPACES)
    reader = check_rules(model)
    support = reader.support().tolist()
    rules = [
        {
            "body": [
                {"feature": feature, "operator": operator, "value": _json_value(value)}
                for feature, operator, value in reader.conditions(t)
            ],
            "head": reader.head(t),
            "coverage": int(reader.rules.coverage[t]),
            "support": support[t],
            "gain": float(reader.rules.gain[t]),
        }
        for t in range(reader.rules.n_rules)
    ]
    return json.dumps(rules, indent=indent, allow_nan=False)


def _json_value(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value
