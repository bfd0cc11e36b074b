#include "grow/histogram_search.hpp"

#include <algorithm>
#include <cmath>

namespace polyleaf {

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

void HistogramSearch::start(const SearchNode& node, const FeatureTile& tile, TileScores& scores) {
    scores.counts.resize(kTileFeatures * kBins);
    scores.weights.resize(kTileFeatures * kBins);
    count_rows(node, tile, scores.counts.data(), scores.weights.data());
    prepare(tile, scores);
}

void HistogramSearch::start_sibling(const FeatureTile& tile, size_t tile_index,
                                    const TileScores& small, NodeHistograms& parent,
                                    TileScores& large) {
    const size_t n_entries = size_t{kTileFeatures} * kBins;
    large.counts.resize(n_entries);
    large.weights.resize(n_entries);
    uint32_t* const counts = parent.counts(tile_index);
    float* const weights = parent.weights(tile_index);
    for (size_t i = 0; i < n_entries; ++i) {
        large.counts[i] = counts[i] -= small.counts[i];
        large.weights[i] = weights[i] -= small.weights[i];
    }
    prepare(tile, large);
}

void HistogramSearch::keep_counts(const TileScores& scores, size_t tile_index,
                                  NodeHistograms& kept) const {
    std::copy(scores.counts.begin(), scores.counts.end(), kept.counts(tile_index));
    std::copy(scores.weights.begin(), scores.weights.end(), kept.weights(tile_index));
}

float* HistogramSearch::scratch(AlignedVector<float>& buffer) const {
    if (buffer.empty()) buffer.resize(block_size_, 0.0f);
    return buffer.data();
}

void HistogramSearch::add_block(const SearchNode& node, const FeatureTile& tile, size_t tile_index,
                                int32_t block, const float* gradient, const float* hessian,
                                NodeHistograms* kept, TileScores& scores) {
    float* const g = kept ? kept->gradient(tile_index, block) : scratch(gradient_);
    float* h = nullptr;
    if (hessian) h = kept ? kept->hessian(tile_index, block) : scratch(hessian_);
    build(node, tile, gradient, g);
    if (hessian) build(node, tile, hessian, h);
    scan_block(node, tile, block, g, h, scores);
}

void HistogramSearch::add_block_of_siblings(const SearchNode& small, const SearchNode& large,
                                            const FeatureTile& tile, size_t tile_index,
                                            int32_t block, const float* gradient,
                                            const float* hessian, NodeHistograms* small_kept,
                                            NodeHistograms& parent, TileScores& small_scores,
                                            TileScores& large_scores) {
    add_block(small, tile, tile_index, block, gradient, hessian, small_kept, small_scores);
    const float* const g = small_kept ? small_kept->gradient(tile_index, block) : gradient_.data();
    float* const parent_g = parent.gradient(tile_index, block);
    for (size_t i = 0; i < block_size_; ++i) parent_g[i] -= g[i];
    float* parent_h = nullptr;
    if (hessian) {
        const float* const h =
            small_kept ? small_kept->hessian(tile_index, block) : hessian_.data();
        parent_h = parent.hessian(tile_index, block);
        for (size_t i = 0; i < block_size_; ++i) parent_h[i] -= h[i];
    }
    scan_block(large, tile, block, parent_g, parent_h, large_scores);
}

void HistogramSearch::search_tile(const SearchNode& node, const FeatureTile& tile, Split& best) {
    start(node, tile, scores_);
    const Blocks g = workspace_.gradient_blocks(*node.store, node.range);
    const Blocks h =
        workspace_.per_channel() ? workspace_.hessian_blocks(*node.store, node.range) : Blocks{};
    for (int32_t block = 0; block < workspace_.n_blocks; ++block)
        add_block(node, tile, 0, block, g.data + block * g.block_stride,
                  h.data ? h.data + block * h.block_stride : nullptr, nullptr, scores_);
    choose(node, tile, scores_, best);
}

const uint8_t* HistogramSearch::codes_of(const FeatureTile& tile, int lane) const {
    if (tile.ordered) return tile.ordered + lane;
    const int32_t feature = tile.features[lane < tile.n_features ? lane : 0];
    return workspace_.binned.codes_u8 + workspace_.dense_base(workspace_.feature_home[feature]);
}

void HistogramSearch::order_codes(const SearchNode& node, const FeatureTile& tile,
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

void HistogramSearch::count_rows(const SearchNode& node, const FeatureTile& tile, uint32_t* counts,
                                 float* weights) {
    std::fill_n(counts, kTileFeatures * kBins, 0u);
    const int32_t* rows = workspace_.rows.data() + node.range.begin;
    const int64_t n = node.range.size();
    const bool shared = workspace_.channels.policy == HessianPolicy::shared;
    const uint8_t* lane_codes[kTileFeatures];
    for (int lane = 0; lane < kTileFeatures; ++lane) lane_codes[lane] = codes_of(tile, lane);
    // Unused lanes repeat the first, whose counts they must not touch.
    uint32_t unused[kBins] = {};
    uint32_t* lane_counts_of[kTileFeatures];
    for (int lane = 0; lane < kTileFeatures; ++lane)
        lane_counts_of[lane] = lane < tile.n_features ? counts + lane * kBins : unused;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = (tile.ordered ? i : int64_t{rows[i]}) * kTileFeatures;
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
        const float* h = workspace_.weights.data() + node.range.begin;
        for (int64_t i = 0; i < n; ++i)
            sums[codes[(tile.ordered ? i : int64_t{rows[i]}) * kTileFeatures]] += h[i];
        std::copy_n(sums, kBins, lane_weights);
    }
    work += static_cast<uint64_t>(n) * tile.n_features * workspace_.channels.n_channels;
}

void HistogramSearch::prepare(const FeatureTile& tile, TileScores& scores) const {
    scores.n_passes = 1;
    for (int lane = 0; lane < tile.n_features; ++lane)
        scores.n_passes = std::max(scores.n_passes, passes(scores.counts.data() + lane * kBins));
    const size_t size = size_t{kTileFeatures} * kBins * scores.n_passes;
    scores.norms.assign(size, 0.0f);
    scores.products.assign(workspace_.params.l2_regularization > 0.0 ? size : 0, 0.0f);
    scores.prefix_weights.resize(size);
    std::fill_n(scores.missing_norm, kTileFeatures, 0.0f);
    std::fill_n(scores.missing_product, kTileFeatures, 0.0f);
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const float* weights = scores.weights.data() + lane * kBins;
        for (int pass = 0; pass < scores.n_passes; ++pass) {
            double prefix = pass == 1 ? weights[kMissingU8] : 0.0;
            float* out = scores.prefix_weights.data() + (pass * kTileFeatures + lane) * kBins;
            for (int64_t bin = 0; bin < workspace_.binned.n_bins(tile.features[lane]); ++bin)
                out[bin] = static_cast<float>(prefix += weights[bin]);
        }
    }
}

