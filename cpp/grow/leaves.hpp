// Leaf values in all outputs: weighted means over the rows of each leaf.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"

namespace polyleaf {

// A tree's nodes in preorder; leaves are numbered in the same order.
struct TreeShape {
    int64_t n_nodes = 0;
    const int32_t* right = nullptr;       // (n_nodes,) -1 for a leaf; the left child is node + 1
    const int32_t* leaf_index = nullptr;  // (n_nodes,) -1 for an inner node
};

struct LeafMeansTask {
    int64_t n_leaves = 0, n_outputs = 0;
    const double* values = nullptr;         // IN (n, n_outputs)
    const uint8_t* observed = nullptr;      // IN (n, n_outputs) or null
    const double* row_weights = nullptr;    // IN (n,) or null
    const double* entry_weights = nullptr;  // IN (n, n_outputs) or null
    const int32_t* rows = nullptr;          // IN rows, leaf after leaf
    const int64_t* leaf_offsets = nullptr;  // IN (n_leaves + 1,)
    TreeShape tree;                         // IN
    double* means = nullptr;                // OUT (n_leaves, n_outputs)
};

// A leaf in which an output is nowhere observed takes the value of the nearest ancestor that has
// one; NaN if there is none.
void leaf_means(const LeafMeansTask& task, ThreadTeam& team);

}  // namespace polyleaf
