"""Types of the compiled core; made by `make stubs` with nanobind 3.1.0, see cpp/bindings."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

_T = TypeVar("_T", bound=np.generic)
Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[_T]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[_T]]
Cube: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[_T]]

def warn_of_leaks(on: bool) -> None: ...

class Binned:
    def __init__(
        self,
        n_rows: int,
        is_categorical: Vector[np.uint8],
        bin_offsets: Vector[np.int64],
        bin_low: Vector[np.float64],
        bin_high: Vector[np.float64],
        dense_features: Vector[np.int32],
        codes_u8: Cube[np.uint8] | None,
        codes_u32: Cube[np.uint32] | None,
        sparse_features: Vector[np.int32],
        sparse_default: Vector[np.uint32],
        sparse_indptr: Vector[np.int64],
        sparse_slot: Vector[np.int32],
        sparse_code: Vector[np.uint32] | None,
    ) -> None: ...

class Channels:
    @staticmethod
    def of_gradients(
        values: Matrix[np.float32],
        row_weights: Vector[np.float32] | None = None,
        entry_weights: Matrix[np.float32] | None = None,
    ) -> Channels: ...
    @staticmethod
    def of_targets(
        values: Matrix[np.float64],
        columns: Vector[np.int32],
        shift: Vector[np.float64],
        factor: Vector[np.float64],
        row_weights: Vector[np.float32] | None = None,
        entry_weights: Matrix[np.float32] | None = None,
    ) -> Channels: ...
    @staticmethod
    def of_scaled_targets(
        values: Matrix[np.float32],
        columns: Vector[np.int32],
        row_weights: Vector[np.float32] | None = None,
        entry_weights: Matrix[np.float32] | None = None,
    ) -> Channels: ...
    @staticmethod
    def of_labels(
        n_channels: int,
        indptr: Vector[np.int64],
        indices: Vector[np.int32],
        data: Vector[np.float32],
        row_weights: Vector[np.float32] | None = None,
    ) -> Channels: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_channels(self) -> int: ...

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

class GrowParams:
    def __init__(self) -> None: ...

    max_depth: int
    max_leaf_nodes: int
    min_samples_split: int
    min_samples_leaf: int
    min_impurity_decrease: float
    max_features: int
    random_cuts: bool
    l2_regularization: float
    category_penalty: float
    double_precision: bool
    seed: int
    n_threads: int
    histogram_min_rows: int
    fixed_sums: bool
    float_rows: int
    measures_impurity: bool
    stop: StopFlag | None

def uses_row_orders(n_rows: int, n_channels: int) -> bool: ...

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
    @property
    def plan(self) -> SearchPlan: ...
    @property
    def finder_counts(self) -> dict[str, int]: ...
    def write_nodes(
        self,
        feature: Vector[np.int32],
        threshold: Vector[np.float64],
        right: Vector[np.int32],
        missing_left: Vector[np.uint8],
        category_offset: Vector[np.int64],
        n_samples: Vector[np.int64],
        weight: Vector[np.float64],
        impurity: Vector[np.float64],
        gain: Vector[np.float64],
    ) -> None: ...
    def write_splits(
        self,
        feature: Vector[np.int32],
        threshold: Vector[np.float64],
        right: Vector[np.int32],
        missing_left: Vector[np.uint8],
        category_offset: Vector[np.int64],
        leaf_offsets: Vector[np.int64],
        feature_gains: Vector[np.float64],
    ) -> None: ...
    def write_category_words(self, words: Vector[np.uint32]) -> None: ...
    def write_rows(self, rows: Vector[np.int32]) -> None: ...

def grow_tree(
    binned: Binned,
    channels: Channels,
    rows: Vector[np.int32],
    params: GrowParams,
    orders: RowOrders | None = None,
    reduce: Callable[[Any, str], None] | None = None,
) -> GrownTree: ...
def can_sum_fixed(binned: Binned, channels: Channels) -> bool: ...
def search_histograms(
    binned: Binned,
    channels: Channels,
    rows: Vector[np.int32],
    params: GrowParams,
    reduce: Callable[[str, int, Any], None] | None = None,
) -> tuple[
    tuple[int, float, bool, int, float],
    tuple[int, float, bool, int, float],
    tuple[int, float, bool, int, float],
]: ...
def leaf_means(
    values: Matrix[np.float64],
    observed: Matrix[np.uint8] | None,
    row_weights: Vector[np.float64] | None,
    entry_weights: Matrix[np.float64] | None,
    rows: Vector[np.int32],
    leaf_offsets: Vector[np.int64],
    right: Vector[np.int32],
    leaf_index: Vector[np.int32],
    means: Matrix[np.float64],
    n_threads: int,
) -> None: ...

class TreeFacts:
    def __init__(self) -> None: ...

    n_rows: int
    n_features: int
    n_dense_numeric: int
    n_dense_category: int
    n_sparse: int
    has_byte_codes: bool
    has_wide_codes: bool
    has_categories: bool
    are_flags: bool
    are_sparse_flags: bool
    n_code_bytes: int
    entries_per_row: float
    has_row_orders: bool
    n_channels: int
    has_sparse_labels: bool
    has_entry_weights: bool

class NodeQuestion:
    def __init__(self) -> None: ...

    n_rows: int
    n_lists: int
    n_codes: int
    has_missing: bool
    has_partner: bool
    n_categories: int

class SearchPlan:
    def __init__(self, facts: TreeFacts, params: GrowParams) -> None: ...
    def finder(self, node: str, feature: str, question: NodeQuestion) -> str | None: ...
    @property
    def conditions(self) -> dict[str, bool]: ...
    def holds(self, limit: str, question: NodeQuestion) -> bool: ...
    @property
    def is_incremental(self) -> bool: ...
    @property
    def is_best_first(self) -> bool: ...
    @property
    def draws_features(self) -> bool: ...
    @property
    def has_plain_gains(self) -> bool: ...
    @property
    def loads_lazily(self) -> bool: ...
    @property
    def keeps_flag_sums(self) -> bool: ...
    @property
    def subtree_rows(self) -> int: ...
    @property
    def histogram_rows(self) -> int: ...
    @property
    def subtraction_rows(self) -> int: ...
    @property
    def waiting_histograms(self) -> int: ...
    @property
    def flag_sums_rows(self) -> int: ...
    @property
    def presorted_rows(self) -> int: ...
    @property
    def sorted_rows(self) -> int: ...
    @property
    def small_rows(self) -> int: ...

def finders() -> dict[str, str]: ...
def node_kinds() -> dict[str, str]: ...
def feature_kinds() -> dict[str, str]: ...
def plan_conditions() -> dict[str, str]: ...
def plan_limits() -> dict[str, str]: ...
def plan_rules() -> list[tuple[tuple[str, ...], str, str, str, str]]: ...

TILE_FEATURES: int = 4

MISSING_U8: int = 255

MISSING_U32: int = 4294967295

MOST_ORDERED_ROWS: int = 32768

SPARSE_PER_DENSE: int = 8

HISTOGRAM_MIN_ROWS: int = 384

SUBTRACTION_MIN_ROWS: int = 4096

MAX_LIST_ROWS: int = 4096

SMALL_ROWS: int = 8

MAX_GREEDY_CATEGORIES: int = 64

class LeafAverages:
    def __init__(
        self,
        leaf_offsets: Vector[np.int64],
        leaf_rows: Vector[np.int32],
        shares: Vector[np.float64],
        values: Matrix[np.float64],
    ) -> None: ...

class Predictor:
    def __init__(
        self,
        n_categories: Vector[np.int32],
        tree_offsets: Vector[np.int64],
        feature: Vector[np.int32],
        threshold: Vector[np.float64],
        right: Vector[np.int32],
        missing_left: Vector[np.uint8],
        category_offset: Vector[np.int64],
        category_words: Vector[np.uint32],
    ) -> None: ...
    @overload
    def apply_dense(
        self,
        X: Matrix[np.float32],
        nodes: Matrix[np.int32],
        n_threads: int,
        over_all: bool = False,
    ) -> None: ...
    @overload
    def apply_dense(
        self,
        X: Matrix[np.float64],
        nodes: Matrix[np.int32],
        n_threads: int,
        over_all: bool = False,
    ) -> None: ...
    @overload
    def apply_csr(
        self,
        indptr: Vector[np.int64],
        indices: Vector[np.int32],
        data: Vector[np.float32],
        nodes: Matrix[np.int32],
        n_threads: int,
        over_all: bool = False,
    ) -> None: ...
    @overload
    def apply_csr(
        self,
        indptr: Vector[np.int64],
        indices: Vector[np.int32],
        data: Vector[np.float64],
        nodes: Matrix[np.int32],
        n_threads: int,
        over_all: bool = False,
    ) -> None: ...
    @overload
    def add_dense(
        self,
        X: Matrix[np.float32],
        values: Matrix[np.float32],
        channels: Vector[np.int32] | None,
        raw: Matrix[np.float32],
        n_threads: int,
    ) -> None: ...
    @overload
    def add_dense(
        self,
        X: Matrix[np.float64],
        values: Matrix[np.float32],
        channels: Vector[np.int32] | None,
        raw: Matrix[np.float32],
        n_threads: int,
    ) -> None: ...
    @overload
    def add_csr(
        self,
        indptr: Vector[np.int64],
        indices: Vector[np.int32],
        data: Vector[np.float32],
        values: Matrix[np.float32],
        channels: Vector[np.int32] | None,
        raw: Matrix[np.float32],
        n_threads: int,
    ) -> None: ...
    @overload
    def add_csr(
        self,
        indptr: Vector[np.int64],
        indices: Vector[np.int32],
        data: Vector[np.float64],
        values: Matrix[np.float32],
        channels: Vector[np.int32] | None,
        raw: Matrix[np.float32],
        n_threads: int,
    ) -> None: ...
    @overload
    def average_dense(
        self,
        X: Matrix[np.float32],
        leaves: LeafAverages,
        tree_weights: Matrix[np.float64] | None,
        averages: Matrix[np.float64],
        n_threads: int,
    ) -> None: ...
    @overload
    def average_dense(
        self,
        X: Matrix[np.float64],
        leaves: LeafAverages,
        tree_weights: Matrix[np.float64] | None,
        averages: Matrix[np.float64],
        n_threads: int,
    ) -> None: ...
    @overload
    def average_csr(
        self,
        indptr: Vector[np.int64],
        indices: Vector[np.int32],
        data: Vector[np.float32],
        leaves: LeafAverages,
        tree_weights: Matrix[np.float64] | None,
        averages: Matrix[np.float64],
        n_threads: int,
    ) -> None: ...
    @overload
    def average_csr(
        self,
        indptr: Vector[np.int64],
        indices: Vector[np.int32],
        data: Vector[np.float64],
        leaves: LeafAverages,
        tree_weights: Matrix[np.float64] | None,
        averages: Matrix[np.float64],
        n_threads: int,
    ) -> None: ...

class ShapTrees:
    def __init__(
        self,
        n_categories: Vector[np.int32],
        tree_offsets: Vector[np.int64],
        feature: Vector[np.int32],
        threshold: Vector[np.float64],
        right: Vector[np.int32],
        missing_left: Vector[np.uint8],
        category_offset: Vector[np.int64],
        category_words: Vector[np.uint32],
        node_rows: Vector[np.float64],
    ) -> None: ...
    @overload
    def add(
        self,
        X: Matrix[np.float32],
        background: Matrix[np.float32] | None,
        values: Matrix[np.float32],
        chosen: Matrix[np.int32] | None,
        pairs: Matrix[np.int32] | None,
        first: int,
        last: int,
        contributions: Cube[np.float32],
        column: int,
        n_threads: int,
    ) -> None: ...
    @overload
    def add(
        self,
        X: Matrix[np.float64],
        background: Matrix[np.float64] | None,
        values: Matrix[np.float32],
        chosen: Matrix[np.int32] | None,
        pairs: Matrix[np.int32] | None,
        first: int,
        last: int,
        contributions: Cube[np.float32],
        column: int,
        n_threads: int,
    ) -> None: ...

class DependenceTrees:
    def __init__(
        self,
        n_categories: Vector[np.int32],
        tree_offsets: Vector[np.int64],
        feature: Vector[np.int32],
        threshold: Vector[np.float64],
        right: Vector[np.int32],
        missing_left: Vector[np.uint8],
        category_offset: Vector[np.int64],
        category_words: Vector[np.uint32],
    ) -> None: ...
    @overload
    def count_rows(
        self,
        features: Vector[np.int32],
        offsets: Vector[np.int64],
        grid: Vector[np.float64],
        first: int,
        last: int,
        X: Matrix[np.float32],
        columns: Matrix[np.float32],
        weights: Vector[np.float64] | None,
        leaf_weights: Vector[np.float64],
        n_threads: int,
    ) -> None: ...
    @overload
    def count_rows(
        self,
        features: Vector[np.int32],
        offsets: Vector[np.int64],
        grid: Vector[np.float64],
        first: int,
        last: int,
        X: Matrix[np.float64],
        columns: Matrix[np.float64],
        weights: Vector[np.float64] | None,
        leaf_weights: Vector[np.float64],
        n_threads: int,
    ) -> None: ...
    @overload
    def add_rows(
        self,
        features: Vector[np.int32],
        offsets: Vector[np.int64],
        grid: Vector[np.float64],
        first: int,
        last: int,
        X: Matrix[np.float32],
        values: Matrix[np.float64],
        differences: Cube[np.float64],
        n_threads: int,
    ) -> None: ...
    @overload
    def add_rows(
        self,
        features: Vector[np.int32],
        offsets: Vector[np.int64],
        grid: Vector[np.float64],
        first: int,
        last: int,
        X: Matrix[np.float64],
        values: Matrix[np.float64],
        differences: Cube[np.float64],
        n_threads: int,
    ) -> None: ...
    def add_leaves(
        self,
        features: Vector[np.int32],
        offsets: Vector[np.int64],
        grid: Vector[np.float64],
        first: int,
        last: int,
        leaf_weights: Vector[np.float64],
        values: Matrix[np.float64],
        differences: Matrix[np.float64],
        n_threads: int,
    ) -> None: ...
    def add_leaf_rows(
        self,
        features: Vector[np.int32],
        offsets: Vector[np.int64],
        grid: Vector[np.float64],
        leaf_weights: Vector[np.float64],
        leaves: LeafAverages,
        tree_weights: Matrix[np.float64] | None,
        differences: Matrix[np.float64],
        n_threads: int,
    ) -> None: ...

def count_entries(indices: Vector[np.int32], counts: Vector[np.int64]) -> None: ...
@overload
def is_canonical(indptr: Vector[np.int32], indices: Vector[np.int32], n_columns: int) -> bool: ...
@overload
def is_canonical(indptr: Vector[np.int64], indices: Vector[np.int64], n_columns: int) -> bool: ...
@overload
def split_entries(
    indptr: Vector[np.int64],
    indices: Vector[np.int32],
    place: Vector[np.int32],
    code: Vector[np.uint32],
    inverted: Vector[np.int32],
    list_indptr: Vector[np.int64],
    slots: Vector[np.int32],
    tiles: Cube[np.uint8],
) -> None: ...
@overload
def split_entries(
    indptr: Vector[np.int64],
    indices: Vector[np.int32],
    place: Vector[np.int32],
    code: Vector[np.uint32],
    inverted: Vector[np.int32],
    list_indptr: Vector[np.int64],
    slots: Vector[np.int32],
    tiles: Cube[np.uint32],
) -> None: ...
@overload
def find_flags(
    values: Matrix[np.float32],
    low: Vector[np.float64],
    high: Vector[np.float64],
    n_high: Vector[np.int64],
    n_threads: int,
) -> None: ...
@overload
def find_flags(
    values: Matrix[np.float64],
    low: Vector[np.float64],
    high: Vector[np.float64],
    n_high: Vector[np.int64],
    n_threads: int,
) -> None: ...
@overload
def list_uncommon(
    values: Matrix[np.float32],
    features: Vector[np.int32],
    common: Vector[np.float64],
    rows: Vector[np.int32],
    slots: Vector[np.int32],
) -> int: ...
@overload
def list_uncommon(
    values: Matrix[np.float64],
    features: Vector[np.int32],
    common: Vector[np.float64],
    rows: Vector[np.int32],
    slots: Vector[np.int32],
) -> int: ...
def cut_into_bins(counts: Vector[np.int64], ends: Vector[np.int64]) -> None: ...
@overload
def gather_columns(
    values: Matrix[np.float32],
    features: Vector[np.int32],
    block: Matrix[np.float32],
    n_threads: int,
) -> None: ...
@overload
def gather_columns(
    values: Matrix[np.float64],
    features: Vector[np.int32],
    block: Matrix[np.float64],
    n_threads: int,
) -> None: ...
@overload
def cut_columns(
    ordered: Matrix[np.float32],
    low: Matrix[np.float64],
    high: Matrix[np.float64],
    n_bins: Vector[np.int64],
    commonest: Vector[np.int64],
    n_commonest: Vector[np.int64],
    n_threads: int,
) -> None: ...
@overload
def cut_columns(
    ordered: Matrix[np.float64],
    low: Matrix[np.float64],
    high: Matrix[np.float64],
    n_bins: Vector[np.int64],
    commonest: Vector[np.int64],
    n_commonest: Vector[np.int64],
    n_threads: int,
) -> None: ...
@overload
def encode_columns(
    values: Matrix[np.float32],
    features: Vector[np.int32],
    bin_offsets: Vector[np.int64],
    bin_high: Vector[np.float64],
    codes: Cube[np.uint8],
    n_threads: int,
) -> None: ...
@overload
def encode_columns(
    values: Matrix[np.float64],
    features: Vector[np.int32],
    bin_offsets: Vector[np.int64],
    bin_high: Vector[np.float64],
    codes: Cube[np.uint8],
    n_threads: int,
) -> None: ...
@overload
def encode_columns(
    values: Matrix[np.float32],
    features: Vector[np.int32],
    bin_offsets: Vector[np.int64],
    bin_high: Vector[np.float64],
    codes: Cube[np.uint32],
    n_threads: int,
) -> None: ...
@overload
def encode_columns(
    values: Matrix[np.float64],
    features: Vector[np.int32],
    bin_offsets: Vector[np.int64],
    bin_high: Vector[np.float64],
    codes: Cube[np.uint32],
    n_threads: int,
) -> None: ...
def average_rows(
    leaves: Matrix[np.int32],
    leaf_offsets: Vector[np.int64],
    leaf_rows: Vector[np.int32],
    shares: Vector[np.float64],
    values: Matrix[np.float64],
    tree_weights: Matrix[np.float64] | None,
    averages: Matrix[np.float64],
    n_threads: int,
) -> None: ...
def row_quantiles(
    indptr: Vector[np.int64],
    indices: Vector[np.int32],
    weights: Vector[np.float64],
    values: Matrix[np.float64],
    quantiles: Vector[np.float64],
    found: Cube[np.float64],
    n_threads: int,
) -> None: ...

class LeafRows:
    def __init__(
        self,
        leaf_offsets: Vector[np.int64],
        leaf_rows: Vector[np.int32],
        entry_weights: Vector[np.float64],
        target_indptr: Vector[np.int64],
        target_indices: Vector[np.int32],
        target_data: Vector[np.float64],
        n_outputs: int,
    ) -> None: ...

@overload
def predict_rows_dense(
    rows: LeafRows, leaves: Matrix[np.int32], sums: Matrix[np.float32], n_threads: int
) -> None: ...
@overload
def predict_rows_dense(
    rows: LeafRows, leaves: Matrix[np.int32], sums: Matrix[np.float64], n_threads: int
) -> None: ...
def predict_rows_topk(
    rows: LeafRows,
    leaves: Matrix[np.int32],
    outputs: Matrix[np.int32],
    sums: Matrix[np.float64],
    n_threads: int,
) -> None: ...

class LabelGraph:
    def __init__(self, n_states: Vector[np.int32], edges: Matrix[np.int32]) -> None: ...
    @property
    def is_forest(self) -> bool: ...
    @property
    def is_exact(self) -> bool: ...
    @property
    def n_parameters(self) -> int: ...
    @property
    def n_node_parameters(self) -> int: ...
    def diameter(self) -> int: ...
    def infer(
        self,
        potentials: Matrix[np.float64],
        labels: Matrix[np.int32],
        max_marginals: Matrix[np.float64],
        scores: Vector[np.float64],
        bounds: Vector[np.float64],
        max_sweeps: int,
        way: str,
        n_threads: int,
    ) -> None: ...
    def visit_block(
        self,
        edge_cost: float,
        node_cost: Vector[np.float64],
        labels: Matrix[np.int32],
        mass: Vector[np.float64],
        label_cost: Matrix[np.float64] | None,
        gram: Matrix[np.float64],
        scores: Matrix[np.float64],
        coefficients: Matrix[np.float64],
        max_steps: int,
        enough_gap: float,
        gap_share: float,
        max_sweeps: int,
    ) -> tuple[float, float, float, float]: ...

def largest_deviations(
    values: Matrix[np.float64],
    shift: Vector[np.float64],
    largest: Vector[np.float64],
    n_threads: int,
) -> None: ...
def sum_deviations(
    values: Matrix[np.float64],
    shift: Vector[np.float64],
    magic: Matrix[np.float64],
    sums: Matrix[np.float64],
    n_threads: int,
) -> None: ...
def leaf_sums(
    values: Matrix[np.float32],
    row_weights: Vector[np.float32] | None,
    entry_weights: Matrix[np.float32] | None,
    rows: Vector[np.int32],
    leaf_offsets: Vector[np.int64],
    sums: Matrix[np.float64],
    n_threads: int,
    magic: Vector[np.float64] | None = None,
    reduce: Callable[[Any, str], None] | None = None,
) -> None: ...
def project(
    values: Matrix[np.float32], matrix: Matrix[np.float32], out: Matrix[np.float32], n_threads: int
) -> None: ...
def move_rows(
    raw: Matrix[np.float32],
    rows: Vector[np.int32],
    leaf_offsets: Vector[np.int64],
    values: Matrix[np.float32],
    n_threads: int,
) -> None: ...
def squared_step(
    residual: Matrix[np.float32],
    row_weights: Vector[np.float32] | None,
    entry_weights: Matrix[np.float32] | None,
    rows: Vector[np.int32],
    leaf_offsets: Vector[np.int64],
    learning_rate: float,
    l2_regularization: float,
    values: Matrix[np.float32],
    n_threads: int,
    magic: Vector[np.float64] | None = None,
    reduce: Callable[[Any, str], None] | None = None,
) -> float: ...
def logistic_step(
    raw: Matrix[np.float32],
    gradient: Matrix[np.float32],
    labels: Matrix[np.uint8],
    row_weights: Vector[np.float32] | None,
    entry_weights: Matrix[np.float32] | None,
    rows: Vector[np.int32],
    leaf_offsets: Vector[np.int64],
    learning_rate: float,
    l2_regularization: float,
    largest_move: float,
    values: Matrix[np.float32],
    n_threads: int,
    magic: Vector[np.float64] | None = None,
    reduce: Callable[[Any, str], None] | None = None,
) -> float: ...
def add_leaves(
    leaves: Matrix[np.int32], values: Matrix[np.float32], raw: Matrix[np.float32], n_threads: int
) -> None: ...

class RuleParams:
    def __init__(self) -> None: ...

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

class RuleColumns:
    def __init__(self, binned: object) -> None: ...

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
        self, feature: Vector[np.int32], op: Vector[np.uint8], value: Vector[np.float64]
    ) -> None: ...
    def write_rows(self, rows: Vector[np.int32]) -> None: ...

def padded_outputs(n_outputs: int) -> int: ...
def induce_rule(
    columns: RuleColumns,
    statistics: Matrix[np.float64],
    n_outputs: int,
    coupling: Vector[np.float64] | None,
    counts: Vector[np.int32],
    params: RuleParams,
) -> InducedRule: ...
def find_head(
    statistics: Matrix[np.float64],
    n_outputs: int,
    coupling: Vector[np.float64] | None,
    rows: Vector[np.int32],
    outputs: Vector[np.int32] | None,
    params: RuleParams,
    head: Vector[np.float64],
) -> float: ...
def add_head(
    labels: Matrix[np.int8],
    scores: Matrix[np.float64],
    statistics: Matrix[np.float64],
    is_examplewise: bool,
    is_current: bool,
    rows: Vector[np.int32],
    outputs: Vector[np.int32] | None,
    head: Vector[np.float64],
    n_threads: int,
) -> None: ...
def add_rule_scores(
    body_offsets: Vector[np.int64],
    feature: Vector[np.int32],
    op: Vector[np.uint8],
    value: Vector[np.float64],
    head_offsets: Vector[np.int64],
    output: Vector[np.int32],
    score: Vector[np.float64],
    X: Matrix[np.float64],
    scores: Matrix[np.float64],
    n_threads: int,
) -> None: ...
def count_threshold_digits(
    bin_offsets: Vector[np.int64],
    bin_low: Vector[np.float64],
    bin_high: Vector[np.float64],
    feature: Vector[np.int32],
    op: Vector[np.uint8],
    value: Vector[np.float64],
    most: int,
    digits: Vector[np.uint8],
) -> None: ...
def count_prefixes(
    columns: RuleColumns,
    body_offsets: Vector[np.int64],
    feature: Vector[np.int32],
    op: Vector[np.uint8],
    value: Vector[np.float64],
    counts: Vector[np.int64],
) -> None: ...
def rule_coverage(
    body_offsets: Vector[np.int64],
    feature: Vector[np.int32],
    op: Vector[np.uint8],
    value: Vector[np.float64],
    X: Matrix[np.float64],
    covers: Matrix[np.uint8],
    n_threads: int,
) -> None: ...

class LearntRules:
    @property
    def n_rules(self) -> int: ...
    @property
    def n_conditions(self) -> int: ...
    @property
    def n_scores(self) -> int: ...
    def write_bodies(
        self,
        offsets: Vector[np.int64],
        feature: Vector[np.int32],
        op: Vector[np.uint8],
        value: Vector[np.float64],
        coverage: Vector[np.int64],
    ) -> None: ...
    def write_heads(
        self,
        offsets: Vector[np.int64],
        output: Vector[np.int32],
        score: Vector[np.float64],
        gain: Vector[np.float64],
    ) -> None: ...

def learn_rules(
    columns: RuleColumns,
    labels: Matrix[np.int8],
    scores: Matrix[np.float64],
    statistics: Matrix[np.float64],
    coupling: Vector[np.float64] | None,
    seeds: Vector[np.uint64],
    learning_rate: float,
    bootstrap: bool,
    is_guarded: bool,
    params: RuleParams,
) -> LearntRules: ...
def guard_head(
    labels: Matrix[np.int8],
    scores: Matrix[np.float64],
    is_examplewise: bool,
    rows: Vector[np.int32],
    outputs: Vector[np.int32] | None,
    rate: float,
    is_newton: bool,
    head: Vector[np.float64],
    n_threads: int,
) -> None: ...
def draw_sample(seed: int, rows: Vector[np.int32], counts: Vector[np.int32]) -> None: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> bool: ...
