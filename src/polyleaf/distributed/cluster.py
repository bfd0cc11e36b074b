"""`fit` at the client of a Dask cluster: it places the parts, starts the workers and watches."""

from __future__ import annotations

import queue
import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from polyleaf._version import __version__
from polyleaf.boosting.base import Boosting
from polyleaf.boosting.checks import BoostingProgress, as_callbacks
from polyleaf.distributed.collectives import CollectiveError
from polyleaf.distributed.parts import check_eval_set, make_parts, need_dask, split_targets
from polyleaf.distributed.records import Checkpoint
from polyleaf.distributed.refusals import check_estimator
from polyleaf.distributed.training import RoundTraffic, Trained
from polyleaf.distributed.workers import (
    Seat,
    answer_round,
    count_rows,
    open_fit,
    report_version,
    stop_fit,
    take_records,
    train_part,
)
from polyleaf.estimator.parameters import check_parameters
from polyleaf.estimator.running import progress_bar

#: Seconds between looks at the workers; and that others get to report after one has failed.
_GLANCE, _GRACE = 0.05, 5.0
#: Seconds between looks at the list of workers, and between writes of a checkpoint.
_ROLL_CALL, _WRITE = 2.0, 1.0
#: Workers with these addresses get sockets of their own; others, such as those with TLS, exchange
#: blocks over Dask's connections.
_WITH_SOCKETS = ("tcp://", "inproc://")
#: How many lost workers a fit with a checkpoint bears.
_MOST_TRIES = 20
#: Seconds before a fit with a checkpoint goes on, at most.
_MOST_PAUSE = 5.0


@dataclass(frozen=True)
class FitReport:
    """What a fit on a cluster sent.

    Attributes
    ----------
    workers : tuple of str
    n_rows : int
    start : tuple of RoundTraffic
        Of each worker, before the first round: what bins, classes and units took.
    rounds : tuple of tuple of RoundTraffic
        Of each worker, in each round.
    """

    workers: tuple[str, ...]
    n_rows: int
    start: tuple[RoundTraffic, ...]
    rounds: tuple[tuple[RoundTraffic, ...], ...]

    def table(self) -> dict[str, np.ndarray[Any, Any]]:
        """Give a number per round: bytes of all workers, collectives, longest wait, seconds.

        Examples
        --------
        >>> sent = RoundTraffic(800, 400, 9, 0.01, 0.05)
        >>> FitReport(("a", "b"), 100, (sent, sent), ((sent,), (sent,))).table()["bytes_sent"]
        array([1600])
        """
        by_worker = [
            np.array([[getattr(r, name) for r in rounds] for rounds in self.rounds])
            for name in ("bytes_sent", "n_collectives", "seconds_waited", "seconds")
        ]
        return {
            "bytes_sent": by_worker[0].sum(axis=0),
            "n_collectives": by_worker[1].max(axis=0),
            "seconds_waited": by_worker[2].max(axis=0),
            "seconds": by_worker[3].max(axis=0),
        }


