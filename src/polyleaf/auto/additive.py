"""A blend of trees and rules as one sum of trees, so that its explanations are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyleaf.trees.additive import AdditiveTrees, ChannelChoice
from polyleaf.trees.structure import NO_STATISTICS, TreeStructure

if TYPE_CHECKING:
    from polyleaf.auto.fitted import FittedBlend

Floats = NDArray[np.float64]


def blend_as_trees(fitted: FittedBlend) -> AdditiveTrees:
    """Give a blend of numbers as a sum of trees.

    Raises
    ------
    TypeError
        If it predicts probabilities, or a member is neither trees nor rules.
    """
    others = [n for n, m in zip(fitted.names, fitted.members) if not hasattr(m, "_additive")]
    if fitted.targets.kind != "regression" or others:
        cause = "probabilities" if fitted.targets.kind != "regression" else ", ".join(others)
        raise TypeError(
            "Exact Shapley values need a blend of numbers whose members are all trees or rules; "
            f"this one has {cause}. polyleaf.inspection.sampled_shap_values estimates them, with "
            "their errors; or explain single members (`members_`), or a model that imitates the "
            "blend: distil('Boosting', X)."
        )
    parts = [member._additive() for member in fitted.members]
    widths = np.diff(fitted.targets.channel_offsets)
    return weighted_sum(parts, [np.repeat(own, widths) for own in fitted.weights.T])


def weighted_sum(parts: list[AdditiveTrees], weights: list[Floats]) -> AdditiveTrees:
    """Give a weighted sum of sums of trees as one; `weights` are those of channels."""
    first_tree = np.cumsum([0, *(part.n_trees for part in parts)])

    def tree_values(first: int, last: int, choice: ChannelChoice) -> Floats:
        found = []
        for k, part in enumerate(parts):
            start = max(first, first_tree[k]) - first_tree[k]
            end = min(last, first_tree[k + 1]) - first_tree[k]
            if start < end:
                found.append(_weighted(part, int(start), int(end), choice, weights[k]))
        return np.concatenate(found)

    rows = [part.leaf_rows for part in parts]
    known = [own for own in rows if own is not None]
    return AdditiveTrees(
        _joined([part.structure for part in parts]),
        np.sum([w * part.base for w, part in zip(weights, parts)], axis=0),
        np.concatenate(known) if len(known) == len(rows) else None,
        tree_values,
    )


def _weighted(
    part: AdditiveTrees, first: int, last: int, choice: ChannelChoice, weights: Floats
) -> Floats:
    """Give what leaves of a member add to chosen channels, each times its weight."""
    matrix = choice.matrix
    used = np.unique(matrix.indices)
    single = ChannelChoice.of([[int(c)] for c in used], matrix.shape[0])
    values = part.tree_values(first, last, single) * weights[used]
    return np.asarray(values @ matrix.tocsr()[used])


def _joined(structures: list[TreeStructure]) -> TreeStructure:
    """Put the trees of several models behind each other."""
    offsets, categories = [np.zeros(1, np.int64)], []
    n_nodes = n_words = 0
    for own in structures:
        offsets.append(own.tree_offsets[1:] + n_nodes)
        categories.append(np.where(own.category_offset >= 0, own.category_offset + n_words, -1))
        n_nodes += int(own.tree_offsets[-1])
        n_words += own.category_words.size
    names = ("feature", "threshold", "right", "missing_left", "category_words")
    joined = {name: np.concatenate([getattr(s, name) for s in structures]) for name in names}
    return TreeStructure(
        n_categories=structures[0].n_categories,
        tree_offsets=np.concatenate(offsets),
        category_offset=np.concatenate(categories).astype(np.int64),
        **joined,
        **NO_STATISTICS,
    )
