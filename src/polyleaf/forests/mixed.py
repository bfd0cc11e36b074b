"""Forests for a Y of numbers, counts, classes and labels: random forests and extra trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import Targets
from polyleaf.estimator.mixed import as_frame, known_channels, targets_as_frame
from polyleaf.estimator.mixed_scores import score_of_targets
from polyleaf.estimator.parameters import documented, is_max_features, is_projection
from polyleaf.forests.base import ForestEstimator
from polyleaf.forests.out_of_bag import OutOfBag, out_of_bag_score
from polyleaf.trees.mixed import MixedFit, TreeMixed
from polyleaf.trees.parameters import TREE_PARAMETERS

if TYPE_CHECKING:
    from polyleaf.data import TargetSchema
    from polyleaf.estimator.parameters import Parameter

#: What 'by_kind' stands for where all outputs are classes or labels, and elsewhere.
_OF_CLASSES = {"projection": None, "max_features": "sqrt"}
_OF_OTHERS = {"projection": "subsample", "max_features": 0.33}


def _is_by_kind(value: Any) -> bool:
    return isinstance(value, str) and value == "by_kind"


def _or_by_kind(parameter: Parameter, meaning: str, accepts: Callable[[Any], bool]) -> Parameter:
    return replace(
        parameter,
        type=f"'by_kind', {parameter.type}",
        doc=f"{parameter.doc}\n{meaning}",
        accepts=lambda value: _is_by_kind(value) or accepts(value),
        expected=f"'by_kind', {parameter.expected}",
        names=("by_kind", *parameter.names),
    )


_DECLARED: dict[str, Parameter] = TREE_PARAMETERS | {
    "projection": _or_by_kind(
        TREE_PARAMETERS["projection"],
        "``'by_kind'``: all outputs if they are all classes or all labels, else ``'subsample'``,\n"
        "as forests of these kinds have it.",
        is_projection,
    ),
    "max_features": _or_by_kind(
        TREE_PARAMETERS["max_features"],
        "``'by_kind'``: ``'sqrt'`` if all outputs are classes or all are labels, else 0.33.",
        is_max_features,
    ),
}


class ForestMixed(ForestEstimator, MixedFit):
    """Base of the forests of mixed kinds."""

    _declared: ClassVar[dict[str, Parameter]] = _DECLARED
    _member_type = TreeMixed

    def _resolved(self, targets: TargetSchema) -> Self:
        given = dict(vars(self))
        open_ones = [name for name in _OF_OTHERS if _is_by_kind(given[name])]
        if not open_ones:
            return self
        chosen = _OF_OTHERS if targets.kind in ("regression", "mixed") else _OF_CLASSES
        resolved = object.__new__(type(self))
        resolved.__dict__.update(given)
        for name in open_ones:
            setattr(resolved, name, chosen[name])
        return resolved

    def _channel_means(self, X: Any) -> NDArray[np.float64]:
        channels = self._predict_channels(X)
        return known_channels(self._targets, channels)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict by the first tree, the first two trees, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        DataFrame of shape (n, d)
            As `predict` gives it.
        """
        for values in self._staged_channels(X):
            yield as_frame(self._targets, known_channels(self._targets, values))

    def _training_outputs(self, rows: NDArray[np.int32]) -> Any:
        schema, outputs = self._targets, self._forest.outputs
        values, observed = outputs.dense_values(), outputs.observed
        return [
            as_frame(schema, values[drawn], None if observed is None else observed[drawn])
            for drawn in rows
        ]

    def sample_predictions(self, X: Any, n_draws: int = 1, random_state: Any = None) -> Any:
        """Draw from the joint distribution of the outputs that the forest predicts.

        A draw is the whole output of one training row, chosen by `predict_weights`, so that
        outputs keep their dependence, whatever their kinds. What was not observed stays missing.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
        n_draws : int, default=1
        random_state : int, RandomState, Generator or None
            None: that of the forest.

        Returns
        -------
        list of n_draws DataFrames of shape (n, d)
        """
        return super().sample_predictions(X, n_draws, random_state)

    def _out_of_bag(self, predicted: OutOfBag, targets: Targets) -> tuple[Any, float]:
        schema = targets.schema
        scored = np.flatnonzero(predicted.scorable_rows(targets.observed))
        channels = known_channels(schema, predicted.values.copy())
        guess, truth = as_frame(schema, channels), targets.at(scored)
        if callable(self.oob_score):
            shown = as_frame(schema, channels[scored])
            score = out_of_bag_score(self, self.oob_score, targets_as_frame(truth), shown)
        else:
            score = out_of_bag_score(
                self,
                lambda rows, found: score_of_targets(schema, found, truth),
                scored,
                channels[scored],
            )
        return guess, score

    @property
    def oob_prediction_(self) -> Any:
        """Predictions of the training rows by trees that did not see them; with ``oob_score``."""
        return self._if_there("oob_prediction", "oob_score")


