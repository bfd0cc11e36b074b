"""Trees in ONNX: TreeEnsemble gives a number per tree, from which leaves are added up.

TreeEnsemble (ai.onnx.ml 5) has one target per leaf. Here every tree is a target of its own, and
its value is the number of the leaf, by which a table of all leaves is read; or the value itself
where a leaf has a single one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.export._onnx_graph import ML_DOMAIN, Graph
from polyleaf.export._sums import TreeSums
from polyleaf.trees.structure import TreeStructure

#: Version of ai.onnx.ml that has TreeEnsemble.
_TREE_ENSEMBLE = 5
_LESS_OR_EQUAL, _MEMBER = 0, 6
#: Numbers of leaves beyond this are not exact in float32.
_EXACT_FLOAT32 = 2**24
#: Entries of (trees, channels) per row from which trees are added one by one.
_MOST_GATHERED = 2**14


def add_scores(graph: Graph, X: str, sums: TreeSums, exact: bool) -> str:
    """Add the nodes that compute the sums of all trees: (n, n_channels), in the graph's type."""
    adder = _Adder(graph, sums, exact)
    if sums.numbers is not None:
        numbers = _tree_outputs(graph, X, sums, sums.numbers)
        total = adder.add_numbers(numbers)
    else:
        first = sums.tree_leaves[:-1]
        place = np.arange(sums.structure.n_leaves) - first[sums.tree_of_leaf]
        if place.max() >= _EXACT_FLOAT32:
            raise ValueError("Trees of more than 2^24 leaves cannot be exported.")
        local = graph.cast(_tree_outputs(graph, X, sums, place), np.int64)
        leaves = graph.add("Add", local, graph.constant(first[None, :]))
        total = (
            adder.add_entries(leaves) if sums.entries is not None else adder.add_vectors(leaves)
        )
    return graph.cast(total, graph.dtype)


