"""Choose the view of the outputs and the number of features by what trees say out of bag.

The candidates race in two rounds. All of them grow a few trees on the same bootstrap samples, and
are compared by the error that they would come to with all their trees. The better half goes on to
half of the trees, and the best score wins: labels are scored by how well they are ranked (LRAP),
all else by the share of the variance that is explained. What the race may cost counts additions of
the split search, not seconds, so that the same seed makes the same choice everywhere.

With e_i the squared error of the mean of the m_i trees that did not see row i, and s_i the mean of
their own squared errors, the error of T such trees is estimated without bias by
s_i - v_i + v_i / T, where v_i = (s_i - e_i) m_i / (m_i - 1) is the variance between trees.

Where not all trees count for all outputs (a tree for each output; subspace averaging), all this is
done channel by channel. A forest with a tree for each output takes that many times the trees, and
wins only if it is better by a margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf.forests.growing import ForestGrower, ForestSettings, Member
from polyleaf.metrics import label_ranking_average_precision_score
from polyleaf.projections import Gaussian, Projection, RoundRobin, SparseRademacher, Subsample
from polyleaf.trees.channels import output_scaling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyleaf.data.training import TrainingData

#: Trees of every candidate in the first round.
_FIRST_TREES = 12
#: What the race may cost, in units of the forest without a projection.
_BUDGET = 8.0
#: Rows on which candidates are compared.
_MOST_ROWS = 4096
#: With more outputs, a tree for each is not tried.
_MOST_SINGLE_OUTPUTS = 32
#: How much higher the score of a tree for each output must be.
_SINGLE_MARGIN = 0.01
#: Averagings for which trees that did not see an output do not, or not always, count.
_BY_OUTPUT = ("subspace", "mixed")


@dataclass(eq=False)
class Candidate:
    """A way to grow the forest, and how it has done so far.

    Attributes
    ----------
    projection : Projection or None
    max_features : int
    members : list of Member
    error : float
        Estimate for the whole forest after the first round, relative to predicting the mean.
    score : float
        After the second round; greater is better.
    work : int
        Additions spent on its trees.
    per_estimator : int
        Trees that one estimator has.
    """

    projection: Projection | None
    max_features: int
    members: list[Member] = field(default_factory=list)
    error: float = np.inf
    score: float = -np.inf
    work: int = 0
    per_estimator: int = 1

    @property
    def is_single(self) -> bool:
        """Whether every output has trees of its own."""
        return isinstance(self.projection, RoundRobin)

    @property
    def n_grown(self) -> int:
        """Number of estimators that have grown."""
        return len(self.members) // self.per_estimator

    def describe(self) -> dict[str, Any]:
        """Give what was tried and what came of it; None: it was not measured."""
        return {
            "projection": "None" if self.projection is None else repr(self.projection),
            "max_features": self.max_features,
            "n_trees": len(self.members),
            "error": self.error if np.isfinite(self.error) else None,
            "score": self.score if np.isfinite(self.score) else None,
            "work": self.work,
        }


def candidates(n_outputs: int, n_features: int, n_single: int = 0) -> list[Candidate]:
    """List what is worth a try: the square root of the features first, without a projection.

    Parameters
    ----------
    n_outputs : int
    n_features : int
    n_single : int
        Outputs that each may have a tree of its own.
    """
    views: list[Projection | None] = [None]
    if n_outputs > 1:
        views += [
            Subsample(0.5),
            Gaussian("log"),
            Gaussian("sqrt"),
            SparseRademacher("log"),
        ]
    widths = dict.fromkeys([max(1, math.isqrt(n_features)), max(1, n_features // 3), n_features])
    if 1 < n_single <= _MOST_SINGLE_OUTPUTS:
        views.append(RoundRobin())
    return [
        Candidate(view, width, per_estimator=n_single if isinstance(view, RoundRobin) else 1)
        for width in widths
        for view in views
    ]


class Race:
    """Lets candidates grow trees until one is left.

    Parameters
    ----------
    data : TrainingData
    settings : ForestSettings
    entropy : sequence of int
    n_threads : int
        The outcome does not depend on it.
    on_tree : callable
        Called after every tree.
    aggregation : str
        How the forest averages its trees.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: ForestSettings,
        entropy: Sequence[int],
        n_threads: int,
        on_tree: Callable[[], None] = lambda: None,
        aggregation: str = "total",
    ) -> None:
        self._data = data
        # Without a bootstrap there is nothing to tell candidates apart by.
        self._settings = replace(settings, bootstrap=True)
        self._entropy = entropy
        self._n_threads = n_threads
        self._on_tree = on_tree
        n_rows = data.n_rows
        rng = np.random.default_rng([*entropy, 2**33])
        some = rng.permutation(n_rows)[:_MOST_ROWS] if n_rows > _MOST_ROWS else np.arange(n_rows)
        self._score = OutOfBagScore(data, settings, np.sort(some), aggregation)
        shape = data.targets.schema.n_outputs, data.features.n_features
        self.tried = candidates(*shape, self._count_single_outputs())

    def _count_single_outputs(self) -> int:
        """Count the trees of an estimator that has one for each output that varies."""
        if self._data.targets.is_sparse or self._data.targets.n_channels < 2:
            return 0
        tree = replace(self._settings.tree, projection=RoundRobin())
        grower = ForestGrower(self._data, replace(self._settings, tree=tree), self._entropy)
        return grower.n_trees_per_estimator

    def run(self) -> Candidate:
        """Let the candidates race and give the winner."""
        n_estimators = self._settings.n_estimators
        n_trees = min(_FIRST_TREES, n_estimators)
        first = self.tried[0]
        self._grow(first, n_trees)
        budget = _BUDGET * first.work / n_trees * n_estimators
        for candidate in self.tried[1:]:
            # What it takes to search all outputs; a view takes less. One by one, they take up to
            # twice as much: every tree counts rows, too.
            width = (1 + candidate.is_single) * candidate.max_features / first.max_features
            if self._spent + first.work * width <= budget:
                self._grow(candidate, n_trees)
        grown = [candidate for candidate in self.tried if candidate.members]
        for candidate in grown:
            growth = n_estimators / candidate.n_grown
            candidate.error = self._score.error(candidate.members, self._n_threads, growth)
        grown.sort(key=lambda each: each.error)
        finalists = grown[: max(1, len(grown) // 2)]
        n_trees = max(n_trees, n_estimators // 2)
        for candidate in finalists if len(finalists) > 1 else []:
            rest = candidate.work / candidate.n_grown * (n_trees - candidate.n_grown)
            if candidate is finalists[0] or self._spent + rest <= budget:
                self._grow(candidate, n_trees)
                candidate.score = self._score(candidate.members, self._n_threads)
        return max(finalists, key=lambda each: each.score - _SINGLE_MARGIN * each.is_single)

    @property
    def _spent(self) -> int:
        return sum(candidate.work for candidate in self.tried)

    def _grow(self, candidate: Candidate, n_trees: int) -> None:
        tree = replace(
            self._settings.tree,
            projection=candidate.projection,
            max_features=candidate.max_features,
        )
        grower = ForestGrower(self._data, replace(self._settings, tree=tree), self._entropy)
        trees = range(len(candidate.members), n_trees * candidate.per_estimator)
        with closing(grower.grow(trees, self._n_threads)) as grown:
            for member in grown:
                candidate.members.append(member)
                candidate.work += member.work
                self._on_tree()


@dataclass(frozen=True, eq=False)
class _Vote:
    """What some trees say of rows that they did not see.

    Attributes
    ----------
    at : ndarray of shape (n_known,)
        Places of the rows that at least one of the trees did not see.
    n_trees : ndarray of shape (n_known,)
        How many did not.
    mean : ndarray or csr_array of shape (n_known, n_channels)
    own : ndarray of shape (n_known,)
        Mean of the trees' own squared errors.
    """

    at: NDArray[np.intp]
    n_trees: NDArray[np.float64]
    mean: Any
    own: NDArray[np.float64]


class OutOfBagScore:
    """Scores trees by what they say together of rows that they did not see.

    Parameters
    ----------
    data : TrainingData
    settings : ForestSettings
    rows : ndarray of shape (n_rows,)
        Training rows to score on.
    aggregation : str
        How the forest averages its trees.
    """

    def __init__(
        self,
        data: TrainingData,
        settings: ForestSettings,
        rows: NDArray[np.intp],
        aggregation: str = "total",
    ) -> None:
        scaling = output_scaling(data, settings.tree.normalize_outputs)
        self._factors = scaling.factors
        # Variance of all outputs together, the error of predicting their means.
        self._scale = float(np.sum((scaling.moments.std * scaling.factors) ** 2)) or 1.0
        self._data = data
        self._rows = rows
        self._aggregation = aggregation
        outputs = data.targets
        self._truth: Any = outputs.values[rows]
        self._ranks_labels = (
            data.targets.schema.kind == "multilabel"
            and outputs.observed is None
            and (outputs.weights is None or outputs.weights.ndim == 1)
        )

    def error(self, members: list[Member], n_threads: int, growth: float) -> float:
        """Estimate the error of a forest of all its trees, relative to predicting the mean.

        Parameters
        ----------
        members : list of Member
            Some of its trees.
        n_threads : int
        growth : float
            How many times as many it will have.
        """
        if self._is_by_channel(members):
            return float(self._best_votes(members, n_threads, growth)[1].sum())
        vote = self._vote(members, n_threads)
        kept = vote.n_trees >= 2
        if not kept.any():
            return np.inf
        together, own, n_trees = self._squares(vote.mean, vote.at), vote.own, vote.n_trees
        together, own, n_trees = together[kept], own[kept], n_trees[kept]
        variance = (own - together) * n_trees / (n_trees - 1)
        estimate = own - variance + variance / (len(members) * growth)
        return float(estimate.mean() / self._scale)

    def __call__(self, members: list[Member], n_threads: int) -> float:
        """Score some trees; greater is better.

        Parameters
        ----------
        members : list of Member
        n_threads : int
        """
        if self._is_by_channel(members):
            mean, errors = self._best_votes(members, n_threads)
            ranking = self._rank(mean, np.arange(self._rows.size))
            return 1.0 - float(errors.sum()) if ranking is None else ranking
        vote = self._vote(members, n_threads)
        if not vote.at.size:
            return -np.inf
        ranking = self._rank(vote.mean, vote.at)
        if ranking is not None:
            return ranking
        return 1.0 - float(self._squares(vote.mean, vote.at).mean()) / self._scale

    def _rank(self, mean: Any, at: NDArray[np.intp]) -> float | None:
        """Score the ranking of labels, if that is what counts and there are any."""
        truth, weights = self._truth[at], self._data.targets.weights
        if not self._ranks_labels:
            return None
        has_labels = np.asarray(truth.sum(axis=1)).ravel() > 0
        if not has_labels.any():
            return None
        by_row = None if weights is None else weights[self._rows[at]][has_labels]
        return label_ranking_average_precision_score(
            truth[has_labels], mean[has_labels], sample_weight=by_row
        )

    def _is_by_channel(self, members: list[Member]) -> bool:
        """Tell whether some trees do not count for some channels."""
        if self._data.targets.is_sparse:
            return False
        return any(
            not member.updated.all() or (self._aggregation in _BY_OUTPUT and not member.seen.all())
            for member in members
        )

    def _best_votes(
        self, members: list[Member], n_threads: int, growth: float | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Average the trees that count for each channel; of the averagings, take the better one.

        Returns
        -------
        mean : ndarray of shape (n_rows, n_channels)
        errors : ndarray of shape (n_channels,)
            Relative to predicting all means; of so many times the trees, if `growth` is given.
        """
        updated = np.vstack([member.updated for member in members])
        seen = updated & np.vstack([member.seen for member in members])
        masks = {"total": [updated], "subspace": [seen], "mixed": [updated, seen]}
        found = [
            self._channel_votes(members, used, n_threads, growth)
            for used in masks.get(self._aggregation, [updated])
        ]
        mean, errors = found[0]
        for other, own in found[1:]:
            mean, errors = np.where(own < errors, other, mean), np.minimum(own, errors)
        return mean, errors

    def _entry_weights(self) -> NDArray[np.float64]:
        """Give the weight of every entry, 0 where it is not observed: (n_rows, n_channels)."""
        outputs, weights = self._data.targets, np.ones(self._truth.shape)
        if outputs.weights is not None:
            by_row = outputs.weights[self._rows]
            weights = weights * (by_row[:, None] if by_row.ndim == 1 else by_row)
        return weights if outputs.observed is None else weights * outputs.observed[self._rows]

    def _channel_votes(
        self,
        members: list[Member],
        used: NDArray[np.bool_],
        n_threads: int,
        growth: float | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Average trees for the channels that `used`, of shape (n_trees, n_channels), names."""
        shape = self._rows.size, self._data.targets.n_channels
        total, own, counts = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for member, channels in zip(members, used):
            outside = np.ones(self._data.n_rows, np.bool_)
            outside[member.forest.leaf_rows] = False
            at = np.flatnonzero(outside[self._rows])
            if not at.size:
                continue
            tree = member.forest.tree(0)
            predicted = np.asarray(tree.predict(self._data.encoded[self._rows[at]], n_threads))
            known = channels & ~np.isnan(predicted)
            predicted = np.where(known, predicted, 0.0)
            total[at] += predicted
            own[at] += known * (predicted - self._truth[at]) ** 2
            counts[at] += known
        weights = self._entry_weights()
        means = (weights * self._truth).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-300)
        mean = np.where(counts > 0, total / np.maximum(counts, 1.0), means)
        squares, kept = (mean - self._truth) ** 2, counts > 0
        if growth is not None:
            kept = counts >= 2
            own = own / np.maximum(counts, 1.0)
            variance = (own - squares) * counts / np.maximum(counts - 1.0, 1.0)
            squares = own - variance + variance / np.maximum(used.sum(axis=0) * growth, 1.0)
        weights = weights * kept
        errors = (weights * squares).sum(axis=0) / np.maximum(kept.sum(axis=0), 1)
        errors = np.where(kept.any(axis=0) | ~used.any(axis=0), errors, np.inf)
        return mean, errors * self._factors**2 / self._scale

    def _vote(self, members: list[Member], n_threads: int) -> _Vote:
        n_rows = self._rows.size
        shape = (n_rows, self._data.targets.n_channels)
        is_sparse = self._data.targets.is_sparse
        total: Any = sparse.csr_array(shape) if is_sparse else np.zeros(shape)
        own, n_trees = np.zeros(n_rows), np.zeros(n_rows)
        for member in members:
            outside = np.ones(self._data.n_rows, np.bool_)
            outside[member.forest.leaf_rows] = False
            at = np.flatnonzero(outside[self._rows])
            if not at.size:
                continue
            tree = member.forest.tree(0)
            predicted = tree.predict(self._data.encoded[self._rows[at]], n_threads)
            if is_sparse:
                spread = sparse.csr_array(
                    (np.ones(at.size), (at, np.arange(at.size))), shape=(n_rows, at.size)
                )
                total = total + spread @ predicted
            else:
                total[at] += np.nan_to_num(predicted)
            own[at] += self._squares(predicted, at)
            n_trees[at] += 1
        known = np.flatnonzero(n_trees)
        count = n_trees[known]
        if is_sparse:
            mean: Any = sparse.diags_array(1.0 / count) @ total[known]
        else:
            mean = total[known] / count[:, None]
        return _Vote(known, count, mean, own[known] / count)

    def _squares(self, predicted: Any, at: NDArray[np.intp]) -> NDArray[np.float64]:
        """Sum the weighted squared errors of each row."""
        outputs, rows = self._data.targets, self._rows[at]
        weights = self._factors[None, :] ** 2
        if outputs.weights is not None:
            by_row = outputs.weights[rows]
            weights = weights * (by_row[:, None] if by_row.ndim == 1 else by_row)
        if outputs.observed is not None:
            weights = weights * outputs.observed[rows]
        difference = predicted - self._truth[at]
        if isinstance(difference, np.ndarray):
            return np.asarray((np.nan_to_num(difference) ** 2 * weights).sum(axis=1))
        if weights.shape[0] == 1:
            return np.asarray(difference.power(2) @ weights[0])
        return np.asarray(difference.power(2).multiply(weights).sum(axis=1)).ravel()
