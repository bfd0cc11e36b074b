"""Models as the shap package reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.fitted import expect_fitted
from polyleaf.inspection._channels import NamedChannels
from polyleaf.trees.additive import AdditiveTrees


def to_shap(model: Any, *, outputs: Any = None) -> dict[str, Any]:
    """Give a model in the form that `shap.TreeExplainer` takes.

    For what the shap package does and `shap_values` does not. Values are in the model's own units,
    as those of `shap_values`.

    Parameters
    ----------
    model : tree, forest, boosted trees or rules
        Fitted, without splits on sets of categories: shap knows thresholds only.
    outputs : optional
        As in `shap_values`; all by default.

    Returns
    -------
    dict
        A list of trees, each a dictionary of arrays, under ``"trees"``.

    Examples
    --------
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.inspection import to_shap
    >>> tree = TreeRegressor().fit([[0.0], [1.0]], [[3.0, 4.0], [5.0, 6.0]])
    >>> to_shap(tree)["trees"][0]["values"].tolist()
    [[4.0, 5.0], [3.0, 4.0], [5.0, 6.0]]

    With shap installed: ``shap.TreeExplainer(to_shap(tree)).shap_values(X)``.
    """
    if not hasattr(model, "_additive"):
        raise TypeError(
            f"Expected a fitted tree, forest, boosted trees or rules; got {type(model).__name__}."
        )
    expect_fitted(model)
    trees: AdditiveTrees = model._additive()
    if trees.leaf_rows is None:
        raise ValueError(
            "This model comes from an older file, which lacks the number of training rows per "
            "leaf. Fit it again."
        )
    if np.any(trees.structure.category_offset[~trees.structure.is_leaf] >= 0):
        raise ValueError(
            "shap knows thresholds only, but this model has splits on sets of categories: use "
            "shap_values, which explains them, or encode the categories as numbers."
        )
    choice, _, _ = NamedChannels.of(model, trees.n_channels).choose(outputs)
    base = choice(trees.base[None, :])[0]
    rows = trees.node_rows()
    listed = []
    for first, last, values in trees.value_blocks(choice):
        start = trees.tree_leaves[first]
        for t in range(first, last):
            own = values[trees.tree_leaves[t] - start : trees.tree_leaves[t + 1] - start]
            # shap has one offset for all outputs: each output's own goes into the first tree.
            listed.append(_tree(trees, t, own + base if t == 0 else own, rows))
    return {
        "trees": listed,
        "base_offset": 0.0,
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "tree_output": "raw_value",
    }


def _tree(
    trees: AdditiveTrees, t: int, leaf_values: NDArray[np.float64], rows: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    structure = trees.structure.tree(t)
    nodes = slice(int(trees.structure.tree_offsets[t]), int(trees.structure.tree_offsets[t + 1]))
    counts, is_leaf = rows[nodes], structure.is_leaf
    left = np.where(is_leaf, -1, np.arange(structure.n_nodes) + 1).astype(np.int32)
    first, last = structure.leaf_ranges
    sums = np.zeros((structure.n_leaves + 1, leaf_values.shape[1]))
    np.cumsum(leaf_values * counts[is_leaf, None], axis=0, out=sums[1:])
    values = (sums[last] - sums[first]) / np.maximum(counts, 1e-300)[:, None]
    values[is_leaf] = leaf_values
    return {
        "children_left": left,
        "children_right": structure.right.astype(np.int32),
        "children_default": np.where(structure.missing_left != 0, left, structure.right).astype(
            np.int32
        ),
        "features": np.where(is_leaf, -2, structure.feature).astype(np.int32),
        "thresholds": structure.threshold.astype(np.float64),
        "values": values,
        "node_sample_weight": counts,
    }
