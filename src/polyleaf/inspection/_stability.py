"""How far rankings of features, one for every output, stay the same on other rows.

Breskvar et al. (2018) rank features for all targets together and leave a ranking per target, and
whether it can be trusted, for later. Here a model is fitted to several halves of the rows, and its
rankings are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length

from polyleaf.checks.matrices import is_sparse, read_array, read_sparse
from polyleaf.checks.numbers import expect_count, expect_kind, expect_number, shown
from polyleaf.checks.optional import require
from polyleaf.checks.randomness import read_random_state
from polyleaf.checks.spelling import did_you_mean
from polyleaf.estimator.wording import feature_names_of, output_names_of
from polyleaf.inspection._channels import NamedChannels
from polyleaf.inspection._importances import draw_shares
from polyleaf.inspection._permutation import permutation_importances
from polyleaf.inspection._shap import shap_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Each one is a fit; more would take days.
_MOST_RESAMPLES = 100_000


@dataclass(frozen=True, eq=False)
class RankingStability:
    """Rankings of features for every output, from models of different rows.

    Attributes
    ----------
    importances : ndarray of shape (n_resamples, n_outputs, p)
    n_top : int
        Size of the sets of first features that are compared.
    feature_names, output_names : list of str

    Examples
    --------
    >>> from polyleaf.inspection import RankingStability
    >>> always_alike = np.tile([[[3.0, 2.0, 0.0]]], (4, 1, 1))
    >>> found = RankingStability(always_alike, 2, ["a", "b", "c"], ["y"])
    >>> found.mean_ranks.tolist(), found.correlations.tolist(), found.top_stability.tolist()
    ([[1.0, 2.0, 3.0]], [1.0], [1.0])
    """

    importances: NDArray[np.float64]
    n_top: int
    feature_names: list[str]
    output_names: list[str]

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of every feature, 1 for the most important, of the shape of `importances`.

        Equal importances share the mean of their ranks.
        """
        return np.asarray(stats.rankdata(-self.importances, axis=2))

    @property
    def mean_ranks(self) -> NDArray[np.float64]:
        """Mean rank over the resamples, of shape (n_outputs, p)."""
        return np.asarray(self.ranks.mean(axis=0))

    @property
    def top_shares(self) -> NDArray[np.float64]:
        """Share of the resamples in which a feature is among the first, (n_outputs, p).

        A tie at the border is divided evenly: each row adds up to `n_top`.
        """
        return np.asarray(_in_top(self.importances, self.n_top).mean(axis=0))

    @property
    def correlations(self) -> NDArray[np.float64]:
        """Spearman's correlation of two rankings, a mean over all pairs, of shape (n_outputs,).

        1: always the same ranking; 0: rankings have nothing in common. NaN for an output that no
        feature says anything about.
        """
        return np.array([_mean_correlation(ranks) for ranks in np.moveaxis(self.ranks, 1, 0)])

    @property
    def top_stability(self) -> NDArray[np.float64]:
        """How alike the sets of the first features are, of shape (n_outputs,).

        The measure of Nogueira, Sechidis and Brown (2018), corrected for chance: 1 for always the
        same set, 0 on average for sets drawn at random.
        """
        shares, n_resamples = self.top_shares, len(self.importances)
        spread = (shares * (1.0 - shares)).mean(axis=1) * n_resamples / (n_resamples - 1)
        part = self.n_top / shares.shape[1]
        by_chance = part * (1.0 - part)
        return np.asarray(1.0 - spread / by_chance if by_chance > 0 else np.ones(len(shares)))

    def to_frame(self, level: float = 0.9) -> Any:
        """Tabulate ``output, feature, importance, rank, low, high, in_top``, first features first.

        Parameters
        ----------
        level : float, default=0.9
            Share of the resamples whose ranks lie between ``low`` and ``high``.
        """
        level = expect_number("level", level, 0.0, 1.0, "between 0 and 1")
        low, high = np.quantile(self.ranks, [0.5 - level / 2, 0.5 + level / 2], axis=0)
        means, ranks, shares = self.importances.mean(axis=0), self.mean_ranks, self.top_shares
        lines = [
            (output, self.feature_names[f], means[j, f], ranks[j, f], low[j, f], high[j, f],
             shares[j, f])
            for j, output in enumerate(self.output_names)
            for f in np.argsort(ranks[j], kind="stable")
        ]  # fmt: skip
        columns = ["output", "feature", "importance", "rank", "low", "high", "in_top"]
        return require("pandas", "to_frame").DataFrame(lines, columns=columns)


