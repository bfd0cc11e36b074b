// Scores the one split of each of many features with two values, from the rows they list.
#pragma once

#include <cstdint>
#include <vector>

#include "sparse_entries.hpp"
#include "split_search.hpp"

namespace ramify {

// One thread's search, where sums are in double precision (Workspace::is_incremental).
class TwoValuedSearch {
  public:
    explicit TwoValuedSearch(Workspace& workspace)
        : workspace_(workspace), kernels_(kernels_for(workspace.lanes)) {}

    // Keeps the best of `best` and of the features' splits. side: scratch (n_channels,) of zeros,
    // left zero; sparse labels only.
    void search(const SearchNode& node, const int32_t* features, const uint64_t* ranks, size_t n,
                const SparseEntries& entries, std::vector<double>& side, Split& best);

    uint64_t work = 0;  // (row, feature, channel) triples that were added up

  private:
    // The features that part the node, with the rows they list.
    void choose_columns(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                        size_t n, const SparseEntries& entries);
    void sum_channels(const SearchNode& node);
    void sum_sparse_labels(const SearchNode& node, std::vector<double>& side);
    void keep(const SearchNode& node, size_t column, double gain, Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    std::vector<RowList> columns_;
    std::vector<int32_t> features_;
    std::vector<uint64_t> ranks_;
    std::vector<double> weights_, norms_, products_;  // (n_columns,)
};

}  // namespace ramify
