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

    void tabulate(const SearchNode& node);
    // Bit r set: row r on the one side. Negative where a side is too small.
    float operator[](uint32_t subset) const { return gains_[subset]; }

    uint64_t work = 0;

  private:
    Workspace& workspace_;
    const Kernels& kernels_;
    std::vector<float> norms_, gains_;
};

}  // namespace polyleaf
