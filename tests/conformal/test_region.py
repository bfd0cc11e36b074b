"""Regions as values: membership, volume, known and unobserved outputs."""

import dataclasses

import numpy as np
import pytest

from polyleaf.conformal import Region

RNG = np.random.default_rng(0)


def ellipsoids(n=3, d=3):
    roots = RNG.normal(size=(n, d, d))
    return Region(
        center=RNG.normal(size=(n, d)),
        alpha=0.1,
        known=np.zeros((n, d), bool),
        matrix=roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(d),
        radius=np.array([1.0, 2.0, 0.5]),
    )


def boxes(n=3, d=3):
    lower = RNG.normal(size=(n, d))
    upper = lower + RNG.uniform(0.5, 2.0, size=(n, d))
    return Region((lower + upper) / 2, 0.1, np.zeros((n, d), bool), lower=lower, upper=upper)


@pytest.mark.parametrize("make", [ellipsoids, boxes])
def test_the_volume_is_the_share_of_the_surrounding_box(make):
    region = make()
    lower, upper = region.bounds()
    inside = np.zeros(3)
    n_draws = 20_000
    points = RNG.random((n_draws, 3))
    for at in range(3):
        one = dataclasses.replace(
            region,
            **{
                name: np.repeat(getattr(region, name)[at : at + 1], n_draws, axis=0)
                for name in ("center", "known", "lower", "upper", "matrix", "radius")
                if getattr(region, name) is not None
            },
        )
        inside[at] = one.contains(lower[at] + points * (upper[at] - lower[at])).mean()
    volume = inside * np.prod(upper - lower, axis=1)
    np.testing.assert_allclose(np.log(volume), region.log_volume(), atol=0.04)


def test_a_row_with_gaps_is_inside_if_some_value_would_do():
    region = ellipsoids()
    lower, upper = region.bounds()
    for j in range(3):
        Y = np.full((3, 3), np.nan)
        Y[:, j] = upper[:, j] - 1e-9
        assert region.contains(Y).all()
        Y[:, j] = lower[:, j] - 1e-6
        assert not region.contains(Y).any()
    assert region.contains(np.full((3, 3), np.nan)).all()


def test_known_outputs_have_no_volume_and_are_not_looked_at():
    known = np.array([[True, False]])
    box = Region(
        np.zeros((1, 2)), 0.1, known, lower=np.array([[0.0, -1.0]]), upper=np.array([[0.0, 1.0]])
    )
    assert box.log_volume() == pytest.approx(np.log(2.0))
    assert box.contains([[5.0, 0.5]])[0]
    matrix = np.array([[[0.0, 0.0], [0.0, 4.0]]])
    disc = Region(np.zeros((1, 2)), 0.1, known, matrix=matrix, radius=np.array([1.5]))
    assert disc.log_volume() == pytest.approx(np.log(6.0))  # an interval of half-width 2 x 1.5
    assert disc.contains([[5.0, 2.9]])[0]
    assert not disc.contains([[0.0, 3.1]])[0]
    np.testing.assert_array_equal(disc.bounds()[1], [[0.0, 3.0]])


def test_regions_are_frozen_and_say_what_they_are():
    region = boxes()
    with pytest.raises(dataclasses.FrozenInstanceError):
        region.alpha = 0.2
    assert repr(region) == "Region(3 boxes over 3 outputs, alpha=0.1)"
    assert (len(region), region.output_names) == (3, ("y0", "y1", "y2"))


def test_outputs_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"of shape \(3, 3\); got \(3, 2\)"):
        boxes().contains(np.zeros((3, 2)))


def test_a_side_without_bounds_makes_the_volume_infinite():
    sides = {"lower": np.array([[-np.inf, 1.0]]), "upper": np.array([[np.inf, 1.0]])}
    box = Region(np.zeros((1, 2)), 0.1, np.zeros((1, 2), bool), **sides)
    assert box.log_volume()[0] == np.inf
    flat = dataclasses.replace(box, lower=np.array([[0.0, 1.0]]), upper=np.array([[1.0, 1.0]]))
    assert flat.log_volume()[0] == -np.inf
