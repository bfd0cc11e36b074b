"""What is compared: the settings that all methods of a task obey, its problems and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """A kind of model to compare.

    Parameters
    ----------
    name : str
    settings : mapping of str to mapping
        Options by name of the setting, in polyleaf's words; adapters translate them.
    problems : tuple of str
        The problems it runs on unless told otherwise.
    metrics : tuple of str
        Names in `benchmarks.versus.scores.METRICS`; methods are compared by the first.
    """

    name: str
    settings: Mapping[str, Mapping[str, Any]]
    problems: tuple[str, ...]
    metrics: tuple[str, ...]


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="tree",
            settings={"unlimited": {"max_depth": None}, "depth-8": {"max_depth": 8}},
            problems=("dense-10k-60-16", "dense-30k-120-100"),
            metrics=("r2",),
        ),
        Task(
            name="forest",
            settings={
                f"{kind}-{name}": {"kind": kind, "max_features": width, "n_estimators": 20}
                for kind in ("rf", "et")
                for name, width in (("sqrt", "sqrt"), ("all", 1.0))
            },
            problems=("dense-9k-61-16", "dense-30k-120-100"),
            metrics=("r2",),
        ),
        Task(
            name="boosting",
            settings={
                "depth-6": {"max_depth": 6, "n_estimators": 100, "learning_rate": 0.1},
                # for rivals that take minutes; times then hold for ten rounds
                "ten-rounds": {"max_depth": 6, "n_estimators": 10, "learning_rate": 0.1},
            },
            problems=(
                "dense-10k-60-16",
                "dense-5k-15-2",
                "dense-5k-15-4",
                "dense-5k-15-6",
                "dense-250-300-16",
            ),
            metrics=("r2",),
        ),
        Task(
            # fit grows the trees, predict explains the test rows
            name="shap",
            settings={
                name: {
                    "max_depth": 6,
                    "n_estimators": n_estimators,
                    "learning_rate": 0.1,
                    "n_background": n_background,
                }
                for name, n_estimators, n_background in (
                    ("paths", 100, None),
                    # rivals take minutes for more trees
                    ("background-1000", 10, 1000),
                )
            },
            problems=("dense-2k-20-1", "dense-2k-20-16", "dense-2k-20-100"),
            metrics=("r2",),
        ),
        Task(
            name="rows",
            settings={
                "depth-6": {"max_depth": 6, "n_estimators": 30, "learning_rate": 0.1},
                "leaves-31": {"max_leaf_nodes": 31, "n_estimators": 50, "learning_rate": 0.1},
            },
            problems=tuple(
                f"{columns}-{n}-28-{d}"
                for columns in ("normal", "skewed")
                for n in ("100k", "1m")
                for d in (1, 4, 16)
            ),
            metrics=("r2",),
        ),
        Task(
            name="label-boosting",
            settings={
                "depth-6": {"max_depth": 6, "n_estimators": 100, "learning_rate": 0.1},
                "ten-rounds": {"max_depth": 6, "n_estimators": 10, "learning_rate": 0.1},
            },
            problems=("yeast", "enron"),
            metrics=("lrap",),
        ),
        Task(
            name="labels",
            settings={
                "all": {"n_components": None, "n_estimators": 20},
                "ln-d": {"n_components": "log", "n_estimators": 100},
                # as many trees as "all" has, for times at the same LRAP
                "ln-d-20": {"n_components": "log", "n_estimators": 20},
                "m-25": {"n_components": 25, "n_estimators": 100},
            },
            problems=("delicious",),
            metrics=("lrap",),
        ),
        Task(
            name="graphs",
            settings={"one": {"n_estimators": 1, "C": 1.0}, "ten": {"n_estimators": 10, "C": 1.0}},
            problems=("yeast", "enron"),
            metrics=("microlabel_accuracy", "multilabel_accuracy", "microlabel_f1"),
        ),
        Task(
            name="rules",
            settings={
                f"{loss}-{head}{suffix}": {
                    "loss": loss,
                    "head": head,
                    "n_rules": n_rules,
                    "learning_rate": 0.3,
                    "l2": 1.0,
                }
                for loss, head, n_rules, suffix in (
                    ("examplewise_logistic", "complete", 100, ""),
                    ("logistic", "complete", 100, ""),
                    ("logistic", "single", 100, ""),
                    ("examplewise_logistic", "complete", 300, "-300"),
                    ("logistic", "complete", 300, "-300"),
                    ("logistic", "single", 300, "-300"),
                    ("examplewise_logistic", "complete", 3, "-few"),  # for the memory of corel5k
                )
            },
            problems=("yeast", "enron", "enron-sparse", "medical", "medical-sparse"),
            metrics=("multilabel_accuracy", "microlabel_accuracy"),
        ),
    )
}


@dataclass(frozen=True)
class Case:
    """Work that every method gets alike.

    Parameters
    ----------
    task, problem, setting : str
        Names.
    dtype : str
        Type of X.
    threads : int
    """

    task: str
    problem: str
    setting: str
    dtype: str
    threads: int

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the setting."""
        return TASKS[self.task].settings[self.setting]
