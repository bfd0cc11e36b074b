// Predictions of leaves that hold training rows: weighted sums of the rows' sparse outputs.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"

namespace polyleaf {

// Leaves of any number of trees, numbered throughout.
struct LeafRowsView {
    int64_t n_leaves = 0, n_train = 0, n_outputs = 0;
    const int64_t* leaf_offsets = nullptr;   // (n_leaves + 1,)
    const int32_t* leaf_rows = nullptr;      // training rows, leaf after leaf
    const double* entry_weights = nullptr;   // of each of them
    const int64_t* target_indptr = nullptr;  // CSR (n_train, n_outputs)
    const int32_t* target_indices = nullptr;
    const double* target_data = nullptr;
};

// The leaves that each query row falls into, one per tree.
struct QueryLeaves {
    int64_t n_rows = 0, n_trees = 0;
    const int32_t* leaves = nullptr;  // (n_rows, n_trees)
};

// sums: OUT (n_rows, n_outputs), the sum over a query's leaves, and over the rows of these, of
// entry weight times outputs.
template <typename T>
void predict_rows_dense(const LeafRowsView& rows, const QueryLeaves& queries, T* sums,
                        ThreadTeam& team);

// The k outputs with the largest positive sums, largest first, the lower output first among
// equals. outputs: OUT (n_rows, k), -1 where there are fewer; sums: OUT (n_rows, k), 0 there.
// Memory is n_train + n_outputs numbers per thread, never n_rows x n_outputs.
void predict_rows_topk(const LeafRowsView& rows, const QueryLeaves& queries, int64_t k,
                       int32_t* outputs, double* sums, ThreadTeam& team);

}  // namespace polyleaf
