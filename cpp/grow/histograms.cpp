#include "grow/histograms.hpp"

#include <algorithm>

namespace polyleaf {

std::vector<FeatureTile> tiles_of(const std::vector<int32_t>& features) {
    std::vector<FeatureTile> tiles;
    for (size_t i = 0; i < features.size(); ++i) {
        if (i % kTileFeatures == 0) tiles.emplace_back();
        tiles.back().features[tiles.back().n_features++] = features[i];
    }
    return tiles;
}

NodeHistograms::NodeHistograms(const Workspace& workspace, size_t n_tiles, int32_t n_blocks)
    : n_tiles_(n_tiles),
      n_blocks_(n_blocks),
      block_size_(kTileBins * workspace.lanes),
      gradient_(n_tiles * n_blocks * block_size_),
      hessian_(workspace.per_channel() ? gradient_.size() : 0) {
    counts.resize(n_tiles);
}

HistogramBuilder::HistogramBuilder(Workspace& workspace)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      block_size_(kTileBins * workspace.lanes) {}

const uint8_t* HistogramBuilder::codes_of(const FeatureTile& tile, int lane) const {
    if (tile.ordered) return tile.ordered + lane;
    const int32_t feature = tile.features[lane < tile.n_features ? lane : 0];
    return workspace_.binned.codes_u8 + workspace_.dense_base(workspace_.feature_home[feature]);
}

void HistogramBuilder::order_codes(const SearchNode& node, const FeatureTile& tile,
                                   uint8_t* out) const {
    const int32_t* const rows = workspace_.rows.data() + node.range.begin;
    const uint8_t* codes[kTileFeatures];
    bool is_whole = true;  // four neighbours
    for (int lane = 0; lane < kTileFeatures; ++lane) {
        codes[lane] = codes_of(tile, lane);
        is_whole &= codes[lane] == codes[0] + lane;
    }
    for (int64_t i = 0; i < node.range.size(); ++i, out += kTileFeatures) {
        const int64_t at = int64_t{rows[i]} * kTileFeatures;
        if (is_whole)
            std::copy_n(codes[0] + at, kTileFeatures, out);
        else
            for (int lane = 0; lane < kTileFeatures; ++lane) out[lane] = codes[lane][at];
    }
}

void HistogramBuilder::count(const SearchNode& node, const FeatureTile& tile, TileCounts counts) {
    std::fill_n(counts.rows, kTileBins, 0u);
    const int32_t* rows = workspace_.rows.data() + node.range.begin;
    const int64_t n = node.range.size();
    const uint8_t* lane_codes[kTileFeatures];
    for (int lane = 0; lane < kTileFeatures; ++lane) lane_codes[lane] = codes_of(tile, lane);
    // Unused lanes repeat the first, whose counts they must not touch.
    uint32_t unused[kHistogramBins] = {};
    uint32_t* lane_counts_of[kTileFeatures];
    for (int lane = 0; lane < kTileFeatures; ++lane)
        lane_counts_of[lane] =
            lane < tile.n_features ? counts.rows + lane * kHistogramBins : unused;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = (tile.ordered ? i : int64_t{rows[i]}) * kTileFeatures;
        ++lane_counts_of[0][lane_codes[0][at]];
        ++lane_counts_of[1][lane_codes[1][at]];
        ++lane_counts_of[2][lane_codes[2][at]];
        ++lane_counts_of[3][lane_codes[3][at]];
    }
    work += static_cast<uint64_t>(n) * tile.n_features * workspace_.channels.n_channels;
    if (workspace_.channels.policy != HessianPolicy::shared) return;
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const uint8_t* codes = lane_codes[lane];
        double sums[kHistogramBins] = {};
        const float* h = workspace_.weights.data() + node.range.begin;
        for (int64_t i = 0; i < n; ++i)
            sums[codes[(tile.ordered ? i : int64_t{rows[i]}) * kTileFeatures]] += h[i];
        std::copy_n(sums, kHistogramBins, counts.weights + lane * kHistogramBins);
    }
}

void HistogramBuilder::weigh(const FeatureTile& tile, TileCounts counts) const {
    if (workspace_.channels.policy == HessianPolicy::shared) return;
    for (int i = 0; i < tile.n_features * kHistogramBins; ++i)
        counts.weights[i] = static_cast<float>(counts.rows[i]);
}

void HistogramBuilder::build(const SearchNode& node, const FeatureTile& tile,
                             const float* gradient, const float* hessian, TileSums sums) const {
    build_channels(node, tile, gradient, sums.gradient);
    if (sums.hessian) build_channels(node, tile, hessian, sums.hessian);
}

void HistogramBuilder::build_channels(const SearchNode& node, const FeatureTile& tile,
                                      const float* channels, float* histogram) const {
    HistogramTask task;
    for (int lane = 0; lane < kTileFeatures; ++lane) task.codes[lane] = codes_of(tile, lane);
    task.rows = tile.ordered ? nullptr : workspace_.rows.data() + node.range.begin;
    task.n_rows = node.range.size();
    task.gradient = channels;
    task.histogram = histogram;
    std::fill_n(histogram, block_size_, 0.0f);
    kernels_.build_histogram(task);
}

void HistogramBuilder::subtract(TileCounts small, TileCounts parent) const {
    for (size_t i = 0; i < kTileBins; ++i) {
        parent.rows[i] -= small.rows[i];
        parent.weights[i] -= small.weights[i];
    }
}

void HistogramBuilder::subtract(TileSums small, TileSums parent) const {
    for (size_t i = 0; i < block_size_; ++i) parent.gradient[i] -= small.gradient[i];
    if (!parent.hessian) return;
    for (size_t i = 0; i < block_size_; ++i) parent.hessian[i] -= small.hessian[i];
}

}  // namespace polyleaf