class _Adder:
    """Adds up what leaves hold, in the model's order and precision if `exact`."""

    def __init__(self, graph: Graph, sums: TreeSums, exact: bool) -> None:
        self.graph, self.sums, self.exact = graph, sums, exact
        self.dtype: Any = sums.base.dtype if exact else np.float32

    def constant(self, values: Any) -> str:
        return self.graph.constant(np.asarray(values, dtype=self.dtype))

    def add_numbers(self, numbers: str) -> str:
        """Add numbers of trees, of shape (n, n_trees)."""
        graph, sums = self.graph, self.sums
        numbers = graph.cast(numbers, self.dtype)
        if sums.channels is not None:
            return self._add_single(numbers, sums.channels)
        assert sums.factors is not None
        if not self.exact:
            total = graph.add("MatMul", numbers, self.constant(sums.factors))
            return graph.add("Add", total, self.constant(sums.base[None, :]))
        column = graph.add(
            "Unsqueeze", graph.add("Transpose", numbers, perm=[1, 0]), _axis(graph, 2)
        )
        factors = self.constant(sums.factors[:, None, :])
        return self._scan(
            [("number", column), ("factor", factors)],
            lambda g, total, number, factor: g.add("Add", total, g.add("Mul", number, factor)),
        )

    def _add_single(self, numbers: str, channels: NDArray[np.int32]) -> str:
        """Add the first tree of every channel, then the second, and so on."""
        graph, sums = self.graph, self.sums
        order = np.argsort(channels, kind="stable")
        starts = np.searchsorted(channels[order], np.arange(sums.n_channels))
        place = np.empty(channels.size, np.int64)
        place[order] = np.arange(channels.size) - starts[channels[order]]
        trees = np.full((int(place.max()) + 1, sums.n_channels), sums.n_trees, np.int64)
        trees[place, channels] = np.arange(channels.size)
        # Behind the last tree stands one that adds nothing.
        padded = graph.add(
            "Pad", numbers, graph.constant(np.array([0, 0, 0, 1], np.int64)), self.constant(0.0)
        )
        if not self.exact:
            stages = graph.add("Gather", padded, graph.constant(trees), axis=1)
            total = graph.add("ReduceSum", stages, _axis(graph, 1), keepdims=0)
            return graph.add("Add", total, self.constant(sums.base[None, :]))
        return self._scan(
            [("trees", graph.constant(trees))],
            lambda g, total, chosen: g.add("Add", total, g.add("Gather", padded, chosen, axis=1)),
        )

    def add_vectors(self, leaves: str) -> str:
        """Add vectors of leaves, of shape (n, n_trees)."""
        graph, sums = self.graph, self.sums
        assert sums.vectors is not None
        table = self.constant(sums.vectors)
        if not self.exact and sums.n_trees * sums.n_channels <= _MOST_GATHERED:
            vectors = graph.add("Gather", table, leaves, axis=0)
            total = graph.add("ReduceSum", vectors, _axis(graph, 1), keepdims=0)
            return self._finished(graph.add("Add", total, self.constant(sums.base[None, :])))
        total = self._scan(
            [("leaf", graph.add("Transpose", leaves, perm=[1, 0]))],
            lambda g, total, leaf: g.add("Add", total, g.add("Gather", table, leaf, axis=0)),
        )
        return self._finished(total)

    def _finished(self, total: str) -> str:
        if self.sums.divisor == 1:
            return total
        return self.graph.add("Div", total, self.constant(self.sums.divisor))

    def add_entries(self, leaves: str) -> str:
        """Average the rows that leaves hold, given leaves of shape (n, n_trees)."""
        graph, sums = self.graph, self.sums
        entries = sums.entries
        assert entries is not None
        rows, shares = graph.constant(entries.rows), self.constant(entries.shares)
        values = self._row_values(entries.values)
        if self.exact:
            total = self._add_rows(leaves, rows, shares, values, entries.rows.shape[1])
        else:
            flat = graph.constant(np.array([0, -1], np.int64))
            row = graph.add("Reshape", graph.add("Gather", rows, leaves, axis=0), flat)
            share = graph.add("Reshape", graph.add("Gather", shares, leaves, axis=0), flat)
            shape = graph.add(
                "Concat",
                self._n_rows(leaves),
                graph.constant(np.array([entries.values.shape[0]], np.int64)),
                axis=0,
            )
            none = graph.add("Expand", self.constant([[0.0]]), shape)
            weights = graph.add("ScatterElements", none, row, share, axis=1, reduction="add")
            total = graph.add("MatMul", weights, values)
        total = self._finished(total)
        if not np.any(sums.base):  # NaN is true
            return total
        return graph.add("Add", total, self.constant(sums.base[None, :]))

    def _row_values(self, values: NDArray[Any]) -> str:
        if values.dtype == np.uint8:
            return self.graph.cast(self.graph.constant(values), self.dtype)
        return self.constant(values)

    def _add_rows(self, leaves: str, rows: str, shares: str, values: str, n_places: int) -> str:
        """Add share * values row by row, tree by tree, as the core does."""
        weights = self.sums.tree_weights

        def add_tree(g: Any, total: str, leaf: str, *weight: str) -> str:
            row, share = g.add("Gather", rows, leaf, axis=0), g.add("Gather", shares, leaf, axis=0)
            for place in range(n_places):
                at = self.graph.constant(np.array(place, np.int64))
                column = self.graph.constant(np.array([place], np.int64))
                value = g.add("Gather", values, g.add("Gather", row, at, axis=1), axis=0)
                part = g.add("Mul", g.add("Gather", share, column, axis=1), value)
                if weight:
                    part = g.add("Mul", weight[0], part)
                total = g.add("Add", total, part)
            return total

        scanned = [("leaf", self.graph.add("Transpose", leaves, perm=[1, 0]))]
        if weights is not None:
            scanned.append(("weight", self.constant(weights[:, None, :])))
        start = np.zeros_like(self.sums.base)
        return self._scan(scanned, add_tree, start)

    def _n_rows(self, leaves: str) -> str:
        return self.graph.add("Shape", leaves, start=0, end=1)

    def _scan(self, scanned: list[tuple[str, str]], step: Any, start: Any = None) -> str:
        """Go through the first axis of some tensors, and add to a total what a step says."""
        graph = self.graph
        base = self.sums.base if start is None else start
        body = _Body(graph)
        total = step(body, "polyleaf/total", *(f"polyleaf/{name}" for name, _ in scanned))
        make = graph.onnx.helper.make_tensor_value_info
        kind = graph.type_of(self.dtype)
        inputs = [make("polyleaf/total", kind, None)]
        for name, _ in scanned:
            is_index = name in ("leaf", "trees")
            inputs.append(
                make(f"polyleaf/{name}", graph.type_of(np.int64) if is_index else kind, None)
            )
        subgraph = graph.body("tree", body.nodes, inputs, [make(total, kind, None)])
        shape = graph.add(
            "Concat",
            self._n_rows(graph.rows),
            graph.constant(np.array([base.size], np.int64)),
            axis=0,
        )
        first = graph.add("Expand", self.constant(base[None, :]), shape)
        return graph.add(
            "Scan",
            first,
            *(tensor for _, tensor in scanned),
            body=subgraph,
            num_scan_inputs=len(scanned),
        )


