"""Rules as a sum of trees: a rule is a chain of splits with one leaf that has a value.

Each condition is a split. A row that fails it falls into a leaf without a value; one that passes
all of them reaches the last leaf, whose value is the head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyleaf.rules.model import OPERATORS
from polyleaf.trees.additive import AdditiveTrees, ChannelChoice
from polyleaf.trees.structure import NO_STATISTICS, TreeStructure

if TYPE_CHECKING:
    from polyleaf.rules.model import RuleSet

_GREATER, _EQUAL, _DIFFERENT, _MISSING, _KNOWN = (
    OPERATORS.index(name) for name in (">", "=", "!=", "is missing", "is known")
)


def rules_as_trees(rules: RuleSet, n_categories: NDArray[np.int32]) -> AdditiveTrees:
    """Give a set of rules as a sum of trees.

    Parameters
    ----------
    rules : RuleSet
    n_categories : ndarray of shape (n_features,), int32
        0 for a numeric feature.
    """
    chains = _Chains(rules, n_categories)
    tree_leaves = np.concatenate([[0], np.cumsum(np.diff(rules.body_offsets) + 1)])

    def tree_values(first: int, last: int, choice: ChannelChoice) -> NDArray[np.float64]:
        values = np.zeros((int(tree_leaves[last] - tree_leaves[first]), choice.n_columns))
        values[chains.end_leaf[first:last] - tree_leaves[first]] = choice(
            rules.take(np.arange(first, last)).heads()
        )
        return values

    return AdditiveTrees(
        chains.structure(), np.zeros(rules.n_channels), chains.leaf_rows, tree_values
    )


class _Chains:
    """The nodes of all rules, in preorder.

    Parameters
    ----------
    rules : RuleSet
    n_categories : ndarray of shape (n_features,), int32
    """

    def __init__(self, rules: RuleSet, n_categories: NDArray[np.int32]) -> None:
        n_conditions = np.diff(rules.body_offsets)
        self._rules, self._n_categories = rules, n_categories
        self._offsets = np.concatenate([[0], np.cumsum(2 * n_conditions + 1)]).astype(np.int64)
        n_nodes = int(self._offsets[-1])
        self._feature = np.full(n_nodes, -1, np.int32)
        self._threshold = np.zeros(n_nodes)
        self._right = np.full(n_nodes, -1, np.int32)
        self._missing_left = np.zeros(n_nodes, np.uint8)
        self._category_offset = np.full(n_nodes, -1, np.int64)
        self._words: list[NDArray[np.uint32]] = [np.zeros(0, np.uint32)]
        self._n_words = 0
        #: Leaf with the value of each rule, counted over all rules.
        self.end_leaf = np.zeros(rules.n_rules, np.int64)
        node_rows = np.zeros(n_nodes)
        for t in range(rules.n_rules):
            self._add(t, node_rows)
        is_leaf = self._feature < 0
        self.end_leaf = (np.cumsum(is_leaf) - 1)[self.end_leaf]
        #: Training rows of every leaf, or None if the rules do not know them.
        self.leaf_rows = None if rules.body_coverage is None else node_rows[is_leaf]

    def _add(self, t: int, node_rows: NDArray[np.float64]) -> None:
        rules, start = self._rules, int(self._offsets[t])
        first, last_condition = int(rules.body_offsets[t]), int(rules.body_offsets[t + 1])
        node, last = start, int(self._offsets[t + 1]) - 1
        n_rows = float(rules.n_train)
        for c in range(first, last_condition):
            self._add_split(node, c)
            if rules.operator[c] in (_GREATER, _DIFFERENT):  # the leaf that fails is on the left
                self._right[node] = node + 2 - start
                failed, node = node + 1, node + 2
            else:  # it comes after all that follows
                self._right[node] = last - start
                failed, node, last = last, node + 1, last - 1
            if rules.body_coverage is not None:
                node_rows[failed] = n_rows - float(rules.body_coverage[c])
                n_rows = float(rules.body_coverage[c])
        node_rows[node] = n_rows
        self.end_leaf[t] = node

    def _add_split(self, node: int, c: int) -> None:
        rules = self._rules
        feature, operator, value = rules.feature[c], int(rules.operator[c]), float(rules.value[c])
        self._feature[node] = feature
        # No comparison with a missing value holds.
        self._missing_left[node] = operator in (_GREATER, _DIFFERENT, _MISSING)
        n_categories = int(self._n_categories[feature])
        if n_categories:
            bits = np.zeros(-(-n_categories // 32), np.uint32)
            if operator in (_EQUAL, _DIFFERENT):
                bits[int(value) // 32] = np.uint32(1) << np.uint32(int(value) % 32)
            elif operator == _KNOWN:
                bits[:] = np.uint32(2**32 - 1)
            self._category_offset[node] = self._n_words
            self._words.append(bits)
            self._n_words += bits.size
        else:
            self._threshold[node] = {_MISSING: -np.inf, _KNOWN: np.inf}.get(operator, value)

    def structure(self) -> TreeStructure:
        """Give all rules as trees."""
        return TreeStructure(
            n_categories=np.ascontiguousarray(self._n_categories, np.int32),
            tree_offsets=self._offsets,
            feature=self._feature,
            threshold=self._threshold,
            right=self._right,
            missing_left=self._missing_left,
            category_offset=self._category_offset,
            category_words=np.concatenate(self._words),
            **NO_STATISTICS,
        )
