"""Exact Shapley values of every tree and rule model, for all outputs at once.

The core finds the weight of each leaf and feature once per row and multiplies it with the values
of all outputs (`cpp/explain/shap.hpp` has the formula); here models are taken apart into trees,
and rows and trees into blocks that fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import described, expect_list, is_one_of, shown
from polyleaf.estimator.wording import feature_names_of
from polyleaf.inspection._channels import NamedChannels
from polyleaf.inspection._shap_values import ShapValues
from polyleaf.trees.additive import AdditiveTrees, ChannelChoice

#: Threads at most, whatever n_jobs says.
_MOST_THREADS = 1024
#: Floats of contributions that are held at a time.
_BLOCK_FLOATS = 2**24


def shap_values(
    model: Any,
    X: Any,
    *,
    outputs: Any = None,
    background: Any = None,
    top_outputs: int | None = None,
    reduce: str | None = None,
    n_jobs: int | None = None,
) -> ShapValues:
    """Explain predictions: what each feature adds to each output.

    Exact Shapley values, in the model's own units: raw scores of boosting and of rules that
    classify, probabilities of trees and forests, the units of the targets in regression. They add
    up: ``base_values + values.sum(axis=1)`` is the prediction, up to rounding (1e-5).

    Parameters
    ----------
    model : tree, forest, boosted trees or rules
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
    outputs : str, int, or sequence or mapping of these, optional
        Names or numbers of outputs; all by default. An output with classes has a channel for every
        class. A list within the sequence, or a value of a mapping, is a group, explained as the
        sum of its outputs, at the cost of one.
    background : array-like, frame or sparse matrix of shape (n_background, p), optional
        Rows whose values absent features take (interventional values). By default absent features
        follow the training rows down the tree, by their counts (path-dependent values).
    top_outputs : int, optional
        Explain, of every row, only so many outputs: those with the highest predictions among
        `outputs`.
    reduce : {"mean_abs"}, optional
        Give the mean size over the rows, of shape (p, k), without ever holding all rows.
    n_jobs : int, optional
        Threads; those of the model by default. The values do not depend on it.

    Returns
    -------
    ShapValues

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.datasets import make_correlated_targets
    >>> from polyleaf.inspection import shap_values
    >>> X, Y = make_correlated_targets(300, 6, 4, random_state=0)
    >>> model = BoostingRegressor(n_estimators=20, random_state=0).fit(X, Y)
    >>> found = shap_values(model, X)
    >>> np.allclose(found.base_values + found.values.sum(axis=1), model.predict(X), atol=1e-5)
    True
    >>> shap_values(model, X, reduce="mean_abs").values.shape
    (6, 4)
    """
    expect_fitted(model)
    if not is_one_of(reduce, (None, "mean_abs")):
        raise ValueError(f"reduce must be None or 'mean_abs'; got {shown(reduce)}.")
    explainer = _Explainer(model, background, n_jobs)
    choice, names, channels = explainer.channels.choose(outputs)
    if top_outputs is not None:
        if reduce is not None:
            raise ValueError("top_outputs differ from row to row: leave out reduce.")
        return explainer.top(X, choice, names, channels, _checked_count(top_outputs, len(names)))
    encoded = model._encode(X)
    if reduce == "mean_abs":
        values, data = explainer.mean_sizes(encoded, choice), None
    else:
        values = explainer.values(encoded, choice)
        data = None if sparse.issparse(encoded) else np.array(encoded)
    return explainer.told(values, explainer.base(choice), channels, names, data)


def shap_interactions(
    model: Any, X: Any, pairs: Any, *, outputs: Any = None, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Compute what pairs of features contribute together, beyond each of them alone.

    Shapley interaction values, path-dependent, each split evenly between the pair (i, j) and the
    pair (j, i), as the shap package does: the whole interaction of two features is twice the
    value.

    Parameters
    ----------
    model : tree, forest, boosted trees or rules
        Fitted.
    X : array-like, frame or sparse matrix of shape (n, p)
    pairs : sequence of pairs
        Two features each, by name or number.
    outputs : optional
        As in `shap_values`.
    n_jobs : int, optional
        Threads; those of the model by default.

    Returns
    -------
    ndarray of shape (n, n_pairs, k), float32

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.inspection import shap_interactions
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    >>> product = TreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> shap_interactions(product, X, [(0, 1)])[:, 0, 0].tolist()
    [0.125, -0.125, -0.125, 0.125]
    """
    expect_fitted(model)
    explainer = _Explainer(model, None, n_jobs)
    choice, _, _ = explainer.channels.choose(outputs)
    numbers = _feature_pairs(pairs, feature_names_of(model))
    return 0.5 * explainer.values(model._encode(X), choice, numbers)


