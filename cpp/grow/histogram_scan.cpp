#include "grow/histogram_scan.hpp"

#include <algorithm>
#include <cmath>

namespace polyleaf {

namespace {

constexpr int kBins = kHistogramBins;

int passes(const uint32_t* counts) { return counts[kMissingU8] > 0 ? 2 : 1; }

}  // namespace

HistogramScan::HistogramScan(const Workspace& workspace)
    : workspace_(workspace), kernels_(kernels_for(workspace.lanes)) {}

void HistogramScan::start(const FeatureTile& tile, TileCounts counts, TileScores& scores) const {
    scores.counts = counts;
    scores.n_passes = 1;
    for (int lane = 0; lane < tile.n_features; ++lane)
        scores.n_passes = std::max(scores.n_passes, passes(scores.counts.rows + lane * kBins));
    const size_t size = size_t{kTileFeatures} * kBins * scores.n_passes;
    scores.norms.assign(size, 0.0f);
    scores.products.assign(workspace_.params.l2_regularization > 0.0 ? size : 0, 0.0f);
    scores.prefix_weights.resize(size);
    std::fill_n(scores.missing_norm, kTileFeatures, 0.0f);
    std::fill_n(scores.missing_product, kTileFeatures, 0.0f);
    for (int lane = 0; lane < tile.n_features; ++lane) {
        const float* weights = scores.counts.weights + lane * kBins;
        for (int pass = 0; pass < scores.n_passes; ++pass) {
            double prefix = pass == 1 ? weights[kMissingU8] : 0.0;
            float* out = scores.prefix_weights.data() + (pass * kTileFeatures + lane) * kBins;
            for (int64_t bin = 0; bin < workspace_.binned.n_bins(tile.features[lane]); ++bin)
                out[bin] = static_cast<float>(prefix += weights[bin]);
        }
    }
}

void HistogramScan::scan(const SearchNode& node, const FeatureTile& tile, int32_t block,
                         TileSums sums, TileScores& scores) const {
    if (sums.hessian) {
        scan_per_channel(node, tile, block, sums, scores);
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
        const float* const g = sums.gradient + size_t{kBins} * lanes * lane;
        const float* const g_missing = g + size_t{kMissingU8} * lanes;
        for (int pass = 0; pass < passes(scores.counts.rows + lane * kBins); ++pass) {
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
            task.prefix_weights = scores.counts.weights + lane * kBins + kMissingU8;
            task.norms = scores.missing_norm + lane;
            task.products = scores.missing_product + lane;
            kernels_.scan_histogram(task);
        }
    }
}

void HistogramScan::scan_per_channel(const SearchNode& node, const FeatureTile& tile,
                                     int32_t block, TileSums sums, TileScores& scores) const {
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
        const float *const g = sums.gradient + offset, *const h = sums.hessian + offset;
        const float* const g_missing = g + size_t{kMissingU8} * lanes;
        const float* const h_missing = h + size_t{kMissingU8} * lanes;
        for (int pass = 0; pass < passes(scores.counts.rows + lane * kBins); ++pass) {
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

void HistogramScan::choose(const SearchNode& node, const FeatureTile& tile,
                           const TileScores& scores, Split& best) const {
    const NodeTotals& totals = *node.totals;
    const BinnedView& binned = workspace_.binned;
    const double lambda = workspace_.params.l2_regularization;
    const int64_t n = totals.n_rows, least = workspace_.params.min_samples_leaf;
    const bool per_channel = workspace_.per_channel();
    const bool is_unit = workspace_.channels.policy == HessianPolicy::unit;
    // Scores of the scans are relative to the node's mean unless there is regularisation.
    NodeCriterion criterion = workspace_.criterion_of(totals);
    if (lambda == 0.0) criterion.norm = criterion.base_score = 0.0;
    auto gain_of = [&](double side_norm, double product, double weight) {
        if (per_channel) return side_norm - criterion.base_score;
        return criterion.gain(side_norm, product, weight);
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
        const uint32_t* counts = scores.counts.rows + lane * kBins;
        const int64_t n_bins = binned.n_bins(feature), n_missing = counts[kMissingU8];
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
                best.take(gain, tile.ranks[lane], feature, n_left, missing_left);
                best.cut_between(binned, static_cast<uint32_t>(bin), static_cast<uint32_t>(next));
            }
        }
        if (n_missing == 0 || last < 0 || n_missing < least || n - n_missing < least) continue;
        const double gain = gain_of(scores.missing_norm[lane], scores.missing_product[lane],
                                    scores.counts.weights[lane * kBins + kMissingU8]);
        if (!best.beaten_by(gain, tile.ranks[lane])) continue;
        best.take(gain, tile.ranks[lane], feature, n - n_missing, false);
        best.cut_off_missing(static_cast<uint32_t>(last));
    }
}

}  // namespace polyleaf
