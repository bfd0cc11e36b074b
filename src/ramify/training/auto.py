"""Choose the view of the outputs and the number of features by their score out of bag.

The candidates race: all of them grow a few trees on the same bootstrap samples, the better half
goes on with twice as many, until one is left or the budget is spent. The budget counts the
additions of the split search, not seconds, so that the same seed makes the same choice everywhere.
Labels are scored by how well they are ranked (LRAP), all else by the share of the variance that is
explained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ramify.metrics import label_ranking_average_precision_score
from ramify.projections import Gaussian, Projection, SparseRademacher, Subsample
from ramify.training.channels import output_scaling
from ramify.training.forest import ForestGrower, ForestSettings, Member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ramify.training.data import TrainingData

#: Trees of every candidate in the first round; each round doubles them and halves the candidates.
_FIRST_TREES = 12
#: What the race may cost, in units of the forest without a projection.
_BUDGET = 4.0
#: Rows on which candidates are compared.
_MOST_ROWS = 4096


@dataclass(eq=False)
class Candidate:
    """A way to grow the forest, and how it has done so far.

    Attributes
    ----------
    projection : Projection or None
    max_features : int
    members : list of Member
    score : float
        Out of bag; greater is better.
    work : int
        Additions spent on its trees.
    """

    projection: Projection | None
    max_features: int
    members: list[Member] = field(default_factory=list)
    score: float = -np.inf
    work: int = 0

    def describe(self) -> dict[str, Any]:
        """Give what was tried and what came of it."""
        return {
            "projection": "None" if self.projection is None else repr(self.projection),
            "max_features": self.max_features,
            "n_trees": len(self.members),
            "score": self.score,
            "work": self.work,
        }


def candidates(settings: ForestSettings, n_outputs: int, n_features: int) -> list[Candidate]:
    """List what is worth a try: the given number of features first, without a projection.

    Parameters
    ----------
    settings : ForestSettings
    n_outputs : int
    n_features : int
    """
    views: list[Projection | None] = [None]
    if n_outputs > 1:
        views += [
            Subsample(0.5),
            Gaussian("log"),
            Gaussian("sqrt"),
            SparseRademacher("log"),
        ]
    given = settings.tree.max_features or n_features
    widths = dict.fromkeys([given, max(1, n_features // 3), n_features])
    return [Candidate(view, width) for width in widths for view in views]


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
    """

    def __init__(
        self,
        data: TrainingData,
        settings: ForestSettings,
        entropy: Sequence[int],
        n_threads: int,
        on_tree: Callable[[], None] = lambda: None,
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
        self._score = OutOfBagScore(data, settings, np.sort(some))
        self.tried = candidates(settings, data.targets.schema.n_outputs, data.features.n_features)

    def run(self) -> Candidate:
        """Let the candidates race and give the winner."""
        left = list(self.tried)
        n_trees = min(_FIRST_TREES, self._settings.n_estimators)
        budget = np.inf
        while len(left) > 1:
            for candidate in left:
                spent = sum(each.work for each in self.tried)
                # Every candidate but the first must fit into what is left of the budget.
                if not candidate.members and candidate is not self.tried[0]:
                    first = self.tried[0]
                    expected = first.work / len(first.members) * n_trees
                    if spent + expected > budget:
                        continue
                self._grow(candidate, n_trees)
                if budget == np.inf:
                    per_tree = candidate.work / len(candidate.members)
                    budget = _BUDGET * per_tree * self._settings.n_estimators
            left = sorted(left, key=lambda each: -each.score)[: max(1, len(left) // 2)]
            is_spent = sum(each.work for each in self.tried) > budget
            if is_spent or 2 * n_trees > self._settings.n_estimators:
                break
            n_trees *= 2
        return left[0]

    def _grow(self, candidate: Candidate, n_trees: int) -> None:
        tree = replace(
            self._settings.tree,
            projection=candidate.projection,
            max_features=candidate.max_features,
        )
        grower = ForestGrower(self._data, replace(self._settings, tree=tree), self._entropy)
        for member in grower.grow(range(len(candidate.members), n_trees), self._n_threads):
            candidate.members.append(member)
            candidate.work += member.work
            self._on_tree()
        candidate.score = self._score(candidate.members, self._n_threads)


class OutOfBagScore:
    """Scores trees by what they say together of rows that they did not see.

    Parameters
    ----------
    data : TrainingData
    settings : ForestSettings
    rows : ndarray of shape (n_rows,)
        Training rows to score on.
    """

    def __init__(
        self, data: TrainingData, settings: ForestSettings, rows: NDArray[np.intp]
    ) -> None:
        scaling = output_scaling(data, settings.tree.normalize_outputs)
        self._factors = scaling.factors
        # Variance of all outputs together, the error of predicting their means.
        self._scale = float(np.sum((scaling.moments.std * scaling.factors) ** 2)) or 1.0
        self._data = data
        self._rows = rows
        outputs = data.outputs
        self._truth: Any = outputs.values[rows]
        self._ranks_labels = (
            data.targets.schema.kind == "multilabel"
            and outputs.observed is None
            and (outputs.weights is None or outputs.weights.ndim == 1)
        )

    def __call__(self, members: list[Member], n_threads: int) -> float:
        """Score some trees; greater is better.

        Parameters
        ----------
        members : list of Member
        n_threads : int
        """
        n_rows = self._rows.size
        shape = (n_rows, self._data.outputs.n_channels)
        is_sparse = self._data.outputs.is_sparse
        total: Any = sparse.csr_array(shape) if is_sparse else np.zeros(shape)
        n_trees = np.zeros(n_rows)
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
            n_trees[at] += 1
        known = np.flatnonzero(n_trees)
        if not known.size:
            return -np.inf
        if is_sparse:
            mean: Any = sparse.diags_array(1.0 / n_trees[known]) @ total[known]
        else:
            mean = total[known] / n_trees[known, None]
        return self._ranking(mean, known) if self._ranks_labels else self._fit(mean, known)

    def _ranking(self, predicted: Any, at: NDArray[np.intp]) -> float:
        """Score a ranking of the labels, where a row has any."""
        truth, weights = self._truth[at], self._data.outputs.weights
        has_labels = np.asarray(truth.sum(axis=1)).ravel() > 0
        if not has_labels.any():
            return self._fit(predicted, at)
        return label_ranking_average_precision_score(
            truth[has_labels],
            predicted[has_labels],
            sample_weight=None if weights is None else weights[self._rows[at]][has_labels],
        )

    def _fit(self, predicted: Any, at: NDArray[np.intp]) -> float:
        """Share of the variance that is explained, of all outputs together."""
        outputs, rows = self._data.outputs, self._rows[at]
        weights = self._factors[None, :] ** 2
        if outputs.weights is not None:
            by_row = outputs.weights[rows]
            weights = weights * (by_row[:, None] if by_row.ndim == 1 else by_row)
        if outputs.observed is not None:
            weights = weights * outputs.observed[rows]
        difference = predicted - self._truth[at]
        if isinstance(difference, np.ndarray):
            squares = np.nan_to_num(difference) ** 2 * weights
        elif weights.shape[0] == 1:
            squares = difference.power(2) @ weights[0]
        else:
            squares = difference.power(2).multiply(weights)
        return 1.0 - float(squares.sum()) / at.size / self._scale
