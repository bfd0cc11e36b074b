// Sends rows down trees. A Predictor is built once from checked arrays and then only read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/parallel.hpp"
#include "predict/coded_trees.hpp"
#include "predict/row_average.hpp"
#include "predict/rows_view.hpp"
#include "predict/tree_nodes.hpp"

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

// What leaves add to raw predictions.
struct LeafValues {
    int64_t n_columns = 0;
    const float* values = nullptr;      // IN (n_leaves, n_columns)
    const int32_t* channels = nullptr;  // IN (n_trees,) the one channel of each tree, or null: all
    int64_t n_channels = 0;             // n_columns, unless a tree has one channel
    float* raw = nullptr;               // IN OUT (n_rows, n_channels)
};

class Predictor {
  public:
    // Throws std::invalid_argument, with the node at fault, unless every index is in range and
    // the nodes form proper trees.
    explicit Predictor(const TreeArrays& arrays);

    const TreeNodes& nodes() const { return trees_; }
    int64_t n_trees() const { return trees_.n_trees(); }
    int64_t n_leaves() const { return static_cast<int64_t>(trees_.leaf_nodes.size()); }
    int32_t n_features() const { return trees_.n_features; }

    // nodes[row * n_trees + tree]: the leaf that the row falls into, as a node of that tree.
    template <typename T>
    void apply(const RowsView<T>& rows, int32_t* nodes, ThreadTeam& team) const;
    // The same, numbered among the leaves of all trees.
    template <typename T>
    void find_leaves(const RowsView<T>& rows, int32_t* leaves, ThreadTeam& team) const;
    // raw[row] += the values of its leaves, tree after tree.
    template <typename T>
    void add(const RowsView<T>& rows, const LeafValues& leaves, ThreadTeam& team) const;

    // averages (n_rows, n_channels) += the means of every row's leaves, tree after tree, each
    // times its row of tree_weights (n_trees, n_channels); if that is null, divided by n_trees at
    // the end.
    template <typename T>
    void average(const RowsView<T>& rows, const LeafAverages& leaves, const double* tree_weights,
                 double* averages, ThreadTeam& team) const;

  private:
    static constexpr int kTogether = 8;  // rows that go down side by side

    // Trees on codes, once there were rows enough to make them worth while; else null.
    const CodedTrees* coded_for(int64_t n_rows) const;
    template <typename T>
    void visit(const RowsView<T>& rows, ThreadTeam& team, const VisitLeaves& visit) const;
    template <typename T>
    void visit_values(const RowsView<T>& rows, ThreadTeam& team, const VisitLeaves& visit) const;
    // rows: dense (n_rows, n_features).
    template <typename T>
    void descend(int64_t root, const T* rows, int64_t n_rows, int32_t* leaves) const;

    TreeNodes trees_;
    mutable std::atomic<int64_t> n_rows_seen_{0};
    mutable std::once_flag is_coded_;
    mutable std::unique_ptr<CodedTrees> coded_;
};

}  // namespace polyleaf
