// Scores the one split of each of many features with two values, from the rows they list.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/feature_search.hpp"
#include "grow/flag_sums.hpp"
#include "grow/sparse_entries.hpp"

namespace polyleaf {

// One thread's search, where sums are in double precision (SearchPlan::is_incremental).
class FlagSearch {
  public:
    explicit FlagSearch(Workspace& workspace)
        : workspace_(workspace), kernels_(kernels_for(workspace.lanes)) {}

    // Keeps the best of `best` and of the features' splits. side: scratch (n_channels,) of zeros,
    // left zero; sparse labels only.
    void search(const SearchNode& node, const int32_t* features, const uint64_t* ranks, size_t n,
                const SparseEntries& entries, std::vector<double>& side, Split& best);

    // The same of all sparse features, from the sums of the node.
    void search_listed(const SearchNode& node, Split& best);

    uint64_t work = 0;  // (row, feature, channel) triples that were added up

  private:
    // The features that part the node, with the rows they list.
    void choose_columns(const SearchNode& node, const int32_t* features, const uint64_t* ranks,
                        size_t n, const SparseEntries& entries);
    void sum_channels(const SearchNode& node);
    void sum_sparse_labels(const SearchNode& node, std::vector<double>& side);
    void keep(const SearchNode& node, int32_t feature, uint64_t rank, int64_t n_listed,
              double gain, Split& best) const;

    Workspace& workspace_;
    const Kernels& kernels_;
    std::vector<RowList> columns_;
    std::vector<int32_t> features_;
    std::vector<uint64_t> ranks_;
    std::vector<double> weights_, norms_, products_;  // (n_columns,)
};

}  // namespace polyleaf