class _Body:
    """Nodes of a Scan's body, which may use all that the graph has."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.nodes: list[Any] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = self._graph.name(operator)
        make = self._graph.onnx.helper.make_node
        self.nodes.append(make(operator, inputs, [name], **attributes))
        return name


def _axis(graph: Graph, axis: int) -> str:
    return graph.constant(np.array([axis], np.int64))


# TreeEnsemble ------------------------------------------------------------------------------------


def _tree_outputs(graph: Graph, X: str, sums: TreeSums, leaf_values: NDArray[Any]) -> str:
    """Give the value of every tree's leaf, of shape (n, n_trees)."""
    if graph.ml_version < _TREE_ENSEMBLE:
        return _older_tree_outputs(graph, X, sums, leaf_values)
    structure, tree_of_leaf = sums.structure, sums.tree_of_leaf
    nodes, leaves = _nodes(structure)
    inner = nodes["inner"]
    is_category = structure.category_offset[inner] >= 0
    splits = np.where(is_category, 0.0, structure.threshold[inner])
    modes = np.where(is_category, _MEMBER, _LESS_OR_EQUAL).astype(np.uint8)
    n_more = nodes["true"].size - inner.size  # of trees that are a single leaf
    members = _members(structure, inner[is_category])
    attributes: dict[str, Any] = {
        "aggregate_function": 1,  # sum
        "post_transform": 0,  # none
        "n_targets": sums.n_trees,
        "tree_roots": nodes["roots"],
        "nodes_featureids": _extended(structure.feature[inner], n_more),
        "nodes_splits": graph.tensor(_extended(_rounded_down(splits, graph.dtype), n_more)),
        "nodes_modes": graph.tensor(_extended(modes, n_more)),
        "nodes_truenodeids": nodes["true"],
        "nodes_trueleafs": nodes["is_true_leaf"],
        "nodes_falsenodeids": nodes["false"],
        "nodes_falseleafs": nodes["is_false_leaf"],
        "nodes_missing_value_tracks_true": _extended(structure.missing_left[inner], n_more),
        "leaf_targetids": tree_of_leaf[leaves],
        "leaf_weights": graph.tensor(np.asarray(leaf_values)[leaves].astype(graph.dtype)),
    }
    if members.size:
        attributes["membership_values"] = graph.tensor(members.astype(graph.dtype))
    plain: dict[str, Any] = {
        name: [int(i) for i in value] if isinstance(value, np.ndarray) else value
        for name, value in attributes.items()
    }
    return graph.add("TreeEnsemble", X, domain=ML_DOMAIN, **plain)


