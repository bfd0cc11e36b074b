"""Partial dependence and individual curves of every tree and rule model, for all outputs at once.

Rows go down each tree once for the whole grid, to both sides of splits on the chosen features
(`cpp/explain/dependence.hpp`); a grid of 100 values costs little more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from polyleaf.boosting.base import Boosting
from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import is_one_of, shown
from polyleaf.estimator.wording import feature_names_of
from polyleaf.inspection._channels import NamedChannels
from polyleaf.inspection._grid import Grid, chosen_features, make_grid
from polyleaf.inspection._shap import threads
from polyleaf.losses import Loss
from polyleaf.rules.base import RuleEstimator
from polyleaf.trees.additive import AdditiveTrees, ChannelChoice

#: Rows and floats that are held at a time: the more rows, the more go down a tree together.
_BLOCK_ROWS, _BLOCK_FLOATS = 2**18, 2**22


@dataclass(frozen=True, eq=False)
class Dependence:
    """How outputs depend on one or two features.

    Attributes
    ----------
    feature_names : list of str
        One or two.
    grid_values : list of ndarray
        Values of each feature; categories by name. Of accumulated effects, the edges of the
        intervals.
    output_names : list of str
        The k outputs, channels or groups.
    average : ndarray of shape (k, n_values) or (k, n_values_0, n_values_1), or None
    individual : ndarray of shape (k, n, n_values) or (k, n, n_values_0, n_values_1), or None
    is_accumulated : bool
        Whether these are accumulated local effects, centred at 0.

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.inspection import partial_dependence
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> model = TreeRegressor().fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> found = partial_dependence(model, X, 0)
    >>> found.grid_values[0].tolist(), found.average.tolist()
    ([0.0, 1.0], [[0.5, 2.5]])
    """

    feature_names: list[str]
    grid_values: list[NDArray[Any]]
    output_names: list[str]
    average: NDArray[np.float64] | None
    individual: NDArray[np.float64] | None = None
    is_accumulated: bool = False


def partial_dependence(
    model: Any,
    X: Any,
    features: Any,
    *,
    outputs: Any = None,
    kind: str = "average",
    response: str = "auto",
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_values: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Dependence:
    """Tell what a model predicts on average while one or two features take the values of a grid.

    All other features keep the values of the rows. Equal to scikit-learn's `partial_dependence`
    with ``method="brute"``, but rows go down each tree once for the whole grid, and all outputs
    are served together.

    Parameters
    ----------
    model : tree, forest, boosted trees or rules
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
    features : str, int, or a pair of these
        One feature or two, by name or number.
    outputs : optional
        As in `shap_values`; all by default.
    kind : {"average", "individual", "both"}, default="average"
        The mean over the rows, a curve for every row (ICE), or both.
    response : {"auto", "probability", "score"}, default="auto"
        Of classifiers: probabilities, or the raw scores of boosting and rules, in the units of
        `shap_values`. "auto" takes probabilities where the model has them, and what `predict`
        gives of regressors; with a loss of counts "score" is the logarithm of that.
    grid_resolution : int, default=100
        Number of values of a numeric feature with at least as many; others take all of theirs. A
        categorical feature takes all its categories.
    percentiles : pair of float, default=(0.05, 0.95)
        Between which quantiles of the rows the grid lies.
    grid_values : array-like, or sequence of one per feature, optional
        Values to use instead; NaN is a missing value.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the average.
    n_jobs : int, optional
        Threads; those of the model by default. The result does not depend on it.

    Returns
    -------
    Dependence

    Examples
    --------
    >>> from polyleaf import RandomForestRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import partial_dependence
    >>> X, Y = make_correlated_targets(300, 6, 4, random_state=0)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, Y)
    >>> partial_dependence(forest, X, 2).average.shape
    (4, 100)
    >>> partial_dependence(forest, X, (0, 2), outputs=["y1"], grid_resolution=10).average.shape
    (1, 10, 10)
    """
    if not is_one_of(kind, ("average", "individual", "both")):
        raise ValueError(f"kind must be 'average', 'individual' or 'both'; got {shown(kind)}.")
    checked = checked_count(grid_resolution, "grid_resolution", 2)
    responses = Responses(model, outputs, response, n_jobs)
    encoded = model._encode(X)
    weights = checked_weights(sample_weight, encoded.shape[0])
    grid = make_grid(
        model, encoded, chosen_features(model, features), checked, percentiles, grid_values
    )
    average = individual = None
    if kind != "average":
        shape = (responses.n_columns, encoded.shape[0], *grid.shape)
        individual = np.empty(shape)
        for rows, block in responses.individual(encoded, grid):
            individual[:, rows] = np.moveaxis(block, -1, 0).reshape(shape[0], -1, *grid.shape)
    if individual is not None and kind == "both":
        average = np.average(individual, axis=1, weights=weights)
    elif kind == "average":
        average = responses.average(encoded, grid, weights)
    return Dependence(
        [feature_names_of(model)[f] for f in grid.features],
        grid.shown,
        responses.names,
        average,
        individual,
    )


def checked_count(count: Any, name: str, least: int) -> int:
    """Read a whole number."""
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < least:
        raise ValueError(f"{name} must be a whole number of {least} or more; got {shown(count)}.")
    return int(count)


def checked_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Read weights of rows."""
    if sample_weight is None:
        return None
    weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one weight per row, shape ({n_rows},); got {weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or weights.min() < 0 or weights.sum() <= 0:
        raise ValueError("sample_weight must be finite, not negative, and positive somewhere.")
    return weights


class Responses:
    """What a model says about the chosen outputs, of encoded rows.

    Parameters
    ----------
    model : estimator
        Fitted.
    outputs, response, n_jobs
        As in `partial_dependence`.
    """

    def __init__(self, model: Any, outputs: Any, response: str, n_jobs: int | None) -> None:
        if not hasattr(model, "_additive"):
            raise TypeError(
                "Expected a fitted tree, forest, boosted trees or rules of polyleaf; got "
                f"{type(model).__name__}. scikit-learn's partial_dependence takes any model."
            )
        if not is_one_of(response, ("auto", "probability", "score")):
            raise ValueError(
                f"response must be 'auto', 'probability' or 'score'; got {shown(response)}."
            )
        expect_fitted(model)
        self._trees: AdditiveTrees = model._additive()
        self._n_threads = model._n_threads() if n_jobs is None else threads(n_jobs)
        channels = NamedChannels.of(model, self._trees.n_channels)
        self._choice, self.names, _ = channels.choose(outputs)
        if response == "probability" and not is_classifier(model):
            raise ValueError(
                f"{type(model).__name__} predicts numbers, which have no probability."
            )
        self._link = None if response == "score" else _link_of(model, response)
        self._added = self._choice
        if self._link is not None:
            self._added = ChannelChoice.all_of(self._trees.n_channels)

    @property
    def n_columns(self) -> int:
        """Number of outputs, channels or groups."""
        return self._choice.n_columns

    def _finished(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn what was added up, of shape (..., n_added), into what was asked for."""
        if self._link is None:
            return scores
        flat = scores.reshape(-1, scores.shape[-1]).astype(np.float32)
        found = self._choice(np.asarray(self._link(flat), dtype=np.float64))
        return found.reshape(*scores.shape[:-1], -1)

    def predict(self, encoded: Any) -> NDArray[np.float64]:
        """Predict rows, of shape (n, k)."""
        return self._finished(self._trees.predict(encoded, self._added, self._n_threads))

    def average(
        self, encoded: Any, grid: Grid, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Average over the rows, of shape (k, *grid.shape)."""
        n_rows = encoded.shape[0]
        total = n_rows if weights is None else weights.sum()
        if self._link is not None:
            sums = np.zeros((int(np.prod(grid.shape)), self.n_columns))
            for rows, block in self.individual(encoded, grid):
                sums += block.sum(0) if weights is None else np.tensordot(weights[rows], block, 1)
            return np.moveaxis((sums / total).reshape(*grid.shape, -1), -1, 0)
        trees = self._trees.structure.dependence_trees
        leaf_weights = np.zeros(int(self._trees.tree_leaves[-1]))
        for rows, block in _row_blocks(encoded, _BLOCK_ROWS):
            trees.count_rows(
                **grid.arguments(),
                first=0,
                last=self._trees.n_trees,
                X=block,
                columns=np.ascontiguousarray(block.T),
                weights=None if weights is None else weights[rows],
                leaf_weights=leaf_weights,
                n_threads=self._n_threads,
            )
        differences = self._add_leaves(grid, leaf_weights)
        summed = _summed(differences.reshape(*grid.shape, -1), len(grid.shape)) / total
        return np.moveaxis(summed + self._choice(self._trees.base[None, :]), -1, 0)

    def _add_leaves(self, grid: Grid, leaf_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up what leaves say, times the rows that reach them, of shape (n_cells, k)."""
        trees, n_cells = self._trees, int(np.prod(grid.shape))
        if trees.averaged_leaves is not None and 2 * self.n_columns >= trees.n_channels:
            of_channels = np.zeros((n_cells, trees.n_channels))
            held, tree_weights = trees.averaged_leaves()
            trees.structure.dependence_trees.add_leaf_rows(
                **grid.arguments(),
                leaf_weights=leaf_weights,
                leaves=held,
                tree_weights=tree_weights,
                differences=of_channels,
                n_threads=self._n_threads,
            )
            return self._choice(of_channels)
        differences = np.zeros((n_cells, self.n_columns))
        for first, last, values in trees.value_blocks(self._choice):
            trees.structure.dependence_trees.add_leaves(
                **grid.arguments(),
                first=first,
                last=last,
                leaf_weights=leaf_weights[trees.tree_leaves[first] : trees.tree_leaves[last]],
                values=values,
                differences=differences,
                n_threads=self._n_threads,
            )
        return differences

    def individual(self, encoded: Any, grid: Grid) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Give the curves of some rows at a time, of shape (n_rows, n_cells, k)."""
        n_cells, n_added = int(np.prod(grid.shape)), self._added.n_columns
        step = min(_BLOCK_ROWS, max(1, _BLOCK_FLOATS // (n_cells * n_added)))
        base = self._added(self._trees.base[None, :])
        for rows, block in _row_blocks(encoded, step):
            differences = np.zeros((block.shape[0], n_cells, n_added))
            for first, last, values in self._trees.value_blocks(self._added):
                self._trees.structure.dependence_trees.add_rows(
                    **grid.arguments(),
                    first=first,
                    last=last,
                    X=block,
                    values=values,
                    differences=differences,
                    n_threads=self._n_threads,
                )
            shaped = differences.reshape(block.shape[0], *grid.shape, -1)
            summed = _summed(shaped, len(grid.shape), first_axis=1)
            yield rows, self._finished(summed.reshape(differences.shape) + base)


def _link_of(model: Any, response: str) -> Callable[[NDArray[np.float32]], Any] | None:
    """Give what turns sums over trees into predictions; None if they are the same."""
    if isinstance(model, Boosting) and not is_classifier(model):
        loss = model._fitted.reader.loss
        if type(loss).predictions is Loss.predictions:
            return None
        return partial(loss.predictions, channel_offsets=model._targets.channel_offsets)
    # Trees and forests add up probabilities; boosting and rules add up scores.
    if not is_classifier(model) or not isinstance(model, Boosting | RuleEstimator):
        return None
    if response == "auto" and not hasattr(model, "predict_proba"):
        return None
    link: Callable[[NDArray[np.float32]], Any] = model._probabilities
    return link


def _summed(
    differences: NDArray[np.float64], n_axes: int, first_axis: int = 0
) -> NDArray[np.float64]:
    """Sum up along the axes of the grid, in place."""
    for axis in range(first_axis, first_axis + n_axes):
        np.cumsum(differences, axis=axis, out=differences)
    return differences


def _row_blocks(encoded: Any, step: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Cut rows into dense blocks, of fewer rows where there are many features."""
    step = max(1, min(step, _BLOCK_FLOATS // max(1, encoded.shape[1])))
    for start in range(0, encoded.shape[0], step):
        rows = slice(start, min(start + step, encoded.shape[0]))
        block: Any = encoded[rows]
        dense = block.toarray() if hasattr(block, "toarray") else block
        yield rows, np.ascontiguousarray(dense)
