// What leaves that hold training rows say of new rows: weighted means and quantiles.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "predict/tree_nodes.hpp"

namespace polyleaf {

// Leaves with their training rows, for many predictions.
struct LeafAverages {
    int64_t n_channels = 0;
    const int64_t* leaf_offsets = nullptr;  // (n_leaves + 1,)
    const int32_t* leaf_rows = nullptr;     // (n_entries,)
    const double* shares = nullptr;         // (n_entries,)
    const double* values = nullptr;         // (n_values, n_channels)
    std::vector<int32_t> only_rows;         // (n_leaves,) see AddSharesTask

    LeafAverages() = default;
    LeafAverages(int64_t n_leaves, int64_t n_channels, const int64_t* leaf_offsets,
                 const int32_t* leaf_rows, const double* shares, const double* values);
};

// sums[row] (n_rows, n_channels) += what the leaves of a block say, tree after tree; tree_weights
// (trees of the block, n_channels) or null.
void add_leaf_rows(const LeafAverages& averages, const LeafBlock& block,
                   const double* tree_weights, double* sums);

// averages[row] += sum over trees of tree_weight * sum over the leaf's entries of share * values.
struct RowAverageTask {
    int64_t n_rows = 0, n_trees = 0, n_channels = 0;
    const int32_t* leaves = nullptr;        // IN (n_rows, n_trees)
    const int64_t* leaf_offsets = nullptr;  // IN (n_leaves + 1,)
    const int32_t* leaf_rows = nullptr;     // IN (n_entries,)
    const double* shares = nullptr;         // IN (n_entries,)
    const double* values = nullptr;         // IN (n_values, n_channels)
    const double* tree_weights = nullptr;   // IN (n_trees, n_channels), or null: 1 / n_trees
    double* averages = nullptr;             // IN, OUT (n_rows, n_channels)
};
void average_rows(const RowAverageTask& task, ThreadTeam& team);

// The smallest value whose cumulative weight reaches a share q of the total, per channel.
struct RowQuantileTask {
    int64_t n_rows = 0, n_channels = 0, n_quantiles = 0;
    const int64_t* indptr = nullptr;    // IN (n_rows + 1,)
    const int32_t* indices = nullptr;   // IN training rows
    const double* weights = nullptr;    // IN their weights, not negative
    const double* values = nullptr;     // IN (n_train, n_channels)
    const double* quantiles = nullptr;  // IN (n_quantiles,) ascending, in [0, 1]
    double* found = nullptr;            // OUT (n_rows, n_channels, n_quantiles), NaN if no weight
};
void row_quantiles(const RowQuantileTask& task, ThreadTeam& team);

}  // namespace polyleaf
