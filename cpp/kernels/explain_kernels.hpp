// Tasks of the kernels behind Shapley values; explain/shap.hpp has the formulas.
#pragma once

#include <cstdint>

namespace polyleaf {

// Points of the quadrature come in blocks of 8, 16, 32 or 64; those that are not needed weigh 0.
constexpr int kMostPoints = 64;

// The weights of one row for the leaves of one tree, on the way down: per edge the factor of its
// feature, t s + (1 - t) share, where s tells whether the row passes all splits on that feature.
struct ShapWalkTask {
    int n_points = 0;               // 8, 16, 32 or 64
    const float* points = nullptr;  // IN (n_points,) t
    const float* omegas = nullptr;  // IN (n_points,) weights of the quadrature
    int64_t n_nodes = 0;
    const int32_t* parent = nullptr;        // IN (n_nodes,); see PathTree
    const int32_t* depth = nullptr;         // IN
    const int32_t* previous = nullptr;      // IN
    const float* share = nullptr;           // IN
    const int32_t* leaf_index = nullptr;    // IN (n_nodes,) -1: an inner node
    const int32_t* subtree_end = nullptr;   // IN (n_nodes,)
    const uint8_t* goes_left = nullptr;     // IN (n_nodes,) of this row
    const uint8_t* is_wanted = nullptr;     // IN (n_nodes,) whether a leaf below it has values
    const int64_t* path_offsets = nullptr;  // IN (n_leaves + 1,)
    const int32_t* path_depths = nullptr;   // IN
    float* products = nullptr;              // scratch (most_depth + 1, n_points)
    float* inverses = nullptr;              // scratch (most_depth + 1, n_points)
    uint8_t* passes = nullptr;              // scratch (most_depth + 1,) s
    float* gaps = nullptr;                  // scratch (most_depth + 1,) s - share
    float* weights = nullptr;               // OUT (path_offsets[n_leaves],) of wanted leaves
    // Pairs of entries of a leaf's path, for interactions; null: single features.
    const int64_t* pair_offsets = nullptr;  // IN (n_leaves + 1,)
    const int32_t* pair_depths = nullptr;   // IN (n_entries, 2)
};

// contributions[feature] += weight * values of a leaf, over leaves and the features above them.
struct ShapAddTask {
    int64_t n_leaves = 0;
    const int64_t* path_offsets = nullptr;   // IN (n_leaves + 1,)
    const int32_t* path_features = nullptr;  // IN
    const float* const* weights = nullptr;   // IN (n_leaves,) of each leaf; null: nothing to add
    const float* values = nullptr;           // IN (n_leaves, value_stride)
    int64_t value_stride = 0;
    const int32_t* chosen = nullptr;  // IN (n_columns,) columns of `values`, or null: the first
    int64_t n_columns = 0;
    float* contributions = nullptr;  // IN OUT (n_features, stride)
    int64_t stride = 0;
};

}  // namespace polyleaf
