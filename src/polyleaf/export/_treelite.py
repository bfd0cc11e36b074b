"""Write a fitted model as a treelite model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from polyleaf.boosting.base import Boosting
from polyleaf.checks.optional import require
from polyleaf.estimator.classifier import Classifier
from polyleaf.export._links import Reading, read_links
from polyleaf.export._onnx_inputs import feature_names
from polyleaf.export._reader import channel_names
from polyleaf.export._sums import all_values, check_exportable
from polyleaf.rules.base import RuleEstimator
from polyleaf.trees.additive import AdditiveTrees


def to_treelite(model: Any) -> Any:
    """Write a fitted model as a treelite model, which GTIL runs and tl2cgen compiles to C.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest, boosted or rule model.

    Returns
    -------
    treelite.Model
        It takes features as numbers: categories as their positions among those of fit, NaN for
        missing values and for categories that fit has not seen. With one target per channel it
        gives predictions, probabilities of labels, or of the classes of one output; scores where
        treelite has no function for what comes after (several outputs with classes, losses of
        rules on whole rows). ``treelite.gtil.predict(model, X, pred_margin=True)`` gives scores
        in any case.

    Examples
    --------
    >>> import numpy as np
    >>> import treelite
    >>> from polyleaf import TreeRegressor
    >>> from polyleaf.export import to_treelite
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> model = to_treelite(TreeRegressor(max_depth=1).fit(X, X[:, 0] > 3))
    >>> treelite.gtil.predict(model, X[[0, 7]]).ravel()
    array([0., 1.])
    """
    builder = require("treelite.model_builder", "exports to treelite")
    check_exportable(model)
    additive: AdditiveTrees = model._additive()
    reading = read_links(model)
    n_channels, n_trees = additive.n_channels, additive.n_trees
    is_softmax = reading.link == "softmax" and reading.targets.kind == "multiclass"
    n_targets, n_classes = (1, n_channels) if is_softmax else (n_channels, 1)
    names = {"features": feature_names(model._features), "outputs": channel_names(model)}
    built = builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builder.Metadata(
            num_feature=additive.structure.n_features,
            task_type=_task(model, is_softmax),
            average_tree_output=False,
            num_target=n_targets,
            num_class=[n_classes] * n_targets,
            leaf_vector_shape=(n_targets, n_classes),
        ),
        tree_annotation=builder.TreeAnnotation(
            num_tree=n_trees,
            target_id=[0 if n_targets == 1 else -1] * n_trees,
            class_id=[-1 if is_softmax else 0] * n_trees,
        ),
        postprocessor=builder.PostProcessorFunc(name=_function(reading, is_softmax)),
        base_scores=additive.base.tolist(),
        attributes={"polyleaf": json.dumps({"estimator": type(model).__name__, **names})},
    )
    _add_trees(built, additive)
    return built.commit()


def _task(model: Any, is_softmax: bool) -> str:
    if is_softmax:
        return "kMultiClf"
    scores_labels = isinstance(model, Classifier) and isinstance(model, Boosting | RuleEstimator)
    is_labels = scores_labels and model._targets.kind in ("binary", "multilabel")
    return "kBinaryClf" if is_labels else "kRegressor"


def _function(reading: Reading, is_softmax: bool) -> str:
    """Name treelite's function for what comes after the sum."""
    if is_softmax:
        return "softmax"
    if reading.link == "sigmoid" and reading.label_sets is None and not reading.is_grouped:
        return "sigmoid"
    is_plain = reading.scale is None or bool(np.all(reading.scale == 1))
    is_plain = is_plain and (reading.shift is None or not np.any(reading.shift))
    return "exponential" if reading.link == "exp" and is_plain else "identity"


def _add_trees(built: Any, additive: AdditiveTrees) -> None:
    structure, values = additive.structure, all_values(additive).astype(np.float64)
    offsets = structure.tree_offsets.tolist()
    is_single = additive.n_channels == 1
    for start, end in pairwise(offsets):
        built.start_tree()
        for node in range(start, end):
            built.start_node(node - start)
            leaf = int(structure.leaf_index[node])
            if leaf >= 0:
                built.leaf(float(values[leaf, 0]) if is_single else values[leaf].tolist())
            else:
                _add_split(built, structure, node, node - start)
            built.end_node()
        built.end_tree()


def _add_split(built: Any, structure: Any, node: int, place: int) -> None:
    common = {
        "default_left": bool(structure.missing_left[node]),
        "left_child_key": place + 1,
        "right_child_key": int(structure.right[node]),
    }
    feature = int(structure.feature[node])
    if structure.category_offset[node] >= 0:
        built.categorical_test(
            feature,
            category_list=structure.left_categories(node).tolist(),
            category_list_right_child=False,
            **common,
        )
        return
    threshold = float(structure.threshold[node])
    built.numerical_test(feature, threshold, opname="<=", **common)
