// Nodes of a few rows: the gain of every way to divide them, tabulated once for all features.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/feature_search.hpp"

namespace polyleaf {

class SubsetGains {
  public:
    explicit SubsetGains(Workspace& workspace)
        : workspace_(workspace), kernels_(kernels_for(workspace.lanes)) {}

    // Whether a table for this many rows is cheaper than scoring that many features one by one.
    static bool is_worthwhile(int64_t n_rows, size_t n_features) {
        return n_rows <= kMaxRows &&
               (size_t{1} << (n_rows - 1)) <= n_features * static_cast<size_t>(n_rows - 1);
    }
    void tabulate(const SearchNode& node);
    // Bit r set: row r on the one side. Negative where a side is too small.
    float operator[](uint32_t subset) const { return gains_[subset]; }

    uint64_t work = 0;

  private:
    static constexpr int64_t kMaxRows = 8;
    Workspace& workspace_;
    const Kernels& kernels_;
    std::vector<float> norms_, gains_;
};

}  // namespace polyleaf
