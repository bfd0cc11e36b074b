// Random cuts of a few rows.
#include <algorithm>
#include <limits>

#include "base/bits.hpp"
#include "grow/small_search.hpp"

namespace polyleaf {

// One cut of every feature.
void SmallSearch::cut_all(Node& node) {
    if (node.n_rows == 2) return cut_two_rows(node);
    const int32_t n_dense = workspace_.binned.n_dense;
    auto rank_of = [&](int k) {
        return feature_rank(node.seed, workspace_.binned.dense_features[few_cuts_.homes[k]]);
    };
    for (int32_t home = 0; home < n_dense; ++home) {
        few_cuts_.homes[few_cuts_.n_cuts++] = home;
        if (few_cuts_.n_cuts == kFewCuts || home + 1 == n_dense) cut_some(node, rank_of);
    }
}

// Every feature that tells two rows apart has the same gain, so that only the first in rank needs
// its cut drawn.
void SmallSearch::cut_two_rows(Node& node) const {
    const uint8_t* const a = row_codes_[__builtin_ctz(node.rows)];
    const uint8_t* const b = row_codes_[31 - __builtin_clz(node.rows)];
    uint64_t least_rank = ~uint64_t{0};
    int32_t first = -1;
    for (int32_t home = 0; home < workspace_.binned.n_dense; ++home) {
        if (a[home] == b[home]) continue;
        const int32_t feature = workspace_.binned.dense_features[home];
        const uint64_t rank = feature_rank(node.seed, feature);
        if (rank > least_rank) continue;
        least_rank = rank;
        first = feature;
    }
    if (first >= 0) cut_feature(node, first, least_rank);
}

// Two rows with values have one division, wherever the cut falls.
bool SmallSearch::cut_pair(Node& node, int32_t feature, uint64_t rank) const {
    const int32_t home = workspace_.feature_home[feature];
    const uint32_t lower = node.rows & (0u - node.rows);
    const uint8_t a = row_codes_[__builtin_ctz(node.rows)][home];
    const uint8_t b = row_codes_[31 - __builtin_clz(node.rows)][home];
    if (a == b) return true;
    if (std::max(a, b) == kMissingU8) return false;
    if (offer(node, a < b ? lower : node.rows ^ lower, feature, rank)) {
        node.is_cut = true;
        node.cut = {std::min(a, b), std::max(a, b)};
    }
    return true;
}

// One cut of each drawn feature, in the order in which they were drawn.
void SmallSearch::cut_drawn(Node& node) {
    const int64_t n_drawn = workspace_.params.max_features;
    draw_.for_each(node.seed, 0, n_drawn, [&](int32_t feature, int64_t i) {
        few_cuts_.homes[few_cuts_.n_cuts++] = workspace_.feature_home[feature];
        if (few_cuts_.n_cuts == kFewCuts || i + 1 == n_drawn) {
            const uint64_t first = static_cast<uint64_t>(i + 1 - few_cuts_.n_cuts);
            cut_some(node, [&](int k) { return first + k; });
        }
        return true;
    });
    if (node.best.found()) return;
    draw_.for_each(node.seed, n_drawn, workspace_.binned.n_features,
                   [&](int32_t feature, int64_t i) {
                       cut_feature(node, feature, i);
                       return !node.best.found();
                   });
}

// The features that wait, all at once. rank_of(k): of the k-th of them.
template <typename RankOf>
void SmallSearch::cut_some(Node& node, RankOf&& rank_of) {
    FewRowsCutTask& cuts = few_cuts_;
    const int32_t* const features = workspace_.binned.dense_features;
    for (int k = 0; k < cuts.n_cuts; ++k)
        cuts.shares[k] = cut_uniform(node.seed, features[cuts.homes[k]]);
    cuts.rows = node.rows;
    kernels_.cut_few_rows(cuts);
    for (int k = 0; k < cuts.n_cuts; ++k) {
        const int32_t feature = features[cuts.homes[k]];
        if (cuts.last[k] == kMissingU8 || guide_->is_irregular(cuts.homes[k])) {
            cut_feature(node, feature, rank_of(k));
        } else if (cuts.first[k] != cuts.last[k] &&
                   offer(node, cuts.left >> k * kFewRows & 0xff, feature, rank_of(k))) {
            node.is_cut = true;
            node.cut = {cuts.first[k], cuts.last[k]};
        }
    }
    cuts.n_cuts = 0;
}

void SmallSearch::cut_feature(Node& node, int32_t feature, uint64_t rank) const {
    if (node.n_rows == 2 && cut_pair(node, feature, rank)) return;
    const int32_t home = workspace_.feature_home[feature];
    uint8_t codes[RowSubsets::kMostRows];
    Cut cut{kMissingU8, 0};
    uint32_t present = 0;
    for_each_bit(node.rows, [&](int i) {
        const uint8_t code = codes[i] = row_codes_[i][home];
        if (code == kMissingU8) return;
        present |= 1u << i;
        cut.first = std::min(cut.first, code);
        cut.last = std::max(cut.last, code);
    });
    if (present == 0) return;
    const double share = cut_uniform(node.seed, feature);
    uint32_t left = 0;
    for_each_bit(present, [&](int i) {
        // Only what lies between the first and the last may be on either side.
        const bool is_left =
            codes[i] == cut.first ||
            (codes[i] != cut.last && guide_->is_left(home, share, cut.first, cut.last, codes[i]));
        left |= uint32_t{is_left} << i;
    });
    offer_cut(node, feature, present, left, cut, rank);
}

// A cut with the missing rows on either side, and the values against the missing rows. There is
// no cut if all values are the same.
void SmallSearch::offer_cut(Node& node, int32_t feature, uint32_t present, uint32_t left,
                            const Cut& cut, uint64_t rank) const {
    const uint32_t missing = node.rows ^ present;
    const bool has_cut = cut.first != cut.last;
    if (missing != 0) {
        if (has_cut && offer(node, left | missing, feature, rank)) {
            node.best.missing_left = true;
            node.is_cut = true;
            node.cut = cut;
        }
        if (offer(node, present, feature, rank)) {
            node.best.missing_left = false;
            node.best.cut_off_missing(kMissingU8 - 1);
            node.is_cut = false;
        }
    }
    if (has_cut && offer(node, left, feature, rank)) {
        if (missing != 0) node.best.missing_left = false;
        node.is_cut = true;
        node.cut = cut;
    }
}

}  // namespace polyleaf
