// The paths of trees as Shapley values need them: for every leaf the distinct features above it,
// and how much of the training rows each edge keeps. Built once, then only read.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/predictor.hpp"

namespace polyleaf {

// The splits of one tree, nodes in preorder.
struct SplitTree {
    int64_t n_nodes = 0;
    const int32_t* feature = nullptr;          // (n_nodes,) -1: a leaf
    const double* threshold = nullptr;         // (n_nodes,)
    const int32_t* right = nullptr;            // (n_nodes,)
    const uint8_t* missing_left = nullptr;     // (n_nodes,)
    const int64_t* category_offset = nullptr;  // (n_nodes,) -1: a numeric split
    const uint32_t* category_words = nullptr;
    const int32_t* n_categories = nullptr;  // (n_features,)

    SplitTree() = default;
    // arrays: checked by a Predictor.
    SplitTree(const TreeArrays& arrays, int64_t tree);

    bool goes_left(int64_t node, double value) const {
        if (value != value) return missing_left[node];
        if (category_offset[node] < 0) return value <= threshold[node];
        if (!(value >= 0.0 && value < n_categories[feature[node]])) return missing_left[node];
        const uint32_t code = static_cast<uint32_t>(value);
        return category_words[category_offset[node] + (code >> 5)] >> (code & 31) & 1;
    }
};

// What is known of all paths of a tree. An edge is named after the node that it leads to.
struct PathTree : SplitTree {
    using SplitTree::SplitTree;

    int64_t n_leaves = 0;
    std::vector<int32_t> parent;    // (n_nodes,) -1: the root
    std::vector<int32_t> depth;     // (n_nodes,) number of edges above
    std::vector<int32_t> previous;  // (n_nodes,) depth of the edge above on the same feature, or 0
    std::vector<int32_t> slot;      // (n_nodes,) the edge's feature among those of its path, or -1
    // (n_nodes,) product of n(child) / n(parent) over the edges on this edge's feature, down to it
    std::vector<float> share;
    std::vector<int32_t> leaf_nodes;     // (n_leaves,)
    std::vector<int32_t> leaf_index;     // (n_nodes,) -1: an inner node
    std::vector<int32_t> subtree_end;    // (n_nodes,) the node after the last one below
    std::vector<int64_t> path_offsets;   // (n_leaves + 1,)
    std::vector<int32_t> path_features;  // distinct features of each leaf's path, by slot
    std::vector<int32_t> path_depths;    // depth of the last edge on each of them
    int32_t most_features = 0;           // on one path
    int32_t most_depth = 0;

    int64_t n_features_of(int64_t leaf) const {
        return path_offsets[leaf + 1] - path_offsets[leaf];
    }
};

// arrays: checked by a Predictor; node_rows (n_nodes,): training rows of every node, positive at
// every inner node, children of a node adding up to it.
PathTree make_path_tree(const TreeArrays& arrays, const double* node_rows, int64_t tree);

}  // namespace polyleaf
