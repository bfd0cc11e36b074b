"""Calls the compiled grower and reads its tree back as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import _core
from polyleaf.data import BinnedFeatures


@dataclass(frozen=True, eq=False)
class Tree:
    """A grown tree: nodes in preorder, rows leaf after leaf."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    category_offset: NDArray[np.int64]
    n_samples: NDArray[np.int64]
    weight: NDArray[np.float64]
    impurity: NDArray[np.float64]
    gain: NDArray[np.float64]
    category_words: NDArray[np.uint32]
    rows: NDArray[np.int32]
    finder_counts: dict[str, int]
    plan: _core.SearchPlan

    @property
    def n_nodes(self) -> int:
        return self.feature.size

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        return self.feature < 0

    @property
    def begins(self) -> NDArray[np.int64]:
        """Where each node's rows begin in `rows`."""
        begins = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):
            begins[node + 1] = begins[node]
            begins[self.right[node]] = begins[node] + self.n_samples[node + 1]
        return begins

    @property
    def depths(self) -> NDArray[np.int64]:
        depths = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):
            depths[[node + 1, self.right[node]]] = depths[node] + 1
        return depths

    def node_rows(self) -> list[NDArray[np.int32]]:
        """Rows of each node, ascending."""
        return [
            np.sort(self.rows[begin : begin + n])
            for begin, n in zip(self.begins, self.n_samples, strict=True)
        ]

    def leaf_sets(self) -> set[tuple[int, ...]]:
        """The partition of the training rows, whatever the order of the leaves."""
        rows = self.node_rows()
        return {tuple(rows[leaf].tolist()) for leaf in np.flatnonzero(self.is_leaf)}

    def left_categories(self, node: int, n_categories: int) -> NDArray[np.bool_]:
        """Tell for each category whether it goes left at a categorical split."""
        categories = np.arange(n_categories)
        words = self.category_words[self.category_offset[node] + categories // 32]
        return np.asarray(words >> (categories % 32) & 1, dtype=bool)

    def predictor_arrays(self) -> dict[str, NDArray[Any]]:
        """All that `_core.Predictor` takes except the numbers of categories."""
        return {
            "tree_offsets": np.array([0, self.n_nodes], dtype=np.int64),
            "feature": self.feature,
            "threshold": self.threshold,
            "right": self.right,
            "missing_left": self.missing_left,
            "category_offset": self.category_offset,
            "category_words": self.category_words,
        }


def binned_arrays(binned: BinnedFeatures) -> dict[str, Any]:
    """Give the arguments of `_core.Binned`."""
    is_byte = binned.dense_codes.dtype == np.uint8
    return {
        "n_rows": binned.n_rows,
        "is_categorical": binned.is_categorical,
        "bin_offsets": binned.bin_offsets,
        "bin_low": binned.bin_low,
        "bin_high": binned.bin_high,
        "dense_features": binned.dense_features,
        "codes_u8": binned.dense_codes if is_byte else None,
        "codes_u32": None if is_byte else binned.dense_codes,
        "sparse_features": binned.sparse_features,
        "sparse_default": binned.sparse_default,
        "sparse_indptr": binned.sparse_indptr,
        "sparse_slot": binned.sparse_slot,
        "sparse_code": binned.sparse_code,
    }


def make_params(n_features: int, **settings: Any) -> _core.GrowParams:
    """Parameters with all features as candidates unless `settings` say otherwise."""
    params = _core.GrowParams()
    params.max_features = n_features
    for name, value in settings.items():
        setattr(params, name, value)
    return params


def read_tree(grown: _core.GrownTree) -> Tree:
    """Copy a grown tree into arrays."""
    n = grown.n_nodes
    nodes: dict[str, NDArray[Any]] = {
        "feature": np.empty(n, np.int32),
        "threshold": np.empty(n, np.float64),
        "right": np.empty(n, np.int32),
        "missing_left": np.empty(n, np.uint8),
        "category_offset": np.empty(n, np.int64),
        "n_samples": np.empty(n, np.int64),
        "weight": np.empty(n, np.float64),
        "impurity": np.empty(n, np.float64),
        "gain": np.empty(n, np.float64),
    }
    grown.write_nodes(**nodes)
    words = np.empty(grown.n_category_words, np.uint32)
    grown.write_category_words(words)
    rows = np.empty(grown.n_rows, np.int32)
    grown.write_rows(rows)
    return Tree(
        **nodes,
        category_words=words,
        rows=rows,
        finder_counts=grown.finder_counts,
        plan=grown.plan,
    )
