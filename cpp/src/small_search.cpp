#include "small_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "bits.hpp"

namespace ramify {

bool SmallSearch::knows(const Workspace& workspace) {
    const GrowParams& params = workspace.params;
    const BinnedView& binned = workspace.binned;
    if (params.l2_regularization != 0.0 || params.double_precision || workspace.per_channel() ||
        params.histogram_min_rows != 0)
        return false;
    for (int32_t feature = 0; feature < binned.n_features; ++feature)
        if (binned.is_categorical[feature]) return false;
    if (workspace.is_incremental)
        return !binned.codes_u32 &&
               std::all_of(binned.is_two_valued, binned.is_two_valued + binned.n_features,
                           [](uint8_t is_two_valued) { return is_two_valued != 0; });
    return binned.n_sparse == 0 && binned.codes_u8 &&
           (params.random_cuts || params.max_features < binned.n_features);
}

SmallSearch::SmallSearch(Workspace& workspace, const CutGuide* guide)
    : workspace_(workspace),
      kernels_(kernels_for(workspace.lanes)),
      guide_(guide),
      subsets_(workspace),
      draw_(draws_features() ? workspace.binned.n_features : 0),
      columns_(workspace.is_incremental ? workspace.binned.n_features : 0) {
    const BinnedView& binned = workspace.binned;
    if (guide) {
        codes_ = workspace.row_codes->codes.data();
        code_stride_ = workspace.row_codes->stride;
        groups_.resize((binned.n_dense + kCodeColumns - 1) / kCodeColumns);
    } else {
        codes_ = binned.codes_u8;
        code_stride_ = kTileFeatures;
    }
    dense_.assign(binned.dense_features, binned.dense_features + binned.n_dense);
}

void SmallSearch::start(const NodeRange& range, ChannelStore* store) {
    n_ = static_cast<int>(range.size());
    for (int i = 0; i < n_; ++i) {
        rows_[i] = workspace_.rows[range.begin + i];
        if (workspace_.channels.policy == HessianPolicy::shared)
            weights_[i] = workspace_.weights[range.begin + i];
    }
    subsets_.tabulate(range, store);
    if (workspace_.is_incremental) list_columns();
}

void SmallSearch::place(uint32_t rows, int64_t begin) {
    for_each_bit(rows, [&](int i) {
        workspace_.rows[begin] = rows_[i];
        if (workspace_.channels.policy == HessianPolicy::shared)
            workspace_.weights[begin] = weights_[i];
        if (workspace_.is_incremental) workspace_.position[rows_[i]] = static_cast<int32_t>(begin);
        ++begin;
    });
}

Split SmallSearch::find(uint32_t rows, uint64_t seed, uint32_t& left) {
    Node node;
    node.rows = rows;
    node.n_rows = count_bits(rows);
    node.seed = seed;
    if (workspace_.is_incremental)
        find_two_valued(node);
    else
        find_dense(node);
    left = node.left;
    if (node.best.found()) {
        node.best.n_left = count_bits(left);
        if (node.is_cut)
            node.best.threshold = node.cut.threshold(workspace_.binned, node.best.feature);
    }
    return node.best;
}

// Keeps the division if it is the best so far; the caller tells it in terms of the feature.
bool SmallSearch::offer(Node& node, uint32_t left, int32_t feature, uint64_t rank) const {
    const double gain = subsets_.gain(node.rows, left);
    if (gain < 0.0 || !node.best.beaten_by(gain, rank)) return false;
    node.best.gain = gain;
    node.best.rank = rank;
    node.best.feature = feature;
    node.left = left;
    node.best.missing_left = 2 * count_bits(left) >= node.n_rows;
    return true;
}

// Dense features
// ----------------------------------------------------------------------------------

void SmallSearch::find_dense(Node& node) {
    const int64_t n_drawn = workspace_.params.max_features;
    if (guide_ && !draws_features()) return cut_features(node, dense_.data(), dense_.size());
    drawn_.clear();
    draw_.for_each(node.seed, 0, n_drawn, [&](int32_t feature, int64_t i) {
        if (guide_)
            drawn_.push_back(feature);
        else
            sort_feature(node, feature, i);
        return true;
    });
    if (guide_) cut_features(node, drawn_.data(), drawn_.size());
    if (node.best.found()) return;
    // None of them can split the node: go on drawing until one can.
    draw_.for_each(node.seed, n_drawn, workspace_.binned.n_features,
                   [&](int32_t feature, int64_t i) {
                       if (guide_)
                           cut_feature(node, feature);
                       else
                           sort_feature(node, feature, i);
                       return !node.best.found();
                   });
}

void SmallSearch::sort_feature(Node& node, int32_t feature, uint64_t rank) const {
    typedef uint8_t Bytes __attribute__((vector_size(8)));
    constexpr Bytes kBit = {1, 2, 4, 8, 16, 32, 64, 128};
    const int32_t home = workspace_.feature_home[feature];
    const uint8_t* const codes = codes_ + workspace_.dense_base(home);
    uint8_t all[8] = {};
    uint32_t missing = 0;
    for_each_bit(node.rows, [&](int i) {
        all[i] = codes[int64_t{rows_[i]} * kTileFeatures];
        missing |= uint32_t{all[i] == kMissingU8} << i;
    });
    Bytes code;
    std::memcpy(&code, all, sizeof(code));
    const uint32_t present = node.rows ^ missing;
    for_each_bit(present, [&](int i) {
        const Bytes is_below = (Bytes)(code <= (Bytes{} + all[i])) & kBit;
        uint64_t bits;
        std::memcpy(&bits, &is_below, sizeof(bits));
        // The bytes hold different bits: their sum, in the highest byte, is their union.
        const uint32_t below = bits * 0x0101010101010101ULL >> 56 & present;
        const bool is_last = below == present;
        for (int with_missing = 0; with_missing <= (missing != 0); ++with_missing) {
            if (is_last && (with_missing || missing == 0)) continue;
            if (!offer(node, with_missing ? below | missing : below, feature, rank)) continue;
            if (missing != 0) node.best.missing_left = with_missing;
            uint32_t right = kMissingU8;
            for_each_bit(present ^ below,
                         [&](int j) { right = std::min<uint32_t>(right, all[j]); });
            const int64_t offset = workspace_.binned.bin_offsets[feature];
            node.best.threshold = is_last ? std::numeric_limits<double>::infinity()
                                          : midpoint(workspace_.binned.bin_high[offset + all[i]],
                                                     workspace_.binned.bin_low[offset + right]);
        }
    });
}

void SmallSearch::cut_features(Node& node, const int32_t* features, size_t n_features) {
    if (node.n_rows == 2) return cut_two_rows(node, features, n_features);
    group_numbers_.clear();
    for (size_t i = 0; i < n_features; ++i) {
        const int32_t home = workspace_.feature_home[features[i]];
        uint64_t& columns = groups_[home / kCodeColumns];
        if (columns == 0) group_numbers_.push_back(home / kCodeColumns);
        columns |= uint64_t{1} << home % kCodeColumns;
    }
    for (const int32_t number : group_numbers_) {
        cut_columns(node, number * kCodeColumns, groups_[number]);
        groups_[number] = 0;
    }
}

// Every feature that tells two rows apart has the same gain, so that only the first in rank needs
// its cut drawn.
void SmallSearch::cut_two_rows(Node& node, const int32_t* features, size_t n_features) const {
    const uint8_t* const a = codes_ + rows_[__builtin_ctz(node.rows)] * code_stride_;
    const uint8_t* const b = codes_ + rows_[31 - __builtin_clz(node.rows)] * code_stride_;
    uint64_t least_rank = ~uint64_t{0};
    int32_t first = -1;
    for (size_t i = 0; i < n_features; ++i) {
        const int32_t home = workspace_.feature_home[features[i]];
        if (a[home] == b[home]) continue;
        const uint64_t rank = feature_rank(node.seed, features[i]);
        if (rank > least_rank) continue;
        least_rank = rank;
        first = features[i];
    }
    if (first >= 0) cut_feature(node, first);
}

void SmallSearch::cut_feature(Node& node, int32_t feature) const {
    const int32_t home = workspace_.feature_home[feature];
    uint32_t least = kMissingU8, most = 0, present = 0;
    for_each_bit(node.rows, [&](int i) {
        const uint32_t code = code_of(i, home);
        if (code == kMissingU8) return;
        present |= 1u << i;
        least = std::min(least, code);
        most = std::max(most, code);
    });
    if (present == 0) return;
    RandomCut cut;
    if (least < most) cut = draw_random_cut(workspace_.binned, feature, node.seed, least, most);
    offer_cut(node, home, present, least < most ? &cut : nullptr);
}

// The cuts of up to 64 features whose codes are neighbours.
void SmallSearch::cut_columns(Node& node, int32_t begin, uint64_t columns) {
    uint8_t least[kCodeColumns], largest[kCodeColumns], most[kCodeColumns];
    uint8_t first[kCodeColumns], last[kCodeColumns], limits[kCodeColumns];
    int32_t homes[kCodeColumns];
    double values[kCodeColumns];
    int32_t rows[RowSubsets::kMostRows];
    int n_rows = 0, n_cuts = 0;
    for_each_bit(node.rows, [&](int i) { rows[n_rows++] = rows_[i]; });
    kernels_.code_ranges({codes_ + begin, code_stride_, rows, n_rows, least, largest, most});
    uint64_t with_missing = 0;
    for_each_bit(columns, [&](int c) {
        with_missing |= uint64_t{most[c] == kMissingU8} << c;
        // Written in any case, and kept if there is something to cut.
        homes[n_cuts] = begin + c;
        first[n_cuts] = least[c];
        last[n_cuts] = largest[c];
        n_cuts += least[c] != largest[c] && most[c] != kMissingU8;
    });
    const bool are_finite = kernels_.draw_cuts(
        {guide_->tables(), node.seed, n_cuts, homes, first, last, values, limits});
    for (int k = 0; k < n_cuts; ++k) {
        if (!are_finite && !std::isfinite(values[k])) {
            const int32_t feature = workspace_.binned.dense_features[homes[k]];
            limits[k] = static_cast<uint8_t>(
                left_code_of_endless(cut_uniform(node.seed, feature), first[k], last[k]));
        }
        const RandomCut cut{limits[k], values[k]};
        offer_cut(node, homes[k], node.rows, &cut);
    }
    for_each_bit(with_missing,
                 [&](int c) { cut_feature(node, workspace_.binned.dense_features[begin + c]); });
}

// A cut with the missing rows on either side, and the values against the missing rows. cut: null
// if all values are the same.
void SmallSearch::offer_cut(Node& node, int32_t home, uint32_t present,
                            const RandomCut* cut) const {
    const int32_t feature = workspace_.binned.dense_features[home];
    const uint64_t rank = feature_rank(node.seed, feature);
    const uint32_t missing = node.rows ^ present;
    uint32_t below = 0;
    if (cut)
        for_each_bit(present,
                     [&](int i) { below |= uint32_t{code_of(i, home) <= cut->left_code} << i; });
    if (missing != 0) {
        if (cut && offer(node, below | missing, feature, rank)) {
            node.best.missing_left = true;
            node.is_cut = true;
            node.cut = *cut;
        }
        if (offer(node, present, feature, rank)) {
            node.best.missing_left = false;
            node.best.threshold = std::numeric_limits<double>::infinity();
            node.is_cut = false;
        }
    }
    if (cut && offer(node, below, feature, rank)) {
        if (missing != 0) node.best.missing_left = false;
        node.is_cut = true;
        node.cut = *cut;
    }
}

// Features of two values

void SmallSearch::list_columns() {
    const BinnedView& binned = workspace_.binned;
    for (const int32_t feature : touched_) columns_[feature] = 0;
    touched_.clear();
    auto list = [&](int32_t feature, int i) {
        if (columns_[feature] == 0) touched_.push_back(feature);
        columns_[feature] |= 1u << i;
    };
    for (int i = 0; i < n_; ++i) {
        const int32_t row = rows_[i];
        for (int64_t e = binned.sparse_indptr[row]; e < binned.sparse_indptr[row + 1]; ++e)
            list(binned.sparse_features[binned.sparse_slot[e]], i);
        for (int32_t home = 0; home < binned.n_dense; ++home)
            if (code_of(i, home) != 0) list(binned.dense_features[home], i);
    }
}

void SmallSearch::offer_column(Node& node, int32_t feature, uint64_t rank) const {
    const uint32_t listed = columns_[feature] & node.rows;
    if (listed == 0 || listed == node.rows) return;
    const int32_t home = workspace_.feature_home[feature];
    const bool lists_left = home < 0 && workspace_.binned.sparse_default[~home] == 1;
    offer(node, lists_left ? listed : node.rows ^ listed, feature, rank);
}

// None of the drawn features can split the node: the first of the others that can, in random
// order.
void SmallSearch::offer_first(Node& node) const {
    uint64_t least = ~uint64_t{0};
    int32_t first = -1;
    for (const int32_t feature : touched_) {
        const uint32_t listed = columns_[feature] & node.rows;
        const uint64_t rank = feature_rank(node.seed, feature);
        if (listed == 0 || listed == node.rows || rank >= least) continue;
        if (subsets_.gain(node.rows, listed) < 0.0) continue;
        least = rank;
        first = feature;
    }
    if (first >= 0) offer_column(node, first, least);
}

void SmallSearch::find_two_valued(Node& node) {
    const BinnedView& binned = workspace_.binned;
    if (draws_features()) {
        draw_.for_each(node.seed, 0, workspace_.params.max_features,
                       [&](int32_t feature, int64_t i) {
                           offer_column(node, feature, i);
                           return true;
                       });
        if (!node.best.found()) offer_first(node);
    } else {
        for (const int32_t feature : touched_)
            offer_column(node, feature, feature_rank(node.seed, feature));
    }
    if (!node.best.found()) return;
    const int32_t feature = node.best.feature;
    const int64_t offset = binned.bin_offsets[feature];
    node.best.threshold =
        workspace_.params.random_cuts
            ? draw_random_cut(binned, feature, node.seed, 0, 1).threshold(binned, feature)
            : midpoint(binned.bin_high[offset], binned.bin_low[offset + 1]);
}

}  // namespace ramify
