"""Rules as plain Python or SQL, to run where polyleaf is not installed.

Both first turn categories that `fit` has not seen into missing values, as the model does.
"""

from __future__ import annotations

import keyword
import math
import sys
from collections.abc import Sequence
from typing import Any

from polyleaf.checks.numbers import described
from polyleaf.rules.reader import RuleReader
from polyleaf.rules.text import check_rules

#: Terms of a sum that stand side by side: databases limit how deep an expression is.
_TERMS_PER_SUM = 50


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
        neither strings nor numbers, such as intervals or dates, are expected as strings.
        Columns of dates and durations are numbers to a model: give nanoseconds, since 1970.

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


def rules_to_sql(model: Any, table: str | Sequence[str], *, prefix: str = "") -> str:
    """Write rules as one SQL query of CASE expressions.

    Parameters
    ----------
    model : RuleClassifier or RuleRegressor
        Fitted.
    table : str or sequence of str
        Name of the table, or its parts, as in ``("schema", "table")``; features are its columns,
        and missing values are NULL. Categories that are neither strings nor numbers, such as
        intervals or dates, are expected as strings.
        Columns of dates and durations are numbers to a model: give nanoseconds, since 1970.
    prefix : str, default=""
        Put in front of the names of outputs, which name the columns of the result.

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
    >>> print(rules_to_sql(model.fit(X, X[:, 0] > 3), "readings"))
    SELECT
      0.5
      + CASE WHEN "x0" > 3.5 THEN 0.5 ELSE 0 END AS "y"
    FROM "readings"
    """
    reader = check_rules(model)
    columns = []
    for k, name in enumerate(reader.value_names):
        terms = _sql_terms(reader, k) or ["0"]
        columns.append(f"  {sql_sum(terms)} AS {quoted(joined_name(prefix, name))}")
    return "SELECT\n" + ",\n".join(columns) + f"\nFROM {_sql_source(reader, table)}"


def sql_source_name(table: str | Sequence[str]) -> str:
    """Quote the name of a table, or its parts."""
    parts = [table] if isinstance(table, str) or not isinstance(table, Sequence) else list(table)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ValueError(f"table must be a name or the parts of one; got {described(table)}.")
    return ".".join(map(quoted, parts))


def _sql_source(reader: RuleReader, table: str | Sequence[str]) -> str:
    """Name the table, or select from it with NULL for categories that fit has not seen."""
    source = sql_source_name(table)
    categories = reader.used_categories()
    if not categories:
        return source
    columns = []
    for feature in reader.used_features():
        column = quoted(feature)
        if feature in categories:
            known = ", ".join(map(sql_value, categories[feature]))
            column = f"CASE WHEN {column} IN ({known}) THEN {column} END AS {column}"
        columns.append(f"    {column}")
    return "(\n  SELECT\n" + ",\n".join(columns) + f"\n  FROM {source}\n) AS known"


def sql_sum(terms: list[str]) -> str:
    """Add terms up, in brackets where there are many."""
    while len(terms) > _TERMS_PER_SUM:
        starts = range(0, len(terms), _TERMS_PER_SUM)
        parts = [terms[start : start + _TERMS_PER_SUM] for start in starts]
        terms = ["(" + "\n  + ".join(part) + ")" for part in parts]
    return "\n  + ".join(terms)


def _sql_terms(reader: RuleReader, channel: int) -> list[str]:
    terms = []
    for t in range(reader.rules.n_rules):
        rule = reader.rules.rule(t)
        scores = dict(zip(rule.output.tolist(), rule.score.tolist()))
        if channel not in scores:
            continue
        tests = [sql_test(*condition) for condition in reader.conditions(t)]
        score = repr(scores[channel])
        terms.append(
            f"CASE WHEN {' AND '.join(tests)} THEN {score} ELSE 0 END" if tests else score
        )
    return terms


def sql_test(feature: str, operator: str, value: Any) -> str:
    """Write a condition."""
    column = quoted(feature)
    if operator == "is missing":
        return f"{column} IS NULL"
    if operator == "is known":
        return f"{column} IS NOT NULL"
    if operator == "in":
        return f"{column} IN ({', '.join(map(sql_value, value)) or 'NULL'})"
    if operator in ("<=", ">") and math.isinf(value):  # SQL has no such number
        largest = math.copysign(sys.float_info.max, value)
        if value < 0:
            operator = "<" if operator == "<=" else ">="
        return f"{column} {operator} {largest!r}"
    sign = "<>" if operator == "!=" else operator
    return f"{column} {sign} {sql_value(value)}"


def sql_value(value: Any) -> str:
    """Write a category or a threshold."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return repr(value)


def joined_name(prefix: Any, name: str) -> str:
    """Give the name of a column; raise a TypeError unless the prefix is a text."""
    if not isinstance(prefix, str):
        raise TypeError(f"prefix must be a str; got {described(prefix)}.")
    return prefix + name


def quoted(name: str) -> str:
    """Write the name of a column or a table."""
    return '"' + name.replace('"', '""') + '"'