def fit(
    estimator: Any,
    X: Any,
    Y: Any = None,
    *,
    client: Any = None,
    sample_weight: Any = None,
    eval_set: Any = None,
    callbacks: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
    targets: Any = None,
    checkpoint: Any = None,
    worker_timeout: float = 30.0,
    verbose: int = 0,
    output_names: Any = None,
) -> Any:
    """Fit an estimator to rows that are spread over a Dask cluster.

    The model is that of ``estimator.fit`` on one machine with ``sums='fixed'`` (forests and single
    trees: with any `sums`), for any number of workers and any division of the rows. Rows stay on
    their workers; of X nothing reaches the client.

    Parameters
    ----------
    estimator : estimator
        Boosting, a tree, a forest, extra trees, bagged trees or graphs; it stays as it is.
    X : dask array, dask data frame, list of delayed or futures, or str
        Parts of shape (n_i, p): arrays, frames or sparse matrices; or a pattern of Parquet or CSV
        files that all workers can read.
    Y : like X, of shape (n,) or (n, d)
        None if `targets` names columns of X.
    client : distributed.Client, optional
        By default the current one.
    sample_weight : like Y, optional
        Of shape (n,) or (n, d).
    eval_set : tuple (X, Y) or (X, Y, sample_weight), optional
        Validation rows, for `history_` and early stopping of boosting.
    callbacks : callable or sequence of callable
        Called at the client after every round of boosting, as those of ``fit``.
    targets : str or sequence of str, optional
        Columns of a frame or of files that are outputs.
    checkpoint : str or Path, optional
        A file, at the client, where rounds of boosting are written down. A fit that loses a worker
        then goes on with the others, and so does a later fit of the same estimator to the same
        rows. A fit that ends well deletes it.
    worker_timeout : float
        Seconds without a sign of life after which a worker counts as lost.
    verbose : int
        1 shows a progress bar with losses and bytes.
    output_names : sequence of str, of length d, optional
        Names of the outputs, if Y has none: arrays or sparse matrices.

    Returns
    -------
    estimator
        A fitted clone, with a `FitReport` as `fit_report_`.

    Raises
    ------
    CollectiveError
        If a worker is lost: it names the worker.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.distributed import fit, predict
    >>> cluster = LocalCluster(n_workers=1, processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(400, 5), chunks=(100, 5))
    >>> with Client(cluster) as client:
    ...     model = fit(BoostingRegressor(n_estimators=5), X, X[:, :2] ** 2, client=client)
    ...     predict(model, X).compute().shape
    (400, 2)
    >>> cluster.close()
    """
    _, distributed = need_dask()
    check_estimator(estimator)
    check_parameters(estimator)
    heard = as_callbacks(callbacks)
    is_boosting = isinstance(estimator, Boosting)
    if not is_boosting and (heard or eval_set is not None or checkpoint is not None):
        raise ValueError(
            "callbacks, eval_set and checkpoint are for boosting, whose rounds follow each other; "
            f"got one of them with {type(estimator).__name__}."
        )
    X, Y = split_targets(X, Y, targets)
    held_out = check_eval_set(eval_set)
    parts = make_parts(X, Y, sample_weight)
    validation = None if held_out is None else make_parts(*held_out, what=" of eval_set")
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError as error:
            raise ValueError(
                "fit needs a Dask cluster; got no client, and there is no current one. Start one "
                "with distributed.Client(), or give client=."
            ) from error
    check_versions(client)
    told = _prepared(estimator)
    kept = None
    if checkpoint is not None:
        if estimator.random_state is None:
            raise ValueError("checkpoint needs a random_state to continue with; got None.")
        kept = Checkpoint(checkpoint, told)
    run = _Run(client, told, worker_timeout, heard, verbose, kept, output_names)
    trained = run.train_until_done(parts, validation)
    if kept is not None:
        kept.remove()
    fitted = clone(estimator)
    fitted._fitted = trained[0].fitted
    fitted._fit_facts = time.time(), trained[0].n_rows
    fitted._card = None
    fitted.fit_report_ = FitReport(
        run.workers,
        trained[0].n_rows,
        tuple(one.start for one in trained),
        tuple(tuple(one.rounds) for one in trained),
    )
    return fitted


def _prepared(estimator: Any) -> Any:
    """Give a clone that means the same on all workers."""
    told = clone(estimator)
    if "verbose" in told.get_params(deep=False):
        told.set_params(verbose=0)
    if isinstance(told, Boosting):
        told.set_params(sums="fixed")
    if told.random_state is None:
        told.set_params(random_state=secrets.randbits(31))
    return told


def check_versions(client: Any) -> None:
    """Raise a RuntimeError unless all workers have this release of polyleaf.

    Parameters
    ----------
    client : distributed.Client
    """
    found = client.run(report_version, on_error="return")
    if not found:
        raise RuntimeError("The cluster has no workers. Start some, and fit again.")
    for address, version in found.items():
        if isinstance(version, OSError):  # it has just left, and holds no rows
            continue
        if version != __version__:
            has = version if isinstance(version, str) else f"none ({version!r:.200})"
            raise RuntimeError(
                f"All workers must have polyleaf {__version__}, as the client has; "
                f"worker {address} has {has}. Install the same release everywhere."
            )


