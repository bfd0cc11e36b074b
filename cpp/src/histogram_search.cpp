#include "histogram_search.hpp"

#include <algorithm>
#include <cmath>

namespace ramify {

namespace {

constexpr int kBins = 256;

int passes(const uint32_t* counts) { return counts[kMissingU8] > 0 ? 2 : 1; }

}  // namespace

NodeHistograms::NodeHistograms(const Workspace& workspace, size_t n_tiles)
    : n_blocks_(workspace.n_blocks),
      block_size_(size_t{kTileFeatures} * kBins * workspace.lanes),
      gradient_(n_tiles * workspace.n_blocks * block_size_),
      hessian_(workspace.per_channel() ? gradient_.size() : 0),
      weights_(n_tiles * kTileFeatures * kBins),
      counts_(n_tiles * kTileFeatures * kBins) {}

size_t NodeHistograms::bytes(const Workspace& workspace, size_t n_tiles) {
    const size_t blocks = n_tiles * workspace.n_blocks * kTileFeatures * kBins * workspace.lanes;
    return sizeof(float) *
           (blocks * (workspace.per_channel() ? 2 : 1) + 2 * n_tiles * kTileFeatures * kBins);
}

HistogramSearch::HistogramSearch(Workspace& workspace)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      block_size_(size_t{kTileFeatures} * kBins * workspace.lanes) {}

void HistogramSearch::search_tile(const SearchNode& node, const FeatureTile& tile,
                                  size_t tile_index, NodeHistograms* kept, Split& best) {
    if (gradient_.empty()) {
        gradient_.resize(block_size_);
        hessian_.resize(workspace_.per_channel() ? block_size_ : 0);
    }
    scores_.counts.resize(kTileFeatures * kBins);
    scores_.weights.resize(kTileFeatures * kBins);
    count_rows(node, tile, scores_.counts.data(), scores_.weights.data());
    if (kept) {
        std::copy(scores_.counts.begin(), scores_.counts.end(), kept->counts(tile_index));
        std::copy(scores_.weights.begin(), scores_.weights.end(), kept->weights(tile_index));
    }
    prepare(node, tile, scores_);
    for (int32_t block = 0; block < workspace_.n_blocks; ++block) {
        float* const g = kept ? kept->gradient(tile_index, block) : gradient_.data();
        float* const h = !workspace_.per_channel() ? nullptr
                         : kept                    ? kept->hessian(tile_index, block)
                                                   : hessian_.data();
        build_block(node, tile, block, g, h);
        scan_block(node, tile, block, g, h, scores_);
    }
    choose(node, tile, scores_, best);
}

void HistogramSearch::search_siblings(const SearchNode& small, const SearchNode& large,
                                      const FeatureTile& tile, size_t tile_index,
                                      NodeHistograms* small_kept, NodeHistograms& parent,
                                      Split& best_small, Split& best_large) {
    const size_t n_entries = size_t{kTileFeatures} * kBins;
    if (gradient_.empty()) {
        gradient_.resize(block_size_);
        hessian_.resize(workspace_.per_channel() ? block_size_ : 0);
    }
    for (Scores* scores : {&scores_, &sibling_scores_}) {
        scores->counts.resize(n_entries);
        scores->weights.resize(n_entries);
    }
    count_rows(small, tile, scores_.counts.data(), scores_.weights.data());
    uint32_t* const parent_counts = parent.counts(tile_index);
    float* const parent_weights = parent.weights(tile_index);
    for (size_t i = 0; i < n_entries; ++i) {
        sibling_scores_.counts[i] = parent_counts[i] -= scores_.counts[i];
        sibling_scores_.weights[i] = parent_weights[i] -= scores_.weights[i];
    }
    if (small_kept) {
        std::copy(scores_.counts.begin(), scores_.counts.end(), small_kept->counts(tile_index));
        std::copy(scores_.weights.begin(), scores_.weights.end(), small_kept->weights(tile_index));
    }
    prepare(small, tile, scores_);
    prepare(large, tile, sibling_scores_);
    for (int32_t block = 0; block < workspace_.n_blocks; ++block) {
        const bool per_channel = workspace_.per_channel();
        float* const g = small_kept ? small_kept->gradient(tile_index, block) : gradient_.data();
        float* const h = !per_channel ? nullptr
                         : small_kept ? small_kept->hessian(tile_index, block)
                                      : hessian_.data();
        build_block(small, tile, block, g, h);
        float* const parent_g = parent.gradient(tile_index, block);
        for (size_t i = 0; i < block_size_; ++i) parent_g[i] -= g[i];
        float* const parent_h = per_channel ? parent.hessian(tile_index, block) : nullptr;
        if (per_channel)
            for (size_t i = 0; i < block_size_; ++i) parent_h[i] -= h[i];
        scan_block(small, tile, block, g, h, scores_);
        scan_block(large, tile, block, parent_g, parent_h, sibling_scores_);
    }
    choose(small, tile, scores_, best_small);
    choose(large, tile, sibling_scores_, best_large);
}

const uint8_t* HistogramSearch::codes_of(const FeatureTile& tile, int lane) const {
    const int32_t feature = tile.features[lane < tile.n_features ? lane : 0];
    return workspace_.binned.codes_u8 + workspace_.dense_base(workspace_.feature_home[feature]);
}

void HistogramSearch::count_rows(const SearchNode& node, const FeatureTile& tile, uint32_t* counts,
                                 float* weights) {
    std::fill_n(counts, kTileFeatures * kBins, 0u);
    const int32_t* rows = workspace_.rows.data() + node.range.begin;
    const int64_t n = node.range.size();
    const bool shared = workspace_.channels.policy == HessianPolicy::shared;
    const uint8_t* lane_codes[kTileFeatures];
    for (int lane = 0; lane < kTileFeatures; ++lane)
        lane_codes[lane] = codes_of(tile, lane);
    // Unused lanes repeat the first, whose counts they must not touch.
    uint32_t unused[kBins] = {};
    uint32_t* lane_counts_of[kTileFeatures];
    for (int lane = 0; lane < kTileFeatures; ++lane)
        lane_counts_of[lane] = lane < tile.n_features ? counts + lane * kBins : unused;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = int64_t{rows[i]} * kTileFeatures;
        ++lane_counts_of[0][lane_codes[0][at]];
        ++lane_counts_of[1][lane_codes[1][at]];
        ++lane_counts_of[2][lane_codes[2][at]];
        ++lane_counts_of[3][lane_codes[3][at]];
    }
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const uint8_t* codes = lane_codes[lane];
        uint32_t* const lane_counts = counts + lane * kBins;
        float* const lane_weights = weights + lane * kBins;
        if (!shared) {
            for (int bin = 0; bin < kBins; ++bin)
                lane_weights[bin] = static_cast<float>(lane_counts[bin]);
            continue;
        }
        double sums[kBins] = {};
        const float* h = workspace_.hessian.data() + node.range.begin;
        for (int64_t i = 0; i < n; ++i) sums[codes[int64_t{rows[i]} * kTileFeatures]] += h[i];
        std::copy_n(sums, kBins, lane_weights);
    }
    work += static_cast<uint64_t>(n) * tile.n_features * workspace_.channels.n_channels;
}

