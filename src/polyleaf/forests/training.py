"""Train a forest: choose a view if asked to, grow the trees, put them together, weigh them.

- total averaging: every tree counts alike for every output;
- subspace averaging (Breskvar et al. 2018, eq. 2): for an output, the trees that saw it;
- mixed: for every output, the mixture of the two with the least squared error out of bag;
- out-of-bag weights: a tree counts for an output in inverse proportion to its squared error on
  the rows that it did not see.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import projections
from polyleaf.data import whole_rows
from polyleaf.estimator.parameters import count
from polyleaf.estimator.running import progress_bar
from polyleaf.forests.fitted import FittedForest
from polyleaf.forests.growing import ForestGrower, ForestSettings, Grow, Member, is_auto
from polyleaf.forests.model import JoinedForest
from polyleaf.forests.out_of_bag import mixture_errors, predict_out_of_bag, tree_errors
from polyleaf.forests.race import Race
from polyleaf.trees.growing import tree_settings

if TYPE_CHECKING:
    from polyleaf.data import CodedRows, EncodedX, TrainingData
    from polyleaf.forests.model import Forest


def train_forest(
    forest: Any,
    data: TrainingData,
    settings: ForestSettings,
    entropy: list[int],
    old: FittedForest | None,
    n_threads: int,
    grow: Grow | None = None,
) -> FittedForest:
    """Grow the trees that the parameters of an estimator ask for.

    Parameters
    ----------
    forest : ForestEstimator
        Its parameters are read; nothing of it is changed.
    data : TrainingData
    settings : ForestSettings
    entropy : list of int
        The seed.
    old : FittedForest or None
        The trees to go on from.
    n_threads : int
    grow : callable, optional
        Grows trees of given numbers with others, as `ForestGrower.grow` does alone.
    """
    if old is not None:
        _check_same_data(old, data)
    settings, members, tried = _choose(forest, data, settings, entropy, old, n_threads)
    grower = ForestGrower(data, settings, entropy)
    per_estimator = grower.n_trees_per_estimator
    if old is not None:
        _check_goes_on(forest, old, per_estimator)
        members = [Member(old.forest, old.seen, old.updated, 0)]
    n_old = sum(member.forest.n_trees for member in members)
    numbers = range(n_old, forest.n_estimators * per_estimator)
    joined, seen, updated = JoinedForest(n_old + len(numbers)), [], []
    with (
        # So that no thread outlives this.
        closing((grow or ForestGrower.grow)(grower, numbers, n_threads)) as grown,
        progress_bar(type(forest).__name__, len(numbers), forest.verbose) as advance,
    ):
        for at, member in enumerate(chain(members, grown)):
            joined.add(member.forest)
            seen.append(member.seen)
            updated.append(member.updated)
            if at >= len(members):
                advance()
    trees = joined.finish()
    masks = np.vstack(seen), np.vstack(updated)
    trees = trees.with_tree_weights(_weights_of(forest, data, grower, trees, masks, n_threads))
    fitted = FittedForest(
        data.schema,
        data.targets.schema,
        trees,
        *masks,
        entropy,
        per_estimator,
        settings.tree.projection,
        settings.tree.max_features,
        tried,
    )
    if not forest.oob_score:
        return fitted
    predicted = predict_out_of_bag(trees, whole_rows(data.encoded), n_threads)
    prediction, score = forest._out_of_bag(predicted, data.targets)
    return replace(fitted, oob_prediction=prediction, oob_score=score)


def check_combinations(forest: Any) -> None:
    """Raise a ValueError if parameters do not go together."""
    name = type(forest).__name__
    if not forest.bootstrap:
        if forest.aggregation == "oob":
            raise ValueError(
                f"aggregation='oob' of {name} weighs trees by the rows they were not grown "
                "on, and needs bootstrap=True; got bootstrap=False. Use aggregation='total', "
                "'subspace' or 'mixed' with it."
            )
        if forest.oob_score:
            raise ValueError(f"oob_score of {name} needs bootstrap=True; got bootstrap=False.")
        if forest.max_samples is not None:
            raise ValueError(
                f"max_samples of {name} is the size of a bootstrap sample and needs "
                f"bootstrap=True; got {forest.max_samples} with bootstrap=False."
            )
    if is_auto(forest.projection) and forest.projection_scope != "tree":
        raise ValueError(
            f"projection='auto' of {name} chooses among views that are drawn for every tree; "
            f"got projection_scope={forest.projection_scope!r}. Use 'tree'."
        )
    is_by_node = forest.projection_scope == "node"
    if is_by_node and forest.sums == "fixed":
        raise ValueError(
            f"projection_scope='node' of {name} grows one split at a time and cannot be combined "
            "with sums='fixed'. Use projection_scope='tree', or sums='float'."
        )
    if is_by_node and isinstance(_view_of(forest), projections.FromTransformer):
        raise ValueError(
            f"projection_scope='node' of {name} draws a view of the rows of every node, but "
            f"{forest.projection!r} transforms all rows at once. Use 'tree' or 'forest'."
        )
    if is_by_node and forest.max_leaf_nodes is not None:
        raise ValueError(
            f"projection_scope='node' of {name} grows trees depth-first and cannot be "
            f"combined with max_leaf_nodes; got {forest.max_leaf_nodes}. Use max_depth, or "
            "projection_scope='tree'."
        )


def forest_settings(forest: Any, shape: tuple[int, int]) -> ForestSettings:
    """Check the parameters of a forest against each other, and translate them."""
    check_combinations(forest)
    max_samples = None if forest.max_samples is None else count(forest.max_samples, shape[0])
    return ForestSettings(
        tree=tree_settings(forest, shape, forest._random_cuts, _view_of(forest)),
        n_estimators=forest.n_estimators,
        bootstrap=bool(forest.bootstrap),
        max_samples=max_samples,
        projection_scope=forest.projection_scope,
    )


def _view_of(forest: Any) -> projections.Projection | None:
    """Give the view that a forest names; None if it has none, or is to choose one."""
    if forest.projection is None or is_auto(forest.projection):
        return None
    return projections.resolve(forest.projection)


def _choose(
    forest: Any,
    data: TrainingData,
    settings: ForestSettings,
    entropy: list[int],
    old: FittedForest | None,
    n_threads: int,
) -> tuple[ForestSettings, list[Member], list[dict[str, Any]] | None]:
    """Choose the view and the number of features, if that is wanted.

    Returns
    -------
    settings : ForestSettings
    members : list of Member
        Trees of that choice that are there already.
    tried : list of dict or None
        What was tried; None if nothing was to be chosen.
    """
    if not is_auto(forest.projection):
        return settings, [], None
    members: list[Member] = []
    if old is not None:
        if old.auto_results is None:
            raise ValueError(
                "warm_start=True goes on with the view that the trees before were grown on; "
                "got projection='auto', which chooses one. Use the projection of the first "
                "fit, or warm_start=False to start again."
            )
        view, max_features, tried = old.projection, old.max_features, old.auto_results
    else:
        with progress_bar("choosing a view", 0, forest.verbose) as advance:
            race = Race(data, settings, entropy, n_threads, advance, forest.aggregation)
            winner = race.run()
        tried = [candidate.describe() for candidate in race.tried]
        view, max_features = winner.projection, winner.max_features
        members = winner.members if settings.bootstrap else []
    tree = replace(settings.tree, projection=view, max_features=max_features)
    return replace(settings, tree=tree), members, tried


def _check_same_data(old: FittedForest, data: TrainingData) -> None:
    """Raise a ValueError unless the data are those that the trees were grown on."""
    same = (
        data.schema.to_json() == old.features.to_json()
        and data.targets.schema.to_json() == old.targets.to_json()
        and data.targets.equals(old.forest.outputs)
    )
    if not same:
        raise ValueError(
            "warm_start=True adds trees grown on the same rows, y and weights as before; got "
            "another y, other weights or other features. Use warm_start=False to start again."
        )


def _check_goes_on(forest: Any, old: FittedForest, per_estimator: int) -> None:
    """Raise a ValueError unless trees can be added to those there are."""
    if per_estimator != old.trees_per_estimator:
        raise ValueError(
            f"warm_start=True adds estimators of {old.trees_per_estimator} trees, as those "
            f"before; got projection={forest.projection!r}, which needs {per_estimator} trees "
            "for each. Use warm_start=False to start again."
        )
    n_old = old.forest.n_trees // per_estimator
    if forest.n_estimators < n_old:
        raise ValueError(
            f"n_estimators must be at least {n_old}, the number of trees that are there, if "
            f"warm_start=True; got {forest.n_estimators}."
        )


# How much each tree counts for each output -------------------------------------------------------

#: Smallest share of the average error that a tree's error is taken for.
_LEAST_ERROR = 1e-3
#: Shares of subspace averaging that the mixture is chosen from.
_MIXTURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: Trees on bootstrap samples that choose the mixture of a forest without them.
_PILOT_TREES = 25
_PILOT_STREAM = 2**34
#: What `aggregation="mixed"` mixes.
MIXED = ("total", "subspace")

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def _weights_of(
    forest: Any,
    data: TrainingData,
    grower: ForestGrower,
    trees: Forest,
    masks: Masks,
    n_threads: int,
) -> NDArray[np.float64] | None:
    """Weigh the trees of a forest by its `aggregation`."""
    if forest.aggregation != "mixed":
        return weigh_trees(trees, forest.aggregation, *masks, data.encoded)
    total, subspace = (weigh_trees(trees, name, *masks, data.encoded) for name in MIXED)
    if subspace is None:
        return None
    if forest.bootstrap:
        shares = choose_mixture(trees, masks, data, n_threads)
    else:
        pilot = ForestGrower(
            data, replace(grower.settings, bootstrap=True), [*grower.entropy, _PILOT_STREAM]
        )
        n_trees = min(_PILOT_TREES, forest.n_estimators) * grower.n_trees_per_estimator
        with closing(pilot.grow(range(n_trees), n_threads)) as grown:
            members = list(grown)
        joined = JoinedForest(n_trees)
        for member in members:
            joined.add(member.forest)
        seen, updated = (
            np.vstack([getattr(member, name) for member in members])
            for name in ("seen", "updated")
        )
        shares = choose_mixture(joined.finish(), (seen, updated), data, n_threads)
    if not shares.any():
        return total
    if total is None:
        total = np.full_like(subspace, 1.0 / trees.n_trees)
    return (1.0 - shares) * total + shares * subspace


def choose_mixture(
    trees: Forest, masks: Masks, data: TrainingData, n_threads: int
) -> NDArray[np.float64]:
    """Choose the share of subspace averaging of every channel: (n_channels,).

    The channels of an output have one share, so that probabilities add up to 1. Where nothing
    tells, as for an output that no row out of bag has, it is 0: total averaging.
    """
    every = np.full((trees.n_trees, trees.outputs.n_channels), 1.0 / trees.n_trees)
    pair = [weigh_trees(trees, name, *masks, data.encoded) for name in MIXED]
    total, subspace = (every if weights is None else weights for weights in pair)
    errors = mixture_errors(trees, whole_rows(data.encoded), total, subspace, _MIXTURES, n_threads)
    offsets = data.targets.schema.channel_offsets
    by_output = np.add.reduceat(errors, offsets[:-1], axis=1)
    chosen = np.array(_MIXTURES)[np.argmin(by_output, axis=0)]
    return np.repeat(chosen, np.diff(offsets))


def weigh_trees(
    forest: Forest,
    aggregation: str,
    seen: NDArray[np.bool_],
    updated: NDArray[np.bool_],
    X: EncodedX | CodedRows,
) -> NDArray[np.float64] | None:
    """Weigh every tree for every channel.

    Every channel is covered: where no tree saw one, all that predict it count.

    Parameters
    ----------
    forest : Forest
    aggregation : {"total", "subspace", "oob"}
    seen, updated : ndarray of shape (n_trees, n_channels), bool
        The channels on which each tree was grown, and those that it predicts.
    X : ndarray, csr_array or CodedRows of shape (n_train, n_features)
        The training features, encoded.

    Returns
    -------
    ndarray of shape (n_trees, n_channels), float64, or None
        Columns add up to 1, or to 0 for a channel that was never observed. None if all trees
        count alike for all channels.
    """
    able = updated | ~updated.any(axis=0)
    if not forest.outputs.share_weights:
        able = able & (forest.root_weights > 0)
    used = able
    if aggregation == "subspace":
        used = able & seen
        used = np.where(used.any(axis=0), used, able)
    if aggregation != "oob":
        return None if used.all() else _shares(used.astype(np.float64))
    errors = tree_errors(forest, whole_rows(X))
    floor = _LEAST_ERROR * errors.mean(axis=0)
    safe = np.where(floor > 0, np.maximum(errors, floor), 1.0)
    return _shares(np.where(used, 1.0 / safe, 0.0))


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    totals = weights.sum(axis=0)
    shares: NDArray[np.float64] = np.divide(
        weights, totals, out=np.zeros_like(weights), where=totals > 0
    )
    return shares
