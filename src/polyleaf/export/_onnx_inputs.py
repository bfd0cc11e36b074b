"""Inputs of an ONNX graph: a matrix of numbers, or one column each if some have categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyleaf.data import FeatureSchema
from polyleaf.export._onnx_graph import ML_DOMAIN, Graph

#: Names of results, which no input may have.
OUTPUTS = ("prediction", "probability", "score")


def feature_names(features: FeatureSchema) -> list[str]:
    """Name all features, as x0, x1, ... if X had no names."""
    if features.names is not None:
        return list(features.names)
    return [f"x{j}" for j in range(features.n_features)]


def input_names(features: FeatureSchema) -> list[str]:
    """Name the inputs of columns: as the features, with '_' behind names of results."""
    names = feature_names(features)
    taken = set(names) | set(OUTPUTS)
    found = []
    for name in names:
        own = name
        while own in OUTPUTS or (own != name and own in taken):
            own += "_"
        found.append(own)
    return found


def add_inputs(graph: Graph, features: FeatureSchema) -> str:
    """Add the inputs, and the nodes that code categories: (n, n_features)."""
    if not features.has_categories and not features.levels:
        graph.rows = graph.input("X", graph.dtype, features.n_features)
        return graph.rows
    columns = []
    for j, name in enumerate(input_names(features)):
        levels, categories = features.levels.get(j), features.categories[j]
        if levels is not None:
            columns.append(_coded(graph, name, levels, np.arange(levels.size), np.nan))
        elif categories is not None:
            codes = np.arange(categories.size) + 1
            columns.append(_coded(graph, name, categories, codes, categories.size + 1))
        else:
            columns.append(graph.input(name, graph.dtype, 1))
    graph.rows = graph.add("Concat", *columns, axis=1)
    return graph.rows


def _coded(
    graph: Graph, name: str, keys: NDArray[np.generic], codes: NDArray[np.int64], missing: float
) -> str:
    """Code a column by its categories; whatever is none of them is missing."""
    is_text = keys.dtype == object or not keys.size
    column = graph.input(name, object if is_text else graph.dtype, 1)
    if not keys.size:
        keys, codes = np.array([""], object), np.array([missing])
    return graph.add(
        "LabelEncoder",
        column,
        domain=ML_DOMAIN,
        keys_tensor=graph.tensor(keys if is_text else keys.astype(graph.dtype)),
        values_tensor=graph.tensor(codes.astype(graph.dtype)),
        default_tensor=graph.tensor(np.array([missing], graph.dtype)),
    )
