"""A deliberately naive grower: every split of every feature, scored from scratch in float64.

The criterion of a set of rows is the sum over channels of G^2 / (H + lambda), where G and H are
the sums of gradient and weight; a channel without weight adds nothing. The gain of a split is the
criterion of its two sides minus that of the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import BinnedFeatures

MISSING = -1
#: Impurity per weight below which a node is a leaf, as a share of the root's.
PURE_SHARE = 1e-11
MAX_GREEDY_CATEGORIES = 64
MAX_BRUTE_FORCE_CATEGORIES = 8
#: Categories of a node that are not held against it.
FREE_CATEGORIES = 8

Mask = NDArray[np.bool_]


def decode_codes(binned: BinnedFeatures) -> NDArray[np.int64]:
    """Write all codes into one matrix of shape (n_rows, n_features), -1 where missing."""
    codes = np.empty((binned.n_rows, binned.n_features), dtype=np.int64)
    for place, feature in enumerate(binned.dense_features):
        codes[:, feature] = binned.dense_codes[place // 4, :, place % 4]
    codes[codes == np.iinfo(binned.dense_codes.dtype).max] = MISSING
    for slot, feature in enumerate(binned.sparse_features):
        codes[:, feature] = binned.sparse_default[slot]
    rows = np.repeat(np.arange(binned.n_rows), np.diff(binned.sparse_indptr))
    listed = binned.sparse_code
    if listed is None:
        listed = 1 - binned.sparse_default[binned.sparse_slot]
    codes[rows, binned.sparse_features[binned.sparse_slot]] = listed
    codes[codes == np.iinfo(np.uint32).max] = MISSING
    return codes


@dataclass(frozen=True)
class Rules:
    """The parameters of the grower that decide about splits."""

    l2_regularization: float = 0.0
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    max_depth: int = -1
    min_impurity_decrease: float = 0.0
    category_penalty: float = 0.0


@dataclass(frozen=True, eq=False)
class ReferenceNode:
    """A node of the naively grown tree; `feature` is -1 for a leaf."""

    rows: NDArray[Any]
    feature: int
    threshold: float
    missing_left: bool
    left: Mask
    gain: float


class Reference:
    """Scores splits of the rows of a node, the plain way.

    Parameters
    ----------
    binned : BinnedFeatures
    gradient, hessian : ndarray of shape (n_rows, n_channels)
        Weighted values, and weights repeated for every channel.
    rules : Rules
    has_entry_weights : bool
        Whether the core is given a weight for every row and channel.
    """

    def __init__(
        self,
        binned: BinnedFeatures,
        gradient: NDArray[Any],
        hessian: NDArray[Any],
        rules: Rules,
        has_entry_weights: bool = False,
    ) -> None:
        self.has_entry_weights = has_entry_weights
        self.binned = binned
        self.codes = decode_codes(binned)
        self.gradient = gradient.astype(np.float64)
        self.hessian = hessian.astype(np.float64)
        self.rules = rules

    @property
    def n_channels(self) -> int:
        return int(self.gradient.shape[1])

    def criterion(self, G: NDArray[Any], H: NDArray[Any]) -> NDArray[Any]:
        """Sum over the last axis of G^2 / (H + lambda)."""
        has_weight = H > 0
        divisor = np.where(has_weight, H + self.rules.l2_regularization, 1.0)
        result: NDArray[Any] = np.where(has_weight, G**2 / divisor, 0.0).sum(axis=-1)
        return result

    def base_score(self, rows: NDArray[Any]) -> float:
        return float(self.criterion(self.gradient[rows].sum(0), self.hessian[rows].sum(0)))

    def gains(self, rows: NDArray[Any], left: Mask) -> NDArray[Any]:
        """Gain of each split in `left`, of shape (n_splits, n_rows)."""
        sums = np.hstack([self.gradient[rows], self.hessian[rows]])
        score = np.zeros(len(left))
        for side in (left, ~left):
            totals = side.astype(np.float64) @ sums
            score += self.criterion(totals[:, : self.n_channels], totals[:, self.n_channels :])
        return score - self.base_score(rows)

    def gain(self, rows: NDArray[Any], left: Mask) -> float:
        return float(self.gains(rows, left[None, :])[0])

    def weight(self, rows: NDArray[Any]) -> float:
        return float(self.hessian[rows].mean(axis=1).sum())

    def impurity(self, rows: NDArray[Any]) -> float:
        """Sum over channels of the weighted squared deviations from the mean."""
        g, h = self.gradient[rows], self.hessian[rows]
        safe = np.where(h > 0, h, 1.0)
        values = g / safe
        total = h.sum(0)
        mean = g.sum(0) / np.where(total > 0, total, 1.0)
        return float((h * (values - mean) ** 2).sum())

    def bins(self, feature: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Smallest and largest value of each bin of a feature."""
        own = slice(self.binned.bin_offsets[feature], self.binned.bin_offsets[feature + 1])
        return self.binned.bin_low[own], self.binned.bin_high[own]

    def numeric_left(
        self, rows: NDArray[Any], feature: int, threshold: float, missing_left: bool
    ) -> Mask:
        """Apply a numeric split; a bin of the node on both sides of the threshold is an error."""
        codes = self.codes[rows, feature]
        low, high = self.bins(feature)
        present = np.unique(codes[codes != MISSING])
        assert np.all((high[present] <= threshold) | (low[present] > threshold))
        left = np.append(high <= threshold, missing_left)  # the code -1 finds the last place
        return np.asarray(left[codes])

    def category_left(
        self, rows: NDArray[Any], feature: int, goes_left: Mask, missing_left: bool
    ) -> Mask:
        """Apply a categorical split."""
        return np.asarray(np.append(goes_left, missing_left)[self.codes[rows, feature]])

    def candidates(self, rows: NDArray[Any], feature: int) -> Mask:
        """Sides of all splits of a numeric feature, in the order in which they are looked at."""
        codes = self.codes[rows, feature]
        is_missing = codes == MISSING
        present = np.unique(codes[~is_missing])
        below: Mask = (codes[None, :] <= present[:-1, None]) & ~is_missing
        if not is_missing.any() or present.size == 0:
            return below
        return np.concatenate([below, below | is_missing, ~is_missing[None, :]])

    def subset_candidates(self, rows: NDArray[Any], feature: int) -> Mask:
        """All proper subsets of the node's categories, with the missing rows on either side."""
        items = self.category_items(rows, feature)
        chosen = np.array(list(product([False, True], repeat=len(items) - 1)))[1:]
        left: Mask = chosen.astype(int) @ np.array(items[1:], dtype=int).reshape(-1, len(rows)) > 0
        return left

    def category_items(self, rows: NDArray[Any], feature: int) -> list[Mask]:
        """Rows of each category of the node, and the missing ones last."""
        codes = self.codes[rows, feature]
        items = [codes == code for code in np.unique(codes[codes != MISSING])]
        if items and (codes == MISSING).any():
            items.append(codes == MISSING)
        return items

    def greedy_candidates(self, rows: NDArray[Any], feature: int) -> Mask:
        """Sides that a forward selection of categories passes through, missing as one item."""
        items = self.category_items(rows, feature)
        side = np.zeros(len(rows), dtype=bool)
        visited: list[Mask] = []
        if items and (self.codes[rows, feature] == MISSING).any():
            visited.append(items[-1])
        current = -np.inf
        while len(items) > 1:
            gains = [self.gain(rows, side | item) for item in items]
            chosen = int(np.argmax(gains))
            if gains[chosen] < current and side.sum() >= self.rules.min_samples_leaf:
                break
            current = gains[chosen]
            side = side | items.pop(chosen)
            visited.append(side)
        return np.array(visited, dtype=bool).reshape(len(visited), len(rows))

    def credits(self, rows: NDArray[Any], feature: int, left: Mask) -> NDArray[Any]:
        """Share of each split's gain that chance does not explain.

        Shuffled rows put a share of the impurity between categories; that of a few is free.
        """
        codes = self.codes[rows, feature]
        n_categories = np.unique(codes[codes != MISSING]).size
        is_free = not self.binned.is_categorical[feature] or n_categories <= FREE_CATEGORIES
        if is_free or self.rules.category_penalty == 0:
            return np.ones(len(left))
        items = np.array(self.category_items(rows, feature))
        G, H = items @ self.gradient[rows], items @ self.hessian[rows]
        between = np.where(H > 0, G**2 / np.where(H > 0, H, 1.0), 0.0).sum()
        G, H = self.gradient[rows].sum(0), self.hessian[rows].sum(0)
        between -= np.where(H > 0, G**2 / np.where(H > 0, H, 1.0), 0.0).sum()
        n_free = len(items) - n_categories + FREE_CATEGORIES
        # A row of weight w counts as w^2; channels count by their weight.
        h = self.hessian[rows] if self.has_entry_weights else self.hessian[rows, :1]
        own, squares = items @ h, items @ h**2
        counts = np.where(own > 0, squares / np.where(own > 0, own, 1.0), 0.0).sum(0)
        totals = h.sum(0)
        counts -= n_free * (h**2).sum(0) / np.where(totals > 0, totals, 1.0)
        share = counts.sum() / totals.sum()
        expected = self.rules.category_penalty * share * self.impurity(rows)
        credit = 1.0 if expected <= 0 else 1 - expected / between if between > expected else 0.0
        is_missing = codes == MISSING
        alone = (left == is_missing).all(axis=1) | (left == ~is_missing).all(axis=1)
        return np.where(alone, 1.0, credit)

    def random_subsets(self, rows: NDArray[Any], feature: int, n_subsets: int = 50) -> Mask:
        """Random proper subsets of the categories."""
        items = np.array(self.category_items(rows, feature))
        rng = np.random.default_rng(feature)
        chosen = rng.random((n_subsets, len(items))) < 0.5
        chosen = chosen[chosen.any(axis=1) & ~chosen.all(axis=1)]
        return np.asarray((chosen.astype(int) @ items.astype(int)) > 0)

    def ordered_candidates(self, rows: NDArray[Any], feature: int) -> Mask:
        """Categories in order of their mean, cut anywhere: the best subsets of one channel."""
        items = np.array(self.category_items(rows, feature))
        has_missing = bool((self.codes[rows, feature] == MISSING).any())
        categories = items[:-1] if has_missing else items
        G, H = categories @ self.gradient[rows, 0], categories @ self.hessian[rows, 0]
        order = np.argsort(np.where(H > 0, G / np.where(H > 0, H, 1.0), 0.0))
        below = np.logical_or.accumulate(categories[order][:-1])
        if not has_missing:
            return below
        return np.concatenate([below, below | items[-1], items[-1:]])

    def feature_candidates(self, rows: NDArray[Any], feature: int, greedy: bool) -> Mask:
        """The splits of one feature that the grower must do at least as well as."""
        if not self.binned.is_categorical[feature]:
            return self.candidates(rows, feature)
        items = self.category_items(rows, feature)
        if len(items) < 2:
            return np.zeros((0, len(rows)), dtype=bool)
        if self.n_channels == 1:
            # Among subsets that min_samples_leaf allows, the best need not follow the means.
            is_few = len(items) <= MAX_BRUTE_FORCE_CATEGORIES and self.rules.min_samples_leaf == 1
            search = self.subset_candidates if is_few else self.ordered_candidates
            return search(rows, feature)
        if greedy and len(items) <= MAX_GREEDY_CATEGORIES:
            return self.greedy_candidates(rows, feature)
        return self.random_subsets(rows, feature)

    def feature_splits(
        self, rows: NDArray[Any], feature: int, greedy: bool = True
    ) -> tuple[Mask, NDArray[Any]]:
        """All splits of one feature that leave enough rows on both sides, and their gains.

        Gains are credited ones; a split without any credit is left out.
        """
        least = self.rules.min_samples_leaf
        left = self.feature_candidates(rows, feature, greedy)
        n_left = left.sum(axis=1)
        left = left[(n_left >= least) & (len(rows) - n_left >= least)]
        credits = self.credits(rows, feature, left)
        left, credits = left[credits > 0], credits[credits > 0]
        return left, credits * self.gains(rows, left)

    def best_gain(self, rows: NDArray[Any], greedy: bool = True) -> float:
        """Gain of the best split, -inf if there is none."""
        features = range(self.binned.n_features)
        return max(
            float(self.feature_splits(rows, feature, greedy)[1].max(initial=-np.inf))
            for feature in features
        )

    def best_split(self, rows: NDArray[Any]) -> tuple[float, int, Mask]:
        """Give the best split as gain, feature (-1 if there is none) and side."""
        best = (-np.inf, -1, np.zeros(len(rows), dtype=bool))
        for feature in range(self.binned.n_features):
            left, gains = self.feature_splits(rows, feature)
            if gains.max(initial=-np.inf) > best[0]:
                best = (float(gains.max()), feature, left[gains.argmax()])
        return best

    def can_split(self, rows: NDArray[Any], depth: int, root: NDArray[Any]) -> bool:
        """Tell whether a node may be split at all, whatever the gain."""
        rules = self.rules
        scale = self.impurity(root) / self.weight(root)
        return (
            (rules.max_depth < 0 or depth < rules.max_depth)
            and len(rows) >= max(rules.min_samples_split, 2 * rules.min_samples_leaf)
            and self.impurity(rows) > PURE_SHARE * scale * self.weight(rows)
        )

    def least_gain(self, root: NDArray[Any]) -> float:
        """What a split has to gain; without any demand a gain of zero is accepted."""
        rules = self.rules
        if rules.min_impurity_decrease > 0:
            return rules.min_impurity_decrease * self.weight(root) * self.n_channels
        return float(np.nextafter(0.0, 1.0)) if rules.l2_regularization > 0 else -np.inf

    def threshold(self, rows: NDArray[Any], feature: int, left: Mask) -> float:
        """Midpoint between the two values that a numeric split separates."""
        low, high = self.bins(feature)
        codes = self.codes[rows, feature]
        right_codes = codes[~left & (codes != MISSING)]
        if right_codes.size == 0:
            return np.inf
        a, b = high[codes[left & (codes != MISSING)].max()], low[right_codes.min()]
        middle = a / 2 + b / 2
        return float(middle if a <= middle < b else a)

    def grow(self, root: NDArray[Any]) -> list[ReferenceNode]:
        """Grow a tree depth-first on numeric features; nodes in preorder."""
        nodes: list[ReferenceNode] = []

        def visit(rows: NDArray[Any], depth: int) -> None:
            gain, feature, left = self.best_split(rows)
            if (
                not self.can_split(rows, depth, root)
                or feature < 0
                or gain < self.least_gain(root)
            ):
                nodes.append(ReferenceNode(rows, -1, 0.0, False, left, 0.0))
                return
            is_missing = self.codes[rows, feature] == MISSING
            missing_left = left[is_missing].any() if is_missing.any() else left.mean() >= 0.5
            threshold = self.threshold(rows, feature, left)
            nodes.append(ReferenceNode(rows, feature, threshold, bool(missing_left), left, gain))
            visit(rows[left], depth + 1)
            visit(rows[~left], depth + 1)

        visit(np.sort(root), 0)
        return nodes
