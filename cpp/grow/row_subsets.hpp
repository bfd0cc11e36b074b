// A few rows and all nodes below them: each is a subset, and the inner products of the rows tell
// what every way to part it is worth, so that channels are read once for all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bits.hpp"
#include "grow/workspace.hpp"

namespace polyleaf {

class RowSubsets {
  public:
    static constexpr int kMostRows = kMostProductRows, kSubsets = 1 << kMostRows;

    explicit RowSubsets(const Workspace& workspace);

    // Row i of the range is bit i of a subset. store: null for sparse labels.
    void tabulate(const NodeRange& range, ChannelStore* store);

    double weight(uint32_t rows) const { return weights_[rows]; }
    // Sum over channels of the weighted squared deviations.
    double impurity(uint32_t rows) const;
    // What it takes off the criterion to part `side` from the rest of `rows`; negative if one of
    // them is too small.
    double gain(uint32_t rows, uint32_t side) const {
        const uint32_t other = rows ^ side;
        if (side == 0 || other == 0) return -1;
        if (least_rows_ > 1 && std::min(count_bits(side), count_bits(other)) < least_rows_)
            return -1;
        const double lighter = std::min(weights_[side], weights_[other]);
        if (lighter <= dust_ * weights_[rows]) return -1;
        return std::max(0.0, gain_of_scores(scores_[side], scores_[other], scores_[rows]));
    }

    uint64_t work = 0;

  private:
    void multiply_labels(const NodeRange& range, int n);
    void tabulate_weights(const NodeRange& range);

    const Workspace& workspace_;
    const Kernels& kernels_;
    const int least_rows_;
    const double dust_;
    double products_[kMostRows * kMostRows];  // of rows i >= j
    double squares_[kMostRows];               // of the rows, over their weights
    const double* const weights_;             // of every subset: its own ones unless all rows
    double own_weights_[kSubsets];            // weigh 1
    double inverses_[kSubsets];               // one over the weight
    double scores_[kSubsets];                 // squared norm of its sum, over its weight
    // Sparse labels of the rows: where a label is listed, and its values in the rows.
    struct Label {
        int32_t label;
        uint32_t rows;
        double values[kMostRows];
    };
    std::vector<int32_t> places_;  // per label; -1: not listed
    std::vector<Label> labels_;
};

}  // namespace polyleaf
