"""Generate the synthetic problems of the papers: Friedman's function, linear labels, circles."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from polyleaf.checks.numbers import described, expect_count, expect_number
from polyleaf.checks.randomness import read_random_state
from polyleaf.datasets._generators import check_sizes

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]


def make_friedman1_targets(
    n_samples: int = 300,
    n_targets: int = 16,
    *,
    structure: Literal["chain", "group", "ind"] = "chain",
    n_noise_targets: int = 0,
    random_state: int | RandomState | None = None,
) -> tuple[Floats, Floats]:
    """Generate targets of known structure from Friedman's function (Joly et al. 2019).

    With f(x) = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5, standard normal features and
    standard normal noise e:

    - ``"chain"``: y1 = f(x) + e1, and every target is the one before plus noise of its own. Best
      is a model of the first target, used for all.
    - ``"group"``: yj = f(x) + ej. Best is a model of the mean target, used for all.
    - ``"ind"``: yj = f(five features of its own) + ej. Best is one model per target.

    Parameters
    ----------
    n_samples : int, default=300
        Rows; the paper has 300 for training and 4000 for test.
    n_targets : int, default=16
        d.
    structure : {"chain", "group", "ind"}, default="chain"
        How the targets hang together.
    n_noise_targets : int, default=0
        Further targets that tell nothing: random permutations of the others (16 in table 6).
    random_state : int, RandomState or None, default=None
        An integer gives the same data every time.

    Returns
    -------
    X : ndarray of shape (n_samples, 5), or (n_samples, 5 * n_targets) for ``"ind"``
    Y : ndarray of shape (n_samples, n_targets + n_noise_targets)

    Notes
    -----
    This is the text of the paper. Its tables agree with features that are uniform in [0, 1], and
    for chain and group with five more that tell nothing: see `sklearn.datasets.make_friedman1`.

    Examples
    --------
    >>> from polyleaf.datasets import make_friedman1_targets
    >>> X, Y = make_friedman1_targets(100, structure="ind", n_noise_targets=16, random_state=0)
    >>> X.shape, Y.shape
    ((100, 80), (100, 32))
    """
    expect_count("n_targets", n_targets)
    expect_count("n_noise_targets", n_noise_targets, least=0)
    check_sizes(n_samples, 6 * n_targets + n_noise_targets)
    if not isinstance(structure, str) or structure not in ("chain", "group", "ind"):
        raise ValueError(
            f"structure must be 'chain', 'group' or 'ind'; got {described(structure)}."
        )
    rng = read_random_state(random_state)
    X = rng.normal(size=(n_samples, 5 * n_targets if structure == "ind" else 5))
    noise = rng.normal(size=(n_samples, n_targets))
    if structure == "ind":
        signal = np.column_stack([_friedman1(X[:, 5 * j : 5 * j + 5]) for j in range(n_targets)])
    else:
        signal = np.tile(_friedman1(X)[:, np.newaxis], (1, n_targets))
    Y = signal + (np.cumsum(noise, axis=1) if structure == "chain" else noise)
    shuffled = [rng.permutation(Y[:, j % n_targets]) for j in range(n_noise_targets)]
    return X, np.column_stack([Y, *shuffled])


def make_linear_labels(
    n_samples: int = 10_000,
    n_labels: int = 6,
    *,
    dependence: Literal["independent", "marginal", "conditional"] = "independent",
    noise: float = 0.1,
    angle: float = 0.02,
    random_state: int | RandomState | None = None,
) -> tuple[Floats, Labels]:
    """Generate labels by lines through the middle of a disc (Rapp et al. 2020, section 5.1).

    The lines turn away from the second axis by angles from 0 to `angle`. The paper does not give
    them; but its example-wise rules are done after two, which takes lines close to an axis.

    - ``"independent"``: each label has points and a line of its own, and each entry is flipped
      with probability `noise`. The best possible Hamming loss is 0.1, and the best subset 0/1
      loss 1 - 0.9^6 = 0.47, with the defaults.
    - ``"marginal"``: all labels see the same points, and their lines differ by small angles, so
      that the labels mostly agree; each entry is flipped with probability `noise`.
    - ``"conditional"``: as before, but the labels of a row are flipped all together. The best
      possible loss is 0.1 for both.

    Parameters
    ----------
    n_samples : int, default=10000
    n_labels : int, default=6
    dependence : {"independent", "marginal", "conditional"}, default="independent"
    noise : float, default=0.1
        The probability of a flip, from 0 to 0.5.
    angle : float, default=0.02
        The largest angle between a line and the second axis, in radians.
    random_state : int, RandomState or None, default=None
        An integer gives the same data every time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2), or (n_samples, 2 * n_labels) for ``"independent"``
        Points, uniform in the unit disc.
    Y : ndarray of shape (n_samples, n_labels), int8

    Examples
    --------
    >>> from polyleaf.datasets import make_linear_labels
    >>> X, Y = make_linear_labels(1000, dependence="conditional", random_state=0)
    >>> X.shape, Y.shape
    ((1000, 2), (1000, 6))
    """
    expect_count("n_labels", n_labels)
    check_sizes(n_samples, 3 * n_labels)
    expect_number("noise", noise, 0.0, 0.5, "from 0 to 0.5")
    expect_number("angle", angle, 0.0, 2 * np.pi, "from 0 to 2 pi")
    if not isinstance(dependence, str) or dependence not in (
        "independent",
        "marginal",
        "conditional",
    ):
        raise ValueError(
            "dependence must be 'independent', 'marginal' or 'conditional'; got "
            f"{described(dependence)}."
        )
    rng = read_random_state(random_state)
    if dependence == "independent":
        X = np.hstack([_disc(n_samples, rng) for _ in range(n_labels)])
        normals = _normals(rng.uniform(0.0, angle, size=n_labels))
        scores = np.einsum("nld,ld->nl", X.reshape(n_samples, n_labels, 2), normals)
    else:
        X = _disc(n_samples, rng)
        scores = X @ _normals(np.linspace(0.0, angle, n_labels)).T
    n_flips = 1 if dependence == "conditional" else n_labels
    flips = rng.uniform(size=(n_samples, n_flips)) < noise
    return X, ((scores > 0) ^ flips).astype(np.int8)


def make_circle_labels(
    n_samples: int = 1000,
    n_labels: int = 10,
    *,
    density: float = 0.85,
    union_share: float = 0.0,
    random_state: int | RandomState | None = None,
) -> tuple[Floats, Labels]:
    """Generate labels by lines across a disc, as in the circle data of Su and Rousu 2013.

    Each label holds on one side of a line; its share of the rows is drawn around `density`. Some
    may hold where another label holds, too: no line separates the rows of such a union, but given
    the other label, one does. The paper's table has densities of 0.85 for 10 labels and 0.71 for
    50; its generator is not given, so results on this data are not comparable with the published
    ones.

    Parameters
    ----------
    n_samples : int, default=1000
    n_labels : int, default=10
    density : float, default=0.85
        The mean share of positive entries, from 0.5 up to, but not including, 1.
    union_share : float, default=0.0
        The share of labels that are unions, from 0 to 0.5. Labels 1, 3, 5, ... hold on one side
        of a line and wherever label 0, 2, 4, ... does.
    random_state : int, RandomState or None, default=None
        An integer gives the same data every time.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        A point in the unit disc, and a constant 1 for linear kernels.
    Y : ndarray of shape (n_samples, n_labels), int8

    Examples
    --------
    >>> from polyleaf.datasets import make_circle_labels
    >>> X, Y = make_circle_labels(1000, 50, density=0.71, random_state=0)
    >>> round(float(Y.mean()), 2)
    0.71
    >>> X, Y = make_circle_labels(1000, 10, union_share=0.5, random_state=0)
    >>> bool((Y[:, 1] >= Y[:, 0]).all())
    True
    """
    expect_count("n_labels", n_labels)
    check_sizes(n_samples, 3 + n_labels)
    expect_number("density", density, 0.5, 1.0, "from 0.5 to below 1", below=True)
    expect_number("union_share", union_share, 0.0, 0.5, "from 0 to 0.5")
    rng = read_random_state(random_state)
    points = _disc(n_samples, rng)
    scores = points @ _normals(rng.uniform(0.0, 2.0 * np.pi, size=n_labels)).T
    # Evenly spread around the density, so that their mean is the density.
    offsets = np.linspace(-0.98, 0.98, n_labels) if n_labels > 1 else np.zeros(1)
    shares = rng.permutation(density + (1.0 - density) * offsets)
    unions = 2 * np.arange(int(union_share * n_labels)) + 1
    smaller, larger = np.sort([shares[unions - 1], shares[unions]], axis=0)
    shares[unions - 1], shares[unions] = smaller, larger
    # The best scores there are belong to the other label's rows, which a union has anyway.
    scores[:, unions] = np.where(
        _above_quantile(scores[:, unions - 1], smaller), np.inf, scores[:, unions]
    )
    X = np.column_stack([points, np.ones(n_samples)])
    return X, _above_quantile(scores, shares).astype(np.int8)


def _above_quantile(scores: Floats, shares: Floats) -> NDArray[np.bool_]:
    """Tell which entries belong to the largest of their column, a given share of it."""
    cuts = [
        np.quantile(column, 1.0 - share, method="lower") for column, share in zip(scores.T, shares)
    ]
    return np.asarray(scores > np.array(cuts).reshape(-1))


def _friedman1(x: Floats) -> Floats:
    waves = 10.0 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20.0 * (x[:, 2] - 0.5) ** 2
    return np.asarray(waves + 10.0 * x[:, 3] + 5.0 * x[:, 4])


def _disc(n_samples: int, rng: RandomState) -> Floats:
    """Draw points uniform in the unit disc."""
    radius = np.sqrt(rng.uniform(size=n_samples))
    return radius[:, np.newaxis] * _normals(rng.uniform(0.0, 2.0 * np.pi, size=n_samples))


def _normals(angles: Floats) -> Floats:
    return np.column_stack([np.cos(angles), np.sin(angles)])
