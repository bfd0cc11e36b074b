"""A picture of which outputs share structure in a boosted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from polyleaf.checks.optional import require
from polyleaf.estimator.wording import output_names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

#: Names are shown up to this many outputs, and the picture is no larger than this, in inches.
_MOST_NAMES, _LARGEST = 60, 12.0


def plot_output_map(
    model: Any, *, output_names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw which outputs a boosted model moves alike: red together, blue in opposition.

    Outputs are ordered so that those that share structure are neighbours.

    Parameters
    ----------
    model : BoostingRegressor or BoostingClassifier
        Fitted; see its `output_map_`.
    output_names : sequence of str, optional
        Names to use instead of those the model knows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of a fitting size.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import plot_output_map
    >>> X, Y = make_correlated_targets(200, 5, 4, random_state=0)
    >>> ax = plot_output_map(BoostingRegressor(n_estimators=10).fit(X, Y))
    """
    plt = require("matplotlib.pyplot", "plots")
    if not hasattr(type(model), "output_map_"):
        raise TypeError(
            "plot_output_map takes a BoostingRegressor or BoostingClassifier; got "
            f"{type(model).__name__}."
        )
    names, cosines = output_names_of(model, output_names), model.output_map_
    order = similar_first(cosines)
    if ax is None:
        side = min(_LARGEST, 2.5 + 0.22 * len(names))
        _, ax = plt.subplots(figsize=(side + 1.0, side), layout="constrained")
    image = ax.imshow(cosines[np.ix_(order, order)], cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    ax.figure.colorbar(image, ax=ax, label="cosine of what the trees add", shrink=0.8)
    if len(names) <= _MOST_NAMES:
        shown = [names[j] for j in order]
        ax.set_xticks(range(len(names)), shown, rotation=90)
        ax.set_yticks(range(len(names)), shown)
    else:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel(f"{len(names):,} outputs")
    ax.set_title("Outputs that share structure")
    return ax


def similar_first(cosines: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order outputs so that similar ones are neighbours, by average linkage.

    Parameters
    ----------
    cosines : ndarray of shape (n_outputs, n_outputs)
    """
    if len(cosines) < 3:
        return np.arange(len(cosines))
    distances = 1.0 - (cosines + cosines.T) / 2
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(np.maximum(distances, 0.0)), "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)
