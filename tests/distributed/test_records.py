"""A fit goes on from rounds that were written down, and gives the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from divided import assert_same, cut, fit_divided

from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.distributed.records import Checkpoint

MODELS: dict[str, Any] = {
    "all outputs": BoostingRegressor(projection=None),
    "gaussian": BoostingRegressor(projection="gaussian", subsample=0.7),
    "one at a time": BoostingRegressor(projection="round_robin"),
    "linear leaves": BoostingRegressor(
        projection=projections.Gaussian(n_components=1), leaf_fit="linear"
    ),
    "adaptive": BoostingRegressor(projection="adaptive"),
    "early stopping": BoostingRegressor(projection=None, early_stopping=True),
    "labels": BoostingClassifier(projection="gaussian"),
    "labels one at a time": BoostingClassifier(projection="round_robin"),
    "classes": BoostingClassifier(),
}


def make_data(name: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = np.sin(X) @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(300, 3))
    if name == "classes":
        return X, np.digitize(Y[:, 0], [-0.5, 0.5])
    return X, (Y > 0).astype(int) if "labels" in name else Y


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_goes_on_from_any_round_on_other_workers(name: str) -> None:
    X, Y = make_data(name)
    model = MODELS[name].set_params(n_estimators=6, random_state=0)
    records: list[bytes] = []
    expected = fit_divided(model, X, Y, world=2, parts=cut(300, 4), note=records.append)
    n_trees = len(records)
    assert n_trees >= 6
    for n_kept in (1, n_trees // 2, n_trees):
        more: list[bytes] = []
        found = fit_divided(
            model,
            X,
            Y,
            world=3,
            parts=cut(300, 5, seed=2),
            records=records[:n_kept],
            note=more.append,
        )
        assert_same(found, expected)
        assert more == records[n_kept:]


def test_records_of_other_rows_are_refused() -> None:
    X, Y = make_data("")
    model = BoostingRegressor(n_estimators=2, projection=None, random_state=0)
    records: list[bytes] = []
    fit_divided(model, X, Y, world=1, parts=cut(300, 2), note=records.append)
    with pytest.raises(ValueError, match="belongs to a fit of 300 rows; got 200"):
        fit_divided(model, X[:200], Y[:200], world=1, parts=cut(200, 2), records=records)


def test_a_checkpoint_keeps_rounds_until_it_is_removed(tmp_path: Path) -> None:
    X, Y = make_data("")
    model = BoostingRegressor(n_estimators=3, projection=None, random_state=0)
    records: list[bytes] = []
    fit_divided(model, X, Y, world=1, parts=cut(300, 2), note=records.append)
    path = tmp_path / "fit.checkpoint"
    kept = Checkpoint(path, model)
    kept.add(records)
    assert Checkpoint(path, model).records == records
    path.write_bytes(path.read_bytes()[:-5])  # the last round was not written to its end
    assert Checkpoint(path, model).records == records[:-1]
    with pytest.raises(ValueError, match="belongs to another fit"):
        Checkpoint(path, BoostingRegressor(n_estimators=4, random_state=0))
    kept.remove()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"hello, this is no checkpoint", bytes(100)])
def test_other_files_are_no_checkpoints(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fit.checkpoint"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no checkpoint"):
        Checkpoint(path, BoostingRegressor(random_state=0))
