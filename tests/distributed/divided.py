"""Fits on workers that are threads, and models that must be the same to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from polyleaf.boosting.base import Boosting
from polyleaf.distributed import Part, Rows, Settings, ThreadCollective, train_on_worker


def cut(n_rows: int, n_parts: int, seed: int = 0) -> list[slice]:
    """Cut rows into parts of very different sizes; some are empty."""
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.integers(0, n_rows + 1, n_parts - 1))
    ends = [0, *inner.tolist(), n_rows]
    return [slice(a, b) for a, b in pairwise(ends)]


def rows_at(values: Any, rows: slice) -> Any:
    """Give some rows of an array, a frame or a sparse matrix; None of None."""
    if values is None:
        return None
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def fit_divided(
    estimator: Any,
    X: Any,
    Y: Any,
    weights: Any = None,
    eval_set: tuple[Any, ...] | None = None,
    *,
    world: int,
    parts: Sequence[slice],
    tell: Any = None,
    records: Sequence[bytes] = (),
    note: Any = None,
) -> Any:
    """Fit a clone on parts that are dealt to workers; all must have the same result."""
    model = clone(estimator)
    if isinstance(model, Boosting):
        model.set_params(sums="fixed")

    def work(collective: ThreadCollective) -> Any:
        own = [
            Rows(i, rows_at(X, rows), rows_at(Y, rows), rows_at(weights, rows))
            for i, rows in enumerate(parts)
            if (7 * i + 3) % world == collective.rank
        ]
        held_out = None
        if eval_set is not None:
            n_rows = eval_set[0].shape[0]
            cuts = cut(n_rows, 4, seed=5)
            held_out = [
                Rows(i, *(rows_at(values, rows) for values in eval_set))
                for i, rows in enumerate(cuts)
                if i % world == collective.rank
            ]
        try:
            settings = Settings(clone(model), tell, records, note)
            return train_on_worker(collective, Part(own, held_out), settings)
        except BaseException as error:
            collective.abort(str(error))
            raise

    with ThreadPoolExecutor(world) as pool:
        results = list(pool.map(work, ThreadCollective.group(world, timeout=300.0)))
    for other in results[1:]:
        if other.fitted is None:  # a single tree is grown by one worker
            continue
        assert_same_fitted(other.fitted, results[0].fitted)
    model._fitted = results[0].fitted
    return model


def assert_same(model: Any, expected: Any) -> None:
    """Check that two fitted models are the same, bit for bit."""
    assert_same_fitted(model._fitted, expected._fitted)


def assert_same_fitted(fitted: Any, expected: Any) -> None:
    arrays, metadata = fitted.to_file()
    known, other = expected.to_file()
    assert sorted(arrays) == sorted(known)
    for name, values in known.items():
        assert np.array_equal(arrays[name], values, equal_nan=True), name
    assert metadata == other
    assert fitted.features.to_json() == expected.features.to_json()
    assert fitted.targets.to_json() == expected.targets.to_json()