def ranking_stability(
    estimator: Any,
    X: Any,
    Y: Any,
    *,
    importances: str | Callable[[Any, Any, Any], Any] = "splits",
    n_resamples: int = 20,
    fraction: float = 0.5,
    n_top: int | None = None,
    random_state: Any = None,
) -> RankingStability:
    """Rank features for every output on several samples of the rows, and compare the rankings.

    Parameters
    ----------
    estimator : estimator of polyleaf
        A copy of it is fitted to each sample; the estimator itself stays as it is.
    X : array-like, frame or sparse matrix of shape (n, p)
    Y : array-like, frame or sparse matrix of shape (n,) or (n, d)
    importances : {"splits", "shap", "permutation"} or callable, default="splits"
        Of ``output_importances_``; mean sizes of Shapley values on the rows left out; drops of
        the score when a feature is shuffled among the rows left out; or a function of the fitted
        model, X and Y of the rows left out that gives an array of shape (n_outputs, p).
    n_resamples : int, default=20
    fraction : float, default=0.5
        Share of the rows in each sample, drawn without replacement.
    n_top : int, optional
        Size of the sets of first features that are compared; by default the root of p.
    random_state : int, RandomState instance or None, default=None
        Of the samples.

    Returns
    -------
    RankingStability

    Examples
    --------
    >>> from polyleaf import ExtraTreesRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import ranking_stability
    >>> X, Y = make_correlated_targets(300, 9, 2, n_informative=3, random_state=0)
    >>> forest = ExtraTreesRegressor(n_estimators=20, random_state=0)
    >>> found = ranking_stability(forest, X, Y, n_resamples=5, random_state=0)
    >>> found.importances.shape, found.n_top
    ((5, 2, 9), 3)
    >>> bool((found.correlations > 0.5).all())
    True
    """
    if not hasattr(type(estimator), "fit"):
        raise TypeError(f"Expected an estimator of polyleaf; got {type(estimator).__name__}.")
    measure = _measure(importances)
    if expect_count("n_resamples", n_resamples, 2) > _MOST_RESAMPLES:
        raise ValueError(f"n_resamples must be at most {_MOST_RESAMPLES:,}; got {n_resamples}.")
    part = expect_number("fraction", fraction, 0.0, 1.0, "between 0 and 1")
    X, Y = _table(X, "X"), _table(Y, "Y")
    check_consistent_length(X, Y)
    n_rows = X.shape[0]
    n_drawn = round(part * n_rows)
    if not 0 < n_drawn < n_rows:
        raise ValueError(
            f"fraction must leave rows on both sides; got {shown(fraction)} of {n_rows} rows."
        )
    rng = read_random_state(random_state)
    found = []
    for _ in range(n_resamples):
        order = rng.permutation(n_rows)
        drawn, left_out = np.sort(order[:n_drawn]), np.sort(order[n_drawn:])
        model = clone(estimator).fit(_safe_indexing(X, drawn), _safe_indexing(Y, drawn))
        others = _safe_indexing(X, left_out), _safe_indexing(Y, left_out)
        found.append(_checked(measure(model, *others), model))
    features = feature_names_of(model)
    n_first = (
        max(1, round(np.sqrt(len(features)))) if n_top is None else expect_count("n_top", n_top)
    )
    if n_first > len(features):
        raise ValueError(
            f"n_top must be at most {len(features)}, the features; got {shown(n_top)}."
        )
    return RankingStability(np.array(found), n_first, features, output_names_of(model))


def plot_ranking_stability(
    found: RankingStability, *, max_features: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw how often features are among the first for an output: a row per output.

    Columns are sorted by their mean over the outputs, which is in the first row. Names of
    outputs end in the stability of their sets of first features.

    Parameters
    ----------
    found : RankingStability
    max_features : int, default=20
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from polyleaf.inspection import RankingStability, plot_ranking_stability
    >>> rng = np.random.default_rng(0)
    >>> sizes = rng.random((6, 3, 5))
    >>> found = RankingStability(sizes, 2, list("abcde"), ["x", "y", "z"])
    >>> ax = plot_ranking_stability(found)
    """
    expect_kind("found", found, RankingStability, "ranking_stability")
    names = [f"{n} ({s:.2f})" for n, s in zip(found.output_names, found.top_stability)]
    label = f"share of samples in which it is among the first {found.n_top}"
    return draw_shares(found.top_shares, names, found.feature_names, max_features, label, ax)


def _table(values: Any, name: str) -> Any:
    """Read rows: a frame, a sparse matrix or an array."""
    frame = nw.from_native(values, eager_only=True, strict=False, allow_series=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        return values
    table = read_sparse(values, name) if is_sparse(values) else read_array(values, name)
    if table.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions; got shape {table.shape}.")
    return table


def _splits(model: Any, X: Any, Y: Any) -> Any:
    return model.output_importances_


def _shap(model: Any, X: Any, Y: Any) -> Any:
    sizes = shap_values(model, X, reduce="mean_abs").values.T
    offsets = NamedChannels.of(model, len(sizes)).offsets
    return np.add.reduceat(sizes, offsets[:-1], axis=0)


def _permutation(model: Any, X: Any, Y: Any) -> Any:
    return permutation_importances(model, X, Y, random_state=0).means


_MEASURES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "splits": _splits,
    "shap": _shap,
    "permutation": _permutation,
}


def _measure(importances: Any) -> Callable[[Any, Any, Any], Any]:
    if callable(importances):
        return importances  # type: ignore[no-any-return]
    if not isinstance(importances, str) or importances not in _MEASURES:
        raise ValueError(
            f"importances must be one of {', '.join(map(repr, _MEASURES))} or a function; got "
            f"{shown(importances)}.{did_you_mean(importances, _MEASURES)}"
        )
    return _MEASURES[importances]


def _checked(values: Any, model: Any) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    shape = len(output_names_of(model)), int(model.n_features_in_)
    if found.shape != shape:
        raise ValueError(
            f"importances must give an array of shape {shape}, outputs by features; got "
            f"{found.shape}."
        )
    return np.nan_to_num(found)


def _in_top(importances: NDArray[np.float64], n_top: int) -> NDArray[np.float64]:
    """Tell what is among the first, as 0, 1, or the share of a tie that fits."""
    last = np.partition(importances, -n_top, axis=2)[..., [-n_top]]
    above, tied = importances > last, importances == last
    room = n_top - above.sum(axis=2, keepdims=True)
    return np.asarray(above + tied * (room / tied.sum(axis=2, keepdims=True)))


def _mean_correlation(ranks: NDArray[np.float64]) -> float:
    """Mean correlation of different rows of ranks."""
    if np.any(ranks.std(axis=1) == 0):
        return float("nan")
    every = np.corrcoef(ranks)
    n = len(ranks)
    return float((every.sum() - n) / (n * (n - 1)))
