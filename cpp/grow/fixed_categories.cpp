// Subsets of categories from sums in fixed point, by the rules of category_search.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "grow/feature_search.hpp"
#include "grow/fixed_scan.hpp"

namespace polyleaf {

void FixedScan::take_categories(const FixedTotals& totals, const FixedSums& sums,
                                int32_t feature) {
    const size_t width = totals.sums.size();
    const int lanes = shape_.lanes;
    item_sums_.clear();
    item_rows_.clear();
    item_codes_.clear();
    const Counts count(shape_, sums, feature);
    for (int64_t code = 0; code <= shape_.n_bins(feature); ++code) {
        if (count[code] == 0) continue;
        item_rows_.push_back(count[code]);
        item_codes_.push_back(static_cast<uint32_t>(code));
        item_sums_.resize(item_sums_.size() + width);
        double* const out = item_sums_.data() + item_sums_.size() - width;
        for (int b = 0; b < rows_.layout.n_blocks(); ++b)
            for (int k = 0; k < lanes; ++k)
                out[b * lanes + k] =
                    rows_.units[b * lanes + k] * records(sums, b, feature)[code * lanes + k];
    }
}

double FixedScan::gain_of_items(const FixedTotals& totals, const std::vector<double>& side,
                                int64_t n_rows) const {
    const FixedLayout& layout = rows_.layout;
    Side sums;
    sums.n_rows = n_rows;
    sums.weight = layout.has_weight ? side[1] : static_cast<double>(n_rows);
    const double lambda = params_.l2_regularization;
    for (int b = 0; b < layout.n_blocks(); ++b)
        for (int k = 0; k < layout.blocks[b].n_channels; ++k) {
            const size_t g = b * layout.lanes + layout.gradient_lane(b, k);
            if (layout.per_channel) {
                const size_t h = b * layout.lanes + layout.hessian_lane(b, k);
                sums.norm += channel_score(side[g], side[h], lambda, totals.least[h]);
                sums.norm += channel_score(totals.sums[g] - side[g], totals.sums[h] - side[h],
                                           lambda, totals.least[h]);
                continue;
            }
            const double rest = side[g] - sums.weight * totals.mean[g];
            sums.norm += rest * rest;
            sums.product += side[g] * totals.sums[g];
        }
    return gain_of(totals, sums);
}

void FixedScan::keep_items(const FixedTotals& totals, double gain, int64_t n_left, int32_t feature,
                           uint64_t rank, const std::vector<uint8_t>& chosen, Split& best) const {
    if (!are_enough(totals, n_left) || !best.beaten_by(category_credit_ * gain, rank)) return;
    const uint32_t missing = static_cast<uint32_t>(shape_.n_bins(feature));
    const bool has_missing = item_codes_.back() == missing;
    const bool missing_left = has_missing ? chosen.back() != 0 : 2 * n_left >= totals.n_rows;
    best.take(category_credit_ * gain, rank, feature, n_left, missing_left);
    best.discount = gain - best.gain;
    // Categories that the node has not seen go the way of the missing values.
    std::vector<uint32_t>& words =
        best.choose_categories((missing + 31) / 32, missing_left ? ~uint32_t{0} : 0);
    for (size_t item = 0; item < item_codes_.size(); ++item) {
        const uint32_t code = item_codes_[item];
        if (code == missing) continue;
        const uint32_t bit = uint32_t{1} << (code & 31);
        words[code >> 5] = chosen[item] ? words[code >> 5] | bit : words[code >> 5] & ~bit;
    }
}

void FixedScan::search_categories(const FixedTotals& totals, const FixedSums& sums, uint64_t seed,
                                  int32_t feature, uint64_t rank, Split& best) {
    take_categories(totals, sums, feature);
    if (item_codes_.size() < 2) return;
    category_credit_ = params_.random_cuts ? 1.0 : credit_categories(totals, feature);
    if (category_credit_ <= 0.0) return;
    if (params_.random_cuts) return search_random_subset(totals, seed, feature, rank, best);
    const bool is_single = rows_.layout.n_blocks() == 1 && rows_.layout.blocks[0].n_channels == 1;
    if (!is_single && static_cast<int64_t>(item_codes_.size()) <= kMaxGreedyCategories)
        search_greedy(totals, feature, rank, best);
    else
        search_ordered(totals, feature, rank, best);
}

double FixedScan::credit_categories(const FixedTotals& totals, int32_t feature) const {
    const FixedLayout& layout = rows_.layout;
    const size_t width = totals.sums.size(), n_items = item_codes_.size();
    const bool has_missing = item_codes_.back() == static_cast<uint32_t>(shape_.n_bins(feature));
    const double n_distinct = static_cast<double>(n_items) - (has_missing ? 1.0 : 0.0);
    const double share = (n_distinct - kFreeCategories) / static_cast<double>(totals.n_rows);
    const double expected = params_.category_penalty * share * totals.impurity;
    if (!(expected > 0.0)) return 1.0;
    double between = 0.0;
    for (int b = 0; b < layout.n_blocks(); ++b)
        for (int k = 0; k < layout.blocks[b].n_channels; ++k) {
            const size_t g = b * layout.lanes + layout.gradient_lane(b, k);
            const size_t h = layout.per_channel ? b * layout.lanes + layout.hessian_lane(b, k) : 1;
            for (size_t item = 0; item < n_items; ++item) {
                const double* const sums = item_sums_.data() + item * width;
                const double weight = layout.per_channel || layout.has_weight
                                          ? sums[h]
                                          : static_cast<double>(item_rows_[item]);
                between += channel_score(sums[g], weight, 0.0, totals.least[g]);
            }
            const double weight = layout.per_channel ? totals.sums[h] : totals.weight;
            between -= channel_score(totals.sums[g], weight, 0.0, 0.0);
        }
    return between > expected ? 1.0 - expected / between : 0.0;
}

// Forward selection: the side grows by the item that raises the criterion most, as long as it
// rises. Missing values are an item like the others.
void FixedScan::search_greedy(const FixedTotals& totals, int32_t feature, uint64_t rank,
                              Split& best) {
    const size_t width = totals.sums.size(), n_items = item_codes_.size();
    std::vector<double> side(width, 0.0), joined(width);
    std::vector<uint8_t> chosen(n_items, 0);
    int64_t n_rows = 0;
    double current = -std::numeric_limits<double>::infinity();
    for (size_t step = 0; step + 1 < n_items; ++step) {
        size_t next = n_items;
        double next_gain = -std::numeric_limits<double>::infinity();
        for (size_t item = 0; item < n_items; ++item) {
            if (chosen[item]) continue;
            for (size_t k = 0; k < width; ++k) joined[k] = side[k] + item_sums_[item * width + k];
            const double gain = gain_of_items(totals, joined, n_rows + item_rows_[item]);
            if (next == n_items || gain > next_gain || std::isnan(next_gain))
                next = item, next_gain = gain;
        }
        // min_samples_leaf may ask for more items than the criterion alone would take.
        if (next_gain < current && n_rows >= params_.min_samples_leaf) return;
        current = next_gain;
        chosen[next] = 1;
        n_rows += item_rows_[next];
        for (size_t k = 0; k < width; ++k) side[k] += item_sums_[next * width + k];
        keep_items(totals, current, n_rows, feature, rank, chosen, best);
    }
}

// Prefixes of the categories in the order of their means along the main axis; missing values join
// either side.
void FixedScan::search_ordered(const FixedTotals& totals, int32_t feature, uint64_t rank,
                               Split& best) {
    const FixedLayout& layout = rows_.layout;
    const size_t width = totals.sums.size();
    const bool has_missing = item_codes_.back() == static_cast<uint32_t>(shape_.n_bins(feature));
    const size_t n_items = item_codes_.size(), n_categories = n_items - (has_missing ? 1 : 0);
    std::vector<double> means(n_categories * width, 0.0), weights(n_categories);
    for (size_t item = 0; item < n_categories; ++item) {
        const double* const sums = item_sums_.data() + item * width;
        weights[item] = static_cast<double>(item_rows_[item]);
        for (int b = 0; b < layout.n_blocks(); ++b)
            for (int k = 0; k < layout.blocks[b].n_channels; ++k) {
                const size_t g = b * layout.lanes + layout.gradient_lane(b, k);
                double weight = layout.has_weight ? sums[1] : weights[item];
                if (layout.per_channel)
                    weight = sums[b * layout.lanes + layout.hessian_lane(b, k)];
                if (weight > 0.0) means[item * width + g] = sums[g] / weight;
            }
    }
    const std::vector<double> scores = principal_scores(std::move(means), weights, width);
    std::vector<size_t> order(n_categories);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return scores[a] < scores[b]; });
    for (int with_missing = 0; with_missing <= (has_missing ? 1 : 0); ++with_missing) {
        std::vector<double> side(width, 0.0);
        std::vector<uint8_t> chosen(n_items, 0);
        int64_t n_rows = 0;
        auto add = [&](size_t item) {
            chosen[item] = 1;
            n_rows += item_rows_[item];
            for (size_t k = 0; k < width; ++k) side[k] += item_sums_[item * width + k];
        };
        if (with_missing) add(n_items - 1);
        // All categories without the missing values are a side of their own, too.
        const size_t n_prefixes = n_categories - (has_missing && !with_missing ? 0 : 1);
        for (size_t i = 0; i < n_prefixes; ++i) {
            add(order[i]);
            keep_items(totals, gain_of_items(totals, side, n_rows), n_rows, feature, rank, chosen,
                       best);
        }
    }
}

