#include "grow/fixed_scan.hpp"

#include <algorithm>
#include <limits>

#include "grow/random_cut.hpp"

namespace polyleaf {

FixedScan::FixedScan(const BinnedView& binned, const GrowParams& params, const FixedRows& rows,
                     const FixedShape& shape, HessianPolicy policy)
    : binned_(binned),
      params_(params),
      rows_(rows),
      shape_(shape),
      policy_(policy),
      kernels_(kernels_for(16)) {}

FixedTotals FixedScan::totals_of(const std::vector<int32_t>& sums) const {
    const FixedLayout& layout = rows_.layout;
    const double lambda = params_.l2_regularization;
    FixedTotals totals;
    const size_t width = rows_.units.size();
    totals.n_rows = layout.counts_apart ? sums.back() : sums[0];
    totals.sums.resize(width);
    for (size_t k = 0; k < width; ++k) totals.sums[k] = rows_.units[k] * sums[k];
    totals.mean.assign(width, 0.0);
    totals.least.assign(width, 0.0);
    totals.weight =
        policy_ == HessianPolicy::shared ? totals.sums[1] : static_cast<double>(totals.n_rows);
    double all_weights = 0.0;
    int32_t n_channels = 0;
    for (int b = 0; b < layout.n_blocks(); ++b) {
        for (int k = 0; k < layout.blocks[b].n_channels; ++k, ++n_channels) {
            const size_t g = b * layout.lanes + layout.gradient_lane(b, k);
            const double sum = totals.sums[g];
            totals.norm += sum * sum;
            if (!layout.per_channel) {
                if (lambda == 0.0 && totals.weight > 0.0) totals.mean[g] = sum / totals.weight;
                continue;
            }
            const size_t h = b * layout.lanes + layout.hessian_lane(b, k);
            all_weights += totals.sums[h];
            totals.least[h] = kDustDouble * totals.sums[h];
            totals.base_score += channel_score(sum, totals.sums[h], lambda, 0.0);
        }
    }
    if (layout.per_channel)
        totals.weight = all_weights / std::max(n_channels, 1);
    else
        totals.base_score = totals.weight > 0.0 ? score(totals.norm, totals.weight, lambda) : 0.0;
    return totals;
}

double FixedScan::gain_of(const FixedTotals& totals, const Side& side) const {
    if (rows_.layout.per_channel) return side.norm - totals.base_score;
    NodeCriterion criterion{params_.l2_regularization, totals.weight, totals.norm,
                            totals.base_score, 0.0};
    // Norms are those of centred sums unless there is regularisation.
    const bool is_centred = params_.l2_regularization == 0.0;
    if (is_centred) criterion.norm = criterion.base_score = 0.0;
    return criterion.gain(side.norm, is_centred ? 0.0 : side.product, side.weight);
}

void FixedScan::scan(const FixedTotals& totals, const FixedSums& sums, int32_t feature,
                     int64_t first, int64_t n_bins, const int64_t* initial) {
    const FixedLayout& layout = rows_.layout;
    const int lanes = layout.lanes;
    norms_.assign(n_bins, 0.0);
    products_.assign(n_bins, 0.0);
    weights_.resize(n_bins);
    counts_.resize(n_bins);
    const int32_t* const heads = records(sums, 0, feature);
    const Counts counts(shape_, sums, feature);
    int64_t n_rows = initial ? counts[*initial] : 0;
    int64_t weight = initial && layout.has_weight ? heads[*initial * lanes + 1] : 0;
    for (int64_t bin = 0; bin < n_bins; ++bin) {
        counts_[bin] = n_rows += counts[first + bin];
        if (layout.has_weight) weight += heads[(first + bin) * lanes + 1];
        weights_[bin] = layout.has_weight ? rows_.units[1] * weight : static_cast<double>(n_rows);
    }
    for (int b = 0; b < layout.n_blocks(); ++b) {
        const int32_t* const of_block = records(sums, b, feature);
        const size_t at = static_cast<size_t>(b) * lanes;
        const int32_t* const start = initial ? of_block + *initial * lanes : nullptr;
        if (layout.per_channel) {
            FixedWeightedScanTask task;
            task.sums = of_block + first * lanes;
            task.n_bins = n_bins;
            task.lanes = lanes;
            task.initial = start;
            task.first = layout.blocks[b].n_head;
            task.n_channels = layout.blocks[b].n_channels;
            task.units = rows_.units.data() + at;
            task.total = totals.sums.data() + at;
            task.least = totals.least.data() + at;
            task.l2_regularization = params_.l2_regularization;
            task.scores = norms_.data();
            kernels_.scan_fixed_weighted(task);
            continue;
        }
        double units[kMostFixedLanes], total[kMostFixedLanes];
        for (int k = 0; k < lanes; ++k) {
            const bool is_gradient = k >= layout.blocks[b].n_head;
            units[k] = is_gradient ? rows_.units[at + k] : 0.0;
            total[k] = is_gradient ? totals.sums[at + k] : 0.0;
        }
        FixedScanTask task;
        task.sums = of_block + first * lanes;
        task.n_bins = n_bins;
        task.lanes = lanes;
        task.initial = start;
        task.units = units;
        task.mean = totals.mean.data() + at;
        task.total = params_.l2_regularization > 0.0 ? total : nullptr;
        task.weights = weights_.data();
        task.norms = norms_.data();
        task.products = products_.data();
        kernels_.scan_fixed(task);
    }
}

void FixedScan::search(const FixedTotals& totals, const FixedSums& sums, uint64_t seed,
                       int32_t feature, uint64_t rank, Split& best) {
    if (binned_.is_categorical[feature])
        search_categories(totals, sums, seed, feature, rank, best);
    else if (params_.random_cuts)
        search_random_cut(totals, sums, seed, feature, rank, best);
    else
        search_numeric(totals, sums, seed, feature, rank, best);
}

void FixedScan::search_numeric(const FixedTotals& totals, const FixedSums& sums, uint64_t,
                               int32_t feature, uint64_t rank, Split& best) {
    const int64_t n_bins = shape_.n_bins(feature), n = totals.n_rows;
    const Counts count(shape_, sums, feature);
    int64_t last = n_bins - 1;
    while (last >= 0 && count[last] == 0) --last;
    if (last < 0) return;
    const int64_t missing = n_bins, n_missing = count[missing];
    // Without regularisation |A|^2 (a + b) > g a b if a cut beats g: nearly all cuts are done with
    // before a division. The slack is for the rounding of the products.
    const bool compares_products = !rows_.layout.per_channel && params_.l2_regularization == 0.0;
    auto is_beaten = [&](double norm, double weight) {
        constexpr double kSlack = 1.0 - 1e-9;
        return norm * totals.weight <
               kSlack * best.least_rival() * weight * (totals.weight - weight);
    };
    for (int pass = 0; pass < (n_missing > 0 ? 2 : 1); ++pass) {
        scan(totals, sums, feature, 0, last, pass == 1 ? &missing : nullptr);
        for (int64_t bin = 0; bin < last; ++bin) {
            if (count[bin] == 0 || !are_enough(totals, counts_[bin])) continue;
            if (compares_products && is_beaten(norms_[bin], weights_[bin])) continue;
            const double gain =
                gain_of(totals, {counts_[bin], weights_[bin], norms_[bin], products_[bin]});
            if (!best.beaten_by(gain, rank)) continue;
            int64_t next = bin + 1;
            while (count[next] == 0) ++next;
            const bool missing_left = n_missing == 0 ? 2 * counts_[bin] >= n : pass == 1;
            best.take(gain, rank, feature, counts_[bin], missing_left);
            best.cut_between(binned_, static_cast<uint32_t>(bin), static_cast<uint32_t>(next));
        }
    }
    if (n_missing == 0 || !are_enough(totals, n_missing)) return;
    scan(totals, sums, feature, missing, 1, nullptr);
    const double gain = gain_of(totals, {n_missing, weights_[0], norms_[0], products_[0]});
    if (!best.beaten_by(gain, rank)) return;
    best.take(gain, rank, feature, n - n_missing, false);
    best.cut_off_missing(static_cast<uint32_t>(last));
}

// One cut between the smallest and the largest value; missing values go to the better side, or
// are parted from the rest where there is but one value.
void FixedScan::search_random_cut(const FixedTotals& totals, const FixedSums& sums, uint64_t seed,
                                  int32_t feature, uint64_t rank, Split& best) {
    const int64_t n_bins = shape_.n_bins(feature);
    const Counts count(shape_, sums, feature);
    int64_t first = 0, last = n_bins - 1;
    while (first < n_bins && count[first] == 0) ++first;
    while (last >= 0 && count[last] == 0) --last;
    const int64_t missing = n_bins, n_missing = count[missing];
    if (first > last) return;
    if (first == last) {
        if (n_missing == 0 || !are_enough(totals, n_missing)) return;
        scan(totals, sums, feature, missing, 1, nullptr);
        const double gain = gain_of(totals, {n_missing, weights_[0], norms_[0], products_[0]});
        if (!best.beaten_by(gain, rank)) return;
        best.take(gain, rank, feature, totals.n_rows - n_missing, false);
        return best.cut_off_missing(static_cast<uint32_t>(last));
    }
    const RandomCut cut = draw_random_cut(binned_, feature, seed, static_cast<uint32_t>(first),
                                          static_cast<uint32_t>(last));
    for (int pass = 0; pass < (n_missing > 0 ? 2 : 1); ++pass) {
        scan(totals, sums, feature, 0, cut.left_code + 1, pass == 1 ? &missing : nullptr);
        const size_t at = cut.left_code;
        if (!are_enough(totals, counts_[at])) continue;
        const double gain =
            gain_of(totals, {counts_[at], weights_[at], norms_[at], products_[at]});
        if (!best.beaten_by(gain, rank)) continue;
        const bool missing_left = n_missing == 0 ? 2 * counts_[at] >= totals.n_rows : pass == 1;
        best.take(gain, rank, feature, counts_[at], missing_left);
        best.cut_at(cut.left_code, cut.threshold(binned_, feature));
    }
}

std::vector<uint8_t> FixedScan::left_codes(const Split& split) const {
    const int64_t n_bins = shape_.n_bins(split.feature);
    std::vector<uint8_t> is_left(n_bins + 1);
    for (int64_t code = 0; code < n_bins; ++code)
        is_left[code] = split.sends_left(static_cast<uint32_t>(code), kMissingU32);
    is_left[n_bins] = split.missing_left;
    return is_left;
}

}  // namespace polyleaf
