"""Rules as plain Python or SQL, to run where polyleaf is not installed.

Both first turn categories that `fit` has not seen into missing values, as the model does.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Sequence
from typing import Any

from polyleaf.checks.numbers import described
from polyleaf.export._sql import (
    column_names,
    key_columns,
    quoted,
    sql_source_name,
    sql_sum,
    sql_test,
    sql_value,
)
from polyleaf.rules.reader import RuleReader
from polyleaf.rules.text import check_rules


def rules_to_python(model: Any, *, function_name: str = "scores") -> str:
    """Write rules as a Python function that needs nothing but Python.

    Parameters
    ----------
    model : RuleClassifier or RuleRegressor
        Fitted.
    function_name : str, default="scores"

    Returns
    -------
    str
        Source of a function from a mapping of feature names to values (None or NaN for missing)
        to a list: a score per label or class, or the predicted numbers. Categories that are
        neither strings nor numbers, such as intervals, are expected as strings. Dates are
        expected as nanoseconds since 1970, durations as nanoseconds.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import RuleRegressor
    >>> from polyleaf.export import rules_to_python
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> model = RuleRegressor(n_rules=2, learning_rate=1.0, bootstrap=False, l2_regularization=0)
    >>> space = {}
    >>> exec(rules_to_python(model.fit(X, X[:, 0] > 3)), space)
    >>> space["scores"]({"x0": 5.0})
    [1.0]
    """
    check_function_name(function_name)
    reader = check_rules(model)
    lines = [
        f"def {function_name}(row):",
        '    """Give a list with a number for every output."""',
        "    def known(x):",
        "        try:",
        "            return x is not None and bool(x == x)",
        "        except TypeError:  # NA of pandas is neither",
        "            return False",
        "",
        *_python_categories(reader),
        f"    s = [0.0] * {len(reader.value_names)}",
    ]
    for t in range(reader.rules.n_rules):
        tests = [_python_test(*condition) for condition in reader.conditions(t)]
        rule = reader.rules.rule(t)
        indent = "    "
        if tests:
            lines.append(f"    if {' and '.join(tests)}:")
            indent = "        "
        lines += [
            f"{indent}s[{k}] += {score!r}"
            for k, score in zip(rule.output.tolist(), rule.score.tolist())
        ] or [f"{indent}pass"]
    return "\n".join([*lines, "    return s", ""])


def check_function_name(name: Any) -> None:
    """Raise a ValueError unless a function of Python can have the name."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            f"function_name must be an identifier and no keyword; got {described(name)}."
        )


def _python_categories(reader: RuleReader) -> list[str]:
    """Write how categories that fit has not seen become missing."""
    lines = []
    for feature, categories in reader.used_categories().items():
        known = ", ".join(map(repr, categories))
        lines.append(f"    if row[{feature!r}] not in {{{known}}}:")
        lines.append(f"        row[{feature!r}] = None")
    return ["    row = dict(row)", *lines] if lines else []


def _python_test(feature: str, operator: str, value: Any) -> str:
    x = f"row[{feature!r}]"
    if operator == "is missing":
        return f"not known({x})"
    if operator == "is known":
        return f"known({x})"
    if operator == "in":
        return f"(known({x}) and {x} in {tuple(value)!r})"
    if operator in ("<=", ">"):  # numbers of fewer bits would be compared with fewer
        return f"(known({x}) and float({x}) {operator} {_python_value(value)})"
    sign = "==" if operator == "=" else operator
    return f"(known({x}) and {x} {sign} {_python_value(value)})"


def _python_value(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return f"float({str(value)!r})"
    return repr(value)


def rules_to_sql(
    model: Any,
    table: str | Sequence[str],
    *,
    prefix: str = "",
    key: str | Sequence[str] | None = None,
) -> str:
    """Write rules as one SQL query of CASE expressions.

    Parameters
    ----------
    model : RuleClassifier or RuleRegressor
        Fitted.
    table : str or sequence of str
        Name of the table, or its parts, as in ``("schema", "table")``; features are its columns,
        and missing values are NULL. `to_sql` says how dates are expected. Categories that are
        neither strings nor numbers, such as intervals, are expected as strings.
    prefix : str, default=""
        Put in front of the names of outputs, which name the columns of the result.
    key : str or sequence of str, optional
        Columns of the table that identify a row. They come first in the result.

    Returns
    -------
    str
        A SELECT with a column per label, class or target.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import RuleRegressor
    >>> from polyleaf.export import rules_to_sql
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> model = RuleRegressor(n_rules=2, learning_rate=1.0, bootstrap=False, l2_regularization=0)
    >>> print(rules_to_sql(model.fit(X, X[:, 0] > 3), "readings", key="id"))
    SELECT
      "id",
      0.5
      + CASE WHEN "x0" > 3.5 THEN 0.5 ELSE 0 END AS "y"
    FROM "readings"
    """
    reader = check_rules(model)
    keys = key_columns(key)
    names = column_names(keys, prefix, reader.value_names)
    source, columns = _sql_source(reader, table, keys)
    for k, name in enumerate(names):
        terms = _sql_terms(reader, k) or ["0"]
        columns.append(f"{sql_sum(terms)} AS {quoted(name)}")
    return "SELECT\n" + ",\n".join(f"  {column}" for column in columns) + f"\nFROM {source}"


def _sql_source(
    reader: RuleReader, table: str | Sequence[str], keys: list[str]
) -> tuple[str, list[str]]:
    """Name the table, or select from it with NULL for categories that fit has not seen.

    Returns what to select from, and the columns of the key there.
    """
    source = sql_source_name(table)
    categories = reader.used_categories()
    if not categories:
        return source, [quoted(name) for name in keys]
    columns = []
    for feature in reader.used_features():
        column = quoted(feature)
        if feature in categories:
            known = ", ".join(map(sql_value, categories[feature]))
            column = f"CASE WHEN {column} IN ({known}) THEN {column} END AS {column}"
        columns.append(f"    {column}")
    kept = []
    for number, name in enumerate(keys):  # a feature may be part of the key
        alias = f"key_{number}"
        while alias in reader.feature_names:
            alias += "_"
        columns.append(f"    {quoted(name)} AS {quoted(alias)}")
        kept.append(f"{quoted(alias)} AS {quoted(name)}")
    return "(\n  SELECT\n" + ",\n".join(columns) + f"\n  FROM {source}\n) AS known", kept


def _sql_terms(reader: RuleReader, channel: int) -> list[str]:
    terms = []
    dates = reader.dates
    for t in range(reader.rules.n_rules):
        rule = reader.rules.rule(t)
        scores = dict(zip(rule.output.tolist(), rule.score.tolist()))
        if channel not in scores:
            continue
        tests = [sql_test(*test, test[0] in dates) for test in reader.conditions(t)]
        score = repr(scores[channel])
        terms.append(
            f"CASE WHEN {' AND '.join(tests)} THEN {score} ELSE 0 END" if tests else score
        )
    return terms
