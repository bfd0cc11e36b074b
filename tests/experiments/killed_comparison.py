"""Run a comparison whose third run kills the process, as a power cut would."""

import os
import signal
import sys

from polyleaf.datasets import make_correlated_targets
from polyleaf.experiments import Method, compare
from polyleaf.experiments._baseline_methods import METHODS

calls_left = None  # before the process ends itself; None in the process of the tests


def make_tree(problem, random_state):
    global calls_left
    if calls_left is not None:
        calls_left -= 1
        if calls_left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return METHODS["Tree"].make(problem, random_state).set_params(min_samples_leaf=3)


def result_of(path):
    data = {"a": make_correlated_targets(120, 4, 3, random_state=0)}
    return compare(
        data, methods=[Method("Mine", make_tree), "Mean"], metrics=["r2"], cv=4, path=path
    )


if __name__ == "__main__":
    calls_left = 2
    result_of(sys.argv[1])
