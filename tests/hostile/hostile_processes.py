"""Targets that meet the system: interrupts, forks, kills, low memory, full disks, two writers."""

import copy
import os
import resource
import signal
import sys
import time
from functools import cache, partial
from pathlib import Path

import numpy as np
from hostile_estimators import NUMBERS, X, fitted, new, outputs_for
from hostile_outcomes import SilentChangeError, Target

import polyleaf
from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.experiments import ResultsFileError, compare

_RNG = np.random.default_rng(5)
BIG_X = _RNG.normal(size=(400, 10))
BIG_Y = BIG_X[:, :4] + _RNG.normal(size=(400, 4))
#: Exit codes of children.
GOOD, NO_MEMORY, OTHER_ANSWER, REFUSED = 0, 3, 4, 5


def moment(value, kind, rng):
    """Return when something happens, as a share from 0 to 1."""
    return float(rng.random())


def big_outputs(name):
    return BIG_Y if outputs_for(name) is NUMBERS else (BIG_Y > 0).astype(int)


@cache
def seconds_of_fit(name):
    model = new(name)
    begun = time.perf_counter()
    model.fit(BIG_X, big_outputs(name))
    return time.perf_counter() - begun


def interrupted_fit(name, when):
    """Ctrl-C at some moment of a fit leaves the model as it was, or finds it already new."""
    usual_predictions(name)
    model = copy.copy(fitted(name))
    before, known = dict(vars(model)), model.predict(X)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(1e-5, 1.1 * when * seconds_of_fit(name)))
        model.fit(BIG_X, big_outputs(name))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        after = vars(model)
        is_old = before.keys() == after.keys() and all(after[k] is before[k] for k in before)
        # The signal may come when the whole new model is in place, but fit has not yet returned.
        rows, answer = (X, known) if is_old else (BIG_X, usual_predictions(name))
        if not np.array_equal(model.predict(rows), answer):
            raise SilentChangeError("an interrupted fit left a mixed model") from None
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)


def in_child(work):
    """Run work in a forked child; return its exit code, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        code = OTHER_ANSWER
        try:
            code = work() or GOOD
        except MemoryError:
            code = NO_MEMORY
        except ResultsFileError:
            code = REFUSED
        except BaseException as error:
            os.write(2, repr(error).encode()[:500])
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def expect(code, *allowed):
    if code not in allowed:
        raise SilentChangeError(f"a child process ended with {code}")


@cache
def usual_predictions(name):
    return new(name).fit(BIG_X, big_outputs(name)).predict(BIG_X)


def fitted_as_usual(name, n_jobs):
    model = new(name)
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    answer = model.fit(BIG_X, big_outputs(name)).predict(BIG_X)
    return GOOD if np.array_equal(answer, usual_predictions(name)) else OTHER_ANSWER


def forked_fit(name, when):
    """A child forked from a process that used threads gives the same model."""
    usual_predictions(name)
    expect(fitted_as_usual(name, 2), GOOD)
    expect(in_child(partial(fitted_as_usual, name, 2)), GOOD)
    expect(fitted_as_usual(name, 2), GOOD)


def starved_fit(name, when):
    """With little memory, a fit gives the same model or a MemoryError."""
    usual_predictions(name)

    def work():
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + int(when**3 * (60 << 20))
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return fitted_as_usual(name, 1)

    expect(in_child(work), GOOD, NO_MEMORY)


@cache
def two_models():
    forest = polyleaf.RandomForestRegressor
    return [forest(n_estimators=n, random_state=n).fit(BIG_X, BIG_Y) for n in (5, 8)]


@cache
def two_answers():
    return [model.predict(BIG_X) for model in two_models()]


def check_whole(path):
    answer = polyleaf.load(path).predict(BIG_X)
    if not any(np.array_equal(answer, known) for known in two_answers()):
        raise SilentChangeError("the file holds a model that nobody saved")


def save_for_ever(path):
    while True:
        for model in two_models():
            polyleaf.save(model, path)


def killed_save(when):
    """After kill -9 during save, the file is the old or the new one."""
    path = Path("model.polyleaf")
    polyleaf.save(two_models()[0], path)
    pid = os.fork()
    if pid == 0:
        save_for_ever(path)
    time.sleep(0.002 + 0.03 * when)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    check_whole(path)
    for left in Path().glob(".model.polyleaf*.tmp"):
        left.unlink()


def two_savers(when):
    """Two processes that save to one path never leave a mixture."""
    path = Path("model.polyleaf")
    polyleaf.save(two_models()[0], path)
    pids = []
    for _ in range(2):
        pids.append(os.fork())
        if pids[-1] == 0:
            save_for_ever(path)
    try:
        for _ in range(5):
            check_whole(path)
            time.sleep(0.005 * when)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    check_whole(path)


def full_disk(when):
    """A save that finds no room is an OSError, and the old file stays."""
    path = Path("model.polyleaf")
    polyleaf.save(two_models()[0], path)
    whole = path.read_bytes()

    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit = int(when * len(whole))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            polyleaf.save(two_models()[1], path)
        except OSError:
            return GOOD
        return REFUSED

    expect(in_child(work), GOOD)
    if path.read_bytes() != whole:
        raise SilentChangeError("a save without room changed the old file")
    if list(Path().glob(".model.polyleaf*.tmp")):
        raise SilentChangeError("a save without room left its temporary file behind")


def save_to_pipe(when):
    """A path that is no file is refused, and stays what it is."""
    path = Path("pipe.polyleaf")
    if not path.exists():
        os.mkfifo(path)
    try:
        polyleaf.save(two_models()[0], path)
    except OSError:
        if path.is_fifo():
            return
    raise SilentChangeError("a pipe was replaced by a model")


def compared(path):
    compare(X, NUMBERS, methods=["Mean"], metrics=["r2"], cv=2, path=path)


def two_comparisons(when):
    """Of two comparisons on one file, one may be refused; the rows are there once."""
    path = Path("results.jsonl")
    path.unlink(missing_ok=True)
    pids = []
    for _ in range(2):
        pids.append(os.fork())
        if pids[-1] == 0:
            os._exit(in_child(partial(compared, path)))
        time.sleep(0.01 * when)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    if GOOD not in codes or not set(codes) <= {GOOD, REFUSED}:
        raise SilentChangeError(f"two comparisons ended with {codes}")
    if len(path.read_text().splitlines()) != 3:
        raise SilentChangeError("the results of two comparisons are not those of one")


def scenario(name, layer, call, kinds=("any moment",)):
    return Target(
        name, layer, lambda: {"when": 0.5}, call, kinds=kinds, hostile=moment, patience=120.0
    )


def targets():
    for name in (*ESTIMATORS, *META_ESTIMATORS):
        yield scenario(f"interrupt:{name}", "interrupts", partial(interrupted_fit, name))
    for name in ESTIMATORS:
        yield scenario(f"fork:{name}", "forks", partial(forked_fit, name))
        if sys.platform == "linux":
            yield scenario(f"memory:{name}", "low memory", partial(starved_fit, name))
    yield scenario("kill -9 during save", "kills", killed_save)
    yield scenario("two processes save", "two writers", two_savers)
    yield scenario("two comparisons", "two writers", two_comparisons)
    yield scenario("save on a full disk", "disk full", full_disk)
    yield scenario("save to a pipe", "disk full", save_to_pipe)
