"""The division of the public data sets into those to decide on and those to judge by."""

from benchmarks.division import DECIDING, FAMILIES, JUDGING, by_rule
from benchmarks.real_data import REAL_DATA


def test_division_is_the_one_that_the_rule_gives() -> None:
    assert by_rule() == (DECIDING, JUDGING)


def test_every_set_is_on_one_side() -> None:
    assert sorted([*DECIDING, *JUDGING]) == sorted(REAL_DATA)


def test_near_duplicates_stay_together() -> None:
    for family in FAMILIES:
        assert set(family) <= set(DECIDING) or set(family) <= set(JUDGING)