void HistogramSearch::build(const SearchNode& node, const FeatureTile& tile, const float* channels,
                            float* histogram) const {
    HistogramTask task;
    for (int lane = 0; lane < kTileFeatures; ++lane) task.codes[lane] = codes_of(tile, lane);
    task.rows = tile.ordered ? nullptr : workspace_.rows.data() + node.range.begin;
    task.n_rows = node.range.size();
    task.gradient = channels;
    task.histogram = histogram;
    std::fill_n(histogram, block_size_, 0.0f);
    kernels_.build_histogram(task);
}

void HistogramSearch::scan_block(const SearchNode& node, const FeatureTile& tile, int32_t block,
                                 const float* gradient, const float* hessian,
                                 TileScores& scores) const {
    if (hessian) {
        scan_per_channel(node, tile, block, gradient, hessian, scores);
        return;
    }
    const int lanes = workspace_.lanes;
    const NodeTotals& totals = *node.totals;
    float total[16];
    std::copy_n(totals.gradient.data() + block * lanes, lanes, total);
    ScanTask task;
    task.mean = totals.mean.data() + block * lanes;
    task.total = workspace_.params.l2_regularization > 0.0 ? total : nullptr;
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const float* const g = gradient + size_t{kBins} * lanes * lane;
        const float* const g_missing = g + size_t{kMissingU8} * lanes;
        for (int pass = 0; pass < passes(scores.counts.data() + lane * kBins); ++pass) {
            const size_t at = (pass * kTileFeatures + lane) * kBins;
            task.histogram = g;
            task.n_bins = workspace_.binned.n_bins(tile.features[lane]);
            task.initial = pass == 1 ? g_missing : nullptr;
            task.prefix_weights = scores.prefix_weights.data() + at;
            task.norms = scores.norms.data() + at;
            task.products = scores.products.empty() ? nullptr : scores.products.data() + at;
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

void HistogramSearch::scan_per_channel(const SearchNode& node, const FeatureTile& tile,
                                       int32_t block, const float* gradient, const float* hessian,
                                       TileScores& scores) const {
    const int lanes = workspace_.lanes;
    const NodeTotals& totals = *node.totals;
    float gradient_total[16], hessian_total[16];
    std::copy_n(totals.gradient.data() + block * lanes, lanes, gradient_total);
    std::copy_n(totals.hessian.data() + block * lanes, lanes, hessian_total);
    WeightedScanTask task;
    task.gradient_total = gradient_total;
    task.hessian_total = hessian_total;
    task.mean = totals.mean.data() + block * lanes;
    task.l2_regularization = static_cast<float>(workspace_.params.l2_regularization);
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const size_t offset = size_t{kBins} * lanes * lane;
        const float *const g = gradient + offset, *const h = hessian + offset;
        const float* const g_missing = g + size_t{kMissingU8} * lanes;
        const float* const h_missing = h + size_t{kMissingU8} * lanes;
        for (int pass = 0; pass < passes(scores.counts.data() + lane * kBins); ++pass) {
            task.gradient = g;
            task.hessian = h;
            task.n_bins = workspace_.binned.n_bins(tile.features[lane]);
            task.initial_gradient = pass == 1 ? g_missing : nullptr;
            task.initial_hessian = pass == 1 ? h_missing : nullptr;
            task.scores = scores.norms.data() + (pass * kTileFeatures + lane) * kBins;
            kernels_.scan_weighted(task);
            if (pass == 0) continue;
            task.gradient = g_missing;
            task.hessian = h_missing;
            task.n_bins = 1;
            task.initial_gradient = task.initial_hessian = nullptr;
            task.scores = scores.missing_norm + lane;
            kernels_.scan_weighted(task);
        }
    }
}

void HistogramSearch::choose(const SearchNode& node, const FeatureTile& tile,
                             const TileScores& scores, Split& best) const {
    const NodeTotals& totals = *node.totals;
    const BinnedView& binned = workspace_.binned;
    const double lambda = workspace_.params.l2_regularization;
    const int64_t n = node.range.size(), least = workspace_.params.min_samples_leaf;
    const bool per_channel = workspace_.per_channel();
    const bool is_unit = workspace_.channels.policy == HessianPolicy::unit;
    // Scores of the scans are relative to the node's mean unless there is regularisation.
    const double base = lambda > 0.0 ? totals.base_score : 0.0;
    const double norm = lambda > 0.0 ? totals.norm : 0.0;
    auto gain_of = [&](double side_norm, double product, double weight) {
        if (per_channel) return side_norm - base;
        const double other = totals.weight - weight;
        if (std::min(other, weight) <= workspace_.dust() * totals.weight)
            return std::numeric_limits<double>::quiet_NaN();  // beats nothing
        return side_norm / (weight + lambda) +
               (norm - 2.0 * product + side_norm) / (other + lambda) - base;
    };
    // Without regularisation |A|^2 / a + |A|^2 / b beats g if |A|^2 (a + b) > g a b: nearly all
    // cuts are done with before a division. The slack is for the rounding of the products.
    const bool compares_products = !per_channel && lambda == 0.0;
    auto is_beaten = [&](double side_norm, double weight) {
        constexpr double kSlack = 1.0 - 1e-9;
        const double other = totals.weight - weight;
        return side_norm * totals.weight < kSlack * best.least_rival() * weight * other;
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
                const double product = scores.products.empty() ? 0.0 : scores.products[at + bin];
                // Counts are exact where float32 no longer tells one row from none.
                const double weight =
                    is_unit ? static_cast<double>(n_left) : scores.prefix_weights[at + bin];
                if (compares_products && is_beaten(scores.norms[at + bin], weight)) continue;
                const double gain = gain_of(scores.norms[at + bin], product, weight);
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

}  // namespace polyleaf