void FixedScan::search_random_subset(const FixedTotals& totals, uint64_t seed, int32_t feature,
                                     uint64_t rank, Split& best) {
    const size_t width = totals.sums.size(), n_items = item_codes_.size();
    const bool has_missing = item_codes_.back() == static_cast<uint32_t>(shape_.n_bins(feature));
    const size_t n_categories = n_items - (has_missing ? 1 : 0);
    if (n_categories == 0) return;
    const uint64_t of_feature = mix(seed ^ kSubsetSalt) + static_cast<uint64_t>(feature);
    std::vector<uint8_t> chosen(n_items, 0);
    for (size_t i = 0; i < n_categories; ++i)
        chosen[i] = draw_bits(of_feature, item_codes_[i]) >> 63;
    const size_t n_chosen = std::count(chosen.begin(), chosen.end(), uint8_t{1});
    if (n_categories > 1 && (n_chosen == 0 || n_chosen == n_categories))
        chosen[draw_below(of_feature, ~uint64_t{0}, n_categories)] ^= 1;
    if (n_categories == 1) chosen[0] = 1;  // parted from the missing values
    for (int with_missing = 0; with_missing <= (has_missing && n_categories > 1 ? 1 : 0);
         ++with_missing) {
        if (has_missing) chosen.back() = static_cast<uint8_t>(with_missing);
        std::vector<double> side(width, 0.0);
        int64_t n_rows = 0;
        for (size_t item = 0; item < n_items; ++item) {
            if (!chosen[item]) continue;
            n_rows += item_rows_[item];
            for (size_t k = 0; k < width; ++k) side[k] += item_sums_[item * width + k];
        }
        keep_items(totals, gain_of_items(totals, side, n_rows), n_rows, feature, rank, chosen,
                   best);
    }
}

}  // namespace polyleaf
