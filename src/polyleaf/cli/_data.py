"""Read data as the command line names it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from polyleaf import datasets
from polyleaf.checks.spelling import did_you_mean
from polyleaf.datasets import Dataset, NumberedNames
from polyleaf.datasets._files import MAX_BYTES


def builtin_data(seed: int = 0) -> dict[str, Dataset]:
    """Return generated data sets of both tasks, small enough for a demonstration."""
    pairs = {
        "hidden-factors": datasets.make_correlated_targets(240, 12, 8, random_state=seed),
        "friedman1-group": datasets.make_friedman1_targets(
            240, 8, structure="group", random_state=seed
        ),
        "friedman1-ind": datasets.make_friedman1_targets(
            240, 4, structure="ind", random_state=seed
        ),
        "tags": datasets.make_multilabel(300, 12, 8, random_state=seed),
        # Half of the labels hold where another one does: pairs of labels say that, lines do not.
        "circle": datasets.make_circle_labels(300, 10, union_share=0.5, random_state=seed),
        "linear-dependent": datasets.make_linear_labels(
            300, dependence="conditional", random_state=seed
        ),
    }
    return {
        name: Dataset(X, Y, NumberedNames("x", X.shape[1]), NumberedNames("y", Y.shape[1]), name)
        for name, (X, Y) in pairs.items()
    }


def read_data(
    names: Sequence[str],
    targets: str | None,
    n_targets: int | None,
    xml: Path | None,
    exclude: str | None,
    max_bytes: int = MAX_BYTES,
) -> list[Dataset]:
    """Read files, or built-in and OpenML data sets by name."""
    return [_read_one(name, targets, n_targets, xml, exclude, max_bytes) for name in names]


def _read_one(
    name: str,
    targets: str | None,
    n_targets: int | None,
    xml: Path | None,
    exclude: str | None,
    max_bytes: int,
) -> Dataset:
    name, n_targets = _with_count(name, n_targets)
    if os.path.isdir(name):
        raise ValueError(f"{name} is a folder; name a file in it.")
    if os.path.exists(name):
        return datasets.load(
            name,
            targets=split_names(targets),
            n_targets=n_targets,
            xml=xml,
            exclude=split_names(exclude) or (),
            max_bytes=max_bytes,
        )
    generated = builtin_data()
    if name in generated:
        return generated[name]
    if name in datasets.OPENML:
        return datasets.fetch(name)
    known = [*generated, *datasets.OPENML]
    hint = did_you_mean(name, known)
    raise ValueError(
        f"{name} is neither a file nor a data set by name; `polyleaf datasets` lists those.{hint}"
    )


def _with_count(name: str, n_targets: int | None) -> tuple[str, int | None]:
    """Read FILE.arff:3, whose last 3 attributes are outputs."""
    path, colon, count = name.rpartition(":")
    if colon and count.isdecimal() and not os.path.exists(name):
        return path, int(count)
    return name, n_targets


def split_names(text: str | None) -> list[str] | None:
    """Split names at commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
