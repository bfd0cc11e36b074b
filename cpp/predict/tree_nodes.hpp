// Checked trees, as rows with values go down them, and what the descents of a block are given to.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace polyleaf {

// Sixteen bytes, so that four fit on a cache line.
struct TreeNode {
    double threshold;      // numeric splits
    uint32_t right_child;  // within the tree; a leaf: its number among the leaves of all trees
    uint32_t feature;      // with the flags below; kLeaf: a leaf

    static constexpr uint32_t kMissingLeft = 1u << 31, kCategorical = 1u << 30;
    static constexpr uint32_t kFlags = kMissingLeft | kCategorical, kLeaf = ~uint32_t{0};

    bool is_leaf() const { return feature == kLeaf; }
    bool is_categorical() const { return feature & kCategorical; }
    bool is_missing_left() const { return feature & kMissingLeft; }
    int32_t feature_number() const { return static_cast<int32_t>(feature & ~kFlags); }
};

// Trees one after the other; within a tree nodes are in preorder.
struct TreeNodes {
    int32_t n_features = 0;
    std::vector<int32_t> n_categories;  // (n_features,)
    std::vector<int64_t> roots;         // (n_trees,)
    std::vector<TreeNode> nodes;
    std::vector<int32_t> leaf_nodes;    // (n_leaves,) within the tree
    std::vector<int64_t> word_offsets;  // of categorical splits; empty if there are none
    std::vector<uint32_t> words;

    int64_t n_trees() const { return static_cast<int64_t>(roots.size()); }

    // Anything that is no known category goes the way of the missing values.
    bool has_category_left(int64_t at, double value) const {
        const TreeNode& node = nodes[at];
        if (!(value >= 0.0 && value < n_categories[node.feature_number()]))
            return node.is_missing_left();
        const uint32_t code = static_cast<uint32_t>(value);
        return words[word_offsets[at] + (code >> 5)] >> (code & 31) & 1;
    }
};

// The leaves of some rows in some trees, numbered over all trees.
struct LeafBlock {
    int64_t first_row = 0, n_rows = 0, first_tree = 0, n_trees = 0;
    const int32_t* leaves = nullptr;  // [tree][stride]
    int64_t stride = 0;
};
using VisitLeaves = std::function<void(const LeafBlock&)>;

}  // namespace polyleaf
