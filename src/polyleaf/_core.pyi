"""Types of the compiled core; see cpp/bindings."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# feature, threshold, missing_left, n_left, gain
_FoundSplit = tuple[int, float, bool, int, float]

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

class GrowParams:
    max_depth: int
    max_leaf_nodes: int
    min_samples_split: int
    min_samples_leaf: int
    min_impurity_decrease: float
    max_features: int
    random_cuts: bool
    l2_regularization: float
    double_precision: bool
    seed: int
    n_threads: int
    histogram_min_rows: int
    stop: StopFlag | None
    def __init__(self) -> None: ...

class Binned:
    def __init__(
        self,
        n_rows: int,
        is_categorical: NDArray[np.uint8],
        bin_offsets: NDArray[np.int64],
        bin_low: NDArray[np.float64],
        bin_high: NDArray[np.float64],
        dense_features: NDArray[np.int32],
        codes_u8: NDArray[np.uint8] | None,
        codes_u32: NDArray[np.uint32] | None,
        sparse_features: NDArray[np.int32],
        sparse_default: NDArray[np.uint32],
        sparse_indptr: NDArray[np.int64],
        sparse_slot: NDArray[np.int32],
        sparse_code: NDArray[np.uint32] | None,
    ) -> None: ...

class RowOrders:
    def __init__(self, binned: Binned, n_threads: int) -> None: ...

class GrownTree:
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_category_words(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def work(self) -> int: ...
    def write_nodes(
        self,
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        right: NDArray[np.int32],
        missing_left: NDArray[np.uint8],
        category_offset: NDArray[np.int64],
        n_samples: NDArray[np.int64],
        weight: NDArray[np.float64],
        impurity: NDArray[np.float64],
        gain: NDArray[np.float64],
    ) -> None: ...
    def write_splits(
        self,
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        right: NDArray[np.int32],
        missing_left: NDArray[np.uint8],
        category_offset: NDArray[np.int64],
        leaf_offsets: NDArray[np.int64],
        feature_gains: NDArray[np.float64],
    ) -> None: ...
    def write_category_words(self, words: NDArray[np.uint32]) -> None: ...
    def write_rows(self, rows: NDArray[np.int32]) -> None: ...

class Predictor:
    def __init__(
        self,
        n_categories: NDArray[np.int32],
        tree_offsets: NDArray[np.int64],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        right: NDArray[np.int32],
        missing_left: NDArray[np.uint8],
        category_offset: NDArray[np.int64],
        category_words: NDArray[np.uint32],
    ) -> None: ...
    def apply_dense(self, X: NDArray[Any], nodes: NDArray[np.int32], n_threads: int) -> None: ...
    def apply_csr(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        data: NDArray[Any],
        nodes: NDArray[np.int32],
        n_threads: int,
    ) -> None: ...

class LeafRows:
    def __init__(
        self,
        leaf_offsets: NDArray[np.int64],
        leaf_rows: NDArray[np.int32],
        entry_weights: NDArray[np.float64],
        target_indptr: NDArray[np.int64],
        target_indices: NDArray[np.int32],
        target_data: NDArray[np.float64],
        n_outputs: int,
    ) -> None: ...

def uses_row_orders(n_rows: int, n_channels: int) -> bool: ...

class Channels:
    @staticmethod
    def of_gradients(
        values: NDArray[np.float32],
        row_weights: NDArray[np.float32] | None = None,
        entry_weights: NDArray[np.float32] | None = None,
    ) -> Channels: ...
    @staticmethod
    def of_targets(
        values: NDArray[np.float64],
        columns: NDArray[np.int32],
        shift: NDArray[np.float64],
        factor: NDArray[np.float64],
        row_weights: NDArray[np.float32] | None = None,
        entry_weights: NDArray[np.float32] | None = None,
    ) -> Channels: ...
    @staticmethod
    def of_scaled_targets(
        values: NDArray[np.float32],
        columns: NDArray[np.int32],
        row_weights: NDArray[np.float32] | None = None,
        entry_weights: NDArray[np.float32] | None = None,
    ) -> Channels: ...
    @staticmethod
    def of_labels(
        n_channels: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        data: NDArray[np.float32],
        row_weights: NDArray[np.float32] | None = None,
    ) -> Channels: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_channels(self) -> int: ...

def search_histograms(
    binned: Binned,
    channels: Channels,
    rows: NDArray[np.int32],
    params: GrowParams,
    reduce: Callable[[str, int, NDArray[Any]], None] | None = None,
) -> tuple[_FoundSplit, _FoundSplit, _FoundSplit]: ...
def grow_tree(
    binned: Binned,
    channels: Channels,
    rows: NDArray[np.int32],
    params: GrowParams,
    orders: RowOrders | None = None,
) -> GrownTree: ...
def leaf_means(
    values: NDArray[np.float64],
    observed: NDArray[np.uint8] | None,
    row_weights: NDArray[np.float64] | None,
    entry_weights: NDArray[np.float64] | None,
    rows: NDArray[np.int32],
    leaf_offsets: NDArray[np.int64],
    right: NDArray[np.int32],
    leaf_index: NDArray[np.int32],
    means: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def predict_rows_dense(
    rows: LeafRows,
    leaves: NDArray[np.int32],
    sums: NDArray[Any],
    n_threads: int,
) -> None: ...
def predict_rows_topk(
    rows: LeafRows,
    leaves: NDArray[np.int32],
    outputs: NDArray[np.int32],
    sums: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def find_flags(
    values: NDArray[Any],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    n_high: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def gather_columns(
    values: NDArray[Any],
    features: NDArray[np.int32],
    block: NDArray[Any],
    n_threads: int,
) -> None: ...
def cut_columns(
    ordered: NDArray[Any],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    n_bins: NDArray[np.int64],
    commonest: NDArray[np.int64],
    n_commonest: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def cut_into_bins(counts: NDArray[np.int64], ends: NDArray[np.int64]) -> None: ...
def count_entries(indices: NDArray[np.int32], counts: NDArray[np.int64]) -> None: ...
def is_canonical(
    indptr: NDArray[np.int32] | NDArray[np.int64],
    indices: NDArray[np.int32] | NDArray[np.int64],
    n_columns: int,
) -> bool: ...
def split_entries(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    place: NDArray[np.int32],
    code: NDArray[np.uint32],
    inverted: NDArray[np.int32],
    list_indptr: NDArray[np.int64],
    slots: NDArray[np.int32],
    tiles: NDArray[np.uint8] | NDArray[np.uint32],
) -> None: ...
def list_uncommon(
    values: NDArray[Any],
    features: NDArray[np.int32],
    common: NDArray[np.float64],
    rows: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> int: ...
def encode_columns(
    values: NDArray[Any],
    features: NDArray[np.int32],
    bin_offsets: NDArray[np.int64],
    bin_high: NDArray[np.float64],
    codes: NDArray[Any],
    n_threads: int,
) -> None: ...
def average_rows(
    leaves: NDArray[np.int32],
    leaf_offsets: NDArray[np.int64],
    leaf_rows: NDArray[np.int32],
    shares: NDArray[np.float64],
    values: NDArray[np.float64],
    tree_weights: NDArray[np.float64] | None,
    averages: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def row_quantiles(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float64],
    values: NDArray[np.float64],
    quantiles: NDArray[np.float64],
    found: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def leaf_sums(
    values: NDArray[np.float32],
    row_weights: NDArray[np.float32] | None,
    entry_weights: NDArray[np.float32] | None,
    rows: NDArray[np.int32],
    leaf_offsets: NDArray[np.int64],
    sums: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def move_rows(
    raw: NDArray[np.float32],
    rows: NDArray[np.int32],
    leaf_offsets: NDArray[np.int64],
    values: NDArray[np.float32],
    n_threads: int,
) -> None: ...
def squared_step(
    residual: NDArray[np.float32],
    row_weights: NDArray[np.float32] | None,
    entry_weights: NDArray[np.float32] | None,
    rows: NDArray[np.int32],
    leaf_offsets: NDArray[np.int64],
    learning_rate: float,
    l2_regularization: float,
    values: NDArray[np.float32],
    n_threads: int,
) -> float: ...
def logistic_step(
    raw: NDArray[np.float32],
    gradient: NDArray[np.float32],
    labels: NDArray[np.uint8],
    row_weights: NDArray[np.float32] | None,
    entry_weights: NDArray[np.float32] | None,
    rows: NDArray[np.int32],
    leaf_offsets: NDArray[np.int64],
    learning_rate: float,
    l2_regularization: float,
    largest_move: float,
    values: NDArray[np.float32],
    n_threads: int,
) -> float: ...
def add_leaves(
    leaves: NDArray[np.int32],
    values: NDArray[np.float32],
    raw: NDArray[np.float32],
    n_threads: int,
) -> None: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> bool: ...

class LabelGraph:
    def __init__(self, n_states: NDArray[np.int32], edges: NDArray[np.int32]) -> None: ...
    @property
    def is_forest(self) -> bool: ...
    @property
    def n_parameters(self) -> int: ...
    @property
    def n_node_parameters(self) -> int: ...
    def diameter(self) -> int: ...
    def max_product(
        self,
        potentials: NDArray[np.float64],
        labels: NDArray[np.int32],
        max_marginals: NDArray[np.float64],
        max_sweeps: int,
        n_threads: int,
    ) -> None: ...
    def visit_block(
        self,
        edge_cost: float,
        node_cost: NDArray[np.float64],
        labels: NDArray[np.int32],
        mass: NDArray[np.float64],
        label_cost: NDArray[np.float64] | None,
        gram: NDArray[np.float64],
        scores: NDArray[np.float64],
        coefficients: NDArray[np.float64],
        max_steps: int,
        enough_gap: float,
        gap_share: float,
        max_sweeps: int,
    ) -> tuple[float, float, float, float]: ...

class RuleParams:
    l2_regularization: float
    l1_regularization: float
    max_features: int
    max_conditions: int
    min_coverage: int
    head_size: int
    head_share: float
    label_bins: int
    direct_max_outputs: int
    seed: int
    n_threads: int
    def __init__(self) -> None: ...

class RuleColumns:
    def __init__(self, binned: Binned) -> None: ...

class InducedRule:
    @property
    def n_conditions(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def outputs(self) -> list[int]: ...
    @property
    def objectives(self) -> list[float]: ...
    def write_conditions(
        self, feature: NDArray[np.int32], op: NDArray[np.uint8], value: NDArray[np.float64]
    ) -> None: ...
    def write_rows(self, rows: NDArray[np.int32]) -> None: ...

def padded_outputs(n_outputs: int) -> int: ...
def induce_rule(
    columns: RuleColumns,
    statistics: NDArray[np.float64],
    n_outputs: int,
    coupling: NDArray[np.float64] | None,
    counts: NDArray[np.int32],
    params: RuleParams,
) -> InducedRule: ...

class LearntRules:
    @property
    def n_rules(self) -> int: ...
    @property
    def n_conditions(self) -> int: ...
    @property
    def n_scores(self) -> int: ...
    def write_bodies(
        self,
        offsets: NDArray[np.int64],
        feature: NDArray[np.int32],
        op: NDArray[np.uint8],
        value: NDArray[np.float64],
        coverage: NDArray[np.int64],
    ) -> None: ...
    def write_heads(
        self,
        offsets: NDArray[np.int64],
        output: NDArray[np.int32],
        score: NDArray[np.float64],
        gain: NDArray[np.float64],
    ) -> None: ...

def learn_rules(
    columns: RuleColumns,
    labels: NDArray[np.int8],
    scores: NDArray[np.float64],
    statistics: NDArray[np.float64],
    coupling: NDArray[np.float64] | None,
    seeds: NDArray[np.uint64],
    learning_rate: float,
    bootstrap: bool,
    params: RuleParams,
) -> LearntRules: ...
def draw_sample(seed: int, rows: NDArray[np.int32], counts: NDArray[np.int32]) -> None: ...
def find_head(
    statistics: NDArray[np.float64],
    n_outputs: int,
    coupling: NDArray[np.float64] | None,
    rows: NDArray[np.int32],
    outputs: NDArray[np.int32] | None,
    params: RuleParams,
    head: NDArray[np.float64],
) -> float: ...
def add_head(
    labels: NDArray[np.int8],
    scores: NDArray[np.float64],
    statistics: NDArray[np.float64],
    is_examplewise: bool,
    is_current: bool,
    rows: NDArray[np.int32],
    outputs: NDArray[np.int32] | None,
    head: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def count_threshold_digits(
    bin_offsets: NDArray[np.int64],
    bin_low: NDArray[np.float64],
    bin_high: NDArray[np.float64],
    feature: NDArray[np.int32],
    op: NDArray[np.uint8],
    value: NDArray[np.float64],
    most: int,
    digits: NDArray[np.uint8],
) -> None: ...
def add_rule_scores(
    body_offsets: NDArray[np.int64],
    feature: NDArray[np.int32],
    op: NDArray[np.uint8],
    value: NDArray[np.float64],
    head_offsets: NDArray[np.int64],
    output: NDArray[np.int32],
    score: NDArray[np.float64],
    X: NDArray[np.float64],
    scores: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def rule_coverage(
    body_offsets: NDArray[np.int64],
    feature: NDArray[np.int32],
    op: NDArray[np.uint8],
    value: NDArray[np.float64],
    X: NDArray[np.float64],
    covers: NDArray[np.uint8],
    n_threads: int,
) -> None: ...
