// Sends rows down trees. A Predictor is built once from checked arrays and then only read.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"

namespace polyleaf {

// Trees one after the other; within a tree nodes are in preorder.
struct TreeArrays {
    int64_t n_trees = 0, n_nodes = 0, n_words = 0;
    int32_t n_features = 0;
    const int32_t* n_categories = nullptr;     // (n_features,) 0: numeric
    const int64_t* tree_offsets = nullptr;     // (n_trees + 1,)
    const int32_t* feature = nullptr;          // (n_nodes,) -1: a leaf
    const double* threshold = nullptr;         // (n_nodes,)
    const int32_t* right = nullptr;            // (n_nodes,) within the tree; -1: a leaf
    const uint8_t* missing_left = nullptr;     // (n_nodes,)
    const int64_t* category_offset = nullptr;  // (n_nodes,) -1: a numeric split
    const uint32_t* category_words = nullptr;  // (n_words,)
};

// Dense (n, p) rows, or CSR with sorted or unsorted column indices; absent entries are 0.
template <typename T>
struct RowsView {
    int64_t n_rows = 0;
    const T* values = nullptr;         // dense (n_rows, n_features), or CSR data
    const int64_t* indptr = nullptr;   // CSR only
    const int32_t* indices = nullptr;  // CSR only
};

class Predictor {
  public:
    // Throws std::invalid_argument, with the node at fault, unless every index is in range and
    // the nodes form proper trees.
    explicit Predictor(const TreeArrays& arrays);

    int64_t n_trees() const { return static_cast<int64_t>(roots_.size()); }
    int32_t n_features() const { return n_features_; }

    // nodes[row * n_trees + tree]: the leaf that the row falls into, as a node of that tree.
    template <typename T>
    void apply(const RowsView<T>& rows, int32_t* nodes, ThreadTeam& team) const;

  private:
    // Sixteen bytes, so that four fit on a cache line.
    struct Node {
        double threshold;      // numeric splits
        uint32_t right_child;  // within the tree; a leaf: itself
        uint32_t feature;      // with the flags below; kLeaf: a leaf
    };
    static constexpr uint32_t kMissingLeft = 1u << 31, kCategorical = 1u << 30;
    static constexpr uint32_t kFlags = kMissingLeft | kCategorical, kLeaf = ~uint32_t{0};
    static constexpr int kTogether = 8;  // rows that go down side by side

    bool has_category_left(const Node& node, int64_t at, double value) const;
    // rows: dense (n_rows, n_features); leaves: every `stride`-th is written.
    template <typename T>
    void descend(int64_t root, const T* rows, int64_t n_rows, int32_t* leaves,
                 int64_t stride) const;

    int32_t n_features_;
    std::vector<int32_t> n_categories_;
    std::vector<int64_t> roots_;
    std::vector<Node> nodes_;
    std::vector<int64_t> word_offsets_;  // of categorical splits; empty if there are none
    std::vector<uint32_t> words_;
};

}  // namespace polyleaf
