"""One tree for a Y of numbers, counts, classes and labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyleaf.estimator.mixed import Mixed, known_channels
from polyleaf.estimator.parameters import documented
from polyleaf.trees.single_tree import SingleTree


class MixedFit(Mixed):
    """How trees and forests of mixed kinds are fitted."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        target_types: Any = None,
        output_names: Any = None,
    ) -> Self:
        """Learn from training rows.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like or frame of shape (n,) or (n, d)
            Numbers, counts, classes and labels, a column each; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
        target_types : dict of str to {'number', 'count', 'class', 'label'}, optional
            Kinds of outputs by name; those that are not named are found by their types: floats
            are numbers, booleans labels, strings and categories classes; integers are labels if
            they are 0 and 1, counts if none is negative, else numbers.
        output_names : sequence of str, of length d, optional
            Names of the outputs, if y has none: an array.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, output_names, target_types=target_types)


@documented
class TreeMixed(SingleTree, MixedFit):
    """A tree for numbers, counts, classes and labels in one Y.

    The tree splits all outputs at once, by the variance of numbers and counts and the Gini index
    of classes and labels, each kind normalised. A leaf predicts means and shares of its training
    rows. For a Y of one kind it is the tree of `TreeRegressor` or `TreeClassifier`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    target_types_ : dict of str to {'number', 'count', 'class', 'label'}
    classes_ : dict of str to ndarray
        Of the outputs that are classes or labels.
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_importances_ : ndarray of shape (n_outputs_, n_features_in_)
    pruning_level_ : float
        Level of the F-test that was used; only with ``pruning='f_test'``.

    See Also
    --------
    RandomForestMixed, BoostingMixed : many trees.
    TreeRegressor, TreeClassifier : for outputs of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from polyleaf import TreeMixed
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> Y = pd.DataFrame(dict(
    ...     price=[1.0, 1.0, 2.0, 2.0, 4.0, 4.0],
    ...     colour=["red", "red", "red", "blue", "blue", "blue"],
    ...     sold=[True, True, False, False, False, None],  # the last is not observed
    ... ))
    >>> tree = TreeMixed(random_state=0).fit(X, Y)
    >>> tree.target_types_
    {'price': 'number', 'colour': 'class', 'sold': 'label'}
    >>> predicted = tree.predict([[0.0], [5.0]])
    >>> predicted.price.tolist(), predicted.colour.tolist()
    ([1.0, 4.0], ['red', 'blue'])
    """

    def __init__(
        self,
        *,
        projection: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        splitter: str = "best",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        pruning: str | None = None,
        pruning_level: str | float = "cv",
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
    ) -> None:
        self._keep_parameters(locals())

    def _channel_means(self, X: Any) -> NDArray[np.float64]:
        leaves = self._leaves_of(X)
        return known_channels(self._targets, self._trees.leaves.predict(leaves))
