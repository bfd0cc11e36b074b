"""What an entry of the runner is: a table or figure of a paper, with its published values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Labels = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """A published value; the deviation is None where the paper has none."""

    mean: float
    deviation: float | None = None


@dataclass(frozen=True)
class Measure:
    """What is measured: its name, which way is better, and digits to show."""

    name: str
    greater_is_better: bool = True
    digits: int = 3


@dataclass(frozen=True)
class Row:
    """One row: what it is of, and what the paper has for it."""

    labels: Labels
    published: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one repeat of a row gave.

    Parameters
    ----------
    values : dict
        By measure; lists are curves.
    settings : str
        The call that makes the estimator, with all that differs from `.paper()`.
    """

    values: dict[str, Any]
    settings: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how our rows bear it out.

    Parameters
    ----------
    text : str
    check : callable
        Gets the records of the table; returns whether the claim holds (None: cannot be told) and
        what was seen.
    """

    text: str
    check: Callable[[list[dict[str, Any]]], tuple[bool | None, str]]


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        As the command line has it, such as "joly2014-table1".
    paper, title : str
    protocol : str
        What one row does, as we do it.
    differs : str
        What is not as in the paper, and why.
    measures : tuple of Measure
        Empty for figures: their rows are curves.
    rows : tuple of Row
    work : callable
        Does one repeat of a row, from its labels and the number of the repeat.
    repeats : int
        Of a full run.
    across : str
        The label whose values are columns on the page.
    quick : tuple of dict
        Labels of the quick rows.
    quick_repeats : int
    why : tuple of (dict, str)
        Reasons for rows that have these labels and are not within one deviation; "verdict" is a
        label here, too.
    claims : tuple of Claim
    draw : callable, optional
        Draws the records into a picture at a path.
    needs : str
        "data" (the public data sets), "xgboost", "java", "mlrl": what must be there to run.
    earlier : str
        What else differs in rows that were measured before this runner.
    elsewhere : tuple of Row
        Published rows on data that are not at hand; the page names their values.
    summary : callable, optional
        Writes what follows from the records, such as published sizes beside ours.
    """

    name: str
    paper: str
    title: str
    protocol: str
    differs: str
    measures: tuple[Measure, ...]
    rows: tuple[Row, ...]
    work: Callable[[Labels, int], Outcome]
    repeats: int
    across: str
    quick: tuple[Labels, ...]
    quick_repeats: int = 1
    why: tuple[tuple[Labels, str], ...] = ()
    claims: tuple[Claim, ...] = ()
    draw: Callable[[list[dict[str, Any]], Any], None] | None = None
    needs: tuple[str, ...] = ("data",)
    earlier: str = ""
    elsewhere: tuple[Row, ...] = ()
    summary: Callable[[list[dict[str, Any]]], str] | None = None

    def is_quick(self, row: Row) -> bool:
        """Tell whether a row is one of the quick ones."""
        return any(matches(row.labels, labels) for labels in self.quick)


def matches(labels: Labels, wanted: Labels) -> bool:
    """Tell whether labels have all the wanted values."""
    return all(labels.get(key) == value for key, value in wanted.items())


def grid(**values: Any) -> Iterator[dict[str, Any]]:
    """Give all combinations of labels, the last one fastest."""
    if not values:
        yield {}
        return
    *firsts, last = values
    for rest in grid(**{name: values[name] for name in firsts}):
        for value in values[last]:
            yield {**rest, last: value}


@dataclass(frozen=True)
class Made:
    """An estimator with published settings, and the call that made it."""

    estimator: Any
    settings: str


def paper(cls: Any, variant: str, **changed: Any) -> Made:
    """Make an estimator with published settings; seeds and threads do not belong to them.

    Examples
    --------
    >>> from polyleaf import BoostingRegressor
    >>> paper(BoostingRegressor, "gbmort", n_estimators=20, random_state=1).settings
    "BoostingRegressor.paper('gbmort', n_estimators=20)"
    """
    shown = [f"{name}={value!r}" for name, value in changed.items() if name not in _FREE]
    call = f"{cls.__name__}.paper({', '.join([repr(variant), *shown])})"
    return Made(cls.paper(variant, **changed), call)


_FREE = ("random_state", "n_jobs")


def fit_timed(model: Any, X: Any, Y: Any, **more: Any) -> float:
    """Fit a model, and give the seconds of processor time."""
    start = time.process_time()
    model.fit(X, Y, **more)
    return time.process_time() - start


def mean_of(record: Mapping[str, Any], measure: str) -> float:
    """Give the mean of a measure over the repeats of a record; NaN where it has none."""
    if measure in record.get("values", {}):
        return float(np.mean(record["values"][measure]))
    return float(record.get("mean", {}).get(measure, np.nan))


def deviation_of(record: Mapping[str, Any], measure: str) -> float | None:
    """Give the standard deviation over the repeats, None with fewer than two."""
    values = record.get("values", {}).get(measure)
    if values is None:
        found = record.get("deviation", {}).get(measure)
        return None if found is None else float(found)
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