class _Run:
    """One fit on a cluster.

    Parameters
    ----------
    client : distributed.Client
    estimator : estimator
        As workers get it.
    timeout : float
    callbacks : sequence of callable
    verbose : int
    checkpoint : Checkpoint or None
    output_names : sequence of str or None

    Attributes
    ----------
    workers : tuple of str
        Those that have rows.
    """

    def __init__(
        self,
        client: Any,
        estimator: Any,
        timeout: float,
        callbacks: Sequence[Callable[..., Any]],
        verbose: int,
        checkpoint: Checkpoint | None = None,
        output_names: Any = None,
    ) -> None:
        self._output_names = output_names
        self._checkpoint, self._n_told, self._tries = checkpoint, 0, 0
        self._client, self._estimator, self._timeout = client, estimator, timeout
        self._callbacks, self._verbose = callbacks, verbose
        self._fit = f"polyleaf-{uuid.uuid4().hex}"
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.workers: tuple[str, ...] = ()

    def train_until_done(self, parts: list[Any], validation: list[Any] | None) -> list[Trained]:
        """Train; with a checkpoint, go on with the workers that are left if one is lost.

        Parameters
        ----------
        parts : list of delayed
        validation : list of delayed or None
        """
        while True:
            try:
                return self.train(parts, validation)
            except CollectiveError:
                self._tries += 1
                if self._checkpoint is None or self._tries > _MOST_TRIES:
                    raise
                self._fit = f"polyleaf-{uuid.uuid4().hex}"
                time.sleep(min(_MOST_PAUSE, 0.1 * 2**self._tries))  # the scheduler has to notice
                self._client.wait_for_workers(1, timeout=2 * self._timeout)

    def train(self, parts: list[Any], validation: list[Any] | None) -> list[Trained]:
        """Place the parts, and train where they are.

        Parameters
        ----------
        parts : list of delayed
        validation : list of delayed or None
        """
        client = self._client
        futures = client.compute(parts)
        held_out = [] if validation is None else client.compute(validation)
        try:
            placed = self._place(futures)
            if not placed:
                raise ValueError("There are no rows to learn from: all parts of X are empty.")
            self.workers = tuple(sorted(placed))
            checked: dict[str, list[Any]] | None = None
            if validation is not None:
                checked = {}
                for worker, found in self._place(held_out).items():
                    # Parts of a worker without training rows are sent to another.
                    own = worker if worker in placed else self.workers[0]
                    checked.setdefault(own, []).extend(found)
            return self._train(placed, checked)
        finally:
            # Not cancelled: a second try computes parts under the same keys.
            for future in (*futures, *held_out):
                future.release()

    def _place(self, futures: list[Any]) -> dict[str, list[Any]]:
        """Have parts computed, and find out where those with rows are."""
        need_dask()[1].wait(futures)
        for future in futures:
            if future.status == "error":
                future.result()  # raises what reading it raised
        where = self._client.who_has(futures)
        sizes = self._client.gather(self._client.map(count_rows, futures, pure=False))
        placed: dict[str, list[Any]] = {}
        for future, size in zip(futures, sizes):
            if size == 0:
                continue
            holders = where.get(future.key)
            if not holders:
                raise CollectiveError(
                    "of this cluster", "left while parts were read: it was killed or restarted."
                )
            placed.setdefault(min(holders), []).append(future)
        return placed

    def _train(
        self, placed: dict[str, list[Any]], checked: dict[str, list[Any]] | None
    ) -> list[Trained]:
        client, workers = self._client, self.workers
        patience = 20 * self._timeout
        by_comms = not all(worker.startswith(_WITH_SOCKETS) for worker in workers)
        addresses = self._open(patience, by_comms)
        secret, asks = secrets.token_bytes(32), bool(self._callbacks)
        tasks = []
        if asks or self._verbose:
            client.subscribe_topic(self._fit, lambda event: self._events.put(event[1]))
        try:
            for rank, worker in enumerate(workers):
                seat = Seat(
                    self._fit,
                    rank,
                    workers,
                    addresses,
                    secret,
                    self._timeout,
                    bool(self._verbose),
                    asks,
                    self._checkpoint is not None,
                    self._n_told,
                    self._output_names,
                )
                task = client.submit(
                    train_part,
                    seat,
                    self._estimator,
                    placed.get(worker, []),
                    None if checked is None else checked.get(worker, []),
                    [] if self._checkpoint is None else self._checkpoint.records,
                    workers=[worker],
                    allow_other_workers=False,
                    pure=False,
                    retries=0,
                    priority=10,
                )
                tasks.append(task)
            self._watch(tasks)
            return [task.result() for task in tasks]
        except BaseException as error:
            self._stop(f"was stopped: {type(error).__name__} at the client.")
            raise
        finally:
            if asks or self._verbose:
                client.unsubscribe_topic(self._fit)
            client.cancel(tasks, force=True)

    def _open(self, patience: float, by_comms: bool) -> tuple[tuple[str, int], ...]:
        """Have all workers get ready; give where they listen."""
        found = self._ask(self.workers, open_fit, patience, by_comms, on_error="return")
        for worker in self.workers:
            answer = found.get(worker, "it did not answer")
            if not isinstance(answer, tuple | list):
                self._stop("was stopped: another worker could not start.")
                raise CollectiveError(worker, f"could not start: {answer!r:.200}")
        return tuple(found[worker] for worker in self.workers)

    def _stop(self, reason: str) -> None:
        """Tell all workers that are still there to end the fit."""
        present = self._present()
        if left := [worker for worker in self.workers if worker in present]:
            with suppress(Exception):
                self._ask(left, stop_fit, reason)

    def _ask(
        self, workers: Sequence[str], function: Any, *args: Any, on_error: str = "ignore"
    ) -> Any:
        """Call a function on workers; one that does not answer in time counts as lost."""
        how = {"workers": list(workers), "on_error": on_error, "callback_timeout": self._timeout}
        try:
            return self._client.run(function, self._fit, *args, **how)
        except TimeoutError:
            reason = f"did not answer within {self._timeout:g} s."
            raise CollectiveError(", ".join(workers), reason) from None

    def _present(self) -> set[str]:
        return set(self._client.nthreads())  # scheduler_info may be empty for a moment

    def _watch(self, tasks: list[Any]) -> None:
        """Wait until all workers are done; run callbacks meanwhile."""
        name, total = type(self._estimator).__name__, getattr(self._estimator, "n_estimators", 0)
        called_at = written_at = time.monotonic()
        shown = self._verbose if isinstance(self._estimator, Boosting) else 0
        with progress_bar(name, total, shown) as advance:
            while any(task.status == "pending" for task in tasks):
                self._hear(advance)
                if any(task.status in ("error", "cancelled", "lost") for task in tasks):
                    raise self._failure(tasks)
                if time.monotonic() - called_at > _ROLL_CALL:
                    called_at = time.monotonic()
                    self._call_roll(tasks)
                if self._checkpoint is not None and time.monotonic() - written_at > _WRITE:
                    written_at = time.monotonic()
                    self._write_down()
            self._hear(advance, wait=False)
        if any(task.status != "finished" for task in tasks):
            raise self._failure(tasks)

    def _write_down(self) -> None:
        """Take the rounds that worker 0 has grown."""
        assert self._checkpoint is not None
        found = self._ask(self.workers[:1], take_records)
        self._checkpoint.add(found.get(self.workers[0]) or [])

    def _call_roll(self, tasks: list[Any]) -> None:
        present = self._present()
        for worker, task in zip(self.workers, tasks):
            if worker not in present and task.status != "finished":
                raise CollectiveError(worker, "left the cluster: it was killed or restarted.")

    def _hear(self, advance: Callable[..., None], *, wait: bool = True) -> None:
        """Take what worker 0 says of rounds."""
        try:
            told = self._events.get(timeout=_GLANCE if wait else 0.001)
        except queue.Empty:
            return
        sent, progress = told["bytes_sent"], BoostingProgress(**told["progress"])
        self._n_told = progress.n_estimators
        shown = {"train": progress.train_loss, "validation": progress.validation_loss}
        advance(**{k: v for k, v in shown.items() if v is not None}, MB=sent / 1e6)
        if self._callbacks:
            answers = [callback(progress) for callback in self._callbacks]
            stops = any(isinstance(one, bool | np.bool_) and bool(one) for one in answers)
            # If it is gone, there is nobody to answer, and the next look at the tasks tells.
            self._ask(self.workers[:1], answer_round, stops)

    def _failure(self, tasks: list[Any]) -> BaseException:
        """Find out who failed first: an error of its own, or a worker that reports nothing."""
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and any(t.status == "pending" for t in tasks):
            time.sleep(_GLANCE)
        errors: list[BaseException] = []
        reported: set[str] = set()
        for worker, task in zip(self.workers, tasks):
            if task.status == "error":
                errors.append(task.exception())
                reported.add(worker)
        own = [error for error in errors if not isinstance(error, CollectiveError)]
        if own:
            return own[0]
        accused = [error for error in errors if isinstance(error, CollectiveError)]
        silent = [error for error in accused if error.name not in reported]
        if silent or accused:
            return (silent or accused)[0]
        lost = [w for w, task in zip(self.workers, tasks) if task.status != "finished"]
        return CollectiveError(lost[0], "left the cluster: it was killed or restarted.")
