"""Trees, small forests and rules as SQL, Python and JSON, to run where polyleaf is not installed.

All of them give what the trees add up to: predictions of regressors (the logarithm with the loss
'poisson'), probabilities of trees and forests, scores of boosting and rules.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyleaf.export._reader import Split, TreeReader
from polyleaf.export._rules_code import check_function_name, rules_to_python, rules_to_sql
from polyleaf.export._sql import (
    column_names,
    key_columns,
    quoted,
    sql_source_name,
    sql_sum,
    sql_test,
    sql_value,
)
from polyleaf.export._sums import CannotExportError
from polyleaf.rules.base import RuleEstimator
from polyleaf.rules.text import rules_json

#: Python refuses 100 levels of indentation.
_DEEPEST_PYTHON = 90


def to_sql(
    model: Any,
    table: str | Sequence[str],
    *,
    prefix: str = "",
    key: str | Sequence[str] | None = None,
) -> str:
    """Write a tree, a small forest or rules as a query.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest, boosted or rule model.
    table : str or sequence of str
        The table of rows, with a column per feature; several parts stand for a qualified name.
        Missing values are NULL.
    prefix : str, default=""
        Put in front of the names of outputs, which name the columns of the result.
    key : str or sequence of str, optional
        Columns of the table that identify a row. They come first in the result. Without a key,
        nothing says which prediction belongs to which row: SQL promises no order.

    Returns
    -------
    str
        A SELECT with a column per target, label or class: predictions, probabilities (trees and
        forests) or scores (boosting and rules).

    Notes
    -----
    Dates are compared with texts such as ``'2025-03-09 06:00:00.000000+00:00'``, in UTC. This is
    right for DATE and TIMESTAMP columns, with and without a time zone, and in SQLite for
    dates kept as text in the same form, which `pandas.DataFrame.to_sql` and ``datetime()``
    write. SQLite compares texts with numbers without an error: convert dates that are
    kept as numbers in a view, by ``datetime("when", 'unixepoch')``. Durations are expected as
    nanoseconds.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.export import to_sql
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> print(to_sql(TreeRegressor(max_depth=1).fit(X, X[:, 0] > 3), "readings", key="id"))
    SELECT
      key_0 AS "id",
      CASE leaf_0 WHEN 0 THEN 0.0 WHEN 1 THEN 1.0 END AS "y"
    FROM (
      SELECT
        "id" AS key_0,
        CASE WHEN ("x0" <= 3.5 OR "x0" IS NULL) THEN 0 ELSE 1 END AS leaf_0
      FROM "readings"
    ) AS leaves
    """
    if isinstance(model, RuleEstimator):
        return rules_to_sql(model, table, prefix=prefix, key=key)
    source = sql_source_name(table)
    reader = TreeReader(model, "SQL")
    keys = key_columns(key)
    names = column_names(keys, prefix, reader.value_names)
    columns = [f"  key_{number} AS {quoted(name)}" for number, name in enumerate(keys)]
    within = [f"    {quoted(name)} AS key_{number}" for number, name in enumerate(keys)]
    before = 0
    choices = []
    for t, root in enumerate(reader.roots):
        n_leaves = int(reader.structure.leaf_ranges[1][root]) - before
        found = reader.values[before : before + n_leaves].astype(np.float64)
        within.append(f"    {_sql_leaf(reader, root, root, before)} AS leaf_{t}")
        choices.append(found.tolist())
        before += n_leaves
    for k, name in enumerate(names):
        terms = [] if reader.base[k] == 0 else [_sql_number(float(reader.base[k]))]
        terms += [_sql_choice(t, [value[k] for value in of]) for t, of in enumerate(choices)]
        columns.append(f"  {sql_sum(terms)} AS {quoted(name)}")
    inner = "(\n  SELECT\n" + ",\n".join(within) + f"\n  FROM {source}\n) AS leaves"
    return "SELECT\n" + ",\n".join(columns) + f"\nFROM {inner}"


def _sql_choice(tree: int, values: list[float]) -> str:
    if len(values) == 1:
        return _sql_number(values[0])
    cases = " ".join(f"WHEN {leaf} THEN {_sql_number(v)}" for leaf, v in enumerate(values))
    return f"CASE leaf_{tree} {cases} END"


def _sql_number(value: float) -> str:
    return repr(value) if math.isfinite(value) else "NULL"


def _sql_leaf(reader: TreeReader, node: int, root: int, before: int) -> str:
    """Write the number of the leaf below a node, counted within its tree."""
    leaf = int(reader.structure.leaf_index[node])
    if leaf >= 0:
        return str(leaf - before)
    left, right = reader.children(node, root)
    below = (_sql_leaf(reader, child, root, before) for child in (left, right))
    return "CASE WHEN {} THEN {} ELSE {} END".format(_sql_split(reader.split(node)), *below)


def _sql_split(split: Split) -> str:
    column = quoted(split.feature)
    if split.threshold is not None:
        test = sql_test(split.feature, "<=", split.threshold, split.is_date)
        return f"({test} OR {column} IS NULL)" if split.missing_left else test
    # NULL in a list would be neither in it nor outside of it: no list is empty.
    if split.missing_left:
        if not split.right:
            return "1 = 1"
        return f"({column} IS NULL OR {column} NOT IN ({_listed(split.right)}))"
    return f"{column} IN ({_listed(split.left)})" if split.left else "1 = 0"


def _listed(values: list[Any]) -> str:
    return ", ".join(map(sql_value, values))


# Python ------------------------------------------------------------------------------------------


def to_python(model: Any, *, function_name: str = "scores") -> str:
    """Write a tree, a small forest or rules as a Python function without imports.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest, boosted or rule model.
    function_name : str, default="scores"

    Returns
    -------
    str
        Source of a function from a mapping of feature names to values (None or NaN for missing)
        to a list with a number per target, label or class: predictions, probabilities (trees and
        forests) or scores (boosting and rules). Dates are expected as nanoseconds since 1970,
        durations as nanoseconds.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.export import to_python
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> space = {}
    >>> exec(to_python(TreeRegressor(max_depth=1).fit(X, X[:, 0] > 3)), space)
    >>> space["scores"]({"x0": 5.0})
    [1.0]
    """
    if isinstance(model, RuleEstimator):
        return rules_to_python(model, function_name=function_name)
    check_function_name(function_name)
    reader = TreeReader(model, "Python")
    deepest = int(reader.structure.depth.max())
    if deepest > _DEEPEST_PYTHON:
        raise CannotExportError(
            f"Python allows about {_DEEPEST_PYTHON} nested ifs; this {type(model).__name__} has "
            f"trees of depth {deepest}. Limit max_depth, or use to_onnx."
        )
    lines = [
        f"def {function_name}(row):",
        '    """Give a list with a number for every output."""',
        '    nan = float("nan")',
        '    inf = float("inf")',
        "    def known(x):",
        "        try:",
        "            return x is not None and bool(x == x)",
        "        except TypeError:  # NA of pandas is neither",
        "            return False",
        "",
        f"    s = {reader.base.tolist()!r}",
    ]
    for root in reader.roots:
        lines += _python_node(reader, root, root, "    ")
        lines.append("    s = [a + b for a, b in zip(s, v)]")
    return "\n".join([*lines, "    return s", ""])


def _python_node(reader: TreeReader, node: int, root: int, indent: str) -> list[str]:
    values = reader.leaf_values(node)
    if values is not None:
        return [f"{indent}v = {values!r}"]
    left, right = reader.children(node, root)
    return [
        f"{indent}if {_python_split(reader.split(node))}:",
        *_python_node(reader, left, root, indent + " "),
        f"{indent}else:",
        *_python_node(reader, right, root, indent + " "),
    ]


def _python_split(split: Split) -> str:
    x = f"row[{split.feature!r}]"
    if split.threshold is not None:
        test = f"{x} <= {split.threshold!r}"
        return f"not known({x}) or {test}" if split.missing_left else f"known({x}) and {test}"
    if split.missing_left:
        return f"not known({x}) or {x} not in {split.right!r}"
    return f"known({x}) and {x} in {split.left!r}"


# JSON --------------------------------------------------------------------------------------------


def to_json(model: Any) -> str:
    """Write a tree, a small forest or rules as JSON.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest, boosted or rule model.

    Returns
    -------
    str
        Of rules, what `polyleaf.inspection.rules_json` gives. Else an object: ``estimator``,
        ``features``, ``outputs`` (names), ``base`` (a number per output) and ``trees``. A tree is
        a node. An inner node has ``feature``, ``threshold`` (at most this goes left) or
        ``categories`` (these go left), ``missing`` (``"left"`` or ``"right"``; also for categories
        that were not seen), ``left`` and ``right``; a leaf has ``values``, which are added to the
        base. NaN stands as null. Thresholds of dates are nanoseconds since 1970.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.export import to_json
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> found = json.loads(to_json(TreeRegressor(max_depth=1).fit(X, X[:, 0] > 3)))
    >>> found["trees"][0]["threshold"], found["trees"][0]["left"]
    (3.5, {'values': [0.0]})
    """
    if isinstance(model, RuleEstimator):
        return str(rules_json(model))
    reader = TreeReader(model, "JSON")
    described = {
        "estimator": type(model).__name__,
        "features": reader.feature_names,
        "outputs": reader.value_names,
        "base": _numbers(reader.base.tolist()),
        "trees": [_tree_object(reader, root) for root in reader.roots],
    }
    return json.dumps(described, default=str, allow_nan=False)


def _numbers(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def _tree_object(reader: TreeReader, root: int) -> dict[str, Any]:
    """Build the nodes from the last to the first, so that children exist before their parents."""
    end = int(reader.structure.subtree_end[root])
    nodes: dict[int, dict[str, Any]] = {}
    for node in range(end - 1, root - 1, -1):
        values = reader.leaf_values(node)
        if values is not None:
            nodes[node] = {"values": _numbers(values)}
            continue
        split = reader.split(node)
        left, right = reader.children(node, root)
        test: dict[str, Any] = {"categories": split.left}
        if split.threshold is not None:
            test = {"threshold": split.threshold}
        nodes[node] = {
            "feature": split.feature,
            **test,
            "missing": "left" if split.missing_left else "right",
            "left": nodes.pop(left),
            "right": nodes.pop(right),
        }
    return nodes[root]
