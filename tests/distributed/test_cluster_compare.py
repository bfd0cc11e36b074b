"""Comparisons whose runs are spread over a cluster."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from distributed import Client, LocalCluster
from polyleaf.cli._app import app
from polyleaf.experiments import compare


def test_runs_of_a_cluster_give_the_scores_of_one_machine(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = X @ rng.normal(size=(3, 2))
    given = {"methods": ["Mean", "Tree"], "cv": 2, "max_settings": 1}
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        found = compare(X, Y, client=client, **given)
    expected = compare(X, Y, **given)
    kept = [[row["scores"] for row in result.rows] for result in (found, expected)]
    assert kept[0] == kept[1]


def test_a_wrong_address_is_an_error_of_the_command(tmp_path) -> None:
    result = CliRunner().invoke(
        app, ["compare", "--dask", "nowhere", "--out", str(tmp_path), "--rows", "50"]
    )
    assert result.exit_code != 0
    with pytest.raises(ValueError, match="address of a Dask scheduler"):
        raise result.exception
