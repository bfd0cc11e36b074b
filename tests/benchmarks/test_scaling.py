"""Curves of time and memory: their points, exponents, bounds and page."""

import argparse
import json

import pytest
from benchmarks.scaling import CURVES, Point, measure

from benchmarks import scaling, scaling_page

MACHINE = {
    "cpu": "x",
    "cores": 2,
    "instruction_set": "avx2",
    "load_average": 1.0,
    "packages": {"xgboost": "1", "lightgbm": "2", "scikit-learn": "3"},
}


@pytest.mark.parametrize("curve", CURVES)
def test_one_size_changes_along_a_curve(curve):
    size, points = CURVES[curve].size, CURVES[curve].points
    sizes = [getattr(point, size) for point in points]
    assert sizes == sorted(set(sizes))
    others = [{**point.__dict__, size: 0} for point in points]
    assert all(other == others[0] for other in others)
    assert curve in scaling_page.TITLES


@pytest.mark.parametrize("kind", ["numbers", "words", "labels"])
def test_a_point_is_measured_with_time_and_memory(kind):
    found = measure("polyleaf", Point(rows=600, features=50, outputs=4, trees=2, kind=kind))
    assert found["library"] == "polyleaf"
    assert found["processor_seconds"] > 0
    assert found["peak_bytes"] >= 0


def test_the_rival_of_labels_can_run():
    found = measure("rival", Point(rows=400, features=50, outputs=4, trees=2, kind="labels"))
    assert found["library"] == "scikit-learn"
    assert found["processor_seconds"] > 0


def options_of(tmp_path, **given):
    options = {
        "records": tmp_path / "scaling.jsonl",
        "curves": ["rows"],
        "largest": 1e4,
        "limit": 60.0,
        "timeout": 60.0,
        "for_seconds": 1e9,
        "again": False,
    }
    return argparse.Namespace(**{**options, **given})


def test_a_further_run_measures_what_is_missing(tmp_path, monkeypatch):
    measured = []

    def measure_apart(method, point, timeout):
        measured.append((method, point.rows))
        return {"library": method, "processor_seconds": 1.0}

    monkeypatch.setattr(scaling, "measure_apart", measure_apart)
    scaling.run(options_of(tmp_path, largest=1e3))
    assert measured == [("polyleaf", 1000), ("rival", 1000)]
    scaling.run(options_of(tmp_path))
    assert measured[2:] == [("polyleaf", 10_000), ("rival", 10_000)]
    scaling.run(options_of(tmp_path, again=True, for_seconds=-1.0))
    assert len(measured) == 4


def test_a_method_that_was_slow_or_failed_is_left_out_of_larger_points(tmp_path, monkeypatch):
    measured = []

    def measure_apart(method, point, timeout):
        measured.append((method, point.rows))
        failed = {"library": method, "failure": "over 1 s"}
        return failed if method == "rival" else {"library": method, "processor_seconds": 1.0}

    monkeypatch.setattr(scaling, "measure_apart", measure_apart)
    scaling.run(options_of(tmp_path, largest=1e3))
    scaling.run(options_of(tmp_path))
    assert measured == [("polyleaf", 1000), ("rival", 1000), ("polyleaf", 10_000)]


def test_a_point_that_takes_too_long_is_recorded_as_that():
    found = scaling.measure_apart("polyleaf", Point(rows=1000), timeout=0.01)
    assert found == {"library": "polyleaf", "failure": "over 0 s"}


def test_the_exponent_of_a_power_is_found():
    sizes = [1.0, 10.0, 100.0, 1000.0]
    assert scaling_page.exponent(sizes, [5 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    assert scaling_page.exponent(sizes[:2], sizes[:2]) is None


def test_the_page_has_a_line_per_point(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    results = tmp_path / "scaling.jsonl"
    rows = [
        {
            "curve": "rows",
            "method": method,
            **point.__dict__,
            "library": "XGBoost",
            "seconds": seconds,
            "processor_seconds": seconds,
            "peak_bytes": 1e6,
            "machine": MACHINE,
        }
        for point in CURVES["rows"].points
        for method, seconds in (("polyleaf", 1e-4 * point.rows), ("rival", 3e-4 * point.rows))
    ]
    rows[-1] = {k: v for k, v in rows[-1].items() if "seconds" not in k} | {"failure": "over 9 s"}
    # A point that was measured again counts once, as it was last.
    results.write_text("\n".join(map(json.dumps, [rows[0] | {"processor_seconds": 99.0}, *rows])))
    monkeypatch.setattr(scaling_page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(scaling_page, "FIGURES", tmp_path / "figures")
    scaling_page.write_page(scaling.read_records(results))
    page = (tmp_path / "page.md").read_text()
    assert "| 1,000 | 0.10 | 0.30 (XGBoost) | 3.0 |" in page
    assert "| 10,000,000 | 1000.00 | over 9 s (XGBoost) | - |" in page
    assert "Exponents: polyleaf 1.00, the rival 1.00." in page
    assert (tmp_path / "figures/speed-rows.png").stat().st_size > 1000
