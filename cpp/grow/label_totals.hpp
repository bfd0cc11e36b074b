// Sums of sparse labels: over the node under search, and over one side of a split.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/workspace.hpp"

namespace polyleaf {

// A = the weighted sum of the labels of some rows.
struct LabelSums {
    double weight = 0.0;   // sum of w
    double square = 0.0;   // sum of w |y|^2
    double norm = 0.0;     // |A|^2
    double product = 0.0;  // A . G, G the sum over the node
    int64_t n_labels = 0;  // entries that were added up
};

// G of the node that a thread looks at. A child's is its parent's minus its sibling's, so that a
// chain of large children costs what the small ones hold.
class LabelTotals {
  public:
    explicit LabelTotals(const Workspace& workspace);

    void move_to(const NodeRange& range);
    // Back to zeros, before another thread moves the rows that were added up.
    void forget();
    const double* sums() const { return sums_.data(); }

  private:
    void add(const NodeRange& range, double sign);

    const Workspace& workspace_;
    NodeRange range_, fresh_;   // fresh_: what was added up row by row, before subtractions
    std::vector<double> sums_;  // (n_channels,)
};

// Sums over a range of rows, or over the rows at some places of a node. totals: G.
// side: scratch (n_channels,) of zeros, left zero.
LabelSums sum_labels(const Workspace& workspace, const NodeRange& range, const double* totals,
                     std::vector<double>& side);
LabelSums sum_labels(const Workspace& workspace, const NodeRange& node, const uint32_t* places,
                     int64_t n, const double* totals, std::vector<double>& side);

}  // namespace polyleaf
