// The training rows in node order: every node owns a range of them, and a split reorders it.
#pragma once

#include <cstdint>
#include <vector>

#include "ramify/aligned.hpp"
#include "ramify/data.hpp"
#include "ramify/kernels.hpp"

namespace ramify {

struct Split;

struct NodeRange {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
};

// Sums over a node's rows.
struct NodeTotals {
    int64_t n_rows = 0;
    double weight = 0.0;    // sum of h (per channel: mean over channels)
    double impurity = 0.0;  // sum over channels of sum h (y - mean)^2
    // What the criterion needs. After physical centring the sums are zero by construction.
    bool centred = false;
    std::vector<float> gradient, hessian, mean;  // (n_blocks * lanes); hessian: per channel only
    double norm = 0.0;                           // |G|^2 of what the channels hold now
    double base_score = 0.0;                     // criterion of the unsplit node
};

class Workspace {
  public:
    Workspace(const BinnedView& binned, const ChannelsView& channels, const int32_t* rows,
              int64_t n_rows, const GrowParams& params);

    const BinnedView& binned;
    const ChannelsView& channels;
    const GrowParams& params;
    const int lanes;
    const int32_t n_blocks;
    const int64_t n_rows;

    std::vector<int32_t> rows;     // original row of each position
    AlignedVector<float> gradient;  // [block][position][lane]; empty for sparse labels
    AlignedVector<float> hessian;  // (n_rows,) shared, or blocks per channel, or empty
    std::vector<double> products;  // (n_rows,) g_i . G of the node, where the criterion needs it
    std::vector<int32_t> feature_home;  // index among the dense features, or ~slot if sparse

    // Code of row r of a dense feature: codes[dense_base(home) + r * kTileFeatures].
    int64_t dense_base(int32_t home) const {
        return home / kTileFeatures * binned.n_rows * kTileFeatures + home % kTileFeatures;
    }
    bool per_channel() const { return channels.policy == HessianPolicy::per_channel; }
    Blocks gradient_blocks(const NodeRange& range);
    Blocks hessian_blocks(const NodeRange& range);
    double row_weight(int64_t position) const {
        return channels.policy == HessianPolicy::shared ? hessian[position] : 1.0;
    }

    // Sums of the node. `centre`: subtract the node's mean from its channels, so that float32
    // sums stay exact in deep nodes; only without regularisation, where the criterion does not
    // change. `need_products`: fill `products` where the channels are not centred.
    // label_sums: scratch (n_channels,) of zeros, left zero; sparse labels only.
    NodeTotals summarise(const NodeRange& range, bool centre, bool need_products,
                         std::vector<double>& label_sums);

    // Stable partition of the range by the split; returns the first position of the right child.
    // left: OUT, side of each row before it was moved.
    int64_t partition(const NodeRange& range, const Split& split, std::vector<uint8_t>& left);

  private:
    void summarise_dense(const NodeRange& range, NodeTotals& totals);
    void summarise_per_channel(const NodeRange& range, NodeTotals& totals);
    void summarise_sparse(const NodeRange& range, NodeTotals& totals,
                          std::vector<double>& label_sums);
    void centre_channels(const NodeRange& range, NodeTotals& totals);
    void fill_products(const NodeRange& range, const NodeTotals& totals);
    void decide_sides(const NodeRange& range, const Split& split, std::vector<uint8_t>& left);
};

}  // namespace ramify