void HistogramSearch::prepare(const SearchNode&, const FeatureTile& tile, Scores& scores) {
    const size_t size = 2 * kTileFeatures * kBins;
    scores.norms.assign(size, 0.0f);
    scores.products.assign(size, 0.0f);
    scores.prefix_weights.resize(size);
    std::fill_n(scores.missing_norm, kTileFeatures, 0.0f);
    std::fill_n(scores.missing_product, kTileFeatures, 0.0f);
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const uint32_t* counts = scores.counts.data() + lane * kBins;
        const float* weights = scores.weights.data() + lane * kBins;
        for (int pass = 0; pass < passes(counts); ++pass) {
            double prefix = pass == 1 ? weights[kMissingU8] : 0.0;
            float* out = scores.prefix_weights.data() + (pass * kTileFeatures + lane) * kBins;
            for (int64_t bin = 0; bin < workspace_.binned.n_bins(tile.features[lane]); ++bin)
                out[bin] = static_cast<float>(prefix += weights[bin]);
        }
    }
}

void HistogramSearch::build_block(const SearchNode& node, const FeatureTile& tile, int32_t block,
                                  float* gradient, float* hessian) {
    HistogramTask task;
    for (int lane = 0; lane < kTileFeatures; ++lane) {
        const int32_t feature = tile.features[lane < tile.n_features ? lane : 0];
        task.codes[lane] =
            workspace_.binned.codes_u8 + workspace_.dense_base(workspace_.feature_home[feature]);
    }
    task.rows = workspace_.rows.data() + node.range.begin;
    task.n_rows = node.range.size();
    auto build = [&](const Blocks& blocks, float* histogram) {
        std::fill_n(histogram, block_size_, 0.0f);
        task.gradient = blocks.data + block * blocks.block_stride;
        task.histogram = histogram;
        kernels_.build_histogram(task);
    };
    build(workspace_.gradient_blocks(node.range), gradient);
    if (hessian) build(workspace_.hessian_blocks(node.range), hessian);
}

