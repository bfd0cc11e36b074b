// Sums of a node's rows over each feature of two values that lists them, all in one pass.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "grow/workspace.hpp"

namespace polyleaf {

// Instead of collecting the rows of every feature first (SparseEntries), where a row's channels
// fit one block. Counts are exact and sums in double precision, so that those of a node are its
// parent's less its sibling's.
class FlagSums {
  public:
    explicit FlagSums(const Workspace& workspace);

    // Adds rows, whose channels lie at `gradient` one after the other.
    void add_rows(const NodeRange& range, const float* gradient);
    void add(const FlagSums& other);
    void subtract(const FlagSums& other);

    const double* sums() const { return sums_.data(); }  // (n_sparse, lanes)
    double weight(int64_t slot) const { return weights_[slot]; }
    int64_t count(int64_t slot) const { return counts_[slot]; }

  private:
    const Workspace* workspace_;
    AlignedVector<double> sums_;
    std::vector<double> weights_;
    std::vector<int32_t> counts_;
};

// The sums of a node; chunks of its rows are added up by all threads, in an order of their own.
FlagSums listed_sums(const Workspace& workspace, const NodeRange& range, const float* gradient,
                     ThreadTeam* team);

}  // namespace polyleaf
