"""What cannot be trained on a cluster is refused by name, before anything is started."""

from __future__ import annotations

import sys
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from polyleaf import (
    BoostingClassifier,
    BoostingMixed,
    BoostingRegressor,
    RandomForestRegressor,
    RuleClassifier,
)
from polyleaf.distributed import fit, predict
from polyleaf.losses import SquaredError

X = da.from_array(np.random.default_rng(0).normal(size=(40, 3)), chunks=(20, 3))
Y = X[:, :2]


class BiasedError(SquaredError):
    """A loss that looks at rows itself."""

    def baseline(self, targets: Any) -> Any:
        return np.median(targets.values, axis=0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BoostingRegressor(warm_start=True), "warm_start=True of BoostingRegressor"),
        (BoostingRegressor(estimator=Ridge()), r"estimator=Ridge\(\) of"),
        (BoostingRegressor(max_bins=None), "max_bins=None of"),
        (RandomForestRegressor(projection_scope="node"), "projection_scope='node' of"),
        (BoostingRegressor(sums="float"), "sums='float' of"),
        (BoostingRegressor(loss=BiasedError()), r"loss=BiasedError\(\) of.*its own baseline\(\)"),
        (BoostingRegressor(projection="pca"), "projection=PCA"),
        (BoostingRegressor(eval_metric="r2"), "eval_metric='r2' of"),
        (BoostingMixed(), "BoostingMixed of BoostingMixed cannot"),
    ],
)
def test_parameters_are_refused_by_name(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(model, X, Y)


@pytest.mark.parametrize(
    ("model", "use"),
    [(RuleClassifier(), "boosting with max_depth=1"), (Ridge(), "Call its own fit")],
)
def test_other_families_are_refused_with_what_to_use(model: Any, use: str) -> None:
    with pytest.raises(TypeError, match=f"trains boosting.*{use}"):
        fit(model, X, Y)


FRAME = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), npartitions=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": np.zeros((3, 2)), "Y": Y}, "X must be a dask array.*got ndarray"),
        ({"X": X, "Y": None}, "fit needs Y"),
        ({"X": X, "Y": X[:30]}, r"\[40, 30\]"),
        ({"X": X, "Y": Y.to_delayed().ravel().tolist()[:1]}, "as many parts; got X 2, Y 1"),
        ({"X": "data/*.txt", "targets": "y"}, "pattern 'data/"),
        ({"X": "data/*.csv"}, "targets must name the columns"),
        ({"X": FRAME, "targets": ["c"]}, "got 'c'"),
        ({"X": FRAME, "Y": FRAME, "targets": ["a"]}, "got both"),
        ({"X": X, "Y": Y, "eval_set": (X,)}, "eval_set must be one pair"),
        ({"X": X, "Y": Y}, "no client"),
    ],
)
def test_inputs_are_refused_before_anything_is_started(given: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        fit(BoostingRegressor(), given.pop("X"), given.pop("Y", None), **given)


def test_forests_have_no_rounds_to_validate_or_to_call_back_from() -> None:
    with pytest.raises(ValueError, match="are for boosting"):
        fit(RandomForestRegressor(), X, Y, callbacks=print)


def test_a_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"polyleaf\[dask\]"):
        fit(BoostingRegressor(), X, Y)


def test_predictions_are_lazy_and_their_method_is_checked() -> None:
    rows = X.compute()
    model = BoostingClassifier(n_estimators=2).fit(rows, (rows > 0).astype(int)[:, :2])
    with pytest.raises(ValueError, match="Did you mean 'predict'"):
        predict(model, X, method="predictt")
    with pytest.raises(TypeError, match="got ndarray"):
        predict(model, rows)
    lazy = predict(model, X, method="predict_proba")
    assert np.array_equal(lazy.compute(scheduler="sync"), model.predict_proba(rows))
    several = np.column_stack([np.arange(40) % 3, np.arange(40) % 2])
    model = BoostingClassifier(n_estimators=2).fit(rows, several)
    found = predict(model, X, method="predict_proba")
    assert [part.shape for part in found] == [(40, 3), (40, 2)]
    expected = model.predict_proba(rows)
    for part, other in zip(dask.compute(*found, scheduler="sync"), expected, strict=True):
        assert np.array_equal(part, other)