void HistogramSearch::scan_block(const SearchNode& node, const FeatureTile& tile, int32_t block,
                                 const float* gradient, const float* hessian, Scores& scores) {
    const int lanes = workspace_.lanes;
    const NodeTotals& totals = *node.totals;
    const bool need_products = workspace_.params.l2_regularization > 0.0;
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const uint32_t* counts = scores.counts.data() + lane * kBins;
        const float* const g = gradient + size_t{kBins} * lanes * lane;
        const float* const g_missing = g + size_t{kMissingU8} * lanes;
        for (int pass = 0; pass < passes(counts); ++pass) {
            const size_t at = (pass * kTileFeatures + lane) * kBins;
            if (hessian) {
                const float* const h = hessian + size_t{kBins} * lanes * lane;
                const float* const h_missing = h + size_t{kMissingU8} * lanes;
                WeightedScanTask task;
                task.gradient_total = totals.gradient.data() + block * lanes;
                task.hessian_total = totals.hessian.data() + block * lanes;
                task.mean = totals.mean.data() + block * lanes;
                task.l2_regularization = static_cast<float>(workspace_.params.l2_regularization);
                task.gradient = g;
                task.hessian = h;
                task.n_bins = workspace_.binned.n_bins(tile.features[lane]);
                task.initial_gradient = pass == 1 ? g_missing : nullptr;
                task.initial_hessian = pass == 1 ? h_missing : nullptr;
                task.scores = scores.norms.data() + at;
                kernels_.scan_weighted(task);
                if (pass == 0) continue;
                task.gradient = g_missing;
                task.hessian = h_missing;
                task.n_bins = 1;
                task.initial_gradient = task.initial_hessian = nullptr;
                task.scores = scores.missing_norm + lane;
                kernels_.scan_weighted(task);
                continue;
            }
            ScanTask task;
            task.histogram = g;
            task.n_bins = workspace_.binned.n_bins(tile.features[lane]);
            task.initial = pass == 1 ? g_missing : nullptr;
            task.prefix_weights = scores.prefix_weights.data() + at;
            task.mean = totals.mean.data() + block * lanes;
            task.total = need_products ? totals.gradient.data() + block * lanes : nullptr;
            task.norms = scores.norms.data() + at;
            task.products = scores.products.data() + at;
            kernels_.scan_histogram(task);
            if (pass == 0) continue;
            task.histogram = g_missing;
            task.n_bins = 1;
            task.initial = nullptr;
            task.prefix_weights = scores.weights.data() + lane * kBins + kMissingU8;
            task.norms = scores.missing_norm + lane;
            task.products = scores.missing_product + lane;
            kernels_.scan_histogram(task);
        }
    }
}

void HistogramSearch::choose(const SearchNode& node, const FeatureTile& tile, const Scores& scores,
                             Split& best) const {
    const NodeTotals& totals = *node.totals;
    const BinnedView& binned = workspace_.binned;
    const double lambda = workspace_.params.l2_regularization;
    const int64_t n = node.range.size(), least = workspace_.params.min_samples_leaf;
    const bool per_channel = workspace_.per_channel();
    // Scores of the scans are relative to the node's mean unless there is regularisation.
    const double base = lambda > 0.0 ? totals.base_score : 0.0;
    const double norm = lambda > 0.0 ? totals.norm : 0.0;
    auto gain_of = [&](double side_norm, double product, double weight) {
        if (per_channel) return side_norm - base;
        const double other = std::max(totals.weight - weight, 1e-300);
        return side_norm / (weight + lambda) +
               (norm - 2.0 * product + side_norm) / (other + lambda) - base;
    };
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const int32_t feature = tile.features[lane];
        const uint32_t* counts = scores.counts.data() + lane * kBins;
        const int64_t n_bins = binned.n_bins(feature), n_missing = counts[kMissingU8];
        const double* low = binned.bin_low + binned.bin_offsets[feature];
        const double* high = binned.bin_high + binned.bin_offsets[feature];
        auto keep = [&](double gain, int64_t bin, double threshold, int64_t n_left,
                        bool missing_left) {
            best.gain = gain;
            best.rank = tile.ranks[lane];
            best.feature = feature;
            best.is_categorical = false;
            best.missing_left = missing_left;
            best.left_code = static_cast<uint32_t>(bin);
            best.threshold = threshold;
            best.n_left = n_left;
        };
        int64_t last = n_bins - 1;
        while (last >= 0 && counts[last] == 0) --last;
        for (int pass = 0; pass < passes(counts); ++pass) {
            const size_t at = (pass * kTileFeatures + lane) * kBins;
            int64_t n_left = pass == 1 ? n_missing : 0;
            for (int64_t bin = 0; bin < last; ++bin) {
                if (counts[bin] == 0) continue;
                n_left += counts[bin];
                if (n_left < least || n - n_left < least) continue;
                const double gain = gain_of(scores.norms[at + bin], scores.products[at + bin],
                                            scores.prefix_weights[at + bin]);
                if (!best.beaten_by(gain, tile.ranks[lane])) continue;
                int64_t next = bin + 1;
                while (counts[next] == 0) ++next;
                const bool missing_left = n_missing == 0 ? 2 * n_left >= n : pass == 1;
                keep(gain, bin, midpoint(high[bin], low[next]), n_left, missing_left);
            }
        }
        if (n_missing == 0 || last < 0 || n_missing < least || n - n_missing < least) continue;
        const double gain = gain_of(scores.missing_norm[lane], scores.missing_product[lane],
                                    scores.weights[lane * kBins + kMissingU8]);
        if (best.beaten_by(gain, tile.ranks[lane]))
            keep(gain, last, std::numeric_limits<double>::infinity(), n - n_missing, false);
    }
}

}  // namespace ramify
