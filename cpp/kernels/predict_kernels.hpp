// Prediction, compiled once per instruction set: values to codes, 64 rows down one tree, and the
// values of leaves added up.
#pragma once

#include <cstdint>

namespace polyleaf {

constexpr int kCodedRows = 64;    // rows whose codes lie side by side
constexpr int kMostLevels = 8;    // of trees that 64 rows descend at once: leaves fit in a byte
constexpr int kCutsPerNode = 16;  // of the search tree over a feature's thresholds

// codes[r]: the number of cuts below values[r]; 0 for NaN. The cuts form a search tree: nodes have
// sixteen values, each the largest of the child that it stands for. The last level is the cuts
// themselves, ascending; every level is padded with infinity, the last by one at least.
struct FindCodesTask {
    const double* values = nullptr;  // IN (kCodedRows,)
    const double* levels[4] = {};    // IN from the root on
    int n_levels = 1;
    int32_t* codes = nullptr;  // OUT (kCodedRows,)
};

// Thresholds of a level: 16 of them for each of the first levels, so that one byte permutation of
// 16 finds a row's own, then 32, 64 and 128.
constexpr int first_threshold(int level) { return level < 5 ? 16 * level : 48 + (1 << level); }

// ids[r]: the leaf that row r falls into, counted from the left, in a complete tree. A row goes
// right where its code is above the threshold.
struct BlendTask {
    const uint8_t* codes = nullptr;       // IN [plane][kCodedRows]
    const uint32_t* offsets = nullptr;    // IN (2^depth - 1,) of each node's codes, by levels
    const uint8_t* thresholds = nullptr;  // IN (first_threshold(depth),)
    int depth = 0;
    uint8_t* ids = nullptr;  // OUT (kCodedRows,)
};

// sides[r]: 0 if the category of row r is in the set, else 255.
struct MemberTask {
    const uint8_t* codes = nullptr;  // IN (kCodedRows,)
    const uint8_t* set = nullptr;    // IN (32,) 256 bits
    uint8_t* sides = nullptr;        // OUT (kCodedRows,)
};

// raw[row] += values[leaf of the first tree], then of the second, and so on, in this order.
struct AddValuesTask {
    int64_t n_rows = 0, n_trees = 0, n_outputs = 0;
    const int32_t* leaves = nullptr;  // IN [tree][leaf_stride]
    int64_t leaf_stride = 0;
    const float* values = nullptr;  // IN (n_leaves, n_outputs)
    float* raw = nullptr;           // IN OUT (n_rows, n_outputs)
};

// The same for one output and kCodedRows rows, from ids of complete trees.
struct AddNumbersTask {
    int64_t n_trees = 0;
    const uint8_t* ids = nullptr;  // IN [tree][id_stride]
    int64_t id_stride = 0;
    const uint8_t* depths = nullptr;        // IN (n_trees,)
    const float* const* numbers = nullptr;  // IN per tree: (2^depth,), readable up to 16
    float* raw = nullptr;                   // IN OUT (kCodedRows,)
};

// sums[row] += share * values of every entry of the row's leaf in the first tree, times a weight
// per channel if there are some, then in the second, and so on. Products are rounded before they
// are added.
struct AddSharesTask {
    int64_t n_rows = 0, n_trees = 0, n_channels = 0;
    const int32_t* leaves =
        nullptr;  // IN leaf of row r in tree t: r * row_stride + t * tree_stride
    int64_t row_stride = 1, tree_stride = 1;
    const int64_t* leaf_offsets = nullptr;  // IN (n_leaves + 1,)
    const int32_t* leaf_rows = nullptr;     // IN (n_entries,) rows of values
    const double* shares = nullptr;         // IN (n_entries,)
    // IN (n_leaves,) the row of a leaf's one entry if its share is 1, else -1; or null
    const int32_t* only_rows = nullptr;
    const double* values = nullptr;   // IN (n_values, n_channels)
    const double* weights = nullptr;  // IN (n_trees, n_channels) or null
    double* sums = nullptr;           // IN OUT (n_rows, n_channels)
};

struct PredictKernels {
    void (*find_codes)(const FindCodesTask&);
    void (*blend)(const BlendTask&);
    void (*find_members)(const MemberTask&);
    void (*add_values)(const AddValuesTask&);
    void (*add_numbers)(const AddNumbersTask&);
    void (*add_shares)(const AddSharesTask&);
};

// Those of the instruction set in use.
const PredictKernels& predict_kernels();

}  // namespace polyleaf