@documented
class RandomForestMixed(ForestMixed):
    """A random forest for numbers, counts, classes and labels in one Y.

    Every tree is grown on a bootstrap sample of the rows and tries some of the features at each
    node. It splits all outputs at once, by the variance of numbers and counts and the Gini index
    of classes and labels, each kind normalised. For a Y of one kind it is the forest of
    `RandomForestRegressor` or `RandomForestClassifier`.

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
    estimators_ : sequence of TreeMixed
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used.
    tree_outputs_ : ndarray of shape (n_trees, n_outputs_), bool
        Which outputs each tree saw in the choice of its splits.
    oob_score_ : float
    oob_prediction_ : DataFrame of shape (n, d)
        Only with ``oob_score``.

    See Also
    --------
    BoostingMixed : trees that build on each other.
    RandomForestRegressor, RandomForestClassifier : for outputs of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from polyleaf import RandomForestMixed
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> Y = pd.DataFrame(dict(price=X[:, 0] + X[:, 1], sold=X[:, 0] > 0))
    >>> Y["visits"] = rng.poisson(3.0, size=200)
    >>> model = RandomForestMixed(n_estimators=30, random_state=0).fit(X, Y)
    >>> model.predict(X[:2]).dtypes.astype(str).tolist()
    ['float64', 'bool', 'float64']
    >>> model.predict_proba(X[:2])["sold"].shape
    (2,)
    >>> sorted(model.output_scores(X, Y)["visits"])
    ['mae', 'poisson_deviance', 'rmse', 'score']
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = "by_kind",
        projection_scope: str = "tree",
        aggregation: str = "mixed",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = "by_kind",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())


@documented
class ExtraTreesMixed(ForestMixed):
    """Extremely randomised trees for numbers, counts, classes and labels in one Y.

    Like `RandomForestMixed`, but thresholds are drawn at random, the best of one per feature is
    taken, and by default every tree is grown on all rows. For a Y of one kind it is the forest of
    `ExtraTreesRegressor` or `ExtraTreesClassifier`.

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
    estimators_ : sequence of TreeMixed
        Made when asked for.
    projection_ : Projection or None
    max_features_ : int
        The view and the number of features that were used.
    tree_outputs_ : ndarray of shape (n_trees, n_outputs_), bool
        Which outputs each tree saw in the choice of its splits.
    oob_score_ : float
    oob_prediction_ : DataFrame of shape (n, d)
        Only with ``oob_score``, which needs ``bootstrap=True``.

    See Also
    --------
    RandomForestMixed : with the best thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from polyleaf import ExtraTreesMixed
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Y = pd.DataFrame(dict(price=X[:, 0] - X[:, 1], size=np.where(X[:, 0] > 0, "L", "S")))
    >>> model = ExtraTreesMixed(n_estimators=30, random_state=0).fit(X, Y)
    >>> model.predict([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])["size"].tolist()
    ['L', 'S']
    >>> bool(model.score(X, Y) > 0.8)
    True
    """

    _random_cuts = True

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        projection: Any = "by_kind",
        projection_scope: str = "tree",
        aggregation: str = "mixed",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = "by_kind",
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())
