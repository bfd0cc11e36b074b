"""Curves of time and memory: their points, exponents, bounds and page."""

import json

import pytest
from benchmarks.scaling import CURVES, Point, measure, points_of

from benchmarks import scaling, scaling_page


@pytest.mark.parametrize("curve", CURVES)
def test_one_size_changes_along_a_curve(curve):
    points = points_of(curve)
    sizes = [getattr(point, curve) for point in points]
    assert sizes == sorted(set(sizes))
    others = [{**point.__dict__, curve: 0} for point in points]
    assert all(other == others[0] for other in others)


def test_a_point_is_measured_with_time_and_memory():
    found = measure("polyleaf", Point(rows=600, features=3, outputs=2, trees=2))
    assert found["library"] == "polyleaf"
    assert found["processor_seconds"] > 0
    assert found["peak_bytes"] >= 0


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
        }
        for point in points_of("rows")
        for method, seconds in (("polyleaf", 1e-4 * point.rows), ("rival", 3e-4 * point.rows))
    ]
    # A point that was measured again counts once, as it was last.
    results.write_text("\n".join(map(json.dumps, [rows[0] | {"processor_seconds": 99.0}, *rows])))
    facts = {"cpu": "x", "cores": 2, "instruction_set": "avx2"}
    facts["packages"] = {"xgboost": "1", "lightgbm": "2"}
    results.with_suffix(".machine.json").write_text(json.dumps(facts))
    monkeypatch.setattr(scaling_page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(scaling_page, "FIGURES", tmp_path / "figures")
    scaling_page.write_page(scaling.read_results(results), results)
    page = (tmp_path / "page.md").read_text()
    assert "| 1,000 | 0.10 | 0.30 (XGBoost) | 3.0 |" in page
    assert "Exponents: polyleaf 1.00, the rival 1.00." in page
    assert (tmp_path / "figures/speed-rows.png").stat().st_size > 1000