def _checked_count(count: Any, n_most: int) -> int:
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
        raise ValueError(f"top_outputs must be a positive whole number; got {shown(count)}.")
    return min(int(count), n_most)


def _feature_pairs(pairs: Any, names: list[str]) -> NDArray[np.int32]:
    numbers = []
    of = "pairs of features"
    for pair in expect_list("pairs", pairs, of):
        given = expect_list("pairs", pair, of)
        found = [names.index(f) if isinstance(f, str) and f in names else f for f in given]
        is_pair = len(found) == 2 and all(
            isinstance(f, int | np.integer) and 0 <= f < len(names) for f in found
        )
        if not is_pair or found[0] == found[1]:
            raise ValueError(
                f"pairs must hold two different features each, by name or by number below "
                f"{len(names)}; got {shown(pair, 80)}."
            )
        numbers.append(found)
    if not numbers:
        raise ValueError("pairs must hold at least one pair of features; got none.")
    return np.array(numbers, dtype=np.int32)


class _Explainer:
    """A model taken apart, and how absent features are filled in.

    Parameters
    ----------
    model : estimator
        Fitted.
    background : array-like, frame, sparse matrix or None
    n_jobs : int or None
    """

    def __init__(self, model: Any, background: Any, n_jobs: int | None) -> None:
        make = getattr(model, "_additive", None)
        if make is None:
            raise TypeError(
                "Shapley values need a fitted tree, forest, boosted trees or rules; got "
                f"{type(model).__name__}."
            )
        self._trees: AdditiveTrees = make()
        self._model = model
        self._n_threads = model._n_threads() if n_jobs is None else threads(n_jobs)
        self.channels = NamedChannels.of(model, self._trees.n_channels)
        self._background: Any = None
        if background is not None:
            self._background = model._encode(background)
            if not self._background.shape[0]:
                raise ValueError("background must have at least one row; got none.")
        elif self._trees.leaf_rows is None:
            raise ValueError(
                "This model does not know how many training rows reached its leaves, as those of "
                "older files do not. Give background rows, or fit it again."
            )

    @property
    def _n_features(self) -> int:
        return int(self._model.n_features_in_)

    def base(self, choice: ChannelChoice) -> NDArray[np.float64]:
        """Give the expected prediction of the chosen channels, of shape (k,)."""
        trees = self._trees
        base: NDArray[np.float64] = choice(trees.base[None, :])[0]
        if self._background is not None:
            for first, last, values in trees.value_blocks(choice):
                nodes = trees.leaves_of(self._background, first, last, self._n_threads)
                counts = np.bincount(nodes.ravel(), minlength=len(values))
                base = base + counts @ values / self._background.shape[0]
            return base
        assert trees.leaf_rows is not None
        sizes = np.diff(trees.tree_leaves)
        totals = np.add.reduceat(trees.leaf_rows, trees.tree_leaves[:-1])
        shares = trees.leaf_rows / np.repeat(totals, sizes)
        for first, last, values in trees.value_blocks(choice):
            base = base + shares[trees.tree_leaves[first] : trees.tree_leaves[last]] @ values
        return base

    def values(
        self, encoded: Any, choice: ChannelChoice, pairs: NDArray[np.int32] | None = None
    ) -> NDArray[np.float32]:
        """Explain all rows, of shape (n, p or n_pairs, k)."""
        n_parts = self._n_features if pairs is None else len(pairs)
        found = np.zeros((encoded.shape[0], n_parts, choice.n_columns), np.float32)
        for rows, block in self._row_blocks(encoded, n_parts * choice.n_columns):
            self._add(block, choice, found[rows], pairs=pairs)
        return self._unknown(found, choice)

    def mean_sizes(self, encoded: Any, choice: ChannelChoice) -> NDArray[np.float32]:
        """Average the sizes over the rows, of shape (p, k), in blocks of rows."""
        sums = np.zeros((self._n_features, choice.n_columns))
        for _, block in self._row_blocks(encoded, self._n_features * choice.n_columns):
            found = np.zeros((block.shape[0], *sums.shape), np.float32)
            self._add(block, choice, found)
            sums += np.abs(found, out=found).sum(axis=0, dtype=np.float64)
        return self._unknown((sums / encoded.shape[0]).astype(np.float32), choice)

    def _unknown(self, found: NDArray[np.float32], choice: ChannelChoice) -> NDArray[np.float32]:
        """Mark channels that were never observed."""
        found[..., np.isnan(choice(self._trees.base[None, :])[0])] = np.nan
        return found

    def top(
        self, X: Any, choice: ChannelChoice, names: list[str], channels: Any, n_top: int
    ) -> ShapValues:
        """Explain the outputs with the highest predictions of every row."""
        encoded = self._model._encode(X)
        n_rows = encoded.shape[0]
        found = np.zeros((n_rows, self._n_features, n_top), np.float32)
        best = np.empty((n_rows, n_top), np.int32)
        for rows, block in self._row_blocks(encoded, self._n_features * n_top + len(names)):
            scores = self._trees.predict(block, choice, self._n_threads)
            order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), axis=1, kind="stable")
            best[rows] = order[:, :n_top]
            self._add(block, choice, found[rows], chosen=best[rows])
        known = list(self.channels.names)
        is_named = [c < 0 or known[c] != name for name, c in zip(names, channels.tolist())]
        channels = np.where(is_named, len(known) + np.cumsum(is_named) - 1, channels)
        known += [name for name, own in zip(names, is_named) if own]
        base = self.base(choice)[best]
        found[np.broadcast_to(np.isnan(base)[:, None, :], found.shape)] = np.nan
        data = None if sparse.issparse(encoded) else np.array(encoded)
        return self.told(found, base, channels[best], known, data)

    def told(
        self, values: Any, base: Any, outputs: Any, output_names: list[str], data: Any
    ) -> ShapValues:
        """Give what was found, with the names that the user knows."""
        schema = self._model._features
        known = {f: c for f, c in enumerate(schema.categories) if c is not None}
        names = feature_names_of(self._model)
        return ShapValues(
            values=values,
            base_values=base,
            outputs=outputs,
            feature_names=names,
            output_names=output_names,
            data=data,
            categories=known,
            levels=schema.levels,
            times=schema.times,
        )

    # Blocks ------------------------------------------------------------------------------------

    def _add(
        self,
        block: NDArray[Any],
        choice: ChannelChoice,
        found: NDArray[np.float32],
        chosen: NDArray[np.int32] | None = None,
        pairs: NDArray[np.int32] | None = None,
    ) -> None:
        background = self._dense_background(block.dtype)
        for first, last, values in self._trees.value_blocks(choice):
            centred = self._centred(values, first, last)
            self._trees.shap_trees.add(
                X=block,
                background=background,
                values=centred,
                chosen=chosen,
                pairs=pairs,
                first=first,
                last=last,
                contributions=found,
                column=0,
                n_threads=self._n_threads,
            )

    def _centred(self, values: NDArray[Any], first: int, last: int) -> NDArray[np.float32]:
        """Take the mean off the leaves of each tree: a constant explains nothing, but rounds.

        Leaves without a value are quickly passed over; a tree that has some stays as it is.
        """
        starts = self._trees.tree_leaves[first : last + 1] - self._trees.tree_leaves[first]
        sizes = np.diff(starts)
        is_full = np.logical_and.reduceat(values.any(axis=1), starts[:-1])
        means = np.add.reduceat(values, starts[:-1], axis=0) / sizes[:, None]
        means[~is_full] = 0.0
        return np.asarray(values - np.repeat(means, sizes, axis=0), dtype=np.float32)

    def _dense_background(self, dtype: Any) -> NDArray[Any] | None:
        if self._background is None:
            return None
        rows: Any = self._background
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.ascontiguousarray(dense, dtype=dtype)

    def _row_blocks(
        self, encoded: Any, floats_per_row: int
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Cut rows into dense blocks."""
        step = max(1, min(_BLOCK_FLOATS // max(1, floats_per_row), 2**16))
        for start in range(0, encoded.shape[0], step):
            rows = slice(start, min(start + step, encoded.shape[0]))
            block: Any = encoded[rows]
            dense = block.toarray() if hasattr(block, "toarray") else block
            yield rows, np.ascontiguousarray(dense)


def threads(n_jobs: int) -> int:
    """Read n_jobs as scikit-learn does."""
    from joblib import effective_n_jobs

    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None or an integer other than 0; got {described(n_jobs)}."
        )
    return min(int(effective_n_jobs(n_jobs)), _MOST_THREADS)