def _older_tree_outputs(graph: Graph, X: str, sums: TreeSums, leaf_values: NDArray[Any]) -> str:
    """Do the same with the operator of earlier versions, which has no sets of categories."""
    structure = sums.structure
    is_leaf, n_nodes = structure.is_leaf, structure.n_nodes
    sizes = np.diff(structure.tree_offsets)
    tree = np.repeat(np.arange(sums.n_trees), sizes)
    place = np.arange(n_nodes) - structure.tree_offsets[tree]
    splits = _rounded_down(np.where(is_leaf, 0.0, structure.threshold), graph.dtype)
    values = np.asarray(leaf_values).astype(graph.dtype)
    is_double = graph.dtype == np.float64
    suffix = "_as_tensor" if is_double else ""
    attributes: dict[str, Any] = {
        "n_targets": sums.n_trees,
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": place.tolist(),
        "nodes_featureids": np.where(is_leaf, 0, structure.feature).tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(is_leaf, 0, place + 1).tolist(),
        "nodes_falsenodeids": np.where(is_leaf, 0, structure.right).tolist(),
        "nodes_missing_value_tracks_true": np.where(is_leaf, 0, structure.missing_left).tolist(),
        f"nodes_values{suffix}": graph.tensor(splits) if is_double else splits.tolist(),
        "target_treeids": tree[is_leaf].tolist(),
        "target_nodeids": place[is_leaf].tolist(),
        "target_ids": tree[is_leaf].tolist(),
        f"target_weights{suffix}": graph.tensor(values) if is_double else values.tolist(),
    }
    # Its result is float32 in any case: numbers of leaves, or values of float32, are exact.
    return graph.add("TreeEnsembleRegressor", X, domain=ML_DOMAIN, **attributes)


def _nodes(structure: TreeStructure) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Give inner nodes and leaves numbers of their own; a lone leaf gets a node, twice above it.

    Returns
    -------
    nodes : dict of str to ndarray
    leaves : ndarray of shape (n_listed,), int64
        The leaf that each listed one is.
    """
    inner, left, right = structure.children()
    is_leaf, leaf_index = structure.is_leaf, structure.leaf_index
    place = np.cumsum(~is_leaf) - 1
    roots = structure.tree_offsets[:-1]
    alone = np.flatnonzero(is_leaf[roots])
    more = np.arange(alone.size)
    n_leaves = structure.n_leaves
    tree_roots = place[roots].astype(np.int64)
    tree_roots[alone] = inner.size + more
    own = leaf_index[roots[alone]]

    def ids(child: NDArray[np.int64], of_alone: NDArray[Any]) -> NDArray[np.int64]:
        found = np.where(is_leaf[child], leaf_index[child], place[child])
        return np.concatenate([found, of_alone]).astype(np.int64)

    ones = np.ones(alone.size, np.int64)
    nodes = {
        "inner": inner,
        "roots": tree_roots,
        "true": ids(left, own),
        "false": ids(right, n_leaves + more),
        "is_true_leaf": np.concatenate([is_leaf[left].astype(np.int64), ones]),
        "is_false_leaf": np.concatenate([is_leaf[right].astype(np.int64), ones]),
    }
    return nodes, np.concatenate([np.arange(n_leaves), own]).astype(np.int64)


def _extended(values: NDArray[Any], n_more: int) -> NDArray[Any]:
    return np.concatenate([values, np.zeros(n_more, values.dtype)])


def _rounded_down(thresholds: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
    """Round so that every number of the type compares with a threshold as before."""
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(dtype)
    lower = np.nextafter(rounded, np.array(-np.inf, dtype))
    return np.where(rounded.astype(np.float64) > thresholds, lower, rounded).astype(dtype)


def _members(structure: TreeStructure, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """List the codes that go left at categorical splits, NaN behind each list.

    Codes are counted from 1; missing is the one after the last; a list without codes has the
    next one, which no row has.
    """
    parts: list[NDArray[np.float64]] = []
    for node in nodes.tolist():
        n_categories = int(structure.n_categories[structure.feature[node]])
        codes = structure.left_categories(node) + 1.0
        if structure.missing_left[node]:
            codes = np.append(codes, n_categories + 1.0)
        elif not codes.size:
            codes = np.array([n_categories + 2.0])
        parts.append(np.append(codes, np.nan))
    return np.concatenate(parts) if parts else np.zeros(0)
