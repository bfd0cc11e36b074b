"""Comparisons whose runs are spread over a cluster, and commands that train on one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from divided import assert_same
from typer.testing import CliRunner

from distributed import Client, LocalCluster
from polyleaf import BoostingRegressor, load
from polyleaf.cli._app import app
from polyleaf.experiments import compare


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_runs_of_a_cluster_give_the_scores_of_one_machine(client: Client) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = X @ rng.normal(size=(3, 2))
    given: dict[str, Any] = {"methods": ["Mean", "Tree"], "cv": 2, "max_settings": 1}
    found = compare(X, Y, client=client, **given)
    expected = compare(X, Y, **given)
    kept = [[row["scores"] for row in result.rows] for result in (found, expected)]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_a_wrong_address_is_an_error_of_the_command(tmp_path: Any, command: str) -> None:
    given = {"compare": ["--rows", 50], "fit": ["tags", "--method", "Tree"]}[command]
    result = run(command, *given, "--dask", "nowhere", "--out", tmp_path / "out")
    assert result.exit_code != 0
    with pytest.raises(ValueError, match="address of a Dask scheduler"):
        raise result.exception


@pytest.mark.parametrize("data", ["tags", "hidden-factors"])
def test_fit_on_a_cluster_writes_the_model_of_one_machine(
    client: Client, tmp_path: Any, data: str
) -> None:
    given = ["--method", "Boosting", "--set", "n_estimators=3", "--set", "sums=fixed"]
    here, there = tmp_path / "here", tmp_path / "there"
    assert run("fit", data, *given, "--out", here).exit_code == 0
    address = client.scheduler.address
    result = run("fit", data, *given, "--dask", address, "--out", there)
    assert result.exit_code == 0, result.exception
    assert_same(load(there), load(here))


def test_workers_read_a_pattern_of_files(client: Client, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 4)), columns=list("abcd"))
    frame["u"], frame["v"] = frame["a"] ** 2, frame["b"]
    for number, rows in enumerate(np.array_split(np.arange(90), 3)):
        frame.iloc[rows].to_parquet(tmp_path / f"{number}.parquet", index=False)
    pattern, out = tmp_path / "*.parquet", tmp_path / "model"
    given = ["--targets", "u,v", "--exclude", "d", "--method", "Boosting", "--out", out]
    result = run("fit", pattern, *given, "--dask", client.scheduler.address)
    assert result.exit_code == 0, result.exception
    expected = BoostingRegressor(random_state=0, sums="fixed")
    assert_same(load(out), expected.fit(frame[["a", "b", "c"]], frame[["u", "v"]]))


def test_auto_is_not_for_clusters(client: Client, tmp_path: Any) -> None:
    result = run("fit", "tags", "--dask", client.scheduler.address, "--out", tmp_path / "m")
    with pytest.raises(ValueError, match="--dask needs --method"):
        raise result.exception
