"""One worker's share of a fit: the trainer, which knows of no engine.

Every worker calls `train_on_worker` with its own rows and a collective, and gets the same model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from polyleaf.boosting.base import Boosting
from polyleaf.boosting.checks import BoostingProgress
from polyleaf.distributed.collectives import Collective, Traffic
from polyleaf.distributed.graphs import train_graphs
from polyleaf.distributed.reading import Rows, read_divided, read_graph_rows
from polyleaf.distributed.records import Note, record_rounds
from polyleaf.distributed.refusals import check_problem
from polyleaf.distributed.trees import train_trees
from polyleaf.graphs.base import GraphEstimator

#: Asked on worker 0 after every round; True ends the fit.
Tell = Callable[[BoostingProgress, Traffic], bool]


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one worker.

    Attributes
    ----------
    rows : sequence of Rows
        To learn from.
    validation : sequence of Rows or None
        To measure losses on; None if no worker has any.
    """

    rows: Sequence[Rows]
    validation: Sequence[Rows] | None = None


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings that all workers of a fit share.

    Attributes
    ----------
    estimator : Estimator
        Its parameters are read; `random_state` must not be None.
    tell : callable or None
        Called on worker 0 after every round of boosting with the progress and what was sent since
        the round before; True ends the fit.
    records : sequence of bytes
        Rounds of boosting that were grown before, and are not grown again.
    note : callable or None
        Told of each round that is grown, on worker 0: what `records` takes.
    output_names : sequence of str or None
        Names of the outputs, if Y has none.
    """

    estimator: Any
    tell: Tell | None = None
    records: Sequence[bytes] = ()
    note: Note | None = None
    output_names: Any = None


@dataclass(frozen=True)
class RoundTraffic:
    """What one worker sent in one round.

    Attributes
    ----------
    bytes_sent, bytes_reduced, n_collectives : int
    seconds_waited, seconds : float
        In collectives, and in all.
    """

    bytes_sent: int
    bytes_reduced: int
    n_collectives: int
    seconds_waited: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Trained:
    """What a worker has after a fit.

    Attributes
    ----------
    fitted : object
        The frozen value that an estimator keeps; the same on all workers.
    n_rows : int
        Of all workers.
    start : RoundTraffic
        What this worker sent before the first round.
    rounds : list of RoundTraffic
        And in each round.
    """

    fitted: Any
    n_rows: int
    start: RoundTraffic
    rounds: list[RoundTraffic] = field(default_factory=list)


def train_on_worker(collective: Collective, part: Part, settings: Settings) -> Trained:
    """Train an estimator on rows that are divided between workers.

    The model is the same for any number of workers and any division of the rows, and the one that
    ``fit`` gives with ``sums='fixed'`` on all rows.

    Parameters
    ----------
    collective : Collective
        The way to the other workers, who call this function, too.
    part : Part
        The rows of this worker.
    settings : Settings
        The same on all workers.

    Returns
    -------
    Trained

    Examples
    --------
    >>> import numpy as np
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.distributed import Part, Rows, Settings, ThreadCollective, train_on_worker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> Y = X @ rng.normal(size=(3, 4))
    >>> model = BoostingRegressor(n_estimators=5, sums="fixed", random_state=0)
    >>> def work(collective):
    ...     own = slice(120 * collective.rank, 120 + 80 * collective.rank)
    ...     rows = Rows(collective.rank, X[own], Y[own])
    ...     return train_on_worker(collective, Part([rows]), Settings(model))
    >>> with ThreadPoolExecutor(2) as pool:
    ...     first, second = pool.map(work, ThreadCollective.group(2))
    >>> alone = model.fit(X, Y)._fitted
    >>> bool(np.array_equal(first.fitted.model.leaf_values, alone.model.leaf_values))
    True
    """
    estimator = settings.estimator
    began = time.perf_counter()
    if isinstance(estimator, GraphEstimator):
        return _train_graphs(collective, part, settings, _Meter(collective, began))
    agreed = read_divided(estimator, part.rows, part.validation, collective, settings.output_names)
    n_rows = agreed.shard.count(agreed.data.n_rows)
    check_problem(estimator, agreed.data)
    meter = _Meter(collective, began)
    start = meter.next()
    if isinstance(estimator, Boosting):
        report = _Report(collective, meter, settings.tell)
        if settings.records or settings.note is not None:
            note = settings.note if collective.rank == 0 else None
            record_rounds(estimator, settings.records, note)
        fitted: Any = estimator._train(
            agreed.data, eval_set=agreed.held_out, callbacks=[report], shard=agreed.shard
        )
        return Trained(fitted, n_rows, start, report.rounds)
    fitted = train_trees(estimator, agreed, collective)
    return Trained(fitted, n_rows, start, [meter.next()])


def _train_graphs(
    collective: Collective, part: Part, settings: Settings, meter: _Meter
) -> Trained:
    """Train graphs on the rows of all workers: every worker solves some of the members."""
    estimator = settings.estimator
    data = read_graph_rows(estimator, part.rows, collective, settings.output_names)
    start = meter.next()
    fitted = train_graphs(estimator, data, collective)
    return Trained(fitted, data.targets.n_rows, start, [meter.next()])


class _Meter:
    """Measures what a worker sends from one moment to the next."""

    def __init__(self, collective: Collective, began: float) -> None:
        self._collective, self._began = collective, began
        self._before = Traffic()

    def next(self) -> RoundTraffic:
        """Give what was sent since the last time."""
        now, traffic = time.perf_counter(), self._collective.traffic.copy()
        sent = traffic.since(self._before)
        found = RoundTraffic(
            sent.bytes_sent,
            sent.bytes_reduced,
            sent.n_collectives,
            sent.seconds_waited,
            now - self._began,
        )
        self._before, self._began = traffic, now
        return found


class _Report:
    """Tells worker 0's listener of each round, and all workers what it answers."""

    def __init__(self, collective: Collective, meter: _Meter, tell: Tell | None) -> None:
        self._collective, self._meter, self._tell = collective, meter, tell
        self.rounds: list[RoundTraffic] = []

    def __call__(self, progress: BoostingProgress) -> bool:
        """Note the traffic of a round, and ask whether to stop."""
        self.rounds.append(self._meter.next())
        if self._tell is None:
            return False
        answer = False
        if self._collective.rank == 0:
            answer = bool(self._tell(progress, self._collective.traffic))
        return bool(self._collective.gather_json(answer)[0])
