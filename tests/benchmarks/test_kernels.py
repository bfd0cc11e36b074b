"""The micro-benchmark of the core: what it counts, not how fast it is."""

from __future__ import annotations

import argparse

import pytest
from benchmarks.kernels import Growth, Shape, grow, main, make_problem

SHAPE = Shape(500, 6, 5, 32)


def root_growth(histogram_min_rows: int) -> Growth:
    binned, gradient = make_problem(SHAPE)
    return grow(
        binned,
        gradient,
        max_depth=1,
        histogram_min_rows=histogram_min_rows,
        n_threads=1,
        n_features=SHAPE.p,
        repeats=2,
    )


def test_root_histogram_adds_every_row_feature_and_channel_once() -> None:
    growth = root_growth(histogram_min_rows=1)
    assert growth.work == SHAPE.n * SHAPE.p * SHAPE.q
    assert growth.n_nodes == 3


def test_root_walk_adds_all_but_the_last_code_of_a_feature() -> None:
    all_triples = SHAPE.n * SHAPE.p * SHAPE.q
    assert 0.9 * all_triples < root_growth(histogram_min_rows=10**6).work <= all_triples


def test_rate_without_setup_divides_by_the_remaining_time() -> None:
    growth = Growth(seconds=3.0, n_nodes=1, work=8)
    assert growth.adds_per_second(setup_seconds=1.0) == 4.0


def test_command_prints_a_row_per_depth_and_finder(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--shapes", "300,5,3,16", "--depths", "1", "unlimited", "--repeats", "1"])
    printed = capsys.readouterr().out
    assert "adds/s" in printed
    assert printed.count("never") == 2
    assert printed.count("unlimited") == 3


@pytest.mark.parametrize("text", ["10,2,3", "10,2,3,0", "a,b,c,d", "10,2,3,256"])
def test_wrong_shape_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="got"):
        Shape.parse(text)
