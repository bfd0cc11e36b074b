// Weights of every pattern of features that a row passes, leaf by leaf: for shallow trees.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/paths.hpp"
#include "explain/quadrature.hpp"

namespace polyleaf {

// Bit j of a pattern: the row passes all splits on the j-th feature of the leaf's path.
struct PatternTables {
    std::vector<int64_t> offsets;  // (n_leaves,) into weights
    std::vector<float> weights;    // per leaf [2^m][m]

    const float* of(int64_t leaf, uint32_t pattern, int64_t n_features) const {
        return weights.data() + offsets[leaf] + pattern * n_features;
    }
};

// Whether tables of this tree are small enough.
bool has_tables(const PathTree& tree);

// Leaves without values have no table: their rows of `is_wanted` are 0.
PatternTables path_tables(const PathTree& tree, const uint8_t* is_wanted);

// counts: per leaf [2^m], how many of the n_background rows have a pattern.
PatternTables background_tables(const PathTree& tree, const uint8_t* is_wanted,
                                const std::vector<std::vector<int64_t>>& counts,
                                int64_t n_background);

// Patterns of one row at every leaf; `nodes` is scratch (n_nodes,).
template <typename T>
void find_patterns(const PathTree& tree, const T* row, uint32_t* nodes, uint32_t* leaves) {
    nodes[0] = 0;
    int64_t leaf = 0;
    for (int64_t node = 0; node < tree.n_nodes; ++node) {
        if (tree.feature[node] < 0) {
            leaves[leaf++] = nodes[node];
            continue;
        }
        const int64_t left = node + 1, right = tree.right[node];
        const uint32_t bit = uint32_t{1} << tree.slot[left];
        const uint32_t before = nodes[node] | (tree.previous[left] == 0 ? bit : 0);
        const uint32_t is_left =
            tree.goes_left(node, static_cast<double>(row[tree.feature[node]]));
        nodes[left] = before & ~(is_left ? 0 : bit);
        nodes[right] = before & ~(is_left ? bit : 0);
    }
}

}  // namespace polyleaf
